"""Lowering of calls: buffers for all outputs of the callee, and one call that fills them.

Source: lowering specification 1.8.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from scaly_ir.dialects.expr import ops
from scaly_ir.dialects.expr.functions import outputs_of
from scaly_ir.dialects.prog import build
from scaly_ir.graph import Node
from scaly_ir.passes.expr.lowering.procedure import Procedure, storage_shape


def lower_call(proc: Procedure, node: Node) -> None:
    """Take a result of the call of this callee with these buffers, which the first of its operations emits."""
    callee = proc.callee(node)
    inputs = [proc.value(operand) for operand in node.args]
    key = (callee, *inputs)
    if key not in proc.shared:
        results = outputs_of(node.attrs["callee"])
        outputs = [proc.buffer(storage_shape(result.type), result.type.dtype) for result in results]
        proc.emit(call(callee, inputs, outputs))
        proc.shared[key] = outputs
    proc.values[node] = proc.shared[key][node.attrs["output"]]


def call(callee: str, inputs: Sequence[Node], outputs: Sequence[Node]) -> Node:
    """Return the call of a procedure with buffers and places in buffers."""
    return build.call(callee, [*inputs, *outputs], n_in=len(inputs), n_out=len(outputs))


RULES: Final = {ops.CALL: lower_call}
