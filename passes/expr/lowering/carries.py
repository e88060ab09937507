"""Lowering of loops with carries: a loop that counts upward, its carries going back and forth between two slots.

Step `t` reads slot ``t mod 2`` of each carry and writes the other, so no call reads and writes one place. Source:
lowering specification 1.8.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from scaly_ir.dialects.prog import build
from scaly_ir.graph import Node
from scaly_ir.passes.expr.lowering import steps
from scaly_ir.passes.expr.lowering.access import scaled, shifted
from scaly_ir.passes.expr.lowering.calls import call
from scaly_ir.passes.expr.lowering.conditions import Ending
from scaly_ir.passes.expr.lowering.procedure import Procedure, storage_shape
from scaly_ir.passes.expr.lowering.steps import Loop, Stack, StepNumber


class Carry(NamedTuple):
    """Where a carry is kept: two slots, or one that steps update in place."""

    store: Node
    size: int
    in_place: bool

    def position(self, t: Node, at: Node) -> Node:
        """Return where the entry `at` of what turn `t` reads is."""
        return at if self.in_place else build.apply("add", scaled(_parity(t), self.size), at)

    def read(self, t: Node) -> Node:
        """Return what turn `t` reads, as an argument of a call."""
        return self.store if self.in_place else build.view(self.store, scaled(_parity(t), self.size))

    def write(self, t: Node) -> Node:
        """Return what turn `t` writes, as an argument of a call."""
        if self.in_place:
            return self.store
        return build.view(self.store, scaled(build.apply("sub", build.index(1), _parity(t)), self.size))


def _parity(t: Node) -> Node:
    return build.apply("mod", t, build.index(2))


def lower_scan(proc: Procedure, loop: Loop) -> None:
    """Emit the loop, called after the store of the first carry, and give all results that are selected."""
    inits = [proc.value(init) for init in loop.parts.inits]
    outers = [proc.value(outer) for outer in loop.parts.outers]
    trip = None if loop.parts.trip is None else proc.value(loop.parts.trip)
    carries = [_carry(proc, loop, number, init) for number, init in enumerate(inits)]
    stacks = steps.stacks(proc, loop)
    trajectories = _trajectories(proc, loop)
    number = StepNumber.of(proc, loop)
    ending = Ending.of(proc, loop, trip)
    if ending.is_early:
        _clear(proc, [*[stack for stack in stacks if stack.is_kept], *trajectories.values()])
    named = carries[0].store if carries else stacks[0].buffer
    callee = proc.callee(loop.node, in_place=loop.attrs["in_place"])

    def step(t: Node) -> list[Node]:
        k = ending.turned(t) if loop.attrs["reverse"] else t
        copies = [_entering(proc, carries[place], stack, t, k) for place, stack in trajectories.items()]
        kept = [carry.read(t) for carry in carries if not carry.in_place]
        inputs = [*kept, *number.arguments(), *steps.windows(loop, outers, k)]
        outputs = [*[carry.write(t) for carry in carries], *[stack.slot(k) for stack in stacks]]
        return [*copies, *number.stores(k), call(callee, inputs, outputs)]

    def body(t: Node) -> Sequence[Node]:
        asked = [*[carry.read(t) for carry in carries], *steps.shared_windows(loop, outers)]
        return ending.guarded(proc, named, asked, step(t))

    proc.emit(proc.loop("it", named, ending.stop, body, "serial"))
    for place, carry in enumerate(carries):
        _finish(proc, loop, place, carry, ending)
    if not ending.is_early:
        steps.give_length(proc, loop)


def _carry(proc: Procedure, loop: Loop, number: int, init: Node) -> Carry:
    """Declare the store of a carry and put its initial value there."""
    formal = loop.parts.carries[number].type
    in_place = number in loop.attrs["in_place"]
    shape = storage_shape(formal) if in_place else (2 * formal.size,)
    store = proc.buffer(shape, formal.dtype)
    proc.copy(init, store, formal.size)
    return Carry(store, formal.size, in_place)


def _trajectories(proc: Procedure, loop: Loop) -> Mapping[int, Stack]:
    """Return where trajectories go, by the number of the carry, of those that are selected."""
    made = {}
    for number, formal in enumerate(loop.parts.carries):
        node = loop.trajectory(number)
        if node is not None:
            made[number] = Stack(proc.result(node), formal.type.size, True)
    return made


def _clear(proc: Procedure, kept: Sequence[Stack]) -> None:
    """Fill what is stacked with zeros, which stay where no step comes to."""
    for stack in kept:
        zero = build.const(0, stack.buffer.type)

        def entry(_: Node, zero: Node = zero) -> Node:
            return zero

        proc.fill(stack.buffer, entry, "z")


def _entering(proc: Procedure, carry: Carry, trajectory: Stack, t: Node, k: Node) -> Node:
    """Return the loop that keeps a carry as it enters step `k`."""

    def body(at: Node) -> list[Node]:
        source = build.view(carry.store, carry.position(t, at))
        target = build.view(trajectory.buffer, build.apply("add", scaled(k, carry.size), at))
        return [build.store(target, build.load(source))]

    return proc.loop("c", trajectory.buffer, carry.size, body)


def _finish(proc: Procedure, loop: Loop, place: int, carry: Carry, ending: Ending) -> None:
    """Give the final value of a carry: the slot it ended in, moved to the first where only the run tells which."""
    node = loop.final(place)
    if node is None:
        return
    if carry.in_place:
        proc.values[node] = carry.store
        return
    if ending.count is not None:
        taken = build.load(build.view(ending.count, 0))

        def body(at: Node) -> list[Node]:
            source = build.view(carry.store, shifted(at, carry.size))
            return [build.store(build.view(carry.store, at), build.load(source))]

        proc.emit(proc.loop("c", carry.store, scaled(_parity(taken), carry.size), body))
    slot = 0 if ending.is_early else loop.length % 2
    proc.values[node] = proc.alias(carry.store, slot * carry.size, storage_shape(node.type))
