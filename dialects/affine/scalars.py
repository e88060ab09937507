"""Index expressions as scalars of `prog`: what evaluates and what lowers them agree on what they mean."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from scaly_ir.dialects.affine.maps import NEGATE, Dim, Expr, fold
from scaly_ir.dialects.prog import build as prog
from scaly_ir.graph import Node


def scalar_of(expr: Expr, dims: Sequence[Node]) -> Node:
    """Return an index expression of some int64 values as a scalar."""
    return fold(
        expr,
        lambda leaf: dims[leaf.number] if isinstance(leaf, Dim) else prog.index(leaf),
        lambda op, operands: _SCALARS[op](*operands),
    )


def _ceildiv(value: Node, divisor: Node) -> Node:
    above = prog.index(divisor.attrs["value"] - 1)
    return prog.apply("floordiv", prog.apply("add", value, above), divisor)


_SCALARS: Final[dict[str, Callable[..., Node]]] = {
    NEGATE: partial(prog.apply, "neg"),
    "+": partial(prog.apply, "add"),
    "-": partial(prog.apply, "sub"),
    "*": partial(prog.apply, "mul"),
    "floordiv": partial(prog.apply, "floordiv"),
    "ceildiv": _ceildiv,
    "mod": partial(prog.apply, "floormod"),
}
"""What stands for the operators of maps; divisors are positive numbers."""
