"""Write two adjacent elements with one statement.

Both values of a pair are computed before either is written, so the second may not read what the first statement writes.
Linear in the text of statements and in the graph of their values. Source: lowering specification 3.14.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from scaly_ir.dialects.prog import build, ops
from scaly_ir.dialects.prog.build import body_of, with_body
from scaly_ir.graph import Node
from scaly_ir.graph.observe import report_derived
from scaly_ir.graph.walk import topovisit
from scaly_ir.op import CallEffectKind
from scaly_ir.pass_manager import Pass
from scaly_ir.passes.prog.nests import rewritten
from scaly_ir.passes.prog.references import effect, roots
from scaly_ir.types import FLOAT64


@dataclass(frozen=True)
class CoalesceStores(Pass):
    """Pairs stores of adjacent elements."""

    name: ClassVar[str] = "coalesce_stores"
    summary: ClassVar[str] = "write two adjacent elements with one statement"
    dialects: ClassVar[frozenset[str]] = frozenset({"prog"})

    def run(self, root: Node) -> Node:
        """Pair stores in each procedure, in loops too."""
        return root.replace(args=[_Pairing(procedure).run() for procedure in root.args])


class _Pairing:
    """The pairing of stores in one procedure."""

    def __init__(self, procedure: Node) -> None:
        self._procedure = procedure
        self._roots = roots(procedure)
        self._readers: dict[str, dict[Node, bool]] = {}
        """By the owner of storage, whether a scalar may read from it."""

    def run(self) -> Node:
        """Return the procedure with pairs, or the procedure itself."""
        return with_body(self._procedure, rewritten(body_of(self._procedure), statements=self._paired))

    def _paired(self, body: list[Node]) -> list[Node]:
        """Return a list of statements with adjacent stores paired, from the top."""
        paired: list[Node] = []
        for statement in body:
            if paired and self._is_pair(paired[-1], statement):
                before = paired.pop()
                (view, first), second = before.args, statement.args[1]
                paired.append(build.store_pair(view, first, second))
                report_derived(before, paired[-1])
            else:
                paired.append(statement)
        return paired

    def _is_pair(self, first: Node, second: Node) -> bool:
        """Tell whether two statements write adjacent doubles, and the second computes the same before the first."""
        if first.op is not ops.STORE or second.op is not ops.STORE or first.type is not FLOAT64:
            return False
        buffer, index = _place(first)
        return index is not None and _place(second) == (buffer, index + 1) and not self._reads(second.args[1], buffer)

    def _reads(self, value: Node, buffer: str) -> bool:
        """Tell whether a scalar may read from the storage behind a buffer."""
        root = self._roots.get(buffer, buffer)

        def visit(node: Node) -> bool:
            if node.op is ops.LOAD:
                read = node.args[0].attrs["buffer"]
                reads = self._roots.get(read, read) == root
            else:
                reads = effect(node.op) > CallEffectKind.Pure  # nobody says what else it may read
            return reads or any([known[operand] for operand in node.args])

        known = self._readers.setdefault(root, {})
        return topovisit(value, visit, known)


def _place(store: Node) -> tuple[str, int | None]:
    """Return the buffer a store writes to, and the constant index of the element, if it is one."""
    view = store.args[0]
    index = view.args[0]
    return view.attrs["buffer"], index.attrs["value"] if index.op is ops.CONST_INT else None
