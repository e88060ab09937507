"""Functions of matrices, loops and buffers as text: the round trip, layout, two readers, mistakes, and size."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Final

import pytest
from hypothesis import given, note
from hypothesis import strategies as st

import scaly_ir as sc
from scaly_ir.attributes import Word
from scaly_ir.dialect import dialect_of, parse_source, render_as
from scaly_ir.dialects.affine import build as affine
from scaly_ir.dialects.affine import ops as affine_ops
from scaly_ir.dialects.buffer import build, ops
from scaly_ir.dialects.matrix import dialect as _dialect  # noqa: F401 - registers the operators
from scaly_ir.dialects.matrix import reader, syntax
from scaly_ir.dialects.matrix.language import LANGUAGE
from scaly_ir.dialects.prog import build as prog
from scaly_ir.graph import Node
from scaly_ir.text.form import Form
from scaly_ir.text.source import Source
from scaly_ir.types import BOOL, FLOAT64, MemRefType
from tests.dialects.matrix.generators import modules
from tests.dialects.prog.texts import ODD_TOKENS, mistaken, relaid

SEEDS: Final = st.integers(0, 1 << 32)
ROOT: Final = Path(__file__).resolve().parents[3]
EXAMPLES: Final = sorted((ROOT / "testdata" / "matrix").glob("*.sir"))

Places = list[tuple[int, int]]


def read_by_grammar(text: str) -> tuple[Node | None, Places]:
    root, assembler, diagnostics = syntax.read(Source.from_text(text))
    assert (root is None) == bool(diagnostics)
    return root, list(zip(assembler.starts, assembler.ends, strict=True))


def read_fast(text: str) -> tuple[Node, Places] | None:
    found = reader.read(Source.from_text(text).text)
    if found is None:
        return None
    root, assembler = found
    return root, list(zip(assembler.starts, assembler.ends, strict=True))


def assert_readers_agree(text: str) -> bool:
    """Check that the fast reader gives what the grammar gives, or gives up; tell whether it took the text."""
    fast = read_fast(text)
    if fast is not None:
        root, places = read_by_grammar(text)
        assert root is not None, f"the fast reader takes what the grammar rejects: {text!r}"
        assert fast[0] is root, f"two meanings of {text!r}:\n{sc.render(fast[0])}\n{sc.render(root)}"
        assert fast[1] == places, f"two places of a statement in {text!r}"
    return fast is not None


# --- the round trip ---------------------------------------------------------------------------------------------------


@given(modules())
def test_text_reads_back_to_the_same_object(root: Node) -> None:
    text = sc.render(root)
    note(text)
    assert sc.parse(text) is root
    assert read_by_grammar(text)[0] is root
    assert sc.render(sc.parse(text)) == text


@given(modules(), SEEDS)
def test_layout_and_spelling_do_not_matter(root: Node, seed: int) -> None:
    text = relaid(sc.render(root), Random(seed), LANGUAGE.lexemes)
    note(text)
    assert sc.parse(text) is root
    assert assert_readers_agree(text)


@given(modules())
def test_the_generic_form_reads_back(root: Node) -> None:
    text = render_as(root, Form(generic=True))
    note(text)
    assert sc.parse(text) is root


@given(modules())
def test_each_line_is_one_operation_with_its_place(root: Node) -> None:
    text = sc.render(root)
    lines = [line.strip() for line in text.splitlines()]
    heads = [line for line in lines if line != "}" and not line.startswith("^")]
    for found in (read_fast(text), read_by_grammar(text)):
        assert found is not None
        whole = [text[start:end] for start, end in found[1]]
        assert [each.partition("\n")[0] for each in whole] == heads


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_the_fast_reader_takes_the_examples(path: Path) -> None:
    assert assert_readers_agree(path.read_text("utf-8"))


# --- what is written otherwise ----------------------------------------------------------------------------------------


def _function(body: str, params: str = "%x: memref<2x3xfloat64>, %s: float64") -> str:
    return f"buffer.func @f({params}) -> () {{\n{body}  buffer.return\n}}\n"


@pytest.mark.parametrize(
    ("written", "printed"),
    [
        ("%7 = matrix.sum(%x) : float64", "%0 = matrix.sum(%x) : float64"),
        ('%"3" = matrix.sum(%x) : float64', "%0 = matrix.sum(%x) : float64"),
        ('%"a" = matrix.sum(%"x") : float64', "%a = matrix.sum(%x) : float64"),
        ("%v = prog.add(%s, 1.) : float64", "%v = prog.add(%s, 1) : float64"),
        ("%b = buffer.alloc : memref< 2x3xbool>", ""),
        ("affine.for %i = 0 to 3 step 1 {\n  }", "affine.for %i = 0 to 3 step 1 {kind=serial} {\n  }"),
        ("affine.for %i = 0 to 3 step 1 {kind=global} {\n  }", "affine.for %i = 0 to 3 step 1 {kind=global} {\n  }"),
        ("%b = buffer.constant(-0) : memref<float64>", "%b = buffer.constant(-0.0) : memref<float64>"),
        ("%b = buffer.constant(1) : memref<2xbool>", "%b = buffer.constant(1) : memref<2xbool>"),
        ("%b = buffer.alloc : memref<0x3xint64>", "%b = buffer.alloc : memref<0x3xint64>"),
        (
            "%k = affine.apply() {map=affine_map<()->(2*(3+1))>} : index",
            "%k = affine.apply() {map=affine_map<() -> ((3 + 1) * 2)>} : index",
        ),
    ],
)
def test_one_spelling_is_printed(written: str, printed: str) -> None:
    if not printed:
        with pytest.raises(sc.ParseError):
            sc.parse(_function(f"  {written}\n"))
        return
    text = _function(f"  {printed}\n")
    assert sc.render(sc.parse(_function(f"  {written}\n"))) == text
    assert sc.parse(_function(f"  {written}\n")) is sc.parse(text)


def test_numbers_follow_the_text_and_names_stay() -> None:
    body = "  %9 = buffer.alloc : memref<2xfloat64>\n  %a = matrix.sum(%x) : float64\n"
    body += "  affine.for %4 = 0 to 2 step 1 {kind=global} {\n    buffer.write %a, %9[%4] : float64\n  }\n"
    printed = sc.render(sc.parse(_function(body)))
    assert printed == _function(body.replace("%9", "%0").replace("%4", "%1"))


# --- mistakes ---------------------------------------------------------------------------------------------------------

_OWN: Final = (
    "^comb|^|^other|^comb(|affine_map<|affine_map<()>|affine_map<(d0) -> (d0)>|affine_map<(d1) -> (d1)>|undef|init|iter"
    "|affine_map<() -> ()>|affine_map<(d0) -> (d0 mod 0)>|affine_map<(d0) -> (9223372036854775808)>|affine_map|index"
    "|{map=affine_map<(d0) -> (d0 +)>}|init(0)|init()|init(undef)|iter(%a = 0)|: float64|matrix.sum|matrix.yield|memref"
    "|affine.yield|buffer.return|affine.for|buffer.func|buffer.module|buffer.region|buffer.let|buffer.undef|buffer.read"
    "|%0|%00|%-1|matrix.|matrix.prod(|memref<2xfloat64>|buffer.alloc|->|-> ()|{indices=[]}|{indices=[[0], 1]}|{kind=x}"
).split("|")

_FRAMES: Final = (
    "{}",
    "buffer.func {}() -> () {{ buffer.return }}",
    "buffer.func @f({}) -> () {{ buffer.return }}",
    "buffer.func @f() {} () {{ buffer.return }}",
    "buffer.func @f() -> ({}) {{ buffer.return }}",
    "buffer.func @f(%x: {}) -> () {{ buffer.return }}",
    "buffer.func @f() -> () {{ {} }}",
    "buffer.func @f() -> () {{ buffer.return {} }}",
    "buffer.func @f() -> () {{ {} = buffer.alloc : memref<2xfloat64> }}",
    "buffer.func @f() -> () {{ %0 = {} : memref<2xfloat64> }}",
    "buffer.func @f() -> () {{ %0 = buffer.alloc {} memref<2xfloat64> }}",
    "buffer.func @f() -> () {{ %0 = buffer.alloc : {} }}",
    "buffer.func @f() -> () {{ %0 = buffer.alloc : memref<2xfloat64> {} }}",
    "buffer.func @f(%x: memref<2xbool>) -> () {{ %0 = buffer.read {}[0] : bool }}",
    "buffer.func @f(%x: memref<2xbool>) -> () {{ %0 = buffer.read %x[{}] : bool }}",
    "buffer.func @f(%x: memref<2xbool>) -> () {{ buffer.write {}, %x[0] : bool }}",
    "buffer.func @f(%x: memref<2xbool>) -> () {{ buffer.write 0, {}[0] : bool }}",
    "buffer.func @f(%x: memref<2xbool>) -> () {{ buffer.write 0, %x[0] : {} }}",
    "buffer.func @f(%x: memref<2xint64>) -> () {{ %0 = matrix.sum({}) : int64 }}",
    "buffer.func @f(%x: memref<2xint64>) -> () {{ %0 = matrix.sum(%x) {} : int64 }}",
    "buffer.func @f(%x: memref<2xint64>) -> () {{ %0 = prog.add(1, {}) : int64 }}",
    "buffer.func @f() -> () {{ %0 = affine.apply(1) {{map={}}} : index }}",
    "buffer.func @f() -> () {{ %0 = affine.apply(1) {{{}=1}} : index }}",
    "buffer.func @f() -> () {{ affine.for {} = 0 to 1 step 1 {{}} }}",
    "buffer.func @f() -> () {{ affine.for %i = {} to 1 step 1 {{}} }}",
    "buffer.func @f() -> () {{ affine.for %i = 0 to 1 step {} {{}} }}",
    "buffer.func @f() -> () {{ affine.for %i = 0 to 1 step 1 {} {{}} }}",
    "buffer.func @f() -> () {{ %0 = affine.for %i = 0 to 1 step 1 iter({}) : bool {{}} }}",
    "buffer.func @f() -> () {{ %0 = affine.for %i = 0 to 1 step 1 iter(%a = {}) : bool {{}} }}",
    "buffer.func @f() -> () {{ %0 = affine.for %i = 0 to 1 step 1 iter(%a = 0) : {} {{}} }}",
    "buffer.func @f() -> () {{ %0 = affine.for %i = 0 to 1 step 1 iter(%a = 0) : bool {{ affine.yield {} }} }}",
    "buffer.func @f() -> () {{ %0 = matrix.map_reduce() {} {{indices=[]}} : memref<bool> {{ ^comb(): }} }}",
    "buffer.func @f() -> () {{ %0 = matrix.map_reduce() init({}) {{indices=[]}} : memref<bool> {{ ^comb(): }} }}",
    "buffer.func @f() -> () {{ %0 = matrix.map_reduce() init(0) {{indices=[]}} : memref<bool> {{ {} }} }}",
    "buffer.func @f() -> () {{ %0 = matrix.map_reduce() init(0) {{indices=[]}} : memref<bool> {{ ^comb({}): }} }}",
    "buffer.func @f() -> () {{ %0 = matrix.map_reduce() init(0) {} : memref<bool> {{ ^comb(): matrix.yield 0 }} }}",
    "buffer.func @f() -> () {{}} {}",
)


@pytest.mark.parametrize("frame", _FRAMES)
def test_readers_agree_on_odd_tokens_in_each_place(frame: str) -> None:
    for token in (*ODD_TOKENS, *_OWN):
        assert_readers_agree(frame.format(token))


@given(modules(), SEEDS)
def test_mistakes_end_in_messages_on_which_readers_agree(root: Node, seed: int) -> None:
    random = Random(seed)
    text = sc.render(root)
    if random.random() < 0.3:
        text = relaid(text, random, LANGUAGE.lexemes)
    for _ in range(10):
        wrong = mistaken(text, random, LANGUAGE.lexemes)
        if random.random() < 0.3:
            wrong = wrong.replace(random.choice(wrong.split() or [""]), random.choice(_OWN), 1)
        assert_readers_agree(wrong)
        parsed = parse_source(Source.from_text(wrong))
        assert (parsed.root is None) == bool(parsed.diagnostics), wrong
        if parsed.root is not None:
            for violation in dialect_of(parsed.root).spec.check(parsed.root):
                parsed.locations.span(violation.place)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("  %0 = matrix.sum(%x) : float64\n  matrix.sum(%x) : : float64\n", "3:20: error: expected a type, found ':'"),
        (
            "  matrix.sum(%x :\n",
            "2:17: error: expected ',' or ')' while parsing the operands of 'matrix.sum', found ':'",
        ),
        ("  %b = buffer.alloc : memref< 2xbool>\n", "2:23: error: malformed type 'memref< 2xbool>'"),
        ("  %0 = affine.apply(1) {map=} : index\n", "2:29: error: expected an attribute value"),
        (
            "  %0 = matrix.map_reduce() init(0) {indices=[]} : memref<bool> {\n  matrix.yield 0\n  }\n",
            "3:3: error: expected '^comb(...):' before 'matrix.yield'",
        ),
        (
            "  %0 = matrix.map_reduce() init(0) {indices=[]} : memref<bool> {\n  5\n  }\n",
            "3:3: error: expected '^comb', found '5'",
        ),
        ("  %0 = affine.for %i = 0 ta 2 step 1 {\n  }\n", "2:26: error: expected 'to' while parsing 'affine.for'"),
        ("  %0 = affine.for %i = 0\n", "2:25: error: expected 'to' while parsing 'affine.for'"),
    ],
)
def test_a_mistake_is_one_message_whatever_the_statement_begins_with(body: str, message: str) -> None:
    with pytest.raises(sc.ParseError) as caught:
        sc.parse(_function(body))
    assert str(caught.value).startswith(f"<string>:{message}")
    assert len(caught.value.diagnostics) == 1 + ("{\n  matrix" in body or body.endswith("= 0\n"))  # and a brace is off


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ("matrix.sum(%x :\n", ["1:15"]),
        ("buffer.alloc : : memref<2xbool>\n", ["1:16"]),
        ("buffer.func @f() -> () {\n  %0 = affine.for %i = 0\n}\n", ["2:25"]),
        (
            _function(
                "  affine.for %i = 0 to 1 step 1 {\n  }\n  matrix.sum(%x %x) : float64\n  matrix.sam(%x) : float64\n"
            ),
            ["4:17", "5:3"],
        ),
    ],
)
def test_reading_goes_on_behind_a_mistake_wherever_it_stands(text: str, places: list[str]) -> None:
    with pytest.raises(sc.ParseError) as caught:
        sc.parse(text)
    found = [line.removeprefix("<string>:").partition(": error")[0] for line in str(caught.value).splitlines()]
    assert found == places


# --- size -------------------------------------------------------------------------------------------------------------


def _checked(root: Node) -> str:
    """Return the text of a function after checking that it is valid and that the fast reader takes it."""
    sc.verify(root)
    text = sc.render(root)
    found = read_fast(text)
    assert found is not None
    assert found[0] is root
    return text


def _nest(depth: int) -> Node:
    body = [affine.yield_([prog.apply("add", prog.var(f"c{depth - 1}", FLOAT64), prog.const(1, FLOAT64))])]
    for level in reversed(range(depth)):
        init = prog.var(f"c{level - 1}", FLOAT64) if level else prog.const(0, FLOAT64)
        carried = [affine.Carried(f"c{level}", init, f"r{level}")]
        loop = affine.for_(f"i{level}", affine.index(0), affine.index(1), body, kind="reduce", carried=carried)
        body = [loop, affine.yield_([prog.var(f"r{level}", FLOAT64)])]
    body[-1] = build.statement(ops.RETURN, [prog.var("r0", FLOAT64)])
    return build.module([build.func("f", [], [build.declaration("y", FLOAT64)], body)])


def test_a_nest_of_a_thousand_loops_makes_the_round_trip() -> None:
    assert _checked(_nest(1000)).count("affine.for") == 1000
    assert assert_readers_agree(sc.render(_nest(1000)))
    assert sc.parse(render_as(_nest(200), Form(generic=True))) is _nest(200)


def _allocations(count: int) -> Node:
    memref = MemRefType((2,), BOOL)
    body = [build.statement(ops.ALLOC, (), memref, (str(number),)) for number in range(count)]
    return build.module([build.func("f", [], [], [*body, build.statement(ops.RETURN, ())])])


def test_many_statements_make_the_round_trip() -> None:
    assert _checked(_allocations(20_000)).count("\n") == 20_003
    assert assert_readers_agree(sc.render(_allocations(2_000)))


def _chain(length: int) -> Node:
    value = prog.var("s", FLOAT64)
    for _ in range(length):
        value = prog.apply("add", value, prog.const(0.5, FLOAT64))
    body = [build.let("v", value), build.statement(ops.RETURN, [prog.var("v", FLOAT64)])]
    params, results = [[build.declaration(name, FLOAT64)] for name in "sy"]
    return build.module([build.func("f", params, results, body)])


def test_deep_scalars_make_the_round_trip() -> None:
    assert _checked(_chain(100_000)).count("prog.add") == 100_000
    assert assert_readers_agree(sc.render(_chain(5_000)))


def test_a_long_nest_without_names_is_numbered_once() -> None:
    text = "buffer.func @f() -> () {\n"
    for level in range(1000):
        text += f"affine.for %{level * 7} = 0 to 1 step 1 {{\n"
    root = sc.parse(text + "}\n" * 1000 + "buffer.return\n}\n")
    assert "%999 = 0 to" in sc.render(root)
    found = next(iter(build.statements_in(root.args[0].args[-1])))
    assert found.op is affine_ops.FOR
    assert found.attrs["kind"] == Word("serial")
