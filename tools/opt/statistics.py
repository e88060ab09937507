"""What passes did, in numbers: operations before and after, and what each counts. Source: tools specification 4.5."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from typing import TYPE_CHECKING, NamedTuple

from scaly_ir.counters import collect_counts
from scaly_ir.graph import Node
from scaly_ir.tools.opt.ir_text import IrText
from scaly_ir.tools.opt.watcher import Watcher

if TYPE_CHECKING:
    from scaly_ir.pass_manager import Pass


class _Row(NamedTuple):
    number: int
    name: str
    before: int
    after: int
    counts: dict[str, int]


class Statistics(Watcher):
    """Counts around each pass; `show` receives the report at the end."""

    def __init__(self, show: Callable[[str], None], *, as_json: bool) -> None:
        self._show = show
        self._as_json = as_json
        self._rows: list[_Row] = []
        self._collecting = ExitStack()
        self._counts: Counter[str] = Counter()

    def before_pass(self, number: int, step: Pass, root: Node) -> None:
        """Begin to collect what the pass counts."""
        self._counts = self._collecting.enter_context(collect_counts())

    def after_pass(self, number: int, step: Pass, before: Node, after: Node) -> None:
        """Note what the pass made."""
        self._collecting.close()
        counts = {name: self._counts[name] for name in step.counters}
        old = operations(before)
        self._rows.append(_Row(number, step.name, old, old if after is before else operations(after), counts))

    def pass_failed(self, number: int, step: Pass, before: Node, after: Node | None) -> None:
        """Collect no more."""
        self._collecting.close()

    def close(self) -> None:
        """Show the report."""
        if self._as_json:
            self._show(json.dumps({"passes": [row._asdict() for row in self._rows]}) + "\n")
        else:
            self._show("".join([_line(row) for row in self._rows]))


def operations(root: Node) -> int:
    """Return how many operations the text of a root shows: a line each, statements and functions too."""
    return sum([line.strip() != "}" for line in IrText()(root).splitlines()])


def _line(row: _Row) -> str:
    counts = "".join([f", {amount:,} {name.replace('_', ' ')}" for name, amount in row.counts.items()])
    return f"{row.number} {row.name}: {row.before:,} operations before, {row.after:,} after{counts}\n"
