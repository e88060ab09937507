"""Builders that expand into several operations. Source: expression specification 1.5 and 3.1."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from scaly_ir.dialects.expr import build, ops
from scaly_ir.dialects.expr.ingest import index_const, make_const, operands, splat
from scaly_ir.sparsity import SparsityPattern
from scaly_ir.tables import Table
from scaly_ir.tensors import TensorType, read_shape
from scaly_ir.types import INT64

if TYPE_CHECKING:
    from scaly_ir.dialects.expr.node import Expr


def vec(x: Any) -> Expr:
    """Return the entries along one axis."""
    (value,) = operands(x)
    return value.vec()


def zeros_like(x: Any) -> Expr:
    """Return zeros of the shape and dtype of `x`."""
    (value,) = operands(x)
    return splat(False if value.type.dtype.kind == "bool" else 0, value.type)


def ones_like(x: Any) -> Expr:
    """Return ones of the shape and dtype of `x`."""
    (value,) = operands(x)
    return splat(True if value.type.dtype.kind == "bool" else 1, value.type)


def split(x: Any, sections: int | Sequence[int], *, axis: int = 0) -> tuple[Expr, ...]:
    """Return parts of `x` along an axis: `sections` equal ones, or one for each size listed.

    `ValueError` when the parts do not add up to the extent.
    """
    (value,) = operands(x)
    along = build.axis_of(axis, value.ndim)
    extent = value.shape[along]
    if isinstance(sections, int):
        if sections <= 0 or extent % sections:
            raise ValueError(f"cannot split {extent} entries into {sections} equal parts")
        sizes = [extent // sections] * sections
    else:
        sizes = list(sections)
        if sum(sizes) != extent or min(sizes, default=0) < 0:
            raise ValueError(f"parts of {sizes} entries do not add up to {extent}")
    parts, start = [], 0
    for size in sizes:
        index = [slice(None)] * along + [slice(start, start + size)]
        parts.append(value[tuple(index)])
        start += size
    return tuple(parts)


# --- sums -------------------------------------------------------------------------------------------------------------


def dot(x: Any, y: Any) -> Expr:
    """Return the sum of the products of the entries of two arrays of one size; `ValueError` for unequal sizes."""
    first, second = operands(x, y)
    if first.size != second.size:
        raise ValueError(f"dot of {first.size} and {second.size} entries: shapes {first.shape} and {second.shape}")
    return (first.vec() * second.vec()).sum()


def sumsqr(x: Any) -> Expr:
    """Return the sum of the squares of all entries."""
    return dot(x, x)


def norm_1(x: Any) -> Expr:
    """Return the sum of the magnitudes of all entries."""
    (value,) = operands(x)
    return abs(value).sum()


def norm_2(x: Any) -> Expr:
    """Return the square root of the sum of the squares of all entries."""
    return build.unary("sqrt", sumsqr(x))


def norm_inf(x: Any) -> Expr:
    """Return the greatest magnitude of all entries; `ValueError` when there is none."""
    (value,) = operands(x)
    return abs(value).max()


def mean(x: Any, axis: Any = None, keepdims: bool = False) -> Expr:
    """Return the sum over an axis, several, or all, divided by the count; `ValueError` when there is nothing."""
    (value,) = operands(x)
    total = value.sum(axis, keepdims)
    if not value.type.dtype.is_float:
        raise TypeError(f"'mean' needs a floating operand, got {value.type.dtype}; convert it with sc.cast")
    axes = range(value.ndim) if axis is None else axis if isinstance(axis, tuple | list) else [axis]
    count = math.prod([value.shape[item] for item in axes])
    if count == 0:
        raise ValueError(f"mean over axis {axis} of shape {value.shape} has no entries")
    return total / float(count)


def argmax(x: Any, axis: int | None = None) -> Expr:
    """Return the int64 position of the greatest entry: the first of equals, the first NaN if there is one."""
    return _arg(x, axis, "max")


def argmin(x: Any, axis: int | None = None) -> Expr:
    """Return the int64 position of the least entry: the first of equals, the first NaN if there is one."""
    return _arg(x, axis, "min")


def _arg(x: Any, axis: int | None, kind: str) -> Expr:
    (value,) = operands(x)
    if axis is None:
        value, axis = value.vec(), 0
    along = build.axis_of(axis, value.ndim)
    extent = value.shape[along]
    extremum = build.reduce(value, kind, along, keepdims=True)
    hit = build.binary("or", build.binary("eq", value, extremum), build.binary("ne", value, value))
    shape = [extent if at == along else 1 for at in range(value.ndim)]
    positions = build.reshape(index_const(list(range(extent))), shape)
    return build.reduce(build.where(hit, positions, extent), "min", along)


def diag(x: Any) -> Expr:
    """Return the square matrix with a vector on its diagonal, or the diagonal of a matrix."""
    (value,) = operands(x)
    if value.ndim == 1:
        count = value.shape[0]
        zeros = splat(False if value.type.dtype.kind == "bool" else 0, value.type.but(shape=(count, count)))
        return build.index_set(zeros, [at * (count + 1) for at in range(count)], value)
    if value.ndim == 2:
        count, columns = min(value.shape), value.shape[1]
        return build.gather(value, [at * (columns + 1) for at in range(count)])
    raise ValueError(f"diag of shape {value.shape}; expected a vector or a matrix")


# --- positions --------------------------------------------------------------------------------------------------------


def scatter(values: Any, idx: Any, shape: Any) -> Expr:
    """Return zeros of `shape` with `values` added at flat positions."""
    (given,) = operands(values)
    return build.index_add(splat(0, given.type.but(shape=read_shape(shape), diff=False)), idx, given)


def segment_sum(values: Any, ids: Any, n: int) -> Expr:
    """Return `n` sums: of the entries of `values` whose id is 0, 1, ..."""
    (given,) = operands(values)
    positions = build.positions_of(ids)
    return scatter(given.vec(), positions.vec() if positions.ndim != 1 else positions, n)


def take(x: Any, idx: Any, *, axis: int = -1, fill: Any = 0) -> Expr:
    """Return entries along one axis, `fill` where the position is out of range."""
    return build.gather(x, idx, axis=axis, mode="fill", fill=fill)


# --- sparse matrices --------------------------------------------------------------------------------------------------


def _stored(pattern: SparsityPattern) -> list[int]:
    """Return the flat positions of the stored entries."""
    return [row * pattern.shape[1] + column for row, column in zip(pattern.rows, pattern.columns, strict=True)]


def _all_stored(type_: TensorType, pattern: SparsityPattern) -> list[int]:
    """Return the flat positions of the stored entries of every matrix of a batch."""
    size = pattern.shape[0] * pattern.shape[1]
    batches = math.prod(type_.shape[:-2])
    return [batch * size + position for batch in range(batches) for position in _stored(pattern)]


def to_dense(x: Any) -> Expr:
    """Return a sparse array as a dense one; a dense one as it is."""
    (value,) = operands(x)
    if value.type.pattern is None:
        return value
    every = make_const(Table.of(list(range(value.size)), INT64, value.shape))
    return build.gather(value, every)


def values(x: Any) -> Expr:
    """Return the stored entries of a sparse array along one axis; all entries of a dense one."""
    (value,) = operands(x)
    pattern = value.type.pattern
    return value.vec() if pattern is None else build.gather(value, _all_stored(value.type, pattern))


def pack(values: Any, pattern: SparsityPattern) -> Expr:
    """Return the sparse matrix whose stored entries, in row-major order, are `values`."""
    (given,) = operands(values)
    if given.shape != (pattern.nnz,):
        raise ValueError(
            f"a pattern of {pattern.nnz} entries needs values of shape {(pattern.nnz,)}, got {given.shape}"
        )
    zeros = splat(False if given.type.dtype.kind == "bool" else 0, TensorType(pattern.shape, given.type.dtype, False))
    combine = "set" if given.type.dtype.kind == "bool" else "add"
    attrs = {"axis": None, "combine": combine, "mode": "promise_in_bounds"}
    stated = given.type.but(shape=pattern.shape, pattern=pattern)
    return build.make(ops.SCATTER, [zeros, index_const(_stored(pattern)), given], attrs, stated)
