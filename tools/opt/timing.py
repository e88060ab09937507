"""Where the time of a run goes: a table of its phases and passes, or the same as JSON.

Wall-clock time, from when the tool has read its command line. Verification after passes counts as that of the input.
Source: tools specification 4.5.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from scaly_ir.graph import Node
from scaly_ir.tools.opt.watcher import Watcher

if TYPE_CHECKING:
    from scaly_ir.pass_manager import Pass

_BEFORE: Final = ("read", "parse", "verify")
_AFTER: Final = ("print", "rest")


class Timing(Watcher):
    """Adds up what each phase and pass takes; `show` receives the report, `clock` gives seconds."""

    def __init__(self, show: Callable[[str], None], *, as_json: bool, clock: Callable[[], float] = time.perf_counter):
        self._show = show
        self._as_json = as_json
        self._clock = clock
        self._spent: dict[str, float] = dict.fromkeys(_BEFORE, 0.0)
        self._phase = "rest"
        self._since = clock()

    def enter(self, phase: str) -> None:
        """Count from here on for a phase."""
        now = self._clock()
        self._spent[self._phase] = self._spent.get(self._phase, 0.0) + now - self._since
        self._phase, self._since = phase, now

    def before_pass(self, number: int, step: Pass, root: Node) -> None:
        """Count from here on for a pass."""
        self.enter(f"{number} {step.name}")

    def after_pass(self, number: int, step: Pass, before: Node, after: Node) -> None:
        """Count no more for the pass."""
        self.enter("rest")

    def close(self) -> None:
        """Show the report."""
        self.enter("rest")
        passes = [name for name in self._spent if name not in (*_BEFORE, *_AFTER)]
        rows = [(name, 1000 * self._spent.get(name, 0.0)) for name in (*_BEFORE, *passes, *_AFTER)]
        total = sum([spent for _, spent in rows])
        self._show((_json if self._as_json else _table)(rows, total))


def _share(spent: float, total: float) -> float:
    return spent / total if total else 0.0


def _table(rows: list[tuple[str, float]], total: float) -> str:
    lines = [f"{'ms':>10}  {'share':>6}  phase"]
    lines += [f"{spent:>10.3f}  {_share(spent, total):>6.1%}  {name}" for name, spent in [*rows, ("total", total)]]
    return "\n".join(lines) + "\n"


def _json(rows: list[tuple[str, float]], total: float) -> str:
    phases = [{"phase": name, "ms": round(ms, 6), "share": round(_share(ms, total), 6)} for name, ms in rows]
    return json.dumps({"phases": phases, "total_ms": round(total, 6)}) + "\n"
