"""Builders of loops and the peeling of views (expression specification 3.4 and checks 21 to 23)."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import scaly_ir as sc
from scaly_ir.dialects.expr.views import windows_of


@sc.function(sc.arg("z", 2), sc.arg("u", 1), outputs=sc.arg("znext"))
def model(z: sc.Expr, u: sc.Expr) -> sc.Expr:
    return z + 0.1 * sc.concat([z[1:], u])


ZS, US = sc.sym("zs", 20), sc.sym("us", 10)


def _attrs(node: sc.Expr) -> dict[str, Any]:
    return {key: node.attrs[key] for key in ("length", "n_carry", "starts", "strides", "output")}


def test_vmap_reads_flat_operands_through_windows() -> None:
    mapped = sc.vmap(model, 10)(ZS.reshape((10, 2)), US.reshape((10, 1)))
    assert mapped.op == sc.ExprOp.RESHAPE
    assert mapped.shape == (10, 2)
    loop = mapped.args[0]
    assert loop.args == (ZS, US)
    assert _attrs(loop) == {"length": 10, "n_carry": 0, "starts": (0, 0), "strides": (2, 1), "output": 0}
    assert loop is sc.vmap(model, 10, [ZS, US])


def test_vmap_of_numbers_evaluates() -> None:
    zs, us = np.arange(20.0), np.arange(10.0)
    result = sc.vmap(model, 10)(zs.reshape(10, 2), us)
    expected = [zs[2 * i : 2 * i + 2] + 0.1 * np.array([zs[2 * i + 1], us[i]]) for i in range(10)]
    np.testing.assert_allclose(result, expected)


def test_a_horizon_of_100_000_is_one_node() -> None:
    n = 100_000
    mapped = sc.vmap(model, n)(sc.sym("z", 2 * n), sc.sym("u", n))
    assert len({id(node) for node in (mapped, *mapped.args, *mapped.args[0].args)}) == 4


@pytest.mark.parametrize(
    ("argument", "base", "start", "stride"),
    [
        (ZS, ZS, 0, 2),
        (ZS.reshape((10, 2)), ZS, 0, 2),
        (sc.sym("l", 24)[4:], "l", 4, 2),
        (sc.sym("l", 31)[1:].reshape((10, 3))[:, 1:], "l", 2, 3),
        (sc.sym("l", 40).reshape((10, 4))[:, 2:], "l", 2, 4),
        (sc.sym("l", 40).reshape((2, 10, 2))[1], "l", 20, 2),
        (sc.sym("l", 2), "l", 0, 0),
        (sc.sym("l", 6).reshape((3, 2))[1], "l", 2, 0),
        (sc.window(sc.sym("l", 11), 0, 1), "l", 0, 1),
        ((sc.sym("l", 21), 1, 2), "l", 1, 2),
        (sc.broadcast(sc.sym("l", 5)), "l", 0, 0),
    ],
)
def test_windows(argument: Any, base: Any, start: int, stride: int) -> None:
    loop = sc.vmap(model, 10, [argument, US])
    assert (loop.attrs["starts"][0], loop.attrs["strides"][0]) == (start, stride)
    assert loop.args[0] is base if base is ZS else loop.args[0].name == base


@pytest.mark.parametrize(
    "argument",
    [
        sc.sym("l", 20).reshape((2, 10)).T,
        sc.sym("l", 20)[::-1],
        sc.sym("l", (10, 2)),
        sc.sym("l", 20).block().reshape((10, 2)),
        sc.sym("l", 20) * 2.0,
    ],
)
def test_what_is_not_evenly_spaced_is_flattened(argument: sc.Expr) -> None:
    loop = sc.vmap(model, 10, [argument, US])
    assert (loop.attrs["starts"][0], loop.attrs["strides"][0]) == (0, 2)
    assert loop.args[0].shape == (20,)
    flat = argument if argument.ndim == 1 else argument.vec()
    assert loop.args[0] is flat or loop.args[0].name == "l"


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: sc.vmap(cast(Any, abs), 10), TypeError, "takes a sc.Function, got a 'builtin_function_or_method'"),
        (lambda: sc.vmap(model, -1), ValueError, "the number of steps is -1"),
        (lambda: sc.vmap(model, cast(Any, 2.0)), TypeError, "the number of steps is an int, got 2.0"),
        (lambda: sc.vmap(model, 10)(ZS), TypeError, "model takes 2 arguments, got 1"),
        (lambda: sc.vmap(model, 10, [ZS]), TypeError, "model takes 2 arrays, got 1"),
        (lambda: sc.vmap(model, 10, [sc.sym("l", 19), US]), ValueError, "argument for 'z' has shape (19,)"),
        (lambda: sc.vmap(model, 10, [(ZS, 1, 2), US]), ValueError, "the window of 'z' ends at 21, past the 20 entries"),
        (lambda: sc.vmap(model, 10, [(ZS, -1, 2), US]), ValueError, "start -1 and stride 2; both are at least 0"),
        (lambda: sc.vmap(model, 10, [ZS, sc.cast(US, "int64")]), TypeError, "expected float64 for 'u', got int64"),
    ],
)
def test_errors_of_vmap(make: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error) as caught:
        make()
    assert words in str(caught.value)


@sc.function(sc.arg("c", ()), sc.arg("x", ()), outputs=sc.group(sc.arg("next"), sc.arg("y")))
def running(c: sc.Expr, x: sc.Expr) -> Any:
    return c + x, c * x


def _numbers(e: Any, **values: Any) -> Any:
    return sc.evaluate(e, {name: np.asarray(value, float) for name, value in values.items()}).tolist()


def test_scan() -> None:
    final, ys = sc.scan(running, 0.0, sc.sym("x", 4), length=4)
    assert _numbers(final, x=[1, 2, 3, 4]) == 10.0
    assert _numbers(ys, x=[1, 2, 3, 4]) == [0.0, 2.0, 9.0, 24.0]
    final, ys = sc.scan(running, (sc.const(1.0),), sc.sym("x", 4), length=4)
    assert isinstance(final, tuple)


def test_scan_without_steps() -> None:
    final, ys = sc.scan(running, 5.0, sc.sym("x", 0), length=0)
    assert _numbers(final, x=[]) == 5.0
    assert _numbers(ys, x=[]) == []


@pytest.mark.parametrize(("trip", "total"), [(-1, 0.0), (0, 0.0), (2, 3.0), (4, 10.0), (9, 10.0)])
def test_trip_is_clamped(trip: int, total: float) -> None:
    final, ys = sc.scan(running, 0.0, sc.sym("x", 4), length=4, trip=trip)
    assert _numbers(final, x=[1, 2, 3, 4]) == total
    assert len(_numbers(ys, x=[1, 2, 3, 4])) == 4


@sc.function(
    sc.arg("c", sc.TensorType((), "int64")),
    sc.arg("k", sc.TensorType((), "int64")),
    outputs=sc.group(sc.arg("next"), sc.arg("y")),
)
def visited(c: sc.Expr, k: sc.Expr) -> Any:
    return 10 * c + k, k


def test_a_loop_in_reverse_counts_down_and_stacks_in_place() -> None:
    final, ys = sc.scan(visited, 0, length=3, index=True, reverse=True)
    assert sc.evaluate(final, {}).tolist() == 210
    assert sc.evaluate(ys, {}).tolist() == [0, 1, 2]
    loop = final
    trajectory = sc.Expr("loop", loop.args, sc.TensorType(3, "int64", diff=False), attrs={**loop.attrs, "output": 3})
    assert sc.evaluate(trajectory, {}).tolist() == [21, 2, 0]  # slot 2 holds the initial value


@sc.function(sc.arg("c", ()), sc.arg("limit", ()), outputs=sc.arg("go"))
def below(c: sc.Expr, limit: sc.Expr) -> sc.Expr:
    return c < limit


@sc.function(sc.arg("c", ()), sc.arg("limit", ()), outputs=sc.arg("next"))
def doubled(c: sc.Expr, limit: sc.Expr) -> sc.Expr:
    return 2.0 * c


@pytest.mark.parametrize(("start", "final", "steps"), [(1.0, 16.0, 4), (10.0, 10.0, 0), (0.0, 0.0, 50)])
def test_while_loop(start: float, final: float, steps: int) -> None:
    carry, count = sc.while_loop(below, doubled, sc.sym("s"), max_iter=50, params=sc.const(10.0))
    assert count.type == sc.TensorType((), "int64", diff=False)
    assert _numbers(carry, s=start) == final
    assert _numbers(count, s=start) == steps
    assert carry.attrs["cond"] is below.node


def test_fori_loop() -> None:
    @sc.function(sc.arg("c", ()), sc.arg("k", sc.TensorType((), "int64")), sc.arg("w", 2))
    def step(c: sc.Expr, k: sc.Expr, w: sc.Expr) -> sc.Expr:
        return c * w[0] + sc.cast(k, "float64") * w[1]

    forward = sc.fori_loop(3, step, 1.0, params=sc.sym("w", 2))
    backward = sc.fori_loop(3, step, 1.0, params=sc.sym("w", 2), reverse=True)
    assert _numbers(forward, w=[2, 1]) == 8.0 + 0 + 2 + 2
    assert _numbers(backward, w=[2, 1]) == 8.0 + 8 + 2 + 0


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: sc.scan(running, 0.0, length=4), TypeError, "body 'running' takes 2 arrays"),
        (
            lambda: sc.scan(running, (0.0, 0.0), sc.sym("x", 4), length=4),
            TypeError,
            "takes 2 arrays, given are 2 carries",
        ),
        (
            lambda: sc.scan(running, sc.sym("c", 2), sc.sym("x", 4), length=4),
            ValueError,
            "has shape (), its initial value (2,)",
        ),
        (
            lambda: sc.scan(running, sc.sym("c", dtype="float32"), sc.sym("x", 4), length=4),
            TypeError,
            "convert it with sc.cast",
        ),
        (lambda: sc.scan(running, 0.0, sc.sym("x", 4), length=4, in_place=["q"]), ValueError, "no carry is called 'q'"),
        (lambda: sc.scan(running, 0.0, sc.sym("x", 4), length=4, in_place=[1]), ValueError, "in_place [1]"),
        (
            lambda: sc.scan(running, 0.0, sc.sym("x", 4), length=4, trip=sc.sym("t")),
            TypeError,
            "expected an int64 scalar",
        ),
        (lambda: sc.while_loop(doubled, doubled, 0.0, max_iter=3, params=1.0), ValueError, "does not give one bool"),
        (lambda: sc.while_loop(below, doubled, 0.0, max_iter=3), TypeError, "takes 2 arrays"),
    ],
)
def test_errors_of_loops(make: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error) as caught:
        make()
    assert words in str(caught.value)


@given(st.data())
def test_peeled_windows_hold_the_entries_of_the_view(data: st.DataObject) -> None:
    steps, size = data.draw(st.integers(1, 4)), data.draw(st.integers(1, 3))
    base = sc.sym("b", data.draw(st.integers(steps * size, 30)))
    view: sc.Expr = base
    start = data.draw(st.integers(0, base.size - steps * size))
    view = view[start:]
    rows = view.size // steps
    view = view[: rows * steps].reshape((steps, rows))
    if data.draw(st.booleans()) and steps > 1:
        view = view.T.reshape((steps, rows))
    first = data.draw(st.integers(0, rows - size))
    view = view[:: data.draw(st.sampled_from([1, -1])), first : first + size]
    found = windows_of(view, steps, size)
    values = {"b": np.arange(float(base.size))}
    flat = sc.evaluate(found.outer, values)
    windows = [flat[found.start + i * found.stride :][:size] for i in range(steps)]
    np.testing.assert_array_equal(np.array(windows), sc.evaluate(view, values))


def test_numbers_that_are_mapped_are_converted_as_those_of_a_call() -> None:
    us = np.zeros(10)
    whole = sc.vmap(model, 10)(np.arange(20), us)
    np.testing.assert_array_equal(whole, sc.vmap(model, 10)(np.arange(20.0), us))
    np.testing.assert_array_equal(sc.vmap(model, cast(Any, np.int64(10)))((np.arange(20.0), 0, 2), us), whole)
    with pytest.raises(TypeError, match="model: expected float64 for 'z', got complex128"):
        sc.vmap(model, 10)(np.zeros(20, complex), us)


def test_windows_may_be_spelled_out_in_both_forms() -> None:
    z = sc.sym("l", 21)
    called = sc.vmap(model, 10)((z, 1, 2), US)
    assert called.args[0] is sc.vmap(model, 10, [(z, np.int64(1), 2), US])
    with pytest.raises(TypeError, match=r"the start of a window is an int, got 1\.5"):
        sc.window(z, 1.5, 2)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="output 1 is out of range"):
        sc.vmap(model, 10, [z[1:], US], output=1)


def test_a_list_of_numbers_is_one_carry() -> None:
    @sc.function(sc.arg("c", 2))
    def twice(c: sc.Expr) -> sc.Expr:
        return 2.0 * c

    final, _ = sc.scan(twice, [1.0, 2.0], length=3)
    assert sc.evaluate(final, {}).tolist() == [8.0, 16.0]
