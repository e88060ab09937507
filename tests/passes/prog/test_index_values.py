"""Values of indices over constant loops agree with those the program computes, or are not known."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from scaly_ir.attributes import NO_ATTRS
from scaly_ir.dialects.prog import build
from scaly_ir.graph import Node, intern_node
from scaly_ir.op import CallEffectKind, Op, registry_scope
from scaly_ir.passes.prog.index_values import MOST_LOOPS, MOST_TRIPS, index_values, loop_arrays, tables_of
from scaly_ir.types import FLOAT64, INT64

ROW, COLUMN = build.var("i"), build.var("j")
NEST = [build.range_("i", 0, 3), build.range_("j", 1, 9, 2)]


def _at(index: Node, tables: dict[str, list[int]] | None = None) -> list[int] | None:
    arrays = loop_arrays(NEST)
    assert arrays is not None
    found = index_values(index, arrays, {name: np.array(values) for name, values in (tables or {}).items()})
    return None if found is None else np.broadcast_to(found, (3, 4)).reshape(-1).tolist()


def test_arithmetic() -> None:
    trips = list(itertools.product(range(3), range(1, 9, 2)))
    assert _at(build.apply("add", build.apply("mul", ROW, build.index(4)), COLUMN)) == [4 * i + j for i, j in trips]
    assert _at(build.apply("mod", COLUMN, build.index(4))) == [j % 4 for _, j in trips]
    assert _at(build.apply("sub", build.index(-1), ROW)) == [-1 - i for i, _ in trips]
    assert _at(build.index(7)) == [7] * 12


def test_tables_in_range() -> None:
    read = build.load(build.view("k", ROW, INT64))
    assert _at(read, {"k": [5, 7, 1]}) == [5] * 4 + [7] * 4 + [1] * 4
    assert _at(read, {"k": [5, 7]}) is None
    assert _at(build.load(build.view("k", build.apply("neg", ROW), INT64)), {"k": [5, 7, 1]}) is None


@pytest.mark.parametrize(
    "index",
    [
        build.apply("div", build.apply("sub", ROW, build.index(1)), build.index(2)),
        build.apply("mod", COLUMN, build.apply("sub", ROW, build.index(1))),
        build.apply("div", COLUMN, ROW),
        build.load(build.view("m", ROW, INT64)),
        build.var("elsewhere"),
        build.cast(build.load(build.view("x", ROW, FLOAT64)), INT64),
    ],
)
def test_not_known(index: Node) -> None:
    assert _at(index) is None


def test_loops_without_known_values() -> None:
    assert loop_arrays([build.range_("i", 0, build.var("n"))]) is None
    assert loop_arrays([build.range_("i", 0, MOST_TRIPS + 1)]) is None
    assert loop_arrays([build.range_("i", 0, 2), build.range_("j", 0, MOST_TRIPS)]) is None
    assert loop_arrays([build.range_("i", 0, MOST_TRIPS + 1), build.range_("j", 0, 0)]) is None
    assert loop_arrays([build.range_(f"i{number}", 0, 1) for number in range(MOST_LOOPS + 1)]) is None
    assert loop_arrays([build.range_(f"i{number}", 0, 1) for number in range(MOST_LOOPS)]) is not None
    empty = loop_arrays([build.range_("i", 0, MOST_TRIPS), build.range_("j", 0, 0)])
    assert empty is not None
    assert empty["j"].shape == (1, 0)


def test_integer_tables_alone() -> None:
    declarations = [build.table("k", [1, 2], INT64), build.table("f", [0.5], FLOAT64), build.buffer("t", 3)]
    found = tables_of(declarations)
    assert {name: values.tolist() for name, values in found.items()} == {"k": [1, 2]}


@pytest.mark.parametrize(
    ("effect", "values"),
    [(CallEffectKind.Pure, [2] * 4 + [3] * 4 + [4] * 4), (CallEffectKind.ReadState, None), (None, None)],
)
def test_operators_that_do_more_than_compute(effect: CallEffectKind | None, values: list[int] | None) -> None:
    with registry_scope():
        op = Op.register("test.next")
        op.set_signature(("x",))
        op.set_attr("TFixedReturnType", "int64")
        op.set_attr("FNumpy", lambda x: x + 2)
        if effect is not None:
            op.set_attr("TCallEffectKind", effect)
        assert _at(intern_node(op, (ROW,), NO_ATTRS, INT64)) == values
