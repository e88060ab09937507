"""Leaving out procedures, statements, what statements declare, and loops around their bodies."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from scaly_ir.dialects.prog import build, ops
from scaly_ir.graph import Node, preorder
from scaly_ir.graph.rewrite import Mode, substitute
from scaly_ir.tools.reduce.prog.scalars import zero
from scaly_ir.tools.reduce.prog.walk import (
    changed,
    declared,
    numbered,
    own_operands,
    places,
    procedures_of,
    rewritten,
    used,
    with_own_operands,
    with_procedures,
)
from scaly_ir.types import INT64, DType

# --- procedures -------------------------------------------------------------------------------------------------------


def procedures(root: Node) -> Sequence[int]:
    """Return the numbers of the procedures, if there are several."""
    return range(len(root.args)) if root.op is ops.PROGRAM and len(root.args) > 1 else ()


def without_procedures(root: Node, gone: Sequence[int]) -> Node | None:
    """Leave out procedures, and the calls of what is not there any more."""
    left_out = set(gone)
    kept = [procedure for at, procedure in enumerate(root.args) if at not in left_out]
    missing = {root.args[at].attrs["name"] for at in gone} - {procedure.attrs["name"] for procedure in kept}
    return with_procedures(root, [_without_calls(procedure, missing) for procedure in kept])


def _without_calls(procedure: Node, callees: set[str]) -> Node:
    def change(number: int, statement: Node) -> Sequence[Node]:
        gone = statement.op is ops.CALL and statement.attrs.get("callee") in callees
        return () if gone else (statement,)

    return rewritten(procedure, change)


# --- statements -------------------------------------------------------------------------------------------------------


class At(NamedTuple):
    """A place: the number of a procedure and of a statement in it."""

    procedure: int
    statement: int


def _by_procedure(edits: Sequence[At]) -> dict[int, set[int]]:
    found: dict[int, set[int]] = defaultdict(set)
    for at, number in edits:
        found[at].add(number)
    return found


def statements(root: Node) -> list[At]:
    """Return the places of all statements."""
    return [At(at, number) for at, number, _ in places(root)]


def without_statements(root: Node, edits: Sequence[At]) -> Node | None:
    """Leave out statements, loops with their bodies; a declaration stays as long as what is left refers to it."""
    by_procedure = _by_procedure(edits)
    made = []
    for at, procedure in enumerate(procedures_of(root)):
        gone = _unneeded(procedure, by_procedure[at]) if at in by_procedure else set()
        if gone:
            procedure = rewritten(procedure, lambda number, node, gone=gone: () if number in gone else (node,))  # type: ignore[misc]
        made.append(procedure)
    return with_procedures(root, made)


def _unneeded(procedure: Node, wanted: set[int]) -> set[int]:
    """Return which of some statements can go: all but declarations of what is used by those that stay."""
    gone = set()
    end = -1  # of the body of the outermost loop that goes
    listed = list(numbered(procedure))
    for number, statement in listed:
        if number <= end or number in wanted:
            gone.add(number)
            if number > end and statement.op is ops.FOR:
                end = number + sum(1 for _ in build.statements_in(statement))
    needed: set[str] = set()
    for number, statement in reversed(listed):
        if number not in gone or declared(statement) in needed:
            gone.discard(number)
            needed |= used(statement)
    return gone


# --- results ----------------------------------------------------------------------------------------------------------


class Result(NamedTuple):
    """A buffer, parameter or scalar, by its name, and what stands in its place: nothing, or another by its name."""

    procedure: int
    name: str
    instead: str | None


def results(root: Node) -> list[Result]:
    """Return what procedures declare, each with another of its type in its place, and with none."""
    found = []
    for at, procedure in enumerate(procedures_of(root)):
        last: dict[tuple[DType, tuple[int, ...]], str] = {}  # the name of a buffer by its type and shape
        params = build.params_of(procedure) if procedure.op is ops.PROC else ()
        for stays, nodes in ((True, params), (False, build.statements_in(procedure))):
            for node in nodes:
                name = declared(node)
                if name is None:
                    continue
                if node.op is ops.BUFFER:
                    instead = last.get((node.type, node.attrs["shape"]))
                    last[node.type, node.attrs["shape"]] = name
                else:
                    instead = _operand(node)
                if instead is not None and not stays:
                    found.append(Result(at, name, instead))
                found.append(Result(at, name, None))
    return found


def _operand(assign: Node) -> str | None:
    """Return the variable of its type that the value of a scalar begins with."""
    value = assign.args[0]
    for operand in (value, *value.args):
        if operand.op is ops.VAR and operand.type is value.type:
            return str(operand.attrs["name"])
    return None


def without_results(root: Node, edits: Sequence[Result]) -> Node | None:
    """Leave out buffers, parameters and scalars: what was stored there is dropped, and what was read is zero."""
    by_procedure: dict[int, dict[str, str | None]] = defaultdict(dict)
    for at, name, instead in edits:
        by_procedure[at].setdefault(name, instead)
    listed = procedures_of(root)
    positions = {}  # of the parameters that go, by the name of the procedure
    made = []
    for at, procedure in enumerate(listed):
        if at in by_procedure:
            procedure, gone = _without_names(procedure, by_procedure[at])
            if gone:
                positions[procedure.attrs["name"]] = gone
        made.append(procedure)
    if positions:
        made = [rewritten(each, lambda number, node: (_with_fewer_arguments(node, positions),)) for each in made]
    return with_procedures(root, made)


def _without_names(procedure: Node, names: dict[str, str | None]) -> tuple[Node, list[int]]:
    """Return a procedure without names, and which parameters went."""
    params = build.params_of(procedure) if procedure.op is ops.PROC else ()
    gone = [at for at, param in enumerate(params) if param.attrs["name"] in names]
    buffers = {param.attrs["name"]: param for param in params}
    names = dict(names)
    for _, statement in numbered(procedure):
        if statement.op is ops.BUFFER:
            buffers[statement.attrs["name"]] = statement
            if statement.attrs.get("alias_of") in names:
                names.setdefault(statement.attrs["name"], None)
    names = {name: _last(name, names) for name in names}

    def instead(node: Node) -> Node | None:
        name = names.get(build.buffer_of(node))
        if node.op is ops.VIEW:
            return None if name is None else build.view(name, node.args[0], node.type)
        return buffers.get(name) if node.op is ops.BUFFER and name is not None else None

    def replaced(node: Node) -> Node | None:
        if node.op is ops.LOAD and node.args[0].attrs["buffer"] in names:
            where = instead(node.args[0])
            return zero(node.type) if where is None else build.load(where)
        if node.op is ops.VAR and node.attrs["name"] in names:
            name = names[node.attrs["name"]]
            return zero(node.type) if name is None else build.var(name, node.type)
        return None

    def change(number: int, statement: Node) -> Sequence[Node]:
        if declared(statement) in names or statement.attrs.get("target") in names:
            return ()
        operands = []
        for operand in own_operands(statement):
            if operand.op in (ops.VIEW, ops.BUFFER) and operand.attrs[_KEYS[operand.op]] in names:
                other = instead(operand)
                if other is None:
                    return ()
                operand = other
            found = {node: made for node in preorder(operand) if (made := replaced(node)) is not None}
            operands.append(substitute(operand, found, mode=Mode.ONCE))
        return (with_own_operands(statement, operands),)

    made = rewritten(procedure, change)
    return (_without_params(made, gone) if gone else made), gone


_KEYS = {ops.VIEW: "buffer", ops.BUFFER: "name"}


def _last(name: str, names: dict[str, str | None]) -> str | None:
    """Return what takes the place of a name in the end."""
    seen = set()
    found: str | None = name
    while found is not None and found in names and found not in seen:
        seen.add(found)
        found = names[found]
    return None if found in seen else found


def _without_params(procedure: Node, gone: Sequence[int]) -> Node:
    params = build.params_of(procedure)
    kept = [param for at, param in enumerate(params) if at not in gone]
    attrs = {**procedure.attrs, "param_count": len(kept)}
    if "input_count" in attrs:
        attrs["input_count"] -= sum([at < attrs["input_count"] for at in gone])
    return procedure.replace(args=[*kept, *build.body_of(procedure)], attrs=attrs)


def _with_fewer_arguments(statement: Node, positions: dict[str, list[int]]) -> Node:
    """Return a statement that passes nothing for the parameters at some positions."""
    gone = positions.get(statement.attrs.get("callee", "")) if statement.op is ops.CALL else None
    if gone is None:
        return statement
    attrs = dict(statement.attrs)
    inputs = attrs.get("n_in")
    if inputs is not None and "n_out" in attrs:
        attrs["n_in"] = inputs - sum([at < inputs for at in gone])
        attrs["n_out"] -= sum([at >= inputs for at in gone])
    kept = [argument for at, argument in enumerate(statement.args) if at not in gone]
    return statement.replace(args=kept, attrs=attrs)


# --- loops ------------------------------------------------------------------------------------------------------------


def loops(root: Node) -> list[At]:
    """Return the places of all loops."""
    return [At(at, number) for at, number, statement in places(root) if statement.op is ops.FOR]


def without_loops(root: Node, edits: Sequence[At]) -> Node | None:
    """Put the first trip of loops in their place."""
    by_procedure = _by_procedure(edits)

    def change(at: int, number: int, statement: Node) -> Sequence[Node]:
        if at not in by_procedure or number not in by_procedure[at]:
            return (statement,)
        domain = statement.args[0]
        first = {build.var(domain.attrs["name"], INT64): domain.args[0]}
        return [substitute(each, first, mode=Mode.ONCE) for each in build.body_of(statement)]

    return changed(root, change)
