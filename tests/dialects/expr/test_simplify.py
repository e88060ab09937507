"""Simplification beyond its identities: constants and hints; merging; and what holds for any graph."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import scaly_ir as sc
from scaly_ir.dialects.expr import ops
from scaly_ir.dialects.expr import simplify as simplify_module
from scaly_ir.dialects.expr.build import make
from scaly_ir.dialects.expr.simplify import simplify_cse_many, simplify_many
from scaly_ir.graph import postorder
from scaly_ir.prim import register_elementwise
from tests.dialects.expr.graphs import graphs, values
from tests.dialects.expr.written import GRAPHS, INF, NAN, full, kept, lines, rows, written

# --- constants --------------------------------------------------------------------------------------------------------


@rows("""
    sc.const(INF) * 0 -> sc.const(0.0)
    sc.const(NAN) * 0 -> sc.const(0.0)
    sc.const(INF) - sc.const(INF) -> sc.const(0.0)
    sc.const(NAN) ** 0 -> sc.const(1.0)
    sc.const(0.0) + sc.const(0.0) -> sc.const(0.0)
    sc.const(2.0) + 3.0 -> sc.const(5.0)
    sc.const(7.0) / 2.0 -> sc.const(3.5)
    sc.const(INF) / sc.const(2.0) -> sc.const(INF)
    sc.const([1.0, 2.0]) * sc.const([[3.0], [4.0]]) -> sc.const([[3.0, 6.0], [4.0, 8.0]])
    sc.const(np.float32(0.1)) + np.float32(0.2) -> sc.const(np.float32(0.1) + np.float32(0.2))
    sc.const(4.0).sqrt() -> sc.const(2.0)
    sc.const(1.0).exp() -> sc.const(np.exp(1.0))
    sc.const(1.0) < 2.0 -> sc.const(np.True_)
    ~sc.const(np.True_) -> sc.const(np.False_)
    sc.isfinite(sc.const(NAN)) -> sc.const(np.False_)
    sc.minimum(sc.const(NAN), 1.0) -> sc.const(1.0)
    sc.where(sc.const([True, False], dtype="bool_"), sc.const([1.0, 2.0]), 3.0) -> sc.const([1.0, 3.0])
    sc.const(np.arange(6.0)).reshape(2, 3) -> sc.const(np.arange(6.0).reshape(2, 3))
    sc.const(np.arange(6.0).reshape(2, 3)).T -> sc.const(np.arange(6.0).reshape(2, 3).T)
    sc.const(np.arange(6.0))[::-2] -> sc.const(np.arange(6.0)[::-2])
    sc.const(np.arange(6.0)).sum() -> sc.const(15.0)
    sc.const(np.arange(6.0)).max() -> sc.const(5.0)
    sc.const(np.zeros(0)).sum() -> sc.const(0.0)
    sc.const([1.0, 2.0]) @ sc.const([3.0, 4.0]) -> sc.const(11.0)
    sc.stack([sc.const(1.0), sc.const(2.0)]) -> sc.const([1.0, 2.0])
    sc.concat([sc.const([1.0]), sc.const([2.0])]) -> sc.const([1.0, 2.0])
    sc.gather(sc.const([5.0, 6.0]), [1, 0]) -> sc.const([6.0, 5.0])
    sc.gather(sc.const([5.0, 6.0]), [1, 2], mode="fill") -> sc.const([6.0, 0.0])
    sc.index_add(sc.const([5.0, 6.0]), [1, 1], [1.0, 2.0]) -> sc.const([5.0, 9.0])
    sc.index_set(sc.const([5.0, 6.0]), [1, 1], [1.0, 2.0]) -> sc.const([5.0, 2.0])
    sc.cast(sc.const([2.9, -2.9]), "int64") -> sc.const(np.array([2, -2]))
    sc.cast(sc.const(0.1), "float32") -> sc.const(np.float32(0.1))
    sc.cast(sc.const(np.int64(2**40 + 5)), "int32") -> sc.const(np.int32(5))
    sc.cast(sc.const([NAN, 0.0, -0.0]), "bool_") -> sc.const(np.array([True, False, False]))
    sc.const(np.int64(2**63 - 1)) + 1 -> sc.const(np.int64(-(2**63)))
    sc.const(np.int32(2**31 - 1)) * 2 -> sc.const(np.int32(-2))
    -sc.const(np.int64(-(2**63))) -> sc.const(np.int64(-(2**63)))
    sc.const(np.int64(-7)) // 2 -> sc.const(np.int64(-4))
    sc.const(np.int64(-7)) % 2 -> sc.const(np.int64(1))
    sc.const(np.int64(-(2**63))) // -1 -> sc.const(np.int64(-(2**63)))
    sc.const(np.full(3, 2**62)).sum() -> sc.const(np.int64(-(2**62)))
    sc.argmax(sc.const([1.0, NAN, 3.0])) -> sc.const(np.int64(1))
    x + (sc.const(1.0) + 2.0) -> x + 3.0
""")
def test_constants_are_evaluated(before: str, after: str) -> None:
    assert sc.simplify(written(before)) is written(after)


@lines("""
    sc.const(NAN)
    sc.const(INF)
    sc.const(1.0) / sc.const([1.0, 0.0])
    sc.const(-1.0).sqrt()
    sc.const(0.0).log()
    sc.const(1000.0).exp()
    sc.const(1e308) * 10.0
    sc.const([1e308, 1e308]).sum()
    sc.const([1e308]) @ sc.const([10.0])
    sc.const(INF) + sc.const(-INF)
    sc.const(-8.0) ** 0.5
    sc.const(np.int64(5)) // 0
    sc.const(np.int64(5)) % 0
    sc.cast(sc.const([0.0, NAN]), "int64")
    sc.cast(sc.const(INF), "int32")
    sc.cast(sc.const(2.0**63), "int64")
    sc.cast(sc.const(1e39), "float32")
    full(1.0, (65, 1)) + full(2.0, (1, 64))
    full(1.0, (65, 1)) @ full(2.0, (1, 64))
""")
def test_constants_without_a_plain_value_stay(text: str) -> None:
    kept(written(text))


def test_a_large_constant_is_evaluated_when_it_is_no_larger_than_its_operands() -> None:
    big = np.arange(5000.0)
    assert sc.simplify(sc.const(big) + 1.0) is sc.const(big + 1.0)
    assert sc.simplify(sc.const(big).reshape(50, 100).T) is sc.const(big.reshape(50, 100).T)
    assert sc.simplify(full(1.0, (64, 1)) + full(2.0, (1, 64))) is full(3.0, (64, 64))
    kept(full(1.0, (65, 1)) + full(2.0, (1, 64)))


def test_a_quotient_of_zeros_is_not_matched_but_evaluated() -> None:
    assert sc.simplify(sc.const(0.0) / 2.0) is sc.const(0.0)
    assert sc.simplify(sc.const(0.0) / -2.0) is sc.const(-0.0)
    assert sc.simplify(sc.const(2.0) / sc.const(2.0)) is sc.const(1.0)
    kept(sc.const(INF) / sc.const(INF))


def test_inputs_calls_and_loops_are_never_evaluated() -> None:
    z = sc.sym("z", 3)
    twice = sc.Function.from_exprs("twice", [z], [z * 2.0])
    ones = full(1.0, 3)
    call = twice(ones)
    kept(call)
    loop, _ = sc.scan(twice, ones, length=2)
    kept(loop)
    assert sc.simplify(twice(ones + ones)) is twice(full(2.0, 3))  # but what they are applied to is


def test_edge_case_16_of_the_specification() -> None:
    x = sc.sym("x", 4)
    assert sc.simplify(0 / x + x / x) is full(1.0, 4)
    values = sc.evaluate(0 / x + x / x, {"x": np.array([0.0, NAN, INF, 2.0])})
    assert np.array_equal(values, [NAN, NAN, NAN, 1.0], equal_nan=True)


# --- hints ------------------------------------------------------------------------------------------------------------


def test_a_replacement_takes_over_the_strongest_hint() -> None:
    x, y = GRAPHS["x"], GRAPHS["y"]
    assert sc.simplify((x - -y).block()) is (x + y).block()
    assert sc.simplify((x + -y).scalar()) is (x - y).scalar()
    assert sc.simplify((x.sin().scalar() + 0).block()) is x.sin().block()
    assert sc.simplify((x.sin() * 1).scalar()) is x.sin().scalar()
    assert sc.simplify(x.sin().block() * 1) is x.sin().block()
    assert sc.simplify((x - x).block()) is full(0.0, 3).block()
    assert sc.simplify((sc.const(1.0) + 2.0).block()) is sc.const(3.0).block()
    assert sc.simplify(x.sin().block().reshape(3)) is x.sin().block()


def test_a_reshape_carries_the_hint_of_an_input() -> None:
    x = GRAPHS["x"]
    carried = x.reshape(3).block()
    assert sc.simplify((x + 0).block()) is carried
    assert sc.simplify((x * 1).scalar()) is x.reshape(3).scalar()
    kept(carried)
    assert sc.simplify(carried + 0) is carried
    assert sc.simplify((x.reshape(3, 1).reshape(3)).block()) is carried
    assert sc.simplify(x.block() + 0) is x.block()


def test_a_hint_on_a_sparse_input_is_dropped_as_it_has_no_reshape() -> None:
    pattern = sc.SparsityPattern((2, 2), [0, 1], [0, 1])
    x = sc.Expr(ops.INPUT, (), sc.TensorType((2, 2), pattern=pattern), name="x")
    assert sc.simplify((x / 1.0).block()) is x


# --- merging ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["{} + {}", "{} * {}", "sc.equal({}, {})", "sc.not_equal({}, {})"])
def test_operands_of_commutative_operations_are_merged(text: str) -> None:
    one, other = written(text.format("x", "y")), written(text.format("y", "x"))
    assert one is not other
    assert sc.cse_many([one, other]) == [one, one]
    assert sc.cse(one) is one
    assert sc.cse(other) is other


def test_logic_is_merged() -> None:
    b, c = GRAPHS["b"], GRAPHS["c"]
    assert sc.cse_many([b & c, c & b]) == [b & c, b & c]
    assert sc.cse_many([b | c, c | b]) == [b | c, b | c]


def test_order_matters_elsewhere() -> None:
    x, y = GRAPHS["x"], GRAPHS["y"]
    for pair in (
        [sc.minimum(x, y), sc.minimum(y, x)],
        [sc.maximum(x, y), sc.maximum(y, x)],
        [x - y, y - x],
        [x / y, y / x],
        [x < y, y < x],
        [sc.atan2(x, y), sc.atan2(y, x)],
    ):
        assert sc.cse_many(pair) == pair


def test_merging_goes_upwards_and_keeps_what_comes_first() -> None:
    x, y = GRAPHS["x"], GRAPHS["y"]
    first = ((x + y) * 2.0).sin()
    assert sc.cse_many([first, (2.0 * (y + x)).sin()]) == [first, first]
    assert sc.cse((x + y) - (y + x)) is (x + y) - (x + y)
    merged = sc.cse(sc.stack([x * y + x, x + y * x]))
    assert merged is sc.stack([x * y + x, x * y + x])


def test_other_hints_and_other_operands_are_not_merged() -> None:
    x, y, s = GRAPHS["x"], GRAPHS["y"], GRAPHS["s"]
    for pair in ([x + y, (y + x).block()], [x + y, x + s], [x + x, x + y]):
        assert sc.cse_many(pair) == pair


@pytest.mark.usefixtures("registry")
def test_a_commutative_operator_of_three_operands_counts_them() -> None:
    register_elementwise("median", 3, TCommutative=True, FNumpy=lambda x, y, z: x)
    x, y = GRAPHS["x"], GRAPHS["y"]
    op = sc.Op.get("expr.median")
    one, same, other = (make(op, args) for args in ([x, x, y], [x, y, x], [x, y, y]))
    assert sc.cse_many([one, same, other]) == [one, one, other]


# --- the interface ----------------------------------------------------------------------------------------------------


def test_one_expression_or_several_come_back_as_they_were_given() -> None:
    x = GRAPHS["x"]
    for function in (sc.simplify, sc.cse, sc.simplify_cse):
        assert function(x) is x
        assert function([x]) == [x]
        assert function((x, x)) == (x, x)
        assert function([]) == []


def test_simplify_cse_alternates() -> None:
    x, y = GRAPHS["x"], GRAPHS["y"]
    before = (x + y) - (y + x)  # a difference of equals only when the sums are merged
    kept(before)
    assert sc.simplify_cse(before) is full(0.0, 3)
    assert sc.simplify_cse([x * y / (y * x), x + 0]) == [full(1.0, 3), x]


def test_simplify_cse_stops_after_some_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = GRAPHS["x"], GRAPHS["y"]
    monkeypatch.setattr(simplify_module, "ROUNDS", 1)
    before = ((x + y) - (y + x)).cos()
    once = sc.simplify_cse(before)
    assert once is ((x + y) - (x + y)).cos()
    assert sc.simplify_cse(once) is full(1.0, 3)


def test_a_long_chain() -> None:
    e: Any = sc.sym("x")
    for _ in range(20_000):
        e = (e + 0).sin() * 1
    made = sc.simplify(e)
    assert (len(postorder(e)), len(postorder(made))) == (60_003, 20_001)
    assert sc.cse(made) is made
    assert sc.simplify_cse(made) is made


# --- any graph --------------------------------------------------------------------------------------------------------


@given(es=graphs())
def test_shape_dtype_and_validity_stay_and_a_second_run_changes_nothing(es: list[Any]) -> None:
    work: Any
    for work in (simplify_many, sc.cse_many, simplify_cse_many):
        made: list[Any] = work(es)
        sc.verify_expr(made)
        assert [(after.shape, after.dtype) for after in made] == [(before.shape, before.dtype) for before in es]
        assert work(made) == made


@given(es=graphs(), seed=st.integers(0, 2**32 - 1))
def test_merging_changes_no_value(es: list[Any], seed: int) -> None:
    rng = np.random.default_rng(seed)
    inputs = [node for node in postorder(*es) if node.op is ops.INPUT]
    arrays = {node.attrs["name"]: values(rng, str(node.dtype), node.type.shape) for node in inputs}
    for after, before in zip(sc.evaluate(sc.cse_many(es), arrays), sc.evaluate(es, arrays), strict=True):
        np.testing.assert_array_equal(after, before)
