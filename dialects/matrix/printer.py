"""Canonical text of operations with a combiner, and of whole files."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from scaly_ir.dialects.affine.ops import FOR
from scaly_ir.dialects.affine.printer import loop
from scaly_ir.dialects.buffer import build
from scaly_ir.dialects.buffer.printer import (
    LINES,
    OPENINGS,
    Opening,
    Wanted,
    attributes,
    binding,
    declarations,
    lines,
    operand,
)
from scaly_ir.dialects.buffer.types import scalar_type
from scaly_ir.dialects.matrix.ops import INIT
from scaly_ir.graph import Node
from scaly_ir.op import Op


def combination(node: Node) -> tuple[str, str, Wanted]:
    """Return the head of an operation with a combiner, the label with its parameters, and the type it gives."""
    args = [operand(arg, node.type) for arg in build.operands_of(node)]
    init = f" init({args.pop()})" if args and node.op.get_attr(INIT, False) else ""
    typed = "" if node.type is None else f" : {node.type}"
    head = f"{binding(node)}{node.op.name}({', '.join(args)}){init}{attributes(node)}{typed}"
    return head, f"^comb({declarations(build.params_of(node.args[-1]))}):", [scalar_type(node.type)]


_OPENINGS: Final[dict[Op, Opening]] = {**OPENINGS, FOR: loop}


def render(root: Node) -> str:
    """Return the text of a module, function or statement, ending with a line end if not empty."""
    return "".join(statement_lines(root))


def statement_lines(root: Node) -> Iterator[str]:
    """Yield the lines of that text."""
    return lines(root, LINES, _OPENINGS, combination)
