"""The `prog` dialect as the core sees it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from scaly_ir.dialect import Dialect, in_order_of_text
from scaly_ir.dialects.prog import build, generic_reader, ops, reader
from scaly_ir.dialects.prog.forms import brief, generic, show
from scaly_ir.dialects.prog.printer import render
from scaly_ir.dialects.prog.spec import SPEC
from scaly_ir.graph import Node, preorder
from scaly_ir.text.locations import Locations, Parsed, Part, Place, first_place
from scaly_ir.text.source import Source


def read(source: Source) -> Parsed:
    """Read a file: by the fast reader where it takes the text, else by the grammar."""
    generic_root = generic_reader.read(source.text)
    if generic_root is not None:
        root, assembler = generic_root
        return Parsed(root, Locations(source, assembler.starts, assembler.ends, False, spans_of))
    fast = reader.read(source.text)
    if fast is not None:
        root, assembler = fast
        return Parsed(root, Locations(source, assembler.starts, assembler.ends, True, spans_of))
    from scaly_ir.dialects.prog import syntax  # Lark is loaded for unusual text and for messages only

    read_root, assembler, diagnostics = syntax.read(source)
    locations = Locations(source, assembler.starts, assembler.ends, False, spans_of)
    if read_root is None and assembler.statements:
        from scaly_ir.dialects.prog.damaged import verify_damaged

        partial = assembler.finish()
        diagnostics += verify_damaged(partial, list(build.operations(partial)), locations, diagnostics)
    return Parsed(read_root, locations, in_order_of_text(diagnostics))


def spans_of(source: Source, statement: Node) -> Iterator[tuple[Node, Part, tuple[int, int]]]:
    """Read the text of one statement again; what its names stand for follows from the statement itself."""
    from scaly_ir.dialects.prog import syntax

    names: dict[str, Node] = {}
    own = statement.args
    if statement.op is ops.PROC:
        own = ()
    elif statement.op is ops.FOR:
        own = statement.args[:1]
    for root in own:
        for node in preorder(root):
            name = node.attrs.get("buffer" if node.op is ops.VIEW else "name", "")
            if type(name) is not str:
                continue
            if node.op is ops.VAR:
                names.setdefault(name, node)
            elif node.op is ops.VIEW:
                names.setdefault(name, build.buffer(name, 1, node.type))
            elif node.op is ops.BUFFER:
                names[name] = node
    text = source.text
    if statement.op in (ops.FOR, ops.PROC, ops.PROGRAM):
        text += "}"
    for marked, part, around in syntax.statement_spans(Source(source.name, text), names):
        yield (statement if marked is None else marked), part, around


def place_of(root: Node, node: Node, within: str | None = None) -> Place | None:
    """Return where a procedure, statement or operand stands first, in the procedure called `within` if that is given.

    Places are numbered as the verifier walks: the head of a module, then statements in pre-order, as text has them.
    """
    return first_place(root, build.operations(root), node, within, _parts)


def _parts(statement: Node) -> Sequence[Node]:
    """Return what stands in the text of a statement, its body left out."""
    return statement.args[: build.lead_of(statement)]


DIALECT: Final = Dialect(
    "prog",
    read,
    render,
    SPEC,
    place_of=place_of,
    summary="procedures, buffers, loops, loads and stores: how something is computed",
    manual="scaly_ir.dialects.prog.manual:manual",
    show=show,
    generic=generic,
    brief=brief,
    operations=build.operations,
    lead_of=build.lead_of,
    runner="scaly_ir.dialects.prog.running:RUNNER",
)
