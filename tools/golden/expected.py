"""Rewriting ``expected-...`` comments: those that are met stay, the others make way for what a tool says.

Owns these comments of a test file. What they mean is in `tools/opt/expectations`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final, cast

from scaly_ir.text.diagnostics import Diagnostic, Severity
from scaly_ir.text.source import Source, Span
from scaly_ir.tools.golden import execute
from scaly_ir.tools.golden.edited_lines import Line, Part, Reference, new_line
from scaly_ir.tools.golden.golden_file import GoldenTest
from scaly_ir.tools.golden.run_line import Paths, RunLine, Stderr, Word
from scaly_ir.tools.opt.expectations import Expectation, closing_braces, compare, looked_at

_OPTION: Final = re.compile(r"--?verify-diagnostics(?:=(.*))?").fullmatch
_OFFSET: Final = re.compile(r"@[+-]\d+")


def verifies(line: RunLine) -> bool:
    """Tell whether a RUN line compares diagnostics with comments."""
    return any([_OPTION(word.text) for command in line.commands() for word in command.words])


def diagnostics(test: GoldenTest, line: RunLine, paths: Paths) -> tuple[list[Diagnostic], bool]:
    """Return what the tool of such a line says without these comments, and whether only expected ones count."""
    for number, pipe in enumerate(line.pipes):
        for at, command in enumerate(pipe):
            found = [match for word in command.words if (match := _OPTION(word.text))]
            if found:
                words = [word for word in command.words if not _OPTION(word.text)]
                plain = [*words, *[Word(text, command.words[0].span) for text in ("--max-errors=0", "--color=never")]]
                changed = replace(command, words=tuple(plain), stderr=Stderr.PIPE)
                cut = replace(line, pipes=(*line.pipes[:number], (*pipe[:at], changed)))
                said = execute.run(test, cut, paths)[-1].piped.decode("utf-8", "replace")
                return _read(said, test.source, paths.file.as_posix()), found[-1][1] == "only-expected"
    return [], False


def _read(said: str, source: Source, path: str) -> list[Diagnostic]:
    head = re.compile(rf"^(?:{re.escape(path)}:(\d+):(\d+)|[\w-]+): (error|warning|note|remark): (.*)$", re.MULTILINE)
    last = len(source.text.split("\n"))
    found = []
    for line, column, severity, message in head.findall(said):
        span = None
        if line and 0 < int(line) <= last:
            start = source.line_span(int(line)).start + int(column) - 1
            span = Span(source, start, start)
        found.append(Diagnostic(cast("Severity", severity), message, span))
    return found


def rewrite(
    lines: list[Line], came: Iterable[tuple[Sequence[Diagnostic], bool]], expected: Sequence[Expectation], top: Line
) -> list[Line]:
    """Return the lines with comments that expect what came; those for no place go behind the line `top`.

    `came` holds for each RUN line what its tool says, and whether only expected diagnostics count; `expected` are the
    comments that `lines` have. Each line of the file is as it was read.
    """
    wrong: list[Expectation] = []
    new: list[Diagnostic] = []
    for said, only_expected in came:
        missing, left = compare(expected, said)
        wrong += missing
        counted = looked_at(expected)
        new += [each for each in left if each.severity in counted and not only_expected]
    by_line: dict[int, dict[tuple[str, str], Diagnostic]] = {}
    for diagnostic in new:
        known = by_line.setdefault(_line_of(diagnostic), {})
        known.setdefault((diagnostic.severity, diagnostic.message), diagnostic)
    removed = _edit(dict(enumerate(lines, start=1)), expected, {id(each) for each in wrong})
    result: list[Line] = []
    for number, line in enumerate(lines, start=1):
        result += [_comment(each, line) for each in by_line.get(number, {}).values()]
        if id(line) not in removed:
            result.append(line)
        if line is top:
            result += [_comment(each, None) for each in by_line.get(0, {}).values()]
    return result


def _edit(lines: dict[int, Line], expected: Sequence[Expectation], wrong: set[int]) -> set[int]:
    """Take the wrong comments out of their lines and let the others follow theirs; return lines that are to go."""
    removed = set()
    by_line: dict[int, list[Expectation]] = {}
    for each in expected:
        by_line.setdefault(each.span.position()[0], []).append(each)
    for number, found in by_line.items():
        line, (text,) = lines[number], cast("tuple[str]", tuple(lines[number].parts))
        parts: list[Part] = []
        at = 0
        for each in found:
            start = each.span.position()[1] - 1
            end = closing_braces(text, start + each.span.end - each.span.start) + 2
            parts.append(text[at:start])
            if id(each) not in wrong:
                parts += _following(text[start:end], each, number, lines)
            at = end
        parts.append(text[at:])
        if all([id(each) in wrong for each in found]):
            rest = "".join([part for part in parts if isinstance(part, str)])
            comment = rest.rfind("//")
            if not rest[comment:].strip().lstrip("/").strip():
                parts = [rest[:comment].rstrip() + ("\r" if rest.endswith("\r") else "")]
            if not rest[:comment].strip() and len(parts) == 1:
                removed.add(id(line))
        line.parts = parts
    return removed


def _following(text: str, expectation: Expectation, own: int, lines: dict[int, Line]) -> list[Part]:
    """Return the text of a comment whose ``@+N`` follows the line that it means."""
    head, braces, tail = text.partition("{{")
    offset = _OFFSET.search(head)
    target = lines.get(expectation.line or 0)
    if offset is None or target is None or expectation.line == own:
        return [text]
    return [head[: offset.start()], Reference(target, _offset), head[offset.end() :] + braces + tail]


def _offset(distance: int) -> str:
    return f"@{distance:+}"


def _line_of(diagnostic: Diagnostic) -> int:
    """Return the line of a message, 0 for one without a place."""
    return diagnostic.span.here.position()[0] if diagnostic.span else 0


def _comment(diagnostic: Diagnostic, target: Line | None) -> Line:
    """Return a comment that expects a diagnostic, to stand above the line that it is about."""
    text = f" {{{{{_balanced(diagnostic.message)}}}}}"
    if target is None:
        return Line([f"// expected-{diagnostic.severity}@unknown{text}"])
    blank = target.text[: len(target.text) - len(target.text.lstrip())]
    return new_line([f"{blank}// expected-{diagnostic.severity}", Reference(target, _offset), text], target)


def _balanced(message: str) -> str:
    """Return a message up to braces that would end the comment, or leave it open."""
    if closing_braces(f"{message}}}}}", 0) == len(message):
        return message
    return re.split(r"\{\{|\}\}", message)[0].rstrip("{}")
