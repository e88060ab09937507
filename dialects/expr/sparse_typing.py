"""The types of operations on sparse operands. Source: expression specification 1.5."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from scaly_ir.dialects.expr import ops
from scaly_ir.dialects.expr.typing import Misuse, Rule, tensor_types
from scaly_ir.graph import Node
from scaly_ir.op import Op
from scaly_ir.sparsity import SparsityPattern
from scaly_ir.tables import Table
from scaly_ir.tensors import TensorType

_KEEPS_ZERO: Final = frozenset("neg abs floor ceil sin tan asin atan sinh tanh erf sqrt".split())
"""Operators of one operand that give zero for zero."""

Pattern = SparsityPattern | None


def elementwise_rule(op: Op, dense: Rule) -> Rule:
    """Return the rule for an elementwise operator: the dense one, and what pattern the result has.

    The type follows from those of the operands alone, so each combination is looked at once.
    """
    name = str(op.get_attr("TScalarOp", op.name)).rpartition(".")[2]
    stating = op.get_attr("TScalarTyping") == "cast"
    known: dict[tuple[Any, ...], TensorType | None] = {}

    def rule(op: Op, args: Sequence[Node], attrs: Mapping[str, Any], stated: Any) -> TensorType | None:
        key = (stated if stating else None, *[operand.type for operand in args])
        found = known.get(key)
        if found is None:
            found = known[key] = with_pattern(dense(op, args, attrs, stated), args)
        return found

    def with_pattern(type_: TensorType | None, args: Sequence[Node]) -> TensorType | None:
        patterns = [operand.type.pattern for operand in args]
        if type_ is None or patterns.count(None) == len(patterns):
            return type_
        return type_.but(pattern=_pattern(name, [operand.type for operand in args], type_))

    return rule


def _pattern(name: str, types: Sequence[TensorType], result: TensorType) -> Pattern:
    first = types[0].pattern
    if name in _KEEPS_ZERO:
        return first
    if name == "cast" and types[0].dtype.is_float and result.dtype.is_float:
        return first
    if len(types) == 2:
        second = types[1].pattern
        if name in ("add", "sub", "mul") and first is not None and second is not None:
            if types[0].shape == types[1].shape:
                return _merged(first, second, union=name != "mul")
        elif name == "mul" and _scales(types):
            return first if second is None else second
        elif name == "div" and second is None and _scales(types):
            return first
    raise _refused(name.upper())


def _scales(types: Sequence[TensorType]) -> bool:
    """Tell whether one operand is sparse and the other dense of its shape, or a scalar."""
    sparse, dense = types if types[0].pattern is not None else reversed(types)
    return dense.pattern is None and dense.shape in ((), sparse.shape)


def _merged(first: SparsityPattern, second: SparsityPattern, *, union: bool) -> SparsityPattern:
    pairs = [set(zip(pattern.rows, pattern.columns, strict=True)) for pattern in (first, second)]
    joined = sorted(pairs[0] | pairs[1] if union else pairs[0] & pairs[1])
    return SparsityPattern(first.shape, [row for row, _ in joined], [column for _, column in joined])


def _refused(what: str) -> Misuse:
    message = "sparse operand; call to_dense() first"
    return Misuse("sparsity-shape-matches", f"{what} has a sparse operand", TypeError, message)


def transposed(type_: TensorType, axes: Sequence[int]) -> Pattern:
    """Return the pattern of a transposed tensor; `Misuse` unless the last two axes alone are swapped, or none."""
    if type_.pattern is None:
        return None
    kept = list(range(type_.ndim))
    if list(axes) == kept:
        return type_.pattern
    if list(axes) == [*kept[:-2], kept[-1], kept[-2]]:
        return type_.pattern.transposed()
    raise _refused("TRANSPOSE")


def product(left: TensorType, right: TensorType) -> Pattern:
    """Return the pattern of a matrix product: the Boolean product of two patterns, else none."""
    if left.pattern is None or right.pattern is None:
        return None
    by_row: dict[int, list[int]] = {}
    for row, column in zip(right.pattern.rows, right.pattern.columns, strict=True):
        by_row.setdefault(row, []).append(column)
    found = {
        (row, column)
        for row, inner in zip(left.pattern.rows, left.pattern.columns, strict=True)
        for column in by_row.get(inner, ())
    }
    pairs = sorted(found)
    shape = (left.pattern.shape[0], right.pattern.shape[1])
    return SparsityPattern(shape, [row for row, _ in pairs], [column for _, column in pairs])


def densely(op: Op, args: Sequence[Node]) -> list[TensorType]:
    """Return the types of operands of which the first may be sparse: it is read as the matrix it stands for."""
    types = tensor_types(op, args)
    if any([type_.pattern is not None for type_ in types[1:]]):
        raise _refused(op.mnemonic.upper())
    return types


def packed(result: TensorType, args: Sequence[Node], attrs: Mapping[str, Any], stated: Any) -> TensorType:
    """Return the type of a scatter, which may state the pattern of what it writes into zeros: that packs values."""
    if any([operand.type.pattern is not None for operand in args]):
        raise _refused("SCATTER")
    pattern = getattr(stated, "pattern", None)
    if pattern is None:
        return result
    base, idx, _ = args
    zeros, written_at = base.attrs.get("value"), idx.attrs.get("value")
    zero = base.op is ops.CONST and type(zeros) is Table and zeros.uniform == 0
    matrix = result.size == pattern.shape[0] * pattern.shape[1] and result.shape[-2:] == pattern.shape
    written = [row * pattern.shape[1] + column for row, column in zip(pattern.rows, pattern.columns, strict=True)]
    if (
        not (zero and matrix and attrs["axis"] is None and idx.op is ops.CONST and type(written_at) is Table)
        or sorted(set(written_at.values)) != written
    ):
        raise Misuse("sparsity-shape-matches", "SCATTER does not write the entries of its pattern into zeros")
    return result.but(pattern=pattern)
