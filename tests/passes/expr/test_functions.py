"""Mapping over the functions of a module: order, callees that change, and what stays the same object."""

from __future__ import annotations

import numpy as np
import pytest

import scaly_ir as sc
from scaly_ir.dialects.expr import ops
from scaly_ir.dialects.expr.functions import body_of, make_function, make_module, outputs_of
from scaly_ir.dialects.expr.substitution import with_outputs
from scaly_ir.graph import Node
from scaly_ir.pass_manager import build_pipeline, run_pipeline
from scaly_ir.passes import PASSES
from scaly_ir.passes.expr.functions import map_functions, map_operations

X = sc.sym("x")
ALL = ["simplify", "canonicalize", "cse", "simplify_cse", "dce", "inline", "unroll_loops", "print_stats"]


def run(root: Node, pipeline: str) -> Node:
    return run_pipeline(root, build_pipeline(pipeline, PASSES))


def function(name: str, output: sc.Expr) -> sc.Function:
    return sc.Function.from_exprs(name, [X], [output])


def test_functions_come_callees_first_on_what_their_callees_became() -> None:
    inner = function("inner", X.sin())
    outer = function("outer", inner(X) * 2.0)
    seen = []

    def negate(each: Node) -> Node:
        seen.append(each.attrs["name"])
        return with_outputs(each, [-outputs_of(each)[0]])

    made = map_functions(make_module([outer.node]), negate)
    negated = function("inner", -X.sin())
    assert seen == ["inner", "outer"]
    assert made is make_module([function("outer", -(negated(X) * 2.0)).node])


def test_callees_and_conditions_of_loops_move() -> None:
    step, go = function("step", X.sin() + 0), function("go", X + 0 > 0.5)
    loop = sc.while_loop(go, step, X, max_iter=20)[0]
    made = run(make_module([function("f", loop).node]), "simplify")
    names = {each.attrs["name"]: each for each in made.args}
    found = outputs_of(names["f"])[0]
    assert (found.attrs["callee"], found.attrs["cond"]) == (names["step"], names["go"])
    assert names["go"] is function("go", X > 0.5).node


def test_a_callee_without_derivative_takes_that_of_its_calls() -> None:
    inner = function("inner", X - X)
    made = run(make_module([function("outer", inner(X)).node]), "simplify")
    assert not outputs_of(made.args[-1])[0].type.diff


def test_each_operation_is_changed_once_on_changed_operands() -> None:
    shared = X.sin()
    seen = []

    def negate(node: Node) -> Node:
        seen.append(node)
        return node if node.op is ops.INPUT else -node

    made = map_operations(function("f", shared * shared).node, negate)
    assert len(seen) == 3
    assert outputs_of(made)[0] is -(-shared * -shared)


@pytest.mark.parametrize("name", ALL)
def test_nothing_to_do_gives_the_same_object(name: str) -> None:
    inner = function("inner", X.sin())
    module = make_module([function("f", sc.scan(inner, X, length=9)[0]).node])
    assert run(module, name) is module
    bare = module.with_attrs(bare=True)
    assert run(bare, name) is bare
    nothing = make_module([])
    assert run(nothing, name) is nothing


@pytest.mark.parametrize("name", ALL)
def test_undefined_callees_stay(name: str) -> None:
    attrs = {"cond": "go", "n_carry": 1, "length": 3, "starts": (), "strides": (), "index": False, "reverse": False}
    call = sc.Expr(ops.CALL, [X + X], X.type, attrs={"callee": "elsewhere", "output": 0})
    loop = sc.Expr(ops.LOOP, [call], X.type, attrs={"callee": "step", "in_place": (), "output": 0, **attrs})
    module = make_module([make_function("f", [X], [loop], ["f"])], bare=True)
    made = run(module, name)
    assert made.attrs["bare"]
    found = body_of(made.args[0])[-1]
    assert (found.attrs["callee"], found.attrs["cond"], found.args[0].attrs["callee"]) == ("step", "go", "elsewhere")


def test_a_bare_file_stays_bare() -> None:
    made = run(make_module([function("f", X + 0).node], bare=True), "simplify")
    assert made is make_module([function("f", X).node], bare=True)


def test_functions_that_become_equal_but_for_their_name_stay_apart() -> None:
    a, b = function("a", X + 0), function("b", X * 1)
    made = run(make_module([a.node, b.node]), "simplify")
    assert [each.attrs["name"] for each in made.args] == ["a", "b"]


def test_results_are_simplified_together() -> None:
    two = sc.Function.from_exprs("two", [X], [X.sin() + X, X + X.sin()])
    made = run(make_module([two.node]), "cse").args[0]
    assert outputs_of(made)[0] is outputs_of(made)[1]


@pytest.mark.parametrize("name", ALL)
def test_deep_call_chains_need_no_recursion(name: str) -> None:
    each = function("f0", X.sin() + 0)
    for number in range(1, 1000):
        each = function(f"f{number}", each(X) * 1.0)
    made = run(make_module([each.node]), name)
    assert len(made.args) == 1000
    value = sc.evaluate(list(outputs_of(run(made, "inline").args[-1])), {"x": np.float64(0.5)})
    np.testing.assert_allclose(value, [np.sin(0.5)])


@pytest.mark.parametrize("name", [*ALL, "simplify,cse,inline,unroll_loops,dce"])
def test_long_functions_need_no_recursion(name: str) -> None:
    e = X
    inner = function("inner", X.cos())
    for _ in range(3000):
        e = inner(e.sin())
    made = run(make_module([function("f", e).node]), name)
    assert len(body_of(made.args[-1])) == 6001
