"""Loops without divisions compute the same, in the same order (lowering specification 3.10)."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import scaly_ir as sc
from scaly_ir.dialects.prog import build
from scaly_ir.graph import Node, postorder
from scaly_ir.passes.prog.delinearize_loops import DelinearizeLoops
from scaly_ir.types import FLOAT64
from tests.passes.prog.golden_files import programs_of
from tests.passes.prog.meaning import keeps_meaning
from tests.passes.prog.programs import modules

split = DelinearizeLoops().run


def _divides(module: Node) -> bool:
    return any([node.op.name in ("prog.div", "prog.mod") for node in postorder(module)])


@given(modules())
def test_programs_mean_the_same(module: Node) -> None:
    after = keeps_meaning(module, split)
    assert split(after) is after


@pytest.mark.parametrize("path", programs_of("delinearize_loops"), ids=lambda path: path.stem)
def test_golden_files(path: Path) -> None:
    module = sc.parse(path.read_text(encoding="utf-8"), path.name)
    if path.stem == "keep_truncated_negative":  # it has no meaning: an index is negative
        assert split(module) is module
        return
    after = keeps_meaning(module, split, integer=4)
    assert (after is module) == path.stem.startswith("keep_")
    assert split(after) is after


def _flat(extents: list[int], step: int, pieces: list[tuple[int, list[int]]], kind: str) -> Node:
    """Return a procedure with one flat loop; each piece gives an offset and coefficients for the coordinates."""
    trips = 1
    for extent in extents:
        trips *= extent
    variable = build.apply("div", build.var("i"), build.index(step)) if step > 1 else build.var("i")
    loads = []
    for offset, coefficients in pieces:
        index, inner = build.index(offset), trips
        for extent, coefficient in zip(extents, coefficients, strict=True):
            inner //= extent
            coordinate = build.apply("mod", build.apply("div", variable, build.index(inner)), build.index(extent))
            index = build.apply("add", index, build.apply("mul", coordinate, build.index(coefficient)))
        loads.append(build.load(build.view("x", index, FLOAT64)))
    value = loads[0]
    for load in loads[1:]:
        value = build.apply("add", build.apply("mul", value, build.const(0.5, FLOAT64)), load)
    total = build.view("o", build.index(0), FLOAT64)
    target = total if kind == "reduce" else build.view("o", build.var("i"), FLOAT64)
    stored = build.apply("add", build.load(total), value) if kind == "reduce" else value
    loop = build.for_(build.range_("i", 0, trips * step, step, kind), [build.store(target, stored)])
    fill = build.for_(
        build.range_("z", 0, 200), [build.store(build.view("o", build.var("z"), FLOAT64), build.const(0, FLOAT64))]
    )
    return build.program(
        [build.proc("f", [build.param("x", 200), build.param("o", 200)], [fill, loop], {"input_count": 1})]
    )


@given(
    st.lists(st.integers(1, 4), min_size=2, max_size=3),
    st.integers(1, 3),
    st.lists(
        st.tuples(st.integers(0, 50), st.lists(st.integers(0, 12), min_size=3, max_size=3)), min_size=1, max_size=3
    ),
    st.sampled_from(["global", "reduce"]),
)
def test_coordinates_of_any_nest_are_found(
    extents: list[int], step: int, pieces: list[tuple[int, list[int]]], kind: str
) -> None:
    """Whatever is affine in the coordinates of a nest becomes a nest, or is affine in the flat variable already."""
    module = _flat(extents, step, [(offset, some[: len(extents)]) for offset, some in pieces], kind)
    after = keeps_meaning(module, split)
    if after is not module:
        assert not _divides(after)
        return
    assert _is_affine(extents, [some for _, some in pieces])


def _is_affine(extents: list[int], pieces: list[list[int]]) -> bool:
    """Tell whether each piece moves by one constant from trip to trip of the flat loop."""
    coordinates = list(itertools.product(*map(range, extents)))
    for piece in pieces:
        values = [sum([c * k for c, k in zip(piece, at, strict=False)]) for at in coordinates]
        if len({second - first for first, second in itertools.pairwise(values)}) > 1:
            return False
    return True


FAR = """
prog.proc @f(%n: memref<1xint64>, %x: memref<4xfloat64>, %o: memref<4xfloat64>) {input_count=2} {
  prog.for %j = 0 to prog.load %n[0] step 1 {kind=global} {
    prog.for %i = 0 to 4 step 1 {kind=global} {
      prog.store prog.load %x[prog.mul(prog.mod(%i, 2), 4611686018427387904)], %o[%i] : float64
    }
  }
}
"""


def test_far_numbers_are_left_alone() -> None:
    """Their differences could not be written; the loop may never run."""
    module = sc.parse(FAR)
    sc.verify(module)
    assert split(module) is module
