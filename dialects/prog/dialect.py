"""The `prog` dialect as the core sees it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from scaly_ir.dialect import Dialect
from scaly_ir.dialects.prog import build, ops, reader
from scaly_ir.dialects.prog.printer import render
from scaly_ir.dialects.prog.spec import SPEC
from scaly_ir.graph import Node, preorder
from scaly_ir.text.locations import Locations, Parsed, Part, Place
from scaly_ir.text.source import Source


def read(source: Source) -> Parsed:
    """Read a file: by the fast reader where it takes the text, else by the grammar."""
    fast = reader.read(source.text)
    if fast is not None:
        root, assembler = fast
        return Parsed(root, Locations(source, assembler.starts, assembler.ends, True, spans_of))
    from scaly_ir.dialects.prog import syntax  # Lark is loaded for unusual text and for messages only

    read_root, assembler, diagnostics = syntax.read(source)
    locations = Locations(source, assembler.starts, assembler.ends, False, spans_of)
    return Parsed(read_root, locations, tuple(diagnostics))


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
            if node.op is ops.VAR:
                names.setdefault(node.attrs.get("name", ""), node)
            elif node.op is ops.VIEW:
                name = node.attrs.get("buffer", "")
                names.setdefault(name, build.buffer(name, 1, node.type))
            elif node.op is ops.BUFFER:
                names[node.attrs.get("name", "")] = node
    text = source.text
    if statement.op in (ops.FOR, ops.PROC, ops.PROGRAM):
        text += "}"
    for marked, part, around in syntax.statement_spans(Source(source.name, text), names):
        yield (statement if marked is None else marked), part, around


def place_of(root: Node, node: Node) -> Place | None:
    """Return where a statement, or what is part of one, stands for the first time; None when it is not there."""
    number = -1
    seen: set[Node] = set()
    bare = root.op is ops.BLOCK or bool(root.attrs.get("bare"))
    pending = [iter(root.args if bare else (root,))]
    while pending:
        statement = next(pending[-1], None)
        if statement is None:
            pending.pop()
            continue
        number += 1
        own, body = _parts(statement)
        if statement is node or _is_below(own, node, seen):
            return Place(number, statement, node)
        pending.append(iter(body))
    return None


def _parts(statement: Node) -> tuple[Sequence[Node], Sequence[Node]]:
    """Return what a statement is made of, and the statements in it."""
    if statement.op is ops.PROGRAM:
        return (), statement.args
    if statement.op is ops.PROC:
        return build.params_of(statement), build.body_of(statement)
    if statement.op is ops.FOR:
        return statement.args[:1], build.body_of(statement)
    return statement.args, ()


def _is_below(roots: Sequence[Node], node: Node, seen: set[Node]) -> bool:
    """Tell whether a node is one of some roots, or an operand below; what was seen is not looked at again."""
    pending = list(roots)
    while pending:
        found = pending.pop()
        if found is node:
            return True
        if found not in seen:
            seen.add(found)
            pending.extend(found.args)
    return False


DIALECT: Final = Dialect("prog", read, render, SPEC, place_of=place_of)
