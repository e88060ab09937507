"""One golden test file: read, parsed and linted.

Owns the order in which a file is judged. What it returns can be run without a further look at the text.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from scaly_ir.text.diagnostics import Diagnostic, error, render
from scaly_ir.text.source import DecodeError, Source, Span
from scaly_ir.tools.golden import conditions, run_parser
from scaly_ir.tools.golden.commands import IN_PROCESS
from scaly_ir.tools.golden.lint import lint
from scaly_ir.tools.golden.run_line import RunLine


class BadTestFileError(Exception):
    """Refuse a test file for `problems`; the text is the finished message, places included."""

    def __init__(self, problems: Sequence[Diagnostic], text: str = "") -> None:
        self.problems = _one_for_each_place(problems)
        super().__init__(text or _rendered(self.problems))


@dataclass(frozen=True, slots=True)
class GoldenTest:
    """Hold a test file that passed the lint."""

    path: Path
    source: Source
    runs: tuple[RunLine, ...]
    conditions: conditions.Conditions


def load(path: Path, name: str) -> GoldenTest:
    """Read a test file that messages call `name`; raise `BadTestFileError` with all its mistakes."""
    source = read_source(path, name)
    runs, problems = run_parser.parse(source)
    applies, more = conditions.parse(source)
    problems += more
    if not problems:  # a RUN line that was left out would be missed everywhere
        problems += lint(source, runs, IN_PROCESS)
    if not runs and not problems:
        message = (
            "no RUN line says how to test this file; a file that only others read belongs in a folder named Inputs"
        )
        problems.append(error(message, Span(source, 0, 0), "run-line"))
    if problems:
        raise BadTestFileError(problems)
    return GoldenTest(path, source, tuple(runs), applies)


def read_source(path: Path, name: str) -> Source:
    """Read a text file; raise `BadTestFileError` when that is not possible."""
    try:
        return Source.from_bytes(path.read_bytes(), name)
    except OSError as problem:
        raise BadTestFileError([error(f"cannot read '{name}': {problem.strerror}", code="read")]) from None
    except DecodeError as problem:
        place = Span(problem.source, problem.offset, problem.offset + 1) if problem.source else None
        raise BadTestFileError([error(str(problem), place, "encoding")]) from None


def _one_for_each_place(problems: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """Return errors in the order of their places, the first one of each."""
    at: dict[int, Diagnostic] = {}
    for problem in problems:
        at.setdefault(problem.span.start if problem.span else -1, problem)
    return tuple([at[start] for start in sorted(at)])


def _rendered(problems: Sequence[Diagnostic]) -> str:
    """Return errors as they are shown, and how many there are."""
    shown = [render(problem) for problem in problems]
    if len(shown) > 1:
        shown.append(f"{len(shown)} errors")
    return "\n".join(shown)
