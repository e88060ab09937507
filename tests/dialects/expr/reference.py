"""What every operation of `expr` means, written against NumPy alone: the yardstick of evaluator and verifier.

Nothing here goes through the tables of the package but for names. Sums and products are Python loops in index order.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np

Array = np.ndarray[Any, Any]

KINDS: Final = {"bool": "b", "int32": "i", "int64": "i", "float32": "f", "float64": "f"}
LIBM: Final = "sin cos tan asin acos atan sinh cosh tanh erf exp log sqrt pow atan2".split()

ACCEPTED: Final = {
    **dict.fromkeys("neg abs add sub mul minimum maximum".split(), "if"),
    **dict.fromkeys(["div", "floor", "ceil", *LIBM], "f"),
    **dict.fromkeys(["floordiv", "mod"], "i"),
    **dict.fromkeys("lt le eq ne".split(), "bif"),
    **dict.fromkeys("and or not".split(), "b"),
    "isfinite": "f",
}
ARITY: Final = {
    **dict.fromkeys(ACCEPTED, 2),
    **dict.fromkeys("neg abs floor ceil not isfinite".split(), 1),
    **dict.fromkeys([name for name in LIBM if name not in ("pow", "atan2")], 1),
    "select": 3,
    **dict.fromkeys("cast reduce reshape transpose slice".split(), 1),
    "gather": 2,
    "scatter": 3,
    "matmul": 2,
}
ATTRIBUTES: Final = {
    "reduce": {"axes", "kind"},
    "reshape": {"shape"},
    "transpose": {"axes"},
    "slice": {"index"},
    "gather": {"axis", "mode"},
    "scatter": {"axis", "combine", "mode"},
    "stack": {"axis"},
    "concat": {"axis"},
}
"""Those that must be there."""


def _double(function: Callable[..., Any]) -> Callable[..., Any]:
    """Library functions of float32 are computed in double and rounded."""
    return lambda *arrays: np.asarray(function(*[array.astype(np.float64) for array in arrays])).astype(arrays[0].dtype)


def _power(x: Array, y: Array) -> Array:
    """Powers as C has them: of arrays with as many exponents as bases, since NumPy takes roots for a single 0.5."""
    bases, exponents = np.broadcast_arrays(x, y)
    both = np.append(bases.ravel(), 1.0), np.append(exponents.ravel(), 3.0)
    return np.asarray(np.power(*both)[:-1].reshape(bases.shape))


def _whole(function: Callable[[int, int], int]) -> Callable[..., Any]:
    """An integer operation on Python's integers, wrapped to the dtype; 0 for a zero divisor."""

    def apply(x: Array, y: Array) -> Array:
        x, y = np.broadcast_arrays(x, y)
        bits = 8 * x.dtype.itemsize
        exact = [function(int(a), int(b)) if b else 0 for a, b in zip(x.flat, y.flat, strict=True)]
        wrapped = [(value + (1 << bits - 1)) % (1 << bits) - (1 << bits - 1) for value in exact]
        return np.array(wrapped, x.dtype).reshape(x.shape)

    return apply


def _erf(x: Array) -> Array:
    return np.array([math.erf(value) for value in x.flat], np.float64).reshape(x.shape)


ELEMENTWISE: Final[dict[str, Callable[..., Any]]] = {
    "neg": np.negative,
    "abs": np.absolute,
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.true_divide,
    "floor": np.floor,
    "ceil": np.ceil,
    "minimum": np.fmin,
    "maximum": np.fmax,
    "floordiv": _whole(lambda x, y: x // y),
    "mod": _whole(lambda x, y: x % y),
    "lt": np.less,
    "le": np.less_equal,
    "eq": np.equal,
    "ne": np.not_equal,
    "and": np.logical_and,
    "or": np.logical_or,
    "not": np.logical_not,
    "isfinite": np.isfinite,
    "pow": _double(_power),
    "atan2": _double(np.arctan2),
    "erf": _double(_erf),
    **{name: _double(getattr(np, name)) for name in "sin cos tan sinh cosh tanh exp log sqrt".split()},
    **{f"a{name}": _double(getattr(np, f"arc{name}")) for name in "sin cos tan".split()},
}


class Invalid(Exception):  # noqa: N818 - what the specification refuses
    """There is no such operation."""


def require(condition: bool) -> None:
    if not condition:
        raise Invalid


def apply(name: str, attrs: Mapping[str, Any], arrays: Sequence[Array], result: str) -> Array:
    """Return what an operation computes; `Invalid`, or an error of NumPy, where it refuses its operands."""
    with np.errstate(all="ignore"):
        dtypes = [str(array.dtype) for array in arrays]
        if name in ELEMENTWISE:
            require(len(set(dtypes)) == 1 and KINDS[dtypes[0]] in ACCEPTED[name])
            return np.asarray(ELEMENTWISE[name](*arrays))
        given = {key: value for key, value in attrs.items() if key != "lowering"}
        return np.asarray(_STRUCTURAL[name](arrays, dtypes, result, **given))


def _select(arrays: Any, dtypes: Any, result: str) -> Any:
    require(dtypes[0] == "bool" and dtypes[1] == dtypes[2])
    return np.where(*arrays)


def _cast(arrays: Any, dtypes: Any, result: str) -> Any:
    require(result != "bool")
    return arrays[0].astype(result)


def _reduce(arrays: Any, dtypes: Any, result: str, axes: Any, kind: str) -> Any:
    (x,) = arrays
    require(kind in ("add", "max", "min"))
    require(list(axes) == sorted(set(axes)) and all([0 <= axis < x.ndim for axis in axes]))
    if kind != "add":
        return (np.max if kind == "max" else np.min)(x, axis=tuple(axes)) if axes else x
    require(dtypes[0] != "bool")
    out = np.zeros([extent for axis, extent in enumerate(x.shape) if axis not in axes], x.dtype)
    for place in np.ndindex(*x.shape):
        kept = tuple([at for axis, at in enumerate(place) if axis not in axes])
        out[kept] = out[kept] + x[place]
    return out


def _slice(arrays: Any, dtypes: Any, result: str, index: Any) -> Any:
    require(len(index) == arrays[0].ndim)
    return arrays[0][tuple(index)]


def _lines(x: Array, axis: int | None) -> tuple[Array, int]:
    """The array and the axis an index runs over; the flat array for none."""
    require(axis is None or 0 <= axis < x.ndim)
    return (x.reshape(-1), 0) if axis is None else (x, axis)


def _gather(arrays: Any, dtypes: Any, result: str, axis: Any, mode: str, fill: Any = None) -> Any:
    x, idx = arrays
    require(dtypes[1] == "int64" and mode in ("fill", "promise_in_bounds"))
    require((mode == "fill") == (fill is not None))
    if mode == "fill":
        wanted = {"b": bool, "i": int, "f": float}[KINDS[dtypes[0]]]
        require(type(fill) is wanted and (fill != fill or x.dtype.type(fill).item() == fill))
    lined, along = _lines(x, axis)
    out = np.empty((*lined.shape[:along], *idx.shape, *lined.shape[along + 1 :]), x.dtype)
    for place in np.ndindex(*idx.shape):
        position = int(idx[place])
        inside = 0 <= position < lined.shape[along]
        require(inside or mode == "fill")
        target = (slice(None),) * along + place
        out[target] = np.take(lined, position, axis=along) if inside else fill
    return out


def _scatter(arrays: Any, dtypes: Any, result: str, axis: Any, combine: str, mode: str) -> Any:
    base, idx, values = arrays
    require(dtypes[1] == "int64" and dtypes[0] == dtypes[2])
    require(mode in ("fill", "promise_in_bounds") and combine in ("add", "set"))
    require(combine == "set" or dtypes[0] != "bool")
    out, along = _lines(base.copy(), axis)
    require(values.shape == (*out.shape[:along], *idx.shape, *out.shape[along + 1 :]))
    for place in np.ndindex(*idx.shape):
        position = int(idx[place])
        if not 0 <= position < out.shape[along]:
            require(mode == "fill")
            continue
        target = (slice(None),) * along + (position,)
        value = values[(slice(None),) * along + place]
        out[target] = value if combine == "set" else out[target] + value
    return out.reshape(base.shape)


def _stack(arrays: Any, dtypes: Any, result: str, axis: int) -> Any:
    require(len(set(dtypes)) == 1 and axis >= 0)
    return np.stack(arrays, axis)


def _concat(arrays: Any, dtypes: Any, result: str, axis: int) -> Any:
    require(len(set(dtypes)) == 1 and axis >= 0)
    return np.concatenate(arrays, axis)


def _matmul(arrays: Any, dtypes: Any, result: str) -> Any:
    require(dtypes[0] == dtypes[1] != "bool" and min(array.ndim for array in arrays) > 0)
    x = arrays[0][None, :] if arrays[0].ndim == 1 else arrays[0]
    y = arrays[1][:, None] if arrays[1].ndim == 1 else arrays[1]
    require(x.shape[-1] == y.shape[-2])
    batch = np.broadcast_shapes(x.shape[:-2], y.shape[:-2])
    left, right = np.broadcast_to(x, (*batch, *x.shape[-2:])), np.broadcast_to(y, (*batch, *y.shape[-2:]))
    out = np.zeros((*batch, x.shape[-2], y.shape[-1]), x.dtype)
    for *at, row, column in np.ndindex(*out.shape):
        total = x.dtype.type(0)
        for k in range(x.shape[-1]):
            total = total + left[(*at, row, k)] * right[(*at, k, column)]
        out[(*at, row, column)] = total
    out = out[..., 0] if arrays[1].ndim == 1 else out
    return out if arrays[0].ndim > 1 else out[..., 0] if arrays[1].ndim == 1 else out[..., 0, :]


def _reshape(arrays: Any, dtypes: Any, result: str, shape: Any) -> Any:
    require(all([extent >= 0 for extent in shape]))
    return arrays[0].reshape(shape)


def _transpose(arrays: Any, dtypes: Any, result: str, axes: Any) -> Any:
    require(sorted(axes) == list(range(arrays[0].ndim)))
    return arrays[0].transpose(axes)


_STRUCTURAL: Final[dict[str, Callable[..., Any]]] = {
    "select": _select,
    "cast": _cast,
    "reduce": _reduce,
    "reshape": _reshape,
    "transpose": _transpose,
    "slice": _slice,
    "gather": _gather,
    "scatter": _scatter,
    "stack": _stack,
    "concat": _concat,
    "matmul": _matmul,
}

NAMES: Final = (*ELEMENTWISE, *_STRUCTURAL)
"""Every operation but sources, calls and loops."""


def may_differ(name: str, diffs: Sequence[bool], dtypes: Sequence[str], result: str) -> bool:
    """Tell whether a result may carry a derivative: section 1.4 row by row."""
    if name in "lt le eq ne isfinite and or not floordiv mod".split():
        return False
    if name == "select":
        return diffs[1] or diffs[2]
    if name == "cast":
        return diffs[0] and KINDS[dtypes[0]] == KINDS[result] == "f"
    if name == "gather":
        return diffs[0]
    return diffs[0] or diffs[2] if name == "scatter" else any(diffs)
