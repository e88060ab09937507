"""What matching means, straight from graph specification A5: slow, recursive, and without the code under test."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations

from scaly_ir.attributes import freeze, value_key
from scaly_ir.graph import Node
from scaly_ir.graph.pattern import Pattern
from scaly_ir.op import Op

Bound = dict[str, Node]


def matches(pattern: Pattern, node: Node, bound: Bound | None = None) -> list[Bound]:
    """Return every binding in the order found, each once."""
    found: list[Bound] = []
    for binding in _solutions(pattern, node, bound or {}):
        if binding not in found:
            found.append(binding)
    return found


def _solutions(pattern: Pattern, node: Node, bound: Bound) -> Iterator[Bound]:
    if not _accepts(pattern.op, node.op) or not _has_attrs(pattern, node):
        return
    if pattern.type is not None and not any(node.type is wanted for wanted in pattern.type):
        return
    if not pattern.early_reject <= {operand.op for operand in node.args}:
        return
    if pattern.name is not None:
        if bound.get(pattern.name, node) is not node:
            return
        bound = {**bound, pattern.name: node}
    starts = [bound] if not pattern.alternatives else []
    for choice in pattern.alternatives:
        starts += _solutions(choice, node, bound)
    for start in starts:
        for solution in _operands(pattern, node, start):
            if pattern.where is None or pattern.where(node):
                yield solution


def _operands(pattern: Pattern, node: Node, bound: Bound) -> Iterator[Bound]:
    if pattern.args is None and pattern.each is None:
        yield bound
    elif pattern.each is not None:
        yield from _all([pattern.each] * len(node.args), node.args, bound)
    elif pattern.args is not None:
        count = len(pattern.args)
        if len(node.args) == count or (pattern.at_least and len(node.args) > count):
            for order in permutations(node.args) if pattern.any_order else [node.args[:count]]:
                yield from _all(pattern.args, order, bound)


def _all(wanted: list[Pattern] | tuple[Pattern, ...], operands: tuple[Node, ...], bound: Bound) -> Iterator[Bound]:
    if not operands:
        yield bound
        return
    for first in _solutions(wanted[0], operands[0], bound):
        yield from _all(wanted[1:], operands[1:], first)


def _accepts(wanted: object, op: Op) -> bool:
    return wanted is None or (op in wanted if isinstance(wanted, frozenset) else bool(wanted(op)))  # type: ignore[operator]


def _has_attrs(pattern: Pattern, node: Node) -> bool:
    for key, wanted in pattern.attrs:
        if key not in node.attrs:
            return False
        have = node.attrs[key]
        if not (wanted(have) if callable(wanted) else value_key(have) == value_key(freeze(wanted))):
            return False
    return True
