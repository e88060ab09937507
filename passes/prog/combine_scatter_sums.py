"""Add scattered pieces to the sum itself, one loop for each, where each had a buffer full of zeros of its own.

Sums are judged in program order, each on what is known of its left operand, so that a sum of any number of pieces takes
linear time. Source: lowering specification 3.6.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

import numpy as np

from scaly_ir.counters import count
from scaly_ir.dialects.prog import build, ops
from scaly_ir.dialects.prog.affine import trip_count
from scaly_ir.dialects.prog.build import body_of, with_body
from scaly_ir.dialects.prog.context import buffer_size
from scaly_ir.graph import Node
from scaly_ir.graph.observe import report_derived
from scaly_ir.numeric.table import scalar_name
from scaly_ir.pass_manager import Pass
from scaly_ir.passes.prog.index_values import MOST_TRIPS, Array, index_values, loop_arrays, tables_of
from scaly_ir.passes.prog.references import NEVER, Dependences, dependences_of
from scaly_ir.passes.prog.shapes import covers, is_inline_shaped, is_temporary, is_use


@dataclass(frozen=True)
class CombineScatterSums(Pass):
    """Replaces sums of scatters into zeros by one buffer of zeros that all of them add to."""

    name: ClassVar[str] = "combine_scatter_sums"
    summary: ClassVar[str] = "add scattered pieces to one buffer instead of summing buffers full of zeros"
    dialects: ClassVar[frozenset[str]] = frozenset({"prog"})
    counters: ClassVar[Mapping[str, str]] = {"combined": "scatters that no longer have a buffer of their own"}

    def run(self, root: Node) -> Node:
        """Combine the sums of each procedure."""
        if not any([_sets_zeros(statement) for procedure in root.args for statement in body_of(procedure)]):
            return root
        return root.replace(args=[_Combination(dependences).run() for dependences in dependences_of(root)])


class _Leaf(NamedTuple):
    """A temporary that is filled with zeros and then receives a piece; by position of the statements."""

    buffer: str
    fill: int
    scatter: int
    piece: Node
    """The load of the piece's element."""
    destinations: Array
    """The elements that are written, in order."""
    repeats: bool
    """Whether an element is added to more than once."""
    deadline: int
    """The first statement behind the scatter before which it may not be moved."""


class _Sum(NamedTuple):
    """A loop that fills a buffer with the sums of the elements of two others."""

    position: int
    target: str
    size: int
    left: str
    right: str


@dataclass(slots=True)
class _Chain:
    """A sum of leaves from left to right; `sums` are the loops that compute it, the last of which fills the result."""

    leaves: list[_Leaf] = field(default_factory=list)
    sums: list[_Sum] = field(default_factory=list)
    deadline: int = NEVER
    written: Array | None = None
    """Which elements the leaves write, once that was asked."""

    def takes(self, leaf: _Leaf, total: _Sum) -> bool:
        """Tell whether a leaf may be added to the result of earlier ones where `total` stands."""
        if min(self.deadline, leaf.deadline) <= total.position:
            return False
        return not leaf.repeats or not self._overlaps(leaf, total.size)

    def _overlaps(self, leaf: _Leaf, size: int) -> bool:
        """Tell whether a leaf writes what an earlier one writes; yes, if there are too many elements to know."""
        if size > MOST_TRIPS:
            return True
        if self.written is None:
            self.written = np.zeros(size, np.bool_)
            for earlier in self.leaves:
                self.written[earlier.destinations] = True
        return bool(self.written[leaf.destinations].any())

    def append(self, leaf: _Leaf) -> None:
        """Add a leaf."""
        self.leaves.append(leaf)
        self.deadline = min(self.deadline, leaf.deadline)
        if self.written is not None:
            self.written[leaf.destinations] = True


class _Combination:
    """The combination of the sums of one procedure."""

    def __init__(self, dependences: Dependences) -> None:
        self.dependences = dependences
        self.body = dependences.body
        self.declared = {node.attrs["name"]: node for node in dependences.procedure.args if node.op is ops.BUFFER}
        self.tables = tables_of(self.body)
        self.chains: dict[str, _Chain] = {}
        """By the buffer that holds the result."""

    def run(self) -> Node:
        """Return the procedure with all sums combined that may be, or the procedure itself."""
        for position, statement in enumerate(self.body):
            total = self._sum(position, statement)
            if total is not None:
                self._combine(total)
        return self._rebuilt() if self.chains else self.dependences.procedure

    def _combine(self, total: _Sum) -> None:
        """Make a chain that ends in a sum: its right operand is a leaf, its left one a leaf or a chain.

        Where one of several scatters may not be combined, none is; a sum of scatters stands by itself only when what it
        is added to is something else.
        """
        chain = self._chain(total)
        if chain is None:
            return
        last = self._leaf(total.right, total)
        if last is not None and chain.takes(last, total):
            chain.append(last)
            chain.sums.append(total)
            self.chains.pop(total.left, None)
            self.chains[total.target] = chain
        elif total.right in self.chains or self._is_scattered(total.right):
            for operand in (total.left, total.right):
                self.chains.pop(operand, None)

    def _chain(self, total: _Sum) -> _Chain | None:
        """Return the left operand of a sum as a chain, or None when it is none."""
        chain = self.chains.get(total.left)
        if chain is not None:
            return chain if self._is_summand(total.left, [total.position], total) else None
        leaf = self._leaf(total.left, total)
        if leaf is None:
            return None
        chain = _Chain()
        chain.append(leaf)
        return chain

    # --- what there is ------------------------------------------------------------------------------------------------

    def _sum(self, position: int, statement: Node) -> _Sum | None:
        """Return a statement as a sum: the only writer of a whole buffer, element by element."""
        if not is_inline_shaped(statement):
            return None
        domain, store = statement.args
        view, value = store.args
        target = self.declared[view.attrs["buffer"]]
        size, name = buffer_size(target), target.attrs["name"]
        if size is None or not covers(domain, target) or self.dependences.writers(name) != [position]:
            return None
        if scalar_name(value.op) != "add" or not all([_is_load_at(read, domain.attrs["name"]) for read in value.args]):
            return None
        left, right = [read.args[0].attrs["buffer"] for read in value.args]
        return _Sum(position, name, size, left, right) if left != right else None

    def _is_summand(self, name: str, readers: list[int], total: _Sum) -> bool:
        """Tell whether a buffer may go: a temporary of the size of the sum that is read by these statements alone."""
        node, dependences = self.declared[name], self.dependences
        if not is_temporary(node) or name in dependences.tied or buffer_size(node) != total.size:
            return False
        return dependences.readers.get(name, []) == readers

    def _is_scattered(self, name: str) -> bool:
        """Tell whether a buffer is filled with zeros and then written once more."""
        writers = self.dependences.writers(name)
        return len(writers) == 2 and _is_zero_fill(self.body[writers[0]], self.declared[name])

    def _leaf(self, name: str, total: _Sum) -> _Leaf | None:
        """Return an operand of a sum as a leaf, or None when it is none."""
        if not self._is_scattered(name):
            return None
        fill, scatter = self.dependences.writers(name)
        node = self.body[scatter]
        if scatter > total.position or node.op is not ops.FOR or len(node.args) != 2:
            return None
        domain, store = node.args
        piece = _piece(domain, store)
        if piece is None or piece.args[0].attrs["buffer"] == name:
            return None
        adds = store.args[1] is not piece
        if not self._is_summand(name, [scatter, total.position] if adds else [total.position], total):
            return None
        destinations = self._destinations(domain, store.args[0].args[0], total.size)
        if destinations is None:
            return None
        repeats = len(np.unique(destinations)) < len(destinations)
        if repeats and not adds:
            return None
        return _Leaf(name, fill, scatter, piece, destinations, repeats, self._deadline(piece, fill, scatter))

    def _destinations(self, domain: Node, index: Node, size: int) -> Array | None:
        """Return the indices that a loop stores at, in order, or None when they are not known or outside."""
        arrays = loop_arrays([domain])
        found = None if arrays is None else index_values(index, arrays, self.tables)
        if found is None or found.size == 0 or found.min() < 0 or found.max() >= size:
            return None
        return np.broadcast_to(found, trip_count(domain) or 0)

    def _deadline(self, piece: Node, fill: int, scatter: int) -> int:
        """Return the statement that a leaf cannot be moved behind.

        It changes the piece, or gives a scalar the name of a loop variable of the leaf, which would then be taken.
        """
        dependences = self.dependences
        variables = {position: self.body[position].args[0].attrs["name"] for position in (fill, scatter)}
        return min(
            dependences.next_write(piece.args[0].attrs["buffer"], scatter),
            dependences.next_opaque(scatter),
            *[dependences.next_assignment(name, position) for position, name in variables.items()],
        )

    # --- the new body -------------------------------------------------------------------------------------------------

    def _rebuilt(self) -> Node:
        """Return the procedure with each chain where its last sum was, and without what it has replaced."""
        replaced: dict[int, list[Node]] = {}
        gone: set[str] = set()
        for name, chain in self.chains.items():
            count("combined", len(chain.leaves))
            gone.update([leaf.buffer for leaf in chain.leaves], [total.target for total in chain.sums[:-1]])
            positions = [total.position for total in chain.sums]
            for leaf in chain.leaves:
                positions += [leaf.fill, leaf.scatter]
            replaced.update([(position, []) for position in positions])
            replaced[chain.sums[-1].position] = self._accumulation(chain, self.declared[name])
        body: list[Node] = []
        for position, statement in enumerate(self.body):
            if statement.op is not ops.BUFFER or statement.attrs["name"] not in gone:
                body += replaced.get(position, [statement])
        return with_body(self.dependences.procedure, body)

    def _accumulation(self, chain: _Chain, target: Node) -> list[Node]:
        """Return the loops that set a buffer to zero and add each leaf to it."""
        fill = self.body[chain.leaves[0].fill]
        where, zero = fill.args[1].args
        loops = [with_body(fill, [build.store(build.view(target, where.args[0]), zero)])]
        report_derived(fill, *loops)
        for leaf in chain.leaves:
            scatter = self.body[leaf.scatter]
            element = build.view(target, scatter.args[1].args[0].args[0])
            added = build.apply("add", build.load(element), leaf.piece)
            loops.append(with_body(scatter, [build.store(element, added)]))
            report_derived(scatter, loops[-1])
        return loops


def _is_zero_fill(statement: Node, target: Node) -> bool:
    """Tell whether a statement sets all elements of a buffer to zero, which has no sign."""
    return _sets_zeros(statement) and covers(statement.args[0], target)


def _sets_zeros(statement: Node) -> bool:
    if not is_inline_shaped(statement):
        return False
    value = statement.args[1].args[1]
    return value is build.const(0, value.type)


def _piece(domain: Node, store: Node) -> Node | None:
    """Return the load whose value a store in a loop writes or adds to what is there; None for other statements."""
    if store.op is not ops.STORE:
        return None
    view, value = store.args
    operands = [value]
    if scalar_name(value.op) == "add":
        operands = [operand for operand in value.args if operand is not build.load(view)]
    if len(operands) != 1 or not _is_load_at(operands[0], domain.attrs["name"]):
        return None
    return operands[0]


def _is_load_at(node: Node, variable: str) -> bool:
    return node.op is ops.LOAD and is_use(node.args[0].args[0], variable)
