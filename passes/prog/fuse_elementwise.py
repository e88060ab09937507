"""Substitute the expression that fills a buffer into the one statement that reads it, and delete buffer and loop.

Decisions come first, on summaries of the original statements, so that a chain of any length is fused in linear time;
the statements that remain are then rebuilt once. Source of the conditions: lowering specification 3.7.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from typing import ClassVar, Final

from scaly_ir.dialects.prog import ops
from scaly_ir.dialects.prog.affine import loop_values
from scaly_ir.dialects.prog.build import body_of, params_of, with_body
from scaly_ir.dialects.prog.context import buffer_size
from scaly_ir.graph import Node, intern_node, postorder
from scaly_ir.pass_manager import Pass
from scaly_ir.passes.prog.references import Read, References, occurrences, references, roots

GROWTH_LIMIT: Final = 4096
"""The most nodes that repeating cheap producers may add to the text of one statement.

A cheap producer may be read any number of times; without a limit, a chain of squares would double at each step.
"""

_NEVER: Final = 1 << 62


@dataclass(frozen=True)
class FuseElementwise(Pass):
    """Substitute producers into their only consumers."""

    name: ClassVar[str] = "fuse_elementwise"
    summary: ClassVar[str] = "substitute the loop that fills a buffer into the only statement that reads it"
    dialects: ClassVar[frozenset[str]] = frozenset({"prog"})

    def run(self, root: Node) -> Node:
        procs = [_Fusion(proc).run() for proc in root.args]
        return root if all([a is b for a, b in zip(procs, root.args, strict=True)]) else root.replace(args=procs)


@dataclass(slots=True)
class _Producer:
    """A loop that fills a whole buffer element by element, with what its expression is made of once fused.

    `size`, `uses` and `flat` are counted as in the text: nodes of the expression, uses of the loop variable in it, and
    nodes before anything was repeated.
    """

    buffer: str
    elements: int
    position: int
    variable: str
    value: Node
    deadline: int = _NEVER
    """The first statement behind it that changes something its expression reads."""
    expensive: bool = False
    size: int = 0
    uses: int = 0
    flat: int = 0

    def change_at(self, position: int) -> None:
        """Record that the statement at `position` changes something the expression reads."""
        self.deadline = min(self.deadline, position)


@dataclass(slots=True)
class _Consumer:
    """What fusing has added to a statement so far."""

    size: int = 0
    flat: int = 0
    fused: dict[str, _Producer] = field(default_factory=dict)
    read_inside: set[str] = field(default_factory=set)
    """Buffers in whose index a fused buffer is read."""


class _Fusion:
    """The fusion of one procedure."""

    def __init__(self, proc: Node) -> None:
        self.proc = proc
        self.body = body_of(proc)
        self.roots = roots(proc)
        self.references: list[References] = [references(statement) for statement in self.body]
        self.writers: dict[str, list[int]] = {}
        self.assigners: dict[str, list[int]] = {}
        self.readers: dict[str, list[int]] = {}
        self.unfit: set[str] = set()
        self.opaque: list[int] = []
        """The statements that may change anything."""
        self.consumers: dict[int, _Consumer] = {}
        self._index()

    def _index(self) -> None:
        """List for each buffer, by name and by root, the statements that write and read it, in order."""
        for position, found in enumerate(self.references):
            for root in {self.roots.get(name, name) for name in found.writes}:
                self.writers.setdefault(root, []).append(position)
            for name in found.assigned:
                self.assigners.setdefault(name, []).append(position)
            for name in {read.buffer for read in found.reads}:
                self.readers.setdefault(name, []).append(position)
            self.unfit |= found.passed | found.bound_reads
            if found.opaque:
                self.opaque.append(position)
        self.unfit |= {param.attrs["name"] for param in params_of(self.proc)}
        self.unfit |= {d.attrs["alias_of"] for d in self.body if d.op is ops.BUFFER and "alias_of" in d.attrs}

    def run(self) -> Node:
        fused: dict[str, _Producer] = {}
        plain = {
            declaration.attrs["name"]: declaration
            for declaration in self.body
            if declaration.op is ops.BUFFER and _is_plain(declaration)
        }
        for position, statement in enumerate(self.body):
            producer = self._producer(position, statement, plain)
            if producer is None:
                continue
            self._summarize(producer)
            consumer = self._fits(producer)
            if consumer is not None:
                self._fuse(producer, consumer)
                fused[producer.buffer] = producer
        return self._rebuild(fused) if fused else self.proc

    def _producer(self, position: int, statement: Node, plain: dict[str, Node]) -> _Producer | None:
        """Return a statement as a producer: a loop from 0 over a whole temporary with one store at its variable."""
        if statement.op is not ops.FOR or len(statement.args) != 2 or statement.args[1].op is not ops.STORE:
            return None
        domain, store = statement.args
        view, value = store.args
        name = view.attrs["buffer"]
        declaration = plain.get(name)
        index = view.args[0]
        variable = domain.attrs["name"]
        if declaration is None or name in self.unfit or domain.attrs["kind"] in ("reduce", "vector"):
            return None
        if index.op is not ops.VAR or index.attrs["name"] != variable:
            return None
        elements = buffer_size(declaration)
        if elements is None or loop_values(domain) != range(elements):
            return None
        if self.writers.get(name) != [position] or not _reads_later(self.readers.get(name), position):
            return None
        return _Producer(name, elements, position, variable, value)

    def _summarize(self, producer: _Producer) -> None:
        """Find what a producer's expression costs and reads, with what was fused into it."""
        order, counts = occurrences([producer.value])
        position = producer.position
        consumer = self.consumers.get(position, _Consumer())
        producer.flat = sum(counts.values()) + consumer.flat
        producer.size = sum(counts.values()) + consumer.size
        for node in order:
            attrs = node.attrs
            if node.op is ops.VAR and attrs["name"] == producer.variable:
                producer.uses += counts[node]
            elif node.op is ops.VAR:
                producer.change_at(_next(self.assigners.get(attrs["name"]), position))
            elif node.op is ops.VIEW and attrs["buffer"] not in consumer.fused:
                root = self.roots.get(attrs["buffer"], attrs["buffer"])
                producer.change_at(_next(self.writers.get(root), position))
                producer.change_at(_next(self.opaque, position))
            elif node.op.get_attr("TCostClass", "expensive") == "expensive":
                producer.expensive = True
        for read in self.references[position].reads:
            other = consumer.fused.get(read.buffer)
            if other is not None:
                producer.uses += read.occurrences * _variable_uses(read.index, producer.variable) * (other.uses - 1)
        for other in consumer.fused.values():
            producer.change_at(other.deadline)
            producer.expensive |= other.expensive
        if self.references[position].opaque:
            producer.change_at(position)

    def _fits(self, producer: _Producer) -> int | None:
        """Return the position of the statement that a producer may be fused into, or None."""
        (position,) = self.readers[producer.buffer]
        if producer.deadline <= position:
            return None
        consumer = self.consumers.get(position, _Consumer())
        total = 0
        for read in self._reads(producer, position):
            if read.trips is None or read.trips > producer.elements:
                return None
            total += read.trips * read.occurrences
            if read.buffer in consumer.read_inside or not read.nested_in.isdisjoint(consumer.fused):
                return None  # an index would be repeated with what it computes
            if producer.uses > 1 and _is_expensive(read.index):
                return None
        if producer.expensive and total > producer.elements:
            return None
        if consumer.size + self._growth(producer, position) - consumer.flat - producer.flat > GROWTH_LIMIT:
            return None
        return position

    def _reads(self, producer: _Producer, position: int) -> list[Read]:
        return [read for read in self.references[position].reads if read.buffer == producer.buffer]

    def _growth(self, producer: _Producer, position: int) -> int:
        """Return how many nodes the text of a statement gains when a producer replaces its loads."""
        gained = 0
        for read in self._reads(producer, position):
            gained += read.occurrences * (producer.size + producer.uses * (_text_size(read.index) - 1))
        return gained

    def _fuse(self, producer: _Producer, position: int) -> None:
        consumer = self.consumers.setdefault(position, _Consumer())
        consumer.size += self._growth(producer, position)
        consumer.flat += producer.flat
        consumer.fused[producer.buffer] = producer
        for read in self._reads(producer, position):
            consumer.read_inside |= read.nested_in

    def _rebuild(self, fused: dict[str, _Producer]) -> Node:
        """Return the procedure without the fused producers and their buffers."""
        gone = {producer.position for producer in fused.values()}
        expand = _Expansion(fused)
        body = []
        for position, statement in enumerate(self.body):
            if position in gone or (statement.op is ops.BUFFER and statement.attrs["name"] in fused):
                continue
            body.append(expand.statement(statement) if position in self.consumers else statement)
        return with_body(self.proc, body)


def _is_plain(declaration: Node) -> bool:
    attrs = declaration.attrs
    other = ("values", "elided", "alias_of", "workspace_offset")
    return attrs["address_space"] == "private" and not any([key in attrs for key in other])


def _reads_later(positions: list[int] | None, position: int) -> bool:
    return positions is not None and len(positions) == 1 and positions[0] > position


def _next(positions: list[int] | None, after: int) -> int:
    """Return the first of the sorted positions behind `after`."""
    if positions is None:
        return _NEVER
    place = bisect_right(positions, after)
    return positions[place] if place < len(positions) else _NEVER


def _variable_uses(index: Node, variable: str) -> int:
    order, counts = occurrences([index])
    return sum([counts[node] for node in order if node.op is ops.VAR and node.attrs["name"] == variable])


def _text_size(value: Node) -> int:
    return sum(occurrences([value])[1].values())


def _is_expensive(value: Node) -> bool:
    return any([node.op.get_attr("TCostClass", "expensive") == "expensive" for node in postorder(value)])


class _Expansion:
    """Rebuilds statements with the loads of fused buffers replaced by the expressions that filled them."""

    def __init__(self, fused: dict[str, _Producer]) -> None:
        self.fused = fused
        self.done: dict[tuple[Node, str | None, Node | None], Node] = {}

    def statement(self, root: Node) -> Node:
        """Return a statement, or nest of loops, with every scalar expanded; iterative over the nest."""
        built: list[list[Node]] = [[]]
        pending: list[tuple[Node, bool]] = [(root, False)]
        while pending:
            node, ready = pending.pop()
            if ready:
                built[-2].append(with_body(node, built.pop()))
            elif node.op is ops.FOR:
                built.append([])
                pending.append((node, True))
                pending.extend([(statement, False) for statement in reversed(body_of(node))])
            else:
                built[-1].append(node.replace(args=[self.scalar(operand) for operand in node.args]))
        return built[0][0]

    def scalar(self, root: Node) -> Node:
        """Return a scalar or view expanded; each (node, variable, index) is built once."""
        pending: list[tuple[Node, str | None, Node | None]] = [(root, None, None)]
        done = self.done
        while pending:
            task = pending[-1]
            if task in done:
                pending.pop()
                continue
            node, variable, index = task
            if node.op is ops.VAR:
                done[task] = index if index is not None and node.attrs["name"] == variable else node
                continue
            missing = [(arg, variable, index) for arg in node.args if (arg, variable, index) not in done]
            producer = self.fused.get(node.args[0].attrs["buffer"]) if node.op is ops.LOAD else None
            if producer is not None:
                at = (node.args[0].args[0], variable, index)
                if at not in done:
                    pending.append(at)
                    continue
                inner = (producer.value, producer.variable, done[at])
                if inner in done:
                    done[task] = done[inner]
                else:
                    pending.append(inner)
                continue
            if missing:
                pending.extend(missing)
                continue
            args = tuple([done[arg, variable, index] for arg in node.args])
            done[task] = intern_node(node.op, args, node.attrs, node.type)
        return done[root, None, None]
