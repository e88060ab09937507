"""Remove loops that never run, and put the body of loops that run once in their place.

Loops are judged on their way down, when it is known what the variables of the loops around them stand for. Linear in
the text of statements and in the graph of their values. Source: lowering specification 3.9.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from scaly_ir.dialects.prog import build, ops
from scaly_ir.dialects.prog.affine import loop_values, trip_count
from scaly_ir.dialects.prog.build import body_of, with_body
from scaly_ir.effects import may_drop, side_effect
from scaly_ir.folding import FOLD, Folder
from scaly_ir.graph import Node
from scaly_ir.graph.observe import report_rebuilt
from scaly_ir.graph.rewrite import AfterOperands, graph_rewrite
from scaly_ir.pass_manager import Pass
from scaly_ir.passes.prog.buffer_uses import without_dead_buffers
from scaly_ir.passes.prog.canonicalization import scalar_folder
from scaly_ir.passes.prog.dead_code import loops_that_count
from scaly_ir.passes.prog.faults import with_sound_procedures
from scaly_ir.passes.prog.names import names_for
from scaly_ir.passes.prog.scoped_substitution import ScopedSubstitution


@dataclass(frozen=True)
class UnrollUnitLoops(Pass):
    """Unrolls the loops that run at most once."""

    name: ClassVar[str] = "unroll_unit_loops"
    summary: ClassVar[str] = "remove loops without a trip, and put the body of loops with one in their place"
    dialects: ClassVar[frozenset[str]] = frozenset({"prog"})

    def run(self, root: Node) -> Node:
        """Unroll in each procedure; one in which that would show a fault of code that never runs stays."""
        folder = scalar_folder()
        sizes = {procedure.attrs["name"]: procedure.attrs.get("sz_w") for procedure in root.args}
        procedures = []
        for procedure in root.args:
            counted = loops_that_count(procedure, sizes) if "sz_w" in procedure.attrs else frozenset[Node]()
            unrolled = _Unrolling(procedure, counted, folder).run()
            procedures.append(procedure if unrolled is procedure else without_dead_buffers(unrolled))
        return with_sound_procedures(root, procedures)


@dataclass(slots=True)
class _Body:
    """A list of statements in the making, the scalars declared in it, and whose it is."""

    statements: list[Node]
    scalars: list[str]
    of: Node
    """The loop or procedure as it was."""


class _Unrolling:
    """The unrolling of one procedure; the loops in `counted` may not be removed."""

    def __init__(self, procedure: Node, counted: frozenset[Node], folder: Folder) -> None:
        self._procedure = procedure
        self._counted = counted
        self._folder = folder
        self._substitution = ScopedSubstitution()
        self._bodies: list[_Body] = [_Body([], [], procedure)]
        self._visible: set[str] = set()
        """The scalars in scope in what was made."""
        self._inlined = [False]
        """For each list of statements around the current place, whether it replaces its loop."""
        self._names = names_for(procedure, "v")
        self._fixed = _fixed_names(procedure)

    def run(self) -> Node:
        """Return the procedure with its loops unrolled, or the procedure itself."""
        pending: list[Node | None] = list(reversed(body_of(self._procedure)))  # None, or the range of a loop, ends it
        while pending:
            node = pending.pop()
            if node is None or node.op is ops.RANGE:
                self._leave(node)
            elif node.op is ops.ASSIGN:
                self._bodies[-1].statements.append(self._assign(node))
            elif node.op is not ops.FOR:
                self._bodies[-1].statements.append(self._substitution.apply(node))
            else:
                domain = self._substitution.apply(node.args[0])
                trips, start = self._trips(domain)
                if trips == 0 and node not in self._counted:
                    continue
                pending.append(self._enter(node, domain, start if trips == 1 else None))
                pending.extend(reversed(body_of(node)))
        return with_body(self._procedure, self._bodies[0].statements)

    def _trips(self, domain: Node) -> tuple[int | None, int]:
        """Return how often a loop runs, if that is known and it may be unrolled, and where it starts."""
        if _is_lane_loop(domain):
            return None, 0
        folded = graph_rewrite(domain, AfterOperands(FOLD), ctx=self._folder, quiet=True)
        values = loop_values(folded)
        return trip_count(folded), 0 if values is None else values.start

    def _enter(self, loop: Node, domain: Node, start: int | None) -> Node | None:
        """Begin the body of a loop, which replaces the loop when `start` is given; return what marks its end."""
        self._substitution.enter()
        self._inlined.append(start is not None)
        if start is not None:
            self._substitution.bind(domain.attrs["name"], build.index(start))
            return None
        self._bodies.append(_Body([], [], loop))
        return domain

    def _leave(self, domain: Node | None) -> None:
        """End the body of a loop; one that is left without statements goes."""
        self._substitution.leave()
        self._inlined.pop()
        if domain is None:
            return
        body = self._bodies.pop()
        self._visible.difference_update(body.scalars)
        if body.statements or _is_lane_loop(domain) or not may_drop(side_effect(domain)):
            made = build.for_(domain, body.statements)
            report_rebuilt(body.of, made)
            self._bodies[-1].statements.append(made)

    def _assign(self, node: Node) -> Node:
        """Return an assignment, under another name when a declaration would meet one of the same name."""
        value = self._substitution.apply(node.args[0])
        name: str = node.attrs["target"]
        if node.attrs.get("declare", False):
            if name in self._visible or (self._inlined[-1] and name in self._fixed):
                self._substitution.bind(name, build.var(next(self._names), node.type))
            self._visible.add(self._name(name))
            self._bodies[-1].scalars.append(self._name(name))
        return node.replace(args=[value]).with_attrs(target=self._name(name))

    def _name(self, name: str) -> str:
        renamed = self._substitution.get(name)
        return name if renamed is None else renamed.attrs["name"]


def _is_lane_loop(domain: Node) -> bool:
    return bool(domain.attrs["kind"] == "vector")


def _fixed_names(procedure: Node) -> set[str]:
    """Return the names of buffers and loop variables, which stay."""
    found = {param.attrs["name"] for param in build.params_of(procedure)}
    for statement in build.statements_in(procedure):
        if statement.op in (ops.BUFFER, ops.FOR):
            found.add((statement if statement.op is ops.BUFFER else statement.args[0]).attrs["name"])
    return found
