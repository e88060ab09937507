"""Builders of `prog` nodes: typed, checked where a mistake would be cheap to catch, and the only way code makes
programs.

Scalars take their type from their operands. Builders raise `TypeError` for operands that do not fit; the verifier
checks everything else. Source: program specification 1.3 and 1.4.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from scaly_ir.attributes import NO_ATTRS, Attrs, AttrValue, Word, named
from scaly_ir.dialects.prog import ops
from scaly_ir.graph import Node, intern_node
from scaly_ir.graph.expression import Arithmetic, declare_arithmetic
from scaly_ir.graph.observe import report_rebuilt
from scaly_ir.graph.walk import in_text_order
from scaly_ir.op import Op
from scaly_ir.text.spelling import round_float
from scaly_ir.types import BOOL, FLOAT64, INT64, DType, int_range


def const(value: float, dtype: DType) -> Node:
    """Make a constant: an int for integer types and bool, a number for floating types, rounded to `dtype`."""
    if dtype.is_float:
        return intern_node(ops.CONST_FLOAT, (), Attrs({"value": round_float(float(value), dtype)}), dtype)
    if isinstance(value, float):
        raise TypeError(f"a constant of {dtype} needs an integer, got {value}")
    if int(value) not in int_range(dtype):
        raise OverflowError(f"{value} does not fit {dtype}")
    return intern_node(ops.CONST_INT, (), Attrs({"value": int(value)}), dtype)


@lru_cache(maxsize=1024, typed=True)
def index(value: int) -> Node:
    """Make an int64 constant."""
    return const(value, INT64)


def var(name: str, dtype: DType = INT64) -> Node:
    """Make a use of a scalar or loop variable."""
    return intern_node(ops.VAR, (), named("name", name), dtype)


def apply(name: str, *operands: Node) -> Node:
    """Apply the shared scalar operator ``prog.<name>`` and derive its type; `TypeError` when operands do not fit."""
    op = Op.get(f"prog.{name}")
    typing = op.get_attr("TScalarTyping")
    if typing is None or typing == "cast":
        raise TypeError(f"'{op.name}' is no scalar operator with a derived type")
    wrong_count = op.count_fault(len(operands))
    if wrong_count is not None:
        raise TypeError(f"'{op.name}' {wrong_count}")
    typed = operands[1:] if typing == "select" else operands
    if typing == "select" and operands[0].type is not BOOL:
        raise TypeError(f"the condition of 'prog.select' is {operands[0].type}, not bool")
    kinds = {operand.type for operand in typed}
    if len(kinds) != 1:
        raise TypeError(f"the operands of '{op.name}' have types {', '.join([str(o.type) for o in typed])}")
    (dtype,) = kinds
    if dtype.kind not in op.get_attr("TOperandKinds"):
        raise TypeError(f"'{op.name}' does not accept {dtype}")
    return intern_node(op, operands, NO_ATTRS, BOOL if typing in ("compare", "test", "logic") else dtype)


def cast(operand: Node, dtype: DType) -> Node:
    """Convert a scalar; a conversion to bool is written ``ne(x, 0)``, so asking for it is a `TypeError`."""
    if dtype is BOOL:
        raise TypeError("a conversion to bool is written ne(x, 0)")
    return intern_node(Op.get("prog.cast"), (operand,), NO_ATTRS, dtype)


def convert(operand: Node, dtype: DType) -> Node:
    """Convert a scalar to any type, to bool by a comparison."""
    return apply("ne", operand, const(0, operand.type)) if dtype is BOOL else cast(operand, dtype)


declare_arithmetic("prog", Arithmetic(const, apply, convert))


def view(buffer: Node | str, at: Node | int, dtype: DType | None = None) -> Node:
    """Make the location `at` of a buffer: a declaration, or a name with its element type."""
    name, element = (buffer, dtype) if isinstance(buffer, str) else (buffer.attrs["name"], buffer.type)
    position = index(at) if isinstance(at, int) else at
    return intern_node(ops.VIEW, (position,), named("buffer", name), element)


def load(where: Node) -> Node:
    """Read the value at a view."""
    return intern_node(ops.LOAD, (where,), NO_ATTRS, where.type)


def store(where: Node, value: Node) -> Node:
    """Write `value` at a view."""
    return intern_node(ops.STORE, (where, value), NO_ATTRS, value.type)


def store_pair(where: Node, first: Node, second: Node) -> Node:
    """Write two float64 values at a view and the element after it."""
    return intern_node(ops.STORE_PAIR, (where, first, second), NO_ATTRS, first.type)


def assign(target: str, value: Node, *, declare: bool = False) -> Node:
    """Set a scalar variable; `declare` introduces it."""
    attrs: dict[str, AttrValue] = {"target": target}
    if declare:
        attrs["declare"] = True
    return intern_node(ops.ASSIGN, (value,), Attrs(attrs), value.type)


def _buffer(name: str, shape: int | Iterable[int], dtype: DType, space: str, **init: AttrValue) -> Node:
    extents = (shape,) if isinstance(shape, int) else tuple(shape)
    attrs = {"name": name, "shape": extents, "address_space": Word(space), "device": Word("host"), **init}
    return intern_node(ops.BUFFER, (), Attrs(attrs), dtype)


def param(name: str, shape: int | Iterable[int], dtype: DType = FLOAT64) -> Node:
    """Declare a parameter: a plain buffer in global space."""
    return _buffer(name, shape, dtype, "global")


def buffer(name: str, shape: int | Iterable[int], dtype: DType = FLOAT64, space: str = "private") -> Node:
    """Declare a temporary."""
    return _buffer(name, shape, dtype, space)


def table(name: str, values: Sequence[float], dtype: DType = FLOAT64, shape: Iterable[int] | None = None) -> Node:
    """Declare a constant table; `values` are flat in row-major order, rounded to `dtype`."""
    extents = (len(values),) if shape is None else tuple(shape)
    if math.prod(extents) != len(values):
        raise ValueError(f"table '{name}' has {len(values)} values, its shape {list(extents)} another count")
    entries = tuple([round_float(float(v), dtype) if dtype.is_float else int(v) for v in values])
    return _buffer(name, extents, dtype, "constant", values=entries)


def alias(name: str, of: Node, offset: int, shape: int | Iterable[int], space: str = "private") -> Node:
    """Declare a window of another buffer's storage, from element `offset`."""
    return _buffer(name, shape, of.type, space, alias_of=of.attrs["name"], alias_offset=offset)


def workspace(name: str, shape: int | Iterable[int], offset: int) -> Node:
    """Declare a window of the caller's workspace, from element `offset`."""
    return _buffer(name, shape, FLOAT64, "private", workspace_offset=offset)


def _flat(statements: Iterable[Node]) -> list[Node]:
    """Return the statements with blocks replaced by what they hold."""
    pending = list(statements)[::-1]
    flat = []
    while pending:
        statement = pending.pop()
        if statement.op is ops.BLOCK:
            pending.extend(reversed(statement.args))
        else:
            flat.append(statement)
    return flat


def block(statements: Iterable[Node]) -> Node:
    """Group statements; only the root of a fragment keeps a block."""
    return intern_node(ops.BLOCK, tuple(_flat(statements)), NO_ATTRS, None)


def range_(name: str, start: Node | int, stop: Node | int, step: Node | int = 1, kind: str = "global") -> Node:
    """Make the domain of a loop."""
    bounds = tuple([index(bound) if isinstance(bound, int) else bound for bound in (start, stop, step)])
    return intern_node(ops.RANGE, bounds, _of_kind(str(kind)).followed_by("name", name), INT64)


@lru_cache
def _of_kind(kind: str) -> Attrs:
    return Attrs({"kind": Word(kind)})


def for_(domain: Node, body: Iterable[Node]) -> Node:
    """Make a loop over a range."""
    return intern_node(ops.FOR, (domain, *_flat(body)), NO_ATTRS, None)


def call(callee: str, arguments: Iterable[Node], **attrs: AttrValue) -> Node:
    """Call a procedure on buffers (declarations) and views: inputs first, then outputs."""
    return intern_node(ops.CALL, tuple(arguments), Attrs({"callee": callee, **attrs}), None)


def proc(name: str, params: Sequence[Node], body: Iterable[Node], attrs: Mapping[str, Any] | None = None) -> Node:
    """Make a procedure; `attrs` are header attributes such as ``input_count``."""
    header = Attrs({**(attrs or {}), "name": name, "param_count": len(params)})
    return intern_node(ops.PROC, (*params, *_flat(body)), header, None)


def program(procs: Sequence[Node], *, lanes: int | None = None, bare: bool = False) -> Node:
    """Make a module; `bare` marks procedures that stand in a file without one around them."""
    attrs: dict[str, AttrValue] = {"proc_count": len(procs)}
    if lanes is not None:
        attrs["lanes"] = lanes
    if bare:
        attrs["bare"] = True
    return intern_node(ops.PROGRAM, tuple(procs), Attrs(attrs), None)


def params_of(procedure: Node) -> tuple[Node, ...]:
    """Return the parameters of a procedure."""
    return procedure.args[: procedure.attrs["param_count"]]


def body_of(node: Node) -> tuple[Node, ...]:
    """Return the statements of a procedure, loop or block."""
    if node.op is ops.PROC:
        return node.args[node.attrs["param_count"] :]
    return node.args[1:] if node.op is ops.FOR else node.args


def param_count_of(procedure: Node) -> int | None:
    """Return how many parameters a procedure says it has; None where it does not say so, as it must."""
    count = procedure.attrs.get("param_count")
    return count if type(count) is int and count >= 0 else None


def lead_of(node: Node) -> int | None:
    """Return how many operands come before the body of a node, as far as its attributes tell; None without a body."""
    if node.op is ops.PROC:
        return param_count_of(node) or 0
    return _LEADS.get(node.op)


_LEADS = {ops.PROGRAM: 0, ops.BLOCK: 0, ops.FOR: 1}


def is_operation(node: Node) -> bool:
    """Tell whether a node is an operation of its own, and not only what holds statements or bare procedures."""
    return node.op is not ops.BLOCK and not (node.op is ops.PROGRAM and bool(node.attrs.get("bare")))


def operations(root: Node) -> Iterator[Node]:
    """Yield the operations of the text in pre-order, as the verifier walks."""
    return in_text_order(root, is_operation, lead_of)


def buffer_of(place: Node) -> str:
    """Return the name of the buffer that a view, or an argument of a call, is about."""
    name: str = place.attrs["buffer" if place.op is ops.VIEW else "name"]
    return name


def statements_in(node: Node) -> Iterator[Node]:
    """Yield every statement in a procedure, loop or block, or in a module, in the order of the text."""
    pending = [iter(body_of(node))]
    while pending:
        for statement in pending[-1]:
            yield statement
            if statement.op in (ops.FOR, ops.PROC):
                pending.append(iter(body_of(statement)))
                break
        else:
            pending.pop()


def with_body(node: Node, body: Iterable[Node]) -> Node:
    """Return a procedure, loop or block with other statements."""
    kept = node.args[: len(node.args) - len(body_of(node))]
    made = intern_node(node.op, (*kept, *_flat(body)), node.attrs, node.type)
    report_rebuilt(node, made)
    return made
