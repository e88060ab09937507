"""Folding keeps what programs mean, up to the identities of real numbers, and leaves nothing to fold (lowering
specification 3.8).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import event, given, reject

import scaly_ir as sc
from scaly_ir.dialects.prog import build, ops
from scaly_ir.graph import Node, preorder
from scaly_ir.op import CallEffectKind, Op, registry_scope
from scaly_ir.passes.prog import tables
from scaly_ir.passes.prog.fold_arith import FoldArith
from scaly_ir.types import FLOAT64, INT64
from tests.counting import calls_of
from tests.passes.prog.evaluator import EvaluationError, Result, run
from tests.passes.prog.golden_files import programs_of
from tests.passes.prog.meaning import keeps_meaning
from tests.passes.prog.programs import inputs_of, modules
from tests.passes.prog.table_programs import entry_modules, table_modules

MEANINGLESS = ("keep_out_of_range", "keep_what_has_no_value", "keep_fill_passed_on", "fold_beside_dead_step")
"""Golden files that cannot be run, or divide by zero."""

fold = FoldArith().run


def _close(before: Result, after: Result) -> None:
    """Check that outputs agree where they are finite before: other numbers may not survive an identity."""
    for name, values in before.outputs.items():
        usual = np.isfinite(np.asarray(values, float))
        np.testing.assert_allclose(after.outputs[name][usual], values[usual], rtol=1e-9, atol=1e-12)


def _tables(module: Node) -> list[tuple[float, ...]]:
    declared = [node for procedure in module.args for node in procedure.args if node.op is ops.BUFFER]
    return [node.attrs["values"] for node in declared if "values" in node.attrs]


# --- every program ----------------------------------------------------------------------------------------------------


@given(modules())
def test_programs_mean_the_same(module: Node) -> None:
    folded = keeps_meaning(module, fold, compare=_close)
    assert fold(folded) is folded


@given(table_modules())
def test_programs_with_tables_mean_the_same(module: Node) -> None:
    folded = keeps_meaning(module, fold, compare=_close)
    assert fold(folded) is folded
    event(f"fewer tables and buffers: {len(folded.args[-1].args) < len(module.args[-1].args)}")


@given(entry_modules())
def test_programs_with_arithmetic_on_entries_mean_the_same(module: Node) -> None:
    try:
        run(module, inputs_of(module, 3))
    except EvaluationError:  # division by zero
        reject()
    folded = keeps_meaning(module, fold, integer=3)
    assert fold(folded) is folded
    event(f"new tables: {len(set(_tables(folded)) - set(_tables(module)))}")


@pytest.mark.parametrize(
    "path", programs_of("fold_arith") + programs_of("fold_arith_after_unroll"), ids=lambda path: path.stem
)
def test_golden_files(path: Path) -> None:
    module = sc.parse(path.read_text(encoding="utf-8"), path.name)
    folded = fold(module) if path.stem in MEANINGLESS else keeps_meaning(module, fold, compare=_close, integer=1)
    assert fold(folded) is folded
    assert (folded is module) == path.stem.startswith("keep_")


# --- each rule --------------------------------------------------------------------------------------------------------


def _folded(body: str, params: str = "%x: memref<4xfloat64>, %y: memref<4xfloat64>") -> list[str]:
    """Return the lines of the body of @f after folding."""
    module = sc.parse(f"prog.proc @f({params}) {{input_count=1}} {{ {body} }}")
    sc.verify(module)
    folded = fold(module)
    sc.verify(folded)
    assert fold(folded) is folded
    lines: list[str] = sc.render(folded).splitlines()
    return [line.strip() for line in lines[1:-1]]


X, Y = "prog.load %x[0]", "prog.load %x[1]"


@pytest.mark.parametrize(
    ("value", "result"),
    [
        (f"prog.add({X}, {X})", f"prog.mul(2, {X})"),
        (f"prog.add(0, {X})", X),
        (f"prog.add({X}, prog.neg({Y}))", f"prog.sub({X}, {Y})"),
        (f"prog.sub({X}, {X})", "0"),
        (f"prog.sub(-0.0, {Y})", f"prog.neg({Y})"),
        (f"prog.mul({X}, 0)", "0"),
        (f"prog.mul(-1, {X})", f"prog.neg({X})"),
        (f"prog.mul(prog.neg({X}), {Y})", f"prog.neg(prog.mul({X}, {Y}))"),
        (f"prog.div({X}, {X})", "1"),
        (f"prog.div({X}, prog.neg({Y}))", f"prog.neg(prog.div({X}, {Y}))"),
        (f"prog.neg(prog.neg({X}))", X),
        (f"prog.pow({X}, 2)", f"prog.mul({X}, {X})"),
        (f"prog.select(prog.lt({X}, {Y}), {X}, {X})", X),
        ("prog.mul(inf, 0)", "prog.mul(inf, 0)"),
        ("prog.sqrt(-1)", "prog.sqrt(-1)"),
        ("prog.exp(1000)", "prog.exp(1000)"),
    ],
)
def test_identities(value: str, result: str) -> None:
    assert _folded(f"prog.store {value}, %y[0] : float64") == [f"prog.store {result}, %y[0] : float64"]


def test_entries_keep_their_bits() -> None:
    declared = "%k = prog.buffer : memref<4xfloat64, constant> = dense<[-0.0, nan<0xfff8000000000123>, inf, 0.1]>\n"
    stores = "\n".join([f"prog.store prog.load %k[{n}], %y[{n}] : float64" for n in range(4)])
    assert [line.split()[1] for line in _folded(declared + stores)] == [
        "-0.0,",
        "nan<0xfff8000000000123>,",
        "inf,",
        "0.1,",
    ]


def test_a_fill_keeps_its_bits() -> None:
    filled = "%t = prog.buffer : memref<1xfloat64, private> prog.store {}, %t[0] : float64\n"
    use = "prog.store prog.load %t[0], %y[0] : float64"
    for number in ("-0.0", "nan<0x7ff8000000000001>", "-inf"):
        assert _folded(filled.format(number) + use) == [f"prog.store {number}, %y[0] : float64"]


@pytest.mark.parametrize(
    ("body", "kept"),
    [
        ("prog.store 1, %t[0] : int64", False),
        ("prog.for %i = 0 to 1 step 3 {kind=serial} { prog.store 1, %t[%i] : int64 }", False),
        ("prog.for %i = 0 to 1 step 1 {kind=serial} { prog.store 1, %t[0] : int64 }", True),
        ("prog.for %i = 0 to 1 step 1 {kind=serial} { prog.store %i, %t[%i] : int64 }", True),
        ("prog.for %i = 0 to %n step 1 {kind=serial} { prog.store 1, %t[%i] : int64 }", True),
        ("prog.store 1, %t[%n] : int64", True),
        ("prog.store 1, %t[0] : int64 prog.store 1, %t[0] : int64", True),
        ("prog.for %j = 0 to 3 step 1 {kind=serial} { prog.store 1, %t[0] : int64 }", True),
        (
            "prog.store 1, %t[0] : int64 prog.for %j = 0 to %n step 1 {kind=serial} { prog.store 2, %t[0] : int64 }",
            True,
        ),
    ],
)
def test_what_counts_as_a_fill(body: str, kept: bool) -> None:
    declared = "%t = prog.buffer : memref<1xint64, private> %n = prog.assign prog.load %x[0] : int64 {declare=True}\n"
    use = "\nprog.store prog.load %t[0], %y[0] : int64"
    lines = _folded(declared + body + use, "%x: memref<1xint64>, %y: memref<1xint64>")
    assert ("prog.store 1, %y[0] : int64" not in lines) == kept
    assert any(["%t = prog.buffer" in line for line in lines]) == kept


def test_a_fill_that_dead_code_reads_stays() -> None:
    dead = "prog.for %i = 0 to 0 step 1 {kind=serial} { prog.store prog.load %t[%i], %y[%i] : float64 }\n"
    filled = "%t = prog.buffer : memref<1xfloat64, private>\n" + dead + "prog.store 1, %t[0] : float64\n"
    lines = _folded(filled + "prog.store prog.load %t[0], %y[0] : float64")
    assert lines[-2:] == ["prog.store 1, %t[0] : float64", "prog.store 1, %y[0] : float64"]


@pytest.mark.parametrize("entries", ["-1, 0, 1", "0, 1, 3"])
def test_entries_that_are_no_places_are_not_picked(entries: str) -> None:
    indices = f"%k0 = prog.buffer : memref<3xint64, constant> = dense<[{entries}]>"
    values = "%k1 = prog.buffer : memref<3xfloat64, constant> = dense<[0.5, 1.5, 2.5]>"
    store = "prog.store prog.load %k1[prog.load %k0[%i]], %y[%i] : float64"
    loop = f"prog.for %i = 1 to 2 step 1 {{kind=global}} {{ {store} }}"
    assert _folded(f"{indices}\n{values}\n{loop}")[:2] == [indices, values]


def test_empty_tables_have_no_entries() -> None:
    indices = "%k0 = prog.buffer : memref<0xint64, constant> = dense<[]>"
    values = "%k1 = prog.buffer : memref<3xfloat64, constant> = dense<[0.5, 1.5, 2.5]>"
    index = "prog.load %k0[%i]"
    store = f"prog.store prog.load %k1[{index}], %y[prog.mod({index}, 2)] : float64"
    loop = f"prog.for %i = 0 to 0 step 1 {{kind=global}} {{ {store} }}"
    assert _folded(f"{indices}\n{values}\n{loop}")[:2] == [indices, values]


def test_new_tables_have_names_that_are_free() -> None:
    declared = "%k0 = prog.buffer : memref<2xint64, constant> = dense<[2, 5]>\n"
    loop = "prog.for %k1 = 0 to 2 step 1 {kind=global} { prog.store 1, %y[prog.div(prog.load %k0[%k1], 2)] : float64 }"
    lines = _folded(declared + loop)
    assert lines[0] == "%k2 = prog.buffer : memref<2xint64, constant> = dense<[1, 2]>"
    assert lines[2] == "prog.store 1, %y[prog.load %k2[%k1]] : float64"


def _arithmetic(length: int, divisions: int) -> Node:
    """Return a procedure with that many different quotients of entries of one table."""
    y = build.param("y", length, INT64)
    table = build.table("k0", [n + 2 for n in range(length)], INT64)
    at = build.var("i")
    entry = build.load(build.view(table, at))
    values = [build.apply("div", entry, build.index(n + 2)) for n in range(divisions)]
    loop = build.for_(build.range_("i", 0, length), [build.store(build.view(y, at), value) for value in values])
    return build.program([build.proc("f", [y], [table, loop], {"input_count": 0})])


def test_tables_do_not_grow_without_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "MOST_ENTRIES", 100)
    for divisions, made in ((8, 8), (9, 9), (12, 9)):  # the table that is divided has ten entries as well
        module = _arithmetic(10, divisions)
        folded = keeps_meaning(module, fold)
        assert fold(folded) is folded
        assert len(set(_tables(folded)) - set(_tables(module))) == made
    assert len(_tables(fold(_arithmetic(101, 1)))) == 1


@pytest.mark.parametrize(("terms", "composed"), [(tables.LARGEST // 2 - 2, True), (tables.LARGEST // 2 - 1, False)])
def test_large_expressions_are_not_evaluated(terms: int, composed: bool) -> None:
    y, table = build.param("y", 2, INT64), build.table("k0", [1, 2], INT64)
    at = build.var("i")
    entry = build.load(build.view(table, at))
    value = build.apply("mod", build.apply("add", entry, build.index(1)), entry)
    for _ in range(terms - 1):
        value = build.apply("minimum", value, entry)
    loop = build.for_(build.range_("i", 0, 2), [build.store(build.view(y, at), value)])
    folded = fold(build.program([build.proc("f", [y], [table, loop], {"input_count": 0})]))
    (result,) = folded.args[0].args[-1].args[1].args[1:]
    assert (result.op is ops.LOAD) == composed


# --- operators that do more than compute ------------------------------------------------------------------------------


@pytest.fixture
def effects() -> Iterator[None]:
    """Register `test.update`, which does not say what it does, and `test.state`, which reads."""
    with registry_scope():
        for name in ("update", "state"):
            op = Op.register(f"test.{name}")
            op.set_signature(("x",))
            op.set_attr("TFixedReturnType", "int64")
        Op.get("test.state").set_attr("TCallEffectKind", CallEffectKind.ReadState)
        yield


@pytest.mark.usefixtures("effects")
@pytest.mark.parametrize(("name", "kept"), [("update", True), ("state", False)])
def test_an_index_that_may_do_more_than_read_is_evaluated(name: str, kept: bool) -> None:
    index = f"test.{name}(prog.const(1, int64))"
    uniform = "%k = prog.buffer : memref<4xfloat64, constant> = dense<[1.5, 1.5, 1.5, 1.5]>\n"
    filled = "%t = prog.buffer : memref<1xfloat64, private> prog.store 1, %t[0] : float64\n"
    entries = "%n = prog.buffer : memref<2xint64, constant> = dense<[3, 5]>\n"
    for declared, read in ((uniform, f"prog.load %k[{index}]"), (filled, f"prog.load %t[{index}]")):
        assert (index in _folded(f"{declared} prog.store {read}, %y[0] : float64")[-1]) == kept
    twice = f"prog.add(prog.mod(prog.load %n[{index}], 2), prog.load %n[{index}])"
    (line,) = [line for line in _folded(f"{entries} prog.store 1, %y[{twice}] : float64") if "store" in line]
    assert line.count(index) == (2 if kept else 1)


# --- large programs ---------------------------------------------------------------------------------------------------


def _chain_of_fills(count: int) -> Node:
    """Return a procedure of temporaries of which each is filled with twice what the one before holds."""
    y, at = build.param("y", 4), build.var("i")
    body: list[Node] = []
    value = build.const(1.0, FLOAT64)
    for number in range(count):
        buffer = build.buffer(f"t{number}", 4)
        store = build.store(build.view(buffer, at), value)
        body += [buffer, build.for_(build.range_("i", 0, 4), [store])]
        value = build.apply("sub", build.load(build.view(buffer, at)), build.const(0.5, FLOAT64))
    body.append(build.for_(build.range_("i", 0, 4), [build.store(build.view(y, at), value)]))
    return build.program([build.proc("f", [y], body, {"input_count": 0})])


def test_the_work_is_linear_in_the_length_of_a_chain_of_fills() -> None:
    small, large = _chain_of_fills(300), _chain_of_fills(600)
    assert len(build.body_of(fold(large).args[0])) == 1
    short, long = calls_of(lambda: fold(small)), calls_of(lambda: fold(large))
    assert 1.9 < long / short < 2.1


def test_the_work_is_linear_in_the_number_of_tables() -> None:
    small, large = _arithmetic(4, 300), _arithmetic(4, 600)
    short, long = calls_of(lambda: fold(small)), calls_of(lambda: fold(large))
    assert 1.9 < long / short < 2.1


def test_a_deep_expression_and_a_deep_nest() -> None:
    y, at = build.param("y", 1), build.var("i0")
    value = build.load(build.view(y, build.index(0)))
    for _ in range(20_000):
        value = build.apply("add", build.apply("mul", value, build.const(1.0, FLOAT64)), build.const(0.5, FLOAT64))
    nest = build.store(build.view(y, build.apply("mul", at, build.index(0))), value)
    for level in reversed(range(1_000)):
        nest = build.for_(build.range_(f"i{level}", 0, 2), [nest])
    folded = fold(build.program([build.proc("f", [y], [nest])]))
    sc.verify(folded)
    (store,) = [node for node in preorder(folded) if node.op is ops.STORE]
    assert store.args[0] is build.view(y, 0)
    assert "prog.mul" not in {node.op.name for node in preorder(store)}


def test_nested_reads_of_tables() -> None:
    y, at = build.param("y", 2, INT64), build.var("i")
    table = build.table("k0", [1, 0], INT64)
    value = at
    for _ in range(5_000):
        value = build.load(build.view(table, value))
    loop = build.for_(build.range_("i", 0, 2), [build.store(build.view(y, at), value)])
    folded = fold(build.program([build.proc("f", [y], [table, loop], {"input_count": 0})]))
    sc.verify(folded)
    assert _tables(folded) == [(0, 1)]
