"""Turn divisions by one value in a loop into multiplications by its reciprocal, which is computed before the loop.

That changes rounding, and a reciprocal may overflow where the quotient does not: who runs the pass wants that. Indices
and bounds stay exact. Statements count by their place, as equal ones are one node. Source: lowering specification 3.11.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Final

from scaly_ir.counters import count
from scaly_ir.dialects.prog import build, ops
from scaly_ir.dialects.prog.affine import trip_count
from scaly_ir.dialects.prog.build import body_of, with_body
from scaly_ir.graph import Node, intern_node, postorder, toposort
from scaly_ir.graph.observe import report_derived, report_rebuilt
from scaly_ir.numeric.table import scalar_name
from scaly_ir.op import CallEffectKind
from scaly_ir.pass_manager import Pass
from scaly_ir.passes.prog.names import UniqueNames, taken_names
from scaly_ir.passes.prog.references import MANY, effect, roots

SIZE_LIMIT: Final = 1024
"""The most nodes in the text of a divisor: the definitions that are put into it could make it exponential."""


@dataclass(frozen=True)
class HoistReciprocals(Pass):
    """Replaces divisions by what a loop does not change."""

    name: ClassVar[str] = "hoist_reciprocals"
    summary: ClassVar[str] = "multiply by reciprocals computed before the loop (rounds differently)"
    dialects: ClassVar[frozenset[str]] = frozenset({"prog"})
    counters: ClassVar[Mapping[str, str]] = {"reciprocals": "reciprocals computed before a loop"}

    def run(self, root: Node) -> Node:
        """Replace the divisions of each procedure."""
        return root.replace(args=[_Hoisting(procedure).run() for procedure in root.args])


class _Changes:
    """Where a procedure assigns names, and writes buffers or passes them to calls, by the position of the statement."""

    def __init__(self, procedure: Node) -> None:
        self._roots = roots(procedure)
        self._scalars: dict[str, list[int]] = {}
        self._buffers: dict[str, list[int]] = {}
        self.ends: dict[int, int] = {}
        """The position behind each loop, by that of the loop."""
        self._collect(procedure)

    def _collect(self, procedure: Node) -> None:
        position = 0
        starts: list[int] = []
        bodies = [iter(body_of(procedure))]
        while bodies:
            for statement in bodies[-1]:
                self._note(statement, position)
                position += 1
                if statement.op is ops.FOR:
                    starts.append(position - 1)
                    bodies.append(iter(body_of(statement)))
                    break
            else:
                bodies.pop()
                if starts:
                    self.ends[starts.pop()] = position

    def _note(self, statement: Node, position: int) -> None:
        if statement.op is ops.FOR:
            self._scalars.setdefault(statement.args[0].attrs["name"], []).append(position)
        elif statement.op is ops.ASSIGN:
            self._scalars.setdefault(statement.attrs["target"], []).append(position)
        elif statement.op is not ops.BUFFER:
            changed = statement.args if statement.op is ops.CALL else statement.args[:1]
            for place in changed:
                name = build.buffer_of(place)
                self._buffers.setdefault(self._roots.get(name, name), []).append(position)

    def assigned(self, name: str, start: int, end: int) -> int:
        """Return how many statements from `start` up to `end` assign a scalar or are loops over it."""
        positions = self._scalars.get(name, [])
        return bisect_left(positions, end) - bisect_left(positions, start)

    def changed(self, buffer: str, start: int, end: int) -> bool:
        """Tell whether a statement from `start` up to `end` may write the storage behind a buffer."""
        positions = self._buffers.get(self._roots.get(buffer, buffer), [])
        at = bisect_left(positions, start)
        return at < len(positions) and positions[at] < end


@dataclass(slots=True)
class _Invariant:
    """A scalar as it may stand before a loop, and the number of nodes in its text."""

    node: Node
    size: int


@dataclass(slots=True)
class _Loop:
    """An open loop, or the procedure around them."""

    node: Node
    statements: Iterator[Node]
    start: int = 0
    end: int = 0
    runs: bool = False
    """Whether it certainly does."""
    known: dict[Node, _Invariant | None] = field(default_factory=dict)
    """What scalars are before the loop; None for those that it changes."""
    reciprocals: dict[Node, Node] = field(default_factory=dict)
    """The names of reciprocals that are computed before the loop, by divisor."""
    definitions: list[Node] = field(default_factory=list)
    body: list[Node] = field(default_factory=list)


class _Hoisting:
    """Replaces divisions in one procedure."""

    def __init__(self, procedure: Node) -> None:
        self._procedure = procedure
        self._changes: _Changes
        self._names: UniqueNames | None = None
        self._loops: list[_Loop] = []
        self._position = 0

    def run(self) -> Node:
        """Return the procedure with its reciprocals, or the procedure itself."""
        if not any([_is_division(node) for node in postorder(self._procedure)]):
            return self._procedure
        self._changes = _Changes(self._procedure)
        self._loops = [_Loop(self._procedure, iter(body_of(self._procedure)))]
        while True:
            loop = self._loops[-1]
            for statement in loop.statements:
                if statement.op is ops.FOR:
                    self._enter(statement)
                    break
                loop.body.append(self._rewritten(statement))
                self._position += 1
                self._define(statement)
            else:
                self._loops.pop()
                rebuilt = with_body(loop.node, loop.body)
                if not self._loops:
                    return rebuilt
                report_derived(loop.node, *loop.definitions)
                self._loops[-1].body += [*loop.definitions, rebuilt]

    def _enter(self, node: Node) -> None:
        start = self._position
        domain = node.args[0]
        runs = bool(trip_count(domain)) and domain.attrs["kind"] != "vector"  # nothing may stand before a lane loop
        self._loops.append(_Loop(node, iter(body_of(node)), start, self._changes.ends[start], runs))
        self._position += 1

    def _define(self, statement: Node) -> None:
        """Note what a scalar of the innermost loop is before it, where it is declared and never changes."""
        loop = self._loops[-1]
        if len(self._loops) > 1 and statement.op is ops.ASSIGN and statement.attrs.get("declare", False):
            target = statement.attrs["target"]
            if self._changes.assigned(target, loop.start, loop.end) == 1:
                loop.known[build.var(target, statement.type)] = self._outside(statement.args[0], loop)

    # --- divisions --------------------------------------------------------------------------------------------------

    def _rewritten(self, statement: Node) -> Node:
        """Return a statement that is no loop with multiplications in place of divisions."""
        if len(self._loops) == 1 or statement.op not in (ops.STORE, ops.STORE_PAIR, ops.ASSIGN):
            return statement
        made: dict[Node, Node] = {}
        for node in toposort(statement, gate=lambda node: node.op is not ops.VIEW):
            operands = tuple([made.get(operand, operand) for operand in node.args])
            reciprocal = self._reciprocal(node) if _is_division(node) else None
            if reciprocal is None:
                made[node] = intern_node(node.op, operands, node.attrs, node.type)
            elif operands[0] is build.const(1, node.type):
                made[node] = reciprocal
            else:
                made[node] = build.apply("mul", operands[0], reciprocal)
        report_rebuilt(statement, made[statement])
        return made[statement]

    def _reciprocal(self, division: Node) -> Node | None:
        """Return the name of the reciprocal for a division, before the outermost loop that does not change it."""
        home: _Loop | None = None
        divisor = division.args[1]
        for loop in reversed(self._loops[1:]):
            outside = self._outside(divisor, loop) if loop.runs else None
            if outside is None or outside.size > SIZE_LIMIT:
                break
            home, divisor = loop, outside.node
        if home is None:
            return None
        known = home.reciprocals.get(divisor)
        if known is None:
            count("reciprocals")
            name = self._fresh_name()
            value = build.apply("div", build.const(1, divisor.type), divisor)
            home.definitions.append(build.assign(name, value, declare=True))
            known = home.reciprocals[divisor] = build.var(name, divisor.type)
        return known

    def _fresh_name(self) -> str:
        if self._names is None:
            self._names = UniqueNames(taken_names(self._procedure))
        return self._names("inv")

    # --- what a loop leaves as it is ----------------------------------------------------------------------------------

    def _outside(self, scalar: Node, loop: _Loop) -> _Invariant | None:
        """Return a scalar in a loop as it may stand before that loop, or None when the loop changes it."""
        known = loop.known
        for node in toposort(scalar, gate=lambda node: node not in known):
            known[node] = self._moved(node, loop)
        return known[scalar]

    def _moved(self, node: Node, loop: _Loop) -> _Invariant | None:
        changes, attrs = self._changes, node.attrs
        if node.op is ops.VAR and changes.assigned(attrs["name"], loop.start, loop.end):
            return None  # one that is declared and never changes is known
        if node.op is ops.VIEW and changes.changed(attrs["buffer"], loop.start, loop.end):
            return None
        if ops.is_scalar(node.op) and node.op is not ops.LOAD and effect(node.op) > CallEffectKind.Pure:
            return None
        operands, size = [], 1
        for operand in node.args:
            below = loop.known[operand]
            if below is None:
                return None
            operands.append(below.node)
            size += below.size
        return _Invariant(intern_node(node.op, tuple(operands), attrs, node.type), min(size, MANY))


def _is_division(node: Node) -> bool:
    return scalar_name(node.op) == "div" and bool(node.type.is_float)
