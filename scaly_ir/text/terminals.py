"""The terminals of the text format, once: as regular expressions that the grammar and both readers share.

`tokens` cuts text into strings as fast as the regular-expression engine can; `scan` yields the same cuts with their
terminal name and place. White space and ``//`` comments separate tokens and are otherwise skipped.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Final, NamedTuple

from scaly_ir.text.spelling import BARE_NAME

_STRING = r'"(?:[^"\\\n]|\\[^\n])*+"'
_NAME = rf"(?:{BARE_NAME}|{_STRING})"
_IDENTIFIER = r"[A-Za-z_][A-Za-z0-9_]*"
_EXPONENT = r"[eE][-+]?[0-9]+"
_ANGLED = r"[^<>{}()%@\"]*+"
_WORD_END = r"(?![A-Za-z0-9_.$])"

TERMINALS: Final[dict[str, str]] = {
    "VALUE": rf"%{_NAME}",
    "ARROW": "->",
    "PUNCTUATION": r"[(){}\[\],:=]",
    "NAME": rf"{_IDENTIFIER}(?:\.{_IDENTIFIER})+",
    "FLOAT": (
        rf"-?(?:[0-9]+\.[0-9]*(?:{_EXPONENT})?|\.[0-9]+(?:{_EXPONENT})?|[0-9]+{_EXPONENT}|inf{_WORD_END})"
        rf"|nan<0x[0-9A-Fa-f]+>|nan{_WORD_END}"
    ),
    "INT": r"-?[0-9]+",
    "MEMREF": rf"memref<(?:[0-9]+x)*{_IDENTIFIER}(?:,[ \t]*{_IDENTIFIER})?>",
    "TENSOR": rf"tensor<{_ANGLED}(?:<{_ANGLED}>{_ANGLED})?>",
    "SPARSE": rf"sparse<{_ANGLED}>",
    "PATTERN": r"#sp[0-9]+(?=(?:[ \t\n]|//[^\n]*\n)*=)",
    "WORD": _IDENTIFIER,
    "SYMBOL": rf"@{_NAME}",
    "STRING": _STRING,
    "UNCLOSED": r'"[^\n]*+',
    "ANGLE": r"[<>]",
    "OTHER": r"[\s\S]",
    "END": r"\Z",
}
"""Every kind of token, in the order they are tried.

``UNCLOSED`` is a string without its closing quote (taken to the end of the line, so that hostile text is cut in linear
time), ``OTHER`` a character that begins no token and ``END`` the end of the text, which every cut finishes with.
"""

# A carriage return ends a comment and is then refused: else a file of lines that end so would be one long comment.
SKIP: Final = r"(?:[ \t\n]++|//[^\n\r]*+)*+"
"""What stands between tokens and means nothing."""

_cut = re.compile(f"{SKIP}({'|'.join(TERMINALS.values())})").findall


def _scanner(terminals: Mapping[str, str]) -> re.Pattern[str]:
    return re.compile(f"{SKIP}(?:{'|'.join([f'(?P<{name}>{regex})' for name, regex in terminals.items()])})")


_scan = _scanner(TERMINALS)


class Terminal(NamedTuple):
    """A terminal that a dialect adds to the shared ones: its name, a regular expression, and what messages call it."""

    name: str
    regex: str
    words: str


Terminals = tuple[Terminal, ...]


@cache
def _scanner_for(numbered: bool, more: Terminals) -> re.Pattern[str]:
    value = {"VALUE": rf"%(?:{_NAME}|[0-9]+)"} if numbered else {}
    return _scanner({**{own.name: own.regex for own in more}, **TERMINALS, **value})


class Lexeme(NamedTuple):
    """One token with its terminal name and its place: offsets into the text."""

    kind: str
    text: str
    start: int
    end: int


def tokens(text: str) -> list[str]:
    """Return the tokens of `text` in order; the last one is the empty string, which marks the end."""
    found: list[str] = _cut(text)
    if len(found) > 1 and not found[-2]:  # the end is found twice after trailing white space
        found.pop()
    return found


def tokens_and_starts(text: str, *, numbered: bool, more: Terminals) -> tuple[list[str], list[int]]:
    """Return the tokens of `text` as `scan` cuts them, and where each begins; the last is the empty one at the end."""
    found = []
    starts = []
    for match in _scanner_for(numbered, more).finditer(text):
        token = match[match.lastgroup or 0]
        found.append(token)
        starts.append(match.end() - len(token))
        if not token:
            break
    return found, starts


def scan(
    text: str, start: int = 0, end: int | None = None, *, numbered: bool = False, more: Terminals = ()
) -> Iterator[Lexeme]:
    """Yield the tokens of ``text[start:end]``, cut as by `tokens`, with their kinds and places in `text`.

    With `numbered`, ``%0`` is the name of a value as well; `more` are terminals that are tried before the others.
    """
    pattern = _scanner_for(numbered, more) if numbered or more else _scan
    for match in pattern.finditer(text, start, len(text) if end is None else end):
        kind = match.lastgroup
        assert kind is not None
        yield Lexeme(kind, match.group(kind), *match.span(kind))
        if kind == "END":
            return


_LONGEST_COMMENT: Final = 2000
"""The end of a comment of several lines is looked for so far, lest text full of them take long."""


def foreign_comment(text: str, start: int) -> int | None:
    """Return where a comment of another language ends that begins at `start`; None when none does."""
    line = text.find("\n", start)
    line = len(text) if line < 0 else line
    if text.startswith("#", start):
        return line
    if not text.startswith("/*", start):
        return None
    closed = text.find("*/", start + 2, start + _LONGEST_COMMENT)
    return line if closed < 0 else closed + 2
