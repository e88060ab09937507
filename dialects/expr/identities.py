"""The identities of operations on the structure of tensors, as one table; those of arithmetic are shared by dialects.

A rule gives what may take the place of an operation, or None; whether it does depends on shape, dtype and hint as well
(`simplify.py`). A result that is a number stands for a constant of the operation's type. Source: expression
specification 6.1.
"""

from __future__ import annotations

from typing import Any, Final

from scaly_ir.dialects.expr import ops
from scaly_ir.dialects.expr.build import make
from scaly_ir.graph import Node
from scaly_ir.graph.matcher import PatternMatcher
from scaly_ir.graph.vocabulary import patterns

P = patterns("expr")
x, y = P.var("x"), P.var("y")


def is_zero(node: Node) -> bool:
    """Tell whether a node is a constant of zeros."""
    return node.op is ops.CONST and node.attrs["value"].uniform == 0


def _is_one(node: Node) -> bool:
    return node.op is ops.CONST and node.attrs["value"].uniform == 1


# --- views ------------------------------------------------------------------------------------------------------------


def _unchanged(node: Node, x: Node) -> Node | None:
    return x if x.type.shape == node.type.shape else None


def _reshape_twice(node: Node, x: Node) -> Node:
    return make(ops.RESHAPE, [x], {"shape": node.attrs["shape"]})


def _transpose_nothing(node: Node, x: Node) -> Node | None:
    return x if list(node.attrs["axes"]) == list(range(x.type.ndim)) else None


def _transpose_twice(node: Node, inner: Node, x: Node) -> Node:
    return make(ops.TRANSPOSE, [x], {"axes": [inner.attrs["axes"][axis] for axis in node.attrs["axes"]]})


def _slice_everything(node: Node, x: Node) -> Node | None:
    pairs = zip(node.attrs["index"], x.type.shape, strict=True)
    return x if all([_is_whole(item, extent) for item, extent in pairs]) else None


def _is_whole(item: Any, extent: int) -> bool:
    return isinstance(item, slice) and item.indices(extent) == (0, extent, 1)


def _slice_twice(node: Node, inner: Node, x: Node) -> Node | None:
    """Join two slices whose steps are all 1."""
    outer = iter(node.attrs["index"])
    joined: list[Any] = []
    for item, extent in zip(inner.attrs["index"], x.type.shape, strict=True):
        part = _joined(item, next(outer), extent) if isinstance(item, slice) else item
        if part is None:
            return None
        joined.append(part)
    return make(ops.SLICE, [x], {"index": joined})


def _joined(item: slice, then: Any, extent: int) -> Any:
    """Return what takes entries of an axis as `item` and then `then` do; None when one of them steps over some."""
    start, stop, step = item.indices(extent)
    if step != 1:
        return None
    count = max(stop - start, 0)
    if not isinstance(then, slice):
        return start + then % count
    first, last, stride = then.indices(count)
    return slice(start + first, start + max(first, last), None) if stride == 1 else None


def _slice_stack(node: Node, inner: Node) -> Node | None:
    """Slice the parts of a stack, all of them or the one that is taken."""
    axis = inner.attrs["axis"]
    index = list(node.attrs["index"])
    item = index.pop(axis)
    if not isinstance(item, slice):
        return make(ops.SLICE, [inner.args[item]], {"index": index})
    if not _is_whole(item, len(inner.args)):
        return None
    dropped = len([before for before in index[:axis] if not isinstance(before, slice)])
    parts = [make(ops.SLICE, [part], {"index": index}) for part in inner.args]
    return make(ops.STACK, parts, {"axis": axis - dropped})


VIEWS: Final = PatternMatcher(
    [
        (P.reshape(x, name="node"), _unchanged, "reshape_nothing"),
        (P.reshape(P.reshape(x), name="node"), _reshape_twice),
        (P.transpose(x, name="node"), _transpose_nothing),
        (P.transpose(P.transpose(x, name="inner"), name="node"), _transpose_twice),
        (P.slice(x, name="node"), _slice_everything),
        (P.slice(P.slice(x, name="inner"), name="node"), _slice_twice),
        (P.slice(P.stack(name="inner"), name="node"), _slice_stack),
        (P.reduce(x, attrs={"axes": ()}), lambda x: x, "reduce_nothing"),
    ]
)


# --- zeros and ones ---------------------------------------------------------------------------------------------------


def _gather_all(node: Node, x: Node, y: Node) -> Node | None:
    """Take every entry in order: that is a reshape."""
    if node.attrs["axis"] is not None or y.op is not ops.CONST or x.type.pattern is not None:
        return None
    positions = y.attrs["value"].values
    if len(positions) != x.type.size or list(positions) != list(range(len(positions))):
        return None
    return make(ops.RESHAPE, [x], {"shape": node.type.shape})


def _zero_of(node: Node) -> int:
    """Return what is zero in the dtype of an operation."""
    return False if node.type.dtype.kind == "bool" else 0


def _gather_zeros(node: Node, x: Node) -> int | None:
    return _zero_of(node) if is_zero(x) and not node.attrs.get("fill") else None


def _zeros(node: Node) -> int | None:
    return _zero_of(node) if all([is_zero(operand) for operand in node.args]) else None


def _select_zeros(node: Node) -> int | None:
    return _zero_of(node) if is_zero(node.args[1]) and is_zero(node.args[2]) else None


def _zero_factor(x: Node, y: Node) -> int | None:
    return 0 if is_zero(x) or is_zero(y) else None


def _add_nothing(x: Node, z: Node) -> Node | None:
    return x if is_zero(z) else None


def _matrix(node: Node) -> bool:
    return bool(node.type.ndim == 2 and list(node.attrs["axes"]) == [1, 0])


def _from_the_left(x: Node, y: Node) -> Node | None:
    return make(ops.MATMUL, [y, x]) if y.type.ndim == 1 else None


def _from_the_right(x: Node, y: Node) -> Node | None:
    return make(ops.MATMUL, [y, x]) if x.type.ndim == 1 else None


def _times_ones(x: Node, y: Node) -> Node | None:
    """A product with a vector of ones is a sum."""
    if _is_one(y) and y.type.ndim == 1 and x.type.ndim in (1, 2):
        return _summed(x, x.type.ndim - 1)
    if _is_one(x) and x.type.ndim == 1 and y.type.ndim in (1, 2):
        return _summed(y, 0)
    return None


def _summed(x: Node, axis: int) -> Node:
    return make(ops.REDUCE, [x], {"axes": [axis], "kind": "add"})


VALUES: Final = PatternMatcher(
    [
        (P.gather(x, y, name="node"), _gather_all),
        (P.gather(x, y, name="node"), _gather_zeros),
        (P.reduce(name="node"), _zeros, "reduce_zeros"),
        (P.stack(name="node"), _zeros, "stack_zeros"),
        (P.concat(name="node"), _zeros, "concat_zeros"),
        (P.scatter(x, y, P.var("z"), attrs={"combine": "add"}), _add_nothing, "scatter_onto_zeros"),
        (P.select(name="node"), _select_zeros),
        (P.matmul(x, y), _zero_factor, "matmul_zeros"),
        (P.matmul(P.transpose(x, where=_matrix), y), _from_the_left, "matmul_transposed_vector"),
        (P.matmul(x, P.transpose(y, where=_matrix)), _from_the_right, "matmul_vector_transposed"),
        (P.matmul(x, y), _times_ones, "matmul_ones"),
    ]
)


STRUCTURE: Final = VIEWS + VALUES
