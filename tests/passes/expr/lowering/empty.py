"""Every operation of `expr` on arrays without entries, as functions of float64 arrays."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import scaly_ir as sc
from scaly_ir.dialects.expr import build
from scaly_ir.graph import postorder
from tests.dialects.expr import reference
from tests.passes.expr.lowering.functions import as_floats

X, AT, NOWHERE = sc.sym("x", (2, 0, 3)), sc.sym("i", 3), sc.sym("nowhere", 0)
"""An array without entries, positions in the rest of it, and no positions."""


def functions() -> dict[str, sc.Function]:
    """The functions by names that C can spell: the operation and a number."""
    found = {}
    for number, (name, result) in enumerate([*_elementwise(), *_others(), *_indexed()]):
        inputs = [node for node in postorder(result) if isinstance(node, sc.Expr) and node.name is not None]
        called = f"{name}_{number}"
        found[called] = as_floats(called, inputs, [result])
    return found


def _of_kind(kinds: str, name: str, shape: tuple[int, ...]) -> sc.Expr:
    x = sc.sym(name, shape)
    return x if "f" in kinds else sc.cast(x, "int64") if "i" in kinds else x > 0.0


def _elementwise() -> Iterator[tuple[str, Any]]:
    """Operands of all shapes that broadcast to one array, whose axes are not one run then."""
    for name, kinds in reference.ACCEPTED.items():
        shapes = {"x": (2, 0, 3), "y": (2, 1, 1), "z": (3,), "w": (0, 3)}
        operands = [_of_kind(kinds, operand, shape) for operand, shape in shapes.items()]
        if reference.ARITY[name] == 1:
            yield name, build.unary(name, operands[0])
            continue
        for other in operands[1:]:
            yield name, build.binary(name, operands[0], other)
            yield name, build.binary(name, other, operands[0])
    yield "select", build.where(sc.sym("c", (2, 1, 3)) > 0.0, X, sc.sym("z", 3))
    yield "cast", sc.cast(X, "int32")


def _others() -> Iterator[tuple[str, Any]]:
    for axes in (0, 1, 2, (0, 1), (0, 2), (1, 2), None):
        yield "reduce", build.reduce(X, "add", axes)
    yield "reduce", build.reduce(X, "max", (0, 2))
    yield "reshape", build.reshape(X, (3, 2, 0))
    for order in ((0, 2, 1), (1, 0, 2), (2, 0, 1), (2, 1, 0)):
        yield "transpose", build.transpose(X, order)
    y = sc.sym("y", (4, 5, 3))
    for index in (X[1], X[:, :, 1], X[::-1, :, ::2], X[:, ::-1], y[::2, 3:3, ::2], y[2:2, ::2], y[:, 1:1]):
        yield "slice", index
    for axis in range(4):
        yield "stack", build.stack([X, X * 2.0], axis=axis)
    for axis in range(3):
        yield "concat", build.concat([X, X], axis=axis)
    yield "concat", build.concat([X, sc.sym("y", (2, 4, 3)), X * 2.0], axis=1)
    for left, right in (((0,), (0,)), ((3, 0), (0,)), ((0, 3), (3,)), ((0,), (0, 3)), ((3,), (3, 0))):
        yield "matmul", build.matmul(sc.sym("l", left), sc.sym("r", right))
    for left, right in (((0, 2), (2, 3)), ((2, 0), (0, 3)), ((2, 3), (3, 0)), ((0, 0), (0, 0))):
        yield "matmul", build.matmul(sc.sym("l", left), sc.sym("r", right))


def _indexed() -> Iterator[tuple[str, Any]]:
    """Positions that are known and that are computed, along every axis, in and around what is empty."""
    known = [sc.const(np.array(positions, np.int64)) for positions in ([0, 1, 0], [])]
    computed = [sc.cast(AT, "int64"), sc.cast(NOWHERE, "int64")]
    for shape in ((2, 0, 3), (0, 2, 3), (2, 3, 0), (2, 4, 3)):
        x = sc.sym("x", shape)
        for idx in (*known, *computed):
            (count,) = idx.shape
            for axis in (None, 0, 1, 2):
                before, after = ((), ()) if axis is None else (shape[:axis], shape[axis + 1 :])
                values = sc.sym("v", (*before, count, *after))
                if x.size and count:
                    continue
                yield "gather", build.gather(x, idx, axis=axis, mode="fill", fill=0.5)
                yield "set", build.index_set(x, idx, values, axis=axis, mode="fill")
                yield "add", build.index_add(x, idx, values, axis=axis, mode="fill")
