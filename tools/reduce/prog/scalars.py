"""Replacing scalars by one of their operands, or by a zero of their type."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import NamedTuple

from scaly_ir.dialects.prog import build, ops
from scaly_ir.graph import Node, preorder
from scaly_ir.graph.rewrite import Mode, substitute
from scaly_ir.tools.reduce.prog.walk import changed, own_operands, places, with_own_operands
from scaly_ir.types import BOOL, DType


def zero(dtype: DType) -> Node:
    """Return the constant that stands for a value that is left out."""
    return build.const(0, dtype)


class Replacement(NamedTuple):
    """A scalar in a statement and what takes its place."""

    procedure: int
    statement: int
    node: Node
    instead: Node


def found_in(root: Node, instead: Callable[[Node], Sequence[Node]]) -> list[Replacement]:
    """Return what could stand in the place of each scalar, outer ones first."""
    return [
        Replacement(at, number, node, other)
        for at, number, statement in places(root)
        for operand in own_operands(statement)
        for node in preorder(operand)
        for other in instead(node)
    ]


def replacements(root: Node) -> list[Replacement]:
    """Return for each scalar but constants, outer ones first, its operands of its type, and zero."""
    return found_in(root, instead_of)


def instead_of(node: Node) -> Sequence[Node]:
    """Return what could stand in the place of a scalar: its operands of its type, and zero; nothing for a constant."""
    if not ops.is_scalar(node.op) or node.op.get_attr("TConst", False):
        return ()
    same = [operand for operand in node.args if operand.type is node.type and ops.is_scalar(operand.op)]
    constants = [zero(node.type)] if node.type is not BOOL else [zero(BOOL), build.const(1, BOOL)]
    return [*dict.fromkeys(same), *constants]


def replaced(root: Node, edits: Sequence[Replacement], *, mode: Mode = Mode.FIXED_POINT) -> Node | None:
    """Put other scalars in the place of some; of several for one, the first.

    To a fixed point, an operand that takes the place of its user may be replaced in turn, so that a chain goes at once.
    """
    by_place: dict[tuple[int, int], dict[Node, Node]] = defaultdict(dict)
    for at, number, node, instead in edits:
        by_place[at, number].setdefault(node, instead)

    def change(at: int, number: int, statement: Node) -> Sequence[Node]:
        mapping = by_place.get((at, number))
        if mapping is None:
            return (statement,)
        operands = [substitute(operand, mapping, mode=mode) for operand in own_operands(statement)]
        return (with_own_operands(statement, operands),)

    return changed(root, change)
