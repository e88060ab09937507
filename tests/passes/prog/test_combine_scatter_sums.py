"""Scattered pieces add up to the same, in the same order, without buffers of their own (lowering specification 3.6)."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import scaly_ir as sc
from scaly_ir.counters import collect_counts
from scaly_ir.dialects.expr.build import index_add
from scaly_ir.dialects.expr.functions import make_module
from scaly_ir.dialects.prog import build, ops
from scaly_ir.graph import Node
from scaly_ir.passes.prog.combine_scatter_sums import CombineScatterSums
from scaly_ir.types import FLOAT64, INT64
from tests.counting import calls_of
from tests.passes.prog.evaluator import run
from tests.passes.prog.golden_files import programs_of
from tests.passes.prog.meaning import keeps_meaning, same_values
from tests.passes.prog.programs import modules
from tests.passes.prog.scatter_programs import scatter_modules

combine = CombineScatterSums().run

MEANINGLESS = ("keep_computed_destination", "keep_far_destination", "keep_partial_fill")
"""Golden files that cannot be run on what the tests give them."""


@given(modules())
def test_programs_mean_the_same(module: Node) -> None:
    after = keeps_meaning(module, combine)
    assert combine(after) is after


@settings(max_examples=max(300, settings().max_examples))
@given(scatter_modules())
def test_programs_full_of_scatters_mean_the_same(module: Node) -> None:
    after = keeps_meaning(module, combine, compare=same_values)
    assert combine(after) is after


@pytest.mark.parametrize("path", programs_of("combine_scatter_sums"), ids=lambda path: path.stem)
def test_golden_files(path: Path) -> None:
    module = sc.parse(path.read_text(encoding="utf-8"), path.name)
    sc.verify(module)
    runs = "bare" not in path.stem and path.stem not in MEANINGLESS
    after = keeps_meaning(module, combine, integer=2) if runs else combine(module)
    sc.verify(after)
    assert (after is module) == path.stem.startswith("keep_")
    assert combine(after) is after


def _sums(pieces: list[list[int]], size: int, *, adds: bool = True, nested: str = "left") -> Node:
    """Return a procedure that scatters piece `k` to the destinations `pieces[k]` and sums all that."""
    params = [build.param(f"x{k}", len(piece)) for k, piece in enumerate(pieces)]
    result = build.param("r", size)
    body: list[Node] = []
    leaves = []
    for k, piece in enumerate(pieces):
        leaf, table = build.buffer(f"t{k}", size), build.table(f"k{k}", piece, INT64)
        z, i = build.var("z"), build.var("i")
        where = build.view(leaf, build.load(build.view(table, i)))
        value = build.load(build.view(params[k], i))
        stored = build.apply("add", build.load(where), value) if adds else value
        fill = build.for_(build.range_("z", 0, size), [build.store(build.view(leaf, z), build.const(0, FLOAT64))])
        body += [
            leaf,
            table,
            fill,
            build.for_(build.range_("i", 0, len(piece), 1, "reduce"), [build.store(where, stored)]),
        ]
        leaves.append(leaf)
    while len(leaves) > 1:
        at = 0 if nested == "left" else len(leaves) - 2
        total = result if len(leaves) == 2 else build.buffer(f"s{len(leaves)}", size)
        body += [] if total is result else [total]
        v = build.var("v")
        value = build.apply("add", *[build.load(build.view(operand, v)) for operand in leaves[at : at + 2]])
        body.append(build.for_(build.range_("v", 0, size), [build.store(build.view(total, v), value)]))
        leaves[at : at + 2] = [total]
    return build.program([build.proc("f", [*params, result], body, {"input_count": len(params)})])


HUGE = (1e16, -1e16, 1.0, 3.0, -1.0)
"""Numbers whose sum depends on the order in which they are added."""


@given(st.data())
def test_pieces_are_added_in_order(data: st.DataObject) -> None:
    """The expected values are those of NumPy, which adds at indices in order."""
    size = data.draw(st.integers(1, 5))
    pieces = data.draw(st.lists(st.lists(st.integers(0, size - 1), min_size=1, max_size=4), min_size=2, max_size=4))
    module = _sums(pieces, size, nested=data.draw(st.sampled_from(["left", "left", "right"])))
    values = {f"x{k}": [data.draw(st.sampled_from(HUGE)) for _ in piece] for k, piece in enumerate(pieces)}
    after = combine(module)
    expected = run(module, values).outputs["r"]
    assert (run(after, values).outputs["r"] == expected).all()
    if after is not module:
        total = np.zeros(size)
        for k, piece in enumerate(pieces):
            np.add.at(total, piece, values[f"x{k}"])
        assert (total == expected).all()


@example([[0], [1, 1], [1, 1]], True)
@example([[0], [1, 1], [2], [2, 2]], True)
@given(st.lists(st.lists(st.integers(0, 5), min_size=1, max_size=4), min_size=2, max_size=4), st.booleans())
def test_what_is_combined(pieces: list[list[int]], adds: bool) -> None:
    """All pieces, if none whose elements meet goes where an earlier one goes; and only if these are added."""
    combined = True
    earlier: set[int] = set()
    for piece in pieces:
        meets = len(set(piece)) < len(piece)
        combined &= not (meets and (not adds or bool(earlier & set(piece))))
        earlier |= set(piece)
    module = _sums(pieces, 6, adds=adds)
    with collect_counts() as counts:
        after = combine(module)
    assert (after is not module) == combined
    assert counts["combined"] == (len(pieces) if combined else 0)
    if combined:
        body = build.body_of(after.args[0])
        assert sum([statement.op is ops.FOR for statement in body]) == 1 + len(pieces)
        assert not [node for node in body if node.op is ops.BUFFER and "values" not in node.attrs]


@pytest.mark.parametrize("nested", ["left", "right"])
def test_the_order_of_summation_can_be_seen(nested: str) -> None:
    module = _sums([[0], [0], [0]], 1, nested=nested)
    after = keeps_meaning(module, combine, inputs={"x0": [1e16], "x1": [-1e16], "x2": [1.0]})
    assert (after is module) == (nested == "right")
    assert run(after, {"x0": [1e16], "x1": [-1e16], "x2": [1.0]}).outputs["r"][0] == (1.0 if nested == "left" else 0.0)


def test_two_negative_zeros_become_positive() -> None:
    """The one difference that is accepted: zeros are added to zero first."""
    after = combine(_sums([[0], [0]], 1))
    assert not np.signbit(run(after, {"x0": [-0.0], "x1": [-0.0]}).outputs["r"][0])


GRADIENT = """prog.proc @cost_grad_c_x(%x: memref<6xfloat64>, %grad_c_x: memref<6xfloat64>) {
  %t0 = prog.buffer : memref<4xfloat64, private> = prog.alias %x offset 2
  %t4 = prog.buffer : memref<4xfloat64, private> = prog.alias %x offset 0
  prog.for %z_t3 = 0 to 6 step 1 {kind=global} {
    prog.store 0, %grad_c_x[%z_t3] : float64
  }
  prog.for %i_t3 = 0 to 4 step 1 {kind=global} {
    prog.store prog.add(prog.load PLACE, prog.neg(prog.sin(prog.load %t0[%i_t3]))), PLACE : float64
  }
  prog.for %i_t6 = 0 to 4 step 1 {kind=global} {
    prog.store prog.add(prog.load %grad_c_x[%i_t6], prog.cos(prog.load %t4[%i_t6])), %grad_c_x[%i_t6] : float64
  }
}
""".replace("PLACE", "%grad_c_x[prog.add(2, %i_t3)]")
"""The gradient of two overlapping slices on the lowering page, where folding and naming have yet to be done."""


def test_the_gradient_of_the_lowering_page() -> None:
    @sc.function(sc.L("x", 6), sc.L("grad_c_x", ...))
    def cost_grad_c_x(x: sc.Expr) -> sc.Expr:
        pieces = [(2, -x[2:6].sin()), (0, x[0:4].cos())]
        first, second = [index_add(np.zeros(6), np.arange(at, at + 4), piece) for at, piece in pieces]
        total: sc.Expr = first + second
        return total

    lowered = sc.run_passes(make_module([cost_grad_c_x.node]), "lower")
    (entry,) = sc.run_passes(lowered, "combine_scatter_sums,fuse_elementwise").args
    trimmed = build.proc("cost_grad_c_x", build.params_of(entry), build.body_of(entry))
    assert sc.render(build.program([trimmed], bare=True)) == GRADIENT


@pytest.mark.parametrize("repeated", [False, True])
def test_the_work_is_linear_in_the_number_of_pieces(repeated: bool) -> None:
    def pieces(count: int) -> Node:
        return _sums([[2 * k, 2 * k if repeated else 2 * k + 1] for k in range(count)], 2 * count)

    short, long = pieces(100), pieces(200)
    assert len(build.body_of(combine(long).args[0])) == 200 + 201
    assert calls_of(lambda: combine(long)) / calls_of(lambda: combine(short)) < 2.2


def test_an_empty_module_is_left_alone() -> None:
    module = build.program([])
    assert combine(module) is module
