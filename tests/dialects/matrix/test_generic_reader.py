"""The fast reader of the generic form of functions of buffers and the grammar agree: on nodes and on places."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, note
from hypothesis import strategies as st

from scaly_ir.dialect import render_as
from scaly_ir.dialects.buffer.forms import operations
from scaly_ir.dialects.matrix import generic_reader
from scaly_ir.graph import Node
from scaly_ir.text.form import Form
from tests.dialects.matrix.programs import modules
from tests.dialects.prog.texts import ODD_TOKENS, mistaken, relaid
from tests.text.forms import assert_agrees_with_the_grammar, random_places

SEEDS = st.integers(0, 1 << 32)


@given(modules(), SEEDS, st.booleans(), st.booleans())
def test_what_is_printed_is_taken(root: Node, seed: int, located: bool, users: bool) -> None:
    random = Random(seed)
    places = random_places(operations(root), random) if located else None
    text = render_as(root, Form(generic=True, locate=places, users=users))
    note(text)
    assert assert_agrees_with_the_grammar(generic_reader, text)
    assert_agrees_with_the_grammar(generic_reader, relaid(text, random))


@given(modules(), SEEDS)
def test_both_agree_on_mistakes(root: Node, seed: int) -> None:
    random = Random(seed)
    text = render_as(root, Form(generic=True))
    for _ in range(3):
        assert_agrees_with_the_grammar(generic_reader, mistaken(text, random))


# Functions with a hole, "??", that odd tokens fill.
HOLES = (
    '"buffer.func"("buffer.region"(??) {param_count=0} : none) {name="f"} : none',
    '"buffer.func"("buffer.region"("buffer.alloc"() {results=??} : memref<2xint32>) {param_count=0} : none) : none',
    '"buffer.func"("buffer.region"("buffer.alloc"() {a=[[??], [1, []]]} : ??) {param_count=0} : none) : none',
    '"buffer.func"("buffer.region"("affine.apply"() {map=??} : index) {param_count=0} : none) {name="f"} : none',
    '"buffer.func"("buffer.region"() {param_count=??} : none) {name="f"} : none ??',
    '"buffer.func"("prog.var"() {name="x"} : ??, "buffer.region"() {param_count=0} : none) {name="f"} : none',
    '"matrix.sum"("buffer.region"() {param_count=0} : none) : none ??',
)
TOKENS = (
    *("affine_map<(d0) -> (d0 + 1)>", "affine_map<(d0) -> (d1)>", "affine_map<", "[affine_map<() -> (1)>]", "[[]]"),
    *(
        "memref<2x3xfloat64>",
        "memref<2xfloat64, private>",
        "memref<float64>",
        "index",
        "none",
        '["0"]',
        "[[1, 2], [3]]",
    ),
)


@pytest.mark.parametrize("hole", HOLES)
def test_both_agree_on_odd_tokens(hole: str) -> None:
    assert_agrees_with_the_grammar(generic_reader, hole.replace("??", ""))
    for token in (*ODD_TOKENS, *TOKENS):
        assert_agrees_with_the_grammar(generic_reader, hole.replace("??", token))


def test_lists_of_lists_and_maps_are_taken() -> None:
    for value in ("[[0, 2], [2, 1]]", "[[], [1]]", "affine_map<(d0) -> (d0, 1)>", "[affine_map<() -> (1)>]"):
        text = f'"buffer.func"("buffer.region"("matrix.sum"() {{a={value}}} : none) {{param_count=0}} : none) : none'
        assert assert_agrees_with_the_grammar(generic_reader, text)
