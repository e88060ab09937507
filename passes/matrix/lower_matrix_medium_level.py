"""The pass `lower_matrix_medium_level`: maps and reductions as loops over elements.

Source: matrix specification 9.2.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

from scaly_ir.dialects.matrix import ops
from scaly_ir.graph import Node
from scaly_ir.passes.matrix.combiners import At, Locate, Nest, emit_nest
from scaly_ir.passes.matrix.driver import Context, LoweringPass, set_rules, used


@dataclass(frozen=True)
class LowerMatrixMediumLevel(LoweringPass):
    """Writes maps and reductions as nests of loops."""

    name: ClassVar[str] = "lower_matrix_medium_level"
    summary: ClassVar[str] = "turn maps and reductions into loops"


def _map_reduce(ctx: Context, statement: Node) -> None:
    inputs = statement.args[:-2]
    indices = statement.attrs["indices"]
    cells = dict(enumerate(statement.type.shape))
    extents = {
        number: extent
        for source, numbers in zip(inputs, indices, strict=True)
        for number, extent in zip(numbers, source.type.shape, strict=True)
    }
    terms = {number: extents[number] for number in sorted(extents) if number not in cells}
    elements = [_at(source.type.shape, numbers) for source, numbers in zip(inputs, indices, strict=True)]
    result = ctx.alloc(ctx.result(statement), statement.type)
    emit_nest(ctx, statement, result, Nest(cells, terms, _at(statement.type.shape, list(cells)), elements))


def _at(shape: Sequence[int], numbers: Sequence[int]) -> Locate:
    """Return where to find an element of a buffer of which loops number the axes."""

    def locate(at: At) -> list[Node]:
        return used(shape, [at[number] for number in numbers])

    return locate


RULES: Final = {ops.MAP_REDUCE: _map_reduce}
set_rules(LowerMatrixMediumLevel.name, RULES)
