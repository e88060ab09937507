"""Canonical `prog` text: the one spelling of a program, which reads back to the same nodes.

Literals print bare where their context gives them back their type, and as ``prog.const`` exactly where it would not
(program specification 2.3 to 2.6). Iterative: nests and chains of any depth print in constant Python stack.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Final

from scaly_ir.attributes import spell_attrs
from scaly_ir.dialects.prog import ops
from scaly_ir.dialects.prog.build import params_of
from scaly_ir.graph import Node
from scaly_ir.op import Op
from scaly_ir.text.spelling import spell_float, spell_name
from scaly_ir.types import BOOL, INT64, DType, MemRefType

INDENT: Final = "  "

_HIDDEN: Final = {
    op: frozenset([key for key, spec in row.attrs.items() if not spec.printed]) for op, row in ops.ROWS.items()
}
_LITERALS: Final = frozenset({ops.CONST_INT, ops.CONST_FLOAT})


class _SpellOut:
    """Stands for the wanted type in a scalar made of literals only that nothing outside gives a type."""


_SPELL_OUT: Final = _SpellOut()
_ARITHMETIC: Final = frozenset({op for op in ops.OPERATORS.values() if op.get_attr("TScalarTyping") == "arith"})
"""Those that are registered with the dialect; others take the general way."""
_Wanted = DType | _SpellOut | None
_Operands = list[tuple[Node, _Wanted]]


def render(root: Node, *, elide: int | None = None) -> str:
    """Return the text of a module, procedure, statement, fragment or scalar, ending with a line end if not empty.

    `elide` replaces tables of more than that many elements by their count; such text does not verify.
    """
    if root.op in ops.ROWS and root.op not in ops.SCALAR_LEAVES and root.op not in (ops.VIEW, ops.RANGE):
        return "".join(_Printer(elide).lines(root))
    return scalar_text(root) + "\n"


def scalar_text(node: Node) -> str:
    """Return the text of a scalar, view or range on its own; literals get their type where nothing else gives it."""
    if node.op is ops.VIEW:
        return _view(node)
    if node.op is ops.RANGE:
        return _range(node)
    return spell_scalar(node, None)


class _Printer:
    """Prints statements; one object per text, for its options."""

    def __init__(self, elide: int | None) -> None:
        self._elide = elide

    def lines(self, root: Node) -> Iterator[str]:
        """Yield the lines of a statement or module, in order."""
        pending: list[tuple[Iterator[Node], str]] = []
        if root.op is ops.BLOCK or root.attrs.get("bare"):
            pending.append((iter(root.args), ""))
        else:
            pending.append((iter((root,)), ""))
        closing = False
        while pending:
            statements, indent = pending[-1]
            for node in statements:
                printed = _STATEMENTS.get(node.op)
                if printed is not None:
                    yield f"{indent}{printed(node)}\n"
                    continue
                if node.op is ops.BUFFER:
                    yield f"{indent}{self._buffer(node)}\n"
                    continue
                head, body = _open(node)
                yield f"{indent}{head} {{\n"
                pending.append((body, indent + INDENT))
                break
            else:
                pending.pop()
                closing = bool(pending)
                if closing:
                    yield f"{pending[-1][1]}}}\n"

    def _buffer(self, node: Node) -> str:
        attrs = node.attrs
        text = f"%{spell_name(attrs['name'])} = prog.buffer : {_memref(node)}"
        if "values" in attrs:
            return f"{text} = dense<{self._table(node)}>"
        if "elided" in attrs:
            return f"{text} = dense<elided<{attrs['elided']}>>"
        if "alias_of" in attrs:
            return f"{text} = prog.alias %{spell_name(attrs['alias_of'])} offset {attrs.get('alias_offset')}"
        if "workspace_offset" in attrs:
            return f"{text} = prog.workspace offset {attrs['workspace_offset']}"
        return text

    def _table(self, node: Node) -> str:
        values, dtype = node.attrs["values"], node.type
        if self._elide is not None and len(values) > self._elide:
            return f"elided<{len(values)}>"
        if dtype.is_float:
            return f"[{', '.join([spell_float(value, dtype, point=True) for value in values])}]"
        return f"[{', '.join(map(str, values))}]"


def _memref(node: Node) -> str:
    attrs = node.attrs
    return str(MemRefType(attrs["shape"], node.type, str(attrs["address_space"])))


def _open(node: Node) -> tuple[str, Iterator[Node]]:
    """Return the head of a module, procedure, loop or block and its statements."""
    if node.op is ops.FOR:
        return f"prog.for {_range(node.args[0])}", islice(node.args, 1, None)
    attrs = spell_attrs(node.attrs, _HIDDEN[node.op])
    tail = f" {attrs}" if attrs else ""
    if node.op is ops.PROC:
        params = ", ".join([f"%{spell_name(param.attrs['name'])}: {_memref(param)}" for param in params_of(node)])
        name = spell_name(node.attrs["name"])
        return f"prog.proc @{name}({params}){tail}", islice(node.args, node.attrs["param_count"], None)
    return f"prog.{'module' if node.op is ops.PROGRAM else node.op.mnemonic}{tail}", iter(node.args)


def _range(node: Node) -> str:
    start, stop, step = [spell_scalar(bound, INT64) for bound in node.args]
    attrs = spell_attrs(node.attrs, _HIDDEN[ops.RANGE])
    return f"%{spell_name(node.attrs['name'])} = {start} to {stop} step {step} {attrs}"


def _store(node: Node) -> str:
    view, value = node.args
    return f"prog.store {spell_scalar(value, node.type)}, {_view(view)} : {node.type}"


def _store_pair(node: Node) -> str:
    view, first, second = node.args
    dtype = node.type
    return f"prog.store_pair {spell_scalar(first, dtype)}, {spell_scalar(second, dtype)}, {_view(view)} : {dtype}"


def _assign(node: Node) -> str:
    attrs, dtype = node.attrs, node.type
    if len(attrs) == 2 and attrs.get("declare") is True:
        tail = " {declare=True}"  # nearly every one: not worth the general way
    else:
        shown = spell_attrs(attrs, _HIDDEN[ops.ASSIGN])
        tail = f" {shown}" if shown else ""
    return f"%{spell_name(attrs['target'])} = prog.assign {spell_scalar(node.args[0], dtype)} : {dtype}{tail}"


def _call(node: Node) -> str:
    attrs = spell_attrs(node.attrs, _HIDDEN[ops.CALL])
    arguments = [_view(arg) if arg.op is ops.VIEW else f"%{spell_name(arg.attrs['name'])}" for arg in node.args]
    return f"prog.call @{spell_name(node.attrs['callee'])}({', '.join(arguments)}){' ' if attrs else ''}{attrs}"


_STATEMENTS: Final[dict[Op, Callable[[Node], str]]] = {
    ops.STORE: _store,
    ops.STORE_PAIR: _store_pair,
    ops.ASSIGN: _assign,
    ops.CALL: _call,
}


def _view(node: Node) -> str:
    return f"%{spell_name(node.attrs['buffer'])}[{spell_scalar(node.args[0], INT64)}]"


def _leaf(node: Node, expected: _Wanted) -> str | None:
    """Return the text of a leaf, or None for what has operands to print."""
    op = node.op
    if op is ops.VAR:
        return f"%{spell_name(node.attrs['name'])}"
    if op in _LITERALS:
        value = node.attrs["value"]
        text = spell_float(value, node.type, point=False) if op is ops.CONST_FLOAT else str(value)
        return text if node.type is expected else f"prog.const({text}, {node.type})"
    if op is ops.LOAD and node.args[0].args[0].op is not ops.LOAD:
        view = node.args[0]
        inner = _leaf(view.args[0], INT64)
        if inner is not None:
            return f"prog.load %{spell_name(view.attrs['buffer'])}[{inner}]"
    return None


def _flat(node: Node, wanted: _Wanted) -> str | None:
    """Return the text of a leaf, or of arithmetic on leaves: what most scalars are; None for anything deeper."""
    text = _leaf(node, wanted)
    if text is None and node.op in _ARITHMETIC and node.type is wanted:
        dtype = node.type
        first = _leaf(node.args[0], dtype)
        if first is not None:
            if len(node.args) == 1:
                return f"{node.op.name}({first})"
            second = _leaf(node.args[1], dtype)
            if second is not None and len(node.args) == 2:
                return f"{node.op.name}({first}, {second})"
    return text


def spell_scalar(root: Node, expected: _Wanted) -> str:
    """Return the text of a scalar where a literal would be read as `expected` (None: nothing gives its type)."""
    whole = _flat(root, expected)
    if whole is not None:
        return whole
    pieces: list[str] = []
    pending: list[str | tuple[Node, _Wanted]] = [(root, expected)]
    while pending:
        entry = pending.pop()
        if isinstance(entry, str):
            pieces.append(entry)
            continue
        node, wanted = entry
        text = _flat(node, wanted)
        if text is not None:
            pieces.append(text)
        elif node.op is ops.LOAD:
            view = node.args[0]
            pieces.append(f"prog.load %{spell_name(view.attrs['buffer'])}[")
            pending.append("]")
            pending.append((view.args[0], INT64))
        else:
            head, operands, tail = _application(node, wanted)
            pieces.append(head)
            pending.append(tail)
            for position in range(len(operands) - 1, -1, -1):
                pending.append(operands[position])
                if position:
                    pending.append(", ")
    return "".join(pieces)


def _application(node: Node, wanted: _Wanted) -> tuple[str, _Operands, str]:
    """Return the text before the operands, each operand with the type its literals would get, and the text after."""
    args, op = node.args, node.op
    typing = ops.typing_of(op)
    head, tail = f"{op.name}(", ")"
    if typing == "arith":
        return head, _one_type(args, node.type, wanted), tail
    if typing == "logic":
        return head, [(arg, BOOL) for arg in args], tail
    if typing == "select":
        return head, [(args[0], BOOL), *_one_type(args[1:], node.type, wanted)], tail
    if typing == "compare":
        return head, _one_type(args, args[0].type, None), tail
    if typing == "cast":
        return head, [(arg, None) for arg in args], f", {node.type})"
    if typing == "test":
        return head, [(arg, None) for arg in args], tail
    return _registered(node)


def _registered(node: Node) -> tuple[str, _Operands, str]:
    """Return the parts of a registered operator; its attributes and a type no rule gives need parentheses."""
    attrs = spell_attrs(node.attrs)
    try:
        inferred = node.op.result_type(node)
    except Exception:  # a rule of a third party; the verifier reports what it raised
        inferred = None
    tail = f" {attrs}" if attrs else ""
    if inferred is not node.type:
        tail += f" : {node.type}"
    operands: _Operands = [(arg, None) for arg in node.args]
    return (f"({node.op.name}(", operands, f"){tail})") if tail else (f"{node.op.name}(", operands, ")")


def _one_type(args: tuple[Node, ...], dtype: DType, wanted: _Wanted) -> _Operands:
    """Give each of several operands of one type what its literals would be read as.

    Any operand with a type of its own gives it to the others; when there is none and nothing is wanted from outside,
    the first operand has to spell its type out.
    """
    if wanted is dtype or (wanted is not _SPELL_OUT and not all([_is_untyped(arg) for arg in args])):
        return [(arg, dtype) for arg in args]
    return [(args[0], _SPELL_OUT), *[(arg, dtype) for arg in args[1:]]]


def _is_untyped(root: Node) -> bool:
    """Tell whether a scalar is made of literals only, so that its text has no type of its own."""
    pending = [root]
    while pending:
        node = pending.pop()
        if node.op in _LITERALS:
            continue
        typing = ops.typing_of(node.op)
        if typing == "arith":
            pending.extend(node.args)
        elif typing == "select":
            pending.extend(node.args[1:])
        else:
            return False
    return True
