"""The pass `fuse_ranges`: merged loops compute what the stages did, and no more (lowering specification 3.4).

The golden files in `testdata/passes/fuse_ranges` show what comes out; here they are run, before and after.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import assume, given, settings

import scaly_ir as sc
from scaly_ir.dialects.expr.functions import make_module
from scaly_ir.dialects.prog import build, ops
from scaly_ir.graph import Node
from scaly_ir.op import CallEffectKind, Op, registry_scope
from scaly_ir.passes.prog.fuse_ranges import elements
from scaly_ir.passes.prog.fuse_ranges.fusion import FuseRanges
from scaly_ir.types import FLOAT64
from tests.counting import calls_of
from tests.passes.prog.evaluator import EvaluationError, Result, run
from tests.passes.prog.golden_files import programs_of
from tests.passes.prog.meaning import keeps_meaning, same_bits
from tests.passes.prog.programs import inputs_of, modules
from tests.passes.prog.stage_programs import staged_modules

SEEDS = Path(__file__).resolve().parents[4] / "shared" / "seeds"

fuse = FuseRanges().run


def _expensive(result: Result) -> int:
    """Return how many expensive operators ran."""
    counted = [op for op in result.executed if not op.get_attr("TStructural", False)]
    return sum([result.executed[op] for op in counted if op.get_attr("TCostClass", "expensive") == "expensive"])


def _no_dearer(before: Result, after: Result) -> None:
    """Check that outputs agree bit for bit, and that no more expensive operators ran."""
    same_bits(before, after)
    assert _expensive(after) <= _expensive(before)


def _check(module: Node, integer: int = 0) -> Node:
    """Fuse a module, check all that must hold, and return the result."""
    fused = keeps_meaning(module, fuse, compare=_no_dearer, integer=integer)
    assert fuse(fused) is fused
    return fused


def _runs(module: Node) -> bool:
    try:
        run(module, inputs_of(module))
    except EvaluationError:
        return False
    return True


# --- every program ----------------------------------------------------------------------------------------------------


@settings(max_examples=max(300, settings().max_examples))
@given(staged_modules())
def test_fusion_keeps_values_and_repeats_no_expensive_work(module: Node) -> None:
    assume(_runs(module))  # a few read what nothing has written
    _check(module)


@given(modules())
def test_programs_without_scalar_code_stay(module: Node) -> None:
    assert fuse(module) is module


@pytest.mark.parametrize("path", programs_of("fuse_ranges"), ids=lambda path: path.stem)
def test_golden_files(path: Path) -> None:
    module = sc.parse(path.read_text(encoding="utf-8"), path.name)
    fused = _check(module, integer=1)
    assert (fused is module) == path.stem.startswith("keep_")


# --- what the lowering page shows -------------------------------------------------------------------------------------


@sc.function(sc.L("x", 3), sc.L("y", ...))
def stage(x: sc.Expr) -> sc.Expr:
    return x.sin() * x


@sc.function(sc.L("xs", 15), sc.L("ys", ...))
def horizon(xs: sc.Expr) -> sc.Expr:
    mapped: sc.Expr = sc.vmap(stage, 5, [xs])
    return mapped


@sc.function(sc.L("xs", 15), sc.L("firsts", ...))
def firsts(xs: sc.Expr) -> sc.Expr:
    mapped: sc.Expr = sc.vmap(stage, 5, [xs])
    return mapped[::3]


if SEEDS.is_dir():

    @pytest.mark.parametrize("function", [horizon, firsts], ids=lambda function: function.name)
    def test_the_listings_of_the_lowering_page(function: sc.Function) -> None:
        passes = "lower,scalarize,fuse_ranges,prune_procedures,fold_arith,prepare_scalar"
        text = sc.render(sc.run_passes(make_module([function.node]), passes))
        trimmed = re.sub(r"\) \{device=.*\} \{\n", ") {\n", text)  # as on the page
        assert trimmed in (SEEDS / "lowering_page.txt").read_text(encoding="utf-8")


# --- operators that do more than compute ------------------------------------------------------------------------------


@pytest.fixture
def state() -> Iterator[None]:
    """Register `test.update`, which does not say what it does, and `test.state`, which reads state."""
    with registry_scope():
        for name in ("update", "state"):
            op = Op.register(f"test.{name}")
            op.set_signature(("x",))
            op.set_attr("TFixedReturnType", "float64")
        Op.get("test.state").set_attr("TCallEffectKind", CallEffectKind.ReadState)
        yield


ONE = """prog.proc @one(%p: memref<1xfloat64>, %q: memref<1xfloat64>) {{input_count=1, scalarized=True}} {{
  prog.store {value}, %q[0] : float64
}}"""

MAP = """%t = prog.buffer : memref<4xfloat64, private>
prog.for %it = 0 to 4 step 1 {kind=global} { prog.call @one(%x[%it], %t[%it]) {n_in=1, n_out=1} }
"""


def _module(body: str, value: str = "prog.sin(prog.load %p[0])") -> Node:
    params = "%x: memref<4xfloat64>, %y: memref<4xfloat64>, %z: memref<4xfloat64>"
    text = f"prog.module {{ {ONE.format(value=value)} prog.proc @f({params}) {{input_count=1}} {{ {body} }} }}"
    module: Node = sc.parse(text)
    sc.verify(module)
    return module


def _use(value: str = "prog.load %t[%i]") -> str:
    return f"prog.for %i = 0 to 4 step 1 {{kind=global}} {{ prog.store {value}, %y[%i] : float64 }}\n"


@pytest.mark.usefixtures("state")
@pytest.mark.parametrize("name", ["update", "state"])
def test_operators_that_do_more_than_compute_are_left_alone(name: str) -> None:
    assert fuse(module := _module(MAP + _use(), f"test.{name}(prog.load %p[0])")) is module
    assert fuse(module := _module(MAP + _use(f"test.{name}(prog.load %t[%i])"))) is module


@pytest.mark.usefixtures("state")
def test_nothing_moves_past_what_may_change_anything() -> None:
    update = "prog.store test.update(prog.load %x[0]), %z[0] : float64\n"
    assert fuse(module := _module(MAP + update + _use())) is module
    for text in (update + MAP + _use(), MAP + _use() + update):
        assert fuse(module := _module(text)) is not module


# --- what is too large ------------------------------------------------------------------------------------------------


def test_loops_that_run_too_often_are_left_alone() -> None:
    text = """prog.for %it = 0 to 1000000000000 step 1 {kind=global} {
      prog.call @one(%x[prog.mod(%it, 4)], %y[prog.mod(%it, 4)]) {n_in=1, n_out=1}
    }"""
    assert fuse(module := _module(text)) is module


def test_so_many_elements_are_kept_track_of(monkeypatch: pytest.MonkeyPatch) -> None:
    module = _module(MAP + _use())
    monkeypatch.setattr(elements, "MOST_ELEMENTS", 8)
    assert fuse(module) is not module
    monkeypatch.setattr(elements, "MOST_ELEMENTS", 7)
    assert fuse(module) is module


def test_so_many_elements_are_written(monkeypatch: pytest.MonkeyPatch) -> None:
    again = "prog.for %i = 0 to 4 step 1 {kind=global} { prog.store prog.neg(prog.load %y[%i]), %y[%i] : float64 }\n"
    module = _module(MAP + _use() + again)
    monkeypatch.setattr(elements, "MOST_ELEMENTS", 12)
    assert fuse(module) is not module
    monkeypatch.setattr(elements, "MOST_ELEMENTS", 11)
    assert fuse(module) is module


@pytest.mark.parametrize("start", [1 << 62, (1 << 63) - 5, -(1 << 63)])
def test_trips_with_large_numbers_are_left_alone(start: int) -> None:
    back = f"prog.sub(%it, {start})"
    text = f"""prog.for %it = {start} to {start + 4} step 1 {{kind=global}} {{
      prog.call @one(%x[{back}], %y[{back}]) {{n_in=1, n_out=1}}
    }}"""
    assert fuse(module := _module(text)) is module


def test_windows_out_of_bounds_are_left_alone() -> None:
    """What the last call is given ends behind the buffer, which shows when the callee takes the place of the call."""
    text = """prog.module {
      prog.proc @two(%p: memref<2xfloat64>, %q: memref<1xfloat64>) {input_count=1, scalarized=True} {
        prog.store prog.add(prog.load %p[0], prog.load %p[1]), %q[0] : float64
      }
      prog.proc @f(%x: memref<4xfloat64>, %y: memref<4xfloat64>) {input_count=1} {
        prog.for %it = 0 to 4 step 1 {kind=global} { prog.call @two(%x[%it], %y[%it]) {n_in=1, n_out=1} }
      }
    }"""
    module = sc.parse(text)
    sc.verify(module)
    assert fuse(module) is module


def test_places_that_would_begin_too_far_away_are_left_alone() -> None:
    """In terms of the trip the output begins 8 * 2**61 elements before its first one."""
    start = 1 << 61
    text = f"""prog.module {{ {ONE.format(value="prog.load %p[0]")}
      prog.proc @f(%x: memref<2xfloat64>, %y: memref<9xfloat64>) {{input_count=1}} {{
        prog.for %it = {start} to {start + 2} step 1 {{kind=global}} {{
          prog.call @one(%x[0], %y[prog.mul(8, prog.sub(%it, {start}))]) {{n_in=1, n_out=1}}
        }}
      }}
    }}"""
    module = sc.parse(text)
    sc.verify(module)
    assert fuse(module) is module


def test_names_like_those_of_the_pass_are_not_confused() -> None:
    text = f"""prog.module {{ {ONE.format(value="prog.load %p[0]")}
      prog.proc @f(%x: memref<8xfloat64>, %y: memref<4xfloat64>) {{input_count=1}} {{
        %trip0 = prog.assign 2 : int64 {{declare=True}}
        prog.for %it = 0 to 4 step 1 {{kind=global}} {{
          prog.call @one(%x[prog.add(%it, %trip0)], %y[%it]) {{n_in=1, n_out=1}}
        }}
      }}
    }}"""
    module = sc.parse(text)
    assert _check(module) is not module


def test_indices_out_of_bounds_are_left_alone() -> None:
    """Such a program has no meaning, but the verifier does not see it."""
    for index in ("prog.mul(%i, %i)", "prog.sub(prog.mul(%i, %i), %i)", "prog.sub(prog.mod(%i, 2), 1)"):
        assert fuse(module := _module(MAP + _use(f"prog.load %t[{index}]"))) is module


def test_a_far_base_is_no_shift() -> None:
    """Indices wrap, so a base may be as far away as an integer can be."""
    far = -(1 << 63)
    text = f"""prog.for %it = 0 to 4 step 1 {{kind=global}} {{
      prog.call @one(%x[prog.add(prog.add({far}, %it), {far})], %y[%it]) {{n_in=1, n_out=1}}
    }}
    prog.for %it = 0 to 4 step 1 {{kind=global}} {{ prog.call @one(%x[%it], %z[%it]) {{n_in=1, n_out=1}} }}"""
    _check(_module(text))


def _mapped(trips: int, body: Callable[[Node, Node, Node], list[Node]], values: list[Node]) -> Node:
    """Return a map with these values, named one by one, into a temporary, with a body that uses it."""
    p, q = build.param("p", (1,)), build.param("q", (len(values),))
    scalars = [build.assign(f"v{at}", value, declare=True) for at, value in enumerate(values)]
    stores = [build.store(build.view(q, at), build.var(f"v{at}", FLOAT64)) for at in range(len(values))]
    stage = build.proc("stage", [p, q], [*scalars, *stores], {"input_count": 1, "scalarized": True})
    x, y = build.param("x", (trips,)), build.param("y", (trips * len(values),))
    t = build.buffer("t", (trips * len(values),))
    at = build.var("it")
    arguments = [
        build.view(x, at),
        build.view(t, build.apply("mul", at, build.index(len(values)))),
    ]
    loop = build.for_(build.range_("it", 0, trips), [build.call("stage", arguments, n_in=1, n_out=1)])
    return build.program([stage, build.proc("f", [x, y], [t, loop, *body(x, y, t)], {"input_count": 1})])


def _copied(count: int) -> Callable[[Node, Node, Node], list[Node]]:
    at = build.var("i")
    return lambda x, y, t: [
        build.for_(build.range_("i", 0, count), [build.store(build.view(y, at), build.load(build.view(t, at)))])
    ]


def _wide(count: int) -> Node:
    load = build.load(build.view("p", 0, FLOAT64))
    values = [build.apply("mul", load, build.const(k, FLOAT64)) for k in range(count)]
    return _mapped(3, _copied(3 * count), values)


def test_the_work_is_linear_in_the_size_of_a_stage() -> None:
    short, long = [calls_of(lambda count=count: fuse(_wide(count))) for count in (200, 400)]  # type: ignore[misc]
    assert 1.8 < long / short < 2.2
    assert fuse(module := _wide(200)) is not module


def test_the_work_is_linear_in_a_chain_that_all_outputs_share() -> None:
    def deep(count: int) -> Node:
        steps = [build.apply("sin", build.var(f"v{k}", FLOAT64)) for k in range(count)]
        return _mapped(3, _copied(3 * (count + 1)), [build.load(build.view("p", 0, FLOAT64)), *steps])

    short, long = [calls_of(lambda count=count: fuse(deep(count))) for count in (200, 400)]  # type: ignore[misc]
    assert 1.8 < long / short < 2.2
    _check(deep(70))


def test_the_work_is_linear_in_the_number_of_consumers() -> None:
    def chain(count: int) -> Node:
        at = build.var("i")

        def body(x: Node, y: Node, t: Node) -> list[Node]:
            statements: list[Node] = []
            last = t
            for k in range(count):
                target = y if k == count - 1 else build.buffer(f"t{k}", (4,))
                statements += [] if target is y else [target]
                value = build.apply("add", build.load(build.view(last, at)), build.load(build.view(x, at)))
                statements.append(build.for_(build.range_("i", 0, 4), [build.store(build.view(target, at), value)]))
                last = target
            return statements

        return _mapped(4, body, [build.load(build.view("p", 0, FLOAT64))])

    short, long = [calls_of(lambda count=count: fuse(chain(count))) for count in (200, 400)]  # type: ignore[misc]
    assert 1.8 < long / short < 2.2
    assert len(build.body_of(_check(chain(50)).args[-1])) == 1


def test_lanes_that_differ_are_not_looked_at_one_by_one() -> None:
    """Each element is multiplied by another number, from a place that does not follow the trip."""
    count = 20_000
    at = build.var("i")
    table = build.table("k", [float(k) for k in range(7919)])

    def body(x: Node, y: Node, t: Node) -> list[Node]:
        factor = build.load(build.view(table, build.apply("mod", at, build.index(7919))))
        store = build.store(build.view(y, at), build.apply("mul", build.load(build.view(t, at)), factor))
        return [table, build.for_(build.range_("i", 0, count), [store])]

    module = _mapped(count, body, [build.load(build.view("p", 0, FLOAT64))])
    assert calls_of(lambda: fuse(module)) < 300_000
    assert fuse(module) is module


def test_a_thousand_loops_around_a_consumer() -> None:
    def body(x: Node, y: Node, t: Node) -> list[Node]:
        at = build.var("i")
        nest = build.store(build.view(y, at), build.load(build.view(t, at)))
        for depth in range(1000):
            nest = build.for_(build.range_(f"j{depth}", 0, 1), [nest])
        return [build.for_(build.range_("i", 0, 4), [nest])]

    fused = fuse(_mapped(4, body, [build.load(build.view("p", 0, FLOAT64))]))
    sc.verify(fused)
    (loop,) = build.body_of(fused.args[-1])
    assert [statement.op for statement in build.body_of(loop)] == [ops.STORE]


# --- the pass ---------------------------------------------------------------------------------------------------------


def test_the_pass_is_found_by_name_and_keeps_what_is_around() -> None:
    module = build.program(_module(MAP + _use()).args, lanes=4)
    fused = sc.run_passes(module, "fuse_ranges")
    assert fused.attrs["lanes"] == 4
    assert fused.args[0] is module.args[0]
    assert fused.args[1].attrs is module.args[1].attrs


def test_an_empty_module_is_left_alone() -> None:
    module = build.program([])
    assert fuse(module) is module
