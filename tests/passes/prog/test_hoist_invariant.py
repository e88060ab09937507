"""What leaves a loop computes the same before it, and nothing else leaves (lowering specification 3.1)."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings

import scaly_ir as sc
from scaly_ir.counters import collect_counts
from scaly_ir.dialects.expr.functions import make_module
from scaly_ir.dialects.prog import build, ops
from scaly_ir.graph import Node
from scaly_ir.op import CallEffectKind, Op, registry_scope
from scaly_ir.passes.prog.hoist_invariant import HoistInvariant
from tests.counting import calls_of
from tests.passes.prog.evaluator import run
from tests.passes.prog.golden_files import programs_of
from tests.passes.prog.mapped_programs import mapped_modules
from tests.passes.prog.meaning import keeps_meaning
from tests.passes.prog.programs import inputs_of, modules

hoist = HoistInvariant().run
PAGE = Path(__file__).resolve().parents[4] / "shared" / "seeds" / "lowering_page.txt"
"""Stands beside the repository, not in it."""


@given(modules())
def test_programs_mean_the_same(module: Node) -> None:
    after = keeps_meaning(module, hoist)
    assert hoist(after) is after


@settings(max_examples=max(300, settings().max_examples))
@given(mapped_modules())
def test_programs_full_of_maps_mean_the_same(module: Node) -> None:
    after = keeps_meaning(module, hoist)
    assert hoist(after) is after


@pytest.mark.parametrize("path", programs_of("hoist_invariant"), ids=lambda path: path.stem)
def test_golden_files(path: Path) -> None:
    module = sc.parse(path.read_text(encoding="utf-8"), path.name)
    sc.verify(module)
    after = hoist(module) if "bare" in path.stem else keeps_meaning(module, hoist, integer=2)
    sc.verify(after)
    assert sc.parse(sc.render(after)) is after
    assert (after is module) == path.stem.startswith("keep_")
    assert hoist(after) is after


def _golden(name: str) -> Node:
    (path,) = [path for path in programs_of("hoist_invariant") if path.stem == name]
    return sc.parse(path.read_text(encoding="utf-8"))


def test_originals_go_when_nothing_calls_them_and_others_stay() -> None:
    module = _golden("hoist_out_of_nested_maps")
    unused = module.args[0].with_attrs(name="unused")
    after = hoist(build.program([unused, *module.args]))
    names = ["unused", "inner_hoist_1", "inner_hoisted_1", "outer_hoist_1", "outer_hoisted_1", "f"]
    assert [procedure.attrs["name"] for procedure in after.args] == names


def test_what_is_done_is_counted() -> None:
    with collect_counts() as counts:
        hoist(_golden("hoist_two_sets"))
    assert counts == {"split": 2, "hoisted": 3}


@pytest.mark.parametrize("name", ["hoist_broadcast", "hoist_out_of_nested_maps"])
def test_the_work_is_done_once(name: str) -> None:
    module = _golden(name)
    exp = Op.get("prog.exp")
    assert run(hoist(module), inputs_of(module)).executed[exp] == 4
    assert run(module, inputs_of(module)).executed[exp] > 4


@pytest.mark.skipif(not PAGE.is_file(), reason="the documents are not here")
def test_the_listing_of_the_lowering_page() -> None:
    @sc.function(sc.G(sc.L("x", 3), sc.L("w", 9)), sc.L("y", ...))
    def stage(inputs: tuple[sc.Expr, sc.Expr]) -> sc.Expr:
        x, w = inputs
        y: sc.Expr = (w.reshape((3, 3)).exp() @ x).sin()
        return y

    @sc.function(sc.G(sc.L("xs", 15), sc.L("w", 9)), sc.L("ys", ...))
    def horizon(inputs: tuple[sc.Expr, sc.Expr]) -> sc.Expr:
        xs, w = inputs
        ys: sc.Expr = sc.vmap(stage, 5, [xs, w])
        return ys

    after = hoist(sc.run_passes(make_module([stage.node, horizon.node]), "lower"))
    entry = after.args[-1]
    trimmed = build.program([build.proc("horizon", build.params_of(entry), build.body_of(entry))], bare=True)
    assert sc.render(trimmed) in PAGE.read_text(encoding="utf-8")


# --- operators that do more than compute ------------------------------------------------------------------------------

OPERATORS = """prog.module {
  prog.proc @count(%w: memref<1xint64>, %t: memref<1xint64>) {input_count=1} {
    prog.store test.op(prog.load %w[0]), %t[0] : int64
  }
  prog.proc @stage(%x: memref<1xint64>, %w: memref<1xint64>, %y: memref<1xint64>) {input_count=2} {
    %t = prog.buffer : memref<1xint64, private>
    STATEMENT
    prog.store prog.add(prog.load %t[0], prog.load %x[0]), %y[0] : int64
  }
  prog.proc @f(%x: memref<2xint64>, %w: memref<1xint64>, %y: memref<2xint64>) {input_count=2} {
    prog.for %it = 0 to 2 step 1 {kind=serial} {
      prog.call @stage(%x[%it], %w, %y[%it]) {n_in=2, n_out=1}
    }
  }
}"""


@pytest.mark.parametrize(
    "statement", ["prog.store test.op(prog.load %w[0]), %t[0] : int64", "prog.call @count(%w, %t)"]
)
@pytest.mark.parametrize("kind", [CallEffectKind.Pure, CallEffectKind.ReadState, CallEffectKind.UpdateState])
def test_only_operators_that_read_no_state_leave_the_loop(statement: str, kind: CallEffectKind) -> None:
    with registry_scope():
        op = Op.register("test.op")
        op.set_signature(("x",))
        op.set_attr("TFixedReturnType", "int64")
        op.set_attr("TCallEffectKind", kind)
        module = sc.parse(
            OPERATORS.replace("STATEMENT", statement.replace(")", ") {n_in=1, n_out=1}", "call" in statement))
        )
        sc.verify(module)
        after = hoist(module)
        sc.verify(after)
        assert (after is not module) == (kind is CallEffectKind.Pure)


# --- large programs ---------------------------------------------------------------------------------------------------


def _stage(name: str, count: int) -> Node:
    """Return a procedure that fills many buffers from its second input, and reads them all."""
    x, w, y = build.param("x", 1), build.param("w", 4), build.param("y", 1)
    body = []
    total = build.load(build.view(x, 0))
    for number in range(count):
        buffer = build.buffer(f"t{number}", 1)
        body += [buffer, build.store(build.view(buffer, 0), build.load(build.view(w, number % 4)))]
        total = build.apply("add", total, build.load(build.view(buffer, 0)))
    return build.proc(name, [x, w, y], [*body, build.store(build.view(y, 0), total)], {"input_count": 2})


def _maps(stages: int, loops: int, count: int) -> Node:
    x, w, y = build.param("x", 1), build.param("w", 4), build.param("y", 2)
    called = [f"s{number}" for number in range(stages)]
    body = []
    for _ in range(loops):
        for name in called:
            where = build.view(y, build.var("it"))
            call = build.call(name, [x, w, where], n_in=2, n_out=1)
            body.append(build.for_(build.range_("it", 0, 2), [call]))
    procedures = [_stage(name, count) for name in called]
    return build.program([*procedures, build.proc("f", [x, w, y], body, {"input_count": 2})])


@pytest.mark.parametrize("shape", [(200, 1, 1), (1, 200, 1), (1, 1, 200)])
def test_the_work_is_linear(shape: tuple[int, int, int]) -> None:
    """In the number of procedures, of loops that call one, and of buffers that are passed on."""
    short = _maps(*shape)
    long = _maps(*[2 * number if number > 1 else 1 for number in shape])
    assert hoist(long) is not long
    assert calls_of(lambda: hoist(long)) / calls_of(lambda: hoist(short)) < 2.2


def test_maps_in_maps() -> None:
    """A chain of procedures, each calling the one before in a loop: the weights leave all the loops."""
    procedures = [_stage("p0", 1)]
    for number in range(1, 60):
        x, w, y = build.params_of(procedures[0])
        call = build.call(f"p{number - 1}", [x, w, y], n_in=2, n_out=1)
        loop = build.for_(build.range_("it", 0, 2), [call])
        procedures.append(build.proc(f"p{number}", [x, w, y], [loop], {"input_count": 2}))
    after = hoist(build.program(procedures))
    sc.verify(after)
    assert hoist(after) is after
    *_, prologue, loop = build.body_of(after.args[-1])
    assert prologue.op is ops.CALL
    assert prologue.attrs["callee"] == "p58_hoist_0_1"
    assert loop.args[1].attrs["callee"] == "p58_hoisted_0_1"


def test_an_empty_module_is_left_alone() -> None:
    module = build.program([])
    assert hoist(module) is module
