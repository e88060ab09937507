"""The types of operations on computed positions: gather and scatter. Source: expression specification 2.5."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from scaly_ir.dialects.expr import ops
from scaly_ir.dialects.expr.sparse_typing import densely, packed
from scaly_ir.dialects.expr.typing import Misuse, Shape, axis_of, one_dtype, tensor_types, unknown, upper
from scaly_ir.graph import Node
from scaly_ir.op import Op
from scaly_ir.spec import shown_value
from scaly_ir.tables import Table
from scaly_ir.tensors import TensorType
from scaly_ir.text.spelling import float_bits, round_float
from scaly_ir.types import BOOL, FLOAT32, INT64, DType, int_range


def _positions(op: Op, rule: str, data: TensorType, idx: Node, attrs: Mapping[str, Any]) -> tuple[Shape, Shape]:
    """Check index, axis and mode; return the extents before and after what the index runs over."""
    if idx.type.dtype is not INT64:
        message = f"an index is int64, got {idx.type.dtype}; convert it with sc.cast"
        raise Misuse(rule, f"{upper(op)} index has dtype {idx.type.dtype}, not int64", TypeError, message, part=1)
    axis, mode = attrs.get("axis"), attrs.get("mode")
    if axis is not None:
        axis = axis_of(op, rule, attrs, data.ndim)
    if mode not in ops.MODES:
        raise Misuse(rule, unknown(op, "mode", mode, ops.MODES), part="mode")
    extent = data.size if axis is None else data.shape[axis]
    if mode == "promise_in_bounds" and idx.op is ops.CONST:
        for position in _outside(idx.attrs.get("value"), extent):
            message = f"index {position} is outside [0, {extent})"
            raise Misuse(rule, f"{upper(op)} {message}", IndexError, message, part=1)
    return ((), ()) if axis is None else (data.shape[:axis], data.shape[axis + 1 :])


def is_inside(table: Table, extent: int) -> bool:
    """Tell whether all entries of an int64 table are positions in ``[0, extent)``; so are those of another dtype."""
    if table.dtype is not INT64 or not table.data:
        return True
    positions = table.values
    return min(positions) >= 0 and max(positions) < extent


def _outside(table: Any, extent: int) -> list[Any]:
    """Return the positions in a table that are outside of ``[0, extent)``."""
    if type(table) is not Table or is_inside(table, extent):
        return []
    return [position for position in table.values if not 0 <= position < extent]


_FILLS: Final = {"bool": bool, "int": int, "float": float}


def _is_entry(value: Any, dtype: DType) -> bool:
    if type(value) is not _FILLS[dtype.kind]:
        return False
    if isinstance(value, float):
        return dtype is not FLOAT32 or float_bits(round_float(value, dtype)) == float_bits(value)
    return value in int_range(dtype)


def gather_type(op: Op, args: Sequence[Node], attrs: Mapping[str, Any]) -> TensorType:
    """Return the type of a gather."""
    data, idx = densely(op, args)
    rule = "gather-indices"
    before, after = _positions(op, rule, data, args[1], attrs)
    if attrs["mode"] == "fill":
        if "fill" not in attrs:
            raise Misuse(rule, "GATHER has no fill, which its mode 'fill' needs", TypeError)
        fill = attrs["fill"]
        if not _is_entry(fill, data.dtype):
            raise Misuse(rule, f"GATHER fill {shown_value(fill)} is no {data.dtype}", TypeError, part="fill")
    elif "fill" in attrs:
        raise Misuse(rule, "GATHER has a fill, but its mode is not 'fill'", part="fill")
    return TensorType((*before, *idx.shape, *after), data.dtype, data.diff)


def scatter_type(op: Op, args: Sequence[Node], attrs: Mapping[str, Any], stated: Any) -> TensorType:
    """Return the type of a scatter, which may state the pattern of what it writes."""
    rule = "scatter-indices"
    base, idx, values = tensor_types(op, args)
    before, after = _positions(op, rule, base, args[1], attrs)
    if attrs.get("combine") not in ops.COMBINATIONS:
        reason = unknown(op, "combine", attrs.get("combine"), ops.COMBINATIONS)
        raise Misuse(rule, reason, part="combine")
    dtype = one_dtype(op, rule, [base, values], (0, 2))
    if attrs["combine"] == "add" and dtype is BOOL:
        message = "a sum of bools is not defined; convert them with sc.cast"
        raise Misuse(rule, "SCATTER add of bool operands", TypeError, message)
    wanted = (*before, *idx.shape, *after)
    if values.shape != wanted:
        message = f"values of shape {values.shape} do not fit the index, which needs {wanted}"
        reason = f"SCATTER values have shape {values.shape}, expected {wanted}"
        raise Misuse(rule, reason, ValueError, message, part=2)
    return packed(TensorType(base.shape, dtype, base.diff or values.diff), args, attrs, stated)
