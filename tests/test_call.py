"""Calls of operators: making them, checking them, and Python arithmetic on nodes (A4)."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import scaly_ir as sc
from scaly_ir.call import PRIM, Symbol, call_attr, const
from scaly_ir.dialects.prog import build
from scaly_ir.dialects.prog.printer import scalar_text
from scaly_ir.graph.expression import Arithmetic, declare_arithmetic
from scaly_ir.op import Op
from scaly_ir.signature import AttrSpec
from scaly_ir.types import BOOL, FLOAT32, FLOAT64, INT32, INT64, MISSING, STRING, MemRefType, MissingType, StringType

pytestmark = pytest.mark.usefixtures("registry")


@pytest.fixture
def square() -> Op:
    op = Op.register("my_ext.square", "x times x.")
    op.set_signature([("x", "A number.")])
    op.set_attr("FInferType", lambda call: call.args[0].ty)
    return op


X = build.var("x", FLOAT64)
N = build.var("n", INT64)
B = build.var("b", BOOL)


# --- making calls -----------------------------------------------------------------------------------------------------


def test_a_call_is_a_node_of_the_operator_itself(square: Op) -> None:
    call = sc.Call(square, [X], {"axis": 1})
    assert isinstance(call, sc.Node)
    assert (call.op, call.args, dict(call.attrs), call.ty) == (square, (X,), {"axis": 1}, FLOAT64)
    assert sc.Call("my_ext.square", (X,), {"axis": 1}) is call
    assert dict(sc.Call(square, [X]).attrs) == {}


def test_an_unknown_operator_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match=r"operator 'no.such' is not registered"):
        sc.Call("no.such", [X])


@pytest.mark.parametrize(
    ("value", "stored", "dtype"),
    [
        (True, 1, BOOL),
        (False, 0, BOOL),
        (3, 3, INT32),
        (-(2**31), -(2**31), INT32),
        (0.1, 0.10000000149011612, FLOAT32),
        (np.float64(2.5), 2.5, FLOAT32),
        ("x", "x", STRING),
    ],
)
def test_python_values_become_constants(square: Op, value: Any, stored: Any, dtype: Any) -> None:
    call = sc.Call(square, [value])
    (operand,) = call.args
    assert operand.op is Op.get("prim.const")
    assert operand.attrs["value"] == stored
    assert type(operand.attrs["value"]) is type(stored)
    assert operand.type is call.type is dtype


@pytest.mark.parametrize("value", [None, [1], {"a": 1}, object(), 1j, FLOAT32, b"x", np.int64(1)])
def test_anything_else_is_no_operand(square: Op, value: Any) -> None:
    with pytest.raises(TypeError, match=r"^my_ext\.square: operand 0 is no expression but a '"):
        sc.Call(square, [value])


def test_an_operator_is_no_operand(square: Op) -> None:
    operand: Any = square
    with pytest.raises(TypeError, match="operand 0 is no expression but a 'Op'"):
        sc.Call(square, [operand])


def test_operands_are_a_sequence(square: Op) -> None:
    for operands in ("abc", X):
        with pytest.raises(TypeError, match="the operands are a sequence, not one"):
            sc.Call(square, operands)  # type: ignore[arg-type]


def test_an_integer_has_to_fit(square: Op) -> None:
    with pytest.raises(ValueError, match="2147483648 does not fit int32"):
        sc.Call(square, [2**31])


def test_the_type_is_the_first_that_applies(square: Op) -> None:
    assert sc.Call(square, [1]).ty is INT32
    square.set_attr("TFixedReturnType", "int64")
    assert sc.Call(square, [1]).ty is INT64
    assert sc.Call(square, [1], ty="float64").ty is FLOAT64
    assert sc.Call(square, [1], ty=BOOL).ty is BOOL
    assert sc.Call(square, [1], ty=MissingType()).ty is MISSING
    plain = Op.register("my_ext.plain")
    assert sc.Call(plain, [1]).ty is MISSING
    memref = MemRefType((4,), FLOAT64)
    assert sc.Call(plain, ty=memref).ty is memref


def test_a_wrong_type_is_refused(square: Op) -> None:
    with pytest.raises(ValueError, match="unknown dtype 'float8'"):
        sc.Call(square, [1], ty="float8")
    with pytest.raises(TypeError, match="expected a type or the name of one, got 3"):
        sc.Call(square, [1], ty=3)


def test_what_a_type_rule_raises_is_raised(square: Op) -> None:
    with pytest.raises(IndexError):
        sc.Call(square, [])
    square.set_attr("FInferType", lambda call: None, override=True)
    with pytest.raises(TypeError, match="expected a type or the name of one, got None"):
        sc.Call(square, [1])


def test_a_type_rule_may_name_the_type(square: Op) -> None:
    square.set_attr("FInferType", lambda call: "bool", override=True)
    assert sc.Call(square, [1]).ty is BOOL


def test_calls_may_be_provisional(square: Op) -> None:
    call = sc.Call(square, [1, 2, 3], {"anything": "goes"})
    assert len(call.args) == 3
    assert sc.Call(square, [], ty="float32").ty is FLOAT32


def test_type_arguments_are_kept(square: Op) -> None:
    call = sc.Call(square, [1], ty_args=["float32", INT64])
    assert call.attrs["ty_args"] == (FLOAT32, INT64)
    assert "ty_args" not in sc.Call(square, [1], ty_args=[]).attrs


def test_a_place_is_no_part_of_identity(square: Op) -> None:
    call = sc.Call(square, [X], {"only": "here"}, loc="a.sir:1:2")
    assert call.loc == "a.sir:1:2"
    assert sc.Call(square, [X], {"only": "here"}, loc="b.sir:3:4") is call
    assert call.loc == "a.sir:1:2"
    assert sc.Call(square, [N]).loc is None


def test_a_function_is_called_by_its_symbol() -> None:
    call = sc.Call(Symbol("f"), [X, 1])
    assert call.op is Op.get("prim.call")
    assert call.attrs["callee"] == "f"
    assert call.ty is MISSING
    assert sc.side_effect(call) is sc.CallEffectKind.UpdateState
    sc.Call(Symbol("f"), [X, 1], ty="float64").validate()


def test_constants() -> None:
    assert const(2, "float64").attrs["value"] == 2.0
    assert const(True, BOOL).attrs["value"] == 1
    for value, dtype in ((1.5, INT32), (1, BOOL), (True, INT32), ("x", INT32), (1, STRING), (1, MISSING)):
        with pytest.raises(TypeError, match="is no value of type"):
            const(value, dtype)


def test_types_without_parameters_are_single_objects() -> None:
    import copy
    import pickle

    assert MissingType() is MISSING
    assert StringType() is STRING
    assert (str(MISSING), str(STRING)) == ("!missing", "string")
    assert pickle.loads(pickle.dumps(MISSING)) is MISSING
    assert copy.deepcopy(STRING) is STRING


# --- checking calls ---------------------------------------------------------------------------------------------------


def _fails(call: sc.Node, message: str) -> None:
    with pytest.raises(TypeError) as caught:
        call.validate()
    assert str(caught.value) == message


def test_a_valid_call_passes(square: Op) -> None:
    sc.Call(square, [X]).validate()


def test_operand_counts(square: Op) -> None:
    _fails(sc.Call(square, [], ty="float32"), "my_ext.square expects 1 argument, got 0")
    _fails(sc.Call(square, [X, X]), "my_ext.square expects 1 argument, got 2")
    square.set_signature(["x", "y"])
    _fails(sc.Call(square, [X]), "my_ext.square expects 2 arguments, got 1")
    square.set_signature([])
    _fails(sc.Call(square, [X]), "my_ext.square expects 0 arguments, got 1")
    square.set_signature(["x", "y"], var_args="rest")
    _fails(sc.Call(square, [X]), "my_ext.square expects at least 2 arguments, got 1")
    for count in (2, 3, 9):
        sc.Call(square, [X] * count).validate()


def test_operands_are_expressions(square: Op) -> None:
    store = build.store(build.view("y", 0, FLOAT64), X)
    for statement in (store, build.param("y", 4), build.view("y", 0, FLOAT64), build.range_("i", 0, 4)):
        _fails(sc.Call(square, [statement]), "my_ext.square argument 'x' is not an expression")
    square.set_signature([], var_args="rest")
    _fails(sc.Call(square, [X, store]), "my_ext.square argument 'rest' is not an expression")
    plain = Op.register("my_ext.plain")
    _fails(sc.Call(plain, [X, store], ty="bool"), "my_ext.plain argument '1' is not an expression")
    region = Op.register("my_ext.region")
    region.set_attr("FRegionGetBodyParams", lambda call: [])
    _fails(sc.Call(plain, [sc.Call(region)], ty="bool"), "my_ext.plain argument '0' is not an expression")


def test_attributes(square: Op) -> None:
    square.set_signature(["x"], attrs={"axis": int, "keep": AttrSpec(bool, default=False)})
    sc.Call(square, [X], {"axis": 1}).validate()
    sc.Call(square, [X], {"axis": 1, "keep": True}).validate()
    _fails(sc.Call(square, [X]), "my_ext.square missing attribute 'axis'")
    _fails(sc.Call(square, [X], {"axis": 1, "k": 2}), "my_ext.square unexpected attribute 'k'")
    _fails(sc.Call(square, [X], {"axis": "1"}), "my_ext.square attribute 'axis' expects int, got str")
    _fails(sc.Call(square, [X], {"axis": True}), "my_ext.square attribute 'axis' expects int, got bool")
    _fails(sc.Call(square, [X], {"axis": 1, "keep": 0}), "my_ext.square attribute 'keep' expects bool, got int")
    square.set_signature(["x"], attrs={})
    _fails(sc.Call(square, [X], {"axis": 1}), "my_ext.square unexpected attribute 'axis'")
    _fails(sc.Call(square, [X], ty_args=["bool"]), "my_ext.square unexpected attribute 'ty_args'")
    square.set_signature(["x"], ty_args=["T"], attrs={})
    sc.Call(square, [X], ty_args=["bool"]).validate()


def test_an_attribute_that_is_left_out_counts_as_its_default(square: Op) -> None:
    square.set_signature(["x"], attrs={"axis": int, "keep": AttrSpec(bool, default=False)})
    call = sc.Call(square, [X], {"axis": 1})
    assert "keep" not in call.attrs
    assert (call_attr(call, "axis"), call_attr(call, "keep"), call_attr(call, "other")) == (1, False, None)


def test_without_a_signature_a_call_may_have_anything() -> None:
    plain = Op.register("my_ext.plain")
    sc.Call(plain, [X, N, B], {"anything": "goes"}, ty="bool").validate()


def test_a_call_needs_a_type() -> None:
    _fails(sc.Call(Op.register("my_ext.plain"), [X]), "my_ext.plain has no result type")


def test_the_operators_own_checks_come_last(square: Op) -> None:
    square.set_attr("FVerify", lambda call: [("positive", "is negative"), ("even", "is odd")])
    call = sc.Call(square, [X])
    with pytest.raises(sc.VerifyError, match="failed rule 'positive': is negative") as caught:
        call.validate()
    assert (caught.value.rule, caught.value.reason, caught.value.node) == ("positive", "is negative", call)
    square.set_attr("FVerify", lambda call: (), override=True)
    call.validate()


@pytest.mark.parametrize(
    ("name", "operands", "rule", "reason"),
    [
        ("add", (N, X), "bin-dtype", "operand types int64 and float64 differ"),
        ("floordiv", (X, X), "bin-class", "floordiv needs integers, got float64"),
        ("sub", (B, B), "bin-class", "sub needs integers or floats, got bool"),
        ("lt", (B, X), "bin-dtype", "operand types bool and float64 differ"),
        ("and", (B, N), "logic-bool", "operand has type int64"),
        ("isfinite", (N,), "bin-class", "isfinite needs floats, got int64"),
        ("select", (X, X, X), "select-types", "condition has type float64"),
        ("select", (B, N, X), "select-types", "branch types int64 and float64 differ"),
    ],
)
def test_the_shared_operators_check_their_operands(
    name: str, operands: tuple[sc.Node, ...], rule: str, reason: str
) -> None:
    with pytest.raises(sc.VerifyError) as caught:
        sc.Call(f"prim.{name}", operands).validate()
    assert (caught.value.rule, caught.value.reason) == (rule, reason)


@pytest.mark.parametrize(
    ("name", "operands", "dtype"),
    [
        ("add", (N, N), INT64),
        ("exp", (X,), FLOAT64),
        ("lt", (X, X), BOOL),
        ("eq", (B, B), BOOL),
        ("not", (B,), BOOL),
        ("isfinite", (X,), BOOL),
        ("select", (B, X, X), FLOAT64),
    ],
)
def test_the_shared_operators_give_their_type(name: str, operands: tuple[sc.Node, ...], dtype: Any) -> None:
    call = sc.Call(f"prim.{name}", operands)
    call.validate()
    assert call.ty is dtype


def test_a_conversion_states_its_type() -> None:
    sc.Call("prim.cast", [X], ty="int32").validate()
    with pytest.raises(sc.VerifyError, match=r"a conversion to bool is written ne\(x, 0\)"):
        sc.Call("prim.cast", [X], ty="bool").validate()
    _fails(sc.Call("prim.cast", [X]), "prim.cast has no result type")


# --- arithmetic -------------------------------------------------------------------------------------------------------

Y = build.var("y", FLOAT64)
M = build.var("m", INT64)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (X + Y, "prog.add(%x, %y)"),
        (X - Y, "prog.sub(%x, %y)"),
        (X * Y, "prog.mul(%x, %y)"),
        (X / Y, "prog.div(%x, %y)"),
        (N // M, "prog.floordiv(%n, %m)"),
        (N % M, "prog.floormod(%n, %m)"),
        (X < Y, "prog.lt(%x, %y)"),
        (X <= Y, "prog.le(%x, %y)"),
        (X > Y, "prog.lt(%y, %x)"),
        (X >= Y, "prog.le(%y, %x)"),
        (-X, "prog.neg(%x)"),
        (X + 1, "prog.add(%x, 1)"),
        (1 - X, "prog.sub(1, %x)"),
        (2 * N, "prog.mul(2, %n)"),
        (1.5 / X, "prog.div(1.5, %x)"),
        (7 // N, "prog.floordiv(7, %n)"),
        (7 % N, "prog.floormod(7, %n)"),
        (X > 1, "prog.lt(1, %x)"),
        (operator.gt(1, X), "prog.lt(%x, 1)"),
        (operator.le(0, N), "prog.le(0, %n)"),
        (np.float64(2.5) * X, "prog.mul(2.5, %x)"),
        (X.astype("float32"), "prog.cast(%x, float32)"),
        (N.astype(BOOL), "prog.ne(%n, 0)"),
        (X.astype(FLOAT64), "%x"),
        (B < True, "prog.lt(%b, 1)"),
        (sc.elementwise("exp", X), "prog.exp(%x)"),
        (sc.elementwise("select", X < 1, 0, X), "prog.select(prog.lt(%x, 1), 0, %x)"),
        (sc.elementwise("select", B, X, 2), "prog.select(%b, %x, 2)"),
        (sc.elementwise("minimum", 3, N), "prog.minimum(3, %n)"),
        (sc.elementwise("and", B, True), "prog.and(%b, 1)"),
    ],
)
def test_python_arithmetic_builds_operations_of_the_dialect(value: sc.Node, text: str) -> None:
    assert scalar_text(value) == text


def test_a_literal_takes_the_type_of_the_other_operand() -> None:
    single = build.var("s", FLOAT32)
    assert (single + 0.1).args[1].type is FLOAT32
    assert (N * 2).args[1].type is INT64
    assert (single * 2).args[1].attrs["value"] == 2.0


@pytest.mark.parametrize(
    ("build_it", "message"),
    [
        (lambda: N + 1.5, "1.5 is no value of type int64"),
        (lambda: X + True, "True is no value of type float64"),
        (lambda: B < 1, "1 is no value of type bool"),
        (lambda: X + N, "operands of 'prog.add' have types float64, int64"),
        (lambda: N / M, "'/' needs floating operands, got int64; '//' rounds down"),
        (lambda: N / 2, "'/' needs floating operands"),
        (lambda: X // Y, "'prog.floordiv' does not accept float64"),
        (lambda: operator.add(X, "1"), "unsupported operand"),
        (lambda: operator.add([1], X), None),
        (lambda: operator.lt(X, "1"), "not supported between"),
        (lambda: bool(X), "a node has no truth value"),
        (lambda: X > 1 < X, "a node has no truth value"),
        (lambda: build.view("y", 0, FLOAT64) + 1, "'prog.view' is no value to compute with"),
        (lambda: build.store(build.view("y", 0, FLOAT64), X) * 2, "'prog.store' is no value to compute with"),
        (lambda: sc.elementwise("exp", "x"), "an operand of 'exp' is neither a node nor a number"),  # type: ignore[arg-type]
        (lambda: sc.elementwise("exp", 1.0), "no operand of 'exp' is a node"),
        (lambda: sc.elementwise("exp", X, X), "expects 1 argument, got 2"),
    ],
)
def test_what_does_not_fit_is_a_type_error(build_it: Callable[[], Any], message: str | None) -> None:
    with pytest.raises(TypeError, match=message):
        build_it()


def test_an_unknown_operation_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError):
        sc.elementwise("no_such", X)


def test_nodes_compare_by_identity() -> None:
    again = build.var("x", FLOAT64)
    assert (again == X) is True
    assert (X != Y) is True
    assert X.same_as(build.var("x", FLOAT64))
    assert not X.same_as(Y)
    assert hash(X) == hash(build.var("x", FLOAT64))


def test_a_registered_operator_takes_the_dialect_of_its_operands(square: Op) -> None:
    call = sc.Call(square, [sc.Call(square, [X])])
    assert scalar_text(call * 2) == "prog.mul(my_ext.square(my_ext.square(%x)), 2)"
    assert (call + 1).op is Op.get("prog.add")


def test_a_long_chain_of_registered_operators_takes_no_recursion(square: Op) -> None:
    call = X
    for _ in range(20_000):
        call = sc.Call(square, [call])
    assert (call * call).op is Op.get("prog.mul")


def test_values_of_no_dialect_are_combined_by_the_shared_operators(square: Op) -> None:
    call = sc.Call(square, [2.5])
    product = call * 3
    assert product.op is Op.get("prim.mul")
    assert product.args[1] is const(3, FLOAT32)
    assert (call < 1).type is BOOL
    assert call.astype("int32").op is Op.get("prim.cast")
    assert call.astype("bool").op is Op.get("prim.ne")
    with pytest.raises(TypeError, match=r"prim\.add: operand types float32 and int32 differ"):
        call + sc.Call(square, [1])
    with pytest.raises(TypeError, match=r"prim\.floordiv: floordiv needs integers, got float32"):
        call // call


def test_dialects_do_not_mix(square: Op) -> None:
    leaf = Op.register("toy.leaf")
    value = sc.Call(leaf, ty="float64")
    declare_arithmetic("toy", Arithmetic(const, lambda name, *operands: operands[0], PRIM.cast))
    assert (value + 1) is value
    with pytest.raises(TypeError, match="a value of dialect 'prog' cannot be combined with one of 'toy'"):
        X + value


def test_numpy_leaves_arithmetic_to_the_node() -> None:
    with pytest.raises(TypeError):
        operator.add(np.zeros(3), X)
