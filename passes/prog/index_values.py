"""What indices are while the program runs, found without running it: their values over loops with constant bounds.

Owns the evaluation alone; what follows from equal or distinct values is for a pass to decide. Source: lowering
specification 2.2.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any, Final

import numpy as np

from scaly_ir.dialects.prog import ops
from scaly_ir.dialects.prog.affine import loop_values, trip_count
from scaly_ir.dialects.prog.evaluate.lanes import Retry, operation
from scaly_ir.graph import Node, postorder
from scaly_ir.op import CallEffectKind
from scaly_ir.passes.prog.references import effect

Array = np.ndarray[Any, Any]

MOST_TRIPS: Final = 1 << 20
"""Loops that run more often than that together have no known values: they would not fit into memory."""

MOST_LOOPS: Final = 32
"""Arrays of NumPy cannot have more dimensions in all its versions."""


def loop_arrays(domains: Iterable[Node]) -> dict[str, Array] | None:
    """Return the values of the variables of a nest, outermost first, or None when they are not known or too many.

    Each is an int64 array with as many dimensions as there are loops, of length 1 in all but its own: together they
    broadcast to the trips of the nest, in order.
    """
    nest = list(domains)
    counts = [trip_count(domain) for domain in nest]
    if len(nest) > MOST_LOOPS or any([count is None or count > MOST_TRIPS for count in counts]):
        return None
    if math.prod([count or 0 for count in counts]) > MOST_TRIPS:
        return None
    found = {}
    for depth, domain in enumerate(nest):
        values = loop_values(domain)
        assert values is not None
        found[domain.attrs["name"]] = np.array(values, np.int64).reshape(
            [-1 if at == depth else 1 for at in range(len(nest))]
        )
    return found


def tables_of(declarations: Iterable[Node]) -> dict[str, Array]:
    """Return the values of the integer tables among declarations, by name."""
    return {
        node.attrs["name"]: np.array(node.attrs["values"], str(node.type))
        for node in declarations
        if node.op is ops.BUFFER and "values" in node.attrs and node.type.is_int
    }


def index_values(index: Node, variables: Mapping[str, Array], tables: Mapping[str, Array]) -> Array | None:
    """Return the values of an index, one for each combination of those of its variables, or None when not known.

    `variables` give arrays that broadcast, as `loop_arrays` makes them; the result broadcasts with them. An index is
    known when its leaves are such variables, constants, and reads of `tables` in range; a truncating division with a
    negative operand or a divisor of 0 is not.
    """
    found: dict[Node, Array] = {}
    try:
        for node in postorder(index):
            value = _value(node, found, variables, tables)
            if value is None:
                return None
            found[node] = value
    except Retry:
        return None
    return found[index]


def _value(
    node: Node, found: Mapping[Node, Array], variables: Mapping[str, Array], tables: Mapping[str, Array]
) -> Array | None:
    if node.op is ops.VAR:
        return variables.get(node.attrs["name"])
    if "value" in node.attrs:
        return np.full(1, node.attrs["value"], str(node.type))
    if node.op is ops.VIEW:
        return found[node.args[0]]
    operands = [found[operand] for operand in node.args]
    if node.op is ops.LOAD:
        table = tables.get(node.args[0].attrs["buffer"])
        (at,) = operands
        return None if table is None or ((at < 0) | (at >= len(table))).any() else table[at]
    if effect(node.op) > CallEffectKind.Pure:
        return None
    return operation(node, in_index=True, strict=True)(*operands)
