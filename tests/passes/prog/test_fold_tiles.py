"""One period of a table is as good as the table, to the bit (lowering specification 3.3)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from hypothesis import event, given
from hypothesis import strategies as st

import scaly_ir as sc
from scaly_ir.dialects.prog import build, ops
from scaly_ir.graph import Node
from scaly_ir.op import Op, registry_scope
from scaly_ir.passes.prog.fold_tiles import FoldTiles
from scaly_ir.text.spelling import float_bits, float_from_bits
from scaly_ir.types import BOOL, FLOAT32, FLOAT64, INT32, INT64, DType, int_range
from tests.counting import calls_of
from tests.passes.prog.golden_files import programs_of
from tests.passes.prog.meaning import keeps_meaning
from tests.passes.prog.programs import modules
from tests.test_seeds import SEEDS, listings

fold = FoldTiles().run


def _is_table(node: Node) -> bool:
    return node.op is ops.BUFFER and "values" in node.attrs


def _tables(module: Node) -> list[tuple[float, ...]]:
    return [node.attrs["values"] for procedure in module.args for node in procedure.args if _is_table(node)]


# --- every program ----------------------------------------------------------------------------------------------------


def _copy(values: list[float], dtype: DType) -> Node:
    """Return a procedure that copies a table."""
    table, y = build.table("k0", values, dtype), build.param("y", len(values), dtype)
    at = build.var("i")
    store = build.store(build.view(y, at), build.load(build.view(table, at)))
    loop = build.for_(build.range_("i", 0, len(values)), [store])
    return build.program([build.proc("f", [y], [table, loop], {"input_count": 0})])


SPECIAL: Final[dict[DType, list[float]]] = {
    FLOAT64: [0.0, -0.0, math.inf, 1.5, float_from_bits(0x7FF8000000000001, FLOAT64), math.nan],
    FLOAT32: [0.0, -0.0, -math.inf, 0.5, float_from_bits(0x7FC00001, FLOAT32), math.nan],
    INT64: [0, 1, 2**53, 2**53 + 1, int_range(INT64)[-1]],
    INT32: [0, 1, -1, int_range(INT32)[0]],
    BOOL: [0, 1],
}


def _bits(values: tuple[float, ...], dtype: DType) -> list[int]:
    return [float_bits(value, dtype) if dtype.is_float else int(value) for value in values]


@given(st.data(), st.sampled_from(list(SPECIAL)), st.integers(1, 4), st.integers(1, 4))
def test_the_smallest_period_is_kept(data: st.DataObject, dtype: DType, length: int, repeats: int) -> None:
    tile = data.draw(st.lists(st.sampled_from(SPECIAL[dtype]), min_size=length, max_size=length))
    values = tile * repeats
    if data.draw(st.booleans()):
        values[data.draw(st.integers(0, len(values) - 1))] = data.draw(st.sampled_from(SPECIAL[dtype]))
    module = _copy(values, dtype)
    folded = fold(module)
    sc.verify(folded)
    assert fold(folded) is folded
    bits = _bits(tuple(values), dtype)
    periods = [n for n in range(1, len(bits) // 2 + 1) if len(bits) % n == 0 and bits == bits[:n] * (len(bits) // n)]
    if not periods:
        assert folded is module
        return
    kept = [_bits(table, dtype) for table in _tables(folded)]
    plain = periods[0] == 1 and math.isfinite(values[0]) and str(values[0]) != "-0.0"
    if plain:
        assert not kept
        (value,) = [node.attrs["value"] for node in folded.args[0].args[-1].args[1].args[1:]]
        assert _bits((value,), dtype) == bits[:1]
    else:
        assert kept == [bits[: periods[0]]]
    keeps_meaning(module, fold)


@st.composite
def with_tables(draw: st.DrawFn) -> Node:
    """Draw a random module in whose procedures some loads read tables with a period instead."""
    module = draw(modules())
    procedures = []
    for procedure in module.args:
        tile = draw(st.lists(st.sampled_from([0.5, 1.5, -0.0, 0.0]), min_size=1, max_size=3))
        table = build.table("tile", tile * draw(st.integers(2, 8)), FLOAT64)
        size = len(table.attrs["values"])
        params, body = build.params_of(procedure), build.body_of(procedure)
        outputs = [p for p in params if p.type is FLOAT64][-1:]
        loops = []
        for number, output in enumerate(outputs):
            at = build.var("tile_i")
            index = build.apply("mod", build.apply("mul", at, build.index(draw(st.integers(1, 5)))), build.index(size))
            where = build.view(output, at)
            value = build.apply("add", build.load(where), build.load(build.view(table, index)))
            loops.append(build.for_(build.range_("tile_i", 0, output.attrs["shape"][0]), [build.store(where, value)]))
            if draw(st.integers(0, 3)) == 0:
                loops.append(build.alias(f"tail{number}", table, 1, size - 1))
        header = {k: v for k, v in procedure.attrs.items() if k not in ("name", "param_count")}
        procedures.append(build.proc(procedure.attrs["name"], params, [table, *body, *loops], header))
    return build.program(procedures)


@given(with_tables())
def test_programs_mean_the_same(module: Node) -> None:
    folded = keeps_meaning(module, fold)
    assert fold(folded) is folded
    event(f"folded: {folded is not module}")


@pytest.mark.parametrize("path", programs_of("fold_tiles"), ids=lambda path: path.stem)
def test_golden_files(path: Path) -> None:
    module = sc.parse(path.read_text(encoding="utf-8"), path.name)
    folded = keeps_meaning(module, fold)
    assert fold(folded) is folded
    assert (folded is module) == path.stem.startswith("keep_")


# --- each condition ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "kept"),
    [
        ([0.0, -0.0] * 4, [(0.0, -0.0)]),
        ([-0.0] * 4, [(-0.0,)]),
        ([0.0] * 4, []),
        ([math.inf] * 2, [(math.inf,)]),
        ([2.0, 2.0], []),
        ([2.0], [(2.0,)]),
        ([1.0, 2.0, 1.0], [(1.0, 2.0, 1.0)]),
        ([1.0, 1.0, 2.0, 1.0, 1.0, 2.0], [(1.0, 1.0, 2.0)]),
        ([1.0, 2.0, 3.0, 1.0, 2.0, 3.0, 1.0, 2.0], [(1.0, 2.0, 3.0, 1.0, 2.0, 3.0, 1.0, 2.0)]),
    ],
)
def test_period(values: list[float], kept: list[tuple[float, ...]]) -> None:
    found = _tables(fold(_copy(values, FLOAT64)))
    assert [[float_bits(v, FLOAT64) for v in table] for table in found] == [
        [float_bits(v, FLOAT64) for v in table] for table in kept
    ]


def _folded(body: str, around: str = "{}") -> str:
    text = f"prog.proc @f(%x: memref<4xfloat64>, %y: memref<4xfloat64>) {{input_count=1}} {{ {body} }}"
    module = sc.parse(around.replace("{}", text))
    sc.verify(module)
    folded = fold(module)
    sc.verify(folded)
    assert fold(folded) is folded
    return str(sc.render(folded))


ZEROS = "%k = prog.buffer : memref<4xint64, constant> = dense<[0, 0, 0, 0]>\n"


def test_a_number_that_would_show_a_fault_is_not_written() -> None:
    dead = "prog.for %j = 0 to 4 step prog.load %k[0] {kind=serial} { prog.store 1, %y[%j] : float64 }"
    body = ZEROS + f"prog.for %i = 0 to prog.cast(prog.load %x[0], int64) step 1 {{kind=serial}} {{ {dead} }}"
    assert "dense<[0, 0, 0, 0]>" in _folded(body)


@pytest.fixture
def opaque() -> Iterator[None]:
    """Register `test.update`, which does not say what it does."""
    with registry_scope():
        op = Op.register("test.update")
        op.set_signature(("x",))
        op.set_attr("TFixedReturnType", "int64")
        yield


@pytest.mark.usefixtures("opaque")
def test_an_index_that_may_do_more_than_read_is_kept() -> None:
    text = _folded(ZEROS + "prog.store 1, %y[prog.load %k[test.update(prog.const(2, int64))]] : float64")
    assert "%y[prog.load %k[prog.mod(test.update(prog.const(2, int64)), 1)]]" in text


def test_names_are_those_of_one_procedure() -> None:
    other = """prog.proc @g(%x: memref<4xfloat64>, %y: memref<4xfloat64>) {input_count=1} {
      %k = prog.buffer : memref<4xint64, constant> = dense<[0, 1, 2, 3]>
      prog.store 1, %y[prog.load %k[2]] : float64 }"""
    text = _folded(ZEROS + "prog.store 1, %y[prog.load %k[2]] : float64", other + "{}")
    assert "%y[prog.load %k[2]]" in text
    assert "%y[0]" in text


if SEEDS.is_dir():

    def test_the_listing_of_the_lowering_page() -> None:
        before, after = [
            listing.text for listing in listings(SEEDS / "lowering_page.txt") if "dense<[1.0, 2.0, 3.0" in listing.text
        ]
        texts = []
        for text in (before, after):
            body = "".join([f"  {line}\n" for line in text.splitlines()])
            head = "prog.proc @scaled(%x: memref<12xfloat64>, %y: memref<12xfloat64>) {input_count=1} {\n"
            texts.append(f"{head}{body}}}\n")
        assert sc.render(fold(sc.parse(texts[0]))) == texts[1]


# --- large programs ---------------------------------------------------------------------------------------------------


def test_a_long_table_and_many_loads() -> None:
    module = _copy([1.0, 2.0] * 500_000, FLOAT64)
    assert _tables(fold(module)) == [(1.0, 2.0)]

    def many(count: int) -> Node:
        y = build.param("y", 4)
        tables = [build.table(f"k{n}", [1.0, 2.0] * 2) for n in range(count)]
        stores = [build.store(build.view(y, n % 4), build.load(build.view(tables[n], 3))) for n in range(count)]
        return build.program([build.proc("f", [y], [*tables, *stores], {"input_count": 0})])

    small, large = many(500), many(1_000)
    short, long = calls_of(lambda: fold(small)), calls_of(lambda: fold(large))
    assert 1.9 < long / short < 2.1
