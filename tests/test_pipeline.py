"""Pipelines as text: what they mean, where each part stands, and every mistake with its range."""

from __future__ import annotations

import string
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scaly_ir.errors import PipelineError
from scaly_ir.pipeline import parse_pipeline, spell_item


def read(text: str) -> list[tuple[str, dict[str, str]]]:
    return [(item.name, {option.key: option.value for option in item.options}) for item in parse_pipeline(text)]


@pytest.mark.parametrize(
    ("text", "items"),
    [
        ("", []),
        (" \n\t", []),
        ("a", [("a", {})]),
        ("a,b", [("a", {}), ("b", {})]),
        (" a ,\n b\t", [("a", {}), ("b", {})]),
        ("a-b,a_b,a.b", [("a-b", {}), ("a_b", {}), ("a.b", {})]),
        ("a{}", [("a", {})]),
        ("a{ }, b", [("a", {}), ("b", {})]),
        ("a{x}", [("a", {"x": "true"})]),
        ("a{x y=1}", [("a", {"x": "true", "y": "1"})]),
        ("a { x = 1 } , b", [("a", {"x": "1"}), ("b", {})]),
        ("a{x=1,2,3 y=z}", [("a", {"x": "1,2,3", "y": "z"})]),
        ("a{x=-1.5e+3}", [("a", {"x": "-1.5e+3"})]),
        ('a{x="b c"}', [("a", {"x": "b c"})]),
        ("a{x='b \"c\" {d'}", [("a", {"x": 'b "c" {d'})]),
        ("a{x={b {c} d}}", [("a", {"x": "b {c} d"})]),
        ("a{x={} y=\"\" z=''}", [("a", {"x": "", "y": "", "z": ""})]),
        ('a{x="1",2}', [("a", {"x": "1,2"})]),
        ("a{x=b:c/d y=@f}", [("a", {"x": "b:c/d", "y": "@f"})]),
    ],
)
def test_pipelines(text: str, items: list[tuple[str, dict[str, str]]]) -> None:
    assert read(text) == items


@pytest.mark.parametrize(
    ("text", "anchors"),
    [
        ("a", [""]),
        ("module(a,b)", ["module", "module"]),
        ("builtin.module( a , func (b{x=1}) , prog.proc(c, expr.func(d)) ), e", ["module", "func", "func", "func", ""]),
        ("module,func{x=1}", ["", ""]),  # passes may have such names
        ("func(func(a))", ["func"]),
    ],
)
def test_anchors(text: str, anchors: list[str]) -> None:
    assert [item.anchor for item in parse_pipeline(text)] == anchors


VALUES = st.one_of(
    st.booleans(),
    st.integers(-99, 99),
    st.text(st.sampled_from("ab_-.:/@ ,=(){}'\"\n"), max_size=8).filter(
        lambda text: '"' not in text or "'" not in text
    ),
    st.lists(st.sampled_from(["a", "b-c", "1.5"]), min_size=1, max_size=3).map(tuple),
)


@given(st.lists(st.dictionaries(st.sampled_from(["x", "y", "z_1"]), VALUES, max_size=3), min_size=1, max_size=4))
def test_what_is_spelled_reads_back(options: list[dict[str, Any]]) -> None:
    text = ",".join([spell_item(f"p{number}", given) for number, given in enumerate(options)])
    expected = [{key: _text(value) for key, value in given.items()} for given in options]
    assert read(text) == [(f"p{number}", given) for number, given in enumerate(expected)]


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return ",".join(value) if isinstance(value, tuple) else str(value)


@pytest.mark.parametrize(
    ("text", "message", "blamed"),
    [
        (",", "expected the name of a pass, found ','", ","),
        ("a,", "expected the name of a pass, found the end", ""),
        ("a,,b", "expected the name of a pass, found ','", ","),
        ("a b", "expected ',' or '{' after the name of a pass, found 'b'", "b"),
        ("a(b)", "'a' is no anchor; expected 'module', 'func' or an operation such as 'prog.proc'", "a"),
        ("module(a", "this anchor is not closed", "module"),
        ("module(a,func(b)", "this anchor is not closed", "module"),
        ("module()", "expected the name of a pass, found ')'", ")"),
        ("module(a))", "expected ',', found ')'", ")"),
        ("module(a) b", "expected ',', found 'b'", "b"),
        ("module(a){x=1}", "expected ',', found '{'", "{"),
        ("a)", "expected ',' or '{' after the name of a pass, found ')'", ")"),
        ("a}", "expected ',' or '{' after the name of a pass, found '}'", "}"),
        ("a{x=1} b", "expected ',', found 'b'", "b"),
        ("a{x=1}{y=2}", "expected ',', found '{'", "{"),
        ('"a"', "expected the name of a pass, found '\"a\"'", '"a"'),
        ('a{"x"=1}', "expected the name of an option, found '\"x\"'", '"x"'),
        ("a{=1}", "expected the name of an option, found '='", "="),
        ("a{x=}", "expected a value, found '}'", "}"),
        ("a{x=", "expected a value, found the end", ""),
        ("a{x==1}", "expected a value, found '='", "="),
        ("a{x=1, y=2}", "expected the name of an option, found ','", ","),
        ("a{x=1,}", "expected the name of an option, found ','", ","),
        ('a{x=b,"c"}', "expected a word after ',' in a list, found '\"c\"'", '"c"'),
        ('a{x=b,"c}', 'this " is not closed', '"'),
        ('a{x="b}', 'this " is not closed', '"'),
        ("a{x='b}", "this ' is not closed", "'"),
        ("a{x", "this '{' is not closed", "{"),
        ("a{x=1", "this '{' is not closed", "{"),
        ("a{x={b}", "this '{' is not closed", "{"),
        ("a{", "this '{' is not closed", "{"),
        ("a{x=1 x=2}", "option 'x' is given twice", "x"),
        ("a{x-y=1 x_y=2}", "option 'x_y' is given twice", "x_y"),
    ],
)
def test_mistakes(text: str, message: str, blamed: str) -> None:
    with pytest.raises(PipelineError) as failure:
        parse_pipeline(text)
    error = failure.value
    assert (str(error), error.text) == (message, text)
    assert text[error.start : error.end] == blamed
    assert isinstance(error, ValueError)


def test_an_unclosed_brace_is_blamed_where_it_opens() -> None:
    with pytest.raises(PipelineError) as failure:
        parse_pipeline("ab{x={y} c")
    assert (failure.value.start, failure.value.end) == (2, 3)
    with pytest.raises(PipelineError) as failure:
        parse_pipeline("ab{x={y")
    assert (failure.value.start, failure.value.end) == (5, 6)


WORDS = st.text(string.ascii_letters + string.digits + "_-.:/@%é", min_size=1)
VALUES = st.one_of(
    st.tuples(WORDS, st.just("{}")),
    st.tuples(st.lists(WORDS, min_size=1).map(",".join), st.just("{}")),
    st.tuples(st.text(string.printable.replace('"', "")), st.just('"{}"')),
    st.tuples(st.text(string.printable.replace("'", "")), st.just("'{}'")),
    st.tuples(st.recursive(WORDS, lambda inner: inner.map(lambda text: f"a {{{text}}} 'b")), st.just("{{{}}}")),
)
OPTIONS = st.dictionaries(WORDS.map(lambda word: word.replace("-", "_")), VALUES, max_size=3)
SPACES = st.sampled_from(("", "", " ", "\n", "\t "))


@given(st.lists(st.tuples(WORDS, OPTIONS), max_size=4), st.data())
def test_every_pipeline_reads_back_with_its_places(
    items: list[tuple[str, dict[str, tuple[str, str]]]], data: Any
) -> None:
    def space() -> str:
        drawn: str = data.draw(SPACES)
        return drawn

    written = []
    for name, options in items:
        text = f"{space()}{name}{space()}"
        if options or data.draw(st.booleans()):
            entries = [f"{key}{space()}={space()}{form.format(value)}" for key, (value, form) in options.items()]
            text += f"{{{space()}{' '.join(entries)}{space()}}}{space()}"
        written.append(text)
    pipeline = ",".join(written)
    parsed = parse_pipeline(pipeline)
    assert [item.name for item in parsed] == [name for name, _ in items]
    for item, (name, options) in zip(parsed, items, strict=True):
        assert pipeline[item.start : item.end] == name
        assert {option.key: option.value for option in item.options} == {
            key: value for key, (value, _) in options.items()
        }
        for option in item.options:
            assert pipeline[option.start : option.end] == option.key
            value, form = options[option.key]
            assert pipeline[option.value_start : option.value_end] == form.format(value)


@given(st.text("ab,{}=()\"' \n-"))
def test_any_text_is_a_pipeline_or_an_error_with_a_range(text: str) -> None:
    failure = None
    try:
        items = parse_pipeline(text)
    except PipelineError as error:
        items, failure = [], error
    assert all([text[item.start : item.end] == item.name for item in items])
    if failure is not None:
        assert failure.text == text
        assert 0 <= failure.start <= failure.end <= len(text)
        assert failure.start < failure.end or "the end" in str(failure)


def test_deep_braces_are_no_problem() -> None:
    assert read(f"a{{x={'{' * 100_000}{'}' * 100_000}}}") == [("a", {"x": "{" * 99_999 + "}" * 99_999})]
    with pytest.raises(PipelineError, match="is not closed"):
        parse_pipeline(f"a{{x={'{' * 100_000}")
