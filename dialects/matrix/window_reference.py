"""What reductions along axes, sums of products by a string, and windows compute, on NumPy arrays (`FNumpy`).

They are the map-reductions of `reference.py` over the indices and maps of `windows.py`. Importing this module registers
the semantics. Source: matrix specification 11 and 13.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

from scaly_ir.dialects.matrix import windows
from scaly_ir.dialects.matrix.reference import map_reduce
from scaly_ir.op import Op
from scaly_ir.types import DType

if TYPE_CHECKING:
    from numpy import ndarray

    Array = ndarray[Any, Any]


def _scalar(name: str) -> Callable[..., Any]:
    meaning: Callable[..., Any] = Op.get(f"prim.{name}").get_attr("FNumpy")
    return meaning


def reduce(A: Array, *, axes: Sequence[int], kind: str) -> Array:
    """Return the elements along some axes combined from a seed on, in row-major order."""
    import numpy

    shape = [extent for axis, extent in enumerate(A.shape) if axis not in axes]
    first = numpy.array(windows.seed(kind, DType(str(A.dtype))), A.dtype)
    indices = [windows.reduced_indices(A.ndim, axes)]
    return map_reduce(A, first, indices=indices, comb=_scalar(windows.FOLDS[kind]), shape=shape, dtype=A.dtype)


def einsum(*inputs: Array, spec: str) -> Array:
    """Return the sums of the products of elements, indices that the result lacks ascending as they first stand."""
    import numpy

    subscripts = windows.read_subscripts(spec)
    extents: dict[str, int] = {}
    for letters, each in zip(subscripts.inputs, inputs, strict=True):
        extents |= dict(zip(letters, each.shape, strict=True))
    shape = [extents[letter] for letter in subscripts.output]
    dtype = inputs[0].dtype
    total = len(extents) > len(shape)

    def comb(acc: Array, first: Array, *rest: Array) -> Array:
        term = first
        for each in rest:
            term = term * each
        return acc + term if total else term  # without a sum, the sign of a zero stays

    return map_reduce(*inputs, numpy.zeros((), dtype), indices=subscripts.indices, comb=comb, shape=shape, dtype=dtype)


def _padded(X: Array, lo: Sequence[int], hi: Sequence[int], value: float) -> Array:
    import numpy

    if not any([*lo, *hi]):
        return X
    kept = X.ndim - len(lo)
    widths = [(0, 0)] * kept + list(zip(lo, hi, strict=True))
    return numpy.pad(X, widths, constant_values=numpy.array(value, X.dtype))


def _positions(extent: int, window: int, stride: int, dilation: int) -> int:
    return (extent - (dilation * (window - 1) + 1)) // stride + 1


def _slices(offsets: Sequence[int], positions: Sequence[int], stride: Sequence[int], dilation: Sequence[int]) -> Any:
    """Return the elements at one offset into the windows at all positions."""
    return tuple(
        [
            slice(offset * gap, offset * gap + step * (count - 1) + 1, step)
            for offset, count, step, gap in zip(offsets, positions, stride, dilation, strict=True)
        ]
    )


def conv(
    X: Array, W: Array, *, stride: Sequence[int], dilation: Sequence[int], lo: Sequence[int], hi: Sequence[int]
) -> Array:
    """Return, for each position, the sum over channels and offsets of elements times those of a kernel."""
    import numpy

    padded = _padded(X, lo, hi, 0)
    rows = zip(padded.shape[2:], W.shape[2:], stride, dilation, strict=True)
    positions = [_positions(*row) for row in rows]
    out = numpy.zeros((X.shape[0], W.shape[0], *positions), X.dtype)
    for channel in range(X.shape[1]):
        for offsets in numpy.ndindex(*W.shape[2:]):
            seen = padded[(slice(None), channel, *_slices(offsets, positions, stride, dilation))]
            weight = W[(slice(None), channel, *offsets)].reshape(1, -1, *[1] * len(positions))
            out = out + seen[:, None] * weight
    return out


def pool(
    X: Array,
    *,
    window: Sequence[int],
    stride: Sequence[int],
    dilation: Sequence[int],
    lo: Sequence[int],
    hi: Sequence[int],
    kind: str,
) -> Array:
    """Return, for each position, the elements of the window combined from a seed on; a mean counts padding too."""
    import math

    import numpy

    first = windows.seed(kind, DType(str(X.dtype)))
    padded = _padded(X, lo, hi, first)
    kept = X.ndim - len(window)
    positions = [_positions(*row) for row in zip(padded.shape[kept:], window, stride, dilation, strict=True)]
    out = numpy.full((*X.shape[:kept], *positions), first, X.dtype)
    fold = _scalar(windows.FOLDS["add" if kind == windows.MEAN else kind])
    for offsets in numpy.ndindex(*window):
        out = fold(out, padded[(..., *_slices(offsets, positions, stride, dilation))])
    return out / numpy.array(math.prod(window), X.dtype) if kind == windows.MEAN else numpy.asarray(out)


_MEANINGS: Final = {windows.REDUCE: reduce, windows.EINSUM: einsum, windows.CONV: conv, windows.POOL: pool}
for _op, _meaning in _MEANINGS.items():
    _op.set_attr("FNumpy", _meaning)
