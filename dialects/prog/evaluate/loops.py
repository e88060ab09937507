"""The domains of loops: how often they run, and whether that is known when they begin."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Final, NamedTuple

from scaly_ir.dialects.prog import ops
from scaly_ir.dialects.prog.evaluate.scope import Scope
from scaly_ir.effects import CallEffectKind, side_effect
from scaly_ir.graph import Node, postorder
from scaly_ir.numeric.interval import Interval
from scaly_ir.types import INT64, int_range

_GREATEST: Final = int_range(INT64)[-1]


class Domain(NamedTuple):
    """The domain of a loop.

    `counted` says that its values are known when it begins, as those of a Python range; else bounds are evaluated
    before each trip. `first` are the bounds to be evaluated at the beginning, `sure` says that the step is positive.
    """

    name: str
    counted: bool
    shuffled: bool
    first: tuple[Node, ...]
    sure: bool
    values: Interval


def domain_of(loop: Node, scope: Scope, *, shuffle: bool) -> Domain:
    """Return the domain of a loop, of which only what surrounds it is compiled yet."""
    domain = loop.args[0]
    start, stop, step = domain.args
    low, high = scope.bounds(start).low, scope.bounds(stop).high
    steps = scope.bounds(step)
    name = domain.attrs["name"]
    shuffled = shuffle and domain.attrs["kind"] == "global"
    # A step that is evaluated too early must have no effect but its value.
    counted = shuffled or (
        high - 1 + steps.high <= _GREATEST and step.op in (ops.CONST_INT, ops.VAR) and _is_fixed([stop, step], loop)
    )
    # Every trip but the first comes after a positive step, and sees a variable below the stop of that time.
    values = Interval(low, max(low, high - 1))
    first = domain.args if counted else (start,)
    return Domain(name, counted, shuffled, first, steps.low > 0, values)


def _is_fixed(bounds: Sequence[Node], loop: Node) -> bool:
    """Tell whether bounds keep their values while the loop runs."""
    if any([side_effect(bound) > CallEffectKind.Pure for bound in bounds]):
        return False
    names = {node.attrs["name"] for node in postorder(*bounds) if node.op is ops.VAR}
    return not names or names.isdisjoint(assigned_in(loop))


def assigned_in(loop: Node) -> set[str]:
    """Return the names of the scalars that a loop assigns."""
    found = set()
    pending = list(loop.args[1:])
    seen = set()
    while pending:
        statement = pending.pop()
        if statement.op is ops.ASSIGN:
            found.add(statement.attrs["target"])
        elif statement.op is ops.FOR and statement not in seen:
            seen.add(statement)
            pending.extend(statement.args[1:])
    return found


def shuffled(source: Random) -> Callable[[range], list[int]]:
    """Return a function that gives the values of a range in a random order, another one each time."""

    def shuffle(values: range) -> list[int]:
        trips = list(values)
        source.shuffle(trips)
        return trips

    return shuffle
