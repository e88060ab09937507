"""Builders and parts of functions of buffers: values, statements, regions, functions, and who binds which names.

A value is a `prog.var` of its name: of a memref type for a buffer, of an element type for a scalar, of int64 for an
index, whose declaration has the type ``index``. A statement that has results carries their names, so that equal
statements at two places are two nodes unless they bind the same. Source: matrix specification 2 and 3.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from scaly_ir.attributes import NO_ATTRS, Attrs, AttrValue, named
from scaly_ir.dialects.buffer import ops
from scaly_ir.dialects.buffer.types import INDEX, ValueType
from scaly_ir.dialects.prog import ops as prog_ops
from scaly_ir.graph import Node, intern_node
from scaly_ir.op import Op
from scaly_ir.types import INT64, DType


class Binding(NamedTuple):
    """A name and the type of what it stands for."""

    name: str
    type: Any


def value(name: str, type_: ValueType) -> Node:
    """Make a use of a name; that of an index is of int64."""
    return declaration(name, INT64 if type_ is INDEX else type_)


def declaration(name: str, type_: ValueType) -> Node:
    """Make the declaration of a parameter of a region, or of a result of a function."""
    return intern_node(prog_ops.VAR, (), named("name", name), type_)


def declared_part(number: int) -> str:
    """Return the part of a head that is one of the names it declares: results of a function first, then parameters.

    Two of one name and type are one node, so it is the number that tells them apart.
    """
    return f"declared {number}"


def undef(dtype: DType) -> Node:
    """Make the value that must not be read."""
    return intern_node(ops.UNDEF, (), NO_ATTRS, dtype)


def statement(
    op: Op,
    args: Iterable[Node],
    type_: Any = None,
    results: Sequence[str] = (),
    attrs: Mapping[str, AttrValue] | None = None,
) -> Node:
    """Make a statement that binds `results`."""
    held = attrs if type(attrs) is Attrs else Attrs(attrs) if attrs else NO_ATTRS
    if results:
        held = held.including("results", tuple(results)) if held else _bound(*results)
    return intern_node(op, tuple(args), held, type_)


def _bound(*names: str) -> Attrs:
    """Return the attributes of a statement that has nothing but names for what it binds, the commonest there are."""
    if all([type(name) is str and name.isascii() for name in names]):
        return Attrs.trusted({"results": names}, ("results", (tuple, *names)))
    return Attrs({"results": names})


def let(name: str, scalar: Node) -> Node:
    """Give a scalar a name."""
    return statement(ops.LET, (scalar,), scalar.type, (name,))


def region(params: Iterable[Node], statements: Iterable[Node]) -> Node:
    """Make a region of declarations and statements."""
    declared = tuple(params)
    return intern_node(ops.REGION, (*declared, *statements), _counted(len(declared)), None)


@lru_cache
def _counted(params: int) -> Attrs:
    return Attrs({"param_count": params})


def func(name: str, params: Iterable[Node], results: Iterable[Node], body: Iterable[Node]) -> Node:
    """Make a function of declarations of parameters and results, and statements that end in a `buffer.return`."""
    return intern_node(ops.FUNC, (*results, region(params, body)), Attrs({"name": name}), None)


def module(functions: Iterable[Node]) -> Node:
    """Make a module of functions."""
    return intern_node(ops.MODULE, tuple(functions), NO_ATTRS, None)


def results_of(node: Node) -> Sequence[Binding]:
    """Return what a statement binds."""
    names = node.attrs.get("results")
    if type(names) is not tuple:
        return ()
    types = node.attrs.get("types")
    if type(types) is not tuple:
        return [Binding(name, node.type) for name in names]
    return [Binding(name, type_) for name, type_ in zip(names, types, strict=False)]


def names_of(node: Node) -> tuple[str, ...]:
    """Return the names of what a statement binds."""
    names = node.attrs.get("results")
    return names if type(names) is tuple else ()


def region_of(node: Node) -> Node | None:
    """Return the region of a statement or function, which is its last operand; None without one."""
    args = node.args
    return args[-1] if args and args[-1].op is ops.REGION else None


def operands_of(node: Node) -> tuple[Node, ...]:
    """Return the operands of a statement without its region."""
    return node.args[:-1] if region_of(node) is not None else node.args


def param_count_of(region: Node) -> int | None:
    """Return how many parameters a region says it has; None where it does not say so, as it must."""
    count = region.attrs.get("param_count")
    return count if type(count) is int and count >= 0 else None


def params_of(region: Node) -> tuple[Node, ...]:
    """Return the declarations of a region's parameters."""
    return region.args[: region.attrs["param_count"]]


def body_of(region: Node) -> tuple[Node, ...]:
    """Return the statements of a region."""
    return region.args[region.attrs["param_count"] :]


def with_body(region_: Node, statements: Iterable[Node]) -> Node:
    """Return a region with other statements."""
    return region(params_of(region_), statements)


def statements_in(region: Node, enters: Callable[[Node], bool] = lambda statement: True) -> Iterator[Node]:
    """Yield the statements of a region and of the regions in it, in the order of the text.

    The region of a statement is left out where `enters` says no.
    """
    pending = [iter(body_of(region))]
    while pending:
        for node in pending[-1]:
            yield node
            inner = region_of(node)
            if inner is not None and enters(node):
                pending.append(iter(body_of(inner)))
                break
        else:
            pending.pop()


def is_variable(node: Node) -> bool:
    """Tell whether a node is a use of a name."""
    return node.op is prog_ops.VAR


def is_literal(node: Node) -> bool:
    """Tell whether a node is a constant."""
    return bool(node.op.get_attr("TConst", False))


def is_terminator(node: Node) -> bool:
    """Tell whether a statement ends a region."""
    return bool(node.op.get_attr(ops.TERMINATOR, False))
