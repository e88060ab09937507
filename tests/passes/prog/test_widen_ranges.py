"""Lanes compute what trips compute, side by side as well, and stand only where trips are independent or an ordered sum.

The golden files in `testdata/passes/widen_ranges` show what comes out; here they are run, before and after.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import scaly_ir as sc
from scaly_ir.dialects.prog import build, ops
from scaly_ir.graph import Node, preorder
from scaly_ir.op import CallEffectKind, Op, registry_scope
from scaly_ir.passes.prog.lane_loops import _Window
from scaly_ir.passes.prog.widen_ranges import WidenRanges
from scaly_ir.passes.prog.widen_ranges.schedule import scheduled
from scaly_ir.passes.prog.widen_ranges.widths import live_peak, width_symbol
from scaly_ir.types import FLOAT64
from tests.passes.prog import lane_programs, lockstep, programs
from tests.passes.prog.evaluator import run
from tests.passes.prog.golden_files import programs_of
from tests.passes.prog.meaning import keeps_meaning
from tests.passes.prog.programs import inputs_of

LANES = ("auto", 2, 4, 8)
SEEDS = Path(__file__).resolve().parents[4] / "shared" / "seeds"
_STRIDES = st.integers(-7, 7).filter(bool)


def _check(module: Node, lanes: str | int = "auto", integer: int = 0) -> Node:
    """Widen a module, check that trips and lanes side by side compute the same, and return the result."""
    widen = WidenRanges(lanes).run  # type: ignore[arg-type]
    widened = keeps_meaning(module, widen, integer=integer)
    assert widen(widened) is widened
    if widened is not module:
        inputs = inputs_of(module, integer)
        expected = run(module, inputs).outputs
        for width in (1, 2, 3, 8):
            for name, values in lockstep.run(widened, inputs, width).items():
                np.testing.assert_array_equal(values, expected[name], f"%{name} on {width} lanes")
    return widened


def _symbols(root: Node) -> list[str]:
    names = [node.attrs["name"] for node in preorder(root) if node.op is ops.VAR]
    return list(dict.fromkeys([name for name in names if name.startswith("SCALY_WIDTH_")]))


def _procedure(body: str, params: str = "%x: memref<64xfloat64>, %y: memref<64xfloat64>", header: str = "") -> Node:
    root: Node = sc.parse(f"prog.proc @f({params}) {header or '{input_count=1}'} {{ {body} }}")
    sc.verify(root)
    return root


def _is_widened(body: str, lanes: str | int = "auto", **more: str) -> bool:
    """Widen a body that need not define all outputs, and tell whether it changed."""
    module = _procedure(body, **more)
    widened = WidenRanges(lanes).run(module)  # type: ignore[arg-type]
    sc.verify(widened)
    return widened is not module


def _loop(store: str, trips: int = 8, kind: str = "global", start: int = 0) -> str:
    return f"prog.for %i = {start} to {start + trips} step 1 {{kind={kind}}} {{ {store} }}"


# --- every program ----------------------------------------------------------------------------------------------------


@settings(max_examples=max(200, settings().max_examples))
@given(lane_programs.modules())
def test_lanes_compute_what_trips_compute(module: Node) -> None:
    for lanes in LANES[:2]:
        _check(module, lanes)


@given(programs.modules())
def test_programs_that_are_not_made_for_it(module: Node) -> None:
    _check(module)


@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize("path", programs_of("widen_ranges"), ids=lambda path: path.stem)
def test_golden_files(path: Path, lanes: str | int) -> None:
    module = sc.parse(path.read_text(encoding="utf-8"), path.name)
    widened = _check(module, lanes, integer=1)
    if path.stem.startswith("keep_"):
        assert widened is module
    elif lanes == "auto":
        assert widened is not module


def test_one_lane_is_no_lanes() -> None:
    module = _procedure(_loop("prog.store 1, %y[%i] : float64"))
    assert WidenRanges(1).run(module) is module
    with pytest.raises(sc.PipelineError, match="expects 'auto', '1', '2', '4' or '8', got '3'"):
        sc.run_passes(module, "widen_ranges{lanes=3}")


# --- which loops ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("trips", [1, 2, 3, 4, 7, 8, 15, 16, 17])
@pytest.mark.parametrize("lanes", LANES)
def test_trips(trips: int, lanes: str | int) -> None:
    least = 2 if lanes == "auto" else 2 * int(lanes)
    for body in (
        _loop("prog.store prog.load %x[%i], %y[%i] : float64", trips, start=3),
        _loop("prog.store prog.add(prog.load %y[0], prog.load %x[%i]), %y[0] : float64", trips, "reduce", start=3),
    ):
        assert _is_widened(body, lanes) == (trips >= least)


@pytest.mark.parametrize(
    ("stores", "fits"),
    [
        (["%i"], True),
        (["prog.add(5, prog.mul(%i, 3))"], True),
        (["prog.sub(60, prog.mul(2, %i))"], True),
        (["3"], False),
        (["prog.div(%i, 1)"], False),
        (["prog.mul(2, prog.div(%i, 2))"], False),
        (["prog.sub(%i, prog.mul(2, prog.div(%i, 2)))"], False),
        (["prog.sub(%i, %i)"], False),
        (["prog.mod(%i, 8)"], False),
        (["%i", "%i"], True),
        (["%i", "prog.add(%i, 1)"], False),
        (["prog.mul(2, %i)", "prog.add(1, prog.mul(2, %i))"], True),
        (["prog.mul(2, %i)", "prog.add(2, prog.mul(2, %i))"], False),
        (["prog.mul(2, %i)", "prog.add(3, prog.mul(2, %i))"], True),
        (["%i", "prog.add(%i, 7)"], False),
        (["%i", "prog.add(%i, 8)"], True),
        (["prog.add(%i, 7)", "%i"], False),
        (["%i", "prog.sub(7, %i)"], False),
        (["%i", "prog.sub(15, %i)"], True),
        (["%i", "prog.mul(2, %i)"], False),
        (["%i", "prog.add(8, prog.mul(2, %i))"], True),
        (["prog.mul(3, %i)", "prog.add(prog.mul(3, %i), 1)", "prog.add(prog.mul(3, %i), 2)"], True),
        (["prog.mul(3, %i)", "prog.add(prog.mul(3, %i), 3)"], False),
        (["prog.mul(prog.mul(%i, 4611686018427387904), 4)"], False),  # all of them are 0
        (["prog.add(%i, %n)"], True),
        (["prog.add(%i, %n)", "%i"], False),
        (["prog.add(%i, %n)", "prog.add(%i, prog.mul(2, %n))"], False),
        (["prog.add(%i, %n)", "prog.add(prog.add(%n, 8), %i)"], True),
        (["prog.add(%i, prog.mul(8, %n))", "prog.add(prog.mul(8, %n), prog.add(%i, 1))"], False),
    ],
)
def test_stores_to_one_buffer(stores: list[str], fits: bool) -> None:
    body = " ".join([f"prog.store {at}, %y[{index}] : float64" for at, index in enumerate(stores)])
    outer = f"%n = prog.assign prog.cast(prog.load %x[0], int64) : int64 {{declare=True}} {_loop(body)}"
    assert _is_widened(outer) == fits


@pytest.mark.parametrize(
    ("index", "inner", "fits"),
    [
        ("prog.add(prog.mul(4, %i), %j)", "0 to 4 step 1", True),
        ("prog.add(prog.mul(4, %i), %j)", "0 to 5 step 1", False),
        ("prog.add(prog.mul(4, %i), %j)", "0 to 5 step 2", False),
        ("prog.add(prog.mul(4, %i), %j)", "0 to 7 step 3", True),  # 0, 3, 6 and 4, 7, 10 and 8, ...
        ("prog.add(prog.mul(4, %i), %j)", "0 to 10 step 3", True),
        ("prog.add(prog.mul(4, %i), %j)", "0 to 13 step 3", False),  # 12 is 0 + 3 * 4
        ("prog.add(%i, prog.mul(8, %j))", "0 to 6 step 1", True),
        ("prog.add(%i, prog.mul(7, %j))", "0 to 6 step 1", False),
        ("prog.add(%i, prog.mul(7, %j))", "3 to 4 step 1", True),
        ("prog.sub(prog.mul(8, %j), %i)", "1 to 6 step 1", True),
        ("prog.sub(prog.mul(4, prog.sub(15, %i)), %j)", "0 to 4 step 1", True),
        ("prog.add(%i, prog.mul(6, %j))", "0 to 6 step 3", True),
        ("%i", "0 to 4 step 1", True),
        ("%j", "0 to 4 step 1", False),
        ("%i", "4 to 4 step 1", False),
        ("%i", "0 to %n step 1", False),
        ("%i", "%n to 4 step 1", False),
    ],
)
def test_stores_in_inner_loops(index: str, inner: str, fits: bool) -> None:
    body = _loop(f"prog.for %j = {inner} {{kind=serial}} {{ prog.store 1, %y[{index}] : float64 }}")
    outer = f"%n = prog.assign prog.cast(prog.load %x[0], int64) : int64 {{declare=True}} {body}"
    assert _is_widened(outer) == fits


@pytest.mark.parametrize(
    ("body", "fits"),
    [
        ("prog.store prog.load %y[%i], %y[%i] : float64", True),
        ("prog.store prog.load %y[prog.add(0, %i)], %y[%i] : float64", True),
        ("prog.store prog.load %y[prog.add(1, %i)], %y[%i] : float64", False),
        ("prog.store prog.load %y[prog.add(32, %i)], %y[%i] : float64", False),
        ("prog.store prog.load %y[0], %y[prog.add(1, %i)] : float64", False),
        ("prog.store prog.load %x[prog.cast(prog.load %y[9], int64)], %y[%i] : float64", False),
        ("prog.store prog.load %x[prog.cast(prog.load %x[9], int64)], %y[%i] : float64", True),
        ("prog.store prog.load %b[%i], %y[prog.add(9, %i)] : float64", False),  # %b is a part of %y
        ("prog.store prog.load %y[%i], %b[%i] : float64", False),
        ("prog.store 1, %b[%i] : float64", False),
        ("prog.store prog.load %a[%i], %y[%i] : float64", True),
        ("prog.store prog.load %i1[%i], %i2[%i] : int64", False),
        ("prog.store prog.cast(prog.load %i1[%i], float64), %y[%i] : float64", False),
        ("prog.store prog.cast(%i, float64), %y[%i] : float64", False),
        ("prog.store prog.cast(prog.lt(prog.load %x[%i], 1), float64), %y[%i] : float64", True),
        ("prog.store prog.select(prog.lt(%i, 3), 1, 2), %y[%i] : float64", False),
        ("prog.store prog.select(prog.lt(prog.load %x[%i], 3), 1, 2), %y[%i] : float64", True),
        ("prog.store prog.select(prog.load %b1[%i], 1, 2), %y[%i] : float64", False),
        ("prog.store prog.load %f1[%i], %f1[%i] : float32", False),
        ("prog.store prog.lt(prog.load %x[%i], 1), %b1[%i] : bool", False),
        ("prog.store prog.cast(prog.load %f1[%i], float64), %y[%i] : float64", False),
        ("prog.store prog.load %x[prog.cast(prog.load %f1[%i], int64)], %y[%i] : float64", False),
        ("prog.store prog.load %x[prog.load %i1[%i]], %y[%i] : float64", True),
        ("prog.store prog.load %x[%i], %y[prog.load %i1[%i]] : float64", False),
        ("%v = prog.assign prog.load %x[%i] : float64 {declare=True} prog.store %v, %y[%i] : float64", True),
        ("%v = prog.assign prog.cast(prog.load %x[%i], float32) : float32 {declare=True}", False),
        ("%u = prog.assign prog.load %x[%i] : float64 prog.store %u, %y[%i] : float64", False),
        ("prog.store %u, %y[%i] : float64", True),
        (
            "%v = prog.assign 1 : float64 {declare=True} %v = prog.assign 2 : float64 prog.store %v, %y[%i] : float64",
            True,
        ),
        ("%v = prog.assign prog.add(%i, 1) : int64 {declare=True} prog.store 1, %y[%v] : float64", True),
        ("%v = prog.assign %i : int64 {declare=True} %v = prog.assign 2 : int64 prog.store 1, %y[%v] : float64", False),
        ("%v = prog.assign 7 : int64 {declare=True} prog.store 1, %y[%v] : float64", False),
        (  # in its second trip, the inner loop writes %y[0] for all
            "%v = prog.assign %i : int64 {declare=True} prog.for %j = 0 to 2 step 1 {kind=serial} { "
            "prog.store 1, %y[%v] : float64 %v = prog.assign 0 : int64 }",
            False,
        ),
        ("%v = prog.assign prog.mod(%i, 3) : int64 {declare=True} prog.store 1, %y[%v] : float64", False),
        ("%v = prog.assign prog.mod(%i, 3) : int64 {declare=True} prog.store prog.load %x[%v], %y[%i] : float64", True),
        ("prog.store_pair 1, 2, %y[prog.mul(2, %i)] : float64", True),
        ("prog.store_pair 1, 2, %y[%i] : float64", False),
        ("prog.store_pair 1, prog.load %y[prog.mul(2, %i)], %y[prog.mul(2, %i)] : float64", True),
        ("prog.call @g(%x, %y)", False),
        ("prog.store prog.load %x[%i], %y[%i] : float64 prog.call @g(%x, %z)", False),
    ],
)
def test_what_bodies_may_hold(body: str, fits: bool) -> None:
    params = "%x: memref<64xfloat64>, %y: memref<64xfloat64>, %z: memref<64xfloat64>, "
    params += "%i1: memref<64xint64>, %i2: memref<64xint64>, %b1: memref<64xbool>, %f1: memref<64xfloat32>"
    before = "%a = prog.buffer : memref<16xfloat64, private> = prog.alias %x offset 2 "
    before += "%b = prog.buffer : memref<16xfloat64, private> = prog.alias %y offset 2 "
    before += "%u = prog.assign prog.load %x[0] : float64 {declare=True} "
    assert _is_widened(before + _loop(body), params=params, header="{device=host}") == fits


@pytest.mark.parametrize(
    ("store", "fits"),
    [
        ("prog.store prog.add(prog.load %y[0], prog.load %x[%i]), %y[0] : float64", True),
        ("prog.store prog.add(prog.load %x[%i], prog.load %y[0]), %y[0] : float64", True),
        ("prog.store prog.add(prog.load %y[%n], prog.load %x[%i]), %y[%n] : float64", True),
        ("prog.store prog.sub(prog.load %y[0], prog.load %x[%i]), %y[0] : float64", False),
        ("prog.store prog.mul(prog.load %y[0], prog.load %x[%i]), %y[0] : float64", False),
        ("prog.store prog.add(prog.load %y[1], prog.load %x[%i]), %y[0] : float64", False),
        ("prog.store prog.add(prog.load %y[0], prog.load %y[0]), %y[0] : float64", False),
        ("prog.store prog.add(prog.load %y[0], prog.mul(prog.load %y[9], prog.load %x[%i])), %y[0] : float64", False),
        ("prog.store prog.add(prog.load %y[0], prog.load %b[%i]), %y[0] : float64", False),
        ("prog.store prog.add(prog.load %b[0], prog.load %x[%i]), %b[0] : float64", False),
        ("prog.store prog.add(prog.load %b[0], prog.load %x[%i]), %y[2] : float64", False),
        ("prog.store prog.add(prog.load %y[%i], prog.load %x[%i]), %y[%i] : float64", False),
        ("prog.store prog.add(prog.load %k[0], 1), %k[0] : int64", False),
        ("prog.store prog.add(prog.load %y[0], prog.cast(%i, float64)), %y[0] : float64", False),
        ("prog.store prog.load %x[%i], %y[%i] : float64", False),
        ("prog.store prog.add(prog.load %y[0], 1), %y[0] : float64 prog.store 1, %x[%i] : float64", False),
    ],
)
def test_ordered_sums(store: str, fits: bool) -> None:
    before = "%b = prog.buffer : memref<16xfloat64, private> = prog.alias %y offset 2 "
    before += "%n = prog.assign prog.cast(prog.load %x[0], int64) : int64 {declare=True} "
    params = "%x: memref<64xfloat64>, %y: memref<64xfloat64>, %k: memref<64xint64>"
    more = {"params": params, "header": "{device=host}"}
    assert _is_widened(before + _loop(store, kind="reduce"), **more) == fits
    assert not _is_widened(before + _loop(store, kind="serial"), **more)


@pytest.mark.parametrize("step", ["2", "%n"])
def test_other_steps(step: str) -> None:
    start = "%n = prog.assign prog.cast(prog.load %x[0], int64) : int64 {declare=True}"
    loop = "prog.for %i = 0 to 8 step STEP {kind=global} { prog.store 1, %y[%i] : float64 }"
    assert not _is_widened(f"{start} {loop.replace('STEP', step)}")
    assert not _is_widened(f"{start} {loop.replace('8 step STEP', '%n step 1')}")


def test_lane_loops_stay_as_they_are() -> None:
    inner = _loop("prog.store prog.add(prog.load %y[0], prog.load %x[%i]), %y[0] : float64", kind="reduce")
    body = f"""prog.for %s = 0 to 8 step %SCALY_WIDTH_1_2_4_8 {{kind=serial}} {{
      prog.for %l = 0 to prog.minimum(%SCALY_WIDTH_1_2_4_8, prog.sub(8, %s)) step 1 {{kind=vector}} {{ {inner} }} }}"""
    assert not _is_widened(body)


@given(
    *[st.integers(-9, 9)] * 2,
    *[st.integers(0, 5)] * 2,
    *[st.sampled_from([0, 1, 2, 3, 6])] * 2,
    _STRIDES,
    st.integers(1, 9),
)
def test_windows_meet(a: int, b: int, m: int, n: int, step: int, other: int, stride: int, trips: int) -> None:
    x = _Window(a, a + m * step, step if m else 0)
    y = _Window(b, b + n * other, other if n else 0)
    touched = [{window.low + at * window.step for at in range(count + 1)} for window, count in ((x, m), (y, n))]
    pairs = [(at - to) * stride for at in range(trips) for to in range(trips) if at != to]
    expected = any([shift + u == v for shift in pairs for u in touched[0] for v in touched[1]])
    found = x.meets(y, stride, trips)
    assert found or not expected
    if x.step == y.step or not (x.step and y.step):
        assert found == expected


@pytest.mark.parametrize(("count", "fits"), [(128, True), (129, False)])
def test_many_windows_are_not_compared_one_by_one(count: int, fits: bool) -> None:
    y = build.param("y", (4000,))
    columns = [
        build.apply("add", build.apply("mul", build.index(2), build.var("i")), build.index(19 * at))
        for at in range(count)
    ]
    stores = [build.store(build.view(y, index), build.const(1, FLOAT64)) for index in columns]
    module = build.program([build.proc("f", [y], [build.for_(build.range_("i", 0, 11), stores)])])
    sc.verify(module)
    assert (WidenRanges().run(module) is not module) == fits


@pytest.fixture
def operators() -> Iterator[None]:
    """Register operators on doubles that may and may not be applied lane by lane."""
    with registry_scope():
        operators: dict[str, dict[str, object]] = {
            "lanewise": {"TVectorizable": True, "TCallEffectKind": CallEffectKind.Pure},
            "reading": {"TVectorizable": True, "TCallEffectKind": CallEffectKind.ReadState},
            "whole": {"TCallEffectKind": CallEffectKind.Pure},
            "updating": {"TVectorizable": True},
        }
        for name, attrs in operators.items():
            op = Op.register(f"test.{name}")
            op.set_signature(("x",))
            op.set_attr("TFixedReturnType", "float64")
            op.set_attr("FNumpy", lambda x: x)
            for key, value in attrs.items():
                op.set_attr(key, value)
        yield


@pytest.mark.usefixtures("operators")
def test_registered_operators() -> None:
    for name, fits in {"lanewise": True, "reading": True, "whole": False, "updating": False}.items():
        assert _is_widened(_loop(f"prog.store test.{name}(prog.load %x[%i]), %y[%i] : float64")) == fits
        index = f"prog.cast(test.{name}(prog.load %x[%i]), int64)"
        found = _is_widened(_loop(f"prog.store prog.load %x[{index}], %y[%i] : float64"))
        assert found == (name != "updating")


# --- how wide ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("trips", "lanes", "symbol"),
    [
        (2, "auto", "2_2_2_2"),
        (3, "auto", "4_4_4_4"),
        (4, "auto", "4_4_4_4"),
        (5, "auto", "8_8_8_8"),
        (60, "auto", "8_8_8_8"),
        (60, 2, "2_2_2_2"),
        (60, 4, "4_4_4_4"),
        (60, 8, "8_8_8_8"),
    ],
)
def test_caps_by_trips(trips: int, lanes: str | int, symbol: str) -> None:
    module = _procedure(_loop("prog.store 1, %y[%i] : float64", trips))
    widened = WidenRanges(lanes).run(module)  # type: ignore[arg-type]
    assert _symbols(widened) == [f"SCALY_WIDTH_{symbol}"]


@pytest.mark.parametrize(
    ("peak", "caps"),
    [
        (1, "8_8_8_8"),
        (8, "8_8_8_8"),
        (9, "4_8_8_8"),
        (16, "4_8_8_8"),
        (17, "2_4_8_8"),
        (32, "2_4_8_8"),
        (33, "1_2_4_8"),
        (65, "1_1_2_8"),
        (128, "1_1_2_8"),
        (129, "1_1_1_4"),
        (300, "1_1_1_2"),
        (2000, "1_1_1_1"),
    ],
)
def test_caps_by_live_scalars(peak: int, caps: str) -> None:
    value = build.load(build.view("x", 0, FLOAT64))
    names = [build.var(f"v{at}", FLOAT64) for at in range(peak)]
    body = [build.assign(name.attrs["name"], value, declare=True) for name in names]
    body += [build.store(build.view("y", 0, FLOAT64), name) for name in names]
    assert live_peak(body) == peak
    assert width_symbol(body, 100, None) == f"SCALY_WIDTH_{caps}"
    assert width_symbol(body, 100, 2) == f"SCALY_WIDTH_{'_'.join([str(min(int(cap), 2)) for cap in caps.split('_')])}"


@pytest.mark.parametrize(
    ("body", "peak"),
    [
        ("prog.store 1, %y[%i] : float64", 1),
        ("%a = prog.assign 1 : float64 {declare=True} %b = prog.assign 2 : float64 {declare=True}", 1),
        ("%a = prog.assign 1 : float64 {declare=True} %b = prog.assign %a : float64 {declare=True}", 2),
        (
            "%a = prog.assign 1 : float64 {declare=True} %b = prog.assign 2 : float64 {declare=True} "
            "%c = prog.assign 3 : float64 {declare=True} %b = prog.assign 4 : float64",
            2,
        ),
        ("%a = prog.assign 1 : int64 {declare=True} %b = prog.assign %a : int64 {declare=True}", 1),
        (  # %a is needed in each trip, so it lives while %c does
            "%a = prog.assign 1 : float64 {declare=True} prog.for %j = 0 to 2 step 1 {kind=serial} { "
            "%b = prog.assign %a : float64 {declare=True} %c = prog.assign %b : float64 {declare=True} "
            "%d = prog.assign %c : float64 {declare=True} }",
            3,
        ),
        (
            "prog.for %j = 0 to 2 step 1 {kind=serial} { %b = prog.assign 1 : float64 {declare=True} } "
            "prog.for %j = 0 to 2 step 1 {kind=serial} { %b = prog.assign 2 : float64 {declare=True} }",
            1,
        ),
    ],
)
def test_live_scalars(body: str, peak: int) -> None:
    loop = _procedure(_loop(body)).args[0].args[-1]
    assert live_peak(build.body_of(loop)) == peak


def test_scalars_that_are_assigned_again_keep_stores_where_they_are() -> None:
    body = """%a = prog.assign prog.load %x[%i] : float64 {declare=True}
      %b = prog.assign prog.load %x[1] : float64 {declare=True} %b = prog.assign 2 : float64
      prog.store %a, %y[%i] : float64"""
    statements = build.body_of(_procedure(_loop(body)).args[0].args[-1])
    assert scheduled(statements) == list(statements)
    first, second, _, stored = statements
    assert scheduled([first, second, stored]) == [first, stored, second]


# --- what is made -----------------------------------------------------------------------------------------------------


@pytest.mark.skipif(not SEEDS.exists(), reason="needs the documents beside the repository")
def test_the_listing_of_the_document() -> None:
    x = sc.sym("x", 64)
    function = sc.Function.from_exprs("f", [x], [x.sin() * x], output_names=["y"])
    lines = sc.render(sc.run_passes(sc.parse(sc.render(function.node)), "default{lanes=4}")).splitlines()
    document = (SEEDS / "ir_reference.txt").read_text(encoding="utf-8").splitlines()
    shown = [line for line in document if "%i_y_start = 0 to 64" in line or "%i_y_lane = 0 to" in line]
    assert len(shown) == 2
    assert shown == [line.strip() for line in lines if "prog.for" in line]


def test_names_that_are_taken() -> None:
    store = "prog.store prog.load %x[%i], %y[%i] : float64"
    scalars = [f"%{name} = prog.assign 1 : float64 {{declare=True}}" for name in ("i_start", '"i.lane"')]
    widened = _check(_procedure(" ".join([*scalars, _loop(store)]), "%x: memref<8xfloat64>, %y: memref<8xfloat64>"))
    names = [node.attrs["name"] for node in preorder(widened) if node.op is ops.RANGE]
    assert names == ["i_start_2", "i_lane_2"]


def test_sums_of_different_loops_share_names_and_symbols() -> None:
    body = _loop("prog.store 1, %y[%i] : float64") * 2
    widened = _check(_procedure(body, "%y: memref<8xfloat64>", "{input_count=0}"))
    names = [node.attrs["name"] for node in preorder(widened) if node.op is ops.RANGE]
    assert names in (["i_start", "i_lane"] * 2, ["i_start", "i_lane"])  # equal loops are one node
    assert _symbols(widened) == ["SCALY_WIDTH_8_8_8_8"]


def test_a_fixed_count_becomes_the_module_s() -> None:
    loop = _loop("prog.store 1, %y[%i] : float64")
    procedure = f"prog.proc @f(%y: memref<8xfloat64>) {{input_count=0}} {{ {loop} }}"
    module = sc.parse(f"prog.module {{ {procedure} }}")
    assert _check(module, 4).attrs["lanes"] == 4
    assert "lanes" not in _check(module).attrs
    bare = _check(sc.parse(procedure), 4)
    assert bare.attrs["bare"]
    assert "lanes" not in bare.attrs
    assert _symbols(bare) == ["SCALY_WIDTH_4_4_4_4"]


def test_deep_nests_and_long_bodies() -> None:
    y = build.param("y", (4,))
    body = [
        build.store_pair(
            build.view(y, build.apply("mul", build.index(2), build.var("i0"))), *[build.const(1, FLOAT64)] * 2
        )
    ]
    for depth in reversed(range(2000)):
        body = [build.for_(build.range_(f"i{depth}", 0, 2 if depth in (0, 1999) else 1), body)]
    module = build.program([build.proc("f", [y], body)])
    widened = WidenRanges().run(module)
    assert widened is not module
    value = build.load(build.view("y", build.var("i"), FLOAT64))
    for _ in range(20_000):
        value = build.apply("add", value, build.const(1, FLOAT64))
    long = build.for_(build.range_("i", 0, 4), [build.store(build.view(y, build.var("i")), value)])
    assert WidenRanges().run(build.program([build.proc("f", [y], [long])])) is not module
