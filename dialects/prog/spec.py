"""The `prog` verifier: its rule table, and the walk that visits a program in the order of its text.

Each distinct node is checked once on its own, and once in context as long as what it depends on stays in scope. The
walk is iterative and linear in the size of the program. A fragment (a `block`) is checked by the rules of single nodes
alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from scaly_ir.dialects.prog import ops
from scaly_ir.dialects.prog.build import body_of, params_of
from scaly_ir.dialects.prog.call_rules import CALL_RULES, SIZE_RULE
from scaly_ir.dialects.prog.context import Context, Declaration, Storage
from scaly_ir.dialects.prog.place_rules import PLACE_RULES
from scaly_ir.dialects.prog.rules import NODE_RULES, REGISTERED_RULES
from scaly_ir.graph import Node
from scaly_ir.spec import NO_FAULTS, Fault, Faults, Spec, Violation


class _Walk:
    """One verification: the context, what was checked already, and what was found at the current statement."""

    def __init__(self, spec: Spec, root: Node) -> None:
        self.spec = spec
        self.context = Context(root)
        self.found: list[Violation] = []
        self.sound: set[Node] = set()
        """Nodes that break no rule of their own."""
        self.placed: dict[Node, int] = {}
        """Scalars checked in context, with the scope in which that was."""

    def run(self, root: Node) -> Iterator[Violation]:
        """Visit every statement below `root`, in pre-order."""
        bare = root.op is ops.BLOCK or (root.op is ops.PROGRAM and root.attrs.get("bare"))
        if bare:
            self.alone(root, root)
        pending: list[tuple[Iterator[Node], Node | None]] = [(iter(root.args if bare else (root,)), None)]
        while pending:
            statements, owner = pending[-1]
            for node in statements:
                self.statement(node)
                if self.found:
                    yield from self.found
                    self.found.clear()
                if node.op is ops.PROGRAM or node.op is ops.FOR:
                    pending.append((iter(body_of(node)), node))
                    break
                if node.op is ops.PROC:
                    pending.append((iter(_statements(node)), node))
                    break
            else:
                pending.pop()
                if owner is not None:
                    self.end(owner)
        yield from self.found

    def statement(self, node: Node) -> None:
        """Check one statement, or the head of one with a body, and bring into scope what it declares."""
        context = self.context
        context.statement += 1
        context.in_proc += 1
        op = node.op
        if op is ops.PROC:
            self.head(node)
            return
        self.alone(node, node)
        if op is ops.FOR:
            self.loop(node)
            return
        if op is ops.CALL:
            indices = [index for arg in node.args if arg.op is ops.VIEW for index in arg.args]
            for arg in node.args:
                self.alone(arg, node)
            self.scalars(indices, node)
        elif op in ops.STATEMENTS and node.args:
            # The text has the values first and the place behind them.
            first_view = node.args[0].op is ops.VIEW
            self.scalars([*node.args[1:], node.args[0]] if first_view else node.args, node)
        if not context.fragment:
            self.in_context(node, node)
            self.declare(node, node)

    def head(self, node: Node) -> None:
        """Check the head of a procedure and declare its parameters."""
        context = self.context
        context.enter_proc(node)
        self.alone(node, node)
        self.in_context(node, node)
        inputs = node.attrs.get("input_count", 0)
        for position, param in enumerate(_params(node)):
            self.alone(param, node)
            if param.op is ops.BUFFER:
                self.in_context(param, node)
                self.declare(param, node, writable=not (type(inputs) is int and position < inputs))

    def loop(self, node: Node) -> None:
        """Check the head of a loop and bring its variable into scope."""
        if node.args and node.args[0].op is ops.RANGE:
            domain = node.args[0]
            self.alone(domain, node)
            self.scalars(domain.args, node)
            self.in_context(domain, node)
        self.in_context(node, node)
        self.context.enter_loop(node)

    def end(self, node: Node) -> None:
        """Leave a body."""
        context = self.context
        if node.op is ops.PROC:
            if not context.fragment:
                self.report(SIZE_RULE.name, node, SIZE_RULE.check(node, context), node)
            name = node.attrs.get("name")
            if type(name) is str:
                context.procs.setdefault(name, (node, context.proc_statement))
        if node.op is not ops.PROGRAM:
            context.leave()

    def declare(self, node: Node, statement: Node, *, writable: bool = True) -> None:
        """Record what a statement declares, calls or needs."""
        context = self.context
        if node.op is ops.ASSIGN:
            target = node.attrs.get("target")
            if node.attrs.get("declare") and type(target) is str and target not in context.names:
                context.declare(target, Declaration("scalar", node.type, node, context.statement, node))
        elif node.op is ops.BUFFER:
            name = node.attrs.get("name")
            if type(name) is not str or name in context.names:
                return
            context.declare(name, Declaration("buffer", node.type, node, context.statement, statement))
            source = context.storage.get(node.attrs.get("alias_of", ""))
            offset = node.attrs.get("alias_offset")
            if source is not None and type(offset) is int:
                context.storage[name] = Storage(source.root, source.offset + offset, source.writable)
            else:
                table = "values" in node.attrs or "elided" in node.attrs
                context.storage[name] = Storage(name, 0, writable and not table)
        elif node.op is ops.CALL and context.callee_needs is not None:
            found = context.procs.get(node.attrs.get("callee", ""))
            needed = None if found is None else found[0].attrs.get("sz_w")
            context.callee_needs = max(context.callee_needs, needed) if type(needed) is int else None

    def report(self, rule: str, node: Node, faults: Faults, statement: Node) -> None:
        """Record what a rule found as violations at the current place."""
        context = self.context
        for fault in faults:
            reason, blamed, part, notes = Fault(fault) if isinstance(fault, str) else fault
            blamed = node if blamed is None else blamed
            number = context.proc_statement if node.op is ops.PROC else context.statement
            label = _label(blamed, context.in_proc)
            operation = _operation(blamed, statement)
            self.found.append(Violation(rule, blamed, reason, label, operation, number, statement, part, notes))

    def alone(self, node: Node, statement: Node) -> None:
        """Check the rules of a node on its own."""
        if node in self.sound:
            return
        before = len(self.found)
        for name, check in self.spec.rules_of(node.op)[0]:
            faults = check(node)
            if faults is not NO_FAULTS:
                self.report(name, node, faults, statement)
        if len(self.found) == before:
            self.sound.add(node)

    def in_context(self, node: Node, statement: Node) -> None:
        """Check the rules of a node in its context."""
        context = self.context
        if context.fragment:
            return
        for name, check in self.spec.rules_of(node.op)[1]:
            faults = check(node, context)
            if faults is not NO_FAULTS:
                self.report(name, node, faults, statement)

    def scalars(self, roots: Sequence[Node], statement: Node) -> None:
        """Check scalars and views and all below them, in the order of the text."""
        placed, scope, open_scopes = self.placed, self.context.scope, self.context.open_scopes
        pending = list(roots)
        pending.reverse()
        while pending:
            node = pending.pop()
            known = placed.get(node)
            if known is not None and known in open_scopes:
                continue
            placed[node] = scope
            self.alone(node, statement)
            self.in_context(node, statement)
            if node.args:
                pending.extend(node.args[::-1])


def _params(proc: Node) -> tuple[Node, ...]:
    return params_of(proc) if type(proc.attrs.get("param_count")) is int else ()


def _statements(proc: Node) -> tuple[Node, ...]:
    return body_of(proc) if type(proc.attrs.get("param_count")) is int else ()


_NAMELESS: Final = frozenset({ops.VIEW, ops.VAR, ops.RANGE, ops.CONST_INT, ops.CONST_FLOAT})
"""Operators that the text does not write by their name."""


def _operation(node: Node, statement: Node) -> str:
    """Return the operation that the text shows for a node: for a name, literal or place, that of what it is part of."""
    user: Node | None = node
    if node.op is ops.BUFFER and node is not statement:
        return statement.op.name  # a parameter or an argument
    while user is not None and user.op in _NAMELESS:
        user = _user(user, statement)
    return (statement if user is None else user).op.name


def _user(node: Node, statement: Node) -> Node | None:
    """Return a node of a statement that has `node` as an operand, or None for the statement itself."""
    pending = list(statement.args[:1] if statement.op is ops.FOR else statement.args)
    seen = set(pending)
    while pending:
        user = pending.pop()
        if node in user.args:
            return user
        fresh = [operand for operand in user.args if operand not in seen]
        seen.update(fresh)
        pending.extend(fresh)
    return None


def _label(node: Node, number: int) -> str:
    """Return how a message calls a node: by its name, or by its statement's number in the procedure."""
    attrs = node.attrs
    if node.op is ops.PROC:
        return f"@{attrs.get('name')}"
    domain = node.args[0] if node.op is ops.FOR and node.args else node
    name = domain.attrs.get("name", domain.attrs.get("target"))
    return f"#{number}" if name is None else f"%{name}"


def _walk(spec: Spec, root: Node) -> Iterator[Violation]:
    return _Walk(spec, root).run(root)


SPEC: Final = Spec("verify_program", (*NODE_RULES, *REGISTERED_RULES, *PLACE_RULES, *CALL_RULES), _walk)
"""All rules of the dialect."""
