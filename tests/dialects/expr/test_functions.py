"""What functions, calls and loops consist of (expression specification 2.7, 2.8)."""

from __future__ import annotations

import pytest

import scaly_ir as sc
from scaly_ir.dialects.expr.functions import invocation

X = sc.sym("x")


def test_one_call_has_many_results() -> None:
    pair = sc.Function.from_exprs("pair", [X], [X.sin(), X.cos()])
    a, b = pair(X)
    c, _ = pair(X + 1.0)
    assert a is not b
    assert invocation(a) == invocation(b) == invocation(a.block())
    assert invocation(a) != invocation(c)


@pytest.mark.parametrize(("key", "value"), [("length", 5), ("reverse", True), ("in_place", (0,)), ("starts", (1,))])
def test_one_loop_has_many_results_and_another_is_another(key: str, value: object) -> None:
    y = sc.sym("y", ())
    step = sc.Function.from_exprs("step", [X, y], [X.sin() + y])
    last = sc.scan(step, X, sc.window(sc.sym("ys", 6), 0, 1), length=4)[0]
    count = last.with_attrs(output=1)
    assert invocation(last) == invocation(count) == invocation(last.block())
    assert invocation(last) != invocation(last.with_attrs(**{key: value}))
