"""`expr` text in other forms than the canonical one: each reads back, and says what it is meant to say."""

from __future__ import annotations

import re
from random import Random

import pytest
from hypothesis import given, note
from hypothesis import strategies as st

import scaly_ir as sc
from scaly_ir.dialect import parse_source, render_as
from scaly_ir.dialects.expr import reader
from scaly_ir.dialects.expr.places import in_order
from scaly_ir.dialects.expr.printer import render
from scaly_ir.graph import Node
from scaly_ir.text.form import Form
from scaly_ir.text.source import Source
from tests.dialects.expr.generators import roots
from tests.dialects.expr.growing import modules
from tests.dialects.expr.test_reader import assert_readers_agree
from tests.dialects.expr.texts import relaid
from tests.text.forms import located, origins_of, random_places

ROOTS = st.one_of(roots(), roots(), modules().map(lambda drawn: drawn[0]))
SEEDS = st.integers(0, 1 << 32)
GENERIC = Form(generic=True)


@given(ROOTS)
def test_generic_text_reads_back_to_the_same_object(root: Node) -> None:
    text = render_as(root, GENERIC)
    note(text)
    assert sc.parse(text) is root


@given(ROOTS, SEEDS)
def test_generic_operations_stand_among_others(root: Node, seed: int) -> None:
    random = Random(seed)
    lines = sc.render(root).splitlines(keepends=True)
    for number, line in enumerate(lines):
        found = re.fullmatch(r" *%\d+ = ([\w.]+)(\(.*?\))?( \{.*\})?( : .*\n)", line)
        if found and random.random() < 0.5:
            before = line[: found.start(1)]
            lines[number] = f'{before}"{found[1]}"{found[2] or "()"}{found[3] or ""}{found[4]}'
    text = "".join(lines)
    note(text)
    assert sc.parse(text) is root


@given(ROOTS, SEEDS)
def test_layout_of_located_text_does_not_matter(root: Node, seed: int) -> None:
    text = relaid(located(root, sc.render(root)), Random(seed))
    note(text)
    assert sc.parse(text) is root
    assert_readers_agree(text)


@given(ROOTS, st.booleans(), st.booleans(), st.booleans())
def test_every_form_reads_back(root: Node, generic: bool, locations: bool, users: bool) -> None:
    origins = origins_of(sc.render(root), "a b.sir") if locations else None
    text = render_as(root, Form(generic=generic, locate=origins.finder() if origins else None, users=users))
    note(text)
    assert sc.parse(text) is root
    if not generic and not users:
        assert (reader.read(text) is None) == (reader.read(sc.render(root)) is None)
        assert_readers_agree(text)


@given(ROOTS)
def test_each_operation_has_its_place(root: Node) -> None:
    text = sc.render(root)
    lines = located(root, text).splitlines()
    for number, (line, before) in enumerate(zip(lines, text.splitlines(), strict=True), start=1):
        column = len(before) - len(before.lstrip()) + 1
        head = before.removesuffix(" {")
        bare = before.lstrip().startswith(("}", "#sp", "expr.return"))
        assert line == (before if bare else f'{head} loc("f.sir":{number}:{column}){before[len(head) :]}')


@given(ROOTS)
def test_generic_text_has_places(root: Node) -> None:
    text = render_as(root, GENERIC)
    parsed = parse_source(Source.from_text(text))
    found = located(root, text)
    lines = text.splitlines()
    assert parsed.root is root
    for line, number in re.findall(r'^ *(?:%\d+ = )?(expr\.[\w.]+)?.* loc\("f.sir":(\d+):1\)(?: \{)?$', found, re.M):
        assert not line or f'"{line}"(' in lines[int(number) - 1]
    assert "loc(unknown)" not in found


@given(ROOTS)
def test_elided_text_says_so(root: Node) -> None:
    form = Form(elide=0)
    for text in (render(root, elide=0), render_as(root, Form(generic=True, elide=0))):
        assert ("value=elided<" in text) >= form.elides(root)
        if form.elides(root):
            with pytest.raises(sc.ParseError, match="this constant was elided when it was printed"):
                sc.parse(text)
    assert render(root, elide=1 << 62) == sc.render(root)


@given(ROOTS, st.booleans(), SEEDS)
def test_locations_that_are_read_are_printed_again(root: Node, generic: bool, seed: int) -> None:
    random = Random(seed)
    text = render_as(root, Form(generic=generic, locate=random_places(in_order(root), random)))
    note(text)
    again = render_as(root, Form(generic=generic, locate=origins_of(text).finder()))
    if not generic:
        assert again == text
        assert located(root, relaid(text, random)) == text
    # In the generic form an input that a function only declares has a place as well: that of another of its name.
    assert render_as(root, Form(generic=generic, locate=origins_of(again).finder())) == again
