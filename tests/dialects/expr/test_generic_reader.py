"""The fast reader of `expr` text in the generic form and the grammar agree on every text: on nodes and on places."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, note
from hypothesis import strategies as st

from scaly_ir.dialect import parse_source, render_as, verify_parsed
from scaly_ir.dialects.expr import generic_reader
from scaly_ir.dialects.expr.places import in_order as operations
from scaly_ir.graph import Node
from scaly_ir.text.form import Form
from scaly_ir.text.source import Source
from tests.dialects.expr.generators import roots
from tests.dialects.expr.growing import modules
from tests.dialects.expr.texts import ODD_TOKENS, mistaken, mistaken_line, relaid
from tests.text.forms import assert_agrees_with_the_grammar, random_places

ROOTS = st.one_of(roots(), roots(), modules().map(lambda drawn: drawn[0]))
SEEDS = st.integers(0, 1 << 32)


@given(ROOTS, SEEDS, st.booleans(), st.booleans())
def test_what_is_printed_is_taken(root: Node, seed: int, located: bool, users: bool) -> None:
    random = Random(seed)
    places = random_places(operations(root), random) if located else None
    text = render_as(root, Form(generic=True, locate=places, users=users))
    note(text)
    assert assert_agrees_with_the_grammar(generic_reader, text)
    assert_agrees_with_the_grammar(generic_reader, relaid(text, random))


@given(ROOTS, SEEDS)
def test_both_agree_on_mistakes(root: Node, seed: int) -> None:
    random = Random(seed)
    text = render_as(root, Form(generic=True))
    for _ in range(3):
        assert_agrees_with_the_grammar(generic_reader, mistaken(text, random))
        assert_agrees_with_the_grammar(generic_reader, mistaken_line(text, random))


# Texts with a hole, "??", that odd tokens fill.
_X = '%0 = "expr.input"() {name="x"} : tensor<2xfloat32>\n'
_END = '\n"expr.return"(%1) : none'
_F = '%1 = "expr.func"(%0, %0) {name="f", output_names=["y"]} : none\n'
HOLES = (
    f'{_X}%1 = "expr.neg"(??) : tensor<2xfloat32>{_END}',
    f'{_X}%1 = "expr.neg"(%0) ?? : tensor<2xfloat32>{_END}',
    f'{_X}%1 = "expr.neg"(%0) {{??}} : tensor<2xfloat32>{_END}',
    f'{_X}%1 = "expr.neg"(%0) {{a=??}} : tensor<2xfloat32>{_END}',
    f'{_X}%1 = "expr.neg"(%0) : ??{_END}',
    f'{_X}%1 = "??"(%0) : tensor<2xfloat32>{_END}',
    f'{_X}?? = "expr.neg"(%0) : tensor<2xfloat32>{_END}',
    f'{_X}??\n%1 = "expr.neg"(%0) : tensor<2xfloat32>{_END}',
    f'{_X}%1 = "expr.neg"(%0) : tensor<2xfloat32>{_END} ??',
    f'{_X}%1 = "expr.const"() {{value=??}} : tensor<2xfloat32>{_END}',
    f'{_X}%1 = "expr.const"() {{value=[??, 1]}} : tensor<2xint32>{_END}',
    f'{_X}%1 = "expr.const"() {{lowering="auto", value=??}} : tensor<bool>{_END}',
    f'{_X}{_F}"expr.module"(??) : none',
    f'{_X}{_F}"expr.??"(%1) : none',
    f'{_X}{_F}"expr.module"(%1) {{bare=??}} : none',
    f'{_X}{_F}%2 = "expr.call"(%0) {{callee=??, output=0}} : tensor<2xfloat32>\n"expr.return"(%2) : none',
    f'{_X}%1 = "expr.func"(%0, %0) {{name=??, output_names=["y"]}} : none\n"expr.module"(%1) : none',
    f'{_X}%1 = "expr.func"(%0, %0) {{name="f", output_names=[??]}} : none\n"expr.module"(%1) : none',
)


@pytest.mark.parametrize("hole", HOLES)
def test_both_agree_on_odd_tokens(hole: str) -> None:
    assert_agrees_with_the_grammar(generic_reader, hole.replace("??", ""))
    for token in (*ODD_TOKENS, "%0", "%1", '"a"', "float64", "tensor<2xfloat32>", "none", "unknown"):
        assert_agrees_with_the_grammar(generic_reader, hole.replace("??", token))


def test_what_attributes_mean_does_not_depend_on_the_line_before() -> None:
    lines = [
        '%0 = "expr.input"() {name="x"} : tensor<float64>',
        '%1 = "expr.sin"(%0) {value=1.0} : tensor<float64>',
        '%2 = "expr.const"() {value=1.0} : tensor<float64>',
        '%3 = "expr.add"(%1, %2) : tensor<float64>',
        '%4 = "expr.func"(%3, %0) {name="f", output_names=["y"]} : none',
        '"expr.module"(%4) : none',
    ]
    parsed = parse_source(Source.from_text("\n".join(lines), "f.sir"))
    assert parsed.root is not None
    faults = verify_parsed(parsed.root, parsed.locations)
    assert [fault.message for fault in faults] == ["'expr.sin': attribute 'value' is unknown [attrs-match-op]"]
