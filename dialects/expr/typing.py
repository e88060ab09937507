"""The type of every operation from its operands and attributes, or the reason why it has none.

One set of rules serves builders, parser, verifier and passes. A rule that is broken raises `Misuse`, which carries the
name and reason that the verifier reports, and the error and words that a builder raises. Rules of elementwise
operators, of computed positions, of calls and of sparse operands are in modules of their own. Source: expression
specification 1.2 to 1.5, 2 and 5.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from scaly_ir.attributes import Attrs
from scaly_ir.dialects.expr import ops
from scaly_ir.graph import Node, intern_node
from scaly_ir.op import Op
from scaly_ir.spec import shown_value
from scaly_ir.tables import Table
from scaly_ir.tensors import TensorType
from scaly_ir.text.diagnostics import did_you_mean, one_of
from scaly_ir.text.locations import Part
from scaly_ir.types import BOOL, DType

Shape = tuple[int, ...]


class Misuse(Exception):  # noqa: N818 - builders and verifier make errors of it
    """An operation has no type: `rule` and `reason` say why in the verifier's words.

    A builder raises `error` with `message`, by default the reason. `part` is the attribute or operand to blame, if any.
    """

    def __init__(
        self, rule: str, reason: str, error: type[Exception] = ValueError, message: str = "", *, part: Part = ""
    ) -> None:
        super().__init__(reason)
        self.rule = rule
        self.reason = reason
        self.error = error
        self.message = message or reason
        self.part = part

    def raised(self) -> Exception:
        """Return the error for whoever builds the operation."""
        return self.error(self.message)


def tensor_types(op: Op, args: Sequence[Node]) -> list[TensorType]:
    """Return the types of operands; `Misuse` when one is no tensor."""
    types = [operand.type for operand in args]
    for position, type_ in enumerate(types):
        if type(type_) is not TensorType or type(type_.dtype) is not DType:
            reason = f"{upper(op)} operand {position} has type {type_}, not a tensor type"
            raise Misuse("dtype-is-DType", reason, TypeError, part=position)
    return types


def infer(op: Op, args: Sequence[Node], attrs: Mapping[str, Any], stated: TensorType | None) -> TensorType | None:
    """Return the type of an operation, with the `diff` it may have.

    `stated` is the type that somebody wrote, which `input`, `const` and `cast` take over. None when nothing says what
    the type is: a call of a function that is not known. `Misuse` when there is none.
    """
    fault = op.count_fault(len(args))
    if fault is not None:
        raise Misuse("arity-matches-op", f"{upper(op)} {fault}", TypeError)
    rule = _RULES.get(op)
    if rule is None:
        rule = _RULES[op] = _scalar_rule(op)
    return rule(op, args, attrs, stated)


# --- what rules share -------------------------------------------------------------------------------------------------


def upper(op: Op) -> str:
    """Return what reasons call an operation."""
    return op.mnemonic.upper()


def unknown(op: Op, key: str, value: Any, choices: Sequence[str]) -> str:
    """Return the reason for a value that no attribute of this name has, with what was meant or all choices."""
    near = did_you_mean(value, choices, quote='"') if isinstance(value, str) else ""
    quoted = [f'"{choice}"' for choice in choices]
    expected = f"; expected {one_of(quoted)}"
    return f"{upper(op)} {key} {shown_value(value)} is unknown{near or expected}"


def axis_of(op: Op, rule: str, attrs: Mapping[str, Any], ndim: int) -> int:
    """Return the axis that an operation names; `Misuse` when there is none."""
    axis = attrs.get("axis")
    if type(axis) is not int or not 0 <= axis < ndim:
        raise Misuse(rule, f"{upper(op)} axis {axis} is out of range for {ndim} axes", part="axis")
    return axis


def broadcast(op: Op, rule: str, types: Sequence[TensorType]) -> Shape:
    """Return the shape that NumPy broadcasts shapes to; `Misuse` when there is none."""
    result: Shape = types[0].shape
    for position, type_ in enumerate(types):
        shape = type_.shape
        if shape == result:
            continue
        joined = []
        for back in range(1, max(len(shape), len(result)) + 1):
            first = result[-back] if back <= len(result) else 1
            second = shape[-back] if back <= len(shape) else 1
            if first != second and 1 not in (first, second):
                message = f"cannot broadcast shapes {result} and {shape}"
                raise Misuse(rule, f"{upper(op)} {message}", ValueError, message, part=position)
            joined.append(second if first == 1 else first)
        result = tuple(reversed(joined))
    return result


def one_dtype(op: Op, rule: str, types: Sequence[TensorType], positions: Sequence[int] = ()) -> DType:
    """Return the dtype that operands share, all or those at some positions; `Misuse` for mixed ones."""
    first = types[0].dtype
    for position, type_ in enumerate(types):
        if type_.dtype is not first:
            message = f"mixed dtypes {first} and {type_.dtype}"
            part = positions[position] if positions else position
            raise Misuse(rule, f"{upper(op)} {message}", TypeError, f"{message}; convert one with sc.cast", part=part)
    return first


def any_diff(op: Op, types: Sequence[TensorType]) -> bool:
    """Tell whether the result may carry a derivative: one of the operands does."""
    return not op.get_attr("TNoDiff", False) and any([type_.diff for type_ in types])


Rule = Callable[[Op, Sequence[Node], Mapping[str, Any], Any], "TensorType | None"]


def _scalar_rule(op: Op) -> Rule:
    if op.get_attr("TScalarTyping") is None:
        return _registered
    from scaly_ir.dialects.expr.elementwise_typing import dense_rule
    from scaly_ir.dialects.expr.sparse_typing import elementwise_rule

    return elementwise_rule(op, dense_rule(op))


def _registered(op: Op, args: Sequence[Node], attrs: Mapping[str, Any], stated: Any) -> TensorType | None:
    """Return what the rule of an operator of a third party says, else the type that is stated."""
    inferred: TensorType | None = op.result_type(intern_node(op, tuple(args), Attrs(attrs), stated))
    return stated if inferred is None else inferred


# --- sources, shapes --------------------------------------------------------------------------------------------------


def _input(op: Op, args: Sequence[Node], attrs: Mapping[str, Any], stated: Any) -> TensorType:
    name = attrs.get("name")
    if type(name) is not str or not name:
        raise Misuse("input-has-name", "INPUT has no name", ValueError, "an input needs a name")
    return stated  # type: ignore[no-any-return]


def _const(op: Op, args: Sequence[Node], attrs: Mapping[str, Any], stated: Any) -> TensorType:
    table = attrs.get("value")
    if type(table) is not Table:
        raise Misuse("const-value-present", "CONST has no value")
    return TensorType(table.shape, table.dtype, diff=False)


def _integers(op: Op, rule: str, attrs: Mapping[str, Any], key: str) -> Shape:
    value = attrs.get(key)
    if type(value) is not tuple or any([type(item) is not int for item in value]):
        raise Misuse(rule, f"{upper(op)} {key} is not a list of integers", TypeError, part=key)
    return value


def _reduce(op: Op, args: Sequence[Node], attrs: Mapping[str, Any], stated: Any) -> TensorType:
    (type_,) = tensor_types(op, args)
    axes, kind = _integers(op, "reduce-shape", attrs, "axes"), attrs.get("kind")
    if kind not in ops.REDUCTIONS:
        raise Misuse("reduce-shape", unknown(op, "kind", kind, ops.REDUCTIONS), part="kind")
    if list(axes) != sorted(set(axes)):
        raise Misuse("reduce-shape", f"REDUCE axes {list(axes)} are not sorted and distinct", part="axes")
    if any([not 0 <= axis < type_.ndim for axis in axes]):
        reason = f"REDUCE axes {list(axes)} are out of range for shape {type_.shape}"
        raise Misuse("reduce-shape", reason, part="axes")
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
        raise Misuse("reshape-size", f"RESHAPE shape {list(shape)} has a negative extent", part="shape")
    size = math.prod(shape)
    if size != type_.size:
        message = f"cannot reshape {type_.size} entries of shape {type_.shape} to {shape}, which has {size}"
        reason = f"RESHAPE source size {type_.size} != target size {size}"
        raise Misuse("reshape-size", reason, ValueError, message, part="shape")
    return TensorType(shape, type_.dtype, type_.diff)


def _transpose(op: Op, args: Sequence[Node], attrs: Mapping[str, Any], stated: Any) -> TensorType:
    from scaly_ir.dialects.expr.sparse_typing import transposed

    type_ = args[0].type
    if not isinstance(type_, TensorType):
        tensor_types(op, args)
    axes = _integers(op, "transpose-axes", attrs, "axes")
    if sorted(axes) != list(range(type_.ndim)):
        reason = f"TRANSPOSE axes {list(axes)} are not a permutation of {type_.ndim} axes"
        raise Misuse("transpose-axes", reason, part="axes")
    shape = tuple([type_.shape[axis] for axis in axes])
    return TensorType(shape, type_.dtype, type_.diff, transposed(type_, axes))


def _slice(op: Op, args: Sequence[Node], attrs: Mapping[str, Any], stated: Any) -> TensorType:
    (type_,) = tensor_types(op, args)
    index = attrs.get("index")
    if type(index) is not tuple or len(index) != type_.ndim:
        count = len(index) if type(index) is tuple else index
        message = f"too many indices: {count} for shape {type_.shape}"
        reason = f"SLICE has {count} items for {type_.ndim} axes"
        raise Misuse("slice-index", reason, IndexError, message, part="index")
    shape = []
    for axis, (item, extent) in enumerate(zip(index, type_.shape, strict=True)):
        if type(item) is slice:
            shape.append(_slice_extent(item, axis, extent))
        elif type(item) is not int:
            reason = f"SLICE item {axis} is neither an integer nor a slice"
            raise Misuse("slice-index", reason, TypeError, part="index")
        elif not -extent <= item < extent:
            message = f"index {item} is out of range for axis {axis} with {extent} entries"
            raise Misuse("slice-index", f"SLICE {message}", IndexError, message, part="index")
    return TensorType(tuple(shape), type_.dtype, type_.diff)


def _slice_extent(item: slice, axis: int, extent: int) -> int:
    """Return how many entries a slice selects; extents may be larger than what `len` can tell."""
    parts = (item.start, item.stop, item.step)
    if any([part is not None and type(part) is not int for part in parts]):
        raise Misuse("slice-index", f"SLICE item {axis} has a bound that is no integer", TypeError, part="index")
    if item.step == 0:
        message = "the step of a slice cannot be 0"
        raise Misuse("slice-index", f"SLICE item {axis} has step 0", ValueError, message, part="index")
    start, stop, step = item.indices(extent)
    return max(0, -((start - stop) // step))


def _parts(op: Op, rule: str, args: Sequence[Node]) -> tuple[list[TensorType], DType]:
    if not args:
        message = f"'{op.mnemonic}' needs at least one array"
        raise Misuse(rule, f"{upper(op)} has no operand", ValueError, message)
    types = tensor_types(op, args)
    return types, one_dtype(op, rule, types)


def _stack(op: Op, args: Sequence[Node], attrs: Mapping[str, Any], stated: Any) -> TensorType:
    types, dtype = _parts(op, "stack-shapes", args)
    shape = types[0].shape
    for position, type_ in enumerate(types):
        if type_.shape != shape:
            raise Misuse("stack-shapes", f"STACK operands have shapes {shape} and {type_.shape}", part=position)
    axis = axis_of(op, "stack-shapes", attrs, len(shape) + 1)
    return TensorType((*shape[:axis], len(types), *shape[axis:]), dtype, any_diff(op, types))


def _concat(op: Op, args: Sequence[Node], attrs: Mapping[str, Any], stated: Any) -> TensorType:
    types, dtype = _parts(op, "concat-shapes", args)
    shape = types[0].shape
    if any([not type_.shape for type_ in types]):
        message = "a scalar cannot be concatenated; use sc.stack"
        raise Misuse("concat-shapes", "CONCAT has a scalar operand", ValueError, message)
    axis = axis_of(op, "concat-shapes", attrs, len(shape))
    rest = (*shape[:axis], *shape[axis + 1 :])
    for position, type_ in enumerate(types):
        if type_.ndim != len(shape) or (*type_.shape[:axis], *type_.shape[axis + 1 :]) != rest:
            reason = f"CONCAT operands of shapes {shape} and {type_.shape} differ off axis {axis}"
            raise Misuse("concat-shapes", reason, part=position)
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
        raise Misuse("matmul-shape", f"MATMUL contraction {left.shape[-1]} != {inner}", ValueError, message, part=1)
    batches = [TensorType(left.shape[:-2], dtype), TensorType(right.shape[:-2], dtype)]
    shape = broadcast(op, "matmul-shape", batches)
    rows = left.shape[-2:-1]
    columns = right.shape[-1:] if right.ndim > 1 else ()
    return TensorType((*shape, *rows, *columns), dtype, left.diff or right.diff, product(left, right))


# --- what other modules know ------------------------------------------------------------------------------------------


def _dense(rule: Rule) -> Rule:
    """Return a rule that accepts no sparse operand."""

    def checked(op: Op, args: Sequence[Node], attrs: Mapping[str, Any], stated: Any) -> TensorType | None:
        for operand in args:
            if getattr(operand.type, "pattern", None) is not None:
                message = "sparse operand; call to_dense() first"
                raise Misuse("sparsity-shape-matches", f"{upper(op)} has a sparse operand", TypeError, message)
        return rule(op, args, attrs, stated)

    return checked


def _gather(op: Op, args: Sequence[Node], attrs: Mapping[str, Any], stated: Any) -> TensorType:
    from scaly_ir.dialects.expr.index_typing import gather_type

    return gather_type(op, args, attrs)


def _scatter(op: Op, args: Sequence[Node], attrs: Mapping[str, Any], stated: Any) -> TensorType:
    from scaly_ir.dialects.expr.index_typing import scatter_type

    return scatter_type(op, args, attrs, stated)


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
