"""Inlining: simultaneous substitution, several outputs, hints, loops, chains, and calls that stay."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pytest

import scaly_ir as sc
from scaly_ir.dialects.expr import ops
from scaly_ir.dialects.expr.functions import body_of, make_function, make_module
from scaly_ir.dialects.expr.substitution import substitute_inputs
from scaly_ir.graph import Node
from scaly_ir.passes.expr import inline as inline_module
from scaly_ir.passes.expr.inline import Inline

X, Y = sc.sym("x"), sc.sym("y")


def inlined(function: sc.Function) -> Node:
    """Return the entry of a module of one function and all it calls, without calls."""
    return Inline().run(make_module([function.node])).args[-1]


def test_operands_are_substituted_all_at_once() -> None:
    swap = sc.Function.from_exprs("swap", [X, Y], [X - Y, X / Y])
    first, second = swap(Y, X + Y)
    entry = inlined(sc.Function.from_exprs("f", [X, Y], [first, second]))
    assert entry.args[:2] == (Y - (X + Y), Y / (X + Y))


def test_what_is_substituted_is_not_looked_into() -> None:
    sine = sc.Function.from_exprs("sine", [X], [X.sin()])
    assert inlined(sc.Function.from_exprs("f", [X], [sine(sine(X.cos()))])).args[0] is X.cos().sin().sin()


def test_an_output_may_be_an_input_or_need_none() -> None:
    passing = sc.Function.from_exprs("passing", [X, Y], [Y, sc.const(2.0)])
    given, number = passing(Y, X)
    assert inlined(sc.Function.from_exprs("f", [X, Y], [given + number])).args[0] is X + 2.0
    constant = sc.Function.from_exprs("constant", [], [sc.const(3.0)])
    entry = inlined(sc.Function.from_exprs("f", [X], [X * constant.symbolic_call()]))
    assert entry.args[0] is X * 3.0


def test_the_stronger_hint_stays() -> None:
    sine = sc.Function.from_exprs("sine", [X], [X.sin().scalar(), X.cos().block(), X])
    a, b, c = sine(Y)
    entry = inlined(sc.Function.from_exprs("f", [Y], [a.block(), b.scalar(), c.scalar(), a], output_names=list("abcd")))
    reshaped = Y.reshape(()).scalar()
    assert entry.args[:4] == (Y.sin().block(), Y.cos().block(), reshaped, Y.sin().scalar())


def test_names_and_inputs_that_nothing_reads_stay() -> None:
    sine = sc.Function.from_exprs("sine", [X, Y], [X.sin()])
    function = sc.Function.from_exprs("f", [X, Y], [sine(Y, X)], output_names=["out"])
    assert inlined(function) is sc.Function.from_exprs("f", [X, Y], [Y.sin()], output_names=["out"]).node


def test_a_module_without_calls_is_the_same_object() -> None:
    step = sc.Function.from_exprs("step", [X], [X.sin()])
    loop = sc.Function.from_exprs("f", [X], [sc.scan(step, X, length=3)[0]])
    module = make_module([loop.node])
    assert Inline().run(module) is module


def test_bodies_and_conditions_of_loops_are_inlined_themselves() -> None:
    sine = sc.Function.from_exprs("sine", [X], [X.sin()])
    step = sc.Function.from_exprs("step", [X], [sine(X) * 2.0])
    go = sc.Function.from_exprs("go", [X], [sine(X) > 0.5])
    function = sc.Function.from_exprs("f", [X], [sc.while_loop(go, step, X, max_iter=3)[0]])
    loop = body_of(inlined(function))[-1]
    assert loop.attrs["callee"] is sc.Function.from_exprs("step", [X], [X.sin() * 2.0]).node
    assert loop.attrs["cond"] is sc.Function.from_exprs("go", [X], [X.sin() > 0.5]).node


def test_a_call_of_what_is_not_defined_stays() -> None:
    call = sc.Expr(ops.CALL, [X], X.type, attrs={"callee": "elsewhere", "output": 0})
    module = make_module([make_function("f", [X], [call], ["f"])], bare=True)
    assert Inline().run(module) is module


def test_results_of_one_call_are_substituted_together(monkeypatch: pytest.MonkeyPatch) -> None:
    substituted = []

    def counting(roots: Sequence[Node], values: Mapping[Node, Node]) -> list[Node]:
        substituted.append(len(roots))
        return substitute_inputs(roots, values)

    monkeypatch.setattr(inline_module, "substitute_inputs", counting)
    three = sc.Function.from_exprs("three", [X], [X.sin(), X.cos(), X.exp()])
    a, b, c = three(Y)
    inlined(sc.Function.from_exprs("f", [Y], [a + b + c]))
    assert substituted == [3]


def test_what_calls_share_stays_shared() -> None:
    level = sc.Function.from_exprs("level0", [X], [X.sin()])
    for number in range(1, 40):  # as a tree, 2**40 sines
        level = sc.Function.from_exprs(f"level{number}", [X], [level(X) + level(X)])
    assert len(body_of(inlined(level))) == 2 + 39


@pytest.mark.parametrize("depth", [1000])
def test_a_chain_of_calls(depth: int) -> None:
    function = sc.Function.from_exprs("f0", [X], [X + 1.0])
    for number in range(1, depth):
        function = sc.Function.from_exprs(f"f{number}", [X], [function(X) + 1.0])
    entry = inlined(function)
    assert len(body_of(entry)) == depth + 2
    assert sc.evaluate(entry.args[0], {"x": np.float64(0.0)}) == depth


def test_a_function_that_would_become_too_large_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inline_module, "MOST", 1_000)
    x = sc.sym("x")
    function = sc.Function.from_exprs("g0", [x], [x.sin()])
    for level in range(1, 40):
        function = sc.Function.from_exprs(f"g{level}", [x], [function(function(x))])
    # g(k) has 2**k operations and an input; two of them go into the next.
    with pytest.raises(sc.PassError, match=r"^@g10 would become more than 1,000 operations$"):
        Inline().run(make_module([function.node]))
