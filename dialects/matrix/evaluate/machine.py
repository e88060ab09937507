"""Runs a function: compiles it, binds its parameters, and takes the results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random
from types import CodeType
from typing import Any

import numpy as np

from scaly_ir.dialects.buffer import build, ops
from scaly_ir.dialects.buffer.printer import value_name
from scaly_ir.dialects.buffer.types import folded
from scaly_ir.dialects.matrix.evaluate.faults import position, statement_text
from scaly_ir.dialects.matrix.evaluate.operations import Options, storage
from scaly_ir.dialects.matrix.evaluate.scope import Misuse
from scaly_ir.dialects.matrix.evaluate.statements import compile_function
from scaly_ir.dialects.matrix.spec import SPEC
from scaly_ir.dialects.prog import build as prog
from scaly_ir.dialects.prog.context import symbol_name
from scaly_ir.dialects.prog.evaluate.arguments import input_array
from scaly_ir.dialects.prog.evaluate.faults import Fault, Piece, located
from scaly_ir.dialects.prog.evaluate.machine import drive
from scaly_ir.dialects.prog.evaluate.memory import Array, Place
from scaly_ir.dialects.prog.evaluate.watching import NOBODY, Watch
from scaly_ir.errors import EvaluationError
from scaly_ir.graph import Node
from scaly_ir.text.diagnostics import did_you_mean
from scaly_ir.types import MemRefType


def run_module(
    module: Node,
    inputs: Mapping[str, Any],
    func: str | None,
    *,
    shuffle: int | None,
    strict: bool,
    watch: Watch | None,
) -> dict[str, Array]:
    """Do what `run` says."""
    SPEC.verify(module)
    function = _chosen(module, func)
    params = build.params_of(function.args[-1])
    name = symbol_name(function.attrs["name"])
    _check_names(name, inputs, [param.attrs["name"] for param in params])
    arrays = [
        _input(f"{value_name(param.attrs['name'])} of {name}", inputs[param.attrs["name"]], param) for param in params
    ]
    results = execute(function, arrays, shuffle=shuffle, strict=strict, watch=watch)
    names = [result.attrs["name"] for result in build.operands_of(function)]
    return dict(zip(names, results, strict=True))


def _refused(reason: str) -> EvaluationError:
    return EvaluationError(reason, reason=reason)


def _chosen(module: Node, name: str | None) -> Node:
    functions = {
        function.attrs["name"]: function for function in (module.args if module.op is ops.MODULE else [module])
    }
    if not functions:
        raise _refused("the module has no function to run")
    if name is None:
        return functions[next(reversed(functions))]
    if name not in functions:
        hint = did_you_mean(symbol_name(name), [symbol_name(known) for known in functions])
        raise _refused(f"the module has no function {symbol_name(name)}{hint}")
    return functions[name]


def _check_names(function: str, inputs: Mapping[str, Any], params: Sequence[str]) -> None:
    for name in inputs:
        if name not in params:
            raise _refused(f"{function} has no parameter {value_name(str(name))}{did_you_mean(str(name), params)}")
    for name in params:
        if name not in inputs:
            raise _refused(f"no array for {value_name(name)} of {function}")


def _input(label: str, value: Any, param: Node) -> Array:
    shape, dtype = _parts(param)
    return input_array(label, value, prog.param("", shape, dtype)).astype(str(dtype), copy=False).reshape(shape)


def _parts(param: Node) -> tuple[tuple[int, ...], Any]:
    type_ = param.type
    return (type_.shape, type_.dtype) if isinstance(type_, MemRefType) else ((), type_)


def execute(
    function: Node, inputs: Sequence[Array], *, shuffle: int | None, strict: bool, watch: Watch | None
) -> list[Array]:
    """Do what `evaluate_function` says."""
    pieces: dict[CodeType, Piece] = {}
    results: list[Any] = []
    options = Options(None if shuffle is None else Random(shuffle), strict, watch or NOBODY)
    try:
        compiled = compile_function(function, results, options, pieces)
    except Misuse as misuse:  # of a parameter or a result of a loop: others wait until their statement is executed
        raise _refused(f"{symbol_name(function.attrs['name'])}: {misuse}") from None
    params = build.params_of(function.args[-1])
    with np.errstate(all="ignore"):
        try:
            drive(compiled, ([_bound(param, array) for param, array in zip(params, inputs, strict=True)],))
        except Fault as fault:
            raise located(fault, fault.__traceback__, pieces, statement_text) from fault.__cause__
    return [_taken(function, *pair) for pair in zip(build.operands_of(function), results, strict=True)]


def _bound(param: Node, array: Array) -> Place | Any:
    name, type_ = param.attrs["name"], param.type
    return storage(name, array, type_.dtype, read_only=True) if isinstance(type_, MemRefType) else array.item()


def _taken(function: Node, result: Node, value: Any) -> Array:
    """Return a result as an array of its own."""
    shape, dtype = _parts(result)
    if not isinstance(value, Place):
        return np.array(value, str(dtype))
    if not value.written.all():
        at = position(int(value.written.argmin()), folded(shape))
        reason = f"element {at} of result {value_name(result.attrs['name'])} is never written"
        name = function.attrs["name"]
        failure = EvaluationError(f"{symbol_name(name)}: {reason}", reason=reason, procedure=name)
        failure.blamed = (result,)
        raise failure
    return value.values.astype(str(dtype)).reshape(shape)
