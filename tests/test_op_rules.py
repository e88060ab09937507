"""Registered operators in text and under the verifier, as the `prog` dialect has them (A7)."""

from __future__ import annotations

from typing import Any

import pytest

import scaly_ir as sc
from scaly_ir.call import const
from scaly_ir.dialect import parse_source, verify_parsed
from scaly_ir.dialects.prog import build
from scaly_ir.op import Op
from scaly_ir.text.source import Source
from scaly_ir.types import FLOAT32, FLOAT64, MISSING

pytestmark = pytest.mark.usefixtures("registry")


@pytest.fixture
def square() -> Op:
    op = Op.register("my_ext.square")
    op.set_signature(["x"], attrs={})
    op.set_attr("FInferType", lambda call: call.args[0].ty)
    return op


def _messages(text: str) -> list[str]:
    """Return ``line:column: message`` for everything that is wrong with a text."""
    parsed = parse_source(Source.from_text(text, "in.sir"))
    found = parsed.diagnostics if parsed.root is None else verify_parsed(parsed.root, parsed.locations)
    return [diagnostic.head().removeprefix("in.sir:").replace("error: ", "") for diagnostic in found]


def _value(text: str, dtype: str = "float64") -> str:
    """Return a procedure that assigns a scalar; the scalar stands at 2:20."""
    body = f"  %value = prog.assign {text} : {dtype} {{declare=True}}\n"
    return f"prog.proc @f(%x: memref<4xfloat64>) {{input_count=1}} {{\n{body}}}\n"


LOAD = "prog.load %x[0]"


# --- text -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        f"my_ext.square({LOAD})",
        f"my_ext.square(my_ext.square({LOAD}))",
        f"prog.add(my_ext.square({LOAD}), 1)",
        "my_ext.square(prog.const(2, float64))",
        f"my_ext.square(prog.sin({LOAD}))",
    ],
)
def test_an_application_prints_as_it_is_written(square: Op, text: str) -> None:
    root = sc.parse(_value(text))
    sc.verify(root)
    assert sc.render(root) == _value(text)
    assert sc.parse(sc.render(root)) is root


@pytest.mark.parametrize(
    ("written", "printed"),
    [
        ("{}", None),
        ("{axis=1}", "{axis=1}"),
        ("{b=True, a=None}", "{a=None, b=True}"),
        ("{i=-3, f=0.5, g=1e300, h=2.0, z=-0.0}", "{f=0.5, g=1e+300, h=2.0, i=-3, z=-0.0}"),
        ('{s="a \\"b\\" \\u00e9"}', '{s="a \\"b\\" é"}'),
        ("{l=[1, [2.0, True], []], m={k={}, j=1}}", "{l=[1, [2.0, True], []], m={j=1, k={}}}"),
        ('{a.b=1, "c d"=2}', '{a.b=1, "c d"=2}'),
        ("{w=word, d=float32}", "{d=float32, w=word}"),
    ],
)
def test_attributes_print_sorted_in_parentheses(written: str, printed: str | None) -> None:
    op = Op.register("my_ext.any")
    op.set_attr("TFixedReturnType", "float64")
    if printed is None:
        with pytest.raises(sc.ParseError):
            sc.parse(_value(f"(my_ext.any({LOAD}) {written})"))
        return
    root = sc.parse(_value(f"(my_ext.any({LOAD}) {written})"))
    sc.verify(root)
    assert sc.render(root) == _value(f"(my_ext.any({LOAD}) {printed})")
    assert sc.parse(sc.render(root)) is root


def test_a_type_is_written_where_no_rule_gives_it(square: Op) -> None:
    Op.register("my_ext.plain")
    for text in (f"(my_ext.plain({LOAD}) : float64)", "(my_ext.plain() {a=1} : float64)"):
        root = sc.parse(_value(text))
        sc.verify(root)
        assert sc.render(root) == _value(text)
    assert _messages(_value(f"my_ext.plain({LOAD})")) == [
        "2:24: 'my_ext.plain' has no rule for its result type; write (my_ext.plain(...) : dtype)"
    ]
    assert sc.render(sc.parse(_value(f"(my_ext.square({LOAD}) : float64)"))) == _value(f"my_ext.square({LOAD})")


def test_a_missing_type_prints_as_such(square: Op) -> None:
    call = sc.Call(Op.register("my_ext.plain"), [build.var("x", FLOAT64)])
    assert call.type is MISSING
    assert sc.render(build.block([build.assign("y", call)])) == (
        "%y = prog.assign (my_ext.plain(%x) : !missing) : !missing\n"
    )


def test_attributes_belong_to_the_statement_after_a_bare_application(square: Op) -> None:
    text = (
        "prog.proc @f(%x: memref<4xfloat64>, %n: memref<1xint64>) {input_count=2} {\n"
        "  prog.for %i = 0 to 4 step my_ext.square(prog.load %n[0]) {kind=serial} {\n  }\n}\n"
    )
    assert sc.render(sc.parse(text)) == text


# --- what is refused --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("my_ext.sqare(1)", "2:24: unknown operation 'my_ext.sqare'; did you mean 'my_ext.square'?"),
        ("no.such(1)", "2:24: unknown operation 'no.such'"),
        (f"my_ext.square({LOAD}, {LOAD})", "2:24: 'my_ext.square': expects 1 argument, got 2 [op-arity]"),
        ("my_ext.square()", "2:24: 'my_ext.square': expects 1 argument, got 0 [op-arity]"),
        ("(my_ext.square() : float64)", "2:24: 'my_ext.square': expects 1 argument, got 0 [op-arity]"),
        (f"(my_ext.square({LOAD}) {{k=1}})", "2:57: 'my_ext.square': unexpected attribute 'k' [op-arity]"),
        (
            f"(my_ext.square({LOAD}) {{k=1}} : float64)",
            "2:57: 'my_ext.square': unexpected attribute 'k' [op-arity]",
        ),
        (
            "my_ext.square(2)",
            "2:38: the type of the literal in 'my_ext.square' is unknown here; write prog.const(<number>, <dtype>)",
        ),
    ],
)
def test_the_parser_says_what_is_wrong(square: Op, text: str, message: str) -> None:
    (found,) = _messages(_value(text))
    assert found == message


def test_a_recorded_type_is_checked(square: Op) -> None:
    assert _messages(_value(f"(my_ext.square({LOAD}) : int64)", "int64")) == [
        "2:58: 'my_ext.square': recorded type int64 != inferred float64 [op-type]"
    ]
    square.set_attr("TFixedReturnType", "int64")
    assert _messages(_value(f"(my_ext.square({LOAD}) : int64)", "int64")) == []


@pytest.mark.parametrize(
    ("attrs", "written", "message"),
    [
        ({"axis": int}, "", "2:24: 'my_ext.square': missing attribute 'axis' [op-arity]"),
        ({"axis": int}, " {axis=one}", "2:57: 'my_ext.square': attribute 'axis' expects int, got word [op-arity]"),
        ({"axis": int}, " {axis=1.0}", "2:57: 'my_ext.square': attribute 'axis' expects int, got float [op-arity]"),
        (
            {"mode": sc.AttrSpec(str, choices=("a", "b"))},
            ' {mode="c"}',
            """2:57: 'my_ext.square': attribute 'mode' expects "a" or "b", got "c" [op-arity]""",
        ),
    ],
)
def test_declared_attributes_are_checked(square: Op, attrs: Any, written: str, message: str) -> None:
    square.set_signature(["x"], attrs=attrs)
    for typed in ("", " : float64"):
        text = f"(my_ext.square({LOAD}){written}{typed})"
        assert _messages(_value(text)) == [message]


def test_an_exception_in_a_rule_has_a_place(square: Op) -> None:
    def fails(call: sc.Node) -> Any:
        raise IndexError("tuple index\nout of range")

    text = f"my_ext.square({LOAD})"
    square.set_attr("FInferType", fails, override=True)
    wrong = "'my_ext.square': FInferType raised IndexError: tuple index out of range [op-type]"
    assert _messages(_value(text)) == [f"2:24: {wrong}"]
    assert _messages(_value(f"({text} : float64)")) == [f"2:24: {wrong}"]
    square.set_attr("FInferType", lambda call: call.args[0].ty, override=True)
    square.set_attr("FVerify", fails)
    assert _messages(_value(text)) == [
        "2:24: 'my_ext.square': FVerify raised IndexError: tuple index out of range [op-verify]"
    ]


def test_the_operators_own_checks(square: Op) -> None:
    square.set_attr("FVerify", lambda call: [("positive", "operand may be negative")])
    assert _messages(_value(f"my_ext.square({LOAD})")) == ["2:24: 'my_ext.square': operand may be negative [op-verify]"]


def test_an_operator_may_be_for_other_dialects(square: Op) -> None:
    square.set_attr("TDialects", frozenset({"expr"}))
    assert _messages(_value(f"my_ext.square({LOAD})")) == [
        "2:24: operation 'my_ext.square' is not allowed in dialect 'prog'"
    ]
    square.set_attr("TDialects", frozenset({"expr", "prog"}), override=True)
    assert _messages(_value(f"my_ext.square({LOAD})")) == []


@pytest.mark.parametrize(("name", "hint"), [("prim.const", "; did you mean 'prog.const'?"), ("prim.call", "")])
def test_structural_operators_are_no_applications(name: str, hint: str) -> None:
    assert _messages(_value(f"{name}({LOAD})")) == [f"2:24: operation '{name}' is not allowed in dialect 'prog'{hint}"]


def test_a_region_operator_is_no_scalar() -> None:
    region = Op.register("my_ext.region")
    region.set_attr("FRegionGetBodyParams", lambda call: [])
    assert _messages(_value("my_ext.region()")) == ["2:24: operation 'my_ext.region' is not allowed in dialect 'prog'"]


# --- what code builds -------------------------------------------------------------------------------------------------


def _verify(value: sc.Node) -> None:
    sc.verify(build.program([build.proc("f", [build.param("x", 4)], [build.assign("y", value, declare=True)])]))


X = build.load(build.view(build.param("x", 4), 0))


@pytest.mark.parametrize(
    ("operands", "attrs", "rule", "reason"),
    [
        ((X, X), {}, "op-arity", "expects 1 argument, got 2"),
        ((), {}, "op-arity", "expects 1 argument, got 0"),
        ((X.args[0],), {}, "op-arity", "argument 'x' is not an expression"),
        ((X,), {"k": 1}, "op-arity", "unexpected attribute 'k'"),
    ],
)
def test_the_verifier_checks_what_validate_checks(
    square: Op, operands: tuple[sc.Node, ...], attrs: Any, rule: str, reason: str
) -> None:
    call = sc.Call(square, operands, attrs, ty="float64")
    with pytest.raises(sc.VerifyError) as caught:
        _verify(call)
    assert (caught.value.rule, caught.value.reason) == (rule, reason)
    with pytest.raises(TypeError) as said:
        call.validate()
    assert str(said.value) == f"my_ext.square {reason}"


def test_the_verifier_checks_types_and_dialects(square: Op) -> None:
    _verify(sc.Call(square, [X]))
    with pytest.raises(sc.VerifyError, match="failed rule 'op-type': recorded type float32 != inferred float64"):
        _verify(sc.Call(square, [X], ty=FLOAT32))
    with pytest.raises(sc.VerifyError, match=r"'op-dialect': operation 'prim.const' is not allowed in dialect 'prog'"):
        _verify(sc.Call(square, [const(1.0, FLOAT64)]))
    square.set_attr("TDialects", frozenset({"expr"}))
    with pytest.raises(sc.VerifyError, match=r"'op-dialect': operation 'my_ext.square' is not allowed in dialect"):
        _verify(sc.Call(square, [X]))


def test_the_shared_operators_may_stand_in_prog_too() -> None:
    text = f"prim.add({LOAD}, prog.const(1, float64))"
    root = sc.parse(_value(text))
    sc.verify(root)
    assert sc.render(root) == _value(text)
    assert _messages(_value(f"prim.add({LOAD}, prog.const(1, int32))")) == [
        "2:24: 'prim.add': operand types float64 and int32 differ [op-verify]"
    ]
