"""Smaller shapes and trip counts: what becomes smaller, and what follows from that in the statements behind it."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from scaly_ir.dialects.affine import build as affine
from scaly_ir.dialects.affine import ops as affine_ops
from scaly_ir.dialects.buffer import build
from scaly_ir.dialects.buffer import ops as buffer_ops
from scaly_ir.dialects.buffer.types import folded
from scaly_ir.dialects.matrix import ops
from scaly_ir.graph import Node
from scaly_ir.op import Op
from scaly_ir.tools.reduce.extents import Extent, first, smaller
from scaly_ir.tools.reduce.matrix.walk import functions_of, places, rewritten, with_functions, with_operands
from scaly_ir.types import MemRefType

Sizes = Mapping[int, int]
"""What extents become, wherever they stand."""
_Attrs = dict[str, Any]

# --- what follows from the shapes of operands -------------------------------------------------------------------------


def _reshaped(type_: Any, shape: Sequence[int]) -> Any:
    return MemRefType(tuple(shape), type_.dtype)


def resized(type_: Any, sizes: Sizes) -> Any:
    """Return the type of a buffer with other extents; any other type as it is."""
    return _reshaped(type_, _sized(type_.shape, sizes)) if isinstance(type_, MemRefType) else type_


def _sized(shape: Sequence[int], sizes: Sizes) -> tuple[int, ...]:
    return tuple([sizes.get(extent, extent) for extent in shape])


def fitted(now: Node, before: Node, sizes: Sizes) -> Node:
    """Return a statement with the attributes, indices and type that follow from what its operands became.

    What follows from nothing, as the shape of an allocation, is made smaller by `sizes`.
    """
    try:
        return _fitted(now, before, sizes)
    except (ValueError, TypeError, KeyError, IndexError, AttributeError):
        return now  # the verifier finds what is wrong with its operands


def _fitted(now: Node, before: Node, sizes: Sizes) -> Node:
    first = _ELEMENTS.get(now.op)
    if first is not None:
        return _element(now, before, first)
    attrs, type_ = dict(now.attrs), resized(now.type, sizes)
    fit = _FITS.get(now.op)
    if fit is not None:
        type_ = fit(now, before, attrs, type_, sizes) or type_
    made = now.replace(attrs=attrs, type=type_)
    infer = now.op.get_attr("FInferType", None)
    return made if infer is None or not isinstance(type_, MemRefType) else made.replace(type=infer(made))


_ELEMENTS: Final = {buffer_ops.READ: 0, buffer_ops.WRITE: 1}
"""Which operand is the buffer, of what is about one element; indices follow it."""


def _element(now: Node, before: Node, buffer: int) -> Node:
    """Return a read or write without the indices of axes that became 1 long: an element has none for these."""
    old, new = before.args[buffer].type.shape, now.args[buffer].type.shape
    indices = now.args[buffer + 1 :]
    if old == new or len(indices) != len(folded(old)):
        return now
    axes = [at for at, extent in enumerate(old) if extent != 1]
    kept = [index for at, index in zip(axes, indices, strict=True) if at < len(new) and new[at] != 1]
    return now.replace(args=(*now.args[: buffer + 1], *kept))


def _written(shape: Sequence[int], now: Node, before: Node, sizes: Sizes) -> tuple[int, ...]:
    """Return what a shape becomes that is written in the place of that of an operand."""
    is_same = tuple(shape) == before.type.shape
    return tuple(now.type.shape) if is_same else _sized(shape, sizes)


def _broadcast(now: Node, before: Node, attrs: _Attrs, type_: Any, sizes: Sizes) -> None:
    old = attrs["s_in"]
    attrs["s_in"] = _written(old, now.args[0], before.args[0], sizes)
    axes = zip(old, attrs["s_in"], attrs["s_out"], strict=True)
    attrs["s_out"] = tuple([new if was == out else sizes.get(out, out) for was, new, out in axes])


def _pad(now: Node, before: Node, attrs: _Attrs, type_: Any, sizes: Sizes) -> None:
    attrs["s_in"] = _written(attrs["s_in"], now.args[0], before.args[0], sizes)
    attrs["s_out"] = tuple([sum(axis) for axis in zip(attrs["lo"], attrs["s_in"], attrs["hi"], strict=True)])


def _concat(now: Node, before: Node, attrs: _Attrs, type_: Any, sizes: Sizes) -> None:
    axis, inputs = attrs["axis"], zip(attrs["shapes"], now.args, before.args, strict=True)
    shapes = [_written(shape, operand, was, sizes) for shape, operand, was in inputs]
    along = sum([shape[axis] for shape in shapes])
    attrs["shapes"] = tuple(shapes)
    attrs["s_out"] = (*shapes[0][:axis], along, *shapes[0][axis + 1 :])


def _map_reduce(now: Node, before: Node, attrs: _Attrs, type_: Any, sizes: Sizes) -> Any:
    extents = dict(enumerate(type_.shape))
    for operand, indices in zip(now.args, attrs["indices"], strict=False):
        extents.update(zip(indices, operand.type.shape, strict=False))
    return _reshaped(type_, [extents[axis] for axis in range(len(type_.shape))])


def _map_reduce_aff(now: Node, before: Node, attrs: _Attrs, type_: Any, sizes: Sizes) -> None:
    attrs["bounds"] = _sized(attrs["bounds"], sizes)


_FITS: Final[dict[Op, Callable[[Node, Node, _Attrs, Any, Sizes], Any]]] = {
    ops.BROADCAST: _broadcast,
    ops.PAD: _pad,
    ops.CONCAT: _concat,
    ops.MAP_REDUCE: _map_reduce,
    ops.MAP_REDUCE_AFF: _map_reduce_aff,
}
"""How attributes that repeat shapes follow them, and types that nothing infers."""

# --- extents everywhere -----------------------------------------------------------------------------------------------


def extents(root: Node) -> list[Extent]:
    """Return the numbers above 1 that are extents, largest first, each as 1, half as large and one less."""
    found: set[int] = set()
    for function in functions_of(root):
        for node in build.params_of(function.args[-1]):
            found.update(node.type.shape if isinstance(node.type, MemRefType) else ())
    for _, _, statement in places(root):
        found.update(statement.type.shape if isinstance(statement.type, MemRefType) else ())
        found.update(statement.attrs.get("bounds", ()))
        if statement.op is affine_ops.FOR:
            found.update([bound.attrs["value"] for bound in statement.args[1:2] if build.is_literal(bound)])
    return smaller(found)


def with_extents(root: Node, edits: Sequence[Extent]) -> Node | None:
    """Make extents smaller, wherever they stand."""
    sizes = first(edits)

    def change(number: int, now: Node, before: Node) -> Node:
        if now.op is affine_ops.FOR and build.is_literal(now.args[1]):
            end: int = now.args[1].attrs["value"]
            return with_operands(now, [now.args[0], affine.index(sizes.get(end, end)), *build.operands_of(now)[2:]])
        return fitted(now, before, sizes)

    return with_functions(
        [
            _retyped(function, change, [resized(param.type, sizes) for param in build.params_of(function.args[-1])])
            for function in functions_of(root)
        ]
    )


def _retyped(function: Node, change: Callable[[int, Node, Node], Node], types: Sequence[Any]) -> Node:
    """Return a function with parameters of other types, and what `change` makes of its statements."""
    params = [
        build.declaration(param.attrs["name"], type_)
        for param, type_ in zip(build.params_of(function.args[-1]), types, strict=True)
    ]
    values = {param.attrs["name"]: build.value(param.attrs["name"], param.type) for param in params}
    return rewritten(function, change, params, values)


# --- single ones ------------------------------------------------------------------------------------------------------


class Smaller(NamedTuple):
    """What becomes smaller: a parameter of a function, or what a statement binds or how often it runs.

    `is_parameter` tells which one the number `at` is of. A buffer gets a shape, a loop one trip.
    """

    function: int
    is_parameter: bool
    at: int
    shape: tuple[int, ...] = ()


def sizes(root: Node) -> list[Smaller]:
    """Return the buffers with shapes of fewer elements or axes, and the loops of several trips."""
    found = []
    for at, function in enumerate(functions_of(root)):
        for number, param in enumerate(build.params_of(function.args[-1])):
            found += [Smaller(at, True, number, shape) for shape in _smaller(param.type)]
    for at, number, node in places(root):
        if node.op is affine_ops.FOR:
            lower, upper, *_ = node.args
            if build.is_literal(lower) and upper is not _next(lower):
                found.append(Smaller(at, False, number))
        elif not node.op.has_attr("FInferType"):
            found += [Smaller(at, False, number, shape) for shape in _smaller(node.type)]
    return found


def _next(lower: Node) -> Node:
    return affine.index(lower.attrs["value"] + 1)


def _smaller(type_: Any) -> list[tuple[int, ...]]:
    """Return the shapes to try: no axes, all of extent 1, and each so in turn."""
    if not isinstance(type_, MemRefType) or not type_.shape:
        return []
    shape = type_.shape
    if math.prod(shape) == 1:
        return [()]
    rank = len(shape)
    single = [(*shape[:axis], 1, *shape[axis + 1 :]) for axis in range(rank) if shape[axis] > 1]
    return list(dict.fromkeys([(), (1,) * rank, *single]))


def with_sizes(root: Node, edits: Sequence[Smaller]) -> Node | None:
    """Make buffers and loops smaller, with what follows from their shapes; of several for one, the first."""
    found: dict[int, dict[tuple[bool, int], tuple[int, ...]]] = defaultdict(dict)
    for at, is_parameter, number, shape in edits:
        found[at].setdefault((is_parameter, number), shape)
    return with_functions(
        [_with_sizes(each, found[at]) if at in found else each for at, each in enumerate(functions_of(root))]
    )


def _with_sizes(function: Node, shapes: Mapping[tuple[bool, int], tuple[int, ...]]) -> Node:
    def change(number: int, now: Node, before: Node) -> Node:
        shape = shapes.get((False, number))
        if shape is None:
            return fitted(now, before, {})
        if now.op is affine_ops.FOR:
            return with_operands(now, [now.args[0], _next(now.args[0]), *build.operands_of(now)[2:]])
        return now.replace(type=_reshaped(now.type, shape))

    types = [
        _reshaped(param.type, shapes[True, at]) if (True, at) in shapes else param.type
        for at, param in enumerate(build.params_of(function.args[-1]))
    ]
    return _retyped(function, change, types)
