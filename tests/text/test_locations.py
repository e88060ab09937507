"""Places inside statements are found again in the text, whichever reader read it."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import pytest
from hypothesis import given, note
from hypothesis import strategies as st

import scaly_ir as sc
from scaly_ir.dialect import parse_source, verify_parsed
from scaly_ir.dialects.prog import build, ops, syntax
from scaly_ir.dialects.prog.dialect import DIALECT, spans_of
from scaly_ir.graph import Node, preorder
from scaly_ir.text.locations import Locations, Place
from scaly_ir.text.source import Source
from scaly_ir.text.spelling import spell_name
from scaly_ir.text.terminals import tokens
from tests.dialects.prog.generators import fragments, programs
from tests.dialects.prog.texts import relaid


def statements(root: Node) -> Iterator[Node]:
    """Yield the statements of a file as they are numbered: in pre-order, the module first where it has a text."""
    pending = list(root.args) if root.op is ops.BLOCK or root.attrs.get("bare") else [root]
    pending.reverse()
    while pending:
        node = pending.pop()
        yield node
        if node.op in (ops.PROGRAM, ops.PROC, ops.FOR):
            pending.extend(reversed(build.body_of(node)))


@given(programs() | fragments())
def test_the_place_of_a_statement_is_the_first_one_in_the_procedure(root: Node) -> None:
    numbered = list(statements(root))
    within = None
    for number, statement in enumerate(numbered):
        first = numbered.index(statement)
        assert DIALECT.place_of(root, statement) == Place(first, statement, statement)
        if statement.op is ops.PROC:
            within, head = statement.attrs["name"], number
        if within is not None:
            first = numbered.index(statement, head)
            assert DIALECT.place_of(root, statement, within) == Place(first, statement, statement)
            assert DIALECT.place_of(root, statement, f"not {within}") is None
    assert DIALECT.place_of(root, build.var("elsewhere")) is None


def _scalars(statement: Node) -> Iterator[Node]:
    if statement.op in (ops.PROGRAM, ops.PROC, ops.BUFFER):
        return
    for root in statement.args[:1] if statement.op is ops.FOR else statement.args:
        yield from [node for node in preorder(root) if node.op not in (ops.RANGE, ops.BUFFER)]


def _begins(node: Node) -> tuple[str, ...]:
    """Return the tokens of which one begins the text of a scalar."""
    if node.op is ops.VAR:
        return (f"%{spell_name(node.attrs['name'])}",)
    if node.op is ops.VIEW:
        return (f"%{spell_name(node.attrs['buffer'])}",)
    if node.op in (ops.CONST_INT, ops.CONST_FLOAT):
        return ("prog.const", *"-.0123456789", "inf", "nan")
    return (node.op.name,)


@given(programs() | fragments(), st.integers(0, 1 << 32), st.booleans())
def test_every_scalar_is_found_in_its_statement(root: Node, seed: int, by_grammar: bool) -> None:
    text = sc.render(root)
    if seed % 2:
        text = relaid(text, Random(seed))
    source = Source.from_text(text)
    note(source.text)
    locations = parse_source(source).locations
    if by_grammar:
        read, assembler, _ = syntax.read(source)
        assert read is root
        locations = Locations(source, assembler.starts, assembler.ends, False, spans_of)
    numbered = list(statements(root))
    assert len(locations.starts) == len(numbered)
    for number, statement in enumerate(numbered):
        whole = locations.statement(number)
        for node in _scalars(statement):
            span = locations.span(Place(number, statement, node))
            assert whole.start <= span.start < span.end <= whole.end
            found = tokens(source.text[span.start : span.end])
            wanted = _begins(node)
            assert found[0].startswith(wanted) or (found[0][1:2] == '"' and found[0][0] == wanted[0][0]), (node, found)
            assert found.count("(") == found.count(")")
            assert found.count("[") == found.count("]")


@pytest.mark.parametrize(
    ("text", "rule", "marked"),
    [
        ("prog.store prog.add(%a, 1), %y[0] : float64", "in-scope", "%a"),
        ("prog.store prog.add(1, prog.load %b[2]), %y[0] : float64", "in-scope", "%b"),
        ("prog.store 1, %z[0] : float64", "in-scope", "%z"),
        ("prog.store 1, %y[prog.add(3, 4)] : float64", "index-static-bounds", "prog.add(3, 4)"),
        ("prog.for %y = 0 to 1 step 1 {kind=serial} {}", "unique-names", "%y"),
        ("prog.for %i = 0 to 1 step 0 {kind=serial} {}", "range-step", "0"),
        ("prog.call @g(%y, %q)", "in-scope", "%q"),
        ("%y = prog.buffer : memref<1xbool, private>", "unique-names", "%y"),
        ("%t = prog.buffer : memref<9xfloat64, private> = prog.alias %y offset 0", "alias-bounds", None),
        ("prog.store 1, %x[0] : float64", "store-readonly", "%x"),
    ],
)
def test_messages_point_at_what_they_are_about(text: str, rule: str, marked: str | None) -> None:
    head = "prog.proc @f(%x: memref<4xfloat64>, %y: memref<4xfloat64>) {input_count=1} {\n  "
    source = Source.from_text(f"{head}{text}\n}}\n")
    parsed = parse_source(source)
    assert parsed.root is not None
    (diagnostic,) = verify_parsed(parsed.root, parsed.locations)
    assert diagnostic.code == rule
    assert diagnostic.span is not None
    assert diagnostic.span.position()[0] == 2
    if marked is not None:
        assert source.text[diagnostic.span.start : diagnostic.span.end].startswith(marked)


def test_a_statement_that_does_not_exist_has_an_empty_range() -> None:
    source = Source.from_text("prog.call @f()\n")
    locations = Locations(source, [0], [14], False, spans_of)
    assert (locations.statement(0).start, locations.statement(0).end) == (0, 14)
    for number in (-1, 1):
        assert (locations.statement(number).start, locations.statement(number).end) == (0, 0)
