"""What statements refer to, and where in a procedure that changes: the analysis that the `prog` passes share.

`references` lists for one top-level statement what it reads (with how often), writes, assigns and passes on;
`Dependences` lists for a procedure the statements that do so, in order. Everything is iterative and linear in the size
of the graph. Source: lowering specification 2.2.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from scaly_ir.dialects.prog import ops
from scaly_ir.dialects.prog.affine import trip_count
from scaly_ir.dialects.prog.build import body_of, buffer_of, params_of
from scaly_ir.graph import Node, postorder
from scaly_ir.op import CallEffectKind, Op

NEVER: Final = 1 << 62
"""A position behind every statement."""

MANY: Final = 1 << 62
"""Counts of nodes end here: shared operands make the text of an expression exponential in its size."""


# --- scalars ----------------------------------------------------------------------------------------------------------


def effect(op: Op) -> int:
    """Return the effect class of an operator; one that does not say is opaque."""
    kind: int = op.get_attr("TCallEffectKind")
    return kind


def is_expensive(op: Op) -> bool:
    """Tell whether an operator is too dear to be repeated; one that does not say is."""
    cost: str = op.get_attr("TCostClass")
    return cost == "expensive"


def occurrences(values: Iterable[Node]) -> tuple[list[Node], dict[Node, int]]:
    """Return the nodes below `values`, users before operands, and how often the text of the values shows each."""
    listed = list(values)
    counts: dict[Node, int] = {}
    for value in listed:
        counts[value] = counts.get(value, 0) + 1
    order = list(postorder(*listed))[::-1]
    for node in order:
        count = counts[node]
        for operand in node.args:
            counts[operand] = min(counts.get(operand, 0) + count, MANY)
    return order, counts


class Summary(NamedTuple):
    """What is in an expression: the number of nodes in its text, and whether some are expensive, or loads."""

    size: int
    expensive: bool
    loads: bool


def _summaries(order: list[Node]) -> dict[Node, Summary]:
    """Summarize each of the nodes, which stand users before operands."""
    found: dict[Node, Summary] = {}
    for node in reversed(order):
        size, expensive, loads = 1, is_expensive(node.op), node.op is ops.LOAD
        for operand in node.args:
            below = found[operand]
            size, expensive, loads = size + below.size, expensive or below.expensive, loads or below.loads
        found[node] = Summary(min(size, MANY), expensive, loads)
    return found


# --- one statement ----------------------------------------------------------------------------------------------------


class Effects(NamedTuple):
    """What a call of a procedure may do: the parameters it writes, by position, and whether it is opaque."""

    writes: frozenset[int]
    opaque: bool


_UNKNOWN: Final = Effects(frozenset(), opaque=True)


@dataclass(frozen=True, slots=True)
class Read:
    """One distinct load of a buffer inside a statement.

    `occurrences` is how often the text of the statement shows it, `trips` how often one occurrence runs (None when a
    loop around it has no constant bounds).
    """

    load: Node
    index: Summary
    """What is in its index."""
    trips: int | None
    occurrences: int
    in_index: bool
    """Whether it stands in the index of another load."""


@dataclass(slots=True)
class References:
    """All that a top-level statement reads, writes, assigns and passes on; names as written, not roots."""

    reads: dict[str, list[Read]] = field(default_factory=dict)
    bound_reads: set[str] = field(default_factory=set)
    """Buffers read by the bounds of loops."""
    writes: set[str] = field(default_factory=set)
    assigned: set[str] = field(default_factory=set)
    passed: set[str] = field(default_factory=set)
    """Buffers that are arguments of calls."""
    opaque: bool = False
    """Whether it may change state that nothing here names."""


def statements(root: Node) -> Iterator[tuple[Node, int | None]]:
    """Yield the statements of a nest without bodies, and loops, with how often each runs (None: not known)."""
    pending: list[tuple[Node, int | None]] = [(root, 1)]
    while pending:
        node, trips = pending.pop()
        yield node, trips
        if node.op is ops.FOR:
            count = trip_count(node.args[0])
            inside = None if count is None or trips is None else trips * count
            pending.extend([(statement, inside) for statement in reversed(body_of(node))])


def references(root: Node, callees: Mapping[str, Effects]) -> References:
    """Collect the references of a top-level statement; a call of a procedure not in `callees` is opaque."""
    found = References()
    for node, trips in statements(root):
        if node.op is ops.FOR:
            for operand in postorder(*node.args[0].args):
                found.opaque |= effect(operand.op) > CallEffectKind.ReadState
                if operand.op is ops.VIEW:
                    found.bound_reads.add(operand.attrs["buffer"])
        elif node.op is ops.CALL:
            _collect_call(node, callees.get(node.attrs["callee"], _UNKNOWN), found)
            _collect_reads([index for argument in node.args for index in argument.args], trips, found)
        elif node.op is ops.ASSIGN:
            found.assigned.add(node.attrs["target"])
            _collect_reads(node.args, trips, found)
        elif node.op is not ops.BUFFER:
            view, *values = node.args
            found.writes.add(view.attrs["buffer"])
            _collect_reads([*view.args, *values], trips, found)
    return found


def _collect_call(call: Node, callee: Effects, found: References) -> None:
    """Collect what a call may write: what it calls outputs, all when it does not say, and what the callee writes."""
    outputs = call.attrs.get("n_in", 0)
    for position, argument in enumerate(call.args):
        name = buffer_of(argument)
        found.passed.add(name)
        if position >= outputs or position in callee.writes:
            found.writes.add(name)
    found.opaque |= callee.opaque


def _collect_reads(values: Iterable[Node], trips: int | None, found: References) -> None:
    order, counts = occurrences(values)
    summaries = _summaries(order)
    indices: set[Node] = set()
    """Nodes that stand in the index of a load."""
    for node in order:
        if node.op is ops.LOAD:
            (view,) = node.args
            (index,) = view.args
            read = Read(node, summaries[index], trips, counts[node], node in indices)
            found.reads.setdefault(view.attrs["buffer"], []).append(read)
        elif effect(node.op) > CallEffectKind.ReadState:
            found.opaque = True
        if node.op is ops.LOAD or node in indices:
            indices.update(node.args)


# --- a procedure ------------------------------------------------------------------------------------------------------


class Dependences:
    """Where the body of a procedure reads, writes and assigns, by position of the top-level statement."""

    def __init__(self, procedure: Node, callees: Mapping[str, Effects]) -> None:
        self.procedure = procedure
        self.body = body_of(procedure)
        self.statements: list[References] = [references(statement, callees) for statement in self.body]
        self.readers: dict[str, list[int]] = {}
        """The statements that load from a buffer of this name, loop bounds left out."""
        self.tied: set[str] = set()
        """Buffers that cannot be taken away: sources of aliases, arguments of calls, and what loop bounds read."""
        self._roots = roots(procedure)
        self._writers: dict[str, list[int]] = {}
        self._assigners: dict[str, list[int]] = {}
        self._opaque: list[int] = []
        for position, (statement, found) in enumerate(zip(self.body, self.statements, strict=True)):
            for name in found.reads:
                self.readers.setdefault(name, []).append(position)
            for name in {self.root(name) for name in found.writes}:
                self._writers.setdefault(name, []).append(position)
            for name in found.assigned:
                self._assigners.setdefault(name, []).append(position)
            if found.opaque:
                self._opaque.append(position)
            self.tied |= found.passed | found.bound_reads
            if statement.op is ops.BUFFER and "alias_of" in statement.attrs:
                self.tied.add(statement.attrs["alias_of"])

    def root(self, buffer: str) -> str:
        """Return the owner of the storage behind a buffer."""
        return self._roots.get(buffer, buffer)

    def writers(self, buffer: str) -> list[int]:
        """Return the statements that write the storage behind a buffer, in order."""
        return self._writers.get(self.root(buffer), [])

    def next_write(self, buffer: str, position: int) -> int:
        """Return the first statement behind `position` that may write the storage behind a buffer."""
        return _first_behind(position, self.writers(buffer))

    def next_assignment(self, scalar: str, position: int) -> int:
        """Return the first statement behind `position` that assigns a scalar."""
        return _first_behind(position, self._assigners.get(scalar, []))

    def next_opaque(self, position: int) -> int:
        """Return the first statement behind `position` that may change anything."""
        return _first_behind(position, self._opaque)

    def effects(self) -> Effects:
        """Return what a call of the procedure may do."""
        params = enumerate(params_of(self.procedure))
        writes = [position for position, param in params if param.attrs["name"] in self._writers]
        return Effects(frozenset(writes), bool(self._opaque))


def dependences_of(module: Node) -> Iterator[Dependences]:
    """Yield the dependences of each procedure of a module, which know what calls of those before it do."""
    callees: dict[str, Effects] = {}
    for procedure in module.args:
        found = Dependences(procedure, callees)
        callees[procedure.attrs["name"]] = found.effects()
        yield found


def roots(procedure: Node) -> dict[str, str]:
    """Return the owner of the storage behind each buffer of a procedure, aliases followed."""
    owner: dict[str, str] = {}
    for declaration in procedure.args:
        if declaration.op is ops.BUFFER:
            name: str = declaration.attrs["name"]
            source: str = declaration.attrs.get("alias_of", name)
            owner[name] = owner.get(source, source)
    return owner


def _first_behind(position: int, positions: list[int]) -> int:
    place = bisect_right(positions, position)
    return positions[place] if place < len(positions) else NEVER
