"""The evaluator on whole programs: against the interpreter of the tests, shuffled, at once, deep and long."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import scaly_ir as sc
from scaly_ir.dialects.prog import build
from scaly_ir.dialects.prog.evaluate import arrays, independence, site
from scaly_ir.dialects.prog.evaluate.machine import execute
from scaly_ir.graph import Node
from scaly_ir.numeric import floating
from scaly_ir.types import FLOAT64, INT64
from tests.dialects.prog.affine_loops import SIZE, Nests
from tests.passes.prog import evaluator as oracle
from tests.passes.prog.programs import inputs_of, module
from tests.passes.prog.scalar_programs import ScalarWriter

Outputs = dict[str, "np.ndarray[Any, Any]"]

SEEDS = st.integers(0, 2**32)
"""Seeds rather than choices: a program is as varied as plain chance makes it, where hypothesis likes simple ones."""


def outcome(
    root: Node, inputs: Mapping[str, Any], *, shuffle: int | None = None, width: int = 4, at_once: bool = True
) -> Outputs | str:
    """Return the outputs, or the message of the error."""
    try:
        return execute(root, inputs, None, shuffle=shuffle, width=width, strict=True, at_once=at_once)
    except sc.EvaluationError as error:
        return str(error)


def interpreted(root: Node, inputs: Mapping[str, Any], *, backwards: bool = False) -> Outputs | str:
    """Return what the interpreter of the tests gives.

    It leaves open which zero is the least of two, and takes powers of NumPy's scalars, which are not those of C.
    """
    ours = {
        "minimum": lambda x, y: np.float64(floating.minimum(x, y)) if isinstance(x, float) else min(x, y),
        "maximum": lambda x, y: np.float64(floating.maximum(x, y)) if isinstance(x, float) else max(x, y),
    }
    power = {"pow": lambda x, y: np.power(np.array([x]), np.array([y]))[0]}
    with patch.dict(oracle.PLAIN, ours), patch.dict(oracle._LIBM, power):
        try:
            return oracle.run(root, inputs, backwards=backwards).outputs
        except oracle.EvaluationError as error:
            return str(error)


def same(first: Outputs | str, second: Outputs | str) -> bool:
    """Tell whether both refused, or all outputs have the same bits, NaNs all alike."""
    if isinstance(first, str) or isinstance(second, str):
        return isinstance(first, str) and isinstance(second, str)
    return first.keys() == second.keys() and all([_same_bits(first[name], second[name]) for name in first])


def _same_bits(x: np.ndarray[Any, Any], y: np.ndarray[Any, Any]) -> bool:
    x, y = x.reshape(-1), y.reshape(-1)
    number = (x == x) | (y == y)
    return bool(x.dtype == y.dtype and x[number].tobytes() == y[number].tobytes())


def wanted(root: Node, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values that the entry takes; the interpreter of the tests is content with more."""
    entry = root.args[-1]
    count = entry.attrs.get("input_count", entry.attrs["param_count"])
    return {param.attrs["name"]: values[param.attrs["name"]] for param in build.params_of(entry)[:count]}


# --- against the interpreter ------------------------------------------------------------------------------------------


@given(SEEDS, st.integers(0, 2))
def test_random_modules_agree_with_the_interpreter(seed: int, integer: int) -> None:
    root = module(random.Random(seed).randint)
    values = inputs_of(root, integer)
    expected = interpreted(root, values)
    with patch.object(arrays, "FEWEST_TRIPS", 1), patch.object(site, "FEWEST_TRIPS", 1):
        assert same(outcome(root, wanted(root, values)), expected)
    assert same(outcome(root, wanted(root, values), at_once=False), expected)


@given(SEEDS)
def test_shuffled_trips_agree_where_those_from_last_to_first_do(seed: int) -> None:
    root = module(random.Random(seed).randint)
    values = inputs_of(root)
    expected = interpreted(root, values)
    if same(interpreted(root, values, backwards=True), expected):
        # Two orders that agree do not prove independence of scalars that several trips assign, hence not every order.
        shuffled = [outcome(root, wanted(root, values), shuffle=number) for number in range(3)]
        assert any([same(found, expected) for found in shuffled])


@given(SEEDS, st.booleans())
def test_random_scalar_programs_agree_with_the_interpreter(seed: int, loops: bool) -> None:
    root = ScalarWriter(random.Random(seed).randint, loops=loops).module()
    values = {"n": [3, 2, -1, 5], "x": [0.5, -0.0, 3.0, -1.25], "y": [1.0] * 4, "z": [1] * 4}
    assert same(outcome(root, values), interpreted(root, values))


# --- trips at once ----------------------------------------------------------------------------------------------------


@given(SEEDS)
def test_trips_at_once_are_trips_one_by_one(seed: int) -> None:
    source = random.Random(seed)
    root = Nests(source.randint).module()
    numbers = np.random.default_rng(seed)
    values = {"x": numbers.normal(size=SIZE).round(2), "at": numbers.integers(0, SIZE + source.randint(0, 1), SIZE)}
    expected = outcome(root, values, at_once=False)
    for fewest, most in ((site.FEWEST_TRIPS, 1 << 20), (1, 8)):
        with (
            patch.object(site, "FEWEST_TRIPS", fewest),
            patch.object(arrays, "FEWEST_TRIPS", fewest),
            patch.object(arrays, "_MOST_TRIPS", most),
        ):
            found = outcome(root, values)
        assert found == expected if isinstance(found, str) else same(found, expected)


def loops(body: str, declarations: str = "") -> Node:
    """Return a procedure that writes zeros to its output and then runs a body."""
    return sc.parse(
        f"""prog.proc @f(%x: memref<100xfloat64>, %y: memref<100xfloat64>) {{input_count=1}} {{ {declarations}
        prog.for %i = 0 to 100 step 1 {{kind=global}} {{ prog.store 0, %y[%i] : float64 }}
        {body} }}"""
    )


X = {"x": np.arange(100.0)}


def runs_at_once(root: Node, values: Mapping[str, Any] = X) -> list[bool]:
    """Return for each attempt at a loop whether all its trips ran at once; what comes out is compared, too."""
    seen: list[bool] = []
    call = arrays.Runner.__call__

    def noted(runner: arrays.Runner, *arguments: Any) -> bool:
        seen.append(call(runner, *arguments))
        return seen[-1]

    with patch.object(arrays.Runner, "__call__", noted):
        found = outcome(root, values)
    expected = outcome(root, values, at_once=False)
    assert found == expected if isinstance(found, str) else same(found, expected)
    return seen[1:]


@pytest.mark.parametrize(
    ("loop", "at_once"),
    [
        ("%i = 0 to 100 step 1 {kind=global} { prog.store prog.load %x[prog.sub(99, %i)], %y[%i] : float64", [True]),
        ("%i = 0 to 100 step 2 {kind=serial} { prog.store prog.load %x[%i], %y[prog.sub(99, %i)] : float64", [True]),
        ("%i = 1 to 100 step 1 {kind=global} { prog.store prog.load %y[prog.sub(%i, 1)], %y[%i] : float64", [False]),
        ("%i = 0 to 50 step 1 {kind=global} { prog.store 1, %y[prog.mul(%i, 2)] : float64"
         " prog.store prog.load %y[prog.mul(%i, 2)], %y[prog.add(prog.mul(%i, 2), 1)] : float64", [True]),
        ("%i = 0 to 50 step 1 {kind=global} {"
         " prog.store_pair %c, prog.load %y[prog.mul(%i, 2)], %y[prog.mul(%i, 2)] : float64", [True]),
        ("%i = 0 to 99 step 1 {kind=global} { prog.store_pair 1, 2, %y[%i] : float64", [False]),
        ("%i = 0 to 100 step 1 {kind=global} { %c = prog.assign prog.load %x[%i] : float64"
         " prog.store %c, %y[%i] : float64", []),
        ("%i = 0 to 100 step 1 {kind=global} { %v = prog.assign prog.load %y[%i] : float64 {declare=True}"
         " prog.store 3, %y[%i] : float64 prog.store prog.add(%v, prog.load %y[%i]), %y[%i] : float64", [True]),
        ("%i = 0 to 10 step 1 {kind=global} { prog.for %j = 0 to 10 step 1 {kind=global} {"
         " prog.store prog.load %x[prog.add(%i, prog.mul(10, %j))], %y[prog.add(prog.mul(10, %i), %j)] : float64 }",
         [True]),
        ("%i = 0 to 10 step 1 {kind=global} { prog.for %j = 0 to 11 step 1 {kind=global} {"
         " prog.store %c, %y[prog.minimum(99, prog.add(prog.mul(9, %i), %j))] : float64 }", []),
        ("%i = 0 to 9 step 1 {kind=global} { prog.for %j = 0 to 11 step 1 {kind=global} {"
         " prog.store prog.cast(%i, float64), %y[prog.add(prog.mul(10, %i), %j)] : float64 }", [False]),
        ("%i = 0 to 50 step 1 {kind=global} { prog.for %k = 0 to 50 step 1 {kind=reduce} {"
         " prog.store prog.add(prog.load %y[%i], prog.load %x[prog.add(%i, %k)]), %y[%i] : float64 }", [True]),
        ("%k = 0 to 2 step 1 {kind=reduce} { prog.for %i = 0 to 50 step 1 {kind=global} {"
         " prog.store prog.add(prog.load %y[%i], prog.load %x[prog.add(%i, %k)]), %y[%i] : float64 }", [True, True]),
        ("%i = 0 to 50 step 1 {kind=global} { prog.store prog.load %a[%i], %b[%i] : float64", [True]),
        ("%i = 0 to 51 step 1 {kind=global} { prog.store prog.load %a[%i], %b[%i] : float64", [False]),
        ("%i = 0 to 50 step 1 {kind=global} { prog.store prog.load %a[%i], %a[prog.add(%i, 1)] : float64", [False]),
        ("%i = 0 to 100 step 1 {kind=global} { prog.store 1, %y[%i] : float64"
         " prog.store prog.load %t[prog.add(%i, 30)], %y[%i] : float64", [False]),
        ("%i = 0 to 50 step 1 {kind=global} { prog.store prog.load %y[prog.mul(%i, 2)], %y[%i] : float64", [False]),
        ("%i = 0 to 100 step 1 {kind=global} { prog.store 1, %x[%i] : float64", [False]),
        ("%i = 0 to 50 step 1 {kind=global} { prog.for %k = 0 to 3 step 1 {kind=serial} {"
         " prog.store %c, %y[prog.add(%k, prog.mul(2, %i))] : float64 }", [False]),
        ("%i = 0 to 50 step 1 {kind=global} { prog.for %k = 0 to 2 step 1 {kind=serial} {"
         " prog.store %c, %y[prog.add(%k, prog.mul(2, %i))] : float64 }"
         " %k = prog.assign prog.sub(49, %i) : int64 {declare=True}"
         " prog.store prog.load %x[%k], %y[prog.mul(2, %i)] : float64", [True]),
        ("%i = 0 to 100 step 1 {kind=global} {"
         " prog.store prog.load %x[prog.add(prog.div(prog.sub(%i, 50), 2), 50)], %y[%i] : float64", [False]),
        ("%i = 0 to 100 step 1 {kind=global} {"
         " prog.store prog.cast(prog.cast(prog.mul(prog.load %x[%i], 1e17), int64), float64), %y[%i] : float64",
         [False]),
        ("%i = 0 to 50 step 1 {kind=global} { prog.for %k = 0 to %i step 1 {kind=reduce} {"
         " prog.store prog.add(prog.load %y[%i], prog.load %x[%k]), %y[%i] : float64 }", []),
        ("%i = 0 to 100 step 1 {kind=global} { %v = prog.assign 1 : float64 {declare=True}"
         " %v = prog.assign 2 : float64 {declare=True} prog.store %v, %y[%i] : float64", []),
        ("%i = 0 to 100 step 1 {kind=global} { prog.for %k = 0 to 2 step 1 {kind=serial} {"
         " %v = prog.assign 1 : float64 {declare=True} } prog.store %v, %y[%i] : float64", []),
        ("%i = 0 to 31 step 1 {kind=global} { prog.store 1, %y[%i] : float64", []),
        ("%i = 0 to %n step 1 {kind=global} { prog.store 1, %y[%i] : float64", [True]),
        ("%i = 0 to prog.sub(%n, 9) step 1 {kind=global} { prog.store 1, %y[%i] : float64", [False]),
        ("%i = 0 to 40 step prog.sub(%n, %n) {kind=global} { prog.store 1, %y[%i] : float64", [False]),
    ],
)  # fmt: skip
def test_which_loops_run_at_once(loop: str, at_once: list[bool]) -> None:
    declarations = """%c = prog.assign 2 : float64 {declare=True} %n = prog.assign 40 : int64 {declare=True}
        %a = prog.buffer : memref<60xfloat64, private> = prog.alias %y offset 0
        %b = prog.buffer : memref<50xfloat64, private> = prog.alias %y offset 50
        %t = prog.buffer : memref<100xfloat64, private>"""
    assert runs_at_once(loops(f"prog.for {loop} }}", declarations)) == at_once


@pytest.mark.parametrize(
    "body",
    [
        """prog.store prog.add(prog.load %y[%i], 60), %y[%i] : float64
        prog.store prog.load %x[prog.cast(prog.load %y[%i], int64)], %t[%i] : float64
        prog.store prog.load %x[prog.add(%i, 1)], %t[%i] : float64""",
        """prog.store prog.add(prog.load %x[prog.add(prog.cast(prog.load %y[%i], int64), prog.add(%i, 1))], 100),
          %y[%i] : float64""",
    ],
    ids=["several statements", "part of the trips"],
)
def test_what_was_written_before_a_failure_is_taken_back(body: str) -> None:
    """The trips before the one that fails must read what they had before, not what they wrote when all ran at once."""
    root = loops(
        f"prog.for %i = 0 to 100 step 1 {{kind=global}} {{ {body} }}",
        "%t = prog.buffer : memref<100xfloat64, private>",
    )
    for most in (1 << 20, 40):
        with patch.object(arrays, "_MOST_TRIPS", most):
            assert runs_at_once(root) == [False]
            assert "with %i = 99" in str(outcome(root, X))


def test_a_loop_that_fails_each_time_is_given_up() -> None:
    root = loops(
        """prog.for %k = 0 to 50 step 1 {kind=serial} { prog.for %i = 1 to 100 step 1 {kind=global} {
          prog.store prog.add(prog.load %y[prog.sub(%i, 1)], prog.load %x[%i]), %y[%i] : float64 } }"""
    )
    with patch.object(arrays, "written_spans", wraps=independence.written_spans) as tried:
        outcome(root, X)
    assert tried.call_count == 10


# --- order ------------------------------------------------------------------------------------------------------------

PREFIX_SUM = """prog.for %i = 1 to 100 step 1 {{kind={kind}}} {{
  prog.store prog.add(prog.load %y[prog.sub(%i, 1)], prog.load %x[%i]), %y[%i] : float64 }}"""


def test_a_prefix_sum_that_claims_independence_is_exposed() -> None:
    plain = sc.run(loops(PREFIX_SUM.format(kind="global")), X)["y"]
    assert plain.tolist() == np.cumsum(X["x"]).tolist()
    for number in range(5):
        assert sc.run(loops(PREFIX_SUM.format(kind="global")), X, shuffle=number)["y"].tolist() != plain.tolist()
        assert sc.run(loops(PREFIX_SUM.format(kind="serial")), X, shuffle=number)["y"].tolist() == plain.tolist()


def test_a_seed_gives_the_same_order_again() -> None:
    first, again, other = [sc.run(loops(PREFIX_SUM.format(kind="global")), X, shuffle=n)["y"] for n in (1, 1, 2)]
    assert first.tolist() == again.tolist() != other.tolist()


@pytest.mark.parametrize("width", [1, 3, 4, 7])
def test_lanes_run_in_steps_of_the_width(width: int) -> None:
    root = loops(
        """prog.for %s = 0 to 100 step %SCALY_WIDTH_1 {kind=serial} {
          prog.for %l = 0 to prog.minimum(%SCALY_WIDTH_1, prog.sub(100, %s)) step 1 {kind=vector} {
            prog.store prog.load %x[prog.minimum(prog.add(%s, %l), 99)], %y[prog.add(%s, %l)] : float64 } }"""
    )
    found = outcome(root, X, width=width)
    assert not isinstance(found, str)
    assert found["y"].tolist() == X["x"].tolist()


# --- size -------------------------------------------------------------------------------------------------------------

PARAMS = [build.param("x", 4), build.param("y", 4)]


def entry(body: list[Node], name: str = "f") -> Node:
    return build.proc(name, PARAMS, body, {"input_count": 1})


def copy(value: Node | None = None) -> list[Node]:
    """Return stores of one value, or of the input, into all elements of the output."""
    values = [build.load(build.view("x", k, FLOAT64)) if value is None else value for k in range(4)]
    return [build.store(build.view("y", k, FLOAT64), each) for k, each in enumerate(values)]


def test_a_nest_of_a_thousand_loops_with_scalars_on_the_way() -> None:
    count = build.var("v", INT64)
    body = [*copy(), build.store(build.view("y", 0, FLOAT64), build.cast(count, FLOAT64))]
    for depth in range(1000):
        step = build.assign("v", build.apply("add", count, build.var(f"i{depth}")))
        body = [build.for_(build.range_(f"i{depth}", 1, 2, 1, "serial"), [step, *body])]
    declare = build.assign("v", build.index(0), declare=True)
    assert sc.run(entry([declare, *body]), {"x": [1, 2, 3, 4]})["y"].tolist() == [1000.0, 2.0, 3.0, 4.0]


def test_the_loops_around_an_error_in_a_deep_nest_are_known() -> None:
    body = [build.store(build.view("y", 9, FLOAT64), build.const(0, FLOAT64))]
    for depth in range(1000):
        body = [build.for_(build.range_(f"i{depth}", depth, depth + 1), body)]
    with pytest.raises(sc.EvaluationError, match=r"with \.\.\., %i19 = 19, .*, %i0 = 0$") as caught:
        sc.run(entry(body), {"x": [0] * 4})
    assert caught.value.loops == {f"i{depth}": depth for depth in range(1000)}


def test_an_expression_a_hundred_thousand_deep() -> None:
    value = build.load(build.view("x", 0, FLOAT64))
    one = build.load(build.view("x", 1, FLOAT64))
    for number in range(100_000):
        value = build.apply("add", value, one) if number % 2 else build.apply("sub", one, value)
    body = [*copy(), build.store(build.view("y", 0, FLOAT64), value)]
    assert sc.run(entry(body), {"x": [3, 2, 0, 0]})["y"].tolist() == [3.0, 2.0, 0.0, 0.0]


def test_a_left_fold_of_three_thousand() -> None:
    value = build.load(build.view("x", 0, FLOAT64))
    for _ in range(3000):
        value = build.apply("add", value, build.load(build.view("x", 1, FLOAT64)))
    root = sc.parse(sc.render(build.program([entry(copy(value))])))
    sc.verify(root)
    assert sc.run(root, {"x": [0.5, 1, 0, 0]})["y"].tolist() == [3000.5] * 4


@pytest.mark.parametrize("depth", [1000, 3000])
def test_a_chain_of_calls(depth: int) -> None:
    procs = [entry(copy(), "f0")]
    for number in range(1, depth):
        call = build.call(f"f{number - 1}", PARAMS, n_in=1, n_out=1)
        body = [build.for_(build.range_("i", 0, 1, 1, "serial"), [call])] if number % 2 else [call]
        procs.append(entry(body, f"f{number}"))
    assert sc.run(build.program(procs), {"x": [1, 2, 3, 4]})["y"].tolist() == [1.0, 2.0, 3.0, 4.0]


def test_a_long_procedure_is_cut_into_pieces() -> None:
    body = copy()
    for number in range(6000):
        name = f"v{number}"
        before = build.var(f"v{number - 1}", FLOAT64) if number else build.load(build.view("x", 0, FLOAT64))
        body.append(build.assign(name, build.apply("add", before, build.const(1, FLOAT64)), declare=True))
        if number % 1000 == 0:
            body.append(build.buffer(f"t{number}", 1))
            body.append(build.store(build.view(f"t{number}", 0, FLOAT64), build.var(name, FLOAT64)))
    body.append(build.store(build.view("y", 0, FLOAT64), build.load(build.view("t0", 0, FLOAT64))))
    body.append(build.store(build.view("y", 1, FLOAT64), build.var("v5999", FLOAT64)))
    assert sc.run(entry(body), {"x": [1, 2, 3, 4]})["y"].tolist() == [2.0, 6001.0, 3.0, 4.0]
