"""Diagnostics that comments of a file expect, compared with those that come: ``--verify-diagnostics``.

    // expected-error@+1 {{use of undefined value %b}}

Errors and warnings must all be expected, remarks and notes only where any is. Source: tools specification 4.8.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Final

from scaly_ir.text.diagnostics import Diagnostic, did_you_mean, error, note
from scaly_ir.text.source import Source, Span

SEVERITIES: Final = ("error", "warning", "note", "remark")

_each: Final = re.compile(r"\bexpected-(?P<severity>[a-z]+)(?P<re>-re)?(?P<at>@[^\s{]*)?[ \t]*(?P<open>\{\{)?")
_offset: Final = re.compile(r"@([+-]\d+|above|below|unknown)").fullmatch


@dataclass(frozen=True, slots=True)
class Expectation:
    """A diagnostic that is expected on a line, or without a place where that is None."""

    severity: str
    line: int | None
    text: str
    is_pattern: bool
    """Whether ``{{...}}`` within the text are regular expressions."""
    span: Span

    def meets(self, diagnostic: Diagnostic) -> bool:
        """Tell whether this is the diagnostic."""
        line = None if diagnostic.span is None else diagnostic.span.here.position()[0]
        if self.severity != diagnostic.severity or self.line != line:
            return False
        if not self.is_pattern:
            return self.text in diagnostic.message
        return re.search(_pattern(self.text), diagnostic.message) is not None


def _pattern(text: str) -> str:
    parts = re.split(r"\{\{(.*?)\}\}", text)
    return "".join([f"(?:{part})" if number % 2 else re.escape(part) for number, part in enumerate(parts)])


# --- reading --------------------------------------------------------------------------------------------------------


def expectations(source: Source) -> tuple[list[Expectation], list[Diagnostic]]:
    """Return what the comments of a source expect, and what is wrong with them."""
    found: list[Expectation] = []
    wrong: list[Diagnostic] = []
    lines = source.text.split("\n")
    offset = 0
    for number, line in enumerate(lines, start=source.first_line):
        comment = line.find("//")
        for match in _each.finditer(line, comment) if comment >= 0 else ():
            span = Span(source, offset + match.start(), offset + match.end())
            made = _read(match, line, number, span, lines, source.first_line)
            (found if isinstance(made, Expectation) else wrong).append(made)  # type: ignore[arg-type]
        offset += len(line) + 1
    return found, wrong


def _read(
    match: re.Match[str], line: str, number: int, span: Span, lines: Sequence[str], first: int
) -> Expectation | Diagnostic:
    severity, at = match["severity"], match["at"] or "@+0"
    if severity not in SEVERITIES:
        hint = did_you_mean(f"expected-{severity}", [f"expected-{known}" for known in SEVERITIES])
        return error(f"unknown directive 'expected-{severity}'{hint}", span, "expectation")
    if not _offset(at):
        return error(f"'{at}' is no place; expected @+N, @-N, @above, @below or @unknown", span, "expectation")
    end = closing_braces(line, match.end()) if match["open"] else -1
    if end < 0:
        return error(f"expected '{{{{text}}}}' after 'expected-{severity}'", span, "expectation")
    text, is_pattern = line[match.end() : end], bool(match["re"])
    if is_pattern:
        try:
            re.compile(_pattern(text))
        except re.error as failure:
            return error(f"'{text}' is no regular expression: {failure}", span, "expectation")
    return Expectation(severity, _line(at, number, lines, first), text, is_pattern, span)


def closing_braces(line: str, start: int) -> int:
    """Return where the text of an expectation ends: at the braces that close it, -1 when none do."""
    depth = 1
    for mark in re.finditer(r"\{\{|\}\}", line[start:]):
        depth += 1 if mark[0] == "{{" else -1
        if depth == 0:
            return start + mark.start()
    return -1


def _line(at: str, number: int, lines: Sequence[str], first: int) -> int | None:
    if at == "@unknown":
        return None
    if at not in ("@above", "@below"):
        return number + int(at[1:])
    step = -1 if at == "@above" else 1
    number += step
    while 0 <= number - first < len(lines) and _is_expectation_alone(lines[number - first]):
        number += step
    return number


def _is_expectation_alone(line: str) -> bool:
    return line.lstrip().startswith("//") and _each.search(line) is not None


# --- comparing --------------------------------------------------------------------------------------------------------


def unmet(expected: Sequence[Expectation], came: Iterable[Diagnostic], *, only_expected: bool) -> Iterator[Diagnostic]:
    """Yield an error for each expectation that nothing meets, and for each diagnostic that is not expected.

    Each diagnostic meets one expectation. `only_expected` tolerates those that none expects.
    """
    flat = [each for diagnostic in came for each in (diagnostic, *diagnostic.notes)]
    missing, left = compare(expected, flat)
    for expectation in missing:
        message = f"expected {expectation.severity} was not produced: {expectation.text}"
        yield error(message, expectation.span, "missing", _nearest(expectation, left or flat))
    counted = looked_at(expected)
    for diagnostic in left if not only_expected else ():
        if diagnostic.severity in counted:
            yield error(f"unexpected {diagnostic.severity}: {diagnostic.message}", diagnostic.span, "unexpected")


def compare(expected: Iterable[Expectation], came: Sequence[Diagnostic]) -> tuple[list[Expectation], list[Diagnostic]]:
    """Return the expectations that no diagnostic meets, and the diagnostics that are left; notes count as they come."""
    left = list(came)
    missing = []
    for expectation in expected:
        meeting = next((diagnostic for diagnostic in left if expectation.meets(diagnostic)), None)
        if meeting is None:
            missing.append(expectation)
        else:
            left = [diagnostic for diagnostic in left if diagnostic is not meeting]
    return missing, left


def looked_at(expected: Iterable[Expectation]) -> set[str]:
    """Return the severities of diagnostics that must be expected: others need to be only where any is."""
    return {"error", "warning", *[expectation.severity for expectation in expected]}


def _nearest(expectation: Expectation, came: Sequence[Diagnostic]) -> list[Diagnostic]:
    """Return a note on the message that is most like the expected one."""
    if not came:
        return []
    likeness = [SequenceMatcher(None, expectation.text, diagnostic.message).ratio() for diagnostic in came]
    nearest = came[likeness.index(max(likeness))]
    return [note(f"the nearest message is this {nearest.severity}: {nearest.message}", nearest.span)]
