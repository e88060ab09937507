"""What a dialect hands over to the core, and the table of the dialects that come with the project.

The core knows dialects by name only and loads the package of one when a file needs it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Final

from scaly_ir.graph import Node
from scaly_ir.spec import Spec
from scaly_ir.text.diagnostics import Diagnostic, did_you_mean, error, note
from scaly_ir.text.locations import Locations, Parsed
from scaly_ir.text.source import Source, Span
from scaly_ir.text.terminals import scan


@dataclass(frozen=True, slots=True)
class Dialect:
    """A dialect: how its text is read and printed and what its verifier checks."""

    name: str
    read: Callable[[Source], Parsed]
    render: Callable[[Node], str]
    spec: Spec


_BUILT_IN: Final = {"prog": "scaly_ir.dialects.prog.dialect:DIALECT"}
_LOADED: Final[dict[str, Dialect]] = {}


def dialect_names() -> list[str]:
    """Return the names of all dialects, sorted."""
    return sorted(_BUILT_IN)


def load_dialect(name: str) -> Dialect:
    """Return a dialect, loading its package the first time; `KeyError` when there is none of that name."""
    known = _LOADED.get(name)
    if known is None:
        module, _, attribute = _BUILT_IN[name].partition(":")
        known = _LOADED[name] = getattr(import_module(module), attribute)
    return known


def dialect_of(root: Node) -> Dialect:
    """Return the dialect a node belongs to."""
    return load_dialect(root.op.dialect)


def parse_source(source: Source) -> Parsed:
    """Read a file of any dialect; which one follows from the first operation in it."""
    for lexeme in scan(source.text):
        if lexeme.kind == "NAME":
            name = lexeme.text.partition(".")[0]
            if name in _BUILT_IN:
                return load_dialect(name).read(source)
            span = Span(source, lexeme.start, lexeme.start + len(name))
            message = f"unknown dialect '{name}'{did_you_mean(name, dialect_names())}"
            return Parsed(
                None, Locations(source, (), (), False, lambda *_: ()), (error(message, span, "unknown-dialect"),)
            )
    return load_dialect("prog").read(source)


def verify_parsed(root: Node, locations: Locations | None) -> list[Diagnostic]:
    """Return the rules that `root` breaks, as diagnostics in program order; located when it came from a file.

    Of several at one place, the first one is kept.
    """
    found = []
    places: set[tuple[int, int]] = set()
    for violation in dialect_of(root).spec.check(root):
        span = None
        notes = []
        if locations is not None:
            span = locations.node(violation.statement, violation.statement_node, violation.node, violation.part)
            if (span.start, span.end) in places:
                continue
            places.add((span.start, span.end))
            for further in violation.notes:
                at = locations.node(further.statement, further.statement_node, further.node, "name")
                notes.append(note(further.text, at))
        message = f"'{violation.operation}': {violation.reason} [{violation.rule}]"
        found.append(error(message, span, violation.rule, notes))
    return found
