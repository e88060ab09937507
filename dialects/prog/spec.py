"""The `prog` verifier: its rule table, and the walk that visits a program in the order of its text.

Each distinct node is checked once on its own, and once in context as long as what it depends on stays in scope. The walk
is iterative and linear in the size of the program. A fragment (a `block`) is checked by the rules of single nodes alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from scaly_ir.dialects.prog import ops
from scaly_ir.dialects.prog.build import body_of, params_of
from scaly_ir.dialects.prog.call_rules import CALL_RULES, SIZE_RULE
from scaly_ir.dialects.prog.context import Context, Declaration, Storage
from scaly_ir.dialects.prog.place_rules import PLACE_RULES
from scaly_ir.dialects.prog.rules import NODE_RULES, REGISTERED_RULES
from scaly_ir.graph import Node
from scaly_ir.spec import Fault, Spec, Violation


class _Walk:
    """One verification: the context and what was checked already."""

    def __init__(self, spec: Spec, root: Node) -> None:
        self.spec = spec
        self.context = Context(root)
        self.sound: set[Node] = set()
        """Nodes that break no rule of their own."""
        self.placed: dict[Node, int] = {}
        """Scalars checked in context, with the scope in which that was."""

    def run(self, root: Node) -> Iterator[Violation]:
        """Visit every statement below `root`, in pre-order."""
        bare = root.op is ops.BLOCK or (root.op is ops.PROGRAM and root.attrs.get("bare"))
        if bare:
            self.context.statement = -1
            yield from self.alone(root, root)
        pending: list[tuple[Iterator[Node], Node | None]] = [(iter(root.args if bare else (root,)), None)]
        while pending:
            statements, owner = pending[-1]
            for node in statements:
                yield from self.statement(node)
                if node.op is ops.PROGRAM or node.op is ops.FOR:
                    pending.append((iter(body_of(node)), node))
                    break
                if node.op is ops.PROC:
                    pending.append((iter(_statements(node)), node))
                    break
            else:
                pending.pop()
                if owner is not None:
                    yield from self.end(owner)

    def statement(self, node: Node) -> Iterator[Violation]:
        """Check one statement, or the head of one with a body, and bring into scope what it declares."""
        context = self.context
        context.statement += 1
        context.in_proc += 1
        if node.op is ops.PROC:
            yield from self.head(node)
            return
        yield from self.alone(node, node)
        if node.op is ops.FOR:
            yield from self.loop(node)
            return
        if node.op is ops.CALL:
            indices = [index for arg in node.args if arg.op is ops.VIEW for index in arg.args]
            for arg in node.args:
                yield from self.alone(arg, node)
            yield from self.scalars(indices, node)
        elif node.op in ops.STATEMENTS and node.args:
            # The text has the values first and the place behind them.
            first_view = node.args[0].op is ops.VIEW
            yield from self.scalars([*node.args[1:], node.args[0]] if first_view else list(node.args), node)
        yield from self.in_context(node, node)
        if not context.fragment:
            self.declare(node)

    def head(self, node: Node) -> Iterator[Violation]:
        """Check the head of a procedure and declare its parameters."""
        context = self.context
        context.enter_proc(node)
        yield from self.alone(node, node)
        yield from self.in_context(node, node)
        inputs = node.attrs.get("input_count", 0)
        for position, param in enumerate(_params(node)):
            yield from self.alone(param, node)
            if param.op is ops.BUFFER:
                yield from self.in_context(param, node)
                self.declare(param, writable=not (type(inputs) is int and position < inputs))

    def loop(self, node: Node) -> Iterator[Violation]:
        """Check the head of a loop and bring its variable into scope."""
        if node.args and node.args[0].op is ops.RANGE:
            domain = node.args[0]
            yield from self.alone(domain, node)
            yield from self.scalars(list(domain.args), node)
            yield from self.in_context(domain, node)
        yield from self.in_context(node, node)
        self.context.enter_loop(node)

    def end(self, node: Node) -> Iterator[Violation]:
        """Leave a body."""
        context = self.context
        if node.op is ops.PROC:
            if not context.fragment:
                for fault in SIZE_RULE.check(node, context):
                    yield self.violation(SIZE_RULE.name, node, fault, node)
            name = node.attrs.get("name")
            if type(name) is str:
                context.procs.setdefault(name, (node, context.proc_statement))
        if node.op is not ops.PROGRAM:
            context.leave()

    def declare(self, node: Node, *, writable: bool = True) -> None:
        """Record what a statement declares, calls or needs."""
        context = self.context
        if node.op is ops.ASSIGN:
            target = node.attrs.get("target")
            if node.attrs.get("declare") and type(target) is str and target not in context.names:
                context.declare(target, Declaration("scalar", node.type, node, context.statement))
        elif node.op is ops.BUFFER:
            name = node.attrs.get("name")
            if type(name) is not str or name in context.names:
                return
            context.declare(name, Declaration("buffer", node.type, node, context.statement))
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

    def violation(self, rule: str, node: Node, fault: str | Fault, statement: Node) -> Violation:
        """Return a fault as a violation at the current place."""
        context = self.context
        if isinstance(fault, str):
            fault = Fault(fault)
        blamed = node if fault.node is None else fault.node
        number = context.proc_statement if node.op is ops.PROC else context.statement
        label = _label(blamed, context.in_proc)
        return Violation(rule, blamed, fault.reason, label, number, statement, fault.part, fault.notes)

    def alone(self, node: Node, statement: Node) -> Iterator[Violation]:
        """Check the rules of a node on its own."""
        if node in self.sound:
            return
        checks, names, _ = self.spec.rules_of(node.op)
        sound = True
        for position, check in enumerate(checks):
            for fault in check(node):
                sound = False
                yield self.violation(names[position], node, fault, statement)
        if sound:
            self.sound.add(node)

    def in_context(self, node: Node, statement: Node) -> Iterator[Violation]:
        """Check the rules of a node in its context."""
        if self.context.fragment:
            return
        for rule in self.spec.rules_of(node.op)[2]:
            for fault in rule.check(node, self.context):
                yield self.violation(rule.name, node, fault, statement)

    def scalars(self, roots: list[Node], statement: Node) -> Iterator[Violation]:
        """Check scalars and views and all below them, in the order of the text."""
        placed, scope, open_scopes = self.placed, self.context.scope, self.context.open_scopes
        pending = roots[::-1]
        while pending:
            node = pending.pop()
            known = placed.get(node)
            if known is not None and known in open_scopes:
                continue
            placed[node] = scope
            yield from self.alone(node, statement)
            yield from self.in_context(node, statement)
            if node.args:
                pending.extend(reversed(node.args))


def _params(proc: Node) -> tuple[Node, ...]:
    return params_of(proc) if type(proc.attrs.get("param_count")) is int else ()


def _statements(proc: Node) -> tuple[Node, ...]:
    return body_of(proc) if type(proc.attrs.get("param_count")) is int else ()


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
