"""Target chains, attributes by target, and rewriting calls until no rule applies (A2, A5)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import scaly_ir as sc
from scaly_ir.dialects.prog import build
from scaly_ir.dialects.prog.printer import scalar_text
from scaly_ir.graph import Node
from scaly_ir.op import Op
from scaly_ir.targets import NESTING_LIMIT, Rewriter, repeated_operands, target_attr, target_chain
from scaly_ir.types import FLOAT64, INT64

X = build.var("x", FLOAT64)
Y = build.var("y", FLOAT64)
LOAD = build.load(build.view("b", 0, FLOAT64))


pytestmark = pytest.mark.usefixtures("registry")


def _op(name: str, **rules: Callable[[Node], Any]) -> Op:
    """Register an operator on one operand whose rules have ``__`` in their keys where attributes have a point."""
    op = Op.register(f"my_ext.{name}")
    op.set_signature(["x"])
    op.set_attr("FInferType", lambda call: call.args[0].ty)
    for key, rule in rules.items():
        op.set_attr(key.replace("__", ".").replace("_gnu", "-gnu"), rule)
    return op


def _tag(name: str) -> Callable[[Node], Node]:
    """Return a rule that leaves its mark: an operator of the given name on the operand."""
    op = Op.register(f"mark.{name}")
    op.set_attr("FInferType", lambda call: call.args[0].ty)
    return lambda call: sc.Call(op, call.args)


@pytest.mark.parametrize(
    ("target", "chain"),
    [
        ("c", ("c", "default")),
        ("c-gnu", ("c-gnu", "c", "default")),
        ("cuda-sm_90-fast", ("cuda-sm_90-fast", "cuda-sm_90", "cuda", "default")),
        ("default", ("default",)),
    ],
)
def test_a_chain_goes_from_special_to_general(target: str, chain: tuple[str, ...]) -> None:
    assert target_chain(target) == chain


@pytest.mark.parametrize("target", ["", "c-", "-c", "c--gnu", "c gnu", "c.gnu"])
def test_a_bad_target_is_a_value_error(target: str) -> None:
    with pytest.raises(ValueError, match="is no target"):
        target_chain(target)


def test_an_attribute_is_looked_up_along_the_chain() -> None:
    op = Op.register("my_ext.f")
    assert target_attr(op, "FLegalize", "c-gnu") is None
    op.set_attr("default.FLegalize", len)
    assert target_attr(op, "FLegalize", "c-gnu") is len
    op.set_attr("c.FLegalize", repr)
    assert target_attr(op, "FLegalize", "c-gnu") is repr
    assert target_attr(op, "FLegalize", "cuda") is len
    op.set_attr("c-gnu.Cost", 0)
    op.set_attr("c.Cost", 1)
    assert target_attr(op, "Cost", "c-gnu") == 0
    assert target_attr(op, "Cost", "default") is None


@pytest.mark.parametrize(
    ("target", "both", "legalize"),
    [
        ("c-gnu", "gnu_intrinsic", "f"),
        ("c", "c_legal", "c_legal"),
        ("cuda", "default_intrinsic", "f"),
    ],
)
def test_rules_are_tried_along_the_chain_intrinsics_first(target: str, both: str, legalize: str) -> None:
    op = _op(
        "f",
        c_gnu__FLowerIntrinsic=_tag("gnu_intrinsic"),
        c_gnu__FLegalize=_tag("gnu_legal"),
        c__FLegalize=_tag("c_legal"),
        default__FLowerIntrinsic=_tag("default_intrinsic"),
        default__FLegalize=_tag("default_legal"),
    )
    call = sc.Call(op, [X])
    assert Rewriter(target, intrinsics=True).rewrite(call).op.mnemonic == both
    assert Rewriter(target, intrinsics=False).rewrite(call).op.mnemonic == legalize, "an intrinsic comes first"


def test_one_target_lowers_and_another_legalizes() -> None:
    op = _op("f", c__FLowerIntrinsic=_tag("intrinsic"), default__FLegalize=_tag("legal"))
    call = sc.Call(op, [X])
    assert Rewriter("c-gnu", intrinsics=True).rewrite(call).op.mnemonic == "intrinsic"
    assert Rewriter("cuda", intrinsics=True).rewrite(call).op.mnemonic == "legal"


def test_a_rule_that_returns_its_call_declines() -> None:
    op = _op("f", c__FLowerIntrinsic=lambda call: call, c__FLegalize=lambda call: call, default__FLegalize=_tag("last"))
    assert Rewriter("c", intrinsics=True).rewrite(sc.Call(op, [X])).op.mnemonic == "last"
    op.reset_attr("default.FLegalize")
    call = sc.Call(op, [X])
    assert Rewriter("c", intrinsics=True).rewrite(call) is call


def test_what_no_rule_applies_to_stays_the_same_object() -> None:
    root = (X + LOAD) * sc.elementwise("exp", Y)
    assert Rewriter("c", intrinsics=True).rewrite(root) is root


def test_a_result_is_rewritten_in_turn() -> None:
    inner = _op("inner", default__FLegalize=lambda call: call.args[0] + 1)
    outer = _op("outer", default__FLegalize=lambda call: sc.Call(inner, [sc.Call(inner, call.args)]) * 2)
    result = Rewriter("c", intrinsics=False).rewrite(sc.Call(outer, [X]))
    assert scalar_text(result) == "prog.mul(prog.add(prog.add(%x, 1), 1), 2)"


def test_operands_are_rewritten_first_and_everywhere() -> None:
    seen = []

    def rule(call: Node) -> Node:
        seen.append(scalar_text(call.args[0]))
        return call.args[0] * call.args[0]

    op = _op("f", default__FLegalize=rule)
    inside = sc.Call(op, [X])
    store = build.store(build.view("y", 0, FLOAT64), sc.Call(op, [inside + inside]))
    root = build.program([build.proc("g", [build.param("y", 4)], [store, store])])
    result = Rewriter("c", intrinsics=False).rewrite(root)
    assert seen == ["%x", "prog.add(prog.mul(%x, %x), prog.mul(%x, %x))"]
    assert "my_ext" not in sc.render(result)


@pytest.mark.parametrize(
    ("returned", "message"),
    [(None, "returned None"), (3, "returned a 'int'"), ("x", "returned a 'str'")],
)
def test_a_rule_returns_a_node(returned: Any, message: str) -> None:
    op = _op("square", c__FLegalize=lambda call: returned)
    with pytest.raises(TypeError) as caught:
        Rewriter("c", intrinsics=False).rewrite(sc.Call(op, [X]))
    assert str(caught.value) == f"my_ext.square: rule 'c.FLegalize' {message}"


def test_a_rule_keeps_the_type() -> None:
    op = _op("square", c__FLowerIntrinsic=lambda call: build.index(1))
    with pytest.raises(sc.LegalizeError) as caught:
        Rewriter("c", intrinsics=True).rewrite(sc.Call(op, [X]))
    assert str(caught.value) == "my_ext.square: rule 'c.FLowerIntrinsic' returned type int64, expected float64"
    assert isinstance(caught.value, RuntimeError)


def test_what_a_rule_raises_is_raised() -> None:
    def rule(call: Node) -> Node:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        Rewriter("c", intrinsics=False).rewrite(sc.Call(_op("f", default__FLegalize=rule), [X]))


@pytest.mark.parametrize(
    "grow",
    [
        lambda call: sc.Call(call.op, [call.args[0] + 1]),
        lambda call: sc.Call(call.op, [call]),
        lambda call: call + 1,
        lambda call: sc.Call(call.op, call.args, {"n": call.attrs.get("n", 0) + 1}),
    ],
    ids=["new operand", "itself nested", "itself inside", "new attributes"],
)
def test_a_rule_that_makes_its_own_operator_again_and_again_is_stopped(grow: Callable[[Node], Node]) -> None:
    op = _op("square", default__FLegalize=grow)
    with pytest.raises(sc.LegalizeError) as caught:
        Rewriter("c", intrinsics=False).rewrite(sc.Call(op, [X]))
    assert str(caught.value) == "my_ext.square: rule 'default.FLegalize' did not converge"


@pytest.mark.parametrize("count", [NESTING_LIMIT, NESTING_LIMIT + 1])
def test_rewrites_may_nest_up_to_the_limit(count: int) -> None:
    def rule(call: Node) -> Node:
        left = call.attrs["left"]
        return X if left == 1 else sc.Call(call.op, call.args, {"left": left - 1})

    call = sc.Call(_op("countdown", default__FLegalize=rule), [X], {"left": count})
    if count <= NESTING_LIMIT:
        assert Rewriter("c", intrinsics=False).rewrite(call) is X
    else:
        with pytest.raises(sc.LegalizeError, match="did not converge"):
            Rewriter("c", intrinsics=False).rewrite(call)


def test_many_calls_side_by_side_are_no_nest() -> None:
    op = _op("f", default__FLegalize=lambda call: call.args[0] + 1)
    value = X
    for _ in range(20_000):
        value = sc.Call(op, [value])
    result = Rewriter("c", intrinsics=False).rewrite(value)
    assert result.op is Op.get("prog.add")


def test_a_shared_call_is_rewritten_once() -> None:
    count = [0]

    def rule(call: Node) -> Node:
        count[0] += 1
        return call.args[0] + 1

    op = _op("f", default__FLegalize=rule)
    value = sc.Call(op, [X])
    for _ in range(200):
        value = value + value
    Rewriter("c", intrinsics=False).rewrite(value)
    assert count == [1]


# --- operands that a tree would repeat --------------------------------------------------------------------------------


def _square() -> Op:
    return _op("square", default__FLegalize=lambda call: call.args[0] * call.args[0])


def _rewritten_with_names(value: Node) -> tuple[str, list[str]]:
    bound: list[str] = []

    def bind(operand: Node) -> Node:
        bound.append(scalar_text(operand))
        return build.var(f"leg{len(bound) - 1}", operand.type)

    return scalar_text(Rewriter("c", intrinsics=False, bind=bind).rewrite(value)), bound


def test_an_operand_that_a_result_shows_twice_is_bound() -> None:
    text, bound = _rewritten_with_names(sc.Call(_square(), [LOAD]))
    assert (text, bound) == ("prog.mul(%leg0, %leg0)", ["prog.load %b[0]"])


def test_variables_and_immediates_are_not_bound() -> None:
    square = _square()
    assert _rewritten_with_names(sc.Call(square, [X])) == ("prog.mul(%x, %x)", [])
    text, bound = _rewritten_with_names(sc.Call(square, [build.const(3, INT64)]))
    assert (text, bound) == ("prog.mul(prog.const(3, int64), 3)", [])


def test_an_operand_that_is_shown_once_is_not_bound() -> None:
    op = _op("f", default__FLegalize=lambda call: call.args[0] + 1)
    assert _rewritten_with_names(sc.Call(op, [LOAD])) == ("prog.add(prog.load %b[0], 1)", [])


def test_an_operand_is_bound_after_it_was_rewritten_and_once() -> None:
    square = _square()
    inside = sc.Call(square, [LOAD])
    text, bound = _rewritten_with_names(sc.Call(square, [inside]) + sc.Call(square, [inside]))
    assert bound == ["prog.load %b[0]", "prog.mul(%leg0, %leg0)"]
    assert text == "prog.add(prog.mul(%leg1, %leg1), prog.mul(%leg1, %leg1))"


def test_binding_may_give_the_operand_itself_or_refuse() -> None:
    call = sc.Call(_square(), [LOAD])
    kept = Rewriter("c", intrinsics=False, bind=lambda operand: operand).rewrite(call)
    assert scalar_text(kept) == "prog.mul(prog.load %b[0], prog.load %b[0])"

    def refuse(operand: Node) -> Node:
        raise sc.LegalizeError("no place for a name here")

    with pytest.raises(sc.LegalizeError, match="no place"):
        Rewriter("c", intrinsics=False, bind=refuse).rewrite(call)


def test_repeats_are_counted_as_the_text_shows_them() -> None:
    twice = LOAD + 1
    assert repeated_operands(twice * twice, [LOAD]) == {LOAD}
    assert repeated_operands(twice * X, [LOAD, X]) == set()
    assert repeated_operands(X * X, [X]) == set(), "a leaf costs nothing"
    assert repeated_operands(LOAD, [LOAD]) == set()
    deep = LOAD
    for _ in range(200):
        deep = deep * deep
    assert repeated_operands(deep, [LOAD]) == {LOAD}
