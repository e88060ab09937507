"""Replacing scalars by one of their operands, or by a zero of their type."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import NamedTuple

from scaly_ir.dialects.prog import build, ops
from scaly_ir.graph import Node, preorder
from scaly_ir.graph.matcher import PatternMatcher
from scaly_ir.graph.pattern import Pattern
from scaly_ir.graph.rewrite import BeforeOperands, Mode, graph_rewrite, substitute
from scaly_ir.tools.reduce.prog.walk import changed, own_operands, places
from scaly_ir.types import BOOL, DType


def zero(dtype: DType) -> Node:
    """Return the constant that stands for a value that is left out."""
    return build.const(0, dtype)


_REPLACE = PatternMatcher(
    [(Pattern(lambda op: True, name="node"), lambda node, ctx: ctx(node), "replace a scalar that is left out")]
)


def with_scalars(operand: Node, replaced: Callable[[Node], Node | None]) -> Node:
    """Return an operand in which scalars are replaced, the outermost first, where there is something for them."""
    return graph_rewrite(operand, BeforeOperands(_REPLACE), mode=Mode.ONCE, ctx=replaced)


class Replacement(NamedTuple):
    """A scalar in a statement and what takes its place."""

    procedure: int
    statement: int
    node: Node
    instead: Node


def replacements(root: Node) -> list[Replacement]:
    """Return for each scalar, outer ones first, its operands of its type, and zero."""
    found = []
    for at, number, statement in places(root):
        for operand in own_operands(statement):
            for node in preorder(operand):
                if ops.is_scalar(node.op) and not node.op.get_attr("TConst", False):
                    found += [Replacement(at, number, node, instead) for instead in _instead(node)]
    return found


def _instead(node: Node) -> list[Node]:
    same = [operand for operand in node.args if operand.type is node.type and ops.is_scalar(operand.op)]
    constants = [zero(node.type)] if node.type is not BOOL else [zero(BOOL), build.const(1, BOOL)]
    return [*dict.fromkeys(same), *constants]


def replaced(root: Node, edits: Sequence[Replacement]) -> Node | None:
    """Put other scalars in the place of some; of several for one, the first.

    An operand that takes the place of its user may be replaced in turn, so that a chain goes at once.
    """
    by_place: dict[tuple[int, int], dict[Node, Node]] = defaultdict(dict)
    for at, number, node, instead in edits:
        by_place[at, number].setdefault(node, instead)

    def change(at: int, number: int, statement: Node) -> Sequence[Node]:
        mapping = by_place.get((at, number))
        if mapping is None:
            return (statement,)
        operands = [substitute(operand, mapping) for operand in own_operands(statement)]
        return (statement.replace(args=[*operands, *statement.args[len(operands) :]]),)

    return changed(root, change)
