"""Lowering of loops: which operations are one loop, what kind it is, and loops that need no step.

Maps and loops with carries have modules of their own. Source: lowering specification 1.8.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Final

from scaly_ir.dialects.expr import ops
from scaly_ir.dialects.expr.call_typing import loop_parts
from scaly_ir.dialects.expr.functions import inputs_of, invocation, outputs_of
from scaly_ir.graph import Node
from scaly_ir.passes.expr.lowering import carries, maps, steps
from scaly_ir.passes.expr.lowering.conditions import Ending
from scaly_ir.passes.expr.lowering.procedure import Procedure
from scaly_ir.passes.expr.lowering.steps import Loop


def is_plain(node: Node) -> bool:
    """Tell whether a call, or a loop, is a call or a map without step numbers: what it passes on is float64."""
    attrs = node.attrs
    if node.op is ops.CALL:
        return True
    is_map = attrs["n_carry"] == 0 and attrs["cond"] is None and len(node.args) == len(attrs["starts"])
    return is_map and not attrs["index"]


def grouped(nodes: Iterable[Node]) -> dict[Hashable, list[Node]]:
    """Return the loop operations, those together that are one loop."""
    groups: dict[Hashable, list[Node]] = {}
    for node in nodes:
        if node.op is ops.LOOP:
            groups.setdefault(invocation(node), []).append(node)
    return groups


def lower_loop(proc: Procedure, node: Node) -> None:
    """Emit the loop that an operation takes a result from, for all operations that take one."""
    proc.callee(node, in_place=node.attrs["in_place"])  # one that is not defined is an error at once
    members = proc.loops[invocation(node)]
    loop = Loop(node, loop_parts(node.args, node.attrs), _selected(proc, members))
    _check_dense(proc, loop)
    if loop.length == 0:
        _lower_empty(proc, loop)
    elif loop.attrs["cond"] is None and list(loop.selected) == [loop.count_at]:
        _lower_count(proc, loop)
    elif not loop.parts.carries and loop.parts.trip is None:
        maps.lower_map(proc, loop)
    else:
        carries.lower_scan(proc, loop)
    for member in members:
        proc.values[member] = proc.values[loop.selected[member.attrs["output"]]]


def _selected(proc: Procedure, members: Sequence[Node]) -> dict[int, Node]:
    """Return the operation for each result that is taken; of those that differ in their hint, one with a target."""
    selected = {member.attrs["output"]: member for member in members}
    selected.update({member.attrs["output"]: member for member in members if member in proc.targets})
    return selected


def _check_dense(proc: Procedure, loop: Loop) -> None:
    for leaf in (*inputs_of(loop.attrs["callee"]), *outputs_of(loop.attrs["callee"])):
        if leaf.type.pattern is not None:
            raise proc.refuse(loop.node, f"its body has a sparse value, {leaf.type}")


def _lower_empty(proc: Procedure, loop: Loop) -> None:
    """Give the results of no step: carries as they came, and nothing stacked."""
    for number, member in loop.selected.items():
        if number < len(loop.parts.carries):
            proc.values[member] = proc.value(loop.parts.inits[number])
        elif number != loop.count_at:
            proc.result(member)
    steps.give_length(proc, loop)


def _lower_count(proc: Procedure, loop: Loop) -> None:
    """Give the number of steps, which needs none of them."""
    if loop.parts.trip is None:
        steps.give_length(proc, loop)
    else:
        Ending.of(proc, loop, proc.value(loop.parts.trip))


RULES: Final = {ops.LOOP: lower_loop}
