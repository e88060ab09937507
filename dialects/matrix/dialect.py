"""The three dialects of one text as the core sees them: `matrix`, `affine` and `buffer`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from scaly_ir.dialect import Dialect, in_order_of_text
from scaly_ir.dialects.affine import folds as _affine_folds  # noqa: F401 - registers what the operators fold to
from scaly_ir.dialects.buffer import build
from scaly_ir.dialects.buffer import folds as _buffer_folds  # noqa: F401 - registers what the operators fold to
from scaly_ir.dialects.buffer.forms import lead_of, operations
from scaly_ir.dialects.matrix import folds as _folds  # noqa: F401 - registers what the operators fold to
from scaly_ir.dialects.matrix import generic_reader, reader
from scaly_ir.dialects.matrix import reference as _reference  # noqa: F401 - registers what the operators compute
from scaly_ir.dialects.matrix import window_reference as _window_reference  # noqa: F401 - the same for further operators
from scaly_ir.dialects.matrix.forms import brief, generic, show
from scaly_ir.dialects.matrix.printer import render
from scaly_ir.dialects.matrix.spec import SPEC
from scaly_ir.graph import Node
from scaly_ir.text.locations import Locations, Parsed, Place, first_place
from scaly_ir.text.source import Source


def read(source: Source) -> Parsed:
    """Read a file: by the fast reader where it takes the text, else by the grammar."""
    fast = generic_reader.read(source.text) or reader.read(source.text)
    if fast is not None:
        whole, read_by = fast
        return Parsed(whole, Locations(source, read_by.starts, read_by.ends, False, _spans_of))
    from scaly_ir.dialects.matrix import syntax  # Lark is loaded for unusual text and for messages only

    root, assembler, diagnostics = syntax.read(source)
    if root is None:
        from scaly_ir.dialects.matrix.damaged import verify_damaged

        diagnostics += verify_damaged(source, assembler, diagnostics, _spans_of)
    locations = Locations(source, assembler.starts, assembler.ends, False, _spans_of)
    return Parsed(root, locations, in_order_of_text(diagnostics))


def _spans_of(source: Source, statement: Node) -> Any:
    from scaly_ir.dialects.matrix import syntax

    return syntax.spans_of(source, statement)


def place_of(root: Node, node: Node, within: str | None = None) -> Place | None:
    """Return where a function, statement or operand stands first, in the function called `within` if that is given."""
    return first_place(root, operations(root), node, within, _parts)


def _parts(statement: Node) -> Sequence[Node]:
    """Return what stands in the text of a statement or of the head of one, its region left out."""
    region = build.region_of(statement)
    own = build.operands_of(statement)
    return own if region is None else (*own, *build.params_of(region))


def _dialect(name: str, summary: str) -> Dialect:
    return Dialect(
        name,
        read,
        render,
        SPEC,
        place_of=place_of,
        summary=summary,
        lowered_by="the pipeline 'matrix_to_prog' makes a program of loops of it, and 'default' behind that a good one",
        manual="scaly_ir.dialects.matrix.manual:manual",
        show=show,
        generic=generic,
        brief=brief,
        operations=operations,
        lead_of=lead_of,
        runner="scaly_ir.dialects.matrix.running:RUNNER",
    )


MATRIX: Final = _dialect("matrix", "whole-array operations that read buffers and return fresh ones")
AFFINE: Final = _dialect("affine", "counted loops with carried values, and maps of indices")
BUFFER: Final = _dialect("buffer", "functions of storage: allocation, reads and writes of elements")
