"""The lowering of reductions along axes, sums of products by a string, and windows to the two map-reductions.

Part of `lower_matrix_high_level_map_reduce`. Source: matrix specification 13.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from math import prod
from string import ascii_lowercase
from typing import Any, Final

from scaly_ir.dialects.buffer import build
from scaly_ir.dialects.matrix import ops, windows
from scaly_ir.dialects.prog import build as scalars
from scaly_ir.graph import Node
from scaly_ir.op import Op
from scaly_ir.passes.matrix.driver import Context
from scaly_ir.types import MemRefType


def combination(
    ctx: Context,
    op: Op,
    result: Node,
    inputs: Sequence[Node],
    init: Node,
    attrs: Mapping[str, Any],
    fold: str,
) -> None:
    """Emit the products of elements, folded by a scalar operator; without a first accumulator, the elements alone."""
    dtype = result.type.dtype
    bases = ["acc", *[ascii_lowercase[number % 26] for number in range(len(inputs))]]
    params = [build.declaration(ctx.fresh(base), dtype) for base in bases]
    total, *elements = [build.value(param.attrs["name"], dtype) for param in params]
    term = reduce(lambda left, right: scalars.apply("mul", left, right), elements)
    combined = scalars.apply(fold, total, term) if init.op.get_attr("TConst", False) else term
    body = build.region(params, [build.statement(ops.YIELD, (combined,))])
    ctx.emit(build.statement(op, (*inputs, init, body), result.type, (result.attrs["name"],), attrs))


def _result(ctx: Context, statement: Node) -> Node:
    return build.value(ctx.result(statement), statement.type)


def _reduce(ctx: Context, statement: Node) -> None:
    (source,) = statement.args
    kind, axes = statement.attrs["kind"], statement.attrs["axes"]
    init = scalars.const(windows.seed(kind, source.type.dtype), source.type.dtype)
    indices = (windows.reduced_indices(len(source.type.shape), axes),)
    combination(
        ctx, ops.MAP_REDUCE, _result(ctx, statement), (source,), init, {"indices": indices}, windows.FOLDS[kind]
    )


def _einsum(ctx: Context, statement: Node) -> None:
    subscripts = windows.read_subscripts(statement.attrs["spec"])
    dtype = statement.type.dtype
    sums = len(set("".join(subscripts.inputs))) > len(subscripts.output)
    init = scalars.const(0, dtype) if sums else build.undef(dtype)
    attrs = {"indices": subscripts.indices}
    combination(ctx, ops.MAP_REDUCE, _result(ctx, statement), statement.args, init, attrs, "add")


def _padded(ctx: Context, statement: Node, value: float) -> Node:
    """Return the input with its padding, or as it is where there is none."""
    source = statement.args[0]
    axes = windows.axes_of(statement)
    if not any([axis.low or axis.high for axis in axes]):
        return source
    shape = source.type.shape
    kept = (0,) * (len(shape) - len(axes))
    total = (*shape[: len(kept)], *[axis.padded for axis in axes])
    padded = build.value(ctx.fresh(), MemRefType(total, source.type.dtype))
    attrs = {
        "s_in": shape,
        "s_out": total,
        "mode": ops.CONSTANT_MODE,
        "lo": (*kept, *[axis.low for axis in axes]),
        "hi": (*kept, *[axis.high for axis in axes]),
    }
    around = scalars.const(value, source.type.dtype)
    ctx.emit(build.statement(ops.PAD, (source, around), padded.type, (padded.attrs["name"],), attrs))
    return padded


def _conv(ctx: Context, statement: Node) -> None:
    inputs = (_padded(ctx, statement, 0), statement.args[1])
    zero = scalars.const(0, statement.type.dtype)
    attrs = windows.box_of(statement).attrs
    combination(ctx, ops.MAP_REDUCE_AFF, _result(ctx, statement), inputs, zero, attrs, "add")


def _pool(ctx: Context, statement: Node) -> None:
    kind, dtype = statement.attrs["kind"], statement.type.dtype
    first = windows.seed(kind, dtype)
    source = _padded(ctx, statement, first)
    result = _result(ctx, statement)
    is_mean = kind == windows.MEAN
    total = build.value(ctx.fresh(), statement.type) if is_mean else result
    attrs = windows.box_of(statement).attrs
    fold = "add" if is_mean else windows.FOLDS[kind]
    combination(ctx, ops.MAP_REDUCE_AFF, total, (source,), scalars.const(first, dtype), attrs, fold)
    if is_mean:
        _divide(ctx, result, total, prod(statement.attrs["window"]))


def _divide(ctx: Context, result: Node, total: Node, count: int) -> None:
    """Emit the division of each element by a number."""
    dtype = result.type.dtype
    params = [build.declaration(ctx.fresh(base), dtype) for base in ("acc", "a")]
    element = build.value(params[1].attrs["name"], dtype)
    quotient = scalars.apply("div", element, scalars.const(count, dtype))
    body = build.region(params, [build.statement(ops.YIELD, (quotient,))])
    attrs = {"indices": (tuple(range(len(result.type.shape))),)}
    args = (total, build.undef(dtype), body)
    ctx.emit(build.statement(ops.MAP_REDUCE, args, result.type, (result.attrs["name"],), attrs))


RULES: Final = {windows.REDUCE: _reduce, windows.EINSUM: _einsum, windows.CONV: _conv, windows.POOL: _pool}
"""What `lower_matrix_high_level_map_reduce` does with them."""
