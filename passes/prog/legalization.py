"""Rewrite the calls in `prog` programs by the rules that their operators have for a target.

`targets.Rewriter` applies the rules to one statement at a time. Owned here is what a rule may not repeat: an operand
that the text of its result would show more than once is bound to a scalar before the statement, so that it is still
evaluated once. Linear in the text of the statements and in the graph of their values, and nothing recurses. Source:
operator specification A2 and A5.
"""

from __future__ import annotations

from scaly_ir.dialects.prog import ops
from scaly_ir.dialects.prog.build import assign, body_of, var, with_body
from scaly_ir.dialects.prog.context import symbol_name, value_name
from scaly_ir.effects import side_effect
from scaly_ir.errors import LegalizeError
from scaly_ir.graph import Node, intern_node, postorder
from scaly_ir.graph.observe import report_rewrite
from scaly_ir.op import CallEffectKind
from scaly_ir.passes.legalize import check_target
from scaly_ir.passes.prog.names import fresh_names, taken_names
from scaly_ir.passes.prog.references import effect, occurrences
from scaly_ir.targets import Rewriter


def legalize(root: Node, *, target: str) -> Node:
    """Return a `prog` module with the `FLegalize` rules for a target applied; `root` itself when none applies.

    A call whose first rule is an `FLowerIntrinsic` stays. `PassError` when `target` is none, `LegalizeError` when a
    rule changes the type or does not converge, or repeats in the bounds of a loop what may not be repeated; what a rule
    raises is raised.
    """
    return _rewritten(root, "legalize", target, intrinsics=False)


def lower_intrinsics(root: Node, *, target: str) -> Node:
    """Return a `prog` module with all rules for a target applied, as `legalize` does with one kind."""
    return _rewritten(root, "lower_intrinsics", target, intrinsics=True)


def _rewritten(root: Node, name: str, target: str, *, intrinsics: bool) -> Node:
    check_target(name, target)
    affected = _affected(root, Rewriter(target, intrinsics=intrinsics))
    if root not in affected:
        return root
    bounds = _Bounds(target, intrinsics=intrinsics)
    procedures = []
    for procedure in root.args:
        statements = _Statements(procedure, target, intrinsics=intrinsics)
        procedures.append(_with_statements(procedure, affected, bounds, statements))
    return root.replace(args=procedures)


def _affected(root: Node, rewriter: Rewriter) -> set[Node]:
    """Return what holds a call that has a rule."""
    nodes = postorder(root)
    with_rules = {op for op in {node.op for node in nodes} if rewriter.has_rule(op)}
    affected: set[Node] = set()
    for node in nodes if with_rules else ():
        if node.op in with_rules or not affected.isdisjoint(node.args):
            affected.add(node)
    return affected


def _with_statements(procedure: Node, affected: set[Node], bounds: _Bounds, statements: _Statements) -> Node:
    """Return a procedure with what is affected rewritten; anything else stays the object it was."""
    bodies: list[list[Node]] = [[]]
    pending = [(procedure, False)]
    while pending:
        node, ready = pending.pop()
        if ready:
            body = bodies.pop()
            bodies[-1].append(with_body(node, body))
        elif node not in affected:
            bodies[-1].append(node)
        elif node.op in (ops.PROC, ops.FOR):
            bodies.append([])
            bounded = node.op is ops.FOR and node.args[0] in affected
            pending.append((bounds.rewritten(node, procedure) if bounded else node, True))
            pending.extend([(statement, False) for statement in reversed(body_of(node))])
        else:
            bodies[-1] += statements.rewritten(node)
    return bodies[0][0]


# --- statements -------------------------------------------------------------------------------------------------------


class _Statements:
    """Rewrites the statements of one procedure, behind the bindings that they need."""

    def __init__(self, procedure: Node, target: str, *, intrinsics: bool) -> None:
        self._procedure = procedure
        self._target = target
        self._intrinsics = intrinsics
        self._taken: set[str] | None = None
        """The names that may not be used again, once one is needed."""
        self._legs = 0
        """How many names were looked at."""
        self._start()

    def _start(self) -> None:
        """Begin anew, as what was bound may stand for another value later, or be out of scope."""
        self._rewriter = Rewriter(self._target, intrinsics=self._intrinsics, bind=self._bind)
        self._bindings: list[Node] = []
        self._names: dict[Node, Node] = {}

    def rewritten(self, statement: Node) -> list[Node]:
        """Return a statement without a body, and what is to stand before it; `LegalizeError` names the statement."""
        try:
            return self._rewritten(statement)
        except LegalizeError as failure:
            where = f"{_described(statement)} in {symbol_name(self._procedure.attrs['name'])}"
            raise LegalizeError(f"{failure} ({where})", statement, self._procedure) from failure

    def _rewritten(self, statement: Node) -> list[Node]:
        legs = self._legs
        done = self._apply_rules(statement)
        if len(done) > 1 and _updates(done) and _count_impure(statement) > 1:
            # A binding may then have moved past something that changes what it reads: bind all that matters in order.
            self._legs = legs
            done = [each for part in self._sequence(statement) for each in self._apply_rules(part)]
        return done

    def _apply_rules(self, statement: Node) -> list[Node]:
        result = statement.replace(args=self._rewriter.rewrite_all(statement.args))
        bindings = self._bindings
        if bindings:
            self._start()
        return [*bindings, result]

    def _bind(self, operand: Node) -> Node:
        known = self._names.get(operand)
        if known is None:
            known = self._names[operand] = self._bound(operand, self._bindings)
        return known

    def _bound(self, value: Node, bindings: list[Node]) -> Node:
        """Add the binding of a value to a new name and return its use."""
        if self._taken is None:
            self._taken = taken_names(self._procedure)
        name = next(fresh_names(self._taken, "leg", self._legs))
        self._legs = int(name.removeprefix("leg")) + 1
        bindings.append(assign(name, value, declare=True))
        report_rewrite("bind_operand", value, bindings[-1])
        return var(name, value.type)

    def _sequence(self, statement: Node) -> list[Node]:
        """Return a statement with all that is not pure bound before it, each time the text shows it, in its order."""
        impure: set[Node] = set()
        for node in postorder(statement):
            if effect(node.op) > CallEffectKind.Pure or not impure.isdisjoint(node.args):
                impure.add(node)
        bindings: list[Node] = []
        open_nodes = [(statement, iter(statement.args), list[Node]())]
        while True:
            node, rest, operands = open_nodes[-1]
            for operand in rest:
                if operand in impure:
                    open_nodes.append((operand, iter(operand.args), []))
                    break
                operands.append(operand)
            else:
                open_nodes.pop()
                made = intern_node(node.op, tuple(operands), node.attrs, node.type)
                if not open_nodes:
                    return [*bindings, made]
                bound = effect(node.op) > CallEffectKind.Pure
                open_nodes[-1][2].append(self._bound(made, bindings) if bound else made)


def _updates(statements: list[Node]) -> bool:
    """Tell whether computing what statements store, assign or pass on may change state."""
    return any([side_effect(value) > CallEffectKind.ReadState for each in statements for value in each.args])


def _count_impure(statement: Node) -> int:
    """Return how often the text of a statement reads or changes state."""
    order, counts = occurrences(statement.args)
    return sum([counts[node] for node in order if effect(node.op) > CallEffectKind.Pure])


def _described(statement: Node) -> str:
    """Return what tells a statement from others in a message."""
    if statement.op is ops.CALL:
        return f"{statement.op.name} {symbol_name(statement.attrs['callee'])}"
    name = statement.attrs["target"] if statement.op is ops.ASSIGN else statement.args[0].attrs["buffer"]
    return f"{statement.op.name} {value_name(name)}"


# --- bounds of loops --------------------------------------------------------------------------------------------------


class _Bounds:
    """Rewrites the bounds of loops, which may be evaluated again before each trip, so that nothing can be bound."""

    def __init__(self, target: str, *, intrinsics: bool) -> None:
        self._rewriter = Rewriter(target, intrinsics=intrinsics, bind=self._repeat)
        self._call: Node

    def rewritten(self, loop: Node, procedure: Node) -> Node:
        """Return a loop with its bounds rewritten; `LegalizeError` names the call to blame and the loop."""
        domain = loop.args[0]
        try:
            for self._call in postorder(domain):
                self._rewriter.rewrite(self._call)
        except LegalizeError as failure:
            where = f"loop {value_name(domain.attrs['name'])} in {symbol_name(procedure.attrs['name'])}"
            raise LegalizeError(f"{failure} (bounds of {where})", loop, procedure) from failure
        return intern_node(loop.op, (self._rewriter.rewrite(domain), *body_of(loop)), loop.attrs, loop.type)

    def _repeat(self, operand: Node) -> Node:
        """Return the operand itself, which is then evaluated once for each time that the text shows it."""
        if side_effect(operand) > CallEffectKind.Pure:
            name = self._call.op.name
            raise LegalizeError(f"{name}: an operand that is not pure would be evaluated more than once")
        return operand
