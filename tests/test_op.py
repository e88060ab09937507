"""The operator registry: operators, signatures, attributes of any key, and taking registrations back (A1, A3)."""

from __future__ import annotations

import copy
import pickle
import re
from typing import Any

import pytest

import scaly_ir as sc
from scaly_ir import op_attributes
from scaly_ir.attributes import Word
from scaly_ir.op import CallEffectKind, Op, OpAttrMap, register_op_attr, registry_scope
from scaly_ir.signature import ArgInfo, AttrSpec
from scaly_ir.types import FLOAT32, FLOAT64, INT32, DType, MemRefType

pytestmark = pytest.mark.usefixtures("registry")


@pytest.fixture
def square() -> Op:
    return Op.register("my_ext.square", "x times x.")


# --- operators --------------------------------------------------------------------------------------------------------


def test_an_operator_starts_with_an_empty_signature_and_no_attributes(square: Op) -> None:
    assert (square.name, square.doc) == ("my_ext.square", "x times x.")
    assert (square.dialect, square.mnemonic) == ("my_ext", "square")
    assert square.args_info == ()
    assert square.var_args_info is None
    assert square.attr_specs is None
    assert not square.has_signature
    assert square.list_attrs() == []
    assert Op.register("my_ext.cube").doc == ""


def test_there_is_one_operator_of_a_name(square: Op) -> None:
    assert Op.get("my_ext.square") is square
    assert copy.copy(square) is square
    assert copy.deepcopy([square])[0] is square
    assert pickle.loads(pickle.dumps(square)) is square
    assert repr(square) == "Op(my_ext.square)"


def test_an_operator_is_made_by_register_alone() -> None:
    with pytest.raises(RuntimeError):
        Op()


def test_a_name_is_registered_once(square: Op) -> None:
    with pytest.raises(AttributeError, match=r"operator 'my_ext.square' is already registered"):
        Op.register("my_ext.square")


@pytest.mark.parametrize(
    "name", ["square", "", ".", "my_ext.", ".square", "my ext.square", "1.x", "a..b", "a.b-c", "a.é"]
)
def test_a_bad_name_is_a_value_error(name: str) -> None:
    with pytest.raises(ValueError, match="is no operator name"):
        Op.register(name)


@pytest.mark.parametrize("name", ["a.b", "_a._b", "tirx.cuda.block_idx", "a.b.c.d9", "prim.and_"])
def test_a_name_has_two_or_more_segments(name: str) -> None:
    assert Op.register(name).name == name


def test_an_unknown_operator_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match=r"^operator 'no.such' is not registered$"):
        Op.get("no.such")


@pytest.mark.parametrize("field", ["name", "doc", "args_info", "var_args_info", "attr_specs", "anything"])
def test_fields_are_read_only(square: Op, field: str) -> None:
    with pytest.raises(AttributeError):
        setattr(square, field, "other")
    with pytest.raises(AttributeError):
        delattr(square, field)


def test_names_are_listed_sorted(square: Op) -> None:
    Op.register("my_ext.cube")
    names = Op.list_op_names()
    assert names == sorted(names)
    assert {"my_ext.cube", "my_ext.square", "prim.add"} <= set(names)
    Op.get("my_ext.cube").set_attr("zzz.Key", 1)
    keys = Op.list_attr_names()
    assert keys == sorted(keys)
    assert {"zzz.Key", "TCallEffectKind"} <= set(keys)
    Op.get("my_ext.cube").reset_attr("zzz.Key")
    assert "zzz.Key" not in Op.list_attr_names()


# --- signatures -------------------------------------------------------------------------------------------------------


def test_a_signature_names_operands_tail_and_attributes(square: Op) -> None:
    square.set_signature(
        ["x", ("y", "The other.")],
        var_args=("rest", "More."),
        ty_args=["T"],
        attrs={"axis": int, "keep": AttrSpec(bool)},
    )
    assert square.args_info == (ArgInfo("x", ""), ArgInfo("y", "The other."))
    assert square.var_args_info == ArgInfo("rest", "More.")
    assert square.ty_args_info == (ArgInfo("T", ""),)
    assert square.attr_specs is not None
    assert list(square.attr_specs) == ["axis", "keep"]
    assert square.has_signature


def test_a_signature_is_replaced_as_a_whole(square: Op) -> None:
    square.set_signature(["x", "y"], var_args="rest", attrs={})
    square.set_signature()
    assert (square.args_info, square.var_args_info, square.attr_specs) == ((), None, None)
    assert square.has_signature


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"args": "xy"}, "args is a sequence of operand names, not one string"),
        ({"args": [1]}, "a signature entry is a name or a .name, doc. pair, not 1"),
        ({"args": [("x", "a", "b")]}, "a signature entry is"),
        ({"args": [("x", 1)]}, "a signature entry is"),
        ({"args": [["x", "doc"]]}, "a signature entry is"),
        ({"args": ["x", ("x", "Again.")]}, "two operands are called 'x'"),
        ({"var_args": 3}, "a signature entry is"),
        ({"attrs": {"axis": 3}}, "attribute 'axis' is declared by a type or an AttrSpec, not 3"),
        ({"attrs": {"axis": object}}, "an attribute cannot hold a value of <class 'object'>"),
    ],
)
def test_a_bad_signature_is_a_type_error_and_changes_nothing(square: Op, arguments: Any, message: str) -> None:
    square.set_signature(["kept"])
    with pytest.raises(TypeError, match=message):
        square.set_signature(**arguments)
    assert square.args_info == (ArgInfo("kept", ""),)


@pytest.mark.parametrize(
    ("spec", "fitting", "others"),
    [
        (AttrSpec(int), [0, -7], [True, 1.0, "1", None]),
        (AttrSpec(bool), [True], [1, 0]),
        (AttrSpec(float), [0.5], [1, True]),
        (AttrSpec(int, float), [1, 1.0], ["1"]),
        (AttrSpec(str), ["x"], [1]),
        (AttrSpec(list), [(), (1, 2)], ["x"]),
        (AttrSpec(str, choices=("a", "b")), ["a"], ["c", 1]),
        (AttrSpec(int, least=0), [0, 3], [-1]),
    ],
)
def test_an_attribute_spec_tells_what_fits(spec: AttrSpec, fitting: list[Any], others: list[Any]) -> None:
    assert [spec.fault(value) for value in fitting] == [None] * len(fitting)
    assert None not in [spec.fault(value) for value in others]


def test_an_attribute_spec_says_what_is_wrong_in_words() -> None:
    assert AttrSpec(int).fault("x") == "expects int, got str"
    assert AttrSpec(int).fault((1,)) == "expects int, got list"
    assert AttrSpec(int, float).fault(None) == "expects int or float, got None"
    assert AttrSpec(str, choices=("a", "b", "c")).fault("d") == """expects "a", "b" or "c", got "d\""""
    assert AttrSpec(int, least=1).fault(0) == "expects int of at least 1, got 0"
    assert AttrSpec(bool).fault(Word("true")) == "expects bool, got word; write 'True'"
    assert AttrSpec(bool, type(None)).fault(Word("null")) == "expects bool or None, got word; write 'None'"
    assert AttrSpec(int).fault(Word("true")) == "expects int, got word"
    assert AttrSpec(DType).fault(Word("f64")) == "expects dtype, got word; did you mean 'float64'?"
    assert AttrSpec(int, least=0).words == "an integer of at least 0"
    assert AttrSpec(str, words="a name").words == "a name"


def test_an_attribute_spec_without_default_is_required() -> None:
    assert AttrSpec(int).required
    assert not AttrSpec(int, default=0).required
    assert AttrSpec(int).but(default=3).default == 3
    with pytest.raises(TypeError, match="needs the type"):
        AttrSpec()


# --- attributes -------------------------------------------------------------------------------------------------------


def test_any_key_may_be_set_on_any_operator() -> None:
    sigmoid = Op.get("prim.sigmoid")
    costs = Op.get_attr_map("my_pass.Cost")
    assert len(costs) == 0
    sigmoid.set_attr("my_pass.Cost", 4)
    assert dict(costs) == {sigmoid: 4}
    assert sigmoid.get_attr("my_pass.Cost") == 4
    assert sigmoid.has_attr("my_pass.Cost")


def test_an_attribute_is_replaced_only_on_demand(square: Op) -> None:
    square.set_attr("my_pass.Cost", 4)
    with pytest.raises(ValueError, match=r"attribute 'my_pass.Cost' is already set"):
        square.set_attr("my_pass.Cost", 4)
    square.set_attr("my_pass.Cost", 5, override=True)
    assert square.get_attr("my_pass.Cost") == 5
    with pytest.raises(ValueError, match="cannot be None"):
        square.set_attr("my_pass.Cost", None, override=True)


def test_an_attribute_is_removed_by_reset(square: Op) -> None:
    square.reset_attr("my_pass.Cost")
    square.set_attr("my_pass.Cost", 4)
    square.reset_attr("my_pass.Cost")
    assert not square.has_attr("my_pass.Cost")
    assert square.get_attr("my_pass.Cost") is None
    assert square.get_attr("my_pass.Cost", 7) == 7


def test_register_op_attr_sets_a_value_or_decorates(square: Op) -> None:
    assert register_op_attr("my_ext.square", "TElementwise", True) is True

    def legalize(call: sc.Node) -> sc.Node:
        return call

    assert register_op_attr("my_ext.cube", "default.FLegalize")(legalize) is legalize
    assert square.get_attr("TElementwise") is True
    assert Op.get("my_ext.cube").get_attr("default.FLegalize") is legalize
    with pytest.raises(ValueError, match="already set"):
        register_op_attr("my_ext.square", "TElementwise", False)
    register_op_attr("my_ext.square", "TElementwise", False, override=True)


def test_register_op_attr_leaves_no_operator_behind_when_it_fails() -> None:
    with pytest.raises(TypeError):
        register_op_attr("my_ext.other", "TElementwise", "yes")
    with pytest.raises(ValueError, match="cannot be None"):
        register_op_attr("my_ext.other", "TElementwise", None)
    assert "my_ext.other" not in Op.list_op_names()


def test_an_attribute_map_is_live_and_in_order_of_registration(square: Op) -> None:
    cube = Op.register("my_ext.cube")
    values = Op.get_attr_map("my_pass.Rank")
    assert isinstance(values, OpAttrMap)
    assert values.attr_name == "my_pass.Rank"
    cube.set_attr("my_pass.Rank", 3)
    square.set_attr("my_pass.Rank", 2)
    assert list(values) == [square, cube]
    assert (values[square], len(values), cube in values) == (2, 2, True)
    cube.reset_attr("my_pass.Rank")
    assert cube not in values
    with pytest.raises(KeyError):
        values[cube]


def test_an_attribute_map_knows_operators_only(square: Op) -> None:
    values = Op.get_attr_map("TCallEffectKind")
    node = sc.Call(square, [1])
    assert node not in values  # type: ignore[comparison-overlap]
    assert values.get(node) is None
    assert values.get(node, "default") == "default"
    assert values.get(Op.get("prim.add")) == CallEffectKind.Pure


def test_an_attribute_map_is_read_only(square: Op) -> None:
    values: Any = Op.get_attr_map("TElementwise")
    with pytest.raises(TypeError, match="read-only"):
        values[square] = True
    with pytest.raises(TypeError):
        del values[square]


# --- standard attributes ----------------------------------------------------------------------------------------------

RIGHT: dict[str, Any] = {
    "FInferType": len,
    "TFixedReturnType": "int32",
    "TCallEffectKind": CallEffectKind.Pure,
    "FLowerIntrinsic": len,
    "FLegalize": len,
    "FLowerOp": len,
    "FRunPass": len,
    "TVectorizable": True,
    "TGlobalSymbol": "f",
    "FRegionGetBodyParams": len,
    "FRegionValidate": len,
    "FVerify": len,
    "TDialects": frozenset({"prog"}),
    "TElementwise": False,
    "TCostClass": "free",
    "TCommutative": True,
    "FFold": len,
    "TCSpelling": "sin",
    "FNumpy": len,
    "FPartials": len,
    "TNoDiff": True,
    "TScalarOp": "prim.add",
    "TStructural": True,
    "FJvp": len,
    "FVjp": len,
    "TCollective": True,
    "TFreshResult": True,
    "TExpression": True,
    "TConst": True,
    "TVariable": True,
    "TCallBody": True,
    "TModule": True,
    "TScalarTyping": "arith",
    "TOperandKinds": frozenset({"int"}),
    "TCVectorSpelling": "({0} + {1})",
    "TCWraps": True,
}

DEFAULTS = {
    **dict.fromkeys(("TCallEffectKind",), CallEffectKind.UpdateState),
    **dict.fromkeys(("TCostClass",), "expensive"),
    **dict.fromkeys([key for key, value in RIGHT.items() if isinstance(value, bool)], False),
}


def test_every_standard_attribute_is_described() -> None:
    assert set(op_attributes.STANDARD) == set(RIGHT)
    assert all([row.doc for row in op_attributes.STANDARD.values()])


@pytest.mark.parametrize("key", RIGHT)
def test_a_standard_attribute_takes_its_kind_and_no_other(square: Op, key: str) -> None:
    name = f"c.{key}" if key in op_attributes.TARGETED else key
    with pytest.raises(TypeError, match=rf"^my_ext\.square: attribute '{name}' expects .*, got "):
        square.set_attr(name, 3.5)
    assert not square.has_attr(name)
    square.set_attr(name, RIGHT[key])
    assert square.get_attr(name) == RIGHT[key]


@pytest.mark.parametrize("key", RIGHT)
def test_a_standard_attribute_that_is_not_set_counts_as_its_default(square: Op, key: str) -> None:
    assert square.get_attr(key) == DEFAULTS.get(key)
    assert square.get_attr(key, "given") == "given"
    assert not square.has_attr(key)
    assert square not in Op.get_attr_map(key)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("TCallEffectKind", 7),
        ("TCallEffectKind", -1),
        ("TCallEffectKind", True),
        ("TCostClass", "dear"),
        ("TElementwise", 1),
        ("TDialects", {"prog"}),
        ("TDialects", frozenset({1})),
        ("TCSpelling", {"float64": 1}),
        ("TCVectorSpelling", {"float64": "f"}),
        ("c.FLegalize", "f"),
        ("c-gnu.FLowerIntrinsic", 1),
        ("prog.FLowerOp", 1),
    ],
)
def test_further_values_of_the_wrong_kind(square: Op, key: str, value: Any) -> None:
    with pytest.raises(TypeError, match=rf"attribute '{key}' expects "):
        square.set_attr(key, value)


def test_only_standard_keys_are_checked(square: Op) -> None:
    for key in ("my_pass.TElementwise", "FLegalize2", "telementwise", "c.TElementwise"):
        square.set_attr(key, 3.5)
        assert square.get_attr(key) == 3.5


def test_an_effect_is_stored_as_a_plain_int(square: Op) -> None:
    square.set_attr("TCallEffectKind", CallEffectKind.ReadState)
    assert type(square.get_attr("TCallEffectKind")) is int


def test_a_fixed_type_is_given_by_name_or_as_a_type(square: Op) -> None:
    square.set_attr("TFixedReturnType", "int32")
    assert square.get_attr("TFixedReturnType") is INT32
    memref = MemRefType((4,), FLOAT64)
    square.set_attr("TFixedReturnType", memref, override=True)
    assert square.get_attr("TFixedReturnType") is memref
    with pytest.raises(ValueError, match=r"^my_ext\.square: attribute 'TFixedReturnType': unknown dtype 'int23'"):
        square.set_attr("TFixedReturnType", "int23", override=True)


def test_c_text_may_use_each_operand_once(square: Op) -> None:
    square.set_attr("TCSpelling", {"float64": "({0} + {1})", "float32": "f"})
    assert square.get_attr("TCSpelling") == {FLOAT64: "({0} + {1})", FLOAT32: "f"}
    message = r"^my_ext\.square: attribute 'TCSpelling': placeholder \{0\} is used twice; use FLegalize"
    for text in ("({0} * {0})", {"float64": "({0} * {0})"}):
        with pytest.raises(ValueError, match=message):
            square.set_attr("TCSpelling", text, override=True)
    with pytest.raises(ValueError, match="unknown dtype"):
        square.set_attr("TCSpelling", {"float": "f"}, override=True)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "is empty"),
        ("({0} + {x})", "has a brace that belongs to no operand"),
        ("({0} + 1", "lacks a ')'"),
        ("({0} + 1))", "has a ')' too many"),
        ("(a[{0})]", "has a ')' too many"),
        ("({0}; 1)", "has ';', which is no part of an expression"),
        ("({0} // half\n)", "has '//', which"),
        ("({0} /* one */)", "has '/*', which"),
        ("({0}\n)", r"has '\n', which"),
        ("({0} + \u00e9)", "has 'é', which"),
    ],
)
def test_c_text_is_an_expression(square: Op, text: str, fault: str) -> None:
    with pytest.raises(ValueError, match=rf"^my_ext\.square: attribute 'TCSpelling': C text .*{re.escape(fault)}"):
        square.set_attr("TCSpelling", text)
    with pytest.raises(ValueError, match=re.escape(fault)):
        square.set_attr("TCSpelling", {"float64": "({0})", "float32": text})
    assert not square.has_attr("TCSpelling")
    square.set_attr("TCSpelling", "(a[(int){0}] >= 0 ? f(1) : {1})")


@pytest.mark.parametrize("name", ["", "a b", "f(x)", "2f", "f-g", "é"])
def test_a_c_function_has_an_identifier(square: Op, name: str) -> None:
    with pytest.raises(ValueError, match=rf"^my_ext\.square: attribute 'TGlobalSymbol': '{re.escape(name)}' is no C"):
        square.set_attr("TGlobalSymbol", name)
    square.set_attr("TGlobalSymbol", "__nv_fast_sinf")


# --- scopes -----------------------------------------------------------------------------------------------------------


def test_a_scope_takes_registrations_back() -> None:
    add = Op.get("prim.add")
    keys, names = add.list_attrs(), Op.list_op_names()
    with registry_scope():
        Op.register("my_ext.other").set_attr("TElementwise", True)
        add.set_attr("my_pass.Cost", 1)
        add.set_attr("TCostClass", "free", override=True)
        add.reset_attr("TCommutative")
        add.set_signature(["only"], var_args="rest")
    assert Op.list_op_names() == names
    assert add.list_attrs() == keys
    assert add.get_attr("TCostClass") == "cheap"
    assert add.get_attr("TCommutative") is True
    assert [operand.name for operand in add.args_info] == ["x", "y"]
    assert add.var_args_info is None


def test_a_scope_ends_with_an_exception_as_well() -> None:
    def fail() -> None:
        with registry_scope():
            Op.register("my_ext.other")
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert "my_ext.other" not in Op.list_op_names()


def test_scopes_nest(square: Op) -> None:
    with registry_scope():
        square.set_attr("my_pass.Cost", 1)
        with registry_scope():
            square.set_attr("my_pass.Cost", 2, override=True)
            Op.register("my_ext.inner")
        assert square.get_attr("my_pass.Cost") == 1
        Op.register("my_ext.inner")
    assert not square.has_attr("my_pass.Cost")


def test_a_scope_takes_back_what_is_exposed(square: Op) -> None:
    square.set_signature(["x"])
    with registry_scope():
        square.expose()
        assert callable(sc.T.my_ext.square)
    assert not hasattr(sc.T, "my_ext")
    assert not hasattr(sc.ops, "my_ext")


# --- the shared scalar operators --------------------------------------------------------------------------------------

EXPENSIVE = {
    *"sqrt pow sin cos tan asin acos atan atan2 sinh cosh tanh exp log erf".split(),
}
CHEAP = {
    *"neg add sub mul div mod floordiv floormod minimum maximum abs floor ceil".split(),
    *"lt le eq ne isfinite and or not select cast".split(),
}


def test_costs_of_the_shared_operators() -> None:
    costs = Op.get_attr_map("TCostClass")
    assert {name for name in EXPENSIVE | CHEAP if costs[Op.get(f"prim.{name}")] == "expensive"} == EXPENSIVE


@pytest.mark.parametrize("name", sorted(EXPENSIVE | CHEAP))
@pytest.mark.parametrize("dialect", ["prim", "prog"])
def test_what_every_shared_operator_says(dialect: str, name: str) -> None:
    from scaly_ir.dialect import load_dialect

    load_dialect("prog")
    op = Op.get(f"{dialect}.{name}")
    assert op.get_attr("TCallEffectKind") == CallEffectKind.Pure
    assert op.get_attr("TElementwise")
    assert op.get_attr("TVectorizable")
    assert op.get_attr("TCSpelling")
    assert op.doc
    assert (op.get_attr("FNumpy") is None) == (name == "cast")
    assert op.get_attr("TNoDiff") == (name in "mod floordiv floormod lt le eq ne and or not isfinite".split())
    assert op.get_attr("TCWraps") == (name in "neg add sub mul".split())
    assert op.get_attr("TCommutative") == (name in "add mul eq ne and or".split())
    assert op.get_attr("TScalarOp") == (None if dialect == "prim" else f"prim.{name}")
    assert op.attr_specs == {}


@pytest.mark.parametrize(
    ("name", "dtype", "text"),
    [
        ("add", None, "({0} + {1})"),
        ("neg", None, "(-{0})"),
        ("mod", None, "({0} % {1})"),
        ("floordiv", "int64", "scaly_floordiv_i64"),
        ("floormod", "int32", "scaly_floormod_i32"),
        ("abs", "float64", "fabs"),
        ("abs", "float32", "((float)fabs((double){0}))"),
        ("abs", "int64", "scaly_abs_i64"),
        ("sin", "float64", "sin"),
        ("acos", "float32", "((float)acos((double){0}))"),
        ("atan2", "float32", "((float)atan2((double){0}, (double){1}))"),
        ("maximum", "float64", "fmax"),
        ("minimum", "int32", "scaly_min_i32"),
        ("le", None, "({0} <= {1})"),
        ("or", None, "({0} || {1})"),
        ("not", None, "(!{0})"),
        ("isfinite", None, "(isfinite({0}) != 0)"),
        ("select", None, "({0} ? {1} : {2})"),
        ("cast", "int32", "((int32_t){0})"),
    ],
)
def test_c_text_of_shared_operators(name: str, dtype: str | None, text: str) -> None:
    spelling = Op.get(f"prim.{name}").get_attr("TCSpelling")
    assert (spelling if dtype is None else spelling[dtype]) == text


def test_sigmoid_is_an_operator_without_forms_in_dialects() -> None:
    sigmoid = Op.get("prim.sigmoid")
    assert sigmoid.args_info == (ArgInfo("x", "The input value."),)
    assert Op.get("prim.sigmoid") is sigmoid
    assert CallEffectKind(Op.get_attr_map("TCallEffectKind")[sigmoid]).name == "Pure"
    assert sigmoid.get_attr("TElementwise")
    assert sigmoid.get_attr("TVectorizable")
    assert sigmoid.get_attr("TCostClass") == "expensive"
    assert {"prog.sigmoid", "expr.sigmoid"}.isdisjoint(Op.list_op_names())


def test_sigmoid_on_arrays() -> None:
    import numpy as np

    sigmoid = Op.get("prim.sigmoid").get_attr("FNumpy")
    x = np.array([-1000.0, -1.5, 0.0, 2.0, 1000.0])
    np.testing.assert_allclose(sigmoid(x), [0.0, 0.18242552380635635, 0.5, 0.8807970779778823, 1.0], rtol=1e-15)
    for dtype in (np.float32, np.float64):
        assert sigmoid(dtype(0.5)).dtype == dtype
        assert sigmoid(np.array([0.5], dtype)).dtype == dtype


def test_sigmoid_in_simpler_operators_and_its_derivative() -> None:
    from scaly_ir.dialects.prog import build
    from scaly_ir.dialects.prog.printer import scalar_text

    x = build.var("x", FLOAT32)
    call = sc.Call("prim.sigmoid", [x])
    legal = call.op.get_attr("default.FLegalize")(call)
    assert scalar_text(legal) == "prog.div(1, prog.add(1, prog.exp(prog.neg(%x))))"
    assert legal.type is FLOAT32
    (partial,) = call.op.get_attr("FPartials")(call)
    assert scalar_text(partial) == "prog.mul(prim.sigmoid(%x), prog.sub(1, prim.sigmoid(%x)))"


# --- elementwise operators that are registered later ------------------------------------------------------------------

TEXT = """\
prog.proc @f(%x: memref<4xfloat64>, %y: memref<4xfloat64>) {input_count=1} {
  prog.for %i = 0 to 4 step 1 {kind=global} {
    prog.store prog.cbrt(prog.add(prog.load %x[%i], prog.hypot3(prog.cbrt(2), 1, prog.load %x[%i]))), %y[%i] : float64
  }
}
"""


def test_an_elementwise_operator_gets_a_form_in_each_dialect() -> None:
    sc.parse("")  # loads prog
    cbrt = sc.register_elementwise(
        "cbrt", 1, doc="The cubic root.", TOperandKinds=frozenset({"float"}), TCSpelling="cbrt", TCostClass="expensive"
    )
    sc.register_elementwise("hypot3", 3)
    form = Op.get("prog.cbrt")
    assert cbrt is Op.get("prim.cbrt")
    assert form.get_attr("TScalarOp") == "prim.cbrt"
    assert form.doc == cbrt.doc == "The cubic root."
    for op in (cbrt, form):
        assert [operand.name for operand in op.args_info] == ["x"]
        assert op.get_attr("TCallEffectKind") == CallEffectKind.Pure
        assert op.get_attr("TCSpelling") == "cbrt"
        assert op.get_attr("TCostClass") == "expensive"
        assert op.get_attr("TElementwise")
    assert [operand.name for operand in Op.get("prog.hypot3").args_info] == ["x", "y", "z"]


def test_the_form_of_a_later_operator_reads_verifies_and_prints() -> None:
    sc.parse("")
    sc.register_elementwise("cbrt", 1, TOperandKinds=frozenset({"float"}))
    sc.register_elementwise("hypot3", 3)
    root = sc.parse(TEXT)
    sc.verify(root)
    assert sc.render(root) == TEXT
    assert sc.parse(sc.render(root)) is root
    wrong = sc.parse("%x = prog.assign prog.cbrt(1) : int64 {declare=True}")
    with pytest.raises(sc.VerifyError, match="op cbrt does not accept int64"):
        sc.verify(wrong)
    with pytest.raises(sc.ParseError, match=r"prog.cbrt' takes 1 operand, found 2"):
        sc.parse("%x = prog.assign prog.cbrt(1, 2) : float64 {declare=True}")


def test_the_forms_of_a_later_operator_are_gone_after_its_scope() -> None:
    sc.parse("")
    with registry_scope():
        sc.register_elementwise("cbrt", 1)
        sc.parse("%x = prog.assign prog.cbrt(1) : float64 {declare=True}")
    assert {"prim.cbrt", "prog.cbrt"}.isdisjoint(Op.list_op_names())
    with pytest.raises(sc.ParseError, match=r"unknown operation 'prog.cbrt'"):
        sc.parse("%x = prog.assign prog.cbrt(1) : float64 {declare=True}")


@pytest.mark.parametrize("arity", [0, 7, -1])
def test_the_arity_of_an_elementwise_operator_is_limited(arity: int) -> None:
    with pytest.raises(ValueError, match="has 1 to 6 operands"):
        sc.register_elementwise("odd", arity)


@pytest.mark.parametrize(
    ("name", "attributes", "error"),
    [
        ("odd", {"TCostClass": "dear"}, TypeError),
        ("odd", {"TCSpelling": "({0} * {0})"}, ValueError),
        ("odd", {"FNumpy": None}, ValueError),
        ("store", {}, AttributeError),  # prog.store is there already
    ],
)
def test_an_elementwise_operator_that_is_refused_leaves_nothing(name: str, attributes: Any, error: Any) -> None:
    sc.parse("")
    before = Op.list_op_names()
    with pytest.raises(error):
        sc.register_elementwise(name, 1, **attributes)
    assert Op.list_op_names() == before
    sc.register_elementwise("odd", 1)
    assert {"prim.odd", "prog.odd"} <= set(Op.list_op_names())


def test_a_dialect_may_rename_leave_out_and_change_forms() -> None:
    from scaly_ir import prim

    forms = prim.declare_elementwise(
        "toy", renamed={"floormod": "mod", "mod": None}, own={"TCostClass": "free", "FInferType": len}
    )
    assert forms["toy.mod"].get_attr("TScalarOp") == "prim.floormod"
    assert "toy.floormod" not in forms
    assert prim.form("toy", "floormod") is forms["toy.mod"]
    assert prim.form("other", "add") is Op.get("prim.add")
    with pytest.raises(AttributeError):
        prim.form("toy", "mod")
    assert forms["toy.exp"].get_attr("TCostClass") == "free"
    assert forms["toy.exp"].get_attr("FInferType") is len
    assert forms["toy.exp"].get_attr("FVerify") is None
    assert forms["toy.exp"].get_attr("TDialects") == frozenset({"toy"})
    later = sc.register_elementwise("later", 1)
    assert forms["toy.later"].get_attr("TScalarOp") == later.name
