"""Lists of positions as arithmetic of a counter: what is regular needs no table.

A list is factored into levels of equal blocks, each block a constant further than the one before it; what remains
inside the innermost block is a table. Source: lowering specification 1.3.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from scaly_ir.dialects.prog import build
from scaly_ir.graph import Node
from scaly_ir.passes.expr.lowering.access import divided, plus
from scaly_ir.passes.expr.lowering.procedure import Procedure
from scaly_ir.tables import Table

if TYPE_CHECKING:
    import numpy

    Positions = numpy.ndarray[tuple[int], numpy.dtype[numpy.int64]]


class Level(NamedTuple):
    """Equal blocks, one behind the other: how many, and how much further each is than the one before."""

    blocks: int
    constant: int


def factored(positions: Positions) -> tuple[list[Level], Positions]:
    """Return the levels of a list, outermost first, and what remains in the innermost block."""
    levels = []
    while positions.size > 1:
        found = _blocks(positions)
        if found is None:
            break
        size, constant = found
        levels.append(Level(positions.size // size, constant))
        positions = positions[:size]
    return levels, positions


def _blocks(positions: Positions) -> tuple[int, int] | None:
    """Return the smallest size of blocks that differ by a constant, and the constant."""
    length = positions.size
    for size in _divisors(length):
        constant = positions[size] - positions[0]
        # The ends tell nearly all misfits without a look at the whole list.
        if positions[-1] - positions[-1 - size] != constant:
            continue
        if bool((positions[size:] - positions[:-size] == constant).all()):
            return size, int(constant)
    return None


def _divisors(number: int) -> list[int]:
    """Return the divisors of a number but itself, rising."""
    small = [divisor for divisor in range(1, int(number**0.5) + 1) if number % divisor == 0]
    return sorted({*small, *[number // divisor for divisor in small]} - {number})


def indexed(proc: Procedure, positions: Any) -> Callable[[Node], Node]:
    """Return what gives the position with a number, as arithmetic and at most one table, which is declared here.

    The coordinate of a level is ``n div s mod count``. It is taken without a remainder: what ``n div s`` is too large
    by is a multiple of ``n div (s * count)``, the quotient of the level around, and is subtracted there.
    """
    levels, residual = factored(positions)
    table = proc.table(Table.from_array(residual)) if residual.size > 1 else None
    constant = int(residual[0]) if residual.size else 0
    terms: list[tuple[int, int]] = []
    stride, inside = int(residual.size), 0
    for count, step in reversed(levels):
        if step != inside:
            terms.append((stride, step - inside))
        stride, inside = stride * count, step * count

    def index(number: Node) -> Node:
        total: Node | None = None
        if table is not None:
            at = build.apply("mod", number, build.index(residual.size)) if levels else number
            total = build.load(build.view(table, at))
        elif constant:
            total = build.index(constant)
        for by, factor in reversed(terms):
            total = plus(total, divided(number, by), factor)
        return build.index(constant) if total is None else total

    return index
