"""Value numbering: which scalars of a `prog` procedure are certain to be equal, and where each of them is used.

One walk in program order gives every scalar a `Value`, the same one where the number must be the same. What to make of
it is for a pass to decide. Everything is iterative, and linear in the size of the graph but for scalars that loops
reassign, which cost one step for each loop around the assignment.
"""

from __future__ import annotations

from collections.abc import Iterator, Set
from dataclasses import dataclass, field
from typing import Final

from scaly_ir.dialects.prog import ops
from scaly_ir.dialects.prog.affine import loop_values
from scaly_ir.dialects.prog.build import body_of
from scaly_ir.graph import Node, toposort
from scaly_ir.graph.walk import topovisit
from scaly_ir.numeric.bounds import bounds
from scaly_ir.numeric.interval import Interval, covering, fits
from scaly_ir.numeric.table import TABLE, scalar_name
from scaly_ir.op import CallEffectKind
from scaly_ir.passes.prog.references import MANY, effect
from scaly_ir.types import INT64, int_range


class StatementList:
    """The body of a procedure or loop: where it is, by positions of statements in program order."""

    def __init__(self, parent: StatementList | None) -> None:
        self.positions: list[int] = []
        """Of its own statements, those of loops in it left out."""
        self.end: int = MANY
        """The position behind all that is in it."""
        self.parent = self if parent is None else parent
        self._depth: int = 0
        self._jump = self
        """A list further out; such jumps make the way outwards as short as the logarithm of the depth."""
        if parent is not None:
            over = parent._jump
            self._depth = parent._depth + 1
            self._jump = over._jump if parent._depth - over._depth == over._depth - over._jump._depth else parent

    def enclosing(self, position: int) -> StatementList:
        """Return the innermost list around this one, or this one, that holds a later position too."""
        found = self
        while found.end <= position:
            found = found._jump if found._jump.end <= position else found.parent
        return found


@dataclass(slots=True, eq=False)
class Value:
    """What all expressions have in common that give the same number.

    Views, and expressions that do more than compute, have one as well: there it stands for their text.
    """

    node: Node
    """The first expression."""
    operands: tuple[Value, ...]
    pure: bool
    """Whether the expressions only compute, so that one may stand for all."""
    size: int
    """The number of nodes in the text, up to `MANY`."""
    home: StatementList
    """The list that holds the first expression."""
    number: int
    """Its rank among all values: operands come before users, and what begins first comes first."""
    first: int
    """The position of the first statement with such an expression."""
    last: int
    """The position of the last one."""
    uses: int = 0
    """How often the text shows it when every pure value is written once, at least up to two."""


@dataclass(slots=True)
class _Traps:
    """What may trap in one statement list."""

    nodes: list[Node] = field(default_factory=list)
    keys: list[tuple[object, ...]] = field(default_factory=list)


class ValueNumbers:
    """The values of a procedure.

    Bounds of loops are left out. An operation that may trap has the same value only where the first one has always run
    before: behind it in its statement list and in the loops there.
    """

    def __init__(self, procedure: Node) -> None:
        self.values: list[Value] = []
        """Operands before users."""
        self.slots: dict[int, tuple[Value, ...]] = {}
        """The values of the operands of each statement that is no loop, by its position."""
        self._reassigned = _reassigned(procedure)
        self._known: dict[Node, Value] = {}
        """The value of each node at the current place."""
        self._by_key: dict[tuple[object, ...], Value] = {}
        """Values by operator and operands."""
        self._users: dict[Node, list[Node]] = {}
        """What was given a value, by operand."""
        self._variables: dict[str, list[Node]] = {}
        """The uses that have a value, by name."""
        self._ranges: dict[str, Interval] = {}
        """What is known of the variables in scope."""
        self._bounds: dict[Node, Interval] = {}
        """Bounds that were found at the current place."""
        self._lists = [StatementList(None)]
        self._traps = [_Traps()]
        self._position = 0
        self._walk(procedure)
        self._count_uses()

    # --- statements ---------------------------------------------------------------------------------------------------

    def _walk(self, procedure: Node) -> None:
        """Visit the statements in program order."""
        loops: list[Node] = []
        bodies = [iter(body_of(procedure))]
        while bodies:
            for statement in bodies[-1]:
                self._lists[-1].positions.append(self._position)
                if statement.op is ops.FOR:
                    self._position += 1
                    self._enter(statement)
                    loops.append(statement)
                    bodies.append(iter(body_of(statement)))
                    break
                self._number_slots(statement)
                self._position += 1
            else:
                bodies.pop()
                self._leave(loops.pop() if loops else None)

    def _enter(self, loop: Node) -> None:
        domain = loop.args[0]
        name = domain.attrs["name"]
        self._forget_reassigned(loop)
        self._forget_variable(name)
        taken = loop_values(domain)
        if taken is not None:
            self._ranges[name] = covering(taken)
        self._lists.append(StatementList(self._lists[-1]))
        self._traps.append(_Traps())

    def _leave(self, loop: Node | None) -> None:
        """Close the innermost list: the body of `loop`, or that of the procedure."""
        self._lists.pop().end = self._position
        traps = self._traps.pop()
        self._forget(traps.nodes)
        for key in traps.keys:
            del self._by_key[key]
        if loop is not None:
            self._ranges.pop(loop.args[0].attrs["name"], None)
            self._forget_reassigned(loop)

    def _number_slots(self, statement: Node) -> None:
        """Give the operands of a statement that is no loop their values, in the order in which the text shows them."""
        for operand in _as_written(statement):
            value = topovisit(operand, self._number, self._known)
            value.uses += 1
            value.last = self._position
        self.slots[self._position] = tuple([self._known[operand] for operand in statement.args])
        if statement.op is ops.ASSIGN:
            self._forget_variable(statement.attrs["target"])

    # --- what changes -------------------------------------------------------------------------------------------------

    def _forget_reassigned(self, loop: Node) -> None:
        """Forget the scalars that a loop reassigns: at its begin for its later trips, at its end for what follows."""
        for name in self._reassigned[loop] & self._variables.keys():
            self._forget_variable(name)

    def _forget_variable(self, name: str) -> None:
        """Have the uses of a name from here on stand for something new."""
        self._forget(self._variables.pop(name, []))

    def _forget(self, nodes: list[Node]) -> None:
        """Have nodes, and all that they are in, be numbered anew."""
        pending = list(nodes)
        while pending:
            node = pending.pop()
            self._known.pop(node, None)
            self._bounds.pop(node, None)
            pending.extend(self._users.pop(node, ()))

    # --- scalars ------------------------------------------------------------------------------------------------------

    def _number(self, node: Node) -> Value:
        """Return the value of a node whose operands have one."""
        operands = tuple([self._known[operand] for operand in node.args])
        pure = _computes(node) and all([operand.pure for operand in operands])
        if not operands:
            return self._leaf(node, pure)
        for operand in node.args:
            self._users.setdefault(operand, []).append(node)
        numbers = [operand.number for operand in operands]
        if pure and node.op.get_attr("TCommutative"):
            numbers.sort()
        key = (node.op, node.type, node.attrs.key, *numbers)
        found = self._by_key.get(key)
        if pure and may_trap(node, self._ranges, self._bounds):
            self._traps[-1].nodes.append(node)
            if found is None:
                self._traps[-1].keys.append(key)
        if found is None:
            found = self._by_key[key] = self._new(node, operands, pure)
        return found

    def _leaf(self, node: Node, pure: bool) -> Value:
        if node.op is ops.VAR:
            name = node.attrs["name"]
            self._variables.setdefault(name, []).append(node)
            if name.startswith(ops.RESERVED_PREFIX):
                self._ranges[name] = _POSITIVE
        return self._new(node, (), pure)

    def _new(self, node: Node, operands: tuple[Value, ...], pure: bool) -> Value:
        size = min(1 + sum([operand.size for operand in operands]), MANY)
        position = self._position
        value = Value(node, operands, pure, size, self._lists[-1], len(self.values), position, position)
        self.values.append(value)
        return value

    def _count_uses(self) -> None:
        """Have operands know of the uses by their users; users come first."""
        for value in reversed(self.values):
            times = 1 if value.pure else min(value.uses, 2)
            for operand in value.operands:
                operand.uses += times
                operand.last = max(operand.last, value.last)


_POSITIVE: Final = Interval(1, int_range(INT64)[-1])
"""What a lane width may be."""


def may_trap(node: Node, ranges: dict[str, Interval], cache: dict[Node, Interval]) -> bool:
    """Tell whether a pure operation has no meaning for some operands, and so may not run where it did not before.

    Such are integer divisions without a meaning for zero, where a divisor of -1 may also leave the type, and
    conversions of floats that an integer type does not hold. `ranges` bounds variables, `cache` keeps bounds.
    """
    name = scalar_name(node.op)
    if name is None or not node.dtype.is_int:
        return False
    operand = node.args[-1]
    if operand.dtype.is_float:
        taken = bounds(operand, ranges, cache)
        return taken.nan or not fits(taken, node.dtype)
    meaning = TABLE[name].integer
    if meaning is None or meaning.by_zero is None or meaning.by_zero.core is not None:
        return False
    divisor = bounds(operand, ranges, cache)
    if 0 in divisor:
        return True
    return -1 in divisor and int_range(node.dtype)[0] in bounds(node.args[0], ranges, cache)


def _computes(node: Node) -> bool:
    """Tell whether an operator only computes a scalar."""
    return ops.is_scalar(node.op) and effect(node.op) <= CallEffectKind.Pure


def _as_written(statement: Node) -> Iterator[Node]:
    """Yield the operands of a statement in the order of its text, where what a store writes comes before the view."""
    later = statement.args[:1] if statement.op in (ops.STORE, ops.STORE_PAIR) else ()
    yield from statement.args[len(later) :]
    yield from later


def _reassigned(procedure: Node) -> dict[Node, Set[str]]:
    """Return for each loop the scalars that are assigned anywhere in it, other than by their declaration."""
    found: dict[Node, Set[str]] = {}
    for loop in toposort(procedure, gate=lambda node: node.op in (ops.PROC, ops.FOR)):
        body = body_of(loop)
        names = {s.attrs["target"] for s in body if s.op is ops.ASSIGN and not s.attrs.get("declare", False)}
        inner = [found[statement] for statement in body if statement.op is ops.FOR and found[statement]]
        # The loops of a deep nest share one set.
        found[loop] = inner[0] if len(inner) == 1 and names <= inner[0] else names.union(*inner)
    return found
