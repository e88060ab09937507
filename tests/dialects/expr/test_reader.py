"""What is printed reads back to the same object, in any layout, and both readers of the format agree on every text."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from random import Random
from typing import Any

import pytest
from hypothesis import example, given, note
from hypothesis import strategies as st

import scaly_ir as sc
from scaly_ir.dialect import parse_source
from scaly_ir.dialects.expr import build, ops, reader, syntax
from scaly_ir.dialects.expr.functions import make_function, make_module
from scaly_ir.dialects.expr.node import ExprOp
from scaly_ir.dialects.expr.places import Text, locations
from scaly_ir.graph import Node
from scaly_ir.graph.walk import with_references
from scaly_ir.text.source import Source
from scaly_ir.types import DTYPES
from tests.dialects.expr.generators import random_root, roots
from tests.dialects.expr.texts import ODD_TOKENS, mistaken, mistaken_line, relaid

SEEDS = st.integers(0, 1 << 32)
Spans = list[tuple[int, int]]


def _spans(source: Source, root: Node, head: Any, texts: Sequence[Text]) -> Spans:
    found = locations(source, root, head, texts)
    spans = [found.statement(number) for number in range(len(found.starts))]
    return [(span.start, span.end) for span in spans]


def read_by_grammar(source: Source) -> tuple[Node | None, Spans]:
    root, head, built, diagnostics = syntax.read(source)
    assert (root is None) == bool(diagnostics)
    if root is None:
        return None, []
    texts = [
        Text(body.root, body.at, body.nodes, [start for start, _ in body.places], [end for _, end in body.places])
        for body in built
        if body.root is not None
    ]
    return root, _spans(source, root, head, texts)


def assert_readers_agree(text: str) -> bool:
    """Check that the fast reader gives what the grammar gives, or gives up; tell whether it took the text."""
    source = Source.from_text(text)
    fast = reader.read(source.text)
    if fast is not None:
        root, spans = read_by_grammar(source)
        assert root is not None, f"the fast reader takes what the grammar rejects: {text!r}"
        assert fast[0] is root, f"two meanings of {text!r}:\n{sc.render(fast[0])}\n{sc.render(root)}"
        assert _spans(source, *fast) == spans, f"two places of an operation in {text!r}"
    return fast is not None


# --- the round trip ---------------------------------------------------------------------------------------------------


@given(roots())
def test_text_reads_back_to_the_same_object(root: Node) -> None:
    text = sc.render(root)
    note(text)
    sc.verify(root)
    assert sc.parse(text) is root
    assert sc.render(sc.parse(text)) == text


@given(roots(), SEEDS)
def test_layout_and_spelling_do_not_matter(root: Node, seed: int) -> None:
    text = relaid(sc.render(root), Random(seed))
    note(text)
    assert sc.parse(text) is root
    assert_readers_agree(text)


@given(roots())
def test_the_fast_reader_takes_what_is_printed(root: Node) -> None:
    assert assert_readers_agree(sc.render(root))


@given(roots())
def test_each_line_is_one_operation_with_its_range(root: Node) -> None:
    source = Source.from_text(sc.render(root))
    lines = [line.strip() for line in source.text.splitlines()]
    wanted = [line for line in lines if line != "}" and not line.startswith(("expr.return", "#sp"))]
    found = parse_source(source).locations
    spans = [found.statement(number) for number in range(len(found.starts))]
    assert [source.text[span.start : span.end] for span in spans] == wanted


@given(roots(), SEEDS)
def test_readers_agree_on_mistakes(root: Node, seed: int) -> None:
    random = Random(seed)
    text = sc.render(root)
    for _ in range(5):
        assert_readers_agree(mistaken(text, random))
        assert_readers_agree(mistaken_line(text, random))


# Texts with a hole, "??", that odd tokens fill.
_SOURCES = {
    dtype: '%0 = expr.input {lowering="auto", name="x"} : tensor<T>\n'.replace("T", dtype)
    for dtype in ("float32", "int32", "bool")
}
_FLOAT = _SOURCES["float32"]
_CONST = '%0 = expr.const {lowering="auto", value=V} : tensor<T>\nexpr.return %0'
_HEAD = "expr.func @f(%x: tensor<float32>) -> (%y: tensor<float32>) {\n"
_BODY = f"{_FLOAT}expr.return %0\n}}"

_TABLES = (
    *(("??", dtype) for dtype in ("float64", "float32", "int64", "bool", "0x2xint32", "2x0xint32")),
    *(("[??]", "1xfloat64"), ("[1.0, ??]", "2xfloat64"), ("[[1, ??]]", "1x2xint32"), ("[?? [1, 2]]", "1x2xint32")),
    *(("[[1, 2]??]", "1x2xint32"), ("[[1], ??[2]]", "2x1xfloat32"), ("[[1],??, [2]]", "2x1xbool")),
)

_FRAMES = (
    *("??", "%0 = ??", "?? = expr.const {value=1.0} : tensor<float64>\nexpr.return %0"),
    *[_CONST.replace("V", value).replace("T", dtype) for value, dtype in _TABLES],
    "%0 = expr.const ?? : tensor<float64>\nexpr.return %0",
    "%0 = expr.const {lowering=??, value=1.0} : tensor<float64>\nexpr.return %0",
    '%0 = expr.const {lowering="auto", value=1.0} : ??\nexpr.return %0',
    '%0 = expr.input {lowering="auto", name=??} : tensor<float64>\nexpr.return %0',
    '%0 = expr.input {lowering="auto", name="x"} ?? tensor<float64>\nexpr.return %0',
    '%0 = expr.input {lowering="auto", name="x"} : tensor<float64> ??\nexpr.return %0',
    "%0 = expr.call {callee=??, output=0} : tensor<float64>\nexpr.return %0",
    *(f"{_FLOAT}??\nexpr.return %0", f"{_FLOAT}expr.return ??", f"{_FLOAT}expr.return %0??"),
    *[
        f"{_FLOAT}%1 = {operation} : tensor<float32>\nexpr.return %1"
        for operation in ("??(%0)", "expr.add(??)", "expr.add(%0, ??)", "expr.sin(%0) ??", "expr.sin(%0) {a=??}")
    ],
    *[
        f"{source}%1 = expr.gather(%0, %0) {{fill=??}} : tensor<{dtype}>\nexpr.return %1"
        for dtype, source in _SOURCES.items()
    ],
    *(
        _HEAD + _BODY.replace("expr.input", "??"),
        _HEAD + _BODY.replace("expr.return", "%1 = ??(%0) : tensor<bool>\nexpr.return"),
    ),
    *("expr.module ??", "expr.module {\n??\n}", "expr.region ?? {\n}"),
    *(_HEAD.replace("@f", "??") + _BODY, _HEAD.replace("%x: tensor<float32>", "??") + _BODY),
    *(_HEAD.replace("%y: tensor<float32>", "??") + _BODY, _HEAD.replace("->", "??") + _BODY),
    *(_HEAD.replace("tensor<float32>", "??", 1) + _BODY, _HEAD + _BODY.replace('"x"', "??")),
)


@pytest.mark.parametrize("frame", _FRAMES)
def test_readers_agree_on_odd_tokens(frame: str) -> None:
    for token in ODD_TOKENS:
        assert_readers_agree(frame.replace("??", token))


# --- what there is ----------------------------------------------------------------------------------------------------


def test_random_roots_hold_everything() -> None:
    nodes = [node for seed in range(400) for node in with_references(random_root(seed))]
    assert {node.op.mnemonic for node in nodes} >= {*map(str, ExprOp), "module", "func", "region", "return"}
    typed = [node.type for node in nodes if node.type is not None]
    assert {type_.dtype for type_ in typed} == {*DTYPES}
    assert any([type_.pattern is not None and type_.pattern.nnz > 16 for type_ in typed])
    assert any([0 in type_.shape for type_ in typed])
    text = "".join([sc.render(random_root(seed)) for seed in range(400)])
    for part in ("nan<0x7ff", "-0.0", 'lowering="block"', 'lowering="scalar"', '%"fwd:x"', "#sp0", " inf", "fill="):
        assert part in text


@given(roots())
@example(random_root(0))
def test_types_and_tables_survive_storing(root: Node) -> None:
    assert pickle.loads(pickle.dumps(root)) is root


def test_every_form_of_file_keeps_its_form() -> None:
    func = (
        "expr.func @f(%x: tensor<float64>) -> (%y: tensor<float64>) {\n"
        '  %0 = expr.input {lowering="auto", name="x"} : tensor<float64>\n'
        "  expr.return %0\n"
        "}\n"
    )
    lines = '%0 = expr.const {lowering="auto", value=1.0} : tensor<float64>\nexpr.return %0, %0\n'
    indented = "".join([f"  {line}\n" for line in lines.splitlines()])
    for text in (
        func,
        func + func.replace("@f", "@g"),
        "expr.module {\n}\n",
        lines,
        f"expr.region @r {{\n{indented}}}\n",
    ):
        assert sc.render(sc.parse(text)) == text
        assert assert_readers_agree(text)


def test_comments_on_lines_of_their_own_are_no_trouble_for_the_fast_reader() -> None:
    text = '// RUN: me\n\n%0 = expr.const {lowering="auto", value=1.0} : tensor<float64>\n  // why\nexpr.return %0\n'
    assert assert_readers_agree(text)


# --- size -------------------------------------------------------------------------------------------------------------


def test_a_long_chain_makes_the_round_trip() -> None:
    x = y = build.sym("x", 3)
    for _ in range(50_000):
        y = build.unary("sin", y)
    root = make_module([make_function("f", [x], [y], ["y"])])
    text = sc.render(root)
    assert sc.parse(text) is root
    fast = reader.read(text)
    assert fast is not None
    assert fast[0] is root


def test_large_tables_make_the_round_trip() -> None:
    random = Random(1)
    value = build.const([[random.random() for _ in range(300)] for _ in range(100)])
    root = make_module([make_function("f", [], [value], ["y"])])
    fast = reader.read(sc.render(root))
    assert fast is not None
    assert fast[0] is root


def test_a_table_takes_no_more_room_than_its_text() -> None:
    for type_ in ("tensor<1000000000000xfloat64>", "tensor<1000000000000x0xfloat64>", "tensor<0x1000000000000xbool>"):
        assert_readers_agree(f'%0 = expr.const {{lowering="auto", value=[]}} : {type_}\nexpr.return %0\n')


def test_a_hint_of_the_wrong_kind_is_kept_for_the_verifier() -> None:
    text = "%0 = expr.const {lowering=3, value=1.0} : tensor<float64>\nexpr.return %0\n"
    root = sc.parse(text)
    node = root.args[0]
    assert node.op is ops.CONST
    assert node.attrs["lowering"] == 3
