"""What a statement refers to: loads with how often they run, stores, call arguments, scalars; by root where asked.

The shared analysis of the `prog` passes (lowering specification 2.2). Everything is iterative and linear in the size of
the graph; a load that stands several times in an expression counts as often as its text would show it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from scaly_ir.dialects.prog import ops
from scaly_ir.dialects.prog.affine import trip_count
from scaly_ir.dialects.prog.build import body_of
from scaly_ir.graph import Node, postorder
from scaly_ir.op import CallEffectKind, Op


@dataclass(slots=True)
class Read:
    """One distinct load of a buffer inside a statement.

    `occurrences` is how often the text of the statement shows it, `trips` how often one occurrence runs (None when a
    loop around it has no constant bounds).
    """

    buffer: str
    index: Node
    trips: int | None
    occurrences: int
    nested_in: frozenset[str]
    """The buffers in whose index it stands."""


@dataclass(slots=True)
class References:
    """All that a top-level statement reads, writes, assigns and passes on; names as written, not roots."""

    reads: list[Read] = field(default_factory=list)
    bound_reads: set[str] = field(default_factory=set)
    """Buffers read by the bounds of loops."""
    writes: set[str] = field(default_factory=set)
    assigned: set[str] = field(default_factory=set)
    passed: set[str] = field(default_factory=set)
    """Buffers that are arguments of calls."""
    opaque: bool = False
    """Whether an operator in it may change state that nothing here names."""


def roots(procedure: Node) -> dict[str, str]:
    """Return the owner of the storage behind each buffer of a procedure, aliases followed."""
    owner: dict[str, str] = {}
    for declaration in procedure.args:
        if declaration.op is ops.BUFFER:
            name, source = declaration.attrs["name"], declaration.attrs.get("alias_of")
            owner[name] = name if source is None else owner.get(source, source)
    return owner


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


def occurrences(roots: Iterable[Node]) -> tuple[list[Node], dict[Node, int]]:
    """Return the nodes below `roots`, users before operands, and how often the text of the roots would show each."""
    listed = list(roots)
    counts: dict[Node, int] = {}
    for root in listed:
        counts[root] = counts.get(root, 0) + 1
    order = list(postorder(*listed))[::-1]
    for node in order:
        for operand in node.args:
            counts[operand] = counts.get(operand, 0) + counts[node]
    return order, counts


def effect(op: Op) -> int:
    """Return the effect class of an operator; one that does not say is opaque."""
    kind: int = op.get_attr("TCallEffectKind", CallEffectKind.UpdateState)
    return kind


_WRITING = frozenset({ops.STORE, ops.STORE_PAIR})


def references(root: Node) -> References:
    """Collect the references of a top-level statement."""
    found = References()
    for node, trips in statements(root):
        if node.op is ops.FOR:
            for operand in postorder(*node.args[0].args):
                if operand.op is ops.VIEW:
                    found.bound_reads.add(operand.attrs["buffer"])
        elif node.op is ops.CALL:
            for argument in node.args:
                found.passed.add(argument.attrs["buffer" if argument.op is ops.VIEW else "name"])
            found.writes.update(_call_outputs(node))
            indices = [index for argument in node.args if argument.op is ops.VIEW for index in argument.args]
            _collect_reads(indices, trips, found)
        elif node.op is not ops.BUFFER:
            values = list(node.args)
            if node.op in _WRITING:
                found.writes.add(node.args[0].attrs["buffer"])
                values[:1] = node.args[0].args
            elif node.op is ops.ASSIGN:
                found.assigned.add(node.attrs["target"])
            _collect_reads(values, trips, found)
    return found


def _call_outputs(call: Node) -> list[str]:
    """Return the names of the buffers a call may write: all of them when it does not say which."""
    first = call.attrs.get("n_in", 0)
    return [argument.attrs["buffer" if argument.op is ops.VIEW else "name"] for argument in call.args[first:]]


def _collect_reads(values: list[Node], trips: int | None, found: References) -> None:
    order, counts = occurrences(values)
    inside: dict[Node, frozenset[str]] = {}
    nothing: frozenset[str] = frozenset()
    for node in order:
        around = inside.get(node, nothing)
        if node.op is ops.LOAD:
            view = node.args[0]
            found.reads.append(Read(view.attrs["buffer"], view.args[0], trips, counts[node], around))
        elif node.op is ops.VIEW:
            around = around | {node.attrs["buffer"]}
        elif effect(node.op) > CallEffectKind.ReadState:
            found.opaque = True
        if around:
            for operand in node.args:
                inside[operand] = inside.get(operand, nothing) | around
