"""How functions of matrices, loops and buffers are run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from scaly_ir.dialects.affine import ops as affine_ops
from scaly_ir.dialects.buffer import build, ops
from scaly_ir.dialects.buffer.printer import value_name
from scaly_ir.dialects.matrix.evaluate import evaluate_function, run
from scaly_ir.dialects.prog.running import told
from scaly_ir.graph import Node
from scaly_ir.running import Observer, Port, Runner, Shown, Signature
from scaly_ir.types import INT64, DType, MemRefType

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]


def signature(function: Node) -> Signature:
    """Return what a function takes and gives."""
    params, results = build.params_of(function.args[-1]), build.operands_of(function)
    return Signature([_port(node) for node in params], [_port(node) for node in results])


def _port(node: Node) -> Port:
    place = (node, "")
    if isinstance(node.type, MemRefType):
        return Port(node.attrs["name"], node.type.dtype, node.type.shape, "memref", place)
    return Port(node.attrs["name"], node.type, (), "memref", place, is_scalar=True)


def evaluate(module: Node, function: Node, values: Sequence[Array], observer: Observer | None = None) -> list[Array]:
    """Return the results of a function."""
    if observer is None:
        return evaluate_function(function, values)
    from scaly_ir.dialects.matrix.evaluate.faults import statement_text
    from scaly_ir.dialects.prog.evaluate.watching import Watch

    watch = Watch(told(observer, statement_text, _written), observer.finite)
    return evaluate_function(function, values, watch=watch)


def _written(statement: Node, values: Sequence[Any]) -> Iterator[Shown]:
    """Yield what a statement sets, as the text names it."""
    from scaly_ir.dialects.matrix.evaluate.operations import elements

    if statement.op is affine_ops.FOR:
        (variable, *_) = build.params_of(statement.args[-1])
        yield Shown(value_name(variable.attrs["name"]), values[0], INT64)
    elif statement.op is affine_ops.YIELD:
        for value, operand in zip(values, statement.args, strict=True):
            yield Shown("", value, operand.type)
    elif statement.op is ops.WRITE:
        *indices, value = values
        at = ", ".join([str(index) for index in indices])
        yield Shown(f"{value_name(statement.args[1].attrs['name'])}[{at}]", value, statement.type)
    else:
        (value,), type_ = values, statement.type
        if isinstance(type_, MemRefType):
            yield Shown("", elements(value, type_), type_.dtype)
        else:
            (name,) = statement.attrs.get("results") or ("",)
            yield Shown(name and value_name(name), value, type_ if isinstance(type_, DType) else INT64)


_PIPELINE: Final = "matrix_to_prog,default{delinearize=True interchange=True},lower_intrinsics{target=c}"
RUNNER: Final = Runner(signature, evaluate, _PIPELINE, run=run)
