"""Simplification of tensor graphs: identities, then constants, to a fixed point; and merging of equal operations.

Source: expression specification 6.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from scaly_ir.attributes import NO_ATTRS
from scaly_ir.dialects.expr import ops
from scaly_ir.dialects.expr.evaluate import evaluate_constants
from scaly_ir.dialects.expr.functions import outputs_of
from scaly_ir.dialects.expr.identities import STRUCTURE
from scaly_ir.dialects.expr.ingest import make_const
from scaly_ir.dialects.expr.substitution import on_operands, take_hint, with_outputs
from scaly_ir.folding import FOLD, Folder
from scaly_ir.graph import Node, intern_node, postorder
from scaly_ir.graph.observe import observed, observer
from scaly_ir.graph.rewrite import AfterOperands, graph_rewrite
from scaly_ir.identities import IDENTITIES
from scaly_ir.tables import Table

ROUNDS: Final = 4
"""How often simplification and merging alternate at most."""

_RULES: Final = IDENTITIES + STRUCTURE


def simplify(e: Any) -> Any:
    """Return an expression, or a sequence of them, simplified: the same value of the same shape and dtype.

    Floating values are treated as real numbers: what is NaN, infinite or a signed zero may come out different.
    """
    return _each(e, simplify_many)


def simplify_many(es: Sequence[Node]) -> list[Node]:
    """Return several expressions simplified together: what they share is looked at once."""
    folder = Folder(_RULES, trees=False, constants_first=False, evaluate=_evaluated, fitted=_fitted)
    together = intern_node(ops.RETURN, tuple(es), NO_ATTRS, None)
    return list(graph_rewrite(together, AfterOperands(FOLD), ctx=folder).args)


def cse(e: Any) -> Any:
    """Return an expression with operations merged that are equal but for the order of commutative operands."""
    return _each(e, _merge)


def cse_many(es: Sequence[Any]) -> list[Any]:
    """Return several expressions with equal operations merged across them."""
    return _merge(es)


def simplify_cse(e: Any) -> Any:
    """Return an expression simplified and merged in turns, until nothing changes or four rounds are over."""
    return _each(e, simplify_cse_many)


def simplify_cse_many(es: Sequence[Node]) -> list[Node]:
    """Return several expressions simplified and merged together."""
    for _ in range(ROUNDS):
        made = _merge(simplify_many(es))
        if made == list(es):
            break
        es = made
    return list(es)


def simplify_function(function: Node) -> Node:
    """Return the node of a function with simplified outputs; its name, inputs and output names stay."""
    return with_outputs(function, simplify_cse_many(outputs_of(function)))


def _each(e: Any, work: Any) -> Any:
    if isinstance(e, Node):
        return work([e])[0]
    return type(e)(work(list(e)))


def _evaluated(node: Node) -> Node:
    return make_const(Table.from_array(evaluate_constants(node)))


def _fitted(result: Node, node: Node) -> Node | None:
    """Return a result with the hint of what it replaces; None when it has not the same shape, dtype and pattern."""
    wanted, got = node.type, result.type
    if (got.shape, got.dtype, got.pattern) != (wanted.shape, wanted.dtype, wanted.pattern):
        return None
    return take_hint(result, node)


def _merge(roots: Sequence[Node]) -> list[Node]:
    rebuilt, told = observed(on_operands), observer()
    done: dict[Node, Node] = {}
    known: dict[Any, Node] = {}
    for node in postorder(*roots):
        made = operation = rebuilt(node, [done[operand] for operand in node.args])
        if node.op.get_attr("TCommutative", False):
            key = (made.op, made.type, made.attrs.key, *sorted(map(id, made.args)))
            made = known.setdefault(key, made)
            if told is not None and made is not operation:
                told.rewritten("merge", operation, (made,))
        done[node] = made
    return [done[root] for root in roots]
