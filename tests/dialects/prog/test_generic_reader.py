"""The fast reader of `prog` text in the generic form and the grammar agree on every text: on nodes and on places."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, note
from hypothesis import strategies as st

from scaly_ir.dialect import render_as
from scaly_ir.dialects.prog import generic_reader
from scaly_ir.dialects.prog.build import operations
from scaly_ir.graph import Node
from scaly_ir.text.form import Form
from tests.dialects.prog.generators import fragments, programs
from tests.dialects.prog.texts import ODD_TOKENS, mistaken, relaid
from tests.text.forms import assert_agrees_with_the_grammar, random_places

ROOTS = st.one_of(programs(), fragments(), programs(registered=True), fragments(registered=True))
SEEDS = st.integers(0, 1 << 32)


@given(ROOTS, SEEDS, st.booleans(), st.booleans())
def test_what_is_printed_is_taken(root: Node, seed: int, located: bool, users: bool) -> None:
    random = Random(seed)
    places = random_places(operations(root), random) if located else None
    text = render_as(root, Form(generic=True, locate=places, users=users))
    note(text)
    assert assert_agrees_with_the_grammar(generic_reader, text) or "={" in text or "[[" in text
    assert_agrees_with_the_grammar(generic_reader, relaid(text, random))


@given(ROOTS, SEEDS)
def test_both_agree_on_mistakes(root: Node, seed: int) -> None:
    random = Random(seed)
    text = render_as(root, Form(generic=True))
    for _ in range(3):
        assert_agrees_with_the_grammar(generic_reader, mistaken(text, random))


# Texts with a hole, "??", that odd tokens fill.
HOLES = (
    "??",
    '??"prog.call"() {callee="f"} : none',
    '"prog.call"() {callee="f"} : none??',
    '"prog.call"() {callee="f"} : none ?? "prog.call"() {callee="f"} : none',
    '"prog.call"() {??} : none',
    '"prog.call"() ?? : none',
    '"prog.call"() {a=??} : none',
    '"prog.call"() {??=1, callee="f"} : none',
    '"prog.call"() {a=[??, 1], b=slice(??, 1, None)} : none',
    '"prog.call"() : ??',
    '"prog.call"() : none loc(??)',
    '"prog.call"() : none loc("a":??:1)',
    '"prog.call"() : none loc(??:1:1)',
    '"prog.call"(??) : none',
    '"prog.call"("prog.var"() {name="x"} : float64, ??) : none',
    '"prog.call"("prog.var"() {name="x"} : float64 ??) : none',
    '"??"() : none',
)


@pytest.mark.parametrize("hole", HOLES)
def test_both_agree_on_odd_tokens(hole: str) -> None:
    assert_agrees_with_the_grammar(generic_reader, hole.replace("??", ""))
    for token in (*ODD_TOKENS, "%0", "%1", '"a"', "float64", "tensor<2xfloat32>", "none", "unknown"):
        assert_agrees_with_the_grammar(generic_reader, hole.replace("??", token))
