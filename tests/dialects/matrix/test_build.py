"""Builders make the nodes that the attributes they are given ask for, however quickly they find these."""

from __future__ import annotations

from scaly_ir.attributes import Attrs, Word
from scaly_ir.dialects.affine import build as affine
from scaly_ir.dialects.buffer import build, ops
from scaly_ir.dialects.buffer.types import INDEX
from scaly_ir.graph import Node
from scaly_ir.types import FLOAT64, INT64


def _loop(**options: object) -> Node:
    return affine.for_("i", affine.index(0), affine.index(4), [], **options)  # type: ignore[arg-type]


def test_loops_of_values_that_are_equal_in_python() -> None:
    assert _loop(step=True) is not _loop(step=1)
    assert _loop(step=True).attrs["step"] is True
    assert type(_loop(step=1).attrs["step"]) is int
    assert _loop(step=1).attrs.key == Attrs({"step": 1, "kind": Word("serial")}).key


def test_loops_that_carry_values() -> None:
    carried = [affine.Carried("a", affine.index(0), "r"), affine.Carried("b", build.undef(FLOAT64), "s")]
    held = _loop(kind="reduce", carried=carried).attrs
    expected = {"kind": Word("reduce"), "results": ("r", "s"), "step": 1, "types": (INT64, FLOAT64)}
    assert (held.key, dict(held)) == (Attrs(expected).key, expected)


def test_statements_with_and_without_names() -> None:
    plain = build.statement(ops.READ, (), FLOAT64)
    named = build.statement(ops.READ, (), FLOAT64, ["x"])
    assert (dict(plain.attrs), named.attrs.key) == ({}, Attrs({"results": ("x",)}).key)
    assert build.statement(ops.READ, (), FLOAT64, ("y",), named.attrs).attrs.key == Attrs({"results": ("y",)}).key
    assert build.statement(ops.READ, (), FLOAT64, (), {"a": [1]}).attrs.key == Attrs({"a": (1,)}).key


def test_regions_say_how_many_parameters_they_have() -> None:
    params = [build.declaration(name, INDEX) for name in "ab"]
    assert [dict(build.region(params[:count], []).attrs) for count in range(3)] == [
        {"param_count": 0},
        {"param_count": 1},
        {"param_count": 2},
    ]
