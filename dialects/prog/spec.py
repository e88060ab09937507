"""The `prog` verifier: its rule table, and the walk that visits a program in the order of its text.

Each distinct node is checked once on its own, and once in context as long as what it depends on stays in scope. The
walk is iterative and linear in the size of the program. A fragment (a `block`) is checked by the rules of single nodes
alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Final

from scaly_ir.dialects.prog import ops
from scaly_ir.dialects.prog.build import body_of, is_operation, lead_of, operations, param_count_of
from scaly_ir.dialects.prog.call_rules import CALL_RULES
from scaly_ir.dialects.prog.context import (
    Context,
    Damage,
    Declaration,
    Storage,
    buffer_size,
    symbol_name,
    value_name,
)
from scaly_ir.dialects.prog.place_rules import PLACE_RULES, declares
from scaly_ir.dialects.prog.rules import NODE_RULES, REGISTERED_RULES
from scaly_ir.graph import Node, preorder
from scaly_ir.spec import Fault, Spec, Violation
from scaly_ir.text.locations import Part, Place

_UNDAMAGED: Final = Damage()
_ABOUT_HEADS: Final = frozenset({"in-scope", "workspace-bounds", "lane-loop", "decl-at-top"})
"""The rules that look at the heads of the loops and of the procedure around a statement."""
_NAMING: Final = ("name", "buffer", "target", "alias_of", "callee")
"""The attributes that hold names."""


class _Walk:
    """One verification: the context, what was checked already, and what was found at the current statement."""

    def __init__(self, spec: Spec, root: Node, damage: Damage = _UNDAMAGED) -> None:
        self.spec = spec
        self.damage = damage
        self.context = Context(root)
        self.in_place = 2 if self.context.fragment else 1
        """Which of the lists that `Spec.rules_of` returns are the rules in context."""
        self.found: list[Violation] = []
        self.sound: set[Node] = set()
        """Nodes that break no rule of their own."""
        self.placed: dict[Node, int] = {}
        """Scalars checked in context, with the scope in which that was."""
        self.owners: tuple[Node, dict[Node, str]] = (root, {})
        """A statement, and the operation in the text that each node in it is an operand of."""

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
                if node.op is ops.FOR or node is root is not self.context.proc:
                    pending.append((iter(body_of(node)), node))
                    break
                if node is self.context.proc and param_count_of(node) is not None:
                    pending.append((iter(body_of(node)), node))
                    break
                if lead_of(node) is not None:  # what is not walked has its places in the text, too
                    self.context.statement += len(list(operations(node))) - is_operation(node)
                if node is self.context.proc:
                    self.end(node)
            else:
                pending.pop()
                if owner is not None:
                    self.end(owner)
        yield from self.found

    def statement(self, node: Node) -> None:
        """Check one statement, or the head of one with a body, and bring into scope what it declares."""
        context = self.context
        context.statement += is_operation(node)
        context.in_proc += 1
        op = node.op
        if context.statement in self.damage.statements:
            self.pass_over(node)
            return
        if op is ops.PROC and context.proc is None and not context.loops:
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
            self.scalars(_in_text_order(node), node)
        self.in_context(node, node)
        if not context.fragment:
            self.declare(node)

    def pass_over(self, node: Node) -> None:
        """Go on behind a statement with a mistake in its text: nothing is known of what it declares."""
        context = self.context
        if node.op is ops.PROC and context.proc is None and not context.loops:
            context.enter_proc(node)
        elif node.op is ops.FOR:
            context.enter_loop(node, sound=False)
        elif node.op in (ops.ASSIGN, ops.BUFFER):
            name = node.attrs.get("target" if node.op is ops.ASSIGN else "name")
            if type(name) is str:
                context.declare(name, Declaration("", node.type, node, context.place(node, node)))

    def head(self, node: Node) -> None:
        """Check the head of a procedure and declare its parameters."""
        context = self.context
        context.enter_proc(node)
        self.alone(node, node)
        self.in_context(node, node)
        inputs = node.attrs.get("input_count", 0)
        context.in_header = True
        for position, param in enumerate(node.args[: lead_of(node)]):
            self.alone(param, node)
            if param.op is ops.BUFFER:
                first = len(self.found)
                self.in_context(param, node)
                # Two parameters may be the same node, so the place is that of the operand.
                place = context.place(node, node, position)
                self.found[first:] = [replace(violation, place=place) for violation in self.found[first:]]
                self.declare(param, place, writable=not (type(inputs) is int and position < inputs))
        context.in_header = False

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
        if node is context.proc:
            name = node.attrs.get("name")
            if type(name) is str:
                context.procs.setdefault(name, (node, context.proc_place))
            context.leave()
        elif node.op is ops.FOR:
            context.leave()

    def declare(self, node: Node, place: Place | None = None, *, writable: bool = True) -> None:
        """Record what a statement or, at `place`, a parameter declares."""
        context = self.context
        if node.op is ops.ASSIGN:
            target = node.attrs.get("target")
            if type(target) is str and (target not in context.names or declares(node)):
                # A target that nobody declared counts as declared from here on: one message is enough.
                kind = "scalar" if declares(node) else ""
                context.declare(target, Declaration(kind, node.type, node, context.place(node, node, "target")))
        elif node.op is ops.BUFFER:
            name = node.attrs.get("name")
            if type(name) is not str:
                return
            new = name not in context.names
            place = place or context.place(node, node, "name")
            context.declare(name, Declaration("buffer", node.type, node, place, buffer_size(node)))
            if new:
                context.storage[name] = self.storage(name, node, writable)

    def storage(self, name: str, node: Node, writable: bool) -> Storage:
        """Return the storage behind a declaration."""
        source, offset = node.attrs.get("alias_of"), node.attrs.get("alias_offset")
        behind = self.context.storage.get(source) if type(source) is str else None
        if behind is not None and type(offset) is int:
            return Storage(behind.root, behind.offset + offset, behind.writable)
        return Storage(name, 0, writable and "values" not in node.attrs and "elided" not in node.attrs)

    def report(self, rule: str, node: Node, fault: str | Fault, statement: Node) -> None:
        """Record what a rule found as a violation at the current place."""
        context = self.context
        reason, blamed, part, notes = Fault(fault) if isinstance(fault, str) else fault
        blamed = node if blamed is None else blamed
        if self.damage is not _UNDAMAGED and self.may_follow(rule, node, blamed, part):
            return
        label, operation = _label(blamed, context.in_proc), self.operation(node, statement)
        place = context.place(statement, blamed, part)
        self.found.append(Violation(rule, blamed, reason, label, operation, place, notes))

    def may_follow(self, rule: str, node: Node, blamed: Node, part: Part) -> bool:
        """Tell whether what a rule found may follow from a mistake in the text: from a name or a head that is lost."""
        heads = [*self.context.loops, *([] if self.context.proc is None else [self.context.proc_place])]
        if rule in _ABOUT_HEADS and any([head.number in self.damage.statements for head in heads]):
            return True
        end = part + 1 if type(part) is int else 0
        involved = [node, blamed, *blamed.args[max(end - 1, 0) : end]]
        return any([self.is_lost(each.attrs.get(key), key) for each in involved for key in _NAMING])

    def is_lost(self, name: Any, key: str) -> bool:
        """Tell whether a name may have been defined where the text could not be read, or with a mistake."""
        if type(name) is not str:
            return False
        if key == "callee" and name in self.context.procs:
            return self.context.procs[name][1].number in self.damage.statements
        known = None if key == "callee" else self.context.names.get(name)
        return name in self.damage.names and (known is None or not known.kind)

    def operation(self, node: Node, statement: Node) -> str:
        """Return the operation of the text that a node of a statement belongs to."""
        if statement.op is ops.PROGRAM:
            return "prog.module"
        if statement.op is ops.PROC or (statement.op is ops.FOR and node.op is ops.RANGE):
            return statement.op.name
        if node.op not in _UNSPELLED and not (node.op is ops.BUFFER and statement.op is ops.CALL):
            return node.op.name
        if self.owners[0] is not statement:
            self.owners = (statement, _owners(statement))
        return self.owners[1].get(node, statement.op.name)

    def alone(self, node: Node, statement: Node) -> None:
        """Check the rules of a node on its own."""
        if node in self.sound:
            return
        before = len(self.found)
        for name, check in self.spec.rules_of(node.op)[0]:
            for fault in check(node):
                self.report(name, node, fault, statement)
        if len(self.found) == before:
            self.sound.add(node)

    def in_context(self, node: Node, statement: Node) -> None:
        """Check the rules of a node in its context."""
        context = self.context
        for name, check in self.spec.rules_of(node.op)[self.in_place]:
            for fault in check(node, context):
                self.report(name, node, fault, statement)

    def scalars(self, roots: Sequence[Node], statement: Node) -> None:
        """Check scalars and views and all below them, in the order of the text."""
        placed, scope, open_scopes = self.placed, self.context.scope, self.context.open_scopes
        before = len(self.found)
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
        if len(self.found) > before:
            # The next statement that uses what is wrong gets a message of its own.
            for root in roots:
                for node in preorder(root):
                    placed.pop(node, None)


def _in_text_order(node: Node) -> Sequence[Node]:
    """Return the operands of a statement in the order of its text: values first and the place behind them."""
    first_view = bool(node.args) and node.args[0].op is ops.VIEW and node.op is not ops.CALL
    return [*node.args[1:], node.args[0]] if first_view else node.args


def _label(node: Node, number: int) -> str:
    """Return how a message calls a node: by its name, or by its statement's number in the procedure."""
    attrs = node.attrs
    if node.op is ops.PROC:
        return symbol_name(attrs.get("name"))
    domain = node.args[0] if node.op is ops.FOR and node.args else node
    name = domain.attrs.get("name", domain.attrs.get("target"))
    return f"#{number}" if name is None else value_name(name)


_UNSPELLED: Final = frozenset({ops.VIEW, ops.VAR, ops.CONST_INT, ops.CONST_FLOAT})
"""What has no operation's name of its own in the text."""


def _owners(statement: Node) -> dict[Node, str]:
    """Return the operation in the text that each node in a statement is an operand of, at its first place."""
    operands = statement.args[:1] if statement.op is ops.FOR else _in_text_order(statement)
    pending = [(operand, statement.op) for operand in reversed(operands)]
    owners: dict[Node, str] = {}
    while pending:
        current, owner = pending.pop()
        if current not in owners:
            owners[current] = owner.name
            own = owner if current.op in _UNSPELLED or current.op is ops.RANGE else current.op
            pending.extend([(operand, own) for operand in reversed(current.args)])
    return owners


def _walk(spec: Spec, root: Node) -> Iterator[Violation]:
    return _Walk(spec, root).run(root)


def check_damaged(root: Node, damage: Damage) -> Iterator[Violation]:
    """Yield the violations in what could be read of a text with mistakes."""
    return _Walk(SPEC, root, damage).run(root)


SPEC: Final = Spec("verify_program", (*NODE_RULES, *REGISTERED_RULES, *PLACE_RULES, *CALL_RULES), _walk)
"""All rules of the dialect."""
