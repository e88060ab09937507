"""What the operations of `matrix` compute, on NumPy arrays: their reference semantics (`FNumpy`).

NumPy is loaded when one is called. The order of all additions is part of the meaning, so there is nothing of NumPy's
own reductions and products here; what is computed for all elements of a result at once gives the same bits as one
element after the other. Arrays have the written shapes of the operands or any that fold to the same; element types are
those of the operands, and warnings are the caller's affair. Importing this module registers the semantics. Source:
matrix specification 4 and 11.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from scaly_ir.attributes import Word
from scaly_ir.dialects.affine import ops as affine_ops
from scaly_ir.dialects.affine.maps import AffineMap
from scaly_ir.dialects.buffer import ops as buffer_ops
from scaly_ir.dialects.matrix import ops

if TYPE_CHECKING:
    from numpy import ndarray

    Array = ndarray[Any, Any]

Shape = Sequence[int]
Combine = Callable[..., "Array"]
"""A combiner on arrays of one dimension or more: the accumulator, then an element of each input."""


def prod(A: Array, B: Array) -> Array:
    """Return the matrix product: each element summed from zero over rising positions."""
    import numpy

    out = numpy.zeros((A.shape[0], B.shape[1]), A.dtype)
    for position in range(A.shape[1]):
        out = out + A[:, position : position + 1] * B[position : position + 1, :]
    return out


def transpose(A: Array) -> Array:
    """Return rows as columns."""
    return A.T.copy()


def sum_(A: Array) -> Array:
    """Return the sum of all elements from zero on, in row-major order, as an array of no axes."""
    import numpy

    lined = numpy.concatenate([numpy.zeros(1, A.dtype), A.reshape(-1)])
    return numpy.asarray(numpy.add.accumulate(lined, dtype=A.dtype)[-1])


def broadcast(A: Array, *, s_in: Shape, s_out: Shape) -> Array:
    """Return the elements with axes of extent 1 stretched."""
    import numpy

    return numpy.broadcast_to(A.reshape(s_in), s_out).copy()


def pad(A: Array, *v: Array, s_in: Shape, s_out: Shape, mode: Word, lo: Shape, hi: Shape) -> Array:
    """Return the elements with others around them: `v`, or those of the nearest edge."""
    import numpy

    inner = A.reshape(s_in)
    if mode == ops.CONSTANT_MODE:
        out = numpy.full(s_out, v[0], A.dtype)
        out[tuple([slice(before, before + extent) for before, extent in zip(lo, s_in, strict=True)])] = inner
        return out
    nearest = [
        numpy.clip(numpy.arange(extent) - before, 0, max(inside - 1, 0))
        for extent, before, inside in zip(s_out, lo, s_in, strict=True)
    ]
    return numpy.array(inner[numpy.ix_(*nearest)])


def concat(*inputs: Array, axis: int, shapes: Sequence[Shape], s_out: Shape) -> Array:
    """Return the inputs side by side."""
    import numpy

    return numpy.concatenate([each.reshape(shape) for each, shape in zip(inputs, shapes, strict=True)], axis)


# --- combinations -----------------------------------------------------------------------------------------------------


def map_reduce(*operands: Array, indices: Sequence[Sequence[int]], comb: Combine, shape: Shape, dtype: Any) -> Array:
    """Return, for each element of the result, the combination of the input elements whose indices agree.

    The last operand is what the accumulator is first: anything where that does not matter.
    """
    import numpy
    from numpy.lib.stride_tricks import as_strided

    *inputs, init = operands
    extents = dict(enumerate(shape))
    for each, numbers in zip(inputs, indices, strict=True):
        extents = dict(zip(numbers, each.shape, strict=True)) | extents
    reduced = sorted([number for number in extents if number >= len(shape)])
    out = numpy.full(shape, init, dtype)
    if 0 in extents.values():
        return out
    windows = []
    for each, numbers in zip(inputs, indices, strict=True):
        strides = dict.fromkeys([*range(len(shape)), *reduced], 0)  # an index that no axis has moves nothing
        for number, stride in zip(numbers, each.strides, strict=True):
            strides[number] += stride
        box = [extents[number] for number in strides]
        windows.append(as_strided(each, [1, *box], [0, *strides.values()], writeable=False))
    found: Array = out.reshape(1, *shape)
    for point in _points([extents[number] for number in reduced]):
        at: tuple[Any, ...] = (..., *point)
        found = comb(found, *[window[at] for window in windows])
    out[...] = numpy.broadcast_to(found, (1, *shape))[0]
    return out


def map_reduce_aff(
    *operands: Array,
    bounds: Shape,
    out_map: AffineMap,
    in_maps: Sequence[AffineMap],
    comb: Combine,
    shape: Shape,
    dtype: Any,
) -> Array:
    """Return the same where maps of the loop vector name the elements; what no loop reaches is the last operand.

    `IndexError` for an element that an array does not have.
    """
    import numpy

    *inputs, init = operands
    out = numpy.full(shape, init, dtype)
    rank = len(shape)
    outer, inner = bounds[:rank], bounds[rank:]
    if 0 in outer:
        return out
    cells = [
        numpy.arange(bound).reshape([1, *[bound if other == axis else 1 for other in range(rank)]])
        for axis, bound in enumerate(outer)
    ]
    found: Array = numpy.full((1, *outer), init, dtype)
    for point in _points(inner):
        at = [*cells, *point]
        found = comb(found, *[_taken(each, map_(at), rank) for each, map_ in zip(inputs, in_maps, strict=True)])
    target = [numpy.broadcast_to(each, (1, *outer))[0] for each in out_map([*cells, *[0] * len(inner)])]
    _check_inside(target, shape)
    out[tuple(target)] = numpy.broadcast_to(found, (1, *outer))[0]
    return out


def _taken(array: Array, at: Sequence[Any], rank: int) -> Array:
    """Return the elements at some indices, each a number or an array, with one axis more than there are cells' axes."""
    import numpy

    _check_inside(at, array.shape)
    return numpy.asarray(array[tuple(at)]).reshape(numpy.broadcast_shapes([1] * (rank + 1), *map(numpy.shape, at)))


def _check_inside(at: Sequence[Any], shape: Shape) -> None:
    import numpy

    for index, extent in zip(at, shape, strict=True):
        outside = numpy.extract((numpy.asarray(index) < 0) | (numpy.asarray(index) >= extent), index)
        if len(outside):
            raise IndexError(f"index {outside[0]} is outside [0, {extent})")


def _points(extents: Shape) -> Iterator[tuple[int, ...]]:
    """Yield the points of a box, the last index fastest."""
    import numpy

    return iter(numpy.ndindex(*extents))


def _of_map(choose: Callable[[Sequence[Any]], Any]) -> Callable[..., Any]:
    """Return what gives one of the results of a map."""
    return lambda *dims, map: choose(map(dims))


_MEANINGS: Final = {
    affine_ops.APPLY: _of_map(lambda results: results[0]),
    affine_ops.MIN: _of_map(min),
    affine_ops.MAX: _of_map(max),
    buffer_ops.READ: lambda A, *indices: A[indices],
    buffer_ops.SHAPE: lambda A, *, axis: A.shape[axis],
    ops.PROD: prod,
    ops.TRANSPOSE: transpose,
    ops.SUM: sum_,
    ops.BROADCAST: broadcast,
    ops.PAD: pad,
    ops.CONCAT: concat,
    ops.MAP_REDUCE: map_reduce,
    ops.MAP_REDUCE_AFF: map_reduce_aff,
}
for _op, _meaning in _MEANINGS.items():
    _op.set_attr("FNumpy", _meaning)
