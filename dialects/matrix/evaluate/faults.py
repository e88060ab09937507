"""What goes wrong while a function of buffers runs: reasons, and statements as messages show them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

import numpy as np

from scaly_ir.dialects.buffer import build
from scaly_ir.dialects.buffer.printer import value_name
from scaly_ir.dialects.matrix.printer import statement_lines
from scaly_ir.dialects.prog.evaluate.faults import Fault, cut
from scaly_ir.dialects.prog.evaluate.memory import Array
from scaly_ir.graph import Node
from scaly_ir.running import not_finite


def unwritten(name: str, at: int, shape: Sequence[int]) -> NoReturn:
    """Stop at the read of an element that was not written; `shape` is the folded one."""
    raise Fault(f"read of {value_name(name)}{position(at, shape)}, which is never written before")


def outside(verb: str, name: str, axis: int, index: int, extent: int) -> NoReturn:
    """Stop at an index that a buffer does not have."""
    raise Fault(f"{verb} of {value_name(name)} with index {index} at position {axis}, outside [0, {extent})")


def undefined(name: str = "") -> NoReturn:
    """Stop where a value that must not be read is read, or a name that stands for it."""
    raise Fault(f"read of {value_name(name)}, which is undef" if name else "read of undef")


def position(at: int, shape: Sequence[int]) -> str:
    """Return an element's indices in brackets."""
    return str([int(index) for index in np.unravel_index(at, tuple(shape))]) if shape else "[]"


def statement_text(statement: Node) -> str:
    """Return a statement as it is printed, of one with a region only the head; cut off when it is long."""
    names = [value_name(name) for name in statement.attrs.get("results") or ()]
    short = f"{', '.join(names)} = {statement.op.name} ..." if names else f"{statement.op.name} ..."
    if build.region_of(statement) is None:
        return cut([statement], _head, short)
    parts = [*build.operands_of(statement), *build.params_of(statement.args[-1])]
    return f"{cut(parts, lambda _: _head(statement), short)}...}}" if parts else f"{_head(statement)}...}}"


def _head(statement: Node) -> str:
    return next(statement_lines(statement)).strip()


def check_finite(node: Node, value: Array) -> None:
    """Stop at an operation on whole buffers that gave a NaN or an infinity."""
    bad = not_finite(value)
    if bad:
        found = Fault(f"'{node.op.name}' gives {bad}")
        found.operation = node
        raise found
