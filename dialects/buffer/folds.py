"""What operations on storage fold to: the attribute ``FFold`` of the operators of functions of buffers.

``FFold(call, consts)`` gets a statement in which the name of a buffer is replaced by the statement that made it, where
the buffer is never written to; `consts` has for each operand the number it is, or that is in all its elements, else
None. It returns None to leave the statement alone; a literal; an operand of the statement, or of a statement among its
operands; or a statement that takes its place, and binds the same names if it binds any. The pass `normalize_matrix`
sees to it that storage is shared only where nobody can tell. Source: matrix specification 8 and 10.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from scaly_ir.dialects.buffer import build, ops
from scaly_ir.dialects.prog import build as prog
from scaly_ir.graph import Node
from scaly_ir.op import Op


def filled(call: Node, scalar: Node) -> Node:
    """Return storage of the type of a statement's result with a scalar in every element, in place of the statement."""
    return build.statement(ops.CONSTANT, (scalar,), call.type, call.attrs.get("results") or ())


def fill_of(buffer: Node) -> Node:
    """Return the literal in all elements of an operand for which `consts` has a number: its bits count."""
    return buffer.args[0]


def _fold_shape(call: Node, consts: Sequence[Any]) -> Node | None:
    """``shape-literal``: types have all extents."""
    return prog.index(call.args[0].type.shape[call.attrs["axis"]])


def _fold_read(call: Node, consts: Sequence[Any]) -> Node | None:
    """``read-constant``: all elements of a constant are the same."""
    return None if consts[0] is None else fill_of(call.args[0])


FOLDS: Final[dict[Op, Callable[[Node, Sequence[Any]], Node | None]]] = {ops.SHAPE: _fold_shape, ops.READ: _fold_read}

for _op, _function in FOLDS.items():
    _op.set_attr("FFold", _function)
