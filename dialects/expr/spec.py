"""The `expr` verifier: its rule tables, and the walk that visits functions in the order of their text.

Operations come in the order in which text lists them (`functions.body_of`), each once for each function. What an
operation is checked for depends on its operator, attributes, type and the types of its operands, nearly always: what
was found sound once is not looked at again. The walk is iterative. Source: expression specification 5.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any, Final
from weakref import WeakKeyDictionary

from scaly_ir.attributes import NO_ATTRS
from scaly_ir.dialects.expr import ops
from scaly_ir.dialects.expr.context import Context
from scaly_ir.dialects.expr.functions import inputs_of, outputs_of
from scaly_ir.dialects.expr.index_typing import is_inside
from scaly_ir.dialects.expr.rules import (
    CONTAINERS,
    OWN_RULES,
    REGISTERED_RULES,
    SHARED_RULES,
    SOUND_CHECKS,
    has_sound_types,
)
from scaly_ir.graph import Node, intern_node, postorder
from scaly_ir.op import Op
from scaly_ir.spec import DEFINED_HERE, Fault, Spec, Violation
from scaly_ir.tables import Table
from scaly_ir.tensors import TensorType
from scaly_ir.text.locations import Place
from scaly_ir.text.spelling import spell_name

Kind = Hashable
"""All that the rules look at in an operation."""

_SOUND: Final[WeakKeyDictionary[Spec, set[Kind]]] = WeakKeyDictionary()
"""The kinds of operations that no rule of a spec objects to. They hold no node and no table, only attributes."""
_MOST_KINDS: Final = 1 << 16


class _Walk:
    """One verification: where it is, and what was found sound already."""

    def __init__(self, spec: Spec, root: Node) -> None:
        self.spec = spec
        self.context = Context(root)
        self.number = -1
        """The number of the current operation, or function's head, in the order of the text."""
        self.listed: Sequence[Node] = ()
        """The operations of the current body, in the order of the text."""
        self.first = 0
        """The number of the first of them."""
        self.numbers: dict[Node, int] = {}
        """Their numbers, once somebody asks for one."""
        known = _SOUND.setdefault(spec, set())
        if len(known) > _MOST_KINDS:
            known.clear()
        self.sound = known
        self.sound_calls: set[Kind] = set()
        """The same for what refers to functions; it keeps them alive, hence for this verification alone."""

    def run(self, root: Node) -> Iterator[Violation]:
        """Visit every operation of every function below `root`."""
        if root.op is ops.MODULE:
            self.number -= 1 if root.attrs.get("bare") else 0
            yield from self.head(root)
            for function in root.args:
                yield from self.function(function)
        elif root.op is ops.FUNC:
            yield from self.function(root)
        else:
            results = root.args if root.op in (ops.REGION, ops.RETURN) else (root,)
            if root.op is ops.RETURN:
                self.number -= 1
            if results != (root,):
                yield from self.head(root)
            yield from self.operations(postorder(*results))

    def head(self, node: Node) -> Iterator[Violation]:
        """Check the head of a module, function or region."""
        self.number += 1
        return self.checked(node, node)

    def function(self, function: Node) -> Iterator[Violation]:
        """Check a function: its head, with inputs that nothing reads, and its operations."""
        if self.context.function_fault(function) is None:
            results, formals = outputs_of(function), inputs_of(function)
        else:
            results, formals = function.args, ()
        body = self.context.body = postorder(*results)
        yield from self.head(function)
        if formals:
            read = set(body)
            for formal in formals:
                if formal not in read:
                    yield from self.checked(formal, function)
        yield from self.operations(body)

    def operations(self, nodes: Sequence[Node]) -> Iterator[Violation]:
        """Check operations, each of which is a statement of its own."""
        self.listed, self.first, self.numbers = nodes, self.number + 1, {}
        sound, number = self.sound, self.number
        for node in nodes:
            number += 1
            op, args, type_ = node.op, node.args, node.type
            kind: Kind
            special = _SPECIAL.get(op)
            if special is not None:
                kind = special(node)
            elif len(args) == 2:
                kind = (op, node.attrs.key, id(type_), id(args[0].type), id(args[1].type))
            else:
                kind = (op, node.attrs.key, id(type_), *[id(operand.type) for operand in args])
            if kind in sound:
                continue
            self.number = number
            if op in ops.CALLS:
                yield from self.call(node, kind)
            else:
                yield from self.operation(node, kind)
        self.number = number

    def operation(self, node: Node, kind: Kind) -> Iterator[Violation]:
        """Check an operation of a kind that was not met before."""
        found = False
        for violation in self.checked(node, node):
            found = True
            yield violation
        if not found and kind is not None and self.sees_kinds_alone(node):
            self.sound.add(kind)

    def call(self, node: Node, kind: Kind) -> Iterator[Violation]:
        """Check what refers to functions."""
        if kind in self.sound_calls:
            return
        found = False
        for violation in self.checked(node, node):
            found = True
            yield violation
        if not found and self.sees_kinds_alone(node):
            self.sound_calls.add(kind)

    def sees_kinds_alone(self, node: Node) -> bool:
        """Tell whether all rules of an operation are ours, which look at nothing but its kind, and that will last."""
        return all([check in SOUND_CHECKS for _name, check in self.spec.rules_of(node.op)[0]]) and has_sound_types(node)

    def checked(self, node: Node, statement: Node) -> Iterator[Violation]:
        """Yield what is wrong with a node on its own and in its context."""
        alone, in_context, _ = self.spec.rules_of(node.op)
        for name, check in alone:
            for fault in check(node):
                yield self.violation(name, node, fault, statement)
        for name, check in in_context:
            for fault in check(node, self.context):
                yield self.violation(name, node, fault, statement)

    def violation(self, rule: str, node: Node, fault: str | Fault, statement: Node) -> Violation:
        """Return what a rule found as a violation at the current place."""
        reason, blamed, part, notes = Fault(fault) if isinstance(fault, str) else fault
        blamed = node if blamed is None else blamed
        place = Place(self.number, statement, blamed, part)
        if type(part) is int and not notes and blamed is statement and statement.op not in CONTAINERS:
            notes = self.definition(blamed.args[part])
        return Violation(rule, blamed, reason, _label(blamed), node.op.name, place, notes)

    def definition(self, operand: Node) -> tuple[tuple[str, Place], ...]:
        """Return the note on where an operand of the current operation is defined."""
        if not self.numbers:
            self.numbers = {node: number for number, node in enumerate(self.listed, start=self.first)}
        number = self.numbers.get(operand)
        return () if number is None else ((DEFINED_HERE, Place(number, operand, operand, "result")),)


# --- kinds of operations that need a closer look ----------------------------------------------------------------------


def _input_kind(node: Node) -> Kind:
    """Inputs are alike whatever they are called."""
    attrs = node.attrs
    name, hint = attrs.get("name"), attrs.get("lowering")
    if type(name) is not str or not name or not _plain(node, hint):
        return None
    return (node.op, id(node.type), hint)


def _const_kind(node: Node) -> Kind:
    """Constants are alike whatever the numbers in them are."""
    table, hint = node.attrs.get("value"), node.attrs.get("lowering")
    if type(table) is not Table or not _plain(node, hint):
        return None
    return (node.op, id(node.type), table.shape, table.dtype, hint)


def _plain(node: Node, hint: Any) -> bool:
    """Tell whether a source has no operand, and no attribute but its own and a hint."""
    return not node.args and (hint is None or type(hint) is str) and len(node.attrs) == 1 + (hint is not None)


def _indexed_kind(node: Node) -> Kind:
    """Of a constant index it matters whether all positions are in bounds; a pattern depends on each of them."""
    args = node.args
    kind = (node.op, node.attrs.key, id(node.type), *[id(operand.type) for operand in args])
    if len(args) < 2 or args[1].op is not ops.CONST:
        return kind
    table, data, axis = args[1].attrs.get("value"), args[0].type, node.attrs.get("axis")
    if type(table) is not Table or type(data) is not TensorType or type(data.shape) is not tuple:
        return None
    if getattr(node.type, "pattern", None) is not None:
        return None
    if axis is not None and (type(axis) is not int or not 0 <= axis < data.ndim):
        return None
    return (*kind, is_inside(table, data.size if axis is None else data.shape[axis]))


_SPECIAL: Final[dict[Op, Callable[[Node], Kind]]] = {
    ops.INPUT: _input_kind,
    ops.CONST: _const_kind,
    ops.GATHER: _indexed_kind,
    ops.SCATTER: _indexed_kind,
}
"""The kind of an operation where it is not attributes, type and types of operands; None when it is one of its own."""


# --- the specs --------------------------------------------------------------------------------------------------------


def _label(node: Node) -> str:
    """Return how a message calls a node: by the name of an input or function, else by its Python id."""
    name = node.attrs.get("name")
    if type(name) is str and name and node.op in (ops.INPUT, ops.FUNC, ops.REGION):
        return name if node.op is ops.INPUT else f"@{spell_name(name)}"
    return f"%{id(node)}"


def _walk(spec: Spec, root: Node) -> Iterator[Violation]:
    return _Walk(spec, root).run(root)


SPEC: Final = Spec("verify_expr", (*SHARED_RULES, *OWN_RULES, *REGISTERED_RULES), _walk)
"""All rules of the dialect."""

spec_expr: Final = SPEC
spec_expr_shared: Final = Spec("verify_expr", SHARED_RULES, _walk)
"""The rules of all operations alone."""


def verify_expr(roots: Any, spec: Spec = SPEC) -> None:
    """Check expressions, functions or modules: one of them or a sequence.

    Each operation is checked once, operands before users; `VerifyError` for the first that breaks a rule. The body of a
    function is checked where the function or its module is given, not where a call refers to it. `TypeError` for what
    is none of these.
    """
    root = getattr(roots, "node", roots)
    if isinstance(root, Node):
        spec.verify(root)
        return
    if not isinstance(root, list | tuple):
        raise TypeError(f"expected an expression, a function or a sequence of them, got {root!r}")
    nodes = [_as_node(each) for each in root]
    if any([node.op in CONTAINERS for node in nodes]):
        for node in nodes:
            spec.verify(node)
    else:
        spec.verify(intern_node(ops.RETURN, tuple(nodes), NO_ATTRS, None))


def _as_node(value: Any) -> Node:
    node = getattr(value, "node", value)
    if not isinstance(node, Node):
        raise TypeError(f"expected an expression or a function, got {value!r}")
    return node
