"""Substitute the expression that fills a buffer into the one statement that reads it, and delete buffer and loop.

Producers are judged in program order, on summaries, so that a chain of any length is fused in linear time; what remains
is then rebuilt once. Source of the conditions: lowering specification 3.7.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Final

from scaly_ir.counters import count
from scaly_ir.dialects.prog import ops
from scaly_ir.dialects.prog.build import with_body
from scaly_ir.dialects.prog.context import buffer_size
from scaly_ir.graph import Node
from scaly_ir.op import CallEffectKind
from scaly_ir.pass_manager import Pass
from scaly_ir.passes.prog.expansion import Expansion, Fill
from scaly_ir.passes.prog.faults import with_sound_procedures
from scaly_ir.passes.prog.references import (
    MANY,
    NEVER,
    Dependences,
    Read,
    dependences_of,
    effect,
    is_expensive,
    occurrences,
)
from scaly_ir.passes.prog.shapes import covers, is_inline_shaped, is_temporary, is_use

GROWTH_LIMIT: Final = 4096
"""The most nodes by which the text of a statement may outgrow that of all that was fused into it.

A cheap producer may be read any number of times; without a limit, a chain of squares would double at each step.
"""


@dataclass(frozen=True)
class FuseElementwise(Pass):
    """Substitute producers into their only consumers."""

    name: ClassVar[str] = "fuse_elementwise"
    summary: ClassVar[str] = "substitute the loop that fills a buffer into the only statement that reads it"
    dialects: ClassVar[frozenset[str]] = frozenset({"prog"})
    counters: ClassVar[Mapping[str, str]] = {"fused": "buffers whose producer went into their reader"}

    def run(self, root: Node) -> Node:
        """Fuse within each procedure; one in which that would show a fault of code that never runs stays."""
        return with_sound_procedures(root, [_Fusion(dependences).run() for dependences in dependences_of(root)])


@dataclass(slots=True)
class _Producer:
    """A loop that fills a temporary element by element, which only the statement at `consumer` reads.

    The fields with a default describe its expression with all that was fused into it.
    """

    buffer: str
    elements: int
    position: int
    consumer: int
    variable: str
    value: Node
    deadline: int = NEVER
    """The first statement behind it that changes something its expression reads."""
    expensive: bool = False
    size: int = 0
    """Nodes in its text."""
    uses: int = 0
    """Uses of the loop variable in its text."""


@dataclass(slots=True)
class _Fused:
    """What was fused into a statement so far."""

    producers: dict[str, _Producer] = field(default_factory=dict)
    growth: int = 0
    """The nodes by which its text outgrew that of all that was fused into it."""
    repeats_loads: bool = False
    """Whether an index that holds loads came to stand more than once."""
    expands_indices: bool = False
    """Whether a load in the index of another load was replaced."""


class _Fusion:
    """The fusion of one procedure."""

    def __init__(self, dependences: Dependences) -> None:
        self.dependences = dependences
        self.body = dependences.body
        self.temporaries = {d.attrs["name"]: d for d in self.body if d.op is ops.BUFFER and is_temporary(d)}
        self.fused: defaultdict[int, _Fused] = defaultdict(_Fused)
        self.fills: dict[str, Fill] = {}

    def run(self) -> Node:
        """Return the procedure with all producers fused that may be, or the procedure itself."""
        gone = set()
        for position, statement in enumerate(self.body):
            producer = self._producer(position, statement)
            if producer is None:
                continue
            self._describe(producer)
            if self._keeps_values(producer) and self._repeats_no_work(producer):
                self._fuse(producer)
                count("fused")
                gone.add(position)
        return self._rebuild(gone) if gone else self.dependences.procedure

    # --- what is a producer -------------------------------------------------------------------------------------------

    def _producer(self, position: int, statement: Node) -> _Producer | None:
        """Return a statement as a producer: the only writer of a whole temporary that one later statement reads."""
        if not is_inline_shaped(statement) or statement.args[0].attrs["kind"] == "reduce":
            return None
        dependences = self.dependences
        domain, store = statement.args
        view, value = store.args
        name = view.attrs["buffer"]
        declaration = self.temporaries.get(name)
        if declaration is None or name in dependences.tied or dependences.statements[position].opaque:
            return None
        elements = buffer_size(declaration)
        if elements is None or not covers(domain, declaration) or dependences.writers(name) != [position]:
            return None
        readers = dependences.readers.get(name, [])
        if len(readers) != 1 or readers[0] <= position:
            return None
        return _Producer(name, elements, position, readers[0], domain.attrs["name"], value)

    def _describe(self, producer: _Producer) -> None:
        """Fill in what the expression of a producer holds, with what was fused into it."""
        fused = self.fused[producer.position].producers
        order, _ = occurrences([producer.value])
        counts = {producer.value: 1}
        for node in order:
            count = counts.get(node, 0)
            if count == 0:  # the place of a replaced load, or an index that is used no more
                continue
            operands: tuple[Node, ...] = node.args
            other = fused.get(operands[0].attrs["buffer"]) if node.op is ops.LOAD else None
            if other is None:
                producer.size += count
                producer.expensive |= is_expensive(node.op)
                producer.deadline = min(producer.deadline, self._next_change(node, producer))
                if is_use(node, producer.variable):
                    producer.uses += count
            else:
                producer.size += count * (other.size - other.uses)
                producer.expensive |= other.expensive
                producer.deadline = min(producer.deadline, other.deadline)
                operands, count = operands[0].args, count * other.uses
            for operand in operands:
                counts[operand] = min(counts.get(operand, 0) + count, MANY)

    def _next_change(self, node: Node, producer: _Producer) -> int:
        """Return the first statement behind a producer that changes what a node of its expression stands for."""
        if node.op is ops.VIEW:
            return self.dependences.next_write(node.attrs["buffer"], producer.position)
        if node.op is ops.VAR and not is_use(node, producer.variable):
            return self.dependences.next_assignment(node.attrs["name"], producer.position)
        if effect(node.op) > CallEffectKind.Pure:
            return self.dependences.next_opaque(producer.position)
        return NEVER

    # --- when it is fused ---------------------------------------------------------------------------------------------

    def _keeps_values(self, producer: _Producer) -> bool:
        """Tell whether the expression has the same value where the buffer is read."""
        return producer.deadline > producer.consumer and not self.dependences.statements[producer.consumer].opaque

    def _repeats_no_work(self, producer: _Producer) -> bool:
        """Tell whether the expression, evaluated for each load, costs no more than to fill the buffer.

        That holds for the indices it is evaluated at as well: one that the expression repeats must be cheap. Reads are
        counted in the statement as it was, so where an index with loads is repeated, none of these is replaced too.
        """
        reads, fused = self._reads(producer), self.fused[producer.consumer]
        total = 0
        for read in reads:
            if read.trips is None or read.trips > producer.elements:
                return False
            total += read.trips * read.occurrences
        if producer.expensive and total > producer.elements:
            return False
        if producer.uses > 1 and any([self._is_dear(read, fused) for read in reads]):
            return False
        if fused.repeats_loads and any([read.in_index for read in reads]):
            return False
        return fused.growth + self._growth(producer) <= GROWTH_LIMIT

    @staticmethod
    def _is_dear(read: Read, fused: _Fused) -> bool:
        """Tell whether an index may not be repeated: it is expensive, or may have become so."""
        return read.index.expensive or (read.index.loads and fused.expands_indices)

    def _reads(self, producer: _Producer) -> list[Read]:
        return self.dependences.statements[producer.consumer].reads[producer.buffer]

    def _growth(self, producer: _Producer) -> int:
        """Return by how many nodes the text grows when the expression takes the place of the buffer."""
        added = 0
        for read in self._reads(producer):
            load = 2 + read.index.size
            added += read.occurrences * (producer.size + producer.uses * (read.index.size - 1) - load)
        return self.fused[producer.position].growth + max(added - producer.size, 0)

    def _fuse(self, producer: _Producer) -> None:
        fused = self.fused[producer.consumer]
        fused.growth += self._growth(producer)
        fused.producers[producer.buffer] = producer
        self.fills[producer.buffer] = Fill(producer.variable, producer.value)
        for read in self._reads(producer):
            fused.repeats_loads |= producer.uses > 1 and read.index.loads
            fused.expands_indices |= read.in_index

    def _rebuild(self, gone: set[int]) -> Node:
        """Return the procedure without the fused loops and their buffers."""
        expansion = Expansion(self.fills)
        body = []
        for position, statement in enumerate(self.body):
            if position in gone or (statement.op is ops.BUFFER and statement.attrs["name"] in self.fills):
                continue
            body.append(expansion.statement(statement) if self.fused[position].producers else statement)
        return with_body(self.dependences.procedure, body)
