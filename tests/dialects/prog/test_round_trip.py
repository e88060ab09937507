"""What is printed reads back to the same object, in any layout, and both readers of the format agree on every text."""

from __future__ import annotations

import threading
from random import Random
from unittest import mock

import pytest
from hypothesis import example, given, note
from hypothesis import strategies as st

import scaly_ir as sc
from scaly_ir.dialects.prog import build, reader, syntax
from scaly_ir.dialects.prog.dialect import spans_of
from scaly_ir.dialects.prog.printer import render
from scaly_ir.graph import Node
from scaly_ir.text.locations import Locations
from scaly_ir.text.source import Source, Span
from scaly_ir.types import FLOAT64
from tests.dialects.prog.generators import fragments, programs
from tests.dialects.prog.texts import ODD_TOKENS, mistaken, relaid

ROOTS = st.one_of(programs(), programs(), fragments())
REGISTERED = st.one_of(programs(registered=True), fragments(registered=True))
SEEDS = st.integers(0, 1 << 32)


def _spans(locations: Locations) -> list[tuple[int, int]]:
    spans = [locations.statement(number) for number in range(len(locations.starts))]
    return [(span.start, span.end) for span in spans]


def read_by_grammar(source: Source) -> tuple[Node | None, list[tuple[int, int]]]:
    root, assembler, diagnostics = syntax.read(source)
    assert (root is None) == bool(diagnostics)
    return root, _spans(Locations(source, assembler.starts, assembler.ends, False, spans_of))


def read_fast(source: Source) -> tuple[Node, list[tuple[int, int]]] | None:
    found = reader.read(source.text)
    if found is None:
        return None
    root, assembler = found
    return root, _spans(Locations(source, assembler.starts, assembler.ends, True, spans_of))


def assert_readers_agree(text: str) -> bool:
    """Check that the fast reader gives what the grammar gives, or gives up; tell whether it took the text."""
    source = Source.from_text(text)
    fast = read_fast(source)
    if fast is not None:
        root, spans = read_by_grammar(source)
        assert root is not None, f"the fast reader takes what the grammar rejects: {text!r}"
        assert fast[0] is root, f"two meanings of {text!r}:\n{render(fast[0])}\n{render(root)}"
        assert fast[1] == spans, f"two places of a statement in {text!r}"
    return fast is not None


# --- the round trip ---------------------------------------------------------------------------------------------------


@given(ROOTS | REGISTERED)
def test_text_reads_back_to_the_same_object(root: Node) -> None:
    text = sc.render(root)
    note(text)
    assert sc.parse(text) is root
    assert sc.render(sc.parse(text)) == text


@given(ROOTS | REGISTERED, SEEDS)
def test_layout_and_spelling_do_not_matter(root: Node, seed: int) -> None:
    text = relaid(sc.render(root), Random(seed))
    note(text)
    assert sc.parse(text) is root


@given(ROOTS)
def test_each_line_is_one_statement_with_its_range(root: Node) -> None:
    source = Source.from_text(sc.render(root))
    lines = [line.strip() for line in source.text.splitlines() if line.strip() != "}"]
    for reading in (read_fast(source), read_by_grammar(source)):
        assert reading is not None
        assert [source.text[start:end] for start, end in reading[1]] == lines


@given(programs())
def test_elided_tables_read_but_do_not_verify(root: Node) -> None:
    text = render(root, elide=0)
    if text == sc.render(root):
        return
    assert "dense<elided<" in text
    read = sc.parse(text)
    assert render(read) == text
    with pytest.raises(sc.VerifyError, match=r"\(?table-elided"):
        sc.verify(read)


def test_every_form_of_file_keeps_its_form() -> None:
    proc = "prog.proc @f() {\n}\n"
    for text in ("", proc, proc + "prog.proc @g() {\n}\n", "prog.module {\n}\n", "%x = prog.assign 1 : bool\n"):
        assert sc.render(sc.parse(text)) == text


@pytest.mark.parametrize("depth", [3_000, 20_000])
def test_deep_scalars_make_the_round_trip(depth: int) -> None:
    value = build.load(build.view("x", 0, FLOAT64))
    literals = build.const(0.5, FLOAT64)
    for _ in range(depth):
        value = build.apply("add", value, build.const(1.5, FLOAT64))
        literals = build.apply("mul", build.const(3.0, FLOAT64), literals)
    out = build.param("y", 4)
    body = [build.store(build.view(out, 0), value), build.store(build.view(out, 1), literals)]
    root = build.program([build.proc("f", [build.param("x", 4), out], body, {"input_count": 1})])
    sc.verify(root)
    assert sc.parse(sc.render(root)) is root


def test_a_nest_of_loops_makes_the_round_trip() -> None:
    out = build.param("y", 4)
    body = build.store(build.view(out, 0), build.const(1, FLOAT64))
    for level in range(1000):
        body = build.for_(build.range_(f"i{level}", 0, 1), [body])
    root = build.program([build.proc("f", [out], [body])])
    sc.verify(root)
    assert sc.parse(sc.render(root)) is root
    assert assert_readers_agree(sc.render(root))


# --- two readers, one language ----------------------------------------------------------------------------------------


@given(ROOTS, SEEDS)
def test_the_fast_reader_takes_what_is_printed(root: Node, seed: int) -> None:
    assert assert_readers_agree(sc.render(root))
    assert assert_readers_agree(relaid(sc.render(root), Random(seed)))


@given(ROOTS, SEEDS)
def test_the_fast_reader_works_in_parts_of_any_size(root: Node, seed: int) -> None:
    text = relaid(sc.render(root), Random(seed))
    with mock.patch.object(reader, "_FIRST_CHUNK", 1 + seed % 40):
        assert_readers_agree(text)
        assert assert_readers_agree(sc.render(root))


@given(REGISTERED, SEEDS)
def test_readers_agree_on_registered_operators(root: Node, seed: int) -> None:
    assert_readers_agree(sc.render(root))
    assert_readers_agree(relaid(sc.render(root), Random(seed)))


@given(ROOTS, SEEDS)
def test_readers_agree_on_mistakes(root: Node, seed: int) -> None:
    random = Random(seed)
    text = sc.render(root)
    if random.random() < 0.3:
        text = relaid(text, random)
    for _ in range(10):
        assert_readers_agree(mistaken(text, random))


_FRAMES = (
    "{}",
    "%x = {}",
    "{} = prog.assign 1 : float64\nprog.call @f()",
    "{} = prog.buffer : memref<4xfloat64>\nprog.call @f()",
    "%x = prog.assign {} : float64 {{declare=True}}",
    "%x = prog.assign {} : int64",
    "%x = prog.assign {} : bool",
    "%x = prog.assign prog.add(%x, {}) : float32",
    "%x = prog.assign prog.cast({}, int64) : int64",
    "%x = prog.assign 1 : {}",
    "%x = prog.assign 1 : float64 {}",
    "%x = prog.buffer : {}",
    "%x = prog.buffer : memref<1xfloat64, constant> = {}",
    "%x = prog.buffer : memref<1xfloat64, constant> = dense<[{}]>",
    "%x = prog.buffer : memref<2xfloat64, constant> = dense<[1, {}]>",
    "%x = prog.buffer : memref<1xfloat32, constant> = dense<[{}]>",
    "%x = prog.buffer : memref<1xint64, constant> = dense<[{}]>",
    "%x = prog.buffer : memref<1xbool, constant> = dense<[{}]>",
    "%x = prog.buffer : memref<1xfloat64> = dense<elided<{}>>",
    "%x = prog.buffer : memref<1xfloat64> = prog.alias {} offset 1",
    "%x = prog.buffer : memref<1xfloat64> = prog.alias %y offset {}",
    "%x = prog.buffer : memref<1xfloat64> = prog.workspace offset {}",
    "%x = prog.buffer : memref<1xfloat64> {} prog.workspace offset 1",
    "prog.store {}, %y[0] : float64",
    "prog.store 1, {} : float64",
    "prog.store 1, %y[{}] : float64",
    "prog.store prog.load {}, %y[0] : float64",
    "prog.store prog.load {}[0], %y[0] : float64",
    "prog.store prog.const({}, float64), %y[0] : float64",
    "prog.store prog.const({}, int64), %y[0] : int64",
    "prog.store prog.const(1, {}), %y[0] : float64",
    "prog.store_pair {}, 1, %y[0] : float64",
    "prog.call {}(%x)",
    "prog.call @f({})",
    "prog.call @f(%x[{}], %y)",
    "prog.call @f() {}",
    "prog.call @f() {{n_in={}, n_out=0}}",
    "prog.for {} = 0 to 1 step 1 {{kind=serial}} {{}}",
    "prog.for %i = {} to 1 step 1 {{kind=serial}} {{}}",
    "prog.for %i = 0 to 1 step 1 {{kind={}}} {{}}",
    "prog.for %i = 0 to 1 step 1 {} {{}}",
    "prog.for %i = 0 to 1 step 1 {{kind=serial}} {}",
    "prog.for %i = 0 to 1 step 1 {{kind=serial}} {{ {} }}",
    "prog.proc {}() {{}}",
    "prog.proc @f({}) {{}}",
    "prog.proc @f({}: memref<1xbool>, %y: memref<1xbool>) {{}}",
    "prog.proc @f(%x: {}) {{}}",
    "prog.proc @f() {}",
    "prog.proc @f() {} {{}}",
    "prog.proc @f() {{lowering={}}} {{}}",
    "prog.proc @f() {{{}=1}} {{}}",
    "prog.module {} {{}}",
    "prog.module {{lanes={}}} {{}}",
    "prog.module {{ {} }}",
    "prog.module {{}} {}",
)


@pytest.mark.parametrize("frame", _FRAMES)
def test_readers_agree_on_odd_tokens_in_each_place(frame: str) -> None:
    for token in ODD_TOKENS:
        assert_readers_agree(frame.format(token))
        assert_readers_agree(frame.format(token).replace("{}", "").replace(" ", ""))


@given(st.lists(st.sampled_from(ODD_TOKENS), max_size=8), st.sampled_from(" \n"))
@example([], " ")
def test_readers_agree_on_any_tokens(tokens: list[str], between: str) -> None:
    assert_readers_agree(between.join(tokens))


def test_threads_may_read_at_the_same_time() -> None:
    texts = [f"prog.call @f{number}(%x[prog.add({number}, 1)])\n" for number in range(20)]
    roots = [sc.parse(text) for text in texts]
    failures: list[str] = []

    def work(first: int) -> None:
        for step in range(40):
            number = (first + 3 * step) % len(texts)
            try:
                assert_readers_agree(texts[number])
                assert read_by_grammar(Source.from_text(texts[number]))[0] is roots[number]
            except Exception as failure:
                failures.append(repr(failure))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_a_quoted_name_is_not_the_name_with_quotes_in_it() -> None:
    declared = '%"\\"x\\"" = prog.assign 1 : float64 {declare=True}\n%x = prog.assign 2 : float64 {declare=True}\n'
    text = declared + '%y = prog.assign prog.sin(%"x") : float64 {declare=True}\n'
    assert sc.render(sc.parse(text)) == declared + "%y = prog.assign prog.sin(%x) : float64 {declare=True}\n"
    assert_readers_agree(text)


def test_a_statement_that_does_not_exist_has_an_empty_range() -> None:
    source = Source.from_text("prog.call @f()\n")
    locations = Locations(source, [0], [14], False, spans_of)
    assert locations.statement(0) == Span(source, 0, 14)
    assert locations.statement(-1) == locations.statement(1) == Span(source, 0, 0)
