"""CHECK directives: finding them in a file and taking their text apart.

Owns what a directive is. It neither judges a file as a whole (`lint`) nor matches anything (`matcher`).
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from scaly_ir.text.diagnostics import Diagnostic, error
from scaly_ir.text.source import Source, Span

KINDS: Final = ("NEXT", "SAME", "DAG", "NOT", "LABEL", "EMPTY")
"""The suffixes of a prefix, besides `COUNT-n`."""

COMMENT: Final = re.compile(r"(?<![\w-])(?:RUN|COM):")
"""What makes the rest of a line no directive."""

_VARIABLE = re.compile(r"\$?[A-Za-z_][A-Za-z0-9_]*")
_LINE_NUMBER = re.compile(r"# @LINE(?: ?[+-] \d+)?")  # exactly the spacing that the package reads
_NUMBER_USE = re.compile(r"#(\$?[A-Za-z_]\w*) *")
_NUMBER_CAPTURE = re.compile(r"#(?:%(?:\.\d+)?([udxX])?,)?(?:(\$?[A-Za-z_]\w*):)?")


@dataclass(frozen=True, slots=True)
class Directive:
    """Hold one directive; `kind` is empty for a plain one, `COUNT` comes with `count`."""

    source: Source
    line: int
    prefix: str
    kind: str
    count: int
    literal: bool
    name: str  # as written, without the colon
    start: int  # offset of the prefix in the source
    argument: str
    argument_start: int

    @property
    def span(self) -> Span:
        """Return the place of the prefix and kind."""
        return Span(self.source, self.start, self.start + len(self.name))

    @property
    def argument_span(self) -> Span:
        """Return the place of the text to match, or of the directive itself when it has none."""
        if not self.argument:
            return self.span
        return Span(self.source, self.argument_start, self.argument_start + len(self.argument))


@functools.lru_cache(maxsize=64)
def pattern(prefixes: tuple[str, ...]) -> re.Pattern[str]:
    """Return the pattern of a directive; its groups 1 to 6 are those that the `filecheck` package reads."""
    names = "|".join([re.escape(prefix) for prefix in prefixes])
    kinds = "|".join([*KINDS, r"COUNT-\d+"])
    return re.compile(rf"((?<![\w-]))({names})(-({kinds}))?(\{{LITERAL\}})?:([^\n]*)")


def scan(source: Source, prefixes: tuple[str, ...]) -> list[Directive]:
    """Return the directives with one of these prefixes, in order; lines with a comment marker before it have none."""
    find = pattern(prefixes).search
    found: list[Directive] = []
    offset = 0
    for number, line in enumerate(source.text.split("\n"), start=1):
        match = find(line) if ":" in line else None
        if match and not COMMENT.search(line, 0, match.start()):
            kind, _, count = (match[4] or "").partition("-")
            argument = match[6].strip()
            start = match.start(6) + len(match[6]) - len(match[6].lstrip())
            name = line[match.start() : match.start(6) - 1]
            found.append(
                Directive(
                    source,
                    number,
                    match[2],
                    kind,
                    int(count or 1),
                    match[5] is not None,
                    name,
                    offset + match.start(),
                    argument,
                    offset + start,
                )
            )
        offset += len(line) + 1
    return found


@dataclass(frozen=True, slots=True)
class Variable:
    """Hold one variable of a directive: its definition (`[[X:...]]`) or a use (`[[X]]`)."""

    name: str
    defined: bool
    span: Span


class MalformedError(Exception):
    """Refuse the text of a directive."""

    def __init__(self, message: str, span: Span) -> None:
        super().__init__(message)
        self.diagnostic: Diagnostic = error(message, span, "check-directive")


def variables(directive: Directive) -> Iterator[Variable]:
    """Yield the variables of a directive from left to right; raise `MalformedError` at a block that cannot be read."""
    text, at = directive.argument, 0
    if directive.literal:
        return
    while True:
        starts = [start for start in (text.find("{{", at), text.find("[[", at)) if start >= 0]
        if not starts:
            return
        start = min(starts)
        if text[start] == "{":
            at = _regex_end(directive, start)
        else:
            at = _block_end(directive, start)
            variable = _read_block(text[start + 2 : at - 2], _span(directive, start, at))
            if variable:
                yield variable


def _span(directive: Directive, start: int, end: int) -> Span:
    return Span(directive.source, directive.argument_start + start, directive.argument_start + end)


def _regex_end(directive: Directive, start: int) -> int:
    text = directive.argument
    end = text.find("}}", start + 2)
    if end < 0:
        raise MalformedError("this '{{' is never closed by '}}'", _span(directive, start, start + 2))
    body = text[start + 2 : end]
    if text.startswith("}}}", end) and body.count("{") > body.count("}"):
        # Python would take the open repetition for plain text, and the directive would never match.
        raise MalformedError(
            "this regular expression ends at the first '}}'; put (...) around it", _span(directive, start, end + 3)
        )
    return end + 2


def _block_end(directive: Directive, start: int) -> int:
    """Find the end of `[[...]]`, minding brackets and escapes within."""
    text, at, depth = directive.argument, start + 2, 0
    while at < len(text):
        if depth == 0 and text.startswith("]]", at):
            return at + 2
        if text[at] == "\\":
            at += 1
        elif text[at] == "[":
            depth += 1
        elif text[at] == "]":
            depth -= 1
            if depth < 0:
                break
        at += 1
    message = "this '[[' is never closed by ']]'; write {{\\[\\[}} to match the brackets themselves"
    raise MalformedError(message, _span(directive, start, start + 2))


def _read_block(body: str, span: Span) -> Variable | None:
    if body.startswith("#"):
        return _read_number(body, span)
    name, colon, _ = body.partition(":")
    if _VARIABLE.fullmatch(name):
        return Variable(name, bool(colon), span)
    if name.startswith("@LINE"):
        raise MalformedError("write the number of a line as [[# @LINE]], [[# @LINE + 1]] or [[# @LINE - 1]]", span)
    message = f"'{name}' is no name of a capture; write {{{{\\[\\[}}}} to match the brackets themselves"
    raise MalformedError(message, span)


def _read_number(body: str, span: Span) -> Variable | None:
    if "@LINE" in body:
        if _LINE_NUMBER.fullmatch(body):
            return None
        raise MalformedError("write the number of a line as [[# @LINE]], [[# @LINE + 1]] or [[# @LINE - 1]]", span)
    if match := _NUMBER_USE.fullmatch(body):
        return Variable(match[1], False, span)
    match = _NUMBER_CAPTURE.fullmatch(body)
    if match is None:
        raise MalformedError("of numeric blocks the 'filecheck' package supports only [[#NAME:]] and [[#NAME]]", span)
    if match[2] is None:
        return None
    if len(match[2]) < 2:
        raise MalformedError("the 'filecheck' package reads no name of one letter in a numeric capture", span)
    if match[1] in ("x", "X"):
        # It would keep the value and look for its decimal digits.
        raise MalformedError(
            "the 'filecheck' package cannot match a hexadecimal capture again; use [[NAME:[0-9a-f]+]]", span
        )
    return Variable(match[2], True, span)


def union(prefix_sets: Iterable[Iterable[str]]) -> tuple[str, ...]:
    """Return all prefixes once, in order of first appearance."""
    return tuple(dict.fromkeys(prefix for prefixes in prefix_sets for prefix in prefixes))
