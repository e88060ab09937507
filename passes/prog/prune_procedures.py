"""Remove the procedures that the entry does not reach. Source: lowering specification 3.5."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from scaly_ir.counters import count
from scaly_ir.graph import Node
from scaly_ir.pass_manager import Pass
from scaly_ir.passes.prog.procedures import callees_of, with_procedures


@dataclass(frozen=True)
class PruneProcedures(Pass):
    """Keeps the last procedure and those it calls, directly or not."""

    name: ClassVar[str] = "prune_procedures"
    summary: ClassVar[str] = "remove the procedures that the entry does not call, directly or not"
    dialects: ClassVar[frozenset[str]] = frozenset({"prog"})
    counters: ClassVar[Mapping[str, str]] = {"removed": "procedures that the entry does not reach"}

    def run(self, root: Node) -> Node:
        """Return the module without unreachable procedures, the others in their order."""
        wanted = {procedure.attrs["name"] for procedure in root.args[-1:]}
        kept = []
        for procedure in reversed(root.args):  # callers stand behind what they call
            if procedure.attrs["name"] in wanted:
                kept.append(procedure)
                wanted.update(callees_of(procedure))
        count("removed", len(root.args) - len(kept))
        return with_procedures(root, reversed(kept))
