"""Builders of loops and index expressions. Source: matrix specification 6."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

from scaly_ir.attributes import Attrs, Word
from scaly_ir.dialects.affine import ops
from scaly_ir.dialects.affine.maps import AffineMap
from scaly_ir.dialects.buffer import build
from scaly_ir.dialects.buffer.types import INDEX
from scaly_ir.dialects.prog import build as prog
from scaly_ir.graph import Node
from scaly_ir.op import Op
from scaly_ir.types import DType


class Carried(NamedTuple):
    """A value that a loop carries: its name in the body, what it is at first, and the name of what it is in the end."""

    name: str
    init: Node
    result: str


def index(value: int | str) -> Node:
    """Make an index operand: a literal, or a use of a name."""
    return prog.index(value) if isinstance(value, int) else prog.var(value)


def for_(
    variable: str,
    lower: Node,
    upper: Node,
    body: Iterable[Node],
    *,
    step: int = 1,
    kind: str = "serial",
    carried: Sequence[Carried] = (),
) -> Node:
    """Make a loop; with carried values its body ends in a `yield_`."""
    inits = [each.init for each in carried]
    params = [build.declaration(variable, INDEX)]
    params += [build.declaration(each.name, each.init.type) for each in carried]
    attrs = _loop_attrs(step, kind, *[init.type for init in inits])
    args = (lower, upper, *inits, build.region(params, body))
    return build.statement(ops.FOR, args, None, [each.result for each in carried], attrs)


@lru_cache(typed=True)
def _loop_attrs(step: int, kind: str, *types: DType) -> Attrs:
    return Attrs({"step": step, "kind": Word(kind), **({"types": types} if types else {})})


def yield_(values: Iterable[Node]) -> Node:
    """End the body of a loop with the next carried values."""
    return build.statement(ops.YIELD, values)


def apply(name: str, operands: Iterable[Node], map_: AffineMap, op: Op = ops.APPLY) -> Node:
    """Bind a name to the result of a map, or to the least or greatest of its results."""
    return build.statement(op, operands, INDEX, (name,), {"map": map_})


def carried_types(loop: Node) -> tuple[DType, ...]:
    """Return the types of the values that a loop carries, as its text gives them."""
    return loop.attrs.get("types") or ()


def inits_of(loop: Node) -> tuple[Node, ...]:
    """Return what the carried values of a loop are at first."""
    return build.operands_of(loop)[2:]
