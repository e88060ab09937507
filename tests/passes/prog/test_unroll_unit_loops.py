"""Unrolling keeps what programs mean and leaves no loop that runs at most once (lowering specification 3.9)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import event, given, reject

import scaly_ir as sc
from scaly_ir.dialects.prog import build, ops
from scaly_ir.dialects.prog.affine import trip_count
from scaly_ir.graph import Node
from scaly_ir.op import Op, registry_scope
from scaly_ir.passes.prog.references import statements
from scaly_ir.passes.prog.unroll_unit_loops import UnrollUnitLoops
from scaly_ir.types import FLOAT64
from tests.counting import calls_of
from tests.passes.prog.evaluator import EvaluationError, run
from tests.passes.prog.golden_files import programs_of
from tests.passes.prog.meaning import keeps_meaning
from tests.passes.prog.programs import inputs_of, modules
from tests.passes.prog.scalar_programs import scalar_modules

MEANINGLESS = ("keep_lane_loop", "keep_faulty_index")
"""Golden files that leave elements unwritten for some width of lanes, or for some number of trips."""

unroll = UnrollUnitLoops().run


def _loops(module: Node) -> list[Node]:
    bodies = [statement for procedure in module.args for statement in build.body_of(procedure)]
    return [node for statement in bodies for node, _ in statements(statement) if node.op is ops.FOR]


def _check(module: Node, integer: int) -> Node:
    unrolled = keeps_meaning(module, unroll, integer=integer)
    assert unroll(unrolled) is unrolled
    assert not [loop for loop in _loops(unrolled) if trip_count(loop.args[0]) in (0, 1)]
    event(f"unrolled: {unrolled is not module}")
    return unrolled


@given(modules())
def test_programs_mean_the_same(module: Node) -> None:
    _check(module, 0)


@given(scalar_modules())
def test_programs_with_scalars_mean_the_same(module: Node) -> None:
    try:
        run(module, inputs_of(module, 1))
    except EvaluationError:  # division by zero, or a conversion that does not fit
        reject()
    _check(module, 1)


@pytest.mark.parametrize("path", programs_of("unroll_unit_loops"), ids=lambda path: path.stem)
def test_golden_files(path: Path) -> None:
    module = sc.parse(path.read_text(encoding="utf-8"), path.name)
    unrolled = unroll(module) if path.stem in MEANINGLESS else keeps_meaning(module, unroll, integer=1)
    assert (unrolled is module) == path.stem.startswith("keep_")


def _unrolled(body: str, module: str = "{}") -> list[str]:
    """Return the lines of the body of @f after unrolling."""
    text = f"prog.proc @f(%x: memref<4xfloat64>, %y: memref<4xfloat64>) {{input_count=1}} {{ {body} }}"
    parsed = sc.parse(module.replace("{}", text))
    sc.verify(parsed)
    result = unroll(parsed)
    sc.verify(result)
    assert unroll(result) is result
    lines: list[str] = sc.render(result).splitlines()
    return [line.strip() for line in lines[1:-1]]


def _loop(head: str, body: str, kind: str = "global") -> str:
    return f"prog.for {head} step 1 {{kind={kind}}} {{ {body} }}\n"


@pytest.mark.parametrize("kind", ["global", "reduce", "serial", "unroll"])
def test_every_kind_of_loop_but_lanes(kind: str) -> None:
    assert _unrolled(_loop("%i = 1 to 2", "prog.store 1, %y[%i] : float64", kind)) == ["prog.store 1, %y[1] : float64"]


@pytest.mark.parametrize(
    ("head", "trips"), [("0 to 0", 0), ("5 to 2", 0), ("0 to 1", 1), ("-3 to -2", 1), ("0 to 2", 2)]
)
def test_trips(head: str, trips: int) -> None:
    store = "prog.store prog.cast(%i, float64), %y[0] : float64"
    loops = _unrolled(_loop(f"%i = {head}", store) + "prog.store 1, %y[1] : float64")
    assert len(loops) == {0: 1, 1: 2, 2: 4}[trips]


@pytest.mark.parametrize(("step", "lines"), [(1, 3), (2, 3), (3, 1), (4, 1)])
def test_one_trip_depends_on_the_step(step: int, lines: int) -> None:
    body = f"prog.for %i = 0 to 3 step {step} {{kind=global}} {{ prog.store 1, %y[%i] : float64 }}"
    assert len(_unrolled(body)) == lines


def test_bounds_that_fold_to_one_trip_or_to_more() -> None:
    inner = "%j = prog.mul(%i, 2) to prog.sub({}, %i)"
    store = "prog.store 1, %y[prog.mod(%j, 4)] : float64"
    assert _unrolled(_loop("%i = 2 to 3", _loop(inner.format(7), store))) == [
        "prog.store 1, %y[prog.mod(4, 4)] : float64",
    ]
    assert _unrolled(_loop("%i = 2 to 3", _loop(inner.format(8), store))) == [
        "prog.for %j = prog.mul(2, 2) to prog.sub(8, 2) step 1 {kind=global} {",
        store,
        "}",
    ]


def test_declarations_meet_those_around_and_before_them() -> None:
    declare = "%v = prog.assign prog.load %x[{0}] : float64 {{declare=True}} prog.store %v, %y[{0}] : float64\n"
    nested = _loop("%i = 0 to 1", _loop("%j = 0 to 1", declare.format(1)))
    later = _loop("%i = 0 to 3", declare.format(2) + _loop("%k = 0 to 1", "prog.store %v, %y[%k] : float64"))
    assert _unrolled(nested + later + declare.format(3)) == [
        "%v = prog.assign prog.load %x[1] : float64 {declare=True}",
        "prog.store %v, %y[1] : float64",
        "prog.for %i = 0 to 3 step 1 {kind=global} {",
        "%v0 = prog.assign prog.load %x[2] : float64 {declare=True}",
        "prog.store %v0, %y[2] : float64",
        "prog.store %v0, %y[0] : float64",
        "}",
        "%v1 = prog.assign prog.load %x[3] : float64 {declare=True}",
        "prog.store %v1, %y[3] : float64",
    ]


def test_a_declaration_named_like_a_later_buffer() -> None:
    declare = "%t = prog.assign prog.load %x[0] : float64 {declare=True} prog.store %t, %y[0] : float64"
    buffer = "%t = prog.buffer : memref<1xfloat64, private> prog.store prog.load %x[0], %t[0] : float64"
    lines = _unrolled(_loop("%i = 0 to 1", declare) + buffer)
    assert lines[:2] == [
        "%v0 = prog.assign prog.load %x[0] : float64 {declare=True}",
        "prog.store %v0, %y[0] : float64",
    ]


def test_the_source_of_an_alias_is_kept() -> None:
    buffers = "%t = prog.buffer : memref<4xfloat64, private> %a = prog.buffer : memref<1xfloat64, private>"
    use = " = prog.alias %t offset 1 prog.store 1, %a[0] : float64 prog.store prog.load %a[0], %y[0] : float64\n"
    assert len(_unrolled(buffers + use + _loop("%i = 0 to 0", "prog.store 1, %t[%i] : float64"))) == 4


def test_names_are_told_apart_as_c_spells_them() -> None:
    declare = '%"v.0" = prog.assign 1 : float64 {declare=True} prog.store %"v.0", %y[0] : float64\n'
    scalar = "%v = prog.assign 1 : float64 {declare=True} prog.store %v, %y[0] : float64\n"
    lines = _unrolled("".join([_loop("%i = 0 to 1", text) for text in (declare, scalar, scalar)]))
    assert [line.split()[0] for line in lines if "assign" in line] == ["%v.0", "%v", "%v0"]


def test_what_is_never_called_may_be_faulty() -> None:
    faulty = """prog.proc @g(%x: memref<4xfloat64>, %y: memref<4xfloat64>) {input_count=1} {
      prog.for %i = 3 to 4 step 1 {kind=global} { prog.for %j = 0 to 4 step 1 {kind=global} {
        prog.store 1, %y[prog.mul(%i, %j)] : float64 } } }"""
    body = _loop("%i = 0 to 1", "prog.store 1, %y[%i] : float64")
    assert _unrolled(body, "{}" + faulty)[0] == "prog.store 1, %y[0] : float64"
    assert _unrolled(body, "prog.module {" + faulty + "{} }")[-2:] == ["prog.store 1, %y[0] : float64", "}"]


@pytest.fixture
def opaque() -> Iterator[None]:
    """Register `test.update`, which does not say what it does."""
    with registry_scope():
        op = Op.register("test.update")
        op.set_signature(("x",))
        op.set_attr("TFixedReturnType", "int64")
        yield


@pytest.mark.usefixtures("opaque")
def test_a_bound_that_may_do_more_than_read_is_kept() -> None:
    bound = "%i = 0 to test.update(prog.const(1, int64))"
    empty = _loop("%j = 0 to 0", "prog.store 1, %y[0] : float64")
    assert len(_unrolled(_loop(bound, empty))) == 2
    multiplied = "%i = 0 to prog.mul(test.update(prog.const(1, int64)), 0)"
    assert len(_unrolled(_loop(multiplied, "prog.store 1, %y[0] : float64"))) == 3


# --- large programs ---------------------------------------------------------------------------------------------------


def _nest(depth: int) -> Node:
    """Return a nest of unit loops around one store that uses all their variables."""
    x, y = build.param("x", 1), build.param("y", 1)
    total = build.index(0)
    for level in range(depth):
        total = build.apply("add", total, build.var(f"i{level}"))
    nest = build.store(build.view(y, 0), build.cast(total, FLOAT64))
    for level in reversed(range(depth)):
        nest = build.for_(build.range_(f"i{level}", 0, 1), [nest])
    return build.program([build.proc("f", [x, y], [nest], {"input_count": 1})])


def test_a_thousand_loops_with_one_trip() -> None:
    unrolled = unroll(_nest(1_000))
    sc.verify(unrolled)
    assert not _loops(unrolled)


def test_the_work_is_linear_in_the_number_of_statements() -> None:
    def module(count: int) -> Node:
        y = build.param("y", 4)
        at = build.var("i")
        body = []
        for number in range(count):
            value = build.assign("v", build.const(number, FLOAT64), declare=True)
            store = build.store(build.view(y, at), build.var("v", FLOAT64))
            body.append(build.for_(build.range_("i", number % 4, number % 4 + 1), [value, store]))
        return build.program([build.proc("f", [y], body, {"input_count": 0})])

    small, large = module(500), module(1_000)
    short, long = calls_of(lambda: unroll(small)), calls_of(lambda: unroll(large))
    assert 1.9 < long / short < 2.1
