"""Unrolling: short loops become one call for each step. Source: expression specification 2.8 and 6.3."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from scaly_ir.dialects.expr import ops
from scaly_ir.dialects.expr.build import concat, make
from scaly_ir.dialects.expr.call_typing import LoopParts, loop_parts
from scaly_ir.dialects.expr.functions import invocation
from scaly_ir.dialects.expr.ingest import splat
from scaly_ir.dialects.expr.library import to_dense
from scaly_ir.dialects.expr.substitution import take_hint
from scaly_ir.graph import Node
from scaly_ir.pass_manager import OptionError, Pass
from scaly_ir.passes.expr.functions import map_functions, map_operations
from scaly_ir.tensors import TensorType
from scaly_ir.types import INT64


@dataclass(frozen=True)
class UnrollLoops(Pass):
    """Replaces each loop of at most `max_length` steps, whose number is fixed, by one call of the body for each step.

    Slices of the operands take the place of windows, and concatenated results that of stacked ones.
    """

    name: ClassVar[str] = "unroll_loops"
    summary: ClassVar[str] = "replace short loops by one call for each step"
    dialects: ClassVar[frozenset[str]] = frozenset({"expr"})

    max_length: int = 8

    def __post_init__(self) -> None:
        if self.max_length < 0:
            raise OptionError("max_length", f"max_length is {self.max_length}, expected at least 0")

    def run(self, root: Node) -> Node:
        """Return the module with short loops unrolled; their bodies stay functions."""
        return map_functions(root, self._unrolled)

    def _unrolled(self, function: Node) -> Node:
        loops: dict[Any, list[Node]] = {}  # the results of each loop

        def stepped(node: Node) -> Node:
            parts = self._parts(node)
            if parts is None:
                return node
            key = invocation(node)
            if key not in loops:
                loops[key] = _results(node, parts)
            return take_hint(loops[key][node.attrs["output"]], node)

        return map_operations(function, stepped, "unroll_loop")

    def _parts(self, node: Node) -> LoopParts | None:
        """Return what a loop consists of when it is one to unroll."""
        if node.op is not ops.LOOP or node.attrs["length"] > self.max_length or node.attrs["cond"] is not None:
            return None
        if not isinstance(node.attrs["callee"], Node):
            return None
        parts = loop_parts(node.args, node.attrs)
        return None if parts.trip is not None else parts


def _results(loop: Node, parts: LoopParts) -> list[Node]:
    """Return every result of a loop, in the order of their numbers."""
    length, reverse = loop.attrs["length"], loop.attrs["reverse"]
    carried = list(parts.inits)
    entered: list[list[Node]] = [[] for _ in carried]
    stacked: list[list[Node]] = [[] for _ in parts.stacked]
    for step in reversed(range(length)) if reverse else range(length):
        made = _called(loop, parts, carried, step)
        for slots, value in zip([*entered, *stacked], [*carried, *made[len(carried) :]], strict=True):
            slots.append(value)
        carried = made[: len(carried)]
    if reverse:
        for slots in (*entered, *stacked):
            slots.reverse()
    return [
        *carried,
        *[_joined(slots, result) for slots, result in zip(stacked, parts.stacked, strict=True)],
        _number(length),
        *[_joined(slots, carry) for slots, carry in zip(entered, parts.carries, strict=True)],
    ]


def _called(loop: Node, parts: LoopParts, carried: Sequence[Node], step: int) -> list[Node]:
    """Return the outputs of the body in one step."""
    index = [_number(step)] if parts.step is not None else []
    offsets = [start + step * stride for start, stride in zip(loop.attrs["starts"], loop.attrs["strides"], strict=True)]
    windows = [_window(*each) for each in zip(parts.outers, offsets, parts.slices, strict=True)]
    args = [*carried, *index, *windows]
    count = len(parts.next_carries) + len(parts.stacked)
    return [make(ops.CALL, args, {"callee": loop.attrs["callee"], "output": output}) for output in range(count)]


def _number(value: int) -> Node:
    return splat(value, TensorType((), INT64, diff=False))


def _window(outer: Node, offset: int, formal: Node) -> Node:
    """Return the entries of a flat operand from `offset` on, in the shape of an input."""
    size = formal.type.size
    if (offset, size) != (0, outer.type.size):
        outer = make(ops.SLICE, [outer], {"index": [slice(offset, offset + size)]})
    return _shaped(outer, formal.type.shape)


def _shaped(value: Node, shape: tuple[int, ...]) -> Node:
    return value if value.type.shape == shape else make(ops.RESHAPE, [value], {"shape": shape})


def _joined(slots: Sequence[Node], like: Node) -> Node:
    """Return the entries of what the steps gave, one after the other."""
    if not slots:
        return splat(False if like.type.dtype.kind == "bool" else 0, like.type.but(shape=(0,), pattern=None))
    flat = [_shaped(to_dense(value), (value.type.size,)) for value in slots]
    return flat[0] if len(flat) == 1 else concat(flat)
