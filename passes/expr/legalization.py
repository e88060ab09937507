"""Legalization: operators of `expr` that a target lacks become what their rules for the target say.

A function is a graph, in which a result may use an operand as often as it likes, so nothing is bound. Source: operator
specification A2 and A9.
"""

from __future__ import annotations

from scaly_ir.dialects.expr.functions import body_of, outputs_of
from scaly_ir.dialects.expr.substitution import on_operands, take_hint, with_outputs
from scaly_ir.errors import LegalizeError
from scaly_ir.graph import Node
from scaly_ir.graph.observe import observed
from scaly_ir.passes.expr.functions import map_functions
from scaly_ir.passes.legalize import check_target
from scaly_ir.targets import Rewriter
from scaly_ir.text.spelling import spell_name


def legalize(root: Node, *, target: str) -> Node:
    """Return an `expr` module with the `FLegalize` rules for a target applied; `root` itself when none applies.

    A call whose first rule is an `FLowerIntrinsic` stays; what takes the place of a call has its hint, and its shape
    and dtype. `PassError` when `target` is none, `LegalizeError` when a rule changes the type or does not converge;
    what a rule raises is raised.
    """
    return _rewritten(root, "legalize", target, intrinsics=False)


def lower_intrinsics(root: Node, *, target: str) -> Node:
    """Return an `expr` module with all rules for a target applied, as `legalize` does with one kind."""
    return _rewritten(root, "lower_intrinsics", target, intrinsics=True)


def _rewritten(root: Node, name: str, target: str, *, intrinsics: bool) -> Node:
    check_target(name, target)
    rewriter = Rewriter(target, intrinsics=intrinsics)
    return map_functions(root, lambda function: _legalized(function, rewriter))


def _legalized(function: Node, rewriter: Rewriter) -> Node:
    """Return a function with its operations rewritten, operands first and on what they became."""
    nodes = body_of(function)
    if not any([rewriter.has_rule(op) for op in {node.op for node in nodes}]):
        return function
    rebuilt = observed(on_operands)
    done: dict[Node, Node] = {}
    for node in nodes:
        try:
            made = rewriter.rewrite(rebuilt(node, [done[operand] for operand in node.args]))
        except LegalizeError as failure:
            where = f"@{spell_name(function.attrs['name'])}"
            raise LegalizeError(f"{failure} (in {where})", node, function) from failure
        done[node] = take_hint(made, node)
    return with_outputs(function, [done[output] for output in outputs_of(function)])
