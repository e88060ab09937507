"""One golden test file: read, parsed and linted.

Owns the order in which a file is judged. What it returns can be run without a further look at the text.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from scaly_ir.text.diagnostics import Diagnostic, error, render
from scaly_ir.text.source import DecodeError, Source, Span
from scaly_ir.tools.golden import conditions, run_parser
from scaly_ir.tools.golden.commands import IN_PROCESS
from scaly_ir.tools.golden.lint import lint
from scaly_ir.tools.golden.run_line import RunLine


class BadTestFileError(Exception):
    """Refuse a test file; the text is the finished message, places included."""


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
        raise BadTestFileError(render_all(problems))
    return GoldenTest(path, source, tuple(runs), applies)


def read_source(path: Path, name: str) -> Source:
    """Read a text file; raise `BadTestFileError` when that is not possible."""
    try:
        return Source.from_bytes(path.read_bytes(), name)
    except OSError as problem:
        raise BadTestFileError(f"error: cannot read '{name}': {problem.strerror}") from None
    except DecodeError as problem:
        place = Span(problem.source, problem.offset, problem.offset + 1) if problem.source else None
        raise BadTestFileError(render(error(str(problem), place))) from None


def render_all(problems: Iterable[Diagnostic]) -> str:
    """Show errors in the order of their places, the first one of each place, and how many there are."""
    at: dict[int, Diagnostic] = {}
    for problem in problems:
        at.setdefault(problem.span.start if problem.span else -1, problem)
    shown = [render(at[start]) for start in sorted(at)]
    if len(shown) > 1:
        shown.append(f"{len(shown)} errors")
    return "\n".join(shown)
