"""What a dialect hands over to the core, and the table of the dialects that come with the project.

The core knows dialects by name only and loads the package of one when a file needs it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Final

from scaly_ir.errors import PluginError
from scaly_ir.graph import Node
from scaly_ir.spec import DEFINED_HERE, NO_SPEC, Rule, Spec, Violation, add_guest_rules, check_each_node
from scaly_ir.text.diagnostics import Diagnostic, did_you_mean, error, note, one_of
from scaly_ir.text.locations import Locations, Parsed, Place, PlaceOf
from scaly_ir.text.source import Source, Span
from scaly_ir.text.terminals import foreign_comment, scan
from scaly_ir.undo import note_undo

if TYPE_CHECKING:
    from scaly_ir.text.form import Form


def _no_text(source: Source) -> Parsed:
    """Read the text of a dialect that has none: its operations stand in the functions of other dialects."""
    for lexeme in scan(source.text):
        if lexeme.kind == "NAME":
            name = lexeme.text.partition(".")[0]
            message = f"dialect '{name}' has no text of its own; its operations stand in functions of other dialects"
            return _refused(message, Span(source, lexeme.start, lexeme.end), "dialect-text")
    raise AssertionError("a dialect is chosen by the first operation of a text")


def _no_print(root: Node) -> str:
    raise TypeError(f"'{root.op.name}' has no text of its own")


def _no_place(root: Node, node: Node, within: str | None = None) -> Place | None:
    return None


def _no_operations(root: Node) -> Iterable[Node]:
    return ()


@dataclass(frozen=True, slots=True)
class Dialect:
    """A dialect: how its text is read and printed and what its verifier checks.

    One that is made of operator applications alone needs no text: they stand in the functions of other dialects, whose
    verifiers then check the rules in `verify` (of single nodes) as well. One with a text of its own has a `spec`, or
    rules in `verify` that are checked for each of its nodes.
    """

    name: str
    read: Callable[[Source], Parsed] = _no_text
    render: Callable[[Node], str] = _no_print
    spec: Spec = NO_SPEC
    place_of: PlaceOf = _no_place
    """Where in a root a node is, None when it is not there: for messages of passes and of tools."""
    op_prefix: str = ""
    """How the names of its operators begin; the dialect's own name when empty."""
    verify: tuple[Rule, ...] = ()
    summary: str = ""
    """What it is for, in a few words."""
    lowered_by: str = ""
    """What to run before a program can be translated, as a note says it; empty where nothing needs to be run."""
    manual: str = ""
    """``module:function`` from an operator to its `manual.Entry`; without it, operators are written as applications."""
    show: Callable[[Node, Form], str] | None = None
    """Prints in another form than the canonical one, but for the generic form; None when there is none."""
    generic: Callable[[Node, Form], str] | None = None
    """Prints in the generic form; None for a numbered list of all nodes."""
    brief: Callable[[Node, Form], str] | None = None
    """Prints an operation with its nearest operands alone, whatever its size; None for a general way to do so."""
    operations: Callable[[Node], Iterable[Node]] = _no_operations
    """The operations of a root, in the order in which `Locations` numbers them."""
    lead_of: Callable[[Node], int | None] | None = None
    """How many operands a node has before the operations in its body, None for a node without a body; None for a
    dialect whose operations are each other's operands."""
    runner: str = ""
    """``module:object``, the `running.Runner` of its functions; without it, they are not run."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "op_prefix", self.op_prefix or self.name)
        object.__setattr__(self, "verify", tuple(self.verify))
        if self.spec is NO_SPEC and self.verify:
            object.__setattr__(self, "spec", Spec(f"verify_{self.name}", self.verify, check_each_node))


_BUILT_IN: Final = {
    "affine": "scaly_ir.dialects.matrix.dialect:AFFINE",
    "buffer": "scaly_ir.dialects.matrix.dialect:BUFFER",
    "expr": "scaly_ir.dialects.expr.dialect:DIALECT",
    "matrix": "scaly_ir.dialects.matrix.dialect:MATRIX",
    "prog": "scaly_ir.dialects.prog.dialect:DIALECT",
}
_LOADED: Final[dict[str, Dialect]] = {}
"""By the prefix of its operators."""


def dialect_names() -> list[str]:
    """Return the names of all dialects, sorted."""
    return sorted({*_BUILT_IN, *[dialect.name for dialect in _LOADED.values()]})


def _names_with_text() -> list[str]:
    """Return the names of the dialects whose files there may be, in quotes."""
    loaded = [dialect.name for dialect in _LOADED.values() if dialect.read is not _no_text]
    return [f"'{name}'" for name in sorted({*_BUILT_IN, *loaded})]


def add_dialect(dialect: Dialect) -> None:
    """Add a dialect that does not come with the project; `PluginError` when its name or prefix is taken."""
    if dialect.name in dialect_names() or dialect.op_prefix in (*_BUILT_IN, *_LOADED):
        raise PluginError(f"dialect '{dialect.name}' exists already")
    _LOADED[dialect.op_prefix] = dialect
    note_undo(lambda: _LOADED.pop(dialect.op_prefix))
    if dialect.read is _no_text:
        add_guest_rules(dialect.op_prefix, dialect.verify)


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


def render_as(root: Node, form: Form) -> str:
    """Return the text of a root in a form, as far as its dialect has it; the root need not be valid where generic."""
    dialect = dialect_of(root)
    if form.generic:
        if dialect.generic is not None:
            return dialect.generic(root, form)
        from scaly_ir.text.generic import as_list

        return as_list(root, form)
    return dialect.render(root) if dialect.show is None else dialect.show(root, form)


def brief_as(node: Node, form: Form, root: Node) -> str:
    """Return an operation of a program with its nearest operands alone, whether it is valid or not.

    It has the text of its dialect, or that of the dialect of `root`, the program, in whose functions it stands.
    """
    dialect = _LOADED.get(node.op.dialect)
    print_brief = dialect_of(root).brief if dialect is None or dialect.brief is None else dialect.brief
    if print_brief is not None:
        try:
            return print_brief(node, form)
        except Exception:  # a printer may rely on what the verifier would check
            pass
    from scaly_ir.graph.rewrite_errors import brief

    return f"{brief(node)}\n"


_is_key: Final = re.compile(r"[ \t\n]*=").match
"""Tells whether a name that ends at a place is that of an attribute, and so no operation."""
_is_node: Final = re.compile(r"[ \t\n]*\(").match
"""Tells whether a string that ends at a place is the name of an operation in the generic form."""


def parse_source(source: Source) -> Parsed:
    """Read a file of any dialect; which one follows from the first operation in it."""
    commented = 0
    for lexeme in scan(source.text):
        if lexeme.kind == "OTHER" and lexeme.start >= commented:
            commented = foreign_comment(source.text, lexeme.start) or 0  # which says nothing of the dialect
        plain = lexeme.kind == "NAME" and not _is_key(source.text, lexeme.end)
        if lexeme.start >= commented and (plain or (lexeme.kind == "STRING" and _is_node(source.text, lexeme.end))):
            name = lexeme.text.strip('"').partition(".")[0]
            if name in _BUILT_IN or name in _LOADED:
                return load_dialect(name).read(source)
            start = lexeme.start + (not plain)
            span = Span(source, start, start + len(name))
            hint = did_you_mean(name, dialect_names()) or f"; expected {one_of(_names_with_text())}"
            return _refused(f"unknown dialect '{name}'{hint}", span, "unknown-dialect")
    return load_dialect("prog").read(source)


def _refused(message: str, span: Span, code: str) -> Parsed:
    return Parsed(None, Locations(span.source, (), (), False, lambda *_: ()), (error(message, span, code),))


def verify_parsed(
    root: Node, locations: Locations | None, violations: Iterable[Violation] | None = None
) -> list[Diagnostic]:
    """Return every rule that `root` breaks, as diagnostics in the order of the text; located when it came from a file.

    `violations` are what is known to be wrong, if that is not all. Of several violations at one place the first is
    reported: the others mostly follow from it.
    """
    found = []
    places = set()
    for violation in dialect_of(root).spec.check(root) if violations is None else violations:
        span = None
        notes = []
        if locations is not None:
            span = locations.span(violation.place)
            if span.here.start in places:
                continue
            places.add(span.here.start)
            notes = [_note(text, locations.span(place)) for text, place in violation.notes]
        found.append(error(violation.message, span, violation.rule, notes))
    # Within a statement, rules come in the order of the table; people read from left to right.
    return list(in_order_of_text(found))


def in_order_of_text(diagnostics: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """Return diagnostics sorted by where they are in the text that was read."""
    return tuple(sorted(diagnostics, key=lambda found: found.span.here.start if found.span is not None else 0))


def _note(text: str, span: Span) -> Diagnostic:
    return note(DEFINED_HERE.format(span.here.text) if text == DEFINED_HERE else text, span)
