"""Runs a procedure: compiles it and what it calls, binds the parameters, and drives the compiled functions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from random import Random
from types import CodeType
from typing import Any, Final

import numpy as np

from scaly_ir.dialects.prog import ops
from scaly_ir.dialects.prog.build import body_of
from scaly_ir.dialects.prog.context import symbol_name, value_name
from scaly_ir.dialects.prog.evaluate.arguments import input_array, output_array
from scaly_ir.dialects.prog.evaluate.faults import Fault, Piece, located
from scaly_ir.dialects.prog.evaluate.memory import Array, Place, empty, filled, poisoned, without_memory
from scaly_ir.dialects.prog.evaluate.places import Parameter
from scaly_ir.dialects.prog.evaluate.procedures import Options, Procedure, compile_procedure
from scaly_ir.dialects.prog.evaluate.scope import Misuse
from scaly_ir.dialects.prog.evaluate.watching import NOBODY, Watch
from scaly_ir.dialects.prog.evaluate.writer import Function
from scaly_ir.dialects.prog.rules import NODE_RULES, REGISTERED_RULES
from scaly_ir.dialects.prog.spec import SPEC
from scaly_ir.errors import EvaluationError, VerifyError
from scaly_ir.graph import Node
from scaly_ir.spec import Spec, check_each_node
from scaly_ir.text.diagnostics import did_you_mean
from scaly_ir.types import FLOAT64, DType

_NODES: Final = Spec("verify_program", (*NODE_RULES, *REGISTERED_RULES), check_each_node)


def execute(
    module: Node,
    inputs: Mapping[str, Any],
    proc: str | None,
    *,
    shuffle: int | None,
    width: int,
    strict: bool,
    at_once: bool = True,
    watch: Watch | None = None,
) -> dict[str, Array]:
    """Do what `run` says; without `at_once`, or when somebody watches, every trip of a loop is evaluated by itself."""
    _check_kinds(module, inputs, proc)
    if isinstance(width, bool) or not isinstance(width, int) or width < 1:
        raise _refused(f"width is {width!r}, expected a positive integer")
    _check_nodes(module)
    procs = _procedures(module)
    entry = _entry(procs, proc)
    functions: dict[CodeType, Piece] = {}
    order = None if shuffle is None else Random(shuffle)
    options = Options(order, width, strict, at_once and watch is None, watch or NOBODY)
    compiled = _compiled(entry, procs, options, functions)
    with np.errstate(all="ignore"):
        try:
            arguments = _arguments(compiled, inputs)
            workspace = empty("the workspace", entry.attrs.get("sz_w", 0), FLOAT64)
            drive(compiled.function, (arguments, workspace, 0))
        except Fault as fault:
            raise located(fault, fault.__traceback__, functions) from fault.__cause__
    return _outputs(compiled, arguments)


@contextmanager
def _room_for(label: str, size: int, dtype: DType) -> Iterator[None]:
    """Say whose memory it is that cannot be had."""
    try:
        yield
    except MemoryError as error:
        raise _refused(without_memory(label, size, dtype)) from error


def _refused(reason: str) -> EvaluationError:
    return EvaluationError(reason, reason=reason)


def _check_kinds(module: object, inputs: object, proc: object) -> None:
    """Refuse what is no program, no set of inputs and no name; `TypeError` for what is of no such kind at all."""
    if not isinstance(module, Node):
        raise TypeError(f"expected a module or procedure of 'prog', got {module!r}")
    if module.op.dialect != "prog":
        kind = f"a module or procedure of 'prog' is run, this is '{module.op.name}'"
        hint = "pass 'lower' makes a program of a module, and sc.evaluate takes expressions"
        raise _refused(f"{kind}{f'; {hint}' if module.op.dialect == 'expr' else ''}")
    if not isinstance(inputs, Mapping):
        raise TypeError(f"expected a mapping from names of inputs to arrays, got {inputs!r}")
    if proc is not None and not isinstance(proc, str):
        raise TypeError(f"expected the name of a procedure, got {proc!r}")


def _check_nodes(module: Node) -> None:
    try:
        _NODES.verify(module)
    except VerifyError:
        SPEC.verify(module)  # whose message says more of where the node is
        raise


def drive(function: Function, arguments: tuple[Any, ...]) -> None:
    """Run a compiled function and all that it calls, without growing Python's stack with either."""
    running: list[Iterator[Any]] = []
    request: tuple[Callable[..., Any], tuple[Any, ...]] | None = (function.run, arguments)
    while request is not None or running:
        if request is None:
            running.pop()
        else:
            started = request[0](*request[1])
            if started is not None:  # a generator; anything else has run by now
                running.append(started)
        request = next(running[-1], None) if running else None


# --- procedures -------------------------------------------------------------------------------------------------------


def _procedures(module: Node) -> dict[str, Node]:
    procs = module.args if module.op is ops.PROGRAM else (module,)
    if any([proc.op is not ops.PROC for proc in procs]):
        raise _refused(f"a module is run, or a procedure; this is a '{module.op.name}'")
    found: dict[str, Node] = {}
    for proc in procs:
        name = proc.attrs["name"]
        if found.setdefault(name, proc) is not proc:
            raise _refused(f"the module has two procedures {symbol_name(name)}")
    return found


def _entry(procs: Mapping[str, Node], name: str | None) -> Node:
    if name is None:
        if not procs:
            raise _refused("the module has no procedure to run")
        return next(reversed(list(procs.values())))
    if name not in procs:
        hint = did_you_mean(symbol_name(name), [symbol_name(known) for known in procs])
        raise _refused(f"the module has no procedure {symbol_name(name)}{hint}")
    return procs[name]


def _compiled(entry: Node, procs: Mapping[str, Node], options: Options, functions: dict[CodeType, Piece]) -> Procedure:
    """Compile the procedures that the entry reaches, callees first."""
    reached = {entry.attrs["name"]}
    order = list(procs.values())
    order = order[: order.index(entry) + 1]
    for proc in reversed(order):  # a procedure only calls what stands before it
        if proc.attrs["name"] in reached:
            reached |= _called(proc)
    done: dict[str, Procedure] = {}
    for proc in order:
        name = proc.attrs["name"]
        if name in reached:
            try:
                done[name] = compile_procedure(proc, done, options, functions)
            except Misuse as misuse:  # of a parameter: those of statements wait until they are executed
                raise _refused(f"{symbol_name(name)}: {misuse}") from None
    return done[entry.attrs["name"]]


def _called(proc: Node) -> set[str]:
    found = set()
    pending = list(body_of(proc))
    seen = set()
    while pending:
        statement = pending.pop()
        if statement.op is ops.CALL:
            found.add(statement.attrs["callee"])
        elif statement.op is ops.FOR and statement not in seen:
            seen.add(statement)
            pending.extend(statement.args[1:])
    return found


# --- parameters -------------------------------------------------------------------------------------------------------


def _arguments(procedure: Procedure, inputs: Mapping[str, Any]) -> list[Place]:
    entry = procedure.node
    name = symbol_name(entry.attrs["name"])
    counted = "input_count" in entry.attrs
    given = [parameter for parameter in procedure.parameters if parameter.is_input or not counted]
    _check_names(name, inputs, given, procedure.parameters)
    arguments = []
    for node, parameter in zip(entry.args, procedure.parameters, strict=False):
        if parameter.is_input or not counted:
            with _room_for(f"{value_name(parameter.name)} of {name}", parameter.size, parameter.dtype):
                array = input_array(f"{value_name(parameter.name)} of {name}", inputs[parameter.name], node)
                arguments.append(filled(parameter.name, array, parameter.dtype, read_only=parameter.is_input))
        else:
            arguments.append(poisoned(parameter.name, parameter.size, parameter.dtype))
    return arguments


def _check_names(proc: str, inputs: Mapping[str, Any], given: list[Parameter], parameters: list[Parameter]) -> None:
    wanted = [parameter.name for parameter in given]
    outputs = {parameter.name for parameter in parameters} - set(wanted)
    for name in inputs:
        if name in outputs:
            raise _refused(f"{value_name(name)} is an output of {proc} and takes no array")
        if name not in wanted:
            hint = did_you_mean(str(name), wanted)
            raise _refused(f"{proc} has no input {name!r}{hint}")
    missing = [value_name(name) for name in wanted if name not in inputs]
    if missing:
        raise _refused(f"{proc} needs an array for input {', '.join(missing)}")


def _outputs(procedure: Procedure, arguments: list[Place]) -> dict[str, Array]:
    outputs = {}
    name = symbol_name(procedure.node.attrs["name"])
    for node, place in zip(procedure.node.args, arguments, strict=False):
        if place.read_only:
            continue
        if not place.written.all():
            at = int(place.written.argmin())
            reason = f"element {at} of output {value_name(place.name)} is never written"
            failure = EvaluationError(f"{name}: {reason}", reason=reason, procedure=procedure.node.attrs["name"])
            failure.blamed = (node,)
            raise failure
        with _room_for(f"{value_name(place.name)} of {name}", place.size, place.dtype):
            outputs[place.name] = output_array(place, node)
    return outputs
