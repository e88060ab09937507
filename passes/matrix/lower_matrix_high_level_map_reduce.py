"""The pass `lower_matrix_high_level_map_reduce`: products, transpositions and sums as maps and reductions.

Reductions along axes, sums of products by a string, convolutions and pools are in `windows.py`. Source: matrix
specification 9.1 and 13.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

from scaly_ir.dialects.buffer import build
from scaly_ir.dialects.buffer.ops import READ
from scaly_ir.dialects.matrix import ops
from scaly_ir.dialects.prog import build as prog
from scaly_ir.graph import Node
from scaly_ir.passes.matrix import windows
from scaly_ir.passes.matrix.driver import Context, LoweringPass, set_rules
from scaly_ir.types import MemRefType


@dataclass(frozen=True)
class LowerMatrixHighLevelMapReduce(LoweringPass):
    """Writes products, transpositions and sums as what they do to each element of the result."""

    name: ClassVar[str] = "lower_matrix_high_level_map_reduce"
    summary: ClassVar[str] = "turn products, sums, convolutions and their like into maps and reductions"


def _map_reduce(
    ctx: Context, name: str, type_: MemRefType, inputs: Sequence[Node], init: Node, indices: Sequence[Sequence[int]]
) -> None:
    """Emit the sum of the products of elements; without a defined first value, their element itself."""
    windows.combination(ctx, ops.MAP_REDUCE, build.value(name, type_), inputs, init, {"indices": indices}, "add")


def _prod(ctx: Context, statement: Node) -> None:
    zero = prog.const(0, statement.type.dtype)
    _map_reduce(ctx, ctx.result(statement), statement.type, statement.args, zero, ((0, 2), (2, 1)))


def _transpose(ctx: Context, statement: Node) -> None:
    undef = build.undef(statement.type.dtype)
    _map_reduce(ctx, ctx.result(statement), statement.type, statement.args, undef, ((1, 0),))


def _sum(ctx: Context, statement: Node) -> None:
    (matrix,) = statement.args
    dtype = matrix.type.dtype
    total = build.value(ctx.fresh(), MemRefType((1,), dtype))
    indices = tuple(range(1, 1 + len(matrix.type.shape)))
    _map_reduce(ctx, total.attrs["name"], total.type, (matrix,), prog.const(0, dtype), (indices,))
    ctx.emit(build.statement(READ, (total,), dtype, (ctx.result(statement),)))


RULES: Final = {ops.PROD: _prod, ops.TRANSPOSE: _transpose, ops.SUM: _sum, **windows.RULES}
set_rules(LowerMatrixHighLevelMapReduce.name, RULES)
