"""Folding single operations: each identity, what must stay, and that values do (lowering specification 2.2)."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import scaly_ir as sc
from scaly_ir.dialects.prog import build, ops
from scaly_ir.effects import CallEffectKind
from scaly_ir.folding import FOLD, Folder, constant_value
from scaly_ir.graph import Node, toposort
from scaly_ir.graph.rewrite import AfterOperands, graph_rewrite
from scaly_ir.graph.walk import topovisit
from scaly_ir.identities import IDENTITIES
from scaly_ir.numeric.evaluate import evaluate_node
from scaly_ir.numeric.machine import NotExact, Value
from scaly_ir.op import Op
from scaly_ir.types import BOOL, FLOAT32, FLOAT64, INT32, INT64, DType, int_range


def fold(root: Node, *, trees: bool = True) -> Node:
    return graph_rewrite(root, AfterOperands(FOLD), ctx=Folder(IDENTITIES, trees=trees, constants_first=True))


def _value(text: str, dtype: str) -> Node:
    """Read a scalar over the variables ``%x``, ``%y`` and the condition ``%b``."""
    kind = "bool" if dtype == "bool" else dtype
    module = sc.parse(
        "prog.module { prog.proc @f("
        f"%X: memref<1x{'int64' if kind == 'bool' else kind}>, %B: memref<1xbool>, %R: memref<1x{kind}>) {{\n"
        f"%x = prog.assign prog.load %X[0] : {'int64' if kind == 'bool' else kind} {{declare=True}}\n"
        f"%y = prog.assign prog.load %X[0] : {'int64' if kind == 'bool' else kind} {{declare=True}}\n"
        "%b = prog.assign prog.load %B[0] : bool {declare=True}\n"
        f"prog.store {text}, %R[0] : {kind} }} }}"
    )
    store = module.args[0].args[-1]
    value: Node = store.args[1]
    return value


_READS_ALIKE = {
    "x + x": ("prog.add(%x, %x)", "prog.mul(2, %x)"),
    "x + 0": ("prog.add(%x, 0)", "%x"),
    "0 + x": ("prog.add(0, %x)", "%x"),
    "x + -y": ("prog.add(%x, prog.neg(%y))", "prog.sub(%x, %y)"),
    "-x + y": ("prog.add(prog.neg(%x), %y)", "prog.sub(%y, %x)"),
    "x - x": ("prog.sub(%x, %x)", "0"),
    "x - 0": ("prog.sub(%x, 0)", "%x"),
    "0 - y": ("prog.sub(0, %y)", "prog.neg(%y)"),
    "x - -y": ("prog.sub(%x, prog.neg(%y))", "prog.add(%x, %y)"),
    "x * 0": ("prog.mul(%x, 0)", "0"),
    "0 * x": ("prog.mul(0, %x)", "0"),
    "x * 1": ("prog.mul(%x, 1)", "%x"),
    "1 * x": ("prog.mul(1, %x)", "%x"),
    "x * -1": ("prog.mul(%x, -1)", "prog.neg(%x)"),
    "-1 * x": ("prog.mul(-1, %x)", "prog.neg(%x)"),
    "-x * -y": ("prog.mul(prog.neg(%x), prog.neg(%y))", "prog.mul(%x, %y)"),
    "-x * y": ("prog.mul(prog.neg(%x), %y)", "prog.neg(prog.mul(%x, %y))"),
    "x * -y": ("prog.mul(%x, prog.neg(%y))", "prog.neg(prog.mul(%x, %y))"),
    "x / x": ("prog.div(%x, %x)", "1"),
    "0 / y": ("prog.div(0, %y)", "0"),
    "x / 1": ("prog.div(%x, 1)", "%x"),
    "-(-x)": ("prog.neg(prog.neg(%x))", "%x"),
    "select true": ("prog.select(1, %x, %y)", "%x"),
    "select false": ("prog.select(0, %x, %y)", "%y"),
    "select alike": ("prog.select(%b, %x, %x)", "%x"),
    "constants": ("prog.mul(prog.add(2, 3), prog.sub(1, 4))", "-15"),
}
_FLOAT = {
    "-x / y": ("prog.div(prog.neg(%x), %y)", "prog.neg(prog.div(%x, %y))"),
    "x / -y": ("prog.div(%x, prog.neg(%y))", "prog.neg(prog.div(%x, %y))"),
    "-x / -y": ("prog.div(prog.neg(%x), prog.neg(%y))", "prog.div(%x, %y)"),
    "x ** 0": ("prog.pow(%x, 0)", "1"),
    "1 ** y": ("prog.pow(1, %y)", "1"),
    "x ** 1": ("prog.pow(%x, 1)", "%x"),
    "x ** 2": ("prog.pow(%x, 2)", "prog.mul(%x, %x)"),
    "x + -0.0": ("prog.add(%x, -0.0)", "%x"),
    "known inf * 0": ("prog.mul(inf, 0)", "prog.mul(inf, 0)"),
    "0 / 0": ("prog.div(0, 0)", "prog.div(0, 0)"),
    "1 / 0": ("prog.div(1, 0)", "prog.div(1, 0)"),
    "sqrt(-1)": ("prog.sqrt(-1)", "prog.sqrt(-1)"),
    "exp(1000)": ("prog.exp(1000)", "prog.exp(1000)"),
    "nan": ("prog.add(nan<0x7ff8000000000001>, 1)", "nan<0x7ff8000000000001>"),
    "x - y": ("prog.sub(%x, %y)", "prog.sub(%x, %y)"),
    "no reciprocal": ("prog.div(%x, 3)", "prog.div(%x, 3)"),
    "no reassociation": ("prog.add(prog.add(%x, 1), 2)", "prog.add(prog.add(%x, 1), 2)"),
    "expensive squared": ("prog.pow(prog.sin(%x), 2)", "prog.pow(prog.sin(%x), 2)"),
}
_INTEGER = {
    "x // 1": ("prog.floordiv(%x, 1)", "%x"),
    "0 // x": ("prog.floordiv(0, %x)", "0"),
    "x % 1": ("prog.floormod(%x, 1)", "0"),
    "0 % x": ("prog.floormod(0, %x)", "0"),
    "x % x": ("prog.floormod(%x, %x)", "0"),
    "mod 1": ("prog.mod(%x, 1)", "0"),
    "0 mod x": ("prog.mod(0, %x)", "0"),
    "x // x stays": ("prog.floordiv(%x, %x)", "prog.floordiv(%x, %x)"),
    "-x // 2 stays": ("prog.floordiv(prog.neg(%x), 2)", "prog.floordiv(prog.neg(%x), 2)"),
    "-x / 2 stays": ("prog.div(prog.neg(%x), 2)", "prog.div(prog.neg(%x), 2)"),
    "division by zero stays": ("prog.div(1, 0)", "prog.div(1, 0)"),
    "5 // 0": ("prog.floordiv(5, 0)", "0"),
    "-7 // 2": ("prog.floordiv(-7, 2)", "-4"),
    "-7 / 2": ("prog.div(-7, 2)", "-3"),
    "wraps": ("prog.add(9223372036854775807, 1)", "-9223372036854775808"),
    "cast to its own type": ("prog.cast(%x, int64)", "%x"),
    "cast that has no result": ("prog.cast(prog.const(nan, float64), int64)",) * 2,
}
_BOOL = {
    "not not": ("prog.not(prog.not(%b))", "%b"),
    "compare": ("prog.lt(prog.const(1, int64), prog.const(2, int64))", "1"),
    "not constant": ("prog.lt(%x, %x)", "prog.lt(%x, %x)"),
}


def _cases() -> Iterator[Any]:
    for dtype, table in (
        ("float64", {**_READS_ALIKE, **_FLOAT}),
        ("int64", {**_READS_ALIKE, **_INTEGER}),
        ("float32", _READS_ALIKE),
        ("int32", _READS_ALIKE),
        ("bool", _BOOL),
    ):
        for name, (before, after) in table.items():
            yield pytest.param(before, after, dtype, id=f"{name} ({dtype})")


@pytest.mark.parametrize(("before", "after", "dtype"), list(_cases()))
def test_each_identity(before: str, after: str, dtype: str) -> None:
    assert fold(_value(before, dtype)) is _value(after, dtype)


def test_float32_constants_are_rounded_to_float32() -> None:
    third = build.apply("div", build.const(1.0, FLOAT32), build.const(3.0, FLOAT32))
    assert fold(third) is build.const(0.3333333432674408, FLOAT32)


def test_nothing_is_written_twice_that_is_large() -> None:
    x = build.var("x", FLOAT64)
    power = x
    for _ in range(40):  # as a tree of products: 2**40 of them
        power = build.apply("pow", power, build.const(2, FLOAT64))
    folded = fold(power)
    assert len(toposort(folded)) < 60
    assert fold(power, trees=False).op is Op.get("prog.mul")
    text = {build.var("x", FLOAT64): 1}
    for node in toposort(folded):
        text[node] = 1 + sum([text[operand] for operand in node.args])
    assert text[folded] < 200


@pytest.mark.parametrize(
    "combine",
    [operator.sub, operator.add, lambda x, _: x * 0, lambda x, _: 0 * x, lambda x, _: -x * 2 + -x],
    ids=["x - x", "x + x", "x * 0", "0 * x", "signs"],
)
@pytest.mark.parametrize("kind", CallEffectKind)
def test_what_changes_state_is_neither_dropped_nor_merged(combine: Any, kind: CallEffectKind) -> None:
    with sc.registry_scope():
        sc.Op.register("t.draw").set_signature()
        sc.Op.get("t.draw").set_attr("TCallEffectKind", kind)
        value = sc.Call("t.draw", ty="float64")
        with_dialect = combine(*[sc.Call("t.draw", [build.const(1.0, FLOAT64)], ty="float64")] * 2)
        assert value.op is with_dialect.op or (fold(with_dialect) is with_dialect) is (kind > CallEffectKind.ReadState)


def test_a_folder_of_an_operator_comes_first_and_sees_constants() -> None:
    seen = []

    def own(call: Node, consts: list[Any]) -> Node | None:
        seen.append(consts)
        return call.args[0] if consts[1] == 3 else None

    with sc.registry_scope():
        op = sc.register_elementwise("t_shift", 2, FFold=own, FNumpy=lambda x, y: x + 10 * y)
        x, one, three = build.var("x"), build.index(1), build.index(3)
        assert fold(sc.Call("prog.t_shift", [x, three])) is x
        assert fold(sc.Call("prog.t_shift", [one, three])) is one
        assert fold(sc.Call("prog.t_shift", [one, one])) is build.index(11)
        assert fold(sc.Call("prog.t_shift", [x, one])) is sc.Call("prog.t_shift", [x, one])
        assert op.name == "prim.t_shift"
    assert seen == [[None, 3], [1, 3], [1, 1], [None, 1]]


def test_an_impure_operator_on_constants_is_not_evaluated() -> None:
    with sc.registry_scope():
        sc.register_elementwise("t_roll", 1, FNumpy=lambda x: x, TCallEffectKind=CallEffectKind.ReadState)
        call = sc.Call("prog.t_roll", [build.index(1)])
        assert fold(call) is call


# --- values stay ------------------------------------------------------------------------------------------------------

_BINARY = ("add", "sub", "mul")
_INTEGERS = (*_BINARY, "div", "mod", "floordiv", "floormod", "minimum", "maximum")


def _leaves(dtype: DType) -> st.SearchStrategy[Node]:
    numbers = [0, 1, -1, 2, 3]
    if dtype.is_int:
        numbers += [int_range(dtype)[0], int_range(dtype)[-1]]
    constants = st.sampled_from(numbers).map(lambda value: build.const(value, dtype))
    return constants | st.sampled_from("xyz").map(lambda name: build.var(name, dtype))


def _expressions(dtype: DType) -> st.SearchStrategy[Node]:
    names = _INTEGERS if dtype.is_int else (*_BINARY, "div", "minimum")

    def grow(inner: st.SearchStrategy[Node]) -> st.SearchStrategy[Node]:
        def alike(name: str, operand: Node) -> Node:
            return build.apply(name, operand, operand)

        conditions = st.builds(partial(build.apply, "lt"), inner, inner)
        return (
            st.builds(build.apply, st.sampled_from(names), inner, inner)
            | st.builds(alike, st.sampled_from(names), inner)
            | inner.map(partial(build.apply, "neg"))
            | st.builds(partial(build.apply, "select"), conditions, inner, inner)
        )

    return st.recursive(_leaves(dtype), grow, max_leaves=8)


def _evaluate(root: Node, env: Mapping[str, Value]) -> Value:
    values: dict[Node, Value] = {}

    def visit(node: Node) -> Value:
        if node.op is ops.VAR:
            return env[node.attrs["name"]]
        constant: Value | None = constant_value(node)
        if constant is not None:
            return constant
        return evaluate_node(node, [values[operand] for operand in node.args])

    return topovisit(root, visit, values)


@pytest.mark.parametrize("dtype", [INT32, INT64], ids=str)
@given(data=st.data())
def test_integers_keep_their_value(dtype: DType, data: st.DataObject) -> None:
    root = data.draw(_expressions(dtype))
    low, high = int_range(dtype)[0], int_range(dtype)[-1]
    number = st.sampled_from([0, 1, -1, 2, 7, low, low + 1, high]) | st.integers(low, high)
    env = {name: data.draw(number) for name in "xyz"}
    try:
        before = _evaluate(root, env)
    except NotExact:
        assume(False)
    folded = fold(root)
    assert _evaluate(folded, env) == before
    assert fold(folded) is folded


@given(data=st.data())
def test_real_numbers_keep_their_value(data: st.DataObject) -> None:
    root = data.draw(_expressions(FLOAT64))
    env = {name: data.draw(st.sampled_from([0.5, -1.5, 3.0, 7.25, -0.125])) for name in "xyz"}
    try:
        before = _evaluate(root, env)
    except NotExact:
        assume(False)
    folded = fold(root)
    assert fold(folded) is folded
    # What stands for a division by zero, such as 1 / (x - x), is one afterwards as well.
    assert math.isclose(_evaluate(folded, env), before, rel_tol=1e-9, abs_tol=1e-9)


def test_a_long_chain() -> None:
    value = build.var("x", FLOAT64)
    zero, one = build.const(0.0, FLOAT64), build.const(1.0, FLOAT64)
    for _ in range(50_000):
        value = build.apply("mul", build.apply("add", value, zero), one)
    assert fold(value) is build.var("x", FLOAT64)
    assert fold(build.const(1, BOOL)) is build.const(1, BOOL)
