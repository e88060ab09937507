"""How functions of `expr` are run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from scaly_ir.dialects.expr.functions import in_order, inputs_of, make_module, outputs_of
from scaly_ir.graph import Node
from scaly_ir.running import Observer, Port, Runner, Signature

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]


def signature(function: Node) -> Signature:
    """Return what a function takes and gives."""
    inputs = [_port(node.attrs["name"], node, (node, "")) for node in inputs_of(function)]
    pairs = zip(function.attrs["output_names"], outputs_of(function), strict=True)
    return Signature(inputs, [_port(name, node, (None, at)) for at, (name, node) in enumerate(pairs)])


def _port(name: str, node: Node, place: tuple[Node | None, str | int]) -> Port:
    return Port(name, node.type.dtype, node.type.shape, "tensor", place, node.type.pattern)


def evaluate(module: Node, function: Node, values: Sequence[Array], observer: Observer | None = None) -> list[Array]:
    """Return the results of a function."""
    if observer is None:
        from scaly_ir.dialects.expr.evaluate import evaluate_function

        return evaluate_function(function, values)
    from scaly_ir.dialects.expr.watching import evaluate_watched

    return evaluate_watched(function, values, observer)


def _part(module: Node, function: Node) -> Node:
    return make_module(in_order([function]), bare=bool(module.attrs.get("bare")))


RUNNER: Final = Runner(
    signature, evaluate, "default{delinearize=True interchange=True},lower_intrinsics{target=c}", _part
)
