"""What a pass changed, as a unified diff that names pass and function.

Numbered values are all alike in the comparison: a line whose numbers alone changed is no change, so that taking away
one operation does not mark every line behind it. Shown lines keep the numbers of their own side. Source: tools
specification 4.4.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from scaly_ir.graph import Node
from scaly_ir.tools.opt.ir_text import IrText
from scaly_ir.tools.opt.line_diff import Block, common_blocks
from scaly_ir.tools.opt.watcher import Watcher

if TYPE_CHECKING:
    from scaly_ir.pass_manager import Pass

CONTEXT: Final = 3
"""Lines that are shown before and after each change."""

_number: Final = re.compile(r"%\d+")
_function: Final = re.compile(r"\s*\w+\.\w+ @.*\{\s*(//.*)?$")
"""The line that begins a function: an operation with a symbol, and a body."""

_COLOURS: Final = {"-": "\x1b[31m", "+": "\x1b[32m", "@": "\x1b[36m"}
_PLAIN: Final = "\x1b[0m"


class Diffs(Watcher):
    """Shows what each pass changed; `show` receives each diff, `say` the names of passes that changed nothing."""

    def __init__(
        self,
        show: Callable[[str], None],
        text: IrText,
        *,
        colour: bool = False,
        say: Callable[[str], None] | None = None,
    ) -> None:
        self._show = show
        self._text = text
        self._colour = colour
        self._say = say

    def after_pass(self, number: int, step: Pass, before: Node, after: Node) -> None:
        """Show the difference."""
        lines = [] if after is before else unified(self._text(before), self._text(after), step.name)
        if lines:
            self._show("".join([coloured(line) for line in lines] if self._colour else lines))
        elif self._say is not None:
            self._say(f"pass {number}, {step.name}, changed nothing")


def unified(before: str, after: str, name: str) -> list[str]:
    """Return the lines of a unified diff of two texts, none when they differ in value numbers alone."""
    olds, news = before.splitlines(keepends=True), after.splitlines(keepends=True)
    functions = [at for at, line in enumerate(olds) if _function.match(line)]
    lines: list[str] = []
    for hunk in _hunks(_changes(olds, news)):
        lines.append(_head(hunk, olds, functions))
        for change in hunk:
            if change.alike:
                lines += [f" {news[at]}" for at in change.news]
            else:
                lines += [f"-{olds[at]}" for at in change.olds]
                lines += [f"+{news[at]}" for at in change.news]
    return [f"--- before {name}\n", f"+++ after {name}\n", *lines] if lines else []


class _Change(NamedTuple):
    """Lines of either side that are not alike, or that are."""

    olds: range
    news: range
    alike: bool


def _changes(olds: Sequence[str], news: Sequence[str]) -> list[_Change]:
    """Return what is alike and what is not, in turn."""
    first, second = [[_number.sub("%", line) for line in lines] for lines in (olds, news)]
    found = []
    old = new = 0
    for block in [*common_blocks(first, second), Block(len(olds), len(news), 0)]:
        if (old, new) != (block.first, block.second):
            found.append(_Change(range(old, block.first), range(new, block.second), alike=False))
        old, new = block.first + block.size, block.second + block.size
        if block.size:
            found.append(_Change(range(block.first, old), range(block.second, new), alike=True))
    return found


def _hunks(changes: Sequence[_Change]) -> Iterator[list[_Change]]:
    """Yield the changes that stand close together, with the lines around them."""
    hunk: list[_Change] = []
    for number, change in enumerate(changes):
        if not change.alike:
            hunk.append(change)
            continue
        first, last = number == 0, number == len(changes) - 1
        size = len(change.olds)
        if not first and (last or size > 2 * CONTEXT):
            yield [*hunk, _part(change, 0, min(size, CONTEXT))]
            hunk = []
        if not last:
            hunk.append(change if hunk else _part(change, max(size - CONTEXT, 0), size))
    if hunk and not all([change.alike for change in hunk]):
        yield hunk


def _part(change: _Change, start: int, end: int) -> _Change:
    return _Change(change.olds[start:end], change.news[start:end], alike=True)


def _head(hunk: Sequence[_Change], olds: Sequence[str], functions: Sequence[int]) -> str:
    """Return the first line of a hunk; it names the function of the first change, not of the lines before that."""
    old = range(hunk[0].olds.start, hunk[-1].olds.stop)
    new = range(hunk[0].news.start, hunk[-1].news.stop)
    changed = next(change.olds for change in hunk if not change.alike)
    inside = bisect_right(functions, changed.start if changed else changed.start - 1)
    where = f" {olds[functions[inside - 1]].strip().partition('(')[0]}" if inside else ""
    return f"@@ -{_lines(old)} +{_lines(new)} @@{where}\n"


def _lines(lines: range) -> str:
    """Return a range of lines as unified diffs have it: an empty one is behind the line before."""
    start = lines.start + 1 if lines else lines.start
    return f"{start},{len(lines)}" if len(lines) != 1 else f"{start}"


def coloured(line: str) -> str:
    """Return a line of a diff in its colour."""
    colour = _COLOURS.get(line[0])
    text = line.rstrip("\n")
    return f"{colour}{text}{_PLAIN}\n" if colour else line
