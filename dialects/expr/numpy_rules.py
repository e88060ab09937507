"""What the structural operations of `expr` compute, on NumPy arrays: their reference semantics (`FNumpy`).

NumPy is loaded when one is called. Sums run in index order, one addition after the other, as that order is part of the
meaning. Source: expression specification 2.4 to 2.6.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy import errstate, ndarray

    Array = ndarray[Any, Any]


def _silence() -> errstate:
    """Return the context of arithmetic: it warns of nothing, but raises what the caller wants raised."""
    import numpy

    return numpy.errstate(**{flag: "ignore" for flag, what in numpy.geterr().items() if what != "raise"})  # type: ignore[arg-type]


def reduce(x: Array, *, axes: Sequence[int], kind: str) -> Array:
    """Reduce over `axes`: a sum from zero in flat order, or an extremum, which is NaN where an entry is."""
    import numpy

    kept = [axis for axis in range(x.ndim) if axis not in axes]
    shape = [x.shape[axis] for axis in kept]
    lined = x.transpose([*kept, *axes]).reshape([*shape, math.prod([x.shape[axis] for axis in axes])])
    if kind != "add":
        return numpy.asarray((numpy.max if kind == "max" else numpy.min)(lined, axis=-1))
    zeros = numpy.zeros([*shape, 1], x.dtype)
    with _silence():
        sums = numpy.add.accumulate(numpy.concatenate([zeros, lined], axis=-1), axis=-1, dtype=x.dtype)
    return numpy.asarray(sums[..., -1])


def reshape(x: Array, *, shape: Sequence[int]) -> Array:
    """Return the entries in another shape."""
    return x.reshape(shape)


def transpose(x: Array, *, axes: Sequence[int]) -> Array:
    """Return the axes in another order."""
    return x.transpose(axes)


def slice_(x: Array, *, index: Sequence[Any]) -> Array:
    """Return the part of `x` that basic indexing selects."""
    import numpy

    return numpy.asarray(x[tuple(index)])


def gather(x: Array, idx: Array, *, axis: int | None, mode: str, fill: Any = None) -> Array:
    """Return entries at `idx`; outside of ``[0, n)`` it is `fill`, or `IndexError` where that was promised away."""
    import numpy

    lined = x.reshape(-1) if axis is None else x
    along = 0 if axis is None else axis
    extent = lined.shape[along]
    inside = _inside(idx, extent, mode)
    if extent == 0:
        shape = [*lined.shape[:along], *idx.shape, *lined.shape[along + 1 :]]
        return numpy.full(shape, 0 if fill is None else fill, x.dtype)
    taken = numpy.take(lined, numpy.where(inside, idx, 0), axis=along)
    if inside.all():
        return taken
    mask = inside.reshape([1] * along + list(idx.shape) + [1] * (lined.ndim - along - 1))
    return numpy.where(mask, taken, numpy.asarray(fill, x.dtype))


def scatter(base: Array, idx: Array, values: Array, *, axis: int | None, combine: str, mode: str) -> Array:
    """Return a copy of `base` with `values` written, or added one after the other, at `idx` in flat order.

    What lies outside is dropped, or an `IndexError` where that was promised away.
    """
    import numpy

    along = 0 if axis is None else axis
    out = base.reshape(-1).copy() if axis is None else base.copy()
    lined = values.reshape(-1) if axis is None else values
    extent = out.shape[along]
    inside = _inside(idx, extent, mode).reshape(-1)
    positions = idx.reshape(-1)[inside]
    # One axis in place of those of the index, in front: then rows are written in the order of the positions.
    rows = numpy.moveaxis(lined.reshape([*out.shape[:along], idx.size, *out.shape[along + 1 :]]), along, 0)[inside]
    target = numpy.moveaxis(out, along, 0)
    with _silence():
        if combine == "add":
            numpy.add.at(target, positions, rows)
        else:
            for position, row in zip(positions.tolist(), rows, strict=True):
                target[position] = row
    return out.reshape(base.shape)


def _inside(idx: Array, extent: int, mode: str) -> Array:
    inside: Array = (idx >= 0) & (idx < extent)
    if mode == "promise_in_bounds" and not inside.all():
        raise IndexError(f"index {int(idx[~inside].flat[0])} is outside [0, {extent}), which was promised not to be")
    return inside


def stack(*parts: Array, axis: int) -> Array:
    """Return the parts along a new axis."""
    import numpy

    return numpy.stack(parts, axis=axis)


def concat(*parts: Array, axis: int) -> Array:
    """Return the parts end to end."""
    import numpy

    return numpy.concatenate(parts, axis=axis)


def matmul(x: Array, y: Array) -> Array:
    """Return the matrix product, every entry summed from zero over rising positions."""
    import numpy

    left = x[None, :] if x.ndim == 1 else x
    right = y[:, None] if y.ndim == 1 else y
    batch = numpy.broadcast_shapes(left.shape[:-2], right.shape[:-2])
    out = numpy.zeros([*batch, left.shape[-2], right.shape[-1]], x.dtype)
    with _silence():
        for k in range(left.shape[-1]):
            out = out + left[..., :, k : k + 1] * right[..., k : k + 1, :]
    if x.ndim == 1:
        out = out[..., 0, :]
    return out[..., 0] if y.ndim == 1 else out
