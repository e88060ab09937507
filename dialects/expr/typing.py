"""The type of every operation from its operands and attributes, or the reason why it has none.

One set of rules serves builders, parser, verifier and passes. A rule that is broken raises `Misuse`, which carries the
name and reason that the verifier reports, and the error and words that a builder raises. What concerns calls of
functions is in `call_typing`, sparse operands are in `sparse_typing`. Source: expression specification 1.2 to 1.5, 2
and 5.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from scaly_ir.dialects.expr import ops
from scaly_ir.graph import Node
from scaly_ir.op import Op
from scaly_ir.tensors import TensorType
from scaly_ir.types import BOOL, INT64, DType

Shape = tuple[int, ...]


class Misuse(Exception):  # noqa: N818 - builders and verifier make errors of it
    """An operation has no type: `rule` and `reason` say why in the verifier's words.

    A builder raises `error` with `message`, by default the reason.
    """

    def __init__(self, rule: str, reason: str, error: type[Exception] = ValueError, message: str = "") -> None:
        super().__init__(reason)
        self.rule = rule
        self.reason = reason
        self.error = error
        self.message = message or reason

    def raised(self) -> Exception:
        """Return the error for whoever builds the operation."""
        return self.error(self.message)


def tensor_types(op: Op, args: Sequence[Node]) -> list[TensorType]:
    """Return the types of operands; `Misuse` when one is no tensor."""
    types = [operand.type for operand in args]
    for position, type_ in enumerate(types):
        if not isinstance(type_, TensorType):
            reason = f"{_upper(op)} operand {position} has type {type_}, not a tensor type"
            raise Misuse("dtype-is-DType", reason, TypeError)
    return types


def infer(op: Op, args: Sequence[Node], attrs: Mapping[str, Any], stated: TensorType | None) -> TensorType | None:
    """Return the type of an operation, with the `diff` it may have.

    `stated` is the type that somebody wrote, which `input`, `const` and `cast` take over. None when nothing says what
    the type is: a call of a function that is not known. `Misuse` when there is none.
    """
    fault = op.count_fault(len(args))
    if fault is not None:
        raise Misuse("arity-matches-op", f"{_upper(op)} {fault}", TypeError)
    rule = _RULES.get(op)
    if rule is None:
        rule = _RULES[op] = _scalar_rule(op)
    return rule(op, args, attrs, stated)


# --- what rules share -------------------------------------------------------------------------------------------------


def _upper(op: Op) -> str:
    return op.mnemonic.upper()


def broadcast(op: Op, rule: str, types: Sequence[TensorType]) -> Shape:
    """Return the shape that NumPy broadcasts shapes to; `Misuse` when there is none."""
    result: Shape = types[0].shape
    for type_ in types[1:]:
        shape = type_.shape
        if shape == result:
            continue
        joined = []
        for back in range(1, max(len(shape), len(result)) + 1):
            first = result[-back] if back <= len(result) else 1
            second = shape[-back] if back <= len(shape) else 1
            if first != second and 1 not in (first, second):
                message = f"cannot broadcast shapes {result} and {shape}"
                raise Misuse(rule, f"{_upper(op)} {message}", ValueError, message)
            joined.append(second if first == 1 else first)
        result = tuple(reversed(joined))
    return result


def one_dtype(op: Op, rule: str, types: Sequence[TensorType]) -> DType:
    """Return the dtype that operands share; `Misuse` for mixed ones."""
    first = types[0].dtype
    for type_ in types[1:]:
        if type_.dtype is not first:
            message = f"mixed dtypes {first} and {type_.dtype}"
            raise Misuse(rule, f"{_upper(op)} {message}", TypeError, f"{message}; convert one with sc.cast")
    return first


_WANTED: Final = {
    frozenset({"float"}): ("float-operands", "a floating"),
    frozenset({"int"}): ("integer-operands", "an integer"),
    frozenset({"int", "float"}): ("numeric-operands", "an integer or floating"),
    frozenset({"bool"}): ("logical-types", "a bool"),
}


def check_kind(op: Op, dtype: DType, rule: str = "") -> None:
    """Raise `Misuse` when an operation does not accept a dtype."""
    kinds: frozenset[str] = op.get_attr("TOperandKinds")
    if dtype.kind not in kinds:
        named, words = _WANTED[kinds]
        message = f"'{op.mnemonic}' needs {words} operand, got {dtype}; convert it with sc.cast"
        raise Misuse(rule or named, f"{_upper(op)} needs {words} operand, got {dtype}", TypeError, message)


def any_diff(op: Op, types: Sequence[TensorType]) -> bool:
    """Tell whether the result may carry a derivative: one of the operands does."""
    return not op.get_attr("TNoDiff", False) and any([type_.diff for type_ in types])


# --- elementwise ------------------------------------------------------------------------------------------------------


def _arith(op: Op, args: Sequence[Node], attrs: Mapping[str, Any], stated: Any) -> TensorType:
    types = tensor_types(op, args)
    dtype = one_dtype(op, "binary-shape-dtype-match", types)
    check_kind(op, dtype)
    return TensorType(broadcast(op, "binary-shape-dtype-match", types), dtype, any_diff(op, types))


def _compare(op: Op, args: Sequence[Node], attrs: Mapping[str, Any], stated: Any) -> TensorType:
    types = tensor_types(op, args)
    one_dtype(op, "compare-types", types)
    return TensorType(broadcast(op, "compare-types", types), BOOL, diff=False)


def _logic(op: Op, args: Sequence[Node], attrs: Mapping[str, Any], stated: Any) -> TensorType:
    types = tensor_types(op, args)
    for type_ in types:
        check_kind(op, type_.dtype, "logical-types")
    return TensorType(broadcast(op, "logical-types", types), BOOL, diff=False)


def _test(op: Op, args: Sequence[Node], attrs: Mapping[str, Any], stated: Any) -> TensorType:
    (type_,) = tensor_types(op, args)
    check_kind(op, type_.dtype, "isfinite-types")
    return TensorType(type_.shape, BOOL, diff=False)


def _select(op: Op, args: Sequence[Node], attrs: Mapping[str, Any], stated: Any) -> TensorType:
    condition, first, second = types = tensor_types(op, args)
    if condition.dtype is not BOOL:
        message = f"the condition of 'select' is {condition.dtype}, not bool; compare it with something"
        raise Misuse("select-types", f"SELECT condition has dtype {condition.dtype}, not bool", TypeError, message)
    dtype = one_dtype(op, "select-types", [first, second])
    return TensorType(broadcast(op, "select-types", types), dtype, first.diff or second.diff)


def _cast(op: Op, args: Sequence[Node], attrs: Mapping[str, Any], stated: Any) -> TensorType:
    (type_,) = tensor_types(op, args)
    if stated is None:
        raise Misuse("cast-types", "CAST states no type", TypeError)
    if stated.dtype is BOOL:
        raise Misuse("cast-types", "CAST to bool must be written as ne(x, 0)", TypeError)
    diff = type_.diff and type_.dtype.is_float and stated.dtype.is_float
    return TensorType(type_.shape, stated.dtype, diff)


Rule = Callable[[Op, Sequence[Node], Mapping[str, Any], Any], "TensorType | None"]

_TYPINGS: Final[dict[str, Rule]] = {
    "arith": _arith,
    "compare": _compare,
    "logic": _logic,
    "test": _test,
    "select": _select,
    "cast": _cast,
}


def _scalar_rule(op: Op) -> Rule:
    from scaly_ir.dialects.expr.sparse_typing import elementwise_rule

    return elementwise_rule(op, _TYPINGS[op.get_attr("TScalarTyping")])


# --- sources, shapes --------------------------------------------------------------------------------------------------


def _input(op: Op, args: Sequence[Node], attrs: Mapping[str, Any], stated: Any) -> TensorType:
    if not attrs.get("name"):
        raise Misuse("input-has-name", "INPUT has no name", ValueError, "an input needs a name")
    return stated  # type: ignore[no-any-return]


def _const(op: Op, args: Sequence[Node], attrs: Mapping[str, Any], stated: Any) -> TensorType:
    table = attrs.get("value")
    if table is None:
        raise Misuse("const-value-present", "CONST has no value")
    return TensorType(table.shape, table.dtype, diff=False)


def _integers(op: Op, rule: str, attrs: Mapping[str, Any], key: str) -> Shape:
    value = attrs.get(key)
    if type(value) is not tuple or any([type(item) is not int for item in value]):
        raise Misuse(rule, f"{_upper(op)} {key} is not a list of integers", TypeError)
    return value


def _reduce(op: Op, args: Sequence[Node], attrs: Mapping[str, Any], stated: Any) -> TensorType:
    (type_,) = tensor_types(op, args)
    axes, kind = _integers(op, "reduce-shape", attrs, "axes"), attrs.get("kind")
    if kind not in ops.REDUCTIONS:
        raise Misuse("reduce-shape", f"REDUCE kind {kind!r} is unknown")
    if list(axes) != sorted(set(axes)):
        raise Misuse("reduce-shape", f"REDUCE axes {list(axes)} are not sorted and distinct")
    if any([not 0 <= axis < type_.ndim for axis in axes]):
        raise Misuse("reduce-shape", f"REDUCE axes {list(axes)} are out of range for shape {type_.shape}")
    if kind == "add" and type_.dtype is BOOL:
        message = "a sum of bools is not defined; convert them with sc.cast"
        raise Misuse("reduce-shape", "REDUCE add of bool operands", TypeError, message)
    if kind != "add" and math.prod([type_.shape[axis] for axis in axes]) == 0:
        raise Misuse("reduce-shape", f"REDUCE {kind} over axes {list(axes)} of shape {type_.shape} has no entries")
    shape = tuple([extent for axis, extent in enumerate(type_.shape) if axis not in axes])
    return TensorType(shape, type_.dtype, type_.diff)


def _reshape(op: Op, args: Sequence[Node], attrs: Mapping[str, Any], stated: Any) -> TensorType:
    (type_,) = tensor_types(op, args)
    shape = _integers(op, "reshape-size", attrs, "shape")
    if min(shape, default=0) < 0:
        raise Misuse("reshape-size", f"RESHAPE shape {list(shape)} has a negative extent")
    size = math.prod(shape)
    if size != type_.size:
        message = f"cannot reshape {type_.size} entries of shape {type_.shape} to {shape}, which has {size}"
        raise Misuse("reshape-size", f"RESHAPE source size {type_.size} != target size {size}", ValueError, message)
    return TensorType(shape, type_.dtype, type_.diff)


def _transpose(op: Op, args: Sequence[Node], attrs: Mapping[str, Any], stated: Any) -> TensorType:
    from scaly_ir.dialects.expr.sparse_typing import transposed

    type_ = args[0].type
    if not isinstance(type_, TensorType):
        tensor_types(op, args)
    axes = _integers(op, "transpose-axes", attrs, "axes")
    if sorted(axes) != list(range(type_.ndim)):
        raise Misuse("transpose-axes", f"TRANSPOSE axes {list(axes)} are not a permutation of {type_.ndim} axes")
    shape = tuple([type_.shape[axis] for axis in axes])
    return TensorType(shape, type_.dtype, type_.diff, transposed(type_, axes))


def _slice(op: Op, args: Sequence[Node], attrs: Mapping[str, Any], stated: Any) -> TensorType:
    (type_,) = tensor_types(op, args)
    index = attrs.get("index")
    if type(index) is not tuple or len(index) != type_.ndim:
        count = len(index) if type(index) is tuple else index
        message = f"too many indices: {count} for shape {type_.shape}"
        raise Misuse("slice-index", f"SLICE has {count} items for {type_.ndim} axes", IndexError, message)
    shape = []
    for axis, (item, extent) in enumerate(zip(index, type_.shape, strict=True)):
        if type(item) is slice:
            shape.append(len(range(*_slice_bounds(item, axis, extent))))
        elif type(item) is not int:
            raise Misuse("slice-index", f"SLICE item {axis} is neither an integer nor a slice", TypeError)
        elif not -extent <= item < extent:
            message = f"index {item} is out of range for axis {axis} with {extent} entries"
            raise Misuse("slice-index", f"SLICE {message}", IndexError, message)
    return TensorType(tuple(shape), type_.dtype, type_.diff)


def _slice_bounds(item: slice, axis: int, extent: int) -> tuple[int, int, int]:
    parts = (item.start, item.stop, item.step)
    if any([part is not None and type(part) is not int for part in parts]):
        raise Misuse("slice-index", f"SLICE item {axis} has a bound that is no integer", TypeError)
    if item.step == 0:
        raise Misuse("slice-index", f"SLICE item {axis} has step 0", ValueError, "the step of a slice cannot be 0")
    return item.indices(extent)


def _axis_of(op: Op, rule: str, attrs: Mapping[str, Any], ndim: int) -> int:
    axis = attrs.get("axis")
    if type(axis) is not int or not 0 <= axis < ndim:
        raise Misuse(rule, f"{_upper(op)} axis {axis} is out of range for {ndim} axes")
    return axis


def _parts(op: Op, rule: str, args: Sequence[Node]) -> tuple[list[TensorType], DType]:
    if not args:
        message = f"'{op.mnemonic}' needs at least one array"
        raise Misuse(rule, f"{_upper(op)} has no operand", ValueError, message)
    types = tensor_types(op, args)
    return types, one_dtype(op, rule, types)


def _stack(op: Op, args: Sequence[Node], attrs: Mapping[str, Any], stated: Any) -> TensorType:
    types, dtype = _parts(op, "stack-shapes", args)
    shape = types[0].shape
    for type_ in types:
        if type_.shape != shape:
            raise Misuse("stack-shapes", f"STACK operands have shapes {shape} and {type_.shape}")
    axis = _axis_of(op, "stack-shapes", attrs, len(shape) + 1)
    return TensorType((*shape[:axis], len(types), *shape[axis:]), dtype, any_diff(op, types))


def _concat(op: Op, args: Sequence[Node], attrs: Mapping[str, Any], stated: Any) -> TensorType:
    types, dtype = _parts(op, "concat-shapes", args)
    shape = types[0].shape
    if any([not type_.shape for type_ in types]):
        message = "a scalar cannot be concatenated; use sc.stack"
        raise Misuse("concat-shapes", "CONCAT has a scalar operand", ValueError, message)
    axis = _axis_of(op, "concat-shapes", attrs, len(shape))
    rest = (*shape[:axis], *shape[axis + 1 :])
    for type_ in types:
        if type_.ndim != len(shape) or (*type_.shape[:axis], *type_.shape[axis + 1 :]) != rest:
            raise Misuse("concat-shapes", f"CONCAT operands of shapes {shape} and {type_.shape} differ off axis {axis}")
    total = sum([type_.shape[axis] for type_ in types])
    return TensorType((*shape[:axis], total, *shape[axis + 1 :]), dtype, any_diff(op, types))


def _matmul(op: Op, args: Sequence[Node], attrs: Mapping[str, Any], stated: Any) -> TensorType:
    from scaly_ir.dialects.expr.sparse_typing import product

    for operand in args:
        if not isinstance(operand.type, TensorType):
            tensor_types(op, args)
    left, right = args[0].type, args[1].type
    dtype = one_dtype(op, "matmul-shape", [left, right])
    if dtype is BOOL:
        message = "a matrix product of bools is not defined; convert them with sc.cast"
        raise Misuse("matmul-shape", "MATMUL of bool operands", TypeError, message)
    if not left.shape or not right.shape:
        message = f"a matrix product needs arrays of one axis or more, got shapes {left.shape} and {right.shape}"
        raise Misuse(
            "matmul-shape", f"MATMUL operand of rank 0: shapes {left.shape} and {right.shape}", ValueError, message
        )
    inner = right.shape[-2] if right.ndim > 1 else right.shape[0]
    if left.shape[-1] != inner:
        message = f"cannot contract {left.shape[-1]} with {inner} entries: shapes {left.shape} and {right.shape}"
        raise Misuse("matmul-shape", f"MATMUL contraction {left.shape[-1]} != {inner}", ValueError, message)
    batches = [TensorType(left.shape[:-2], dtype), TensorType(right.shape[:-2], dtype)]
    shape = broadcast(op, "matmul-shape", batches)
    rows = left.shape[-2:-1]
    columns = right.shape[-1:] if right.ndim > 1 else ()
    return TensorType((*shape, *rows, *columns), dtype, left.diff or right.diff, product(left, right))


# --- gather and scatter -----------------------------------------------------------------------------------------------


def _positions(op: Op, rule: str, data: TensorType, idx: Node, attrs: Mapping[str, Any]) -> tuple[Shape, Shape]:
    """Check index, axis and mode; return the extents before and after what the index runs over."""
    if idx.type.dtype is not INT64:
        message = f"an index is int64, got {idx.type.dtype}; convert it with sc.cast"
        raise Misuse(rule, f"{_upper(op)} index has dtype {idx.type.dtype}, not int64", TypeError, message)
    axis, mode = attrs.get("axis"), attrs.get("mode")
    if axis is not None:
        axis = _axis_of(op, rule, attrs, data.ndim)
    if mode not in ops.MODES:
        raise Misuse(rule, f"{_upper(op)} mode {mode!r} is unknown")
    extent = data.size if axis is None else data.shape[axis]
    if mode == "promise_in_bounds" and idx.op is ops.CONST and "value" in idx.attrs:
        for position in idx.attrs["value"].values:
            if not 0 <= position < extent:
                message = f"index {position} is outside [0, {extent})"
                raise Misuse(rule, f"{_upper(op)} {message}", IndexError, message)
    return ((), ()) if axis is None else (data.shape[:axis], data.shape[axis + 1 :])


_FILLS: Final = {"bool": bool, "int": int, "float": float}


def _gather(op: Op, args: Sequence[Node], attrs: Mapping[str, Any], stated: Any) -> TensorType:
    from scaly_ir.dialects.expr.sparse_typing import densely

    data, idx = densely(op, args)
    rule = "gather-indices"
    before, after = _positions(op, rule, data, args[1], attrs)
    if attrs["mode"] == "fill":
        wanted = _FILLS[data.dtype.kind]
        if type(attrs.get("fill")) is not wanted:
            raise Misuse(rule, f"GATHER fill {attrs.get('fill')!r} is no {data.dtype}", TypeError)
    elif "fill" in attrs:
        raise Misuse(rule, "GATHER has a fill, but its mode is not 'fill'")
    return TensorType((*before, *idx.shape, *after), data.dtype, data.diff)


def _scatter(op: Op, args: Sequence[Node], attrs: Mapping[str, Any], stated: Any) -> TensorType:
    from scaly_ir.dialects.expr.sparse_typing import packed

    rule = "scatter-indices"
    base, idx, values = tensor_types(op, args)
    before, after = _positions(op, rule, base, args[1], attrs)
    if attrs.get("combine") not in ops.COMBINATIONS:
        raise Misuse(rule, f"SCATTER combine {attrs.get('combine')!r} is unknown")
    dtype = one_dtype(op, rule, [base, values])
    if attrs["combine"] == "add" and dtype is BOOL:
        message = "a sum of bools is not defined; convert them with sc.cast"
        raise Misuse(rule, "SCATTER add of bool operands", TypeError, message)
    wanted = (*before, *idx.shape, *after)
    if values.shape != wanted:
        message = f"values of shape {values.shape} do not fit the index, which needs {wanted}"
        raise Misuse(rule, f"SCATTER values have shape {values.shape}, expected {wanted}", ValueError, message)
    return packed(TensorType(base.shape, dtype, base.diff or values.diff), args, attrs, stated)


def _dense(rule: Rule) -> Rule:
    """Return a rule that accepts no sparse operand."""

    def checked(op: Op, args: Sequence[Node], attrs: Mapping[str, Any], stated: Any) -> TensorType | None:
        for operand in args:
            if getattr(operand.type, "pattern", None) is not None:
                message = "sparse operand; call to_dense() first"
                raise Misuse("sparsity-shape-matches", f"{_upper(op)} has a sparse operand", TypeError, message)
        return rule(op, args, attrs, stated)

    return checked


def _call(op: Op, args: Sequence[Node], attrs: Mapping[str, Any], stated: Any) -> TensorType | None:
    from scaly_ir.dialects.expr.call_typing import call_type

    return call_type(op, args, attrs)


def _loop(op: Op, args: Sequence[Node], attrs: Mapping[str, Any], stated: Any) -> TensorType | None:
    from scaly_ir.dialects.expr.call_typing import loop_type

    return loop_type(op, args, attrs)


_RULES: Final[dict[Op, Rule]] = {
    ops.INPUT: _input,
    ops.CONST: _const,
    ops.REDUCE: _reduce,
    ops.RESHAPE: _dense(_reshape),
    ops.TRANSPOSE: _transpose,
    ops.SLICE: _dense(_slice),
    ops.GATHER: _gather,
    ops.SCATTER: _scatter,
    ops.STACK: _dense(_stack),
    ops.CONCAT: _dense(_concat),
    ops.MATMUL: _matmul,
    ops.CALL: _call,
    ops.LOOP: _loop,
}
