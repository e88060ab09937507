"""Remove what computes nothing that is used: assignments, loops and buffers of `prog` procedures.

Mark and sweep, one procedure at a time: what has an effect is needed, what that reads is needed in turn, and the rest
goes. Statements count by their place, as equal ones are one node. Linear in the text of the statements and in the graph
of their values, and nothing recurses. Source: operator specification A5.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from scaly_ir.dialects.prog import ops
from scaly_ir.dialects.prog.build import body_of, with_body
from scaly_ir.effects import may_drop
from scaly_ir.graph import Node, postorder, toposort
from scaly_ir.passes.prog.references import NEVER, effect

_OUTSIDE: Final = -1
"""Stands for the loop around a statement at the top of the procedure."""


def eliminate(root: Node) -> Node:
    """Return a `prog` module without its dead code; `root` itself when there is none.

    Stores, calls and values whose effect may not be dropped are kept, and so are parameters and attributes.
    """
    droppable = _Droppable()
    sizes = {procedure.attrs["name"]: procedure.attrs.get("sz_w") for procedure in root.args}
    return root.replace(args=[_Elimination(procedure, droppable, sizes).run() for procedure in root.args])


class _Droppable:
    """Tells which expressions may be left out where nothing uses them; each distinct node is looked at once."""

    def __init__(self) -> None:
        self._known: dict[Node, bool] = {}

    def __call__(self, expression: Node) -> bool:
        known = self._known
        for node in toposort(expression, gate=lambda node: node not in known):
            known[node] = may_drop(effect(node.op)) and all([known[operand] for operand in node.args])
        return known[expression]


@dataclass(slots=True, eq=False)
class _Scalar:
    """A declared scalar: the statements that assign it, the declaration first, and those that it is in scope for."""

    first: int
    last: int = NEVER
    assigns: list[int] = field(default_factory=list)
    needed: bool = False


@dataclass(slots=True, eq=False)
class _Place:
    """A statement where it stands."""

    node: Node
    around: int
    """The loop around it."""
    scalar: _Scalar | None
    """What it assigns."""
    live: bool = False
    kept: list[Node] = field(default_factory=list)
    """What remains of its body, last statement first."""


class _Elimination:
    """The elimination of dead code from one procedure; statements are numbered in program order."""

    def __init__(self, procedure: Node, droppable: Callable[[Node], bool], sizes: Mapping[str, int | None]) -> None:
        self.procedure = procedure
        self.droppable = droppable
        self.sized_loops = loops_that_count(procedure, sizes) if "sz_w" in procedure.attrs else frozenset[Node]()
        self.places: list[_Place] = []
        self.scalars: dict[str, list[_Scalar]] = {}
        """By name, in program order; no two of a name are in scope at once."""
        self.loop_variables: set[str] = set()
        self.sources: dict[str, str | None] = {}
        """By declared buffer, what it is an alias of."""
        self.needed_buffers: set[str] = set()
        self.settled: set[Node] = set()
        """Expressions all of whose variables and buffers are marked, and mean the same wherever they stand."""
        self.unread: list[int] = []
        """Live statements whose operands are to be marked."""

    def run(self) -> Node:
        """Return the procedure without dead code, or the procedure itself."""
        self._collect()
        for number, place in enumerate(self.places):
            if self._is_root(place.node):
                self._enliven(number)
        self._mark()
        return self._rebuild()

    # --- what there is ------------------------------------------------------------------------------------------------

    def _collect(self) -> None:
        """List the statements that may run, and the scalars with their scopes."""
        open_scopes: list[dict[str, _Scalar]] = [{}]
        loops = [_OUTSIDE]
        pending: list[Node | None] = list(reversed(body_of(self.procedure)))
        while pending:
            node = pending.pop()
            if node is None:
                for scalar in open_scopes.pop().values():
                    scalar.last = len(self.places) - 1
                loops.pop()
                continue
            if node.op is ops.FOR and node not in self.sized_loops and _never_runs(node.args[0]):
                continue
            number = len(self.places)
            target = self._assigned(node, number, open_scopes[-1]) if node.op is ops.ASSIGN else None
            self.places.append(_Place(node, loops[-1], target))
            if node.op is ops.BUFFER:
                self.sources[node.attrs["name"]] = node.attrs.get("alias_of")
            elif node.op is ops.FOR:
                self.loop_variables.add(node.args[0].attrs["name"])
                open_scopes.append({})
                loops.append(number)
                pending.append(None)
                pending.extend(reversed(body_of(node)))

    def _assigned(self, assign: Node, number: int, scope: dict[str, _Scalar]) -> _Scalar:
        """Return the scalar that a statement assigns, and note that it does."""
        name: str = assign.attrs["target"]
        known = self.scalars.setdefault(name, [])
        if assign.attrs.get("declare", False):
            scope[name] = _Scalar(number + 1)
            known.append(scope[name])
        known[-1].assigns.append(number)  # the one in scope: others of the name were declared, and ended, before
        return known[-1]

    def _is_root(self, node: Node) -> bool:
        """Tell whether a statement is needed whatever else is."""
        if node.op is ops.BUFFER:
            return False
        if node.op in (ops.ASSIGN, ops.FOR):
            return not self.droppable(node.args[0])
        return True

    # --- what is needed -----------------------------------------------------------------------------------------------

    def _enliven(self, number: int) -> None:
        """Note that a statement is needed, and with it the loops around."""
        while number != _OUTSIDE and not self.places[number].live:
            self.places[number].live = True
            self.unread.append(number)
            number = self.places[number].around

    def _mark(self) -> None:
        """Note all that the live statements need."""
        while self.unread:
            number = self.unread.pop()
            place = self.places[number]
            if place.scalar is not None:
                self._enliven(place.scalar.assigns[0])
            self._need(place.node.args[0] if place.node.op is ops.FOR else place.node, number)

    def _need(self, root: Node, number: int) -> None:
        """Note what an expression, or a statement without a body, refers to where it stands."""
        settled = self.settled
        for node in toposort(root, gate=lambda node: node not in settled):
            fixed = all([operand in settled for operand in node.args])
            if node.op is ops.VAR:
                fixed = self._need_scalar(node.attrs["name"], number)
            elif node.op is ops.VIEW:
                self._need_buffer(node.attrs["buffer"])
            elif node.op is ops.BUFFER:
                self._need_buffer(node.attrs["name"])
            if fixed:
                settled.add(node)

    def _need_scalar(self, name: str, number: int) -> bool:
        """Note that a statement reads a variable; tell whether the name means the same in the whole procedure."""
        scalars = self.scalars.get(name)
        if scalars is None:
            return True
        position = bisect_right(scalars, number, key=lambda scalar: scalar.first) - 1
        scalar = scalars[position]
        if position >= 0 and number <= scalar.last and not scalar.needed:
            scalar.needed = True
            for assign in scalar.assigns:
                self._enliven(assign)
        return len(scalars) == 1 and name not in self.loop_variables

    def _need_buffer(self, name: str) -> None:
        source: str | None = name
        while source is not None and source not in self.needed_buffers:
            self.needed_buffers.add(source)
            source = self.sources.get(source)

    # --- what remains -------------------------------------------------------------------------------------------------

    def _rebuild(self) -> Node:
        """Return the procedure with what is needed; an unchanged loop or procedure is the one there was."""
        kept: list[Node] = []
        for place in reversed(self.places):
            node = place.node
            if node.op is ops.BUFFER:
                if node.attrs["name"] not in self.needed_buffers:
                    continue
            elif not place.live:
                continue
            if node.op is ops.FOR:
                node = with_body(node, reversed(place.kept))
            around = kept if place.around == _OUTSIDE else self.places[place.around].kept
            around.append(node)
        return with_body(self.procedure, reversed(kept))


def _never_runs(domain: Node) -> bool:
    """Tell whether a loop has no trip; the step, which is then never evaluated, may be anything."""
    start, stop, _ = domain.args
    return start.op is ops.CONST_INT and stop.op is ops.CONST_INT and bool(start.attrs["value"] >= stop.attrs["value"])


def loops_that_count(procedure: Node, sizes: Mapping[str, int | None]) -> frozenset[Node]:
    """Return the loops with calls that the workspace a procedure states depends on.

    The size counts callees whether or not their calls run, so such loops stay even without a trip.
    """
    counting: set[Node] = set()
    for node in postorder(procedure):
        needs = node.op is ops.CALL and sizes.get(node.attrs["callee"]) != 0
        if needs or any([operand in counting for operand in node.args]):
            counting.add(node)
    return frozenset(counting)
