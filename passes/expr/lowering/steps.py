"""What maps and loops with carries share: a loop taken apart, and what one step of it reads and writes.

Step `k` reads a window of each outer operand and fills slot `k` of each stacked result. Source: lowering
specification 1.8.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from scaly_ir.attributes import Attrs
from scaly_ir.dialects.expr.call_typing import LoopParts
from scaly_ir.dialects.prog import build
from scaly_ir.graph import Node
from scaly_ir.passes.expr.lowering.access import scaled
from scaly_ir.passes.expr.lowering.procedure import Procedure, storage_shape
from scaly_ir.tables import Table
from scaly_ir.types import INT64


class Loop(NamedTuple):
    """A loop taken apart, with the operations that select its results, by the number of the result.

    Results are numbered: final carries, stacked results, the number of steps, trajectories of the carries.
    """

    node: Node
    parts: LoopParts
    selected: Mapping[int, Node]

    @property
    def attrs(self) -> Attrs:
        """The attributes that all the operations share."""
        return self.node.attrs

    @property
    def length(self) -> int:
        """The number of steps, or the most there may be."""
        length: int = self.node.attrs["length"]
        return length

    @property
    def count_at(self) -> int:
        """The number of the result that counts the steps."""
        return len(self.parts.carries) + len(self.parts.stacked)

    def final(self, carry: int) -> Node | None:
        """Return the operation for the final value of a carry, if there is one."""
        return self.selected.get(carry)

    def stacked(self, number: int) -> Node | None:
        """Return the operation for a stacked result, if there is one."""
        return self.selected.get(len(self.parts.carries) + number)

    def trajectory(self, carry: int) -> Node | None:
        """Return the operation for the values of a carry that entered the steps, if there is one."""
        return self.selected.get(self.count_at + 1 + carry)


class Stack(NamedTuple):
    """Where the steps put one of their results: a buffer with a slot for each, or with one that each overwrites."""

    buffer: Node
    size: int
    is_kept: bool

    def slot(self, k: Node) -> Node:
        """Return where step `k` puts its result."""
        return build.view(self.buffer, scaled(k, self.size)) if self.is_kept else self.buffer


def stacks(proc: Procedure, loop: Loop) -> list[Stack]:
    """Return the places of the stacked results; what is not selected has room for one step alone."""
    made = []
    for number, result in enumerate(loop.parts.stacked):
        node = loop.stacked(number)
        room = proc.buffer(storage_shape(result.type), result.type.dtype) if node is None else proc.result(node)
        made.append(Stack(room, result.type.size, node is not None))
    return made


def windows(loop: Loop, outers: Sequence[Node], k: Node) -> list[Node]:
    """Return what step `k` reads of the buffers of the outer operands."""
    places = zip(outers, loop.attrs["starts"], loop.attrs["strides"], strict=True)
    return [_window(outer, start, stride, k) for outer, start, stride in places]


def shared_windows(loop: Loop, outers: Sequence[Node]) -> list[Node]:
    """Return what every step reads: the windows that stay where they are."""
    places = zip(outers, loop.attrs["starts"], loop.attrs["strides"], strict=True)
    return [build.view(outer, start) for outer, start, stride in places if stride == 0]


def _window(outer: Node, start: int, stride: int, k: Node) -> Node:
    """Return the window of step `k`, its position not simplified: a pass finds the stride in it."""
    if stride == 0:
        return build.view(outer, start)
    return build.view(outer, build.apply("add", build.index(start), build.apply("mul", build.index(stride), k)))


def give_length(proc: Procedure, loop: Loop) -> None:
    """Give the number of steps, if it is selected, of a loop that nothing ends early."""
    node = loop.selected.get(loop.count_at)
    if node is not None:
        proc.values[node] = proc.table(Table.of([loop.length], INT64, (1,)))


class StepNumber(NamedTuple):
    """The buffer through which a body gets the number of the step, if it takes it."""

    buffer: Node | None

    @staticmethod
    def of(proc: Procedure, loop: Loop) -> StepNumber:
        """Declare the buffer, if there is to be one."""
        return StepNumber(proc.buffer((1,), INT64) if loop.attrs["index"] else None)

    def stores(self, k: Node) -> list[Node]:
        """Return the statement to stand before the call of step `k`."""
        return [] if self.buffer is None else [build.store(build.view(self.buffer, 0), k)]

    def arguments(self) -> list[Node]:
        """Return the argument of the call."""
        return [] if self.buffer is None else [self.buffer]
