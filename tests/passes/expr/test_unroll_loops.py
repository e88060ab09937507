"""Unrolling loops: every result of every kind of loop, and those that stay."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import scaly_ir as sc
from scaly_ir.dialects.expr import ops
from scaly_ir.dialects.expr.build import make
from scaly_ir.dialects.expr.evaluate import evaluate_function
from scaly_ir.dialects.expr.functions import body_of, make_module
from scaly_ir.dialects.expr.spec import verify_expr
from scaly_ir.graph import Node
from scaly_ir.passes.expr.unroll_loops import UnrollLoops


def unrolled(function: sc.Function, max_length: int = 8) -> Node:
    """Return the entry of a module of one function, its loops unrolled."""
    entry = UnrollLoops(max_length).run(make_module([function.node])).args[-1]
    verify_expr(entry)
    return entry


def counts(function: Node) -> tuple[int, int]:
    """Return how many calls and loops a function has."""
    found = [node.op for node in body_of(function)]
    return found.count(ops.CALL), found.count(ops.LOOP)


def body(index: bool) -> sc.Function:
    """Return a body with two carries, a scalar and a matrix, and two slices, a matrix and a scalar."""
    p, q, k = sc.sym("p"), sc.sym("q", (2, 2)), sc.sym("k", dtype="int64")
    u, v = sc.sym("u", (2, 2)), sc.sym("v")
    step = sc.cast(k, "float64") if index else sc.const(1.5)
    outputs = [p * v + step, q @ u - p, u.T + v, p > v, k + 1 if index else sc.const(np.int64(7))]
    return sc.Function.from_exprs("body", [p, q, *([k] if index else []), u, v], outputs)


def loops(function: sc.Function, inits: list[Any], outers: list[Any], **attrs: Any) -> list[Any]:
    """Return every result of a loop."""
    shared = {"callee": function.node, "cond": None, "n_carry": len(inits), "in_place": (), **attrs}
    ys = len(function.outputs) - len(inits)
    return [make(ops.LOOP, [*inits, *outers], {**shared, "output": at}) for at in range(2 * len(inits) + ys + 1)]


@pytest.mark.parametrize("index", [False, True])
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize(
    ("length", "strides"), [(0, (4, 1)), (1, (4, 1)), (3, (4, 1)), (4, (2, 0)), (5, (0, 2)), (8, (1, 1))]
)
def test_every_result_stays(index: bool, reverse: bool, length: int, strides: tuple[int, int]) -> None:
    p, q, us, vs = sc.sym("p"), sc.sym("q", (2, 2)), sc.sym("us", 20), sc.sym("vs", 12)
    windows = {"starts": (3, 1), "strides": strides, "length": length, "index": index, "reverse": reverse}
    results = loops(body(index), [p, q], [us, vs], **windows)
    function = sc.Function.from_exprs("f", [p, q, us, vs], results)
    entry = unrolled(function)
    assert counts(entry)[1] == 0
    assert counts(entry)[0] <= 5 * length
    rng = np.random.default_rng(length)
    arrays = [rng.normal(size=formal.shape) for formal in function.inputs]
    for after, before in zip(evaluate_function(entry, arrays), evaluate_function(function.node, arrays), strict=True):
        assert (after.dtype, after.shape) == (before.dtype, before.shape)
        np.testing.assert_array_equal(after, before)


def test_results_of_one_loop_share_their_calls() -> None:
    c, xs = sc.sym("c"), sc.sym("xs", 4)
    step = sc.Function.from_exprs("step", [c, sc.sym("x")], [c + sc.sym("x"), c * 2.0])
    (carry,), ys = sc.scan(step, (c,), xs, length=4)
    entry = unrolled(sc.Function.from_exprs("f", [c, xs], [carry, ys]))
    assert counts(entry) == (8, 0)


def test_a_map_has_no_carry() -> None:
    z = sc.sym("z", 2)
    twice = sc.Function.from_exprs("twice", [z], [z * 2.0])
    zs = sc.sym("zs", (3, 2))
    flat = zs.vec()
    entry = unrolled(sc.Function.from_exprs("f", [zs], [sc.vmap(twice, 3, [flat])]))
    assert entry.args[0] is sc.concat([twice(flat[0:2]), twice(flat[2:4]), twice(flat[4:6])])


def test_a_window_of_all_entries_is_the_operand() -> None:
    c, w = sc.sym("c", 2), sc.sym("w", 2)
    step = sc.Function.from_exprs("step", [c, w], [c * w])
    y, _ = sc.scan(step, c, sc.broadcast(w), length=2)
    assert unrolled(sc.Function.from_exprs("f", [c, w], [y])).args[0] is step(step(c, w), w)


def test_loops_in_bodies_are_unrolled() -> None:
    c = sc.sym("c")
    inner = sc.Function.from_exprs("inner", [c], [c.sin()])
    outer = sc.Function.from_exprs("outer", [c], [sc.scan(inner, c, length=2)[0]])
    entry = sc.Function.from_exprs("f", [c], [sc.scan(outer, c, length=20)[0]])
    made = UnrollLoops().run(make_module([entry.node]))
    assert [counts(each) for each in made.args] == [(0, 0), (2, 0), (0, 1)]
    assert body_of(made.args[2])[-1].attrs["callee"] is made.args[1]


@pytest.mark.parametrize("max_length", [0, 1, 2, 3])
def test_the_option_is_the_most_steps(max_length: int) -> None:
    c = sc.sym("c")
    step = sc.Function.from_exprs("step", [c], [c.sin()])
    results = [sc.scan(step, c, length=length)[0] for length in range(4)]
    entry = unrolled(sc.Function.from_exprs("f", [c], results, output_names=list("abcd")), max_length)
    assert counts(entry) == (max_length, 3 - max_length)


def test_what_has_a_condition_or_a_trip_count_stays() -> None:
    c, n = sc.sym("c"), sc.sym("n", dtype="int64")
    step = sc.Function.from_exprs("step", [c], [c.sin()])
    go = sc.Function.from_exprs("go", [c], [c > 0.5])
    ended = sc.while_loop(go, step, c, max_iter=3)[0]
    stopped = sc.scan(step, c, length=3, trip=n)[0]
    module = make_module([sc.Function.from_exprs("f", [c, n], [ended, stopped]).node])
    assert UnrollLoops().run(module) is module


def test_a_hint_goes_to_what_a_result_becomes() -> None:
    c = sc.sym("c")
    step = sc.Function.from_exprs("step", [c], [c.sin()])
    y, _ = sc.scan(step, c, length=2)
    assert unrolled(sc.Function.from_exprs("f", [c], [y.block()])).args[0] is step(step(c)).block()
    z, _ = sc.scan(step, c, length=0)
    assert unrolled(sc.Function.from_exprs("f", [c], [z.block()])).args[0] is c.reshape(()).block()


def test_sparse_carries_are_stacked_densely() -> None:
    pattern = sc.SparsityPattern((2, 2), [0, 1], [1, 0])
    s = sc.Expr(ops.INPUT, (), sc.TensorType((2, 2), pattern=pattern), name="s")
    step = sc.Function.from_exprs("step", [s], [s * 2.0])
    final, trajectory = (
        loops(step, [s], [], length=2, starts=(), strides=(), index=False, reverse=False)[at] for at in (0, 2)
    )
    function = sc.Function.from_exprs("f", [s], [final, trajectory])
    entry = unrolled(function)
    assert counts(entry) == (2, 0)
    array = [np.array([[0.0, 2.0], [3.0, 0.0]])]
    for after, before in zip(evaluate_function(entry, array), evaluate_function(function.node, array), strict=True):
        np.testing.assert_array_equal(after, before)


def test_the_greatest_length_is_no_negative_number() -> None:
    with pytest.raises(sc.PipelineError, match="max_length is -1, expected at least 0") as caught:
        sc.run_passes(sc.parse("expr.module {}"), "unroll_loops{max_length=-1}")
    assert caught.value.text[caught.value.start : caught.value.end] == "-1"
