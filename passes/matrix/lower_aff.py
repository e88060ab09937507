"""The pass `lower_aff`: broadcasts, paddings, concatenations and maps with affine access as loops over elements.

Each nest reads elements that exist and no others, so that nothing is selected and inputs may be empty. Source: matrix
specification 9.3.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import ClassVar, Final

from scaly_ir.dialects.affine import build as affine
from scaly_ir.dialects.affine import ops as affine_ops
from scaly_ir.dialects.affine.maps import AffineMap, Dim, Expr
from scaly_ir.dialects.affine.simplify import number_of, simplify
from scaly_ir.dialects.matrix import ops
from scaly_ir.graph import Node
from scaly_ir.op import Op
from scaly_ir.passes.matrix.combiners import At, Locate, Nest, emit_nest
from scaly_ir.passes.matrix.driver import Context, LoweringPass, set_rules, used


@dataclass(frozen=True)
class LowerAff(LoweringPass):
    """Writes what moves elements, and maps with affine access, as nests of loops."""

    name: ClassVar[str] = "lower_aff"
    summary: ClassVar[str] = "turn broadcasts, paddings, concatenations and affine maps into loops"


def _broadcast(ctx: Context, statement: Node) -> None:
    (source,) = statement.args
    shape = statement.attrs["s_out"]
    result = ctx.alloc(ctx.result(statement), statement.type)
    with ctx.loop_nest(shape, "global") as loops:
        value = ctx.read(source, used(statement.attrs["s_in"], loops.indices))
        ctx.write(value, result, used(shape, loops.indices))


def _pad(ctx: Context, statement: Node) -> None:
    if statement.attrs["mode"] == ops.CONSTANT_MODE:
        source, value = statement.args
        result = ctx.constant(ctx.result(statement), value, statement.type)
        _copy_block(ctx, source, result, statement.attrs["s_in"], statement.attrs["s_out"], statement.attrs["lo"])
    else:
        _replicate(ctx, statement)


def _replicate(ctx: Context, statement: Node) -> None:
    (source,) = statement.args
    inner, outer, lows, highs = [statement.attrs[key] for key in ("s_in", "s_out", "lo", "hi")]
    result = ctx.alloc(ctx.result(statement), statement.type)
    with ctx.loop_nest(outer, "global") as loops:
        indices = [
            _clamped(ctx, index, low, high, extent)
            for index, low, high, extent in zip(loops.indices, lows, highs, inner, strict=True)
            if extent != 1
        ]
        ctx.write(ctx.read(source, indices), result, used(outer, loops.indices))


def _clamped(ctx: Context, index: Node, low: int, high: int, extent: int) -> Node:
    """Return the index of the element of an axis that is nearest to where one would be with `low` before it."""
    if high:
        index = _bound(ctx, affine_ops.MIN, index, (_shifted(-low), (extent - 1,)))
    if low:
        index = _bound(ctx, affine_ops.MAX, index, (_shifted(0 if high else -low), (0,)))
    return index


def _bound(ctx: Context, op: Op, index: Node, results: Sequence[Expr]) -> Node:
    return ctx.bind(lambda name: affine.apply(name, (index,), AffineMap(1, results), op))


def _shifted(by: int) -> Expr:
    return (Dim(0), by, "+") if by > 0 else (Dim(0), -by, "-") if by else (Dim(0),)


def _concat(ctx: Context, statement: Node) -> None:
    shape, axis = statement.attrs["s_out"], statement.attrs["axis"]
    result = ctx.alloc(ctx.result(statement), statement.type)
    offset = 0
    for source, block in zip(statement.args, statement.attrs["shapes"], strict=True):
        starts = [offset if number == axis else 0 for number in range(len(shape))]
        _copy_block(ctx, source, result, block, shape, starts)
        offset += block[axis]


def _copy_block(
    ctx: Context, source: Node, result: Node, block: Sequence[int], shape: Sequence[int], starts: Sequence[int]
) -> None:
    """Emit loops that copy all elements of `source` to the block of `result` that begins at `starts`."""
    with ctx.loop_nest(block, "global") as loops:
        value = ctx.read(source, used(block, loops.indices))
        moved = zip(shape, starts, loops.indices, strict=True)
        ctx.write(value, result, [_index(ctx, _shifted(start), (index,)) for n, start, index in moved if n != 1])


def _map_reduce_aff(ctx: Context, statement: Node) -> None:
    *inputs, init, _ = statement.args
    type_, bounds = statement.type, statement.attrs["bounds"]
    rank = len(type_.shape)
    cells, terms = dict(enumerate(bounds[:rank])), dict(enumerate(bounds[rank:], rank))
    name = ctx.result(statement)
    # No two points of the loops over the result write one cell, so that counting tells whether all are written.
    points = prod(bounds[:rank]) if prod(bounds[rank:]) else 0
    is_whole = points == prod(type_.shape)
    result = ctx.alloc(name, type_) if is_whole else ctx.constant(name, init, type_)
    if points:  # without one, the maps may lead anywhere
        cell = _at(ctx, type_.shape, statement.attrs["out_map"])
        elements = [
            _at(ctx, source.type.shape, map_) for source, map_ in zip(inputs, statement.attrs["in_maps"], strict=True)
        ]
        emit_nest(ctx, statement, result, Nest(cells, terms, cell, elements))


def _at(ctx: Context, shape: Sequence[int], map_: AffineMap) -> Locate:
    """Return where a map finds an element of a buffer."""

    def locate(at: At) -> list[Node]:
        operands = [at[number] for number in range(map_.dims)]
        return [_index(ctx, expr, operands) for expr in used(shape, map_.results)]

    return locate


def _index(ctx: Context, expr: Expr, operands: Sequence[Node]) -> Node:
    """Return the index that an expression stands for: an operand, a literal, or the result of a map of its own."""
    map_, used_operands = simplify(AffineMap(len(operands), [expr]), operands)
    (short,) = map_.results
    number = number_of(short)
    if number is not None:
        return affine.index(number)
    if short == (Dim(0),):
        return used_operands[0]
    return ctx.bind(lambda name: affine.apply(name, used_operands, map_))


RULES: Final = {
    ops.BROADCAST: _broadcast,
    ops.PAD: _pad,
    ops.CONCAT: _concat,
    ops.MAP_REDUCE_AFF: _map_reduce_aff,
}
set_rules(LowerAff.name, RULES)
