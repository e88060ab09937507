"""What ends a loop before all its steps are done: a number of steps known when the program runs, or a condition.

There is no way out of a loop in `prog`: after the condition has failed, the loop runs on with nothing to do. Source:
lowering specification 1.8.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from scaly_ir.dialects.expr.functions import outputs_of
from scaly_ir.dialects.prog import build
from scaly_ir.graph import Node
from scaly_ir.passes.expr.lowering.calls import call
from scaly_ir.passes.expr.lowering.procedure import Procedure, storage_shape
from scaly_ir.passes.expr.lowering.steps import Loop
from scaly_ir.types import INT64


@dataclass(frozen=True)
class Condition:
    """A condition: its procedure, the buffer of its answer, and whether it has held so far, 0 or 1."""

    callee: str
    answer: Node
    live: Node


@dataclass(frozen=True)
class Ending:
    """What ends a loop."""

    stop: Node | int
    """The number of steps after which the loop ends at the latest."""
    count: Node | None
    """The buffer of the number of steps, unless it is known before the program runs."""
    condition: Condition | None

    @property
    def is_early(self) -> bool:
        """Whether there may be fewer steps than the length of the loop."""
        return self.count is not None

    @staticmethod
    def of(proc: Procedure, loop: Loop, trip: Node | None) -> Ending:
        """Emit what stands before a loop; `trip` is the buffer of the number of steps asked for, if it is given."""
        conditional = loop.attrs["cond"] is not None
        stop: Node | int = loop.length
        count = None
        if trip is not None:
            bound = proc.buffer((1,), INT64) if conditional else _count(proc, loop)
            asked = build.apply("maximum", _first(trip), build.index(0))
            proc.emit(_set(bound, build.apply("minimum", asked, build.index(loop.length))))
            stop, count = _first(bound), bound
        if not conditional:
            return Ending(stop, count, None)
        callee = proc.callee(loop.node, "cond")
        live = proc.buffer((1,), INT64)
        (result,) = outputs_of(loop.attrs["cond"])
        answer = proc.buffer(storage_shape(result.type), result.type.dtype)
        count = _count(proc, loop)
        proc.emit(_set(live, build.index(1)), _set(count, build.index(0)))
        return Ending(stop, count, Condition(callee, answer, live))

    def turned(self, t: Node) -> Node:
        """Return the step of turn `t` of a loop in reverse."""
        last = build.index(self.stop - 1) if isinstance(self.stop, int) else _minus_one(self.stop)
        return build.apply("sub", last, t)

    def guarded(self, proc: Procedure, named: Node, asked: Sequence[Node], step: Sequence[Node]) -> Sequence[Node]:
        """Return the statements of a turn, each part in a loop of no trip or one: ask if there is a condition, then do.

        `asked` are the arguments of the condition; the loops are called after the buffer `named`.
        """
        if self.condition is None or self.count is None:
            return step
        callee, answer, live = self.condition.callee, self.condition.answer, self.condition.live
        ask = [call(callee, asked, [answer]), _set(live, build.cast(_first(answer), INT64))]
        do = [*step, _set(self.count, build.apply("add", _first(self.count), build.index(1)))]
        return [
            proc.loop("ask", named, _first(live), lambda _: ask, "serial"),
            proc.loop("do", named, _first(live), lambda _: do, "serial"),
        ]


def _count(proc: Procedure, loop: Loop) -> Node:
    """Return the buffer for the number of steps."""
    node = loop.selected.get(loop.count_at)
    return proc.buffer((1,), INT64) if node is None else proc.result(node)


def _first(buffer: Node) -> Node:
    return build.load(build.view(buffer, 0))


def _set(buffer: Node, value: Node) -> Node:
    return build.store(build.view(buffer, 0), value)


def _minus_one(value: Node) -> Node:
    return build.apply("sub", value, build.index(1))
