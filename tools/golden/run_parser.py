"""Reading `RUN` lines: joining of continued lines, quoting and operators.

Owns the little shell. What a real shell or lit would do with a line and this module does not is refused with its place,
so that a line means the same everywhere.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass

from scaly_ir.text.diagnostics import Diagnostic, error
from scaly_ir.text.source import Source, Span
from scaly_ir.tools.golden.run_line import Command, RunLine, Stderr, Word

_RUN = re.compile(r"^[ \t]*//+[ \t]*RUN:[ \t]*(.*?)[ \t]*$")
_OPERATOR = re.compile(r"[0-9]?>>?(?:&[0-9-]?)?|<<?<?|&&|&>?|\|\|?|;")
_SUPPORTED = ("|", "&&", "<", ">", "2>&1")
_WORD_END = " \t|&<>;"
_EXPANSION = re.compile(r"`|\$[A-Za-z_0-9({@#?*!$-]")
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z_0-9]*=")
# What lit has besides; '%%' is here only so that the search steps over it.
_FOREIGN = re.compile(r"%(?:%|(?P<name>basename_t|\{[^}]*\}?|[pT]))")
_FOREIGN_HINT = {"p": "write %S", "T": "write %t, which is private to the item"}


def parse(source: Source) -> tuple[list[RunLine], list[Diagnostic]]:
    """Return the RUN lines of a file in order, and what is wrong with those that are left out."""
    runs: list[RunLine] = []
    problems: list[Diagnostic] = []
    for number, joined in enumerate(_joined_lines(source, problems), start=1):
        try:
            pipes = _parse_pipes(joined)
            for pipe in pipes:
                for command in pipe:
                    _check_command(command)
        except _RefusedError as refused:
            problems.append(refused.diagnostic)
        else:
            runs.append(RunLine(number, joined.span(0, len(joined.text)), pipes))
    return runs, problems


class _RefusedError(Exception):
    """Stop reading one RUN line."""

    def __init__(self, message: str, span: Span) -> None:
        super().__init__(message)
        self.diagnostic = error(message, span, "run-line")


@dataclass(frozen=True, slots=True)
class _Joined:
    """Hold a line and its continuations; piece `i` starts at `starts[i]` in the text, at `origins[i]` in the file."""

    source: Source
    text: str
    starts: list[int]
    origins: list[int]

    def span(self, start: int, end: int) -> Span:
        """Map a range of the text to the file; one over several pieces ends with the first of them."""
        piece = bisect_right(self.starts, start) - 1
        if piece + 1 < len(self.starts):
            end = min(end, self.starts[piece + 1])
        moved = self.origins[piece] - self.starts[piece]
        return Span(self.source, start + moved, end + moved)


def _joined_lines(source: Source, problems: list[Diagnostic]) -> Iterator[_Joined]:
    """Join continued lines; a continuation that is missing is a problem, and what is there is still read."""
    pieces: list[tuple[int, str]] = []
    offset = 0
    for line in [*source.text.split("\n"), ""]:
        match = _RUN.match(line)
        if match:
            pieces.append((offset + match.start(1), match[1].removesuffix("\\")))
            if not match[1].endswith("\\"):
                yield _join(source, pieces)
                pieces = []
        elif pieces:
            origin, text = pieces[-1]
            place = Span(source, origin + len(text), origin + len(text) + 1)
            problems.append(error("the line after a final '\\' is not a RUN line", place, "run-line"))
            yield _join(source, pieces)
            pieces = []
        offset += len(line) + 1


def _join(source: Source, pieces: list[tuple[int, str]]) -> _Joined:
    starts: list[int] = []
    size = 0
    for _, text in pieces:
        starts.append(size)
        size += len(text)
    return _Joined(source, "".join([text for _, text in pieces]), starts, [origin for origin, _ in pieces])


@dataclass(frozen=True, slots=True)
class _Token:
    operator: str  # "" for a word
    word: Word


def _tokens(joined: _Joined) -> Iterator[_Token]:
    text, at = joined.text, 0
    while at < len(text):
        if text[at] in " \t":
            at += 1
        elif match := _OPERATOR.match(text, at):
            span = joined.span(at, match.end())
            if match[0] not in _SUPPORTED:
                raise _RefusedError(f"'{match[0]}' is not supported in a RUN line; there are | && < > and 2>&1", span)
            yield _Token(match[0], Word(match[0], span))
            at = match.end()
        else:
            end, word = _read_word(joined, at)
            yield _Token("", Word(word, joined.span(at, end)))
            at = end


def _read_word(joined: _Joined, start: int) -> tuple[int, str]:
    """Read a word with the quoting rules of POSIX; return its end and its text."""
    text, at, quote, opened = joined.text, start, "", start
    out: list[str] = []
    while at < len(text):
        char = text[at]
        if not quote and char in _WORD_END:
            break
        if quote != "'" and (match := _EXPANSION.match(text, at)):
            message = f"a shell would expand '{match[0]}' here; put it in single quotes"
            raise _RefusedError(message, joined.span(at, match.end()))
        if not quote and char in "*?":
            raise _RefusedError(f"a shell would expand '{char}' here; put it in quotes", joined.span(at, at + 1))
        if char == quote:
            quote = ""
        elif not quote and char in "'\"":
            quote, opened = char, at
        elif char == "\\" and quote != "'":
            if at + 1 == len(text):
                raise _RefusedError("no character follows this '\\'", joined.span(at, at + 1))
            following = text[at + 1]
            # Within double quotes a backslash is itself unless it escapes the quote or a backslash, as in shlex.
            out.append(following if not quote or following in '"\\' else char + following)
            at += 1
        else:
            out.append(char)
        at += 1
    if quote:
        raise _RefusedError(f"this {quote} is never closed", joined.span(opened, opened + 1))
    return at, "".join(out)


def _parse_pipes(joined: _Joined) -> tuple[tuple[Command, ...], ...]:
    pipes: list[list[Command]] = [[]]
    current: list[_Token] = []
    previous = "RUN:"
    for token in _tokens(joined):
        if token.operator not in ("|", "&&"):
            current.append(token)
            continue
        if not current:
            raise _RefusedError(f"expected a command between '{previous}' and '{token.operator}'", token.word.span)
        previous = token.operator
        pipes[-1].append(_parse_command(current))
        current = []
        if token.operator == "&&":
            pipes.append([])
    if not current:
        end = len(joined.text)
        raise _RefusedError(f"expected a command after '{previous}'", joined.span(max(0, end - len(previous)), end))
    pipes[-1].append(_parse_command(current))
    return tuple([tuple(pipe) for pipe in pipes])


def _parse_command(tokens: list[_Token]) -> Command:
    words: list[Word] = []
    targets: dict[str, Word] = {}
    stderr = Stderr.KEPT
    rest = iter(tokens)
    for token in rest:
        if token.operator == "":
            words.append(token.word)
        elif token.operator == "2>&1":
            stderr = Stderr.FILE if ">" in targets else Stderr.PIPE
        else:
            target = next(rest, None)
            if target is None or target.operator:
                raise _RefusedError(f"expected a file name after '{token.operator}'", token.word.span)
            if token.operator in targets:
                raise _RefusedError(f"a second '{token.operator}' in one command", token.word.span)
            targets[token.operator] = target.word
    negated = bool(words) and words[0].text == "not"
    if not words[int(negated) :]:
        raise _RefusedError("expected a command" + (" after 'not'" if negated else ""), tokens[-1].word.span)
    return Command(tuple(words[int(negated) :]), negated, targets.get("<"), targets.get(">"), stderr)


def _check_command(command: Command) -> None:
    first = command.words[0]
    if first.text == "not":
        raise _RefusedError("'not' takes a command, not a second 'not'", first.span)
    if first.text == "!":
        raise _RefusedError("'!' is not supported in a RUN line; write 'not'", first.span)
    if first.text.startswith("-"):
        raise _RefusedError(f"expected a command, found the option '{first.text}'", first.span)
    if _ASSIGNMENT.match(first.text):
        raise _RefusedError("write 'env NAME=VALUE command' to set a variable", first.span)
    for word in command.all_words():
        for match in _FOREIGN.finditer(word.text):
            if name := match["name"]:
                hint = _FOREIGN_HINT.get(name, "there are %s, %S, %t and %%")
                raise _RefusedError(f"'{match[0]}' is not supported in a RUN line; {hint}", word.span)
    # Anything else would land in the folder of the tests, where items that run in parallel meet.
    target = command.stdout
    if target and target.text != "/dev/null" and not target.text.startswith("%t"):
        raise _RefusedError("'>' writes only to a path that starts with %t, which is private to the item", target.span)
