"""Name, before each statement, what it uses more than once and what lies deep in it, so that C computes it once.

Nothing moves across a statement, so a load sees what it saw. Source: lowering specification 3.15.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from scaly_ir.dialects.prog import ops
from scaly_ir.dialects.prog.build import body_of, with_body
from scaly_ir.graph import Node
from scaly_ir.pass_manager import Pass
from scaly_ir.passes.prog.names import names_for
from scaly_ir.passes.prog.nests import rewritten
from scaly_ir.passes.prog.sharing import share


@dataclass(frozen=True)
class PrepareScalar(Pass):
    """Names shared and deep scalars of stores, assignments and the offsets of calls; bounds of loops keep theirs."""

    name: ClassVar[str] = "prepare_scalar"
    summary: ClassVar[str] = "name scalars that a statement uses more than once, or that lie deep in it"
    dialects: ClassVar[frozenset[str]] = frozenset({"prog"})

    def run(self, root: Node) -> Node:
        """Prepare each procedure; a name is used once in a procedure, also where another would be out of scope."""
        return root.replace(args=[_prepared(procedure) for procedure in root.args])


def _prepared(procedure: Node) -> Node:
    names = names_for(procedure, "v")

    def prepare(statement: Node) -> list[Node]:
        values = [operand for operand in statement.args if operand.op is not ops.BUFFER]
        shared = share(values, names)
        if not shared.definitions:
            return [statement]
        renamed = iter(shared.values)
        args = [operand if operand.op is ops.BUFFER else next(renamed) for operand in statement.args]
        return [*shared.definitions, statement.replace(args=args)]

    return with_body(procedure, rewritten(body_of(procedure), prepare, rule="name_scalars"))
