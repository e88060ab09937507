"""Let temporaries share storage when their lifetimes do not overlap, and move big ones to the caller's workspace.

Lifetimes are counted in top-level statements, accesses through aliases as those of the owner. Slots are handed out in
the order of first writes, each time the earliest that is free: linear-scan register allocation. Source: lowering
specification 3.13.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import ClassVar, Final

from scaly_ir.dialects.prog import build, ops
from scaly_ir.dialects.prog.build import with_body
from scaly_ir.graph import Node, intern_node
from scaly_ir.graph.observe import report_derived, report_rebuilt
from scaly_ir.pass_manager import Pass
from scaly_ir.passes.prog.names import names_for
from scaly_ir.passes.prog.references import Dependences, References, dependences_of
from scaly_ir.types import FLOAT64, DType

SPILL: Final = 1024
"""The least number of elements of a float64 slot that lies in the workspace."""


@dataclass(frozen=True)
class PackWorkspace(Pass):
    """Packs private buffers into slots, the big ones into the workspace, and states the workspace that each needs."""

    name: ClassVar[str] = "pack_workspace"
    summary: ClassVar[str] = "share storage between temporaries; move big ones to the workspace"
    dialects: ClassVar[frozenset[str]] = frozenset({"prog"})

    def run(self, root: Node) -> Node:
        """Return the module with packed procedures; one that calls what is not defined here stays as it is."""
        needs: dict[str, int] = {}
        procedures = []
        for procedure, dependences in zip(root.args, dependences_of(root), strict=True):
            packed = _Packing(dependences, needs).packed()
            if packed is not None:
                needs[procedure.attrs["name"]] = packed.attrs["sz_w"]
            procedures.append(procedure if packed is None else packed)
        return root.replace(args=procedures)


@dataclass(slots=True)
class _Lifetime:
    """The statements between which a buffer holds something, by position; never written while `written` is False."""

    first: int
    last: int
    written: bool = False


@dataclass(slots=True)
class _Slot:
    """Storage that buffers share one after another."""

    name: str
    dtype: DType
    size: int
    declaration: Node = field(init=False)


class _Packing:
    """Packs one procedure; `needs` are the workspaces of its callees."""

    def __init__(self, dependences: Dependences, needs: Mapping[str, int]) -> None:
        self._dependences = dependences
        self._procedure = dependences.procedure
        self._needs = needs
        self._packable = {node.attrs["name"]: node for node in dependences.body if _is_packable(node)}
        """The declarations of buffers that may share a slot."""
        self._slots: list[_Slot] = []
        self._slot_of: dict[str, _Slot] = {}

    def packed(self) -> Node | None:
        """Return the procedure on slots, or None when it calls what nobody knows."""
        statements = build.statements_in(self._procedure)
        callees = [statement.attrs["callee"] for statement in statements if statement.op is ops.CALL]
        if not self._needs.keys() >= set(callees):
            return None
        self._assign_slots()
        own = self._declare_slots()
        header = {"w_self": own, "sz_w": own + max([self._needs[callee] for callee in callees], default=0)}
        body = list(self._rewritten(own))
        return with_body(self._procedure, body).with_attrs(**header)

    # --- lifetimes ----------------------------------------------------------------------------------------------------

    def _lifetimes(self) -> dict[str, _Lifetime]:
        """Return the lifetime of each private buffer with storage of its own, in the order of declarations."""
        found: dict[str, _Lifetime] = {}
        wanted = self._packable.keys()
        for position, refs in enumerate(self._dependences.statements):
            for name in sorted(self._roots(_accessed(refs)) & wanted):
                lifetime = found.setdefault(name, _Lifetime(position, position))
                lifetime.last = position
            for name in self._roots(refs.writes) & wanted:
                found[name].written = True
        for name, position in self._kept_for_calls().items():
            if name in found:
                found[name].last = max(found[name].last, position)
        return found

    def _roots(self, names: set[str]) -> set[str]:
        return {self._dependences.root(name) for name in names}

    def _kept_for_calls(self) -> dict[str, int]:
        """Return the last call that each buffer contributed to an argument of: until then it is kept."""
        kept: dict[str, int] = {}
        for position in range(len(self._dependences.body) - 1, -1, -1):
            refs = self._dependences.statements[position]
            read = self._roots({*refs.reads, *refs.bound_reads, *refs.passed})
            until = max([kept.get(name, -1) for name in self._roots(refs.writes)], default=-1)
            for name in read:
                kept[name] = max(kept.get(name, -1), until, position if refs.passed else -1)
        return kept

    # --- slots --------------------------------------------------------------------------------------------------------

    def _assign_slots(self) -> None:
        lifetimes = {name: life for name, life in self._lifetimes().items() if life.written}
        names = names_for(self._procedure, "s")
        free: dict[DType, list[int]] = {}
        busy: list[tuple[int, int]] = []
        for name, life in sorted(lifetimes.items(), key=lambda item: (item[1].first, item[0])):
            while busy and busy[0][0] < life.first:
                number = heappop(busy)[1]
                heappush(free.setdefault(self._slots[number].dtype, []), number)
            declared = self._packable[name]
            waiting = free.get(declared.type)
            if waiting:
                number = heappop(waiting)
            else:
                number = len(self._slots)
                self._slots.append(_Slot(next(names), declared.type, 0))
            slot = self._slot_of[name] = self._slots[number]
            slot.size = max(slot.size, math.prod(declared.attrs["shape"]))
            heappush(busy, (life.last, number))

    def _declare_slots(self) -> int:
        """Make the declarations of slots and return how much workspace the procedure uses itself."""
        offset = int(self._procedure.attrs.get("w_self", 0))
        for slot in self._slots:
            if slot.dtype is FLOAT64 and slot.size >= SPILL:
                slot.declaration = build.workspace(slot.name, slot.size, offset)
                offset += slot.size
            else:
                slot.declaration = build.buffer(slot.name, slot.size, slot.dtype)
        return offset

    # --- the new body -------------------------------------------------------------------------------------------------

    def _rewritten(self, own: int) -> Iterator[Node]:
        """Yield the statements on slots, each slot declared before the first that refers to it."""
        declared: set[str] = set()
        done: dict[Node, Node] = {}
        for statement, refs in zip(self._dependences.body, self._dependences.statements, strict=True):
            if statement.op is ops.BUFFER and statement.attrs["name"] in self._slot_of:
                continue
            named = sorted(_accessed(refs)) if statement.op is not ops.BUFFER else [statement.attrs.get("alias_of", "")]
            for name in named:
                slot = self._slot_of.get(name)
                if slot is not None and slot.name not in declared:
                    declared.add(slot.name)
                    report_derived(self._packable[name], slot.declaration)
                    yield slot.declaration
            yield self._renamed(statement, own, done)

    def _renamed(self, root: Node, own: int, done: dict[Node, Node]) -> Node:
        """Return a statement with buffers replaced by their slots, and calls told about the workspace."""
        pending = [root]
        while pending:
            node = pending[-1]
            missing = [operand for operand in node.args if operand not in done]
            if missing and node not in done:
                pending.extend(missing)
                continue
            pending.pop()
            if node not in done:
                args = tuple([done[operand] for operand in node.args])
                done[node] = self._on_slot(node, args, own)
                report_rebuilt(node, done[node])
        return done[root]

    def _on_slot(self, node: Node, args: tuple[Node, ...], own: int) -> Node:
        attrs = node.attrs
        if node.op is ops.BUFFER:
            slot = self._slot_of.get(attrs["name"])
            source = self._slot_of.get(attrs.get("alias_of", ""))
            return slot.declaration if slot else node if source is None else node.with_attrs(alias_of=source.name)
        made = node if args == node.args else intern_node(node.op, args, attrs, node.type)
        if node.op is ops.VIEW and attrs["buffer"] in self._slot_of:
            return made.with_attrs(buffer=self._slot_of[attrs["buffer"]].name)
        if node.op is ops.CALL:
            return made.with_attrs(callee_needs_w=self._needs[attrs["callee"]] > 0, w_self=own)
        return made


def _is_packable(node: Node) -> bool:
    attrs = node.attrs
    if node.op is not ops.BUFFER or attrs["address_space"] != "private":
        return False
    return not {"alias_of", "workspace_offset", "values", "elided"} & attrs.keys()


def _accessed(refs: References) -> set[str]:
    return {*refs.reads, *refs.bound_reads, *refs.writes, *refs.passed}
