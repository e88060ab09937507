"""Lowering of maps: one loop of independent steps around one call.

Source: lowering specification 1.8.
"""

from __future__ import annotations

from scaly_ir.graph import Node
from scaly_ir.passes.expr.lowering import steps
from scaly_ir.passes.expr.lowering.calls import call
from scaly_ir.passes.expr.lowering.procedure import Procedure
from scaly_ir.passes.expr.lowering.steps import Loop, StepNumber


def lower_map(proc: Procedure, loop: Loop) -> None:
    """Emit the loop, called after the first buffer that keeps what all steps give.

    The steps may be taken in any order, so a loop in reverse is no other.
    """
    callee = proc.callee(loop.node)
    outers = [proc.value(outer) for outer in loop.parts.outers]
    stacks = steps.stacks(proc, loop)
    number = StepNumber.of(proc, loop)
    named = next(stack.buffer for stack in stacks if stack.is_kept)

    def body(k: Node) -> list[Node]:
        inputs = [*number.arguments(), *steps.windows(loop, outers, k)]
        return [*number.stores(k), call(callee, inputs, [stack.slot(k) for stack in stacks])]

    proc.emit(proc.loop("it", named, loop.length, body))
    steps.give_length(proc, loop)
