"""Operators as Python functions in the namespaces `prim`, `tirx`, `ops` and `T` (A6)."""

from __future__ import annotations

from typing import Any

import pytest

import scaly_ir as sc
from scaly_ir.namespaces import Namespace, destinations
from scaly_ir.op import Op
from scaly_ir.types import FLOAT32, INT32

pytestmark = pytest.mark.usefixtures("registry")


@pytest.fixture
def square() -> Op:
    op = Op.register("my_ext.square", "x times x.")
    op.set_signature(["x"], attrs={})
    op.set_attr("FInferType", lambda call: call.args[0].ty)
    return op


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("prim.sigmoid", ["prim.sigmoid", "T.sigmoid"]),
        ("prim.and", ["prim.and_", "T.and_"]),
        ("prim.a.b", ["prim.a.b", "T.a.b"]),
        ("tirx.masked_store", ["tirx.masked_store", "T.masked_store"]),
        ("tirx.cuda.block_idx", ["T.cuda.block_idx"]),
        ("tirx.cuda", ["tirx.cuda", "T.cuda"]),
        ("my_ext.square", ["ops.my_ext.square", "T.my_ext.square"]),
        ("my_ext.deep.for.x", ["ops.my_ext.deep.for_.x", "T.my_ext.deep.for_.x"]),
        ("while.is", ["ops.while_.is_", "T.while_.is_"]),
    ],
)
def test_destinations(name: str, expected: list[str]) -> None:
    assert destinations(name) == expected


def test_a_helper_is_published_once(square: Op) -> None:
    assert square.expose() == ["ops.my_ext.square", "T.my_ext.square"]
    assert square.expose() == []
    assert sc.ops.my_ext.square is sc.T.my_ext.square
    assert sc.T.my_ext.square.__name__ == "square"
    assert sc.T.my_ext.square.__doc__ == "x times x."
    assert dir(sc.T.my_ext) == ["square"]
    assert repr(sc.ops.my_ext) == "<namespace ops.my_ext>"


def test_shared_operators_are_there_from_the_start() -> None:
    assert sc.prim.sigmoid is sc.T.sigmoid
    assert sc.T.or_(True, False).op is Op.get("prim.or")
    assert sc.T.sigmoid(1.5).ty is FLOAT32
    assert Op.get("prim.sigmoid").expose() == []
    assert not hasattr(sc.T, "const")


def test_a_missing_name_is_an_attribute_error(square: Op) -> None:
    square.expose()
    with pytest.raises(AttributeError, match=r"namespace 'T.my_ext' has no 'sqare'; did you mean 'square'?"):
        sc.T.my_ext.sqare  # noqa: B018
    with pytest.raises(AttributeError):
        sc.prim.no_such  # noqa: B018


def test_a_signature_comes_first() -> None:
    with pytest.raises(ValueError, match=r"^my_ext\.plain: set_signature comes before expose$"):
        Op.register("my_ext.plain").expose()


def test_something_callable_in_the_way_is_kept(square: Op) -> None:
    def mine(x: Any) -> Any:
        return x

    holder = Namespace("T.my_ext")
    sc.T.my_ext = holder
    try:
        holder.square = mine
        assert square.expose() == ["ops.my_ext.square"]
        assert sc.T.my_ext.square is mine
    finally:
        del sc.T.my_ext


def test_something_else_in_the_way_is_a_value_error(square: Op) -> None:
    sc.T.my_ext = 3
    try:
        with pytest.raises(ValueError, match=r"'T.my_ext' is no namespace"):
            square.expose()
        assert not hasattr(sc.ops, "my_ext"), "nothing is published then"
    finally:
        del sc.T.my_ext
    square.expose()
    inner = Op.register("my_ext.square.inner")
    inner.set_signature()
    with pytest.raises(ValueError, match=r"'ops.my_ext.square' is no namespace"):
        inner.expose()
    whole = Op.register("ops_.my_ext")
    whole.set_signature()
    whole.expose()
    outer = Op.register("outer.my_ext.leaf")
    outer.set_signature()
    outer.expose()
    space = Op.register("outer.my_ext")
    space.set_signature()
    with pytest.raises(ValueError, match=r"'ops.outer.my_ext' is taken by <namespace ops.outer.my_ext>"):
        space.expose()


@pytest.mark.parametrize("name", ["my_ext.__class__", "my_ext.__dict__.f", "prim.__getattr__", "my_ext._path"])
def test_what_python_has_a_meaning_for_is_no_name(name: str) -> None:
    op = Op.register(name)
    op.set_signature(["x"])
    with pytest.raises(ValueError, match=rf"^{name}: '_\w+' is no name in a namespace$"):
        op.expose()
    assert not hasattr(sc.ops, "my_ext")


def test_names_that_only_look_like_those_of_python() -> None:
    op = Op.register("my_ext.mro")
    op.set_signature(["x"])
    assert op.expose() == ["ops.my_ext.mro", "T.my_ext.mro"]


def test_operands_by_position_and_keyword(square: Op) -> None:
    square.set_signature(["x", "y"], attrs={"axis": int})
    square.expose()
    f = sc.T.my_ext.square
    assert f(1, 2, axis=3) is f(1, y=2, axis=3) is f(y=2, x=1, axis=3) is f(1, 2, attrs={"axis": 3})
    assert [operand.attrs["value"] for operand in f(y=2, x=1).args] == [1, 2]
    assert dict(f(1, 2, axis=3).attrs) == {"axis": 3}
    assert f(1, 2, ty="float64").ty == "float64"
    assert f(1, 2, ty_args=["bool"]).attrs["ty_args"] == ("bool",)
    assert f(5, 6, loc="here").loc == "here"


@pytest.mark.parametrize(
    ("args", "keywords", "message"),
    [
        ((), {}, "my_ext.square: missing operand 'x'"),
        ((1,), {"x": 2}, "my_ext.square: multiple values for 'x'"),
        ((1,), {"z": 1}, "my_ext.square: unexpected keyword 'z'"),
        ((1, 2), {}, "my_ext.square expects 1 argument, got 2"),
        ((1,), {"attrs": {}, "axis": 1}, "my_ext.square: cannot mix attrs with attribute keywords"),
        (([],), {}, "my_ext.square: operand 0 is no expression but a 'list'"),
    ],
)
def test_what_does_not_bind_is_a_type_error(square: Op, args: Any, keywords: Any, message: str) -> None:
    square.expose()
    with pytest.raises(TypeError) as caught:
        sc.T.my_ext.square(*args, **keywords)
    assert str(caught.value) == message


def test_without_declared_attributes_any_keyword_is_one(square: Op) -> None:
    square.set_signature(["x"])
    square.expose()
    assert dict(sc.T.my_ext.square(1, z=[1, 2]).attrs) == {"z": (1, 2)}


def test_a_variadic_tail_is_given_by_position(square: Op) -> None:
    square.set_signature(["x"], var_args="rest")
    square.expose()
    assert len(sc.T.my_ext.square(1, 2, 3).args) == 3
    assert sc.T.my_ext.square(1).ty is INT32
    with pytest.raises(TypeError, match="missing operand 'x'"):
        sc.T.my_ext.square()


def test_the_helper_takes_nodes_of_any_dialect(square: Op) -> None:
    from scaly_ir.dialects.prog import build

    x = build.var("x")
    square.expose()
    assert sc.T.my_ext.square(x).args == (x,)
