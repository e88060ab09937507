"""Replace the loops of small procedures by scalar statements: the value of each output element, and a store of it.

Decided here is which procedures, and what that may cost; running them is the business of `symbolic`. Source: lowering
specification 3.2 and 4.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from scaly_ir.dialects.prog import build, ops
from scaly_ir.dialects.prog.build import body_of, params_of, with_body
from scaly_ir.dialects.prog.context import buffer_size
from scaly_ir.graph import Node, postorder
from scaly_ir.pass_manager import Pass
from scaly_ir.passes.prog.budgets import EXPANSION_WORK, PROCEDURE_OPERATIONS, PROGRAM_SCALARS, REQUESTED_WORK
from scaly_ir.passes.prog.names import names_for
from scaly_ir.passes.prog.references import statements
from scaly_ir.passes.prog.sharing import share
from scaly_ir.passes.prog.symbolic import SymbolicMachine, can_run
from scaly_ir.remarks import remark
from scaly_ir.text.spelling import spell_name


@dataclass(frozen=True)
class Scalarize(Pass):
    """Expands procedures whose `scalarize_mode` asks for it, as far as hints and budgets allow, callees first."""

    name: ClassVar[str] = "scalarize"
    summary: ClassVar[str] = "run small procedures at compile time and keep scalar statements"
    dialects: ClassVar[frozenset[str]] = frozenset({"prog"})

    def run(self, root: Node) -> Node:
        """Expand procedures; the last one, the entry, only if its hint says so."""
        expander = _Expander()
        entry = len(root.args) - 1
        return root.replace(
            args=[expander.expanded(procedure, is_entry=at == entry) for at, procedure in enumerate(root.args)]
        )


class _Expander:
    """Expands the procedures of one program, which share a budget."""

    def __init__(self) -> None:
        self._machine = SymbolicMachine()
        self._expandable: dict[str, Node] = {}
        """Procedures that may be run as a part of their callers."""
        self._spent = 0
        """Operations, declarations and stores of all that is expanded."""

    def expanded(self, procedure: Node, *, is_entry: bool) -> Node:
        """Return a procedure as scalar statements, or the procedure itself.

        One that is expanded already counts, but is not what its callers were judged by: they have had their turn.
        """
        attrs = procedure.attrs
        if "scalarized" in attrs:
            self._spent += _scalars_in(body_of(procedure))
            return procedure
        hint = attrs.get("lowering", "auto")
        limited = hint != "scalar"
        if attrs.get("scalarize_mode", "disabled") == "disabled" or hint == "block" or (is_entry and limited):
            return procedure
        if not can_run(procedure, self._expandable):
            return procedure
        if self._machine.add(procedure) > (EXPANSION_WORK if limited else REQUESTED_WORK):
            if not limited:
                remark(f"@{spell_name(attrs['name'])} keeps its loops: they run too often to become scalar statements")
            return procedure
        result = procedure if attrs["scalarize_mode"] == "inline" else self._as_scalars(procedure, limited=limited)
        if result is not None:
            self._expandable[attrs["name"]] = procedure
        return procedure if result is None else result

    def _as_scalars(self, procedure: Node, *, limited: bool) -> Node | None:
        """Return a procedure as scalar statements; None where its values are not known, or too many."""
        values = self._machine.outputs(procedure.attrs["name"])
        if values is None or (limited and _operations(values) > PROCEDURE_OPERATIONS):
            return None
        bare = with_body(procedure, [])
        shared = share(values, names_for(bare, "v"))
        outputs = params_of(procedure)[procedure.attrs["input_count"] :]
        places = [build.view(param, at) for param in outputs for at in range(buffer_size(param) or 0)]
        stores = [build.store(place, value) for place, value in zip(places, shared.values, strict=True)]
        body = [*shared.definitions, *stores]
        scalars = _scalars_in(body)
        if limited and self._spent + scalars > PROGRAM_SCALARS:
            return None
        self._spent += scalars
        return with_body(bare, body).with_attrs(scalarized=True)


def _operations(values: Iterable[Node]) -> int:
    """Count the distinct operations that values consist of."""
    return sum([not node.op.get_attr("TStructural", False) for node in postorder(*values)])


def _scalars_in(body: Iterable[Node]) -> int:
    """Count the operations, declarations and stores of scalar statements."""
    listed = [statement for root in body for statement, _ in statements(root)]
    declarations = sum([statement.op is ops.ASSIGN for statement in listed])
    stores = sum([len(statement.args) - 1 for statement in listed if statement.op in (ops.STORE, ops.STORE_PAIR)])
    return _operations([operand for statement in listed for operand in statement.args]) + declarations + stores
