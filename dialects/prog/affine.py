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
_BINARY: Final = frozenset({_ADD, _SUB, _MUL})
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
        op, args = node.op, node.args
        if op is ops.CONST_INT:
            value = node.attrs.get("value")
            if type(value) is not int:
                return None
            constant += factor * value
        elif op is ops.VAR:
            name = node.attrs.get("name")
            if type(name) is not str:
                return None
            coefficients[name] = coefficients.get(name, 0) + factor
        elif op is _NEG and len(args) == 1:
            pending.append((args[0], -factor))
        elif op not in _BINARY or len(args) != 2:
            return None
        elif op is not _MUL:
            pending.extend([(args[0], factor), (args[1], factor if op is _ADD else -factor)])
        else:
            constants = [arg.attrs.get("value") if arg.op is ops.CONST_INT else None for arg in args]
            if type(constants[0]) is int:
                pending.append((args[1], factor * constants[0]))
            elif type(constants[1]) is int:
                pending.append((args[0], factor * constants[1]))
            else:
                return None
    return Affine(constant, {name: factor for name, factor in coefficients.items() if factor})


def loop_values(domain: Node) -> range | None:
    """Return the values a loop variable takes, or None when the bounds are not constants with a positive step."""
    if len(domain.args) != 3 or any([bound.op is not ops.CONST_INT for bound in domain.args]):
        return None
    values = [bound.attrs.get("value", "") for bound in domain.args]
    return range(*values) if {type(value) for value in values} == {int} and values[2] > 0 else None


def trip_count(domain: Node) -> int | None:
    """Return how often a loop runs, or None when that is not known."""
    values = loop_values(domain)
    return None if values is None else count_of(values)


def count_of(values: range) -> int:
    """Return how many values there are, which may be more than `len` can tell."""
    return (values[-1] - values[0]) // values.step + 1 if values else 0


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
