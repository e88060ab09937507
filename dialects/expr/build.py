"""Builders: functions that make one operation, checked, with the errors that users see.

What the operations mean and refuse is in `typing.py`; here operands that are no expressions are taken in, shorthand is
spelled out and hints are passed on. Nothing is simplified. Source: expression specification 2 and 3.1.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from scaly_ir.attributes import NO_ATTRS, Attrs
from scaly_ir.dialects.expr import ops
from scaly_ir.dialects.expr.ingest import beside, checked, const, entry_of, index_const, operands, splat
from scaly_ir.dialects.expr.typing import Misuse, infer
from scaly_ir.graph import Node, intern_node
from scaly_ir.graph.expression import Arithmetic, declare_arithmetic
from scaly_ir.op import Op
from scaly_ir.tensors import TensorType, read_dtype, read_shape
from scaly_ir.text.diagnostics import one_of
from scaly_ir.types import BOOL

if TYPE_CHECKING:
    from scaly_ir.dialects.expr.node import Expr

_HINT: Final = "lowering"


def make(op: Op, args: Sequence[Node], attrs: Mapping[str, Any] = NO_ATTRS, stated: TensorType | None = None) -> Expr:
    """Return an operation with the type that its operands give it and the strongest hint of theirs.

    `TypeError`, `ValueError` or `IndexError` when there is no such operation.
    """
    hints = [operand.attrs[_HINT] for operand in args if _HINT in operand.attrs] if op is not ops.CALL else ()
    given = {**attrs, _HINT: max(hints, key=ops.HINTS.index)} if hints else attrs
    frozen = given if isinstance(given, Attrs) else Attrs(given)
    try:
        type_ = infer(op, args, frozen, stated)
    except Misuse as misuse:
        raise misuse.raised() from None
    return intern_node(op, tuple(args), frozen, type_)  # type: ignore[return-value]


def hinted(x: Expr, hint: str) -> Expr:
    """Return the same operation with another hint."""
    return x.with_attrs(lowering=None if hint == "auto" else hint)  # type: ignore[return-value]


def sym(name: str, shape: Any = None, *, dtype: Any = "float64", diff: bool = True) -> Expr:
    """Return the input called `name`; the same arguments give the same object."""
    if not isinstance(name, str):
        raise TypeError(f"the name of an input is a string, got {name!r}")
    return make(ops.INPUT, (), Attrs({"name": name}), TensorType(read_shape(shape), read_dtype(dtype), bool(diff)))


# --- elementwise ------------------------------------------------------------------------------------------------------


def unary(name: str, x: Any) -> Expr:
    """Apply an elementwise operation of one operand; rounding an integer gives the operand."""
    (value,) = operands(x)
    if name in ("floor", "ceil") and value.type.dtype.is_int:
        return value
    return make(Op.get(f"expr.{name}"), [value])


def binary(name: str, x: Any, y: Any) -> Expr:
    """Apply an elementwise operation of two operands of one dtype; shapes broadcast."""
    return make(Op.get(f"expr.{name}"), operands(x, y))


def power(x: Any, y: Any) -> Expr:
    """Return ``x ** y``; an integer to the power of a constant integer is spelled out in products."""
    base, exponent = operands(x, y)
    if not base.type.dtype.is_int:
        return make(Op.get("expr.pow"), [base, exponent])
    number = exponent.attrs["value"].uniform if exponent.op is ops.CONST and exponent.type.dtype.is_int else None
    if number is None or number < 0:
        raise TypeError("an integer can be raised to a constant power of at least 0 only; convert it with sc.cast")
    shape = make(Op.get("expr.add"), [base, exponent]).shape
    result = splat(1, base.type.but(shape=shape)) if not number or shape != base.shape else None
    count, square = int(number), base
    while count:
        if count & 1:
            result = square if result is None else result * square
        count >>= 1
        square = square * square if count else square
    assert result is not None
    return result


def cast(x: Any, dtype: Any) -> Expr:
    """Return `x` converted; itself when it has the dtype; to bool it is ``x != 0``."""
    wanted = read_dtype(dtype)
    (value,) = operands(x)
    if value.type.dtype is wanted:
        return value
    if wanted is BOOL:
        return make(Op.get("expr.ne"), [value, splat(0, TensorType((), value.type.dtype))])
    return make(ops.CAST, [value], stated=TensorType(value.shape, wanted))


def where(condition: Any, x: Any, y: Any) -> Expr:
    """Return `x` where the condition holds, else `y`; both are computed."""
    if isinstance(condition, bool):
        raise TypeError("the condition is a Python bool; '==' compares identity, use sc.equal to compare values")
    chosen = beside(condition, BOOL)
    return make(Op.get("expr.select"), [chosen, *operands(x, y)])


# --- shapes -----------------------------------------------------------------------------------------------------------


def axis_of(axis: Any, ndim: int, what: str = "axis") -> int:
    """Return an axis counted from the front; `TypeError` for no int, `ValueError` when there is none."""
    if isinstance(axis, bool):
        raise TypeError(f"an {what} is an int, got {axis!r}")
    try:
        position = operator.index(axis)
    except TypeError:
        raise TypeError(f"an {what} is an int, got {axis!r}") from None
    if not -ndim <= position < ndim:
        raise ValueError(f"{what} {position} is out of range for {ndim} axes")
    return position % ndim


def reduce(x: Any, kind: str, axis: Any = None, *, keepdims: bool = False) -> Expr:
    """Return the sum (``add``) or extremum (``max``, ``min``) over an axis, several, or all (None)."""
    (value,) = operands(x)
    if axis is None:
        axes = list(range(value.ndim))
    else:
        axes = sorted([axis_of(item, value.ndim) for item in (axis if isinstance(axis, tuple | list) else [axis])])
    if len(set(axes)) != len(axes):
        raise ValueError(f"axis {axis} names an axis twice")
    if kind not in ops.REDUCTIONS:
        raise ValueError(f"unknown reduction '{kind}'; expected {one_of(ops.REDUCTIONS)}")
    result = make(ops.REDUCE, [value], {"axes": axes, "kind": kind})
    if not keepdims:
        return result
    return reshape(result, [1 if at in axes else extent for at, extent in enumerate(value.shape)])


def reshape(x: Any, shape: Any) -> Expr:
    """Return the same entries in another shape, in which one -1 is worked out."""
    (value,) = operands(x)
    extents = list(shape) if isinstance(shape, tuple | list) else [shape]
    if any([isinstance(extent, bool) or not hasattr(extent, "__index__") for extent in extents]):
        raise TypeError(f"the extents of a shape are ints, got {shape!r}")
    extents = [operator.index(extent) for extent in extents]
    if extents.count(-1) > 1:
        raise ValueError(f"only one extent can be -1, got {tuple(extents)}")
    if -1 in extents:
        rest = 1
        for extent in extents:
            rest *= 1 if extent == -1 else extent
        if rest <= 0 or value.size % rest:
            raise ValueError(f"cannot reshape {value.size} entries of shape {value.shape} to {tuple(extents)}")
        extents[extents.index(-1)] = value.size // rest
    return make(ops.RESHAPE, [value], {"shape": extents})


def transpose(x: Any, axes: Sequence[int] = ()) -> Expr:
    """Return the axes in another order, reversed when none is given."""
    (value,) = operands(x)
    order = [axis_of(axis, value.ndim) for axis in axes] if axes else list(range(value.ndim))[::-1]
    return make(ops.TRANSPOSE, [value], {"axes": order})


def slice_(x: Expr, index: Any) -> Expr:
    """Return the part of `x` that basic indexing selects: ints, slices and an ellipsis."""
    items = list(index) if isinstance(index, tuple) else [index]
    if sum([item is ... for item in items]) > 1:
        raise IndexError("an index can hold only one ellipsis")
    given = sum([item is not ... for item in items])
    if given > x.ndim:
        raise IndexError(f"too many indices: {given} for shape {x.shape}")
    rest = [slice(None, None, None)] * (x.ndim - given)
    at = next((position for position, item in enumerate(items) if item is ...), None)
    items = [*items, *rest] if at is None else [*items[:at], *rest, *items[at + 1 :]]
    return make(ops.SLICE, [x], {"index": [_index_item(item) for item in items]})


def _index_item(item: Any) -> int | slice:
    if isinstance(item, slice):
        return slice(_bound(item.start), _bound(item.stop), _bound(item.step))
    if isinstance(item, bool) or item is None or isinstance(item, Node | list | tuple):
        raise TypeError(f"cannot index with {item!r}; take computed or listed positions with sc.gather")
    try:
        return operator.index(item)
    except TypeError:
        raise TypeError(f"cannot index with {item!r}; take computed or listed positions with sc.gather") from None


def _bound(bound: Any) -> int | None:
    if bound is None:
        return None
    if isinstance(bound, bool | Node):
        raise TypeError(f"the bound of a slice is an int, got {bound!r}")
    return operator.index(bound)


def stack(xs: Sequence[Any], *, axis: int = 0) -> Expr:
    """Return arrays of one shape along a new axis."""
    parts = operands(*xs)
    ndim = parts[0].ndim + 1 if parts else 1
    return make(ops.STACK, parts, {"axis": axis_of(axis, ndim)})


def concat(xs: Sequence[Any], *, axis: int = 0) -> Expr:
    """Return arrays end to end along an axis."""
    parts = operands(*xs)
    ndim = parts[0].ndim if parts else 1
    return make(ops.CONCAT, parts, {"axis": axis_of(axis, ndim) if ndim else 0})


def matmul(x: Any, y: Any) -> Expr:
    """Return the matrix product by NumPy's rules."""
    return make(ops.MATMUL, operands(x, y))


# --- gather and scatter -----------------------------------------------------------------------------------------------


def positions_of(idx: Any) -> Expr:
    """Return an index as an expression: a listed one becomes an int64 constant."""
    return checked(idx) if isinstance(idx, Node) else index_const(idx)


def _mode(idx: Expr, mode: str | None) -> str:
    """Return the mode: a constant index is checked at once, a computed one must be looked after."""
    if mode is None:
        return "promise_in_bounds" if idx.op is ops.CONST else "fill"
    if mode not in ops.MODES:
        raise ValueError(f"unknown mode {mode!r}; expected {one_of(ops.MODES)}")
    return mode


def gather(x: Any, idx: Any, *, axis: int | None = None, mode: str | None = None, fill: Any = 0) -> Expr:
    """Return entries of `x` at int64 positions: of all entries in row-major order, or along an axis.

    ``mode="fill"`` gives `fill` for a position out of range, negative ones included; ``mode="promise_in_bounds"`` is
    the caller's promise that there is none. By default a constant index is checked now (`IndexError`), and a computed
    one fills.
    """
    (data,) = operands(x)
    positions = positions_of(idx)
    attrs: dict[str, Any] = {"axis": None if axis is None else axis_of(axis, data.ndim), "mode": _mode(positions, mode)}
    if attrs["mode"] == "fill":
        dtype = data.type.dtype
        number = fill.item() if hasattr(fill, "item") and not isinstance(fill, Node) else fill
        attrs["fill"] = bool(number) if dtype is BOOL and number in (0, 1) else entry_of(number, dtype)
    return make(ops.GATHER, [data, positions], attrs)


def _scatter(base: Any, idx: Any, values: Any, axis: int | None, mode: str | None, combine: str) -> Expr:
    target, given = operands(base, values)
    positions = positions_of(idx)
    along = None if axis is None else axis_of(axis, target.ndim)
    wanted = positions.shape
    if along is not None:
        wanted = (*target.shape[:along], *positions.shape, *target.shape[along + 1 :])
    if given.shape == () and wanted != () and given.op is ops.CONST:
        given = splat(given.attrs["value"].values[0], given.type.but(shape=wanted))
    attrs = {"axis": along, "combine": combine, "mode": _mode(positions, mode)}
    return make(ops.SCATTER, [target, positions, given], attrs)


def index_add(base: Any, idx: Any, values: Any, *, axis: int | None = None, mode: str | None = None) -> Expr:
    """Return `base` with `values` added at int64 positions, one after the other; modes are those of `gather`."""
    return _scatter(base, idx, values, axis, mode, "add")


def index_set(base: Any, idx: Any, values: Any, *, axis: int | None = None, mode: str | None = None) -> Expr:
    """Return `base` with `values` written at int64 positions; of several to one position the last stays."""
    return _scatter(base, idx, values, axis, mode, "set")


# --- arithmetic of rules ----------------------------------------------------------------------------------------------


def _apply(name: str, *args: Node) -> Node:
    from scaly_ir.prim import form

    return make(form("expr", name), args)


declare_arithmetic("expr", Arithmetic(splat, _apply, cast))

__all__ = ["const"]
