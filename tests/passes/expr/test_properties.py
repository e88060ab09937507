"""What must be true of every module after every pass on tensor functions, on random ones."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import assume, given, note

from scaly_ir.dialects.expr.evaluate import evaluate, evaluate_function
from scaly_ir.dialects.expr.functions import body_of, input_names_of, inputs_of, outputs_of
from scaly_ir.dialects.expr.spec import verify_expr
from scaly_ir.graph import Node
from scaly_ir.pass_manager import build_pipeline, run_pipeline
from scaly_ir.passes import PASSES
from tests.dialects.expr.growing import modules

Values = dict[str, np.ndarray[Any, Any]]

SINGLE = ["simplify", "cse", "simplify_cse", "inline", "unroll_loops", "dce"]
SEVERAL = ["inline,dce,simplify_cse", "unroll_loops,inline,dce", "unroll_loops,simplify_cse,inline,simplify_cse"]


def transformed(root: Node, pipeline: str) -> Node:
    return run_pipeline(root, build_pipeline(pipeline, PASSES))


def signature(function: Node) -> tuple[Any, ...]:
    """Return what no pass changes of a function: names, shapes, dtypes and patterns."""
    names = (function.attrs["name"], input_names_of(function), function.attrs["output_names"])
    values = (*inputs_of(function), *outputs_of(function))
    return *names, [(each.type.shape, each.type.dtype, each.type.pattern) for each in values]


def computed(root: Node, values: Values) -> list[np.ndarray[Any, Any]]:
    entry = root.args[-1]
    return evaluate_function(entry, [values[name] for name in input_names_of(entry)])


def all_is_finite(root: Node, values: Values) -> bool:
    """Tell whether everything is finite that is computed on the way, in functions and loops as well."""
    entry = transformed(root, "unroll_loops,inline").args[-1]
    nodes = body_of(entry)
    used = {node.attrs["name"]: values[node.attrs["name"]] for node in nodes if node in inputs_of(entry)}
    return all([np.isfinite(value).all() for value in evaluate(nodes, used)])


def check_close(after: np.ndarray[Any, Any], before: np.ndarray[Any, Any]) -> None:
    assert before.dtype == after.dtype
    if before.dtype.kind == "f":
        largest = max(1.0, *np.abs(before).flat, 0.0)
        np.testing.assert_allclose(after, before, rtol=1e-9, atol=1e-9 * largest)
    else:
        np.testing.assert_array_equal(after, before)


@given(case=modules())
def test_finite_values_stay(case: tuple[Node, Values]) -> None:
    root, values = case
    assume(all_is_finite(root, values))
    expected = computed(root, values)
    for pipeline in (*SINGLE, *SEVERAL):
        note(pipeline)
        for after, before in zip(computed(transformed(root, pipeline), values), expected, strict=True):
            check_close(after, before)


@given(case=modules())
def test_results_are_valid_and_fixed_points(case: tuple[Node, Values]) -> None:
    root, _ = case
    for pipeline in SINGLE:
        note(pipeline)
        after = transformed(root, pipeline)
        verify_expr(after.args)
        if pipeline != "dce":
            assert [signature(function) for function in after.args] == [signature(function) for function in root.args]
        assert transformed(after, pipeline) is after


@given(case=modules())
def test_a_flat_program_is_one_function(case: tuple[Node, Values]) -> None:
    root, _ = case
    after = transformed(root, "unroll_loops,inline,dce")
    assert [signature(function) for function in after.args] == [signature(root.args[-1])]
