"""The statements that are merged: stages, and all that reads what they produce, directly or not.

Owns which statements these are, and whether each may move down to where the last of them stands. What they compute is
not looked at here.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from scaly_ir.dialects.prog import ops
from scaly_ir.dialects.prog.affine import loop_values
from scaly_ir.dialects.prog.build import body_of
from scaly_ir.graph import Node, postorder
from scaly_ir.op import CallEffectKind
from scaly_ir.passes.prog.fuse_ranges.places import Places, Store, Unfusible
from scaly_ir.passes.prog.fuse_ranges.stages import Stage
from scaly_ir.passes.prog.references import Dependences, effect


@dataclass(slots=True)
class Member:
    """A statement that is merged."""

    position: int
    stores: list[Store]
    stage: Stage | None = None
    reads: frozenset[str] = field(init=False)
    """The owners of the storage that it reads."""
    writes: frozenset[str] = field(init=False)
    scalars: frozenset[str] = field(init=False)
    """The scalars of the procedure that it uses."""

    def __post_init__(self) -> None:
        nodes = postorder(*[operand for store in self.stores for operand in (store.index, store.value)])
        variables = {domain.attrs["name"] for loops in {store.loops for store in self.stores} for domain in loops}
        self.reads = frozenset([node.attrs["buffer"] for node in nodes if node.op is ops.VIEW])
        self.writes = frozenset([store.root for store in self.stores])
        self.scalars = frozenset([node.attrs["name"] for node in nodes if node.op is ops.VAR]) - variables


class Fill(NamedTuple):
    """A statement outside that writes what merged statements write, before any of these refers to it."""

    position: int
    roots: list[str]
    """What it writes of that."""
    stores: list[Store]
    """Its stores when all of them set constants; else none, and it may set anything."""
    vanishes: bool
    """Whether it sets temporaries alone, which are not needed any more."""


class Region:
    """The merged statements of a procedure; `Unfusible` when there is something among them that cannot be merged."""

    def __init__(self, dependences: Dependences, places: Places, stages: Iterable[Stage]) -> None:
        self._dependences = dependences
        self._places = places
        self._references = _references(dependences)
        self.members = self._collect([Member(stage.position, stage.stores, stage) for stage in stages])
        self.last = self.members[-1].position
        self._merged = {member.position for member in self.members}
        self._written: dict[str, list[int]] = {}
        self.first: dict[str, int] = {}
        """The first merged statement that refers to each buffer that merged statements write."""
        self._read: set[str] = set()
        produced = {root for member in self.members for root in member.writes}
        for member in self.members:
            self._read |= member.reads
            for root in sorted((member.reads | member.writes) & produced):
                self.first.setdefault(root, member.position)
        self._check_motion()

    def vanishes(self, root: str) -> bool:
        """Tell whether a buffer that merged statements write is a temporary: nothing else reads it."""
        return bool(self._places.roots[root].attrs["address_space"] == "private")

    def is_dead(self, root: str) -> bool:
        """Tell whether it is a temporary that merged statements do not read either."""
        return self.vanishes(root) and root not in self._read

    def fills(self) -> list[Fill]:
        """Return the statements outside that write what merged statements write, before they do, in order."""
        found: dict[int, Fill] = {}
        for root, first in self.first.items():
            for position in self._writers_outside(root):
                if position not in found:
                    found[position] = self._fill(position)
                fill = found[position]
                if first < position <= self.last or (self.vanishes(root) and not fill.vanishes):
                    raise Unfusible("another statement writes what merged ones write")
        return [found[position] for position in sorted(found) if position < self.last]

    def _fill(self, position: int) -> Fill:
        dependences = self._dependences
        roots = sorted({dependences.root(name) for name in dependences.statements[position].writes})
        try:
            stores = nest(dependences.body[position], self._places)
        except Unfusible:
            stores = []
        constant = all([store.value.op in (ops.CONST_INT, ops.CONST_FLOAT) for store in stores])
        if not constant or len({store.root for store in stores}) < len(stores):
            stores = []  # the stores of a nest take turns, so two into one buffer are no simple matter
        merged = [root for root in roots if root in self.first]
        return Fill(position, merged, stores, bool(stores) and all([self._is_temporary(root) for root in roots]))

    def _is_temporary(self, root: str) -> bool:
        return root in self.first and self.vanishes(root)

    # --- which statements ---------------------------------------------------------------------------------------------

    def _collect(self, members: list[Member]) -> list[Member]:
        """Return the members with all that reads what they write, in program order."""
        found = {member.position: member for member in members}
        pending = list(members)
        seen: set[str] = set()
        while pending:
            for root in sorted(pending.pop().writes - seen):
                seen.add(root)
                for position in self._references.get(root, []):
                    if position not in found:
                        stores = nest(self._dependences.body[position], self._places)
                        found[position] = member = Member(position, stores)
                        pending.append(member)
        return [found[position] for position in sorted(found)]

    # --- whether they may move ----------------------------------------------------------------------------------------

    def _check_motion(self) -> None:
        """Check that what each member reads is the same where the last one stands."""
        dependences, last = self._dependences, self.last
        if dependences.next_opaque(self.members[0].position - 1) <= last:
            raise Unfusible("an operator in between may change anything")
        for member in self.members:
            for root in [root for root in member.reads if root not in self.first]:
                written = self._writers_outside(root)
                place = bisect_right(written, member.position)
                if place < len(written) and written[place] <= last:
                    raise Unfusible("what a merged statement reads is written in between")
            for scalar in member.scalars:
                if dependences.next_assignment(scalar, member.position) <= last:
                    raise Unfusible("a scalar that a merged statement uses is assigned in between")

    def _writers_outside(self, root: str) -> list[int]:
        """Return the statements that write a buffer and are not merged; a call may say of a merged one that it does."""
        if root not in self._written:
            self._written[root] = [each for each in self._dependences.writers(root) if each not in self._merged]
        return self._written[root]


def nest(statement: Node, places: Places) -> list[Store]:
    """Return the stores of a nest of loops; `Unfusible` when it has others than constant loops and stores in it."""
    if statement.op not in (ops.FOR, ops.STORE):
        raise Unfusible("what is produced is read by something else than loops and stores")
    stores = []
    pending: list[tuple[Node, tuple[Node, ...]]] = [(statement, ())]
    while pending:
        node, loops = pending.pop()
        if node.op is ops.STORE:
            view, value = places.resolved(node.args[0]), places.resolved(node.args[1])
            stores.append(Store(loops, view.attrs["buffer"], view.args[0], value))
        elif node.op is ops.FOR:
            domain = node.args[0]
            if domain.attrs["kind"] == "reduce" or not loop_values(domain):
                raise Unfusible("a loop is a reduction, or does not certainly run")
            inside = (*loops, domain)
            pending.extend([(each, inside) for each in reversed(body_of(node))])
        else:
            raise Unfusible("a loop holds something else than stores")
    nodes = postorder(*[operand for store in stores for operand in (store.index, store.value)])
    if any([node.op is not ops.LOAD and effect(node.op) > CallEffectKind.Pure for node in nodes]):
        raise Unfusible("an operator does more than compute")
    return stores


def _references(dependences: Dependences) -> Mapping[str, list[int]]:
    """Return the statements that read the storage of each buffer, or pass it on, in order."""
    found: dict[str, list[int]] = {}
    for position, statement in enumerate(dependences.statements):
        for root in {dependences.root(name) for name in (*statement.reads, *statement.bound_reads, *statement.passed)}:
            found.setdefault(root, []).append(position)
    return found
