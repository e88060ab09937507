"""Merge mapped stages, and what selects from their results, into loops over the trips; all of a procedure, or nothing.

Source of the conditions: lowering specification 3.4.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from scaly_ir.dialects.prog import build
from scaly_ir.dialects.prog.build import body_of, with_body
from scaly_ir.graph import Node
from scaly_ir.graph.observe import report_derived
from scaly_ir.pass_manager import Pass
from scaly_ir.passes.prog.buffer_uses import without_dead_buffers
from scaly_ir.passes.prog.faults import with_sound_procedures
from scaly_ir.passes.prog.fuse_ranges.alignment import Alignment
from scaly_ir.passes.prog.fuse_ranges.elements import Elements
from scaly_ir.passes.prog.fuse_ranges.indices import Indices
from scaly_ir.passes.prog.fuse_ranges.loops import loops, output
from scaly_ir.passes.prog.fuse_ranges.places import Places, Unfusible
from scaly_ir.passes.prog.fuse_ranges.region import Fill, Region
from scaly_ir.passes.prog.fuse_ranges.stages import Callee, callee, stages
from scaly_ir.passes.prog.index_values import tables_of
from scaly_ir.passes.prog.names import fresh_names, taken_names
from scaly_ir.passes.prog.references import Dependences, dependences_of
from scaly_ir.passes.prog.shapes import is_mapped_call


@dataclass(frozen=True)
class FuseRanges(Pass):
    """Merges mapped stages and their consumers."""

    name: ClassVar[str] = "fuse_ranges"
    summary: ClassVar[str] = "merge mapped scalar stages, and what reads their results, into loops over the trips"
    dialects: ClassVar[frozenset[str]] = frozenset({"prog"})

    def run(self, root: Node) -> Node:
        """Merge within each procedure."""
        callees: dict[str, Callee | None] = {}
        if not any([is_mapped_call(statement) for procedure in root.args for statement in body_of(procedure)]):
            return root
        procedures = []
        for dependences in dependences_of(root):
            procedures.append(_fused(dependences, callees))
            callees[dependences.procedure.attrs["name"]] = callee(dependences.procedure)
        return with_sound_procedures(root, procedures)


def _fused(dependences: Dependences, callees: Mapping[str, Callee | None]) -> Node:
    """Return a procedure with its stages merged, or the procedure itself."""
    procedure = dependences.procedure
    places = Places(procedure)
    found = list(stages(procedure, places, callees))
    if not found:
        return procedure
    try:
        region = Region(dependences, places, found)
        return without_dead_buffers(with_body(procedure, _body(dependences, places, region)))
    except Unfusible:
        return procedure


def _body(dependences: Dependences, places: Places, region: Region) -> list[Node]:
    """Return the statements of a procedure with those of a region merged."""
    taken = taken_names(dependences.procedure)
    trip = build.var(next(fresh_names(taken, "trip")))
    most = sum([len(member.stores) if member.stage is None else member.stage.size for member in region.members])
    fills = region.fills()
    elements = _elements(places, region, fills, trip, most)
    outputs = [
        output(kind, root, trips, at)
        for root in region.first
        if not region.vanishes(root)
        for kind, trips, at in elements.written(root)
    ]
    made = loops(outputs, trip, fresh_names(taken, "v"), 2 * len(region.members) + 2, most)
    gone = {member.position for member in region.members} | {fill.position for fill in fills if fill.vanishes}
    body = []
    for position, statement in enumerate(dependences.body):
        if position not in gone:
            body.append(statement)
        if position == region.last:
            report_derived(statement, *made)
            body += made
    return body


def _elements(places: Places, region: Region, fills: Sequence[Fill], trip: Node, most: int) -> Elements:
    """Return what a region leaves in each element, in terms of `trip`; `most` limits what is kept apart."""
    owners = places.roots.values()
    kept = [root for root in owners if root.attrs["name"] in region.first and not region.is_dead(root.attrs["name"])]
    elements = Elements(kept, Indices(owners, trip), tables_of(owners), most)
    for fill in fills:
        for store in fill.stores:
            elements.fill(store)
        if not fill.stores:
            for root in fill.roots:
                elements.forget(root)
    alignment = Alignment()
    for member in region.members:
        if member.stage is None:
            elements.write_nest(member.position, member.stores)
        else:
            elements.write_stage(member.position, member.stores, alignment.trips(member.stage))
    return elements
