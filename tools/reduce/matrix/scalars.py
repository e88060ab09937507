"""Simpler scalars, indices, numbers and maps."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from scaly_ir.dialects.affine.maps import AffineMap, Dim
from scaly_ir.dialects.buffer import build
from scaly_ir.graph import Node, preorder
from scaly_ir.graph.rewrite import Mode, substitute
from scaly_ir.tools.reduce.matrix.shapes import fitted
from scaly_ir.tools.reduce.matrix.walk import changed, places, with_operands
from scaly_ir.tools.reduce.prog.numbers import simpler_constants
from scaly_ir.tools.reduce.prog.scalars import Replacement, instead_of
from scaly_ir.types import DType


def _found_in(root: Node, instead: Callable[[Node], Sequence[Node]]) -> list[Replacement]:
    return [
        Replacement(at, number, node, other)
        for at, number, statement in places(root)
        for operand in build.operands_of(statement)
        for node in preorder(operand)
        if isinstance(node.type, DType)
        for other in instead(node)
    ]


def replacements(root: Node) -> list[Replacement]:
    """Return for each scalar and index but literals, outer ones first, its operands of its type, and zero."""
    return _found_in(root, instead_of)


def constants(root: Node) -> list[Replacement]:
    """Return the literals that could be 0 or 1; large indices could be half as large."""
    return _found_in(root, simpler_constants)


def with_replacements(root: Node, edits: Sequence[Replacement]) -> Node | None:
    """Put other scalars in the place of some; one that takes the place of its user may be replaced in turn."""
    return _replaced(root, edits, Mode.FIXED_POINT)


def with_constants(root: Node, edits: Sequence[Replacement]) -> Node | None:
    """Put other literals in the place of some."""
    return _replaced(root, edits, Mode.ONCE)


def _replaced(root: Node, edits: Sequence[Replacement], mode: Mode) -> Node | None:
    by_place: dict[tuple[int, int], dict[Node, Node]] = defaultdict(dict)
    for at, number, node, instead in edits:
        by_place[at, number].setdefault(node, instead)

    def change(at: int, number: int, now: Node, before: Node) -> Node:
        mapping = by_place.get((at, number))
        if mapping is None:
            return now
        return with_operands(now, [substitute(operand, mapping, mode=mode) for operand in build.operands_of(now)])

    return changed(root, change)


# --- numbers in attributes --------------------------------------------------------------------------------------------


class Number(NamedTuple):
    """Numbers in an attribute of a statement, all of it or what is at a position, and simpler ones."""

    function: int
    statement: int
    key: str
    at: int | None
    value: Any


def attributes(root: Node) -> list[Number]:
    """Return the lists of numbers that could be all 0 or all 1, the maps that could be 0, or be their dimensions."""
    return [
        Number(at, number, key, position, value)
        for at, number, statement in places(root)
        for key, old in statement.attrs.items()
        for position, part in _parts(old)
        for value in _simpler(part)
        if value != part
    ]


def _parts(value: Any) -> Sequence[tuple[int | None, Any]]:
    """Return what is changed at once: a list of lists or of maps has parts."""
    has_parts = isinstance(value, tuple) and not _is_numbers(value)
    return list(enumerate(value)) if has_parts else [(None, value)]


def _is_numbers(value: Any) -> bool:
    return isinstance(value, tuple) and all([type(each) is int for each in value])


def _simpler(value: Any) -> list[Any]:
    if isinstance(value, AffineMap):
        rank = len(value.results)
        own = [AffineMap(value.dims, [(Dim(number),) for number in range(rank)])] if rank <= value.dims else []
        return [AffineMap(value.dims, [(0,)] * rank), *own]
    if type(value) is int:
        return [number for number in (0, 1) if number < abs(value)]
    return [(0,) * len(value), (1,) * len(value)] if _is_numbers(value) else []


def with_attributes(root: Node, edits: Sequence[Number]) -> Node | None:
    """Put simpler numbers and maps in the place of some, with what follows; of several for one, the first."""
    by_place: dict[tuple[int, int], dict[str, dict[int | None, Any]]] = defaultdict(lambda: defaultdict(dict))
    for at, number, key, position, value in edits:
        by_place[at, number][key].setdefault(position, value)

    def change(at: int, number: int, now: Node, before: Node) -> Node:
        found = by_place.get((at, number), {})
        attrs = {key: _with_parts(now.attrs[key], parts) for key, parts in found.items()}
        return fitted(now.with_attrs(**attrs), before, {})

    return changed(root, change)


def _with_parts(value: Any, parts: Mapping[int | None, Any]) -> Any:
    return parts[None] if None in parts else tuple([parts.get(at, each) for at, each in enumerate(value)])
