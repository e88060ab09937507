"""Any text whatever gives nodes or located messages; what these say is in ``testdata/diagnostics/expr/syntax``."""

from __future__ import annotations

import time
from random import Random

import pytest
from hypothesis import given, note
from hypothesis import strategies as st

import scaly_ir as sc
from scaly_ir.dialect import parse_source, verify_parsed
from scaly_ir.dialects.expr import ops, syntax
from scaly_ir.errors import ParseError
from scaly_ir.graph import Node
from scaly_ir.op import Op
from scaly_ir.tensors import TensorType
from scaly_ir.text.diagnostics import Diagnostic, render
from scaly_ir.text.source import Source
from tests.dialects.expr.generators import roots
from tests.dialects.expr.texts import ODD_TOKENS, mistaken, mistaken_line

SEEDS = st.integers(0, 1 << 32)
X = '%0 = expr.input {lowering="auto", name="x"} : tensor<3xfloat64 diff>\n'


def _check(diagnostics: list[Diagnostic], text: str) -> None:
    for diagnostic in diagnostics:
        assert diagnostic.span is not None
        assert 0 <= diagnostic.span.start <= diagnostic.span.end <= len(text)
        assert render(diagnostic)


def assert_read_or_located(text: str) -> Node | None:
    """Check that a text gives a root that can be printed, or messages with a place; return the root."""
    source = Source.from_text(text, "x.sir")
    root, _head, _built, diagnostics = syntax.read(source)
    assert (root is None) == bool(diagnostics)
    _check(diagnostics, source.text)
    parsed = parse_source(source)
    _check(list(parsed.diagnostics), source.text)
    if parsed.root is not None:
        _check(verify_parsed(parsed.root, parsed.locations), source.text)
        printed = sc.render(parsed.root)
        assert sc.render(sc.parse(printed)) == printed
    return root


@given(roots(), SEEDS)
def test_mistakes_are_located(root: Node, seed: int) -> None:
    random = Random(seed)
    text = sc.render(root)
    for broken in (mistaken(text, random), mistaken_line(text, random), mistaken(mistaken(text, random), random)):
        note(broken)
        assert_read_or_located(broken)


@given(st.lists(st.sampled_from(ODD_TOKENS[:-3]), max_size=12), SEEDS)
def test_nonsense_is_located(tokens: list[str], seed: int) -> None:
    random = Random(seed)
    text = "expr.add " + "".join([token + random.choice(("", " ", "\n")) for token in tokens])
    note(text)
    assert_read_or_located(text)


@pytest.mark.parametrize("token", ODD_TOKENS)
def test_odd_tokens_in_an_operation(token: str) -> None:
    assert_read_or_located(f"{X}%1 = expr.add(%0, %0) {{a={token}}} : tensor<3xfloat64 diff>\nexpr.return %1\n")
    assert_read_or_located(f"{X}%1 = expr.add(%0, {token}) : tensor<3xfloat64 diff>\nexpr.return %1\n")
    assert_read_or_located(f"{X}%1 = expr.add(%0, %0) : {token}\nexpr.return %1\n")


def _messages(text: str) -> list[str]:
    with pytest.raises(ParseError) as caught:
        sc.parse(text)
    return [diagnostic.message for diagnostic in caught.value.diagnostics]


def test_an_operation_that_cannot_be_read_is_complained_of_once() -> None:
    text = X + "%1 = expr.sin %0 : tensor<3xfloat64 diff>\n%2 = expr.cos(%1) : tensor<3xfloat64 diff>\nexpr.return %2\n"
    (message,) = _messages(text)
    assert message.startswith("expected")
    text = X + "%1 = expr.sin(%0) : tensor<3xfloat16>\n%2 = expr.cos(%1) : tensor<3xfloat64 diff>\nexpr.return %2\n"
    assert len(_messages(text)) == 1


def test_a_call_of_a_function_with_a_mistake_is_not_complained_of() -> None:
    function = f"expr.func @f(%x: tensor<3xfloat64 diff>) -> (%y: tensor<3xfloat64 diff>) {{\n{X}expr.return %1\n}}\n"
    caller = function.replace("@f", "@g").replace(
        "expr.return", '%1 = expr.call(%0) {callee="f", output=0} : tensor<3xfloat64 diff>\nexpr.return'
    )
    assert _messages(caller + function) == ["undefined name '%1'"]


def test_mistakes_in_several_functions_come_in_the_order_of_the_text() -> None:
    function = (
        f"expr.func @NAME(%x: tensor<3xfloat64 diff>) -> (%y: tensor<3xfloat64 diff>) {{\n{X}expr.return %zzz\n}}\n"
    )
    text = "".join([function.replace("NAME", name).replace("zzz", f"missing.{name}") for name in "abc"])
    assert _messages(text) == [f"undefined name '%missing.{name}'" for name in "abc"]


def test_what_is_dropped_is_checked_in_every_function() -> None:
    function = (
        "expr.func @NAME(%x: tensor<3xfloat64 diff>) -> (%y: tensor<3xfloat64 diff>) {\n"
        f"{X}%1 = expr.sin(%0) : tensor<4xfloat64 diff>\nexpr.return %0\n}}\n"
    )
    messages = _messages(function.replace("NAME", "f") + function.replace("NAME", "g"))
    assert len(messages) == 2
    assert all(["unary-shape-dtype-match" in message for message in messages])


def test_a_file_reads_whose_results_are_invalid_and_whose_rest_is_fine() -> None:
    text = (
        X + "%1 = expr.sin(%0) : tensor<3xfloat64 diff>\n%2 = expr.reshape(%0) {shape=[4]} : tensor<4xfloat64 diff>\n"
    )
    root = sc.parse(text + "expr.return %2\n")
    with pytest.raises(sc.VerifyError, match="RESHAPE source size 3 != target size 4"):
        sc.verify(root)


def test_registered_operators_are_read_and_printed(registry: None) -> None:
    op = Op.register("my_ext.square", "x * x")
    op.set_signature(("x",), attrs={"scale": float})
    text = X + "%1 = my_ext.square(%0) {scale=2.5} : tensor<3xfloat64 diff>\nexpr.return %1\n"
    root = sc.parse(text)
    assert root.args[0].op is op
    assert root.args[0].type is TensorType(3)
    assert sc.render(root) == text


def test_a_comment_may_stand_anywhere_between_tokens() -> None:
    text = "expr.module{#sp0// = 1\n\t// two\n = sparse<rows=[0],cols=[0]>}"
    assert sc.render(sc.parse(text)) == "expr.module {\n}\n"


def test_numbers_are_read_in_the_dtype_of_their_type() -> None:
    number = "1.000000059604644775390626"
    text = f"%0 = expr.const {{value={number}}} : tensor<TYPE>\nexpr.return %0\n"
    for dtype, bits in (("float32", "0100803f"), ("float64", "000000100000f03f")):
        (node,) = sc.parse(text.replace("TYPE", dtype)).args
        assert node.attrs["value"].data.hex() == bits


def test_places_of_operations_in_another_order_than_they_are_listed() -> None:
    text = (
        '%b = expr.input {name="b"} : tensor<3xfloat64>\n'
        '%a = expr.input {name="a"} : tensor<3xfloat64>\n'
        "%c = expr.sub(%a, %b) : tensor<4xfloat64>\n"
        "expr.return %c\n"
    )
    parsed = parse_source(Source.from_text(text))
    assert parsed.root is not None
    assert parsed.root.op is ops.RETURN
    lines = text.splitlines()
    shown = [parsed.locations.statement(number) for number in range(3)]
    assert [text[span.start : span.end] for span in shown] == [lines[1], lines[0], lines[2]]
    (diagnostic,) = verify_parsed(parsed.root, parsed.locations)
    assert diagnostic.span is not None
    assert text[diagnostic.span.start : diagnostic.span.end] == "tensor<4xfloat64>"


def test_a_file_full_of_mistakes_takes_linear_time() -> None:
    def seconds(count: int) -> float:
        text = X + "".join([f"%{at} = expr.sin(%{at}) : tensor<3xfloat64 diff>\n" for at in range(1, count)])
        start = time.process_time()
        syntax.read(Source.from_text(text + "expr.return %0\n"))
        return time.process_time() - start

    assert seconds(2000) < 10 * seconds(500) + 0.5
