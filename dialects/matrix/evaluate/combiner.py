"""Combiners on arrays: one operation of NumPy for each scalar operation, for all elements of a result at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from scaly_ir.dialects.buffer import build, ops
from scaly_ir.dialects.prog.evaluate.lanes import operation
from scaly_ir.dialects.prog.evaluate.memory import Array
from scaly_ir.graph import Node, postorder


class _Step(NamedTuple):
    function: Callable[..., Array]
    operands: tuple[int, ...]
    target: int
    frees: tuple[int, ...]


class Vectorized:
    """A combiner as a function of arrays; `outer` are the scalars around it that it uses, by name.

    It raises `lanes.Retry` where something is wrong with some element.
    """

    def __init__(self, region: Node, outer: Sequence[Node], strict: bool) -> None:
        params = [*build.params_of(region), *outer]
        self._count: Final = len(params)
        self._kinds: Final = [np.dtype(str(node.type)) for node in outer]
        slots: dict[Node, int] = {}
        named = {node.attrs["name"]: slot for slot, node in enumerate(params)}
        self._constants: list[tuple[int, Array]] = []
        steps: list[tuple[Node, tuple[int, ...], int]] = []
        size = self._count
        for statement in build.body_of(region):
            for node in postorder(*[operand for operand in statement.args if operand not in slots]):
                if node in slots:
                    continue
                if build.is_variable(node):
                    slots[node] = named[node.attrs["name"]]
                    continue
                slots[node], size = size, size + 1
                if build.is_literal(node):
                    self._constants.append((slots[node], np.array([node.attrs["value"]], str(node.type))))
                else:
                    steps.append((node, tuple([slots[operand] for operand in node.args]), slots[node]))
            if statement.op is ops.LET:
                named[statement.attrs["results"][0]] = slots[statement.args[0]]
            else:
                self._result: int = slots[statement.args[0]]
        self._size: Final = size
        self._steps = self._with_frees(steps, strict)

    def _with_frees(self, steps: Sequence[tuple[Node, tuple[int, ...], int]], strict: bool) -> list[_Step]:
        """Return the steps, each with the slots that no later one reads."""
        seen = {self._result, *range(self._count), *[slot for slot, _ in self._constants]}
        made = []
        for node, operands, target in reversed(steps):
            last = tuple([slot for slot in dict.fromkeys(operands) if slot not in seen])
            seen.update(last)
            made.append(_Step(operation(node, in_index=False, strict=strict), operands, target, last))
        made.reverse()
        return made

    def bind(self, outer: Sequence[Any]) -> Callable[..., Array]:
        """Return the function for given values of the scalars around it."""
        start: list[Any] = [None] * self._size
        for slot, constant in self._constants:
            start[slot] = constant
        around = [np.array([value], kind) for value, kind in zip(outer, self._kinds, strict=True)]
        inner = self._count - len(around)
        start[inner : self._count] = around

        def combine(*arrays: Array) -> Array:
            values = list(start)
            values[:inner] = arrays
            for function, operands, target, frees in self._steps:
                values[target] = function(*[values[slot] for slot in operands])
                for slot in frees:
                    values[slot] = None
            found: Array = values[self._result]
            return found

        return combine


def one_by_one(function: Callable[..., Any], outer: Sequence[Any], dtype: np.dtype[Any]) -> Callable[..., Array]:
    """Return a combiner of Python numbers as a function of arrays; what it raises goes through."""

    def combine(*arrays: Array) -> Array:
        stretched = np.broadcast_arrays(*arrays)
        columns = [array.reshape(-1).tolist() for array in stretched]
        found = [function(*row, *outer) for row in zip(*columns, strict=True)]
        return np.array(found, dtype).reshape(stretched[0].shape)

    return combine


def free_scalars(region: Node, known: Mapping[str, Any]) -> list[Node]:
    """Return the uses of scalars around a region in it, each name once."""
    own = {param.attrs["name"] for param in build.params_of(region)}
    found: dict[str, Node] = {}
    for statement in build.body_of(region):
        for node in postorder(*statement.args):
            if build.is_variable(node) and node.attrs["name"] not in own and node.attrs["name"] in known:
                found.setdefault(node.attrs["name"], node)
        own.update(statement.attrs.get("results") or ())
    return list(found.values())
