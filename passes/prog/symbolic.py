"""Run procedures at compile time on expressions: elements of inputs are loads, and arithmetic is kept or folded.

Owned here is what can be run so, how much work that is, and what every element of the outputs becomes; whether it is
worth it is for a pass to decide. Values are graphs in which nothing is named, however often it is used. Iterative over
loops and calls. Source: lowering specification 3.2.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

import numpy as np

from scaly_ir.dialects.prog import build, ops
from scaly_ir.dialects.prog.affine import trip_count
from scaly_ir.dialects.prog.build import body_of, params_of
from scaly_ir.dialects.prog.context import buffer_size
from scaly_ir.graph import Node, intern_node, postorder, toposort
from scaly_ir.op import CallEffectKind
from scaly_ir.passes.prog.arithmetic import Arithmetic
from scaly_ir.passes.prog.index_values import index_values, loop_arrays, tables_of
from scaly_ir.passes.prog.references import MANY, effect
from scaly_ir.types import FLOAT64


class Unknown(Exception):  # noqa: N818 - no error: the procedure stays as it is
    """What a procedure does is not known before it runs, or has no meaning."""


# --- the text ---------------------------------------------------------------------------------------------------------


def can_run(procedure: Node, callees: Mapping[str, Node]) -> bool:
    """Tell whether the text of a procedure is such that it can be run here, calls of others than `callees` left out.

    It says which parameters are outputs, and reads none of them before it is written; numbers are float64; loops have
    constant bounds and hold nothing but stores, loops and calls.
    """
    attrs = procedure.attrs
    if "input_count" not in attrs or "in_place" in attrs or attrs.get("sz_w", 0) or attrs.get("w_self", 0):
        return False
    if not all([param.type is FLOAT64 for param in params_of(procedure)]):
        return False
    return all([_can_run(statement, callees) for node in _nests(procedure) for statement in body_of(node)])


def _can_run(statement: Node, callees: Mapping[str, Node]) -> bool:
    attrs = statement.attrs
    if statement.op is ops.FOR:
        return trip_count(statement.args[0]) is not None
    if statement.op is ops.CALL:
        return attrs["callee"] in callees
    if statement.op is ops.BUFFER:
        return True  # of other types it holds what indices read, or nothing that a number may come from
    return statement.op is ops.STORE and all([_is_number(node) for node in _order(statement.args[1])])


def _is_number(node: Node) -> bool:
    return node.type is FLOAT64 and (node.op is ops.LOAD or effect(node.op) <= CallEffectKind.Pure)


def _nests(procedure: Node) -> list[Node]:
    """Return the distinct loops of a procedure, those inside of others before these, and at last the procedure."""
    return toposort(procedure, gate=lambda node: node.op in (ops.FOR, ops.PROC))


def _order(value: Node) -> list[Node]:
    """Return the nodes of a value, operands first; what is in the index of a load is no part of it."""
    return toposort(value, gate=lambda node: node.op is not ops.VIEW)


def work_of(procedure: Node, callees: Mapping[str, int]) -> dict[Node, int]:
    """Return how much it takes to run a procedure, and to run each of its loops, all trips together.

    Counted are elements of parameters and buffers, and stores; `callees` gives the work of each call. A loop with no
    work does nothing at all. Linear in the text.
    """
    work: dict[Node, int] = {}
    for node in _nests(procedure):
        total = 0 if node.op is ops.FOR else sum([buffer_size(param) or 0 for param in params_of(node)])
        for statement in body_of(node):
            if statement.op is ops.BUFFER:
                total += 0 if "alias_of" in statement.attrs else buffer_size(statement) or 0
            elif statement.op is ops.CALL:
                total += callees[statement.attrs["callee"]]
            else:
                total += work[statement] if statement.op is ops.FOR else 1
        trips = (trip_count(node.args[0]) or 0) if node.op is ops.FOR else 1
        work[node] = min(total * trips, MANY)
    return work


# --- memory -----------------------------------------------------------------------------------------------------------


@dataclass(slots=True, eq=False)
class _Storage:
    """Elements that have one owner; `initial` gives what one is before it is written, None when that is nothing."""

    initial: Callable[[int], Node | None]
    writable: bool = True
    elements: dict[int, Node] = field(default_factory=dict)


def _private() -> _Storage:
    return _Storage(lambda _: None)


class _Place(NamedTuple):
    """What the name of a buffer stands for: a window of some storage."""

    storage: _Storage
    offset: int
    size: int

    def read(self, at: int) -> Node:
        """Return an element."""
        elements = self.storage.elements
        position = self._position(at)
        value = elements.get(position)
        if value is None:
            value = self.storage.initial(position)
            if value is None:
                raise Unknown("an element is read before it is written")
            elements[position] = value
        return value

    def write(self, at: int, value: Node) -> None:
        """Set an element."""
        if not self.storage.writable:
            raise Unknown("what is read-only is written")
        self.storage.elements[self._position(at)] = value

    def window(self, start: int, size: int) -> _Place:
        """Return a part of this window."""
        if start < 0 or start + size > self.size:
            raise Unknown("a window exceeds its buffer")
        return _Place(self.storage, self.offset + start, size)

    def forget(self) -> None:
        """Let the elements be as if never written."""
        for at in range(self.offset, self.offset + self.size):
            self.storage.elements.pop(at, None)

    def _position(self, at: int) -> int:
        if not 0 <= at < self.size:
            raise Unknown("an index is out of range")
        return self.offset + at


def _load(buffer: str, at: int) -> Node:
    return build.load(build.view(buffer, at, FLOAT64))


def _entry_of(values: Sequence[float], at: int) -> Node:
    return build.const(values[at], FLOAT64)


def _overlap(places: Sequence[_Place], inputs: int) -> bool:
    """Tell whether one of the places from `inputs` on shares an element with any other."""
    spans: defaultdict[_Storage, list[tuple[int, int, bool]]] = defaultdict(list)
    for number, (storage, offset, size) in enumerate(places):
        if size:
            spans[storage].append((offset, offset + size, number >= inputs))
    for windows in spans.values():
        end = output_end = 0
        for first, behind, is_output in sorted(windows):
            if first < (end if is_output else output_end):
                return True
            end = max(end, behind)
            output_end = max(output_end, behind) if is_output else output_end
    return False


# --- execution --------------------------------------------------------------------------------------------------------


class _IndexTable(NamedTuple):
    """The values of an index over the loops around it, and by how many entries a trip of each moves on."""

    values: list[int]
    strides: list[int]


class _Code:
    """A procedure, and what is found out about its text once for all runs."""

    def __init__(self, procedure: Node, callees: Mapping[str, int]) -> None:
        self.procedure = procedure
        self.work = work_of(procedure, callees)
        self._tables = tables_of(procedure.args)
        self._variables: dict[Node, list[str]] = {}
        self._indices: dict[tuple[Node, ...], _IndexTable] = {}

    def variables(self, index: Node) -> list[str]:
        """Return the variables in an index."""
        found = self._variables.get(index)
        if found is None:
            names = [node.attrs["name"] for node in postorder(index) if node.op is ops.VAR]
            found = self._variables[index] = list(dict.fromkeys(names))
        return found

    def index(self, index: Node, domains: Sequence[Node]) -> _IndexTable:
        """Return the values of an index over the loops of its variables."""
        key = (index, *domains)
        found = self._indices.get(key)
        if found is None:
            arrays = loop_arrays(domains)
            values = None if arrays is None else index_values(index, arrays, self._tables)
            if arrays is None or values is None:
                raise Unknown("an index is not known")
            counts = [trip_count(domain) or 0 for domain in domains]
            full = np.broadcast_to(values, counts) if counts else values
            strides = [int(np.prod(counts[position + 1 :], dtype=np.int64)) for position in range(len(counts))]
            found = self._indices[key] = _IndexTable(full.reshape(-1).tolist(), strides)
        return found


@dataclass(slots=True)
class _Frame:
    """The names of one run of a procedure; `trips` counts those of the loops around, from 0."""

    code: _Code
    places: dict[str, _Place]
    domains: dict[str, Node] = field(default_factory=dict)
    trips: dict[str, int] = field(default_factory=dict)

    def at(self, index: Node) -> int:
        """Return the value of an index."""
        if index.op is ops.CONST_INT:
            return int(index.attrs["value"])
        names = self.code.variables(index)
        try:
            domains = [self.domains[name] for name in names]
        except KeyError:
            raise Unknown("an index uses what is no loop variable") from None
        values, strides = self.code.index(index, domains)
        return values[sum([self.trips[name] * stride for name, stride in zip(names, strides, strict=True)])]


_Step = tuple[Node, _Frame]


class SymbolicMachine:
    """Runs procedures of one module; what they compute alike is one node."""

    def __init__(self) -> None:
        self._arithmetic = Arithmetic()
        self._codes: dict[str, _Code] = {}
        self._work: dict[str, int] = {}
        self._orders: dict[Node, list[Node]] = {}

    def add(self, procedure: Node) -> int:
        """Take in a procedure for which `can_run` holds and return the work of running it; callees come first."""
        name = procedure.attrs["name"]
        code = self._codes[name] = _Code(procedure, self._work)
        work = self._work[name] = code.work[procedure]
        return work

    def outputs(self, name: str) -> list[Node] | None:
        """Run a procedure and return the elements of its outputs in order; None when they cannot be told."""
        procedure = self._codes[name].procedure
        inputs = procedure.attrs["input_count"]
        places = []
        for number, param in enumerate(params_of(procedure)):
            is_input = number < inputs
            storage = _Storage(partial(_load, param.attrs["name"]), writable=False) if is_input else _private()
            places.append(_Place(storage, 0, buffer_size(param) or 0))
        try:
            self._run(self._enter(name, places))
            return [place.read(at) for place in places[inputs:] for at in range(place.size)]
        except Unknown:
            return None

    def _run(self, start: Iterator[_Step]) -> None:
        pending = [start]
        while pending:
            step = next(pending[-1], None)
            if step is None:
                pending.pop()
                continue
            statement, frame = step
            if statement.op is ops.FOR:
                pending.append(self._trips(statement, frame))
            elif statement.op is ops.CALL:
                pending.append(self._call(statement, frame))
            elif statement.op is ops.BUFFER:
                _declare(statement, frame)
            else:
                view, value = statement.args
                at = frame.at(view.args[0])
                frame.places[view.attrs["buffer"]].write(at, self._value(value, frame))

    def _enter(self, name: str, places: Sequence[_Place]) -> Iterator[_Step]:
        """Yield the statements of a procedure, its parameters bound to places."""
        code = self._codes[name]
        params = [param.attrs["name"] for param in params_of(code.procedure)]
        frame = _Frame(code, dict(zip(params, places, strict=True)))
        for statement in body_of(code.procedure):
            yield statement, frame

    def _trips(self, loop: Node, frame: _Frame) -> Iterator[_Step]:
        """Yield the statements of a loop, trip by trip; a loop may do nothing, for however long."""
        if not frame.code.work[loop]:
            return
        domain = loop.args[0]
        name = domain.attrs["name"]
        frame.domains[name] = domain
        for trip in range(trip_count(domain) or 0):
            frame.trips[name] = trip
            for statement in body_of(loop):
                yield statement, frame
        del frame.domains[name], frame.trips[name]

    def _call(self, call: Node, frame: _Frame) -> Iterator[_Step]:
        """Return the statements of a callee; outputs share no elements with other arguments, and begin as nothing."""
        callee = self._codes[call.attrs["callee"]].procedure
        inputs = callee.attrs["input_count"]
        places = []
        for argument, param in zip(call.args, params_of(callee), strict=True):
            place = frame.places[build.buffer_of(argument)]
            start = frame.at(argument.args[0]) if argument.op is ops.VIEW else 0
            places.append(place.window(start, buffer_size(param) or 0))
        if _overlap(places, inputs):
            raise Unknown("an output overlaps another argument")
        for output in places[inputs:]:
            output.forget()
        return self._enter(call.attrs["callee"], places)

    def _value(self, value: Node, frame: _Frame) -> Node:
        order = self._orders.get(value)
        if order is None:
            order = self._orders[value] = _order(value)
        found: dict[Node, Node] = {}
        for node in order:
            if node.op is ops.LOAD:
                (view,) = node.args
                found[node] = frame.places[view.attrs["buffer"]].read(frame.at(view.args[0]))
            else:
                args = tuple([found[operand] for operand in node.args])
                found[node] = self._arithmetic.normal(intern_node(node.op, args, node.attrs, node.type))
        return found[value]


def _declare(buffer: Node, frame: _Frame) -> None:
    attrs = buffer.attrs
    size = buffer_size(buffer) or 0
    if "alias_of" in attrs:
        place = frame.places[attrs["alias_of"]].window(attrs["alias_offset"], size)
    elif "values" in attrs:
        place = _Place(_Storage(partial(_entry_of, attrs["values"]), writable=False), 0, size)
    else:
        place = _Place(_private(), 0, size)
    frame.places[attrs["name"]] = place
