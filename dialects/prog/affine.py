"""Affine forms of index expressions and the trip counts of loops: what is known of a program without running it."""

from __future__ import annotations

from typing import Final, NamedTuple

from scaly_ir.dialects.prog import ops
from scaly_ir.graph import Node
from scaly_ir.op import Op
from scaly_ir.types import INT64, int_range

_ADD: Final = Op.get("prog.add")
_SUB: Final = Op.get("prog.sub")
_MUL: Final = Op.get("prog.mul")
_NEG: Final = Op.get("prog.neg")
_STEPS: Final = 10_000
"""Expressions that need more steps count as not affine: shared operands could make them exponential."""


class Affine(NamedTuple):
    """A constant plus variables times coefficients, none of them zero."""

    constant: int
    coefficients: dict[str, int]


def affine(index: Node) -> Affine | None:
    """Return the affine form of an index over its variables, or None when it has none."""
    constant = 0
    coefficients: dict[str, int] = {}
    pending = [(index, 1)]
    steps = 0
    while pending:
        steps += 1
        if steps > _STEPS:
            return None
        node, factor = pending.pop()
        op = node.op
        if op is ops.CONST_INT:
            constant += factor * node.attrs["value"]
        elif op is ops.VAR:
            name = node.attrs["name"]
            coefficients[name] = coefficients.get(name, 0) + factor
        elif op is _ADD:
            pending.extend([(node.args[0], factor), (node.args[1], factor)])
        elif op is _SUB:
            pending.extend([(node.args[0], factor), (node.args[1], -factor)])
        elif op is _NEG:
            pending.append((node.args[0], -factor))
        elif op is _MUL and node.args[0].op is ops.CONST_INT:
            pending.append((node.args[1], factor * node.args[0].attrs["value"]))
        elif op is _MUL and node.args[1].op is ops.CONST_INT:
            pending.append((node.args[0], factor * node.args[1].attrs["value"]))
        else:
            return None
    return Affine(constant, {name: factor for name, factor in coefficients.items() if factor})


def loop_values(domain: Node) -> range | None:
    """Return the values a loop variable takes, or None when the bounds are not constants with a positive step."""
    if len(domain.args) != 3 or any([bound.op is not ops.CONST_INT for bound in domain.args]):
        return None
    start, stop, step = [bound.attrs["value"] for bound in domain.args]
    return range(start, stop, step) if step > 0 else None


def trip_count(domain: Node) -> int | None:
    """Return how often a loop runs, or None when that is not known."""
    values = loop_values(domain)
    return None if values is None else len(values)


def extremes(form: Affine, values: dict[str, range]) -> tuple[int, int] | None:
    """Return the least and greatest value of an affine form, both reached; None when a variable is not known.

    Each variable runs over its own non-empty range, independently of the others.
    """
    low = high = form.constant
    for name, factor in form.coefficients.items():
        taken = values.get(name)
        if taken is None:
            return None
        ends = (factor * taken[0], factor * taken[-1])
        low += min(ends)
        high += max(ends)
    allowed = int_range(INT64)
    return (low, high) if low in allowed and high in allowed else None
