"""`prog` text in other forms than the canonical one: each reads back, and says what it is meant to say."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, note
from hypothesis import strategies as st

import scaly_ir as sc
from scaly_ir.dialect import parse_source, render_as
from scaly_ir.dialects.prog import reader
from scaly_ir.dialects.prog.build import operations
from scaly_ir.graph import Node
from scaly_ir.text.form import Form
from scaly_ir.text.source import Source
from tests.dialects.prog.generators import fragments, programs
from tests.dialects.prog.texts import relaid
from tests.text.forms import generic_in_place, located, origins_of, random_places

ROOTS = st.one_of(programs(), fragments(), programs(registered=True), fragments(registered=True))
SEEDS = st.integers(0, 1 << 32)
GENERIC = Form(generic=True)


@given(ROOTS)
def test_generic_text_reads_back_to_the_same_object(root: Node) -> None:
    text = render_as(root, GENERIC)
    note(text)
    assert sc.parse(text) is root


@given(ROOTS, SEEDS)
def test_layout_of_generic_text_does_not_matter(root: Node, seed: int) -> None:
    text = relaid(render_as(root, GENERIC), Random(seed))
    note(text)
    assert sc.parse(text) is root


@given(ROOTS, st.integers(0, 1 << 32))
def test_generic_statements_stand_among_others(root: Node, seed: int) -> None:
    text = generic_in_place(root, Random(seed))
    note(text)
    assert sc.parse(text) is root


@given(ROOTS, st.booleans(), st.booleans(), st.booleans())
def test_every_form_reads_back(root: Node, generic: bool, locations: bool, users: bool) -> None:
    origins = origins_of(sc.render(root), "a b.sir") if locations else None
    text = render_as(root, Form(generic=generic, locate=origins.finder() if origins else None, users=users))
    note(text)
    assert sc.parse(text) is root
    if generic or users:
        return
    assert (reader.read(text) is None) == (reader.read(sc.render(root)) is None)


@given(ROOTS)
def test_each_operation_has_its_place(root: Node) -> None:
    text = sc.render(root)
    lines = located(root, text).splitlines()
    plain = text.splitlines()
    assert len(lines) == len(plain)
    for number, (line, before) in enumerate(zip(lines, plain, strict=True), start=1):
        column = len(before) - len(before.lstrip()) + 1
        place = f' loc("f.sir":{number}:{column})'
        head = before.removesuffix(" {")
        assert line == (before if before.strip() in ("", "}") else f"{head}{place}{before[len(head) :]}")


@given(ROOTS)
def test_generic_text_has_the_same_operations_in_order(root: Node) -> None:
    parsed = parse_source(Source.from_text(render_as(root, GENERIC)))
    assert parsed.root is root
    expected = [f'"{node.op.name}"' for node in operations(root)]
    spans = [parsed.locations.statement(number) for number in range(len(parsed.locations.starts))]
    texts = [parsed.locations.source.text[span.start : span.end] for span in spans]
    assert [text.partition("(")[0] for text in texts] == expected


@given(ROOTS)
def test_elided_text_says_so(root: Node) -> None:
    form = Form(generic=True, elide=0)
    text = render_as(root, form)
    assert ("elided<" in text) >= form.elides(root)
    if form.elides(root):
        with pytest.raises(sc.ParseError, match="this constant was elided when it was printed"):
            sc.parse(text)
        assert sc.parse(render_as(root, Form(generic=True, elide=1 << 62))) is root


@given(ROOTS, st.booleans(), SEEDS)
def test_locations_that_are_read_are_printed_again(root: Node, generic: bool, seed: int) -> None:
    random = Random(seed)
    text = render_as(root, Form(generic=generic, locate=random_places(operations(root), random)))
    note(text)
    assert render_as(root, Form(generic=generic, locate=origins_of(text).finder())) == text
    assert located(root, relaid(text, random)) == located(root, text)
