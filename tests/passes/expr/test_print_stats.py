"""Counting operations: what takes floating-point operations and how many."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import scaly_ir as sc
from scaly_ir.dialects.expr import ops
from scaly_ir.dialects.expr.functions import inputs_of, make_function, make_module
from scaly_ir.graph import Node, postorder
from scaly_ir.passes.expr.print_stats import PrintStats
from scaly_ir.prim import register_elementwise
from scaly_ir.remarks import collect_remarks

X, Y, A = sc.sym("x", 3), sc.sym("y", 3), sc.sym("A", (4, 3))
N, B, S = sc.sym("n", 3, dtype="int64"), sc.sym("b", 3, dtype="bool_"), sc.sym("s")


def remarks(*functions: Node) -> list[str]:
    """Return what is remarked on the functions of a module."""
    module = make_module(functions)
    with collect_remarks() as said:
        assert PrintStats().run(module) is module
    return [each.message for each in said]


def flops(e: Any) -> str:
    """Return what is said of the floating-point operations of a function with one result."""
    formals = [node for node in postorder(e) if node.op is ops.INPUT]
    return remarks(make_function("f", formals, [e], ["f"]))[-1].rpartition("), ")[2]


@pytest.mark.parametrize(
    ("e", "count"),
    [
        (X, 0),
        (X + Y, 3),
        (-X, 3),
        (abs(X), 3),
        (X.sin(), 3),
        (X**2, 3),
        (sc.atan2(X, Y), 3),
        (sc.minimum(X, Y), 3),
        (X + A, 12),
        (S * S, 1),
        (N + N, 0),
        (N // N, 0),
        (X < Y, 0),
        (sc.isfinite(X), 0),
        (sc.where(B, X, Y), 0),
        (~B, 0),
        (sc.cast(N, "float64"), 0),
        (A.sum(), 12),
        (A.sum(0), 12),
        (A.max(), 0),
        (N.sum(), 0),
        (A @ X, 24),
        (X @ Y, 6),
        (A.T @ A, 72),
        (sc.sym("T", (5, 2, 3)) @ X, 60),
        (N @ N, 0),
        (A.T.reshape(12)[1:], 0),
        (sc.stack([X, Y]), 0),
        (sc.gather(X, [0, 1]), 0),
        (sc.index_add(X, [0, 1], Y[:2]), 0),
        (sc.cast(X, "float32") + 1.0, 3),
        ((X + Y) * (X + Y), 6),
        (sc.sym("e", 0).sin(), 0),
    ],
)
def test_what_an_operation_takes(e: Any, count: int) -> None:
    assert flops(e) == f"{count} flop{'s' if count != 1 else ''}"


@pytest.mark.usefixtures("registry")
def test_operators_of_third_parties_count_and_are_called_by_their_names() -> None:
    register_elementwise("hypotenuse", 2, FNumpy=np.hypot)
    e = sc.elementwise("hypotenuse", X, Y)
    assert flops(e) == "3 flops"


def test_calls_take_what_their_callees_take() -> None:
    inner = sc.Function.from_exprs("inner", [X], [X.sin(), X + 1.0])
    a, b = inner(X)
    c, _ = inner(Y)
    entry = sc.Function.from_exprs("f", [X, Y], [a + b + c])
    assert remarks(entry.node) == [
        "@inner: 4 operations (1 add, 1 const, 1 input, 1 sin), 6 flops",
        "@f: 7 operations (2 add, 3 call, 2 input), 18 flops",
    ]


def test_loops_take_their_body_for_each_step() -> None:
    inner = sc.Function.from_exprs("inner", [S], [S.sin()])
    outer = sc.Function.from_exprs("outer", [S], [sc.scan(inner, S, length=1000)[0] * 2.0])
    entry = sc.Function.from_exprs("f", [S], [sc.scan(outer, S, length=2000)[0]])
    assert [each.rpartition("), ")[2] for each in remarks(entry.node)] == ["1 flop", "1,001 flops", "2,002,000 flops"]


def test_a_condition_takes_nothing_that_is_counted() -> None:
    step = sc.Function.from_exprs("step", [S], [S.sin()])
    go = sc.Function.from_exprs("go", [S], [S * S > 0.5])
    entry = sc.Function.from_exprs("f", [S], [sc.while_loop(go, step, S, max_iter=7)[0]])
    assert remarks(entry.node)[-1].endswith("(1 input, 1 loop), 7 flops")


def test_numbers_beyond_reading_are_not_spelled() -> None:
    each = sc.Function.from_exprs("f0", [S], [S.sin()])
    for number in range(1, 600):  # 10**5391, which Python refuses to spell
        each = sc.Function.from_exprs(f"f{number}", [S], [sc.scan(each, S, length=10**9)[0]])
    said = remarks(each.node)
    assert said[1].endswith("1,000,000,000 flops")
    assert said[2].endswith("over 10**18 flops")
    assert said[-1].endswith("over 10**18 flops")


def test_names_are_spelled_as_text_spells_them() -> None:
    x = sc.sym("fwd:x")
    function = sc.Function.from_exprs("my fn", [x], [x])
    assert inputs_of(function.node) == (x,)
    assert remarks(function.node) == ['@"my fn": 1 operation (1 input), 0 flops']
