"""Patterns: every row of graph specification A5, and the generated code against the definition."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from scaly_ir.attributes import Attrs, Word
from scaly_ir.dialects.prog import build
from scaly_ir.graph import Node, intern_node
from scaly_ir.graph.pattern import ANY, Pattern, is_constant
from scaly_ir.graph.vocabulary import patterns
from scaly_ir.op import Op
from scaly_ir.text.spelling import float_from_bits
from scaly_ir.types import FLOAT64, INT32, INT64
from tests.graph.expressions import (
    ADD,
    BLOCK,
    CONST,
    MUL,
    NEG,
    SELECT,
    SUB,
    VAR,
    P,
    add,
    block,
    graphs,
    int_,
    lt,
    mul,
    neg,
    select,
    sub,
    value,
    var,
)
from tests.graph.matching import matches

A, B, C = var("a"), var("b"), var("c")
X, Y, Z = Pattern.var("x"), Pattern.var("y"), Pattern.var("z")


# --- single fields ---------------------------------------------------------------------------------------------------


def test_op_is_one_several_a_test_or_any() -> None:
    assert Pattern(ADD).match(add(A, B)) == [{}]
    assert Pattern(ADD).match(mul(A, B)) == []
    assert Pattern([ADD, MUL]).match(mul(A, B)) == [{}]
    assert Pattern({ADD, MUL}).match(neg(A)) == []
    assert Pattern(is_constant).match(int_(1)) == [{}]
    assert Pattern(is_constant).match(A) == []
    assert Pattern().match(A) == [{}]


def test_type_is_one_or_several() -> None:
    assert Pattern(type=INT64).match(A) == [{}]
    assert Pattern(type=INT32).match(A) == []
    assert Pattern(type=(INT32, INT64)).match(A) == [{}]
    assert Pattern(type=()).match(A) == []


@pytest.mark.parametrize(
    ("wanted", "present", "matching"),
    [
        (1, 1, True),
        (1, 1.0, False),
        (1, True, False),
        (True, 1, False),
        (True, True, True),
        (0.0, 0.0, True),
        (0.0, -0.0, False),
        (-0.0, -0.0, True),
        (0.0, 0, False),
        (1.5, 1.5, True),
        (math.nan, math.nan, True),
        (math.nan, float_from_bits(0x7FF8000000000001, FLOAT64), False),
        (math.inf, math.inf, True),
        ("host", "host", True),
        ("host", Word("host"), False),
        (Word("host"), Word("host"), True),
        (Word("host"), "host", False),
        (INT64, INT64, True),
        ("int64", INT64, False),
        (None, None, True),
        (None, 0, False),
        ([1, 2], (1, 2), True),
        ((1, 2), (1.0, 2.0), False),
        ({"k": [1]}, {"k": (1,)}, True),
        ({"k": 1}, {"k": True}, False),
        (slice(0, 2, None), slice(0, 2, None), True),
        (ANY, 7, True),
        (lambda held: held > 3, 7, True),
        (lambda held: held > 3, 2, False),
    ],
)
def test_attribute_values_differ_as_those_of_nodes_do(wanted: Any, present: Any, matching: bool) -> None:
    node = intern_node(BLOCK, (), Attrs({"k": present}), None)
    assert (Pattern(attrs={"k": wanted}).match(node) == [{}]) is matching
    assert matches(Pattern(attrs={"k": wanted}), node) == Pattern(attrs={"k": wanted}).match(node)


def test_a_node_without_the_attribute_does_not_match() -> None:
    def never(held: object) -> bool:
        raise AssertionError(held)

    assert Pattern(attrs={"value": never}).match(A) == []
    assert Pattern(attrs={"value": None}).match(A) == []


def test_a_tuple_wants_these_operands_in_order() -> None:
    pattern = Pattern(SUB, args=(X, Pattern(NEG, name="n")))
    assert pattern.match(sub(A, neg(B))) == [{"x": A, "n": neg(B)}]
    assert pattern.match(sub(neg(B), A)) == []
    assert Pattern(BLOCK, args=(X, Y)).match(block(A)) == []
    assert Pattern(BLOCK, args=(X, Y)).match(block(A, B, C)) == []
    assert Pattern(BLOCK, args=()).match(block()) == [{}]
    assert Pattern(BLOCK, args=()).match(block(A)) == []
    assert Pattern(BLOCK, args=(X,)).match(block(A)) == [{"x": A}]


def test_allow_any_len_lets_more_operands_follow() -> None:
    pattern = Pattern(BLOCK, args=(X, Pattern(NEG)), allow_any_len=True)
    assert pattern.match(block(A, neg(B))) == [{"x": A}]
    assert pattern.match(block(A, neg(B), C, C)) == [{"x": A}]
    assert pattern.match(block(A)) == []
    assert Pattern(BLOCK, args=(), allow_any_len=True).match(block(A, B)) == [{}]


def test_a_list_takes_operands_in_any_order_positions_in_lexicographic_order() -> None:
    pair = Pattern(ADD, args=[X, Y])
    assert pair.match(add(A, B)) == [{"x": A, "y": B}, {"x": B, "y": A}]
    assert Pattern(ADD, args=[Pattern(NEG, name="n"), X]).match(add(A, neg(B))) == [{"n": neg(B), "x": A}]
    three = Pattern(BLOCK, args=[X, Y, Z])
    found = [[b["x"], b["y"], b["z"]] for b in three.match(block(A, B, C))]
    assert found == [[A, B, C], [A, C, B], [B, A, C], [B, C, A], [C, A, B], [C, B, A]]
    assert three.match(block(A, B)) == []
    assert Pattern(BLOCK, args=[X]).match(block(A)) == [{"x": A}]
    assert Pattern(BLOCK, args=[]).match(block()) == [{}]


def test_equal_bindings_are_returned_once() -> None:
    assert Pattern(ADD, args=[X, Y]).match(add(A, A)) == [{"x": A, "y": A}]
    assert Pattern(ADD, args=[Pattern(), Pattern()]).match(add(A, B)) == [{}]
    assert Pattern(BLOCK, args=[X, Pattern(), Pattern()]).match(block(A, B, C)) == [{"x": A}, {"x": B}, {"x": C}]


def test_one_pattern_is_for_every_operand() -> None:
    every = Pattern(BLOCK, args=Pattern(NEG))
    assert every.match(block()) == [{}], "a node with no operands matches, the default early reject included"
    assert every.match(block(neg(A), neg(B))) == [{}]
    assert every.match(block(neg(A), B)) == []


def test_bindings_made_in_every_operand_agree() -> None:
    every = Pattern(BLOCK, args=Pattern(NEG, args=(X,)))
    assert every.match(block(neg(A), neg(A))) == [{"x": A}]
    assert every.match(block(neg(A), neg(B))) == []
    assert every.match(block()) == [{}]
    choice = Pattern(BLOCK, args=Pattern(ADD, args=[X, Y]))
    assert choice.match(block(add(A, B), add(B, A))) == [{"x": A, "y": B}, {"x": B, "y": A}]
    assert choice.match(block(add(A, B), add(B, C))) == []


def test_one_pattern_for_very_many_operands() -> None:
    wide = block(*[add(A, B)] * 20_000)
    assert Pattern(BLOCK, args=Pattern(ADD, args=[X, Y])).match(wide) == [{"x": A, "y": B}, {"x": B, "y": A}]
    assert Pattern(BLOCK, args=Pattern.any(Pattern(ADD), Pattern())).match(wide) == [{}]


def test_a_name_is_one_node() -> None:
    same = Pattern(ADD, args=(X, X))
    assert same.match(add(A, A)) == [{"x": A}]
    assert same.match(add(A, B)) == []
    assert Pattern(ADD, args=(X, Pattern(NEG, args=(X,)))).match(add(A, neg(A))) == [{"x": A}]
    assert Pattern(NEG, args=(X,), name="x").match(neg(A)) == []


def test_the_name_of_the_context_is_refused() -> None:
    with pytest.raises(ValueError, match="no node can be named 'ctx'"):
        Pattern(ADD, name="ctx")
    with pytest.raises(ValueError, match="no node can be named 'ctx'"):
        Pattern(ADD).named("ctx")


def test_where_comes_last() -> None:
    asked: list[Node] = []

    def where(node: Node) -> bool:
        asked.append(node)
        return node is not add(A, B)

    pattern = Pattern(ADD, args=(Pattern(VAR), Pattern(VAR)), where=where)
    assert pattern.match(add(A, neg(B))) == []
    assert asked == []
    assert pattern.match(add(A, B)) == []
    assert pattern.match(add(B, A)) == [{}]


def test_early_reject_by_default_is_what_listed_patterns_name_alone() -> None:
    assert Pattern(ADD, args=(Pattern(NEG), X)).early_reject == {NEG}
    assert Pattern(ADD, args=[Pattern(NEG), Pattern(CONST)]).early_reject == {NEG, CONST}
    assert Pattern(ADD, args=(Pattern([NEG, ADD]), X)).early_reject == frozenset()
    assert Pattern(BLOCK, args=Pattern(NEG)).early_reject == frozenset()
    assert Pattern(ADD, args=(Pattern.any(Pattern(NEG), Pattern(NEG)), X)).early_reject == {NEG}
    assert Pattern(ADD, args=(Pattern.any(Pattern(NEG), Pattern(ADD)), X)).early_reject == frozenset()


def test_early_reject_can_ask_for_more_or_less() -> None:
    strict = Pattern(ADD, early_reject=[NEG])
    assert strict.match(add(A, neg(B))) == [{}]
    assert strict.match(add(A, B)) == []
    assert Pattern(NEG, args=(strict,)).match(neg(add(A, B))) == []
    assert Pattern(ADD, args=(Pattern(NEG), X), early_reject=[]).match(add(neg(A), B)) == [{"x": B}]


# --- constructors ----------------------------------------------------------------------------------------------------


def test_var_const_and_named() -> None:
    assert Pattern.var("x", INT64).match(A) == [{"x": A}]
    assert Pattern.var("x", INT32).match(A) == []
    assert Pattern.const().match(int_(3)) == [{}]
    assert Pattern.const(3, "c").match(int_(3)) == [{"c": int_(3)}]
    assert Pattern.const(3).match(int_(4)) == []
    assert Pattern.const(3.0).match(int_(3)) == []
    assert Pattern.const(3.0).match(build.const(3.0, FLOAT64)) == [{}]
    assert Pattern.const(3, type=INT32).match(int_(3)) == []
    assert Pattern.const(lambda held: held % 2 == 0).match(int_(4)) == [{}]
    assert Pattern.const().match(A) == []
    assert Pattern(ADD, args=(X, Y)).named("n").match(add(A, B)) == [{"n": add(A, B), "x": A, "y": B}]
    assert Pattern(ADD, name="m").named("n").match(add(A, B)) == [{"n": add(A, B)}]


def test_any_tries_alternatives_in_order() -> None:
    choice = Pattern.any(Pattern(ADD, args=(X, Y)), Pattern(ADD, args=(Y, X)), Pattern(NEG, args=(X,)))
    assert choice.match(add(A, B)) == [{"x": A, "y": B}, {"x": B, "y": A}]
    assert choice.match(neg(A)) == [{"x": A}]
    assert choice.match(A) == []
    assert choice.named("n").match(neg(A)) == [{"n": neg(A), "x": A}]


def test_alternatives_inside_orders_come_in_the_order_found() -> None:
    pattern = Pattern(ADD, args=[Pattern.any(X, Pattern.var("y")), Z])
    assert pattern.match(add(A, B)) == [{"x": A, "z": B}, {"y": A, "z": B}, {"x": B, "z": A}, {"y": B, "z": A}]


def test_a_name_bound_by_one_alternative_binds_what_follows() -> None:
    pattern = Pattern(ADD, args=(Pattern.any(Pattern(NEG, args=(X,)), Pattern(CONST)), X))
    assert pattern.match(add(neg(A), A)) == [{"x": A}]
    assert pattern.match(add(neg(A), B)) == []
    assert pattern.match(add(int_(1), B)) == [{"x": B}]


def test_any_needs_an_alternative() -> None:
    with pytest.raises(ValueError, match=r"Pattern\.any needs a pattern"):
        Pattern.any()


def test_bound_names_restrict_the_match_and_are_part_of_it() -> None:
    pattern = Pattern(ADD, args=[X, Y])
    assert pattern.match(add(A, B), {"x": B}) == [{"x": B, "y": A}]
    assert pattern.match(add(A, B), {"x": C}) == []
    assert pattern.match(add(A, B), {"w": C, "x": A}) == [{"w": C, "x": A, "y": B}]
    every = Pattern(BLOCK, args=Pattern(NEG, args=(X,)))
    assert every.match(block(neg(A)), {"x": B}) == []
    assert every.match(block(), {"x": B}) == [{"x": B}]


def test_a_pattern_is_immutable_and_has_no_truth_value() -> None:
    with pytest.raises(AttributeError, match="a pattern is immutable: cannot set 'name'"):
        X.name = "y"
    with pytest.raises(AttributeError, match="a pattern is immutable: cannot delete 'name'"):
        del X.name
    with pytest.raises(TypeError, match="a pattern has no truth value"):
        bool(X)


def test_a_list_has_a_fixed_length() -> None:
    with pytest.raises(ValueError, match="allow_any_len goes with a tuple"):
        Pattern(ADD, args=[X], allow_any_len=True)


def test_attribute_values_are_of_known_kinds() -> None:
    with pytest.raises(TypeError, match="an attribute cannot hold a value of type 'set'"):
        Pattern(attrs={"k": {1}})


def test_the_number_of_choices_is_limited() -> None:
    pattern = X
    for _ in range(16):
        pattern = Pattern(ADD, args=[pattern, Y])
    assert pattern.match(A) == []
    with pytest.raises(ValueError, match="more than 16 lists and alternatives"):
        Pattern(ADD, args=[pattern, Y])


def test_repr_reads_like_the_pattern() -> None:
    pattern = Pattern(ADD, args=[X, Pattern.const(0)], name="sum", type=INT64, where=lambda node: True)
    assert repr(pattern) == "sum: prog.add[x: _, is_constant {value=0}] : int64 where ..."
    assert repr(Pattern([SUB, ADD], args=(X,), allow_any_len=True)) == "prog.add|prog.sub(x: _, ...)"
    assert repr(Pattern.any(Pattern(BLOCK, args=Y), Z)) == "any(prog.block(y: _*), z: _)"


# --- vocabularies ----------------------------------------------------------------------------------------------------


def test_a_vocabulary_reads_like_algebra() -> None:
    x, y = P.var("x"), P.var("y")
    assert (x - y).match(sub(A, B)) == P.sub(x, y).match(sub(A, B)) == [{"x": A, "y": B}]
    assert (x + 0).match(add(A, int_(0))) == [{"x": A}]
    assert (0 + x).match(add(A, int_(0))) == [{"x": A}], "a sum is commutative"
    assert (x - 0).match(sub(int_(0), A)) == []
    assert (1 - x).match(sub(int_(1), A)) == [{"x": A}]
    assert (2 * -x).match(mul(neg(A), int_(2))) == [{"x": A}]
    assert (x // 2 % 3).match(build.apply("floormod", build.apply("floordiv", A, int_(2)), int_(3))) == [{"x": A}]
    assert (7 // x).match(build.apply("floordiv", int_(7), A)) == [{"x": A}]
    assert (7 % x).match(build.apply("floormod", int_(7), A)) == [{"x": A}]
    assert (x * 1.0).match(mul(A, int_(1))) == []
    assert P.select(P.lt(x, y), x, y).match(select(lt(A, B), A, B)) == [{"x": A, "y": B}]


def test_a_vocabulary_knows_its_operators_and_constants() -> None:
    assert P.add().match(add(A, B)) == [{}]
    assert P.neg(P.var("x"), name="n").match(neg(A)) == [{"n": neg(A), "x": A}]
    assert P.not_(P.and_(P.var("x"), P.var("x"))).single_op is Op.get("prog.not")
    assert P.op("var", name="v").match(A) == [{"v": A}]
    assert P.const(2).op == frozenset([Op.get("prog.const_int"), Op.get("prog.const_float")])
    assert (P.any(P.const(), P.neg()).named("n") + 1).match(add(neg(A), int_(1))) == [{"n": neg(A)}]
    assert P.op("block", P.var("x"), P.var("y")).match(block(A, B)) == [{"x": A, "y": B}]


def test_python_operators_find_an_operator_by_its_meaning() -> None:
    # A dialect of which `mod` rounds down: there is no operator called `floormod`.
    mod = Op.register("test_pattern.mod")
    mod.set_attr("TScalarOp", "prim.floormod")
    q = patterns("test_pattern")
    remainder = Node(mod, (A, B), None, INT64)
    assert (q.var("x") % q.var("y")).match(remainder) == [{"x": A, "y": B}]
    with pytest.raises(AttributeError, match=r"operator 'test_pattern\.add' is not registered"):
        q.var("x") + q.var("y")


def test_a_vocabulary_says_what_it_lacks() -> None:
    with pytest.raises(AttributeError, match=r"operator 'prog\.plus' is not registered"):
        P.plus(P.var("x"))
    with pytest.raises(TypeError, match=r"'prog\.add' expects 2 arguments, got 1"):
        P.add(P.var("x"))
    with pytest.raises(ValueError, match="no operator of dialect 'nowhere' is registered"):
        patterns("nowhere")
    with pytest.raises(TypeError, match="a pattern is a pattern or a number, not a 'str'"):
        P.var("x") + "1"  # type: ignore[operator]


# --- against the definition ------------------------------------------------------------------------------------------

_NAMES = st.sampled_from((None, "x", "y", "z"))
_OPS = st.sampled_from((None, ADD, MUL, NEG, SELECT, CONST, VAR, (ADD, MUL), is_constant))
_SMALL = {"attrs": {"value": lambda held: isinstance(held, int) and held > 0}}
_EXTRA: st.SearchStrategy[dict[str, Any]] = st.sampled_from(
    ({}, {}, {}, {}, _SMALL, {"attrs": {"value": 1}}, {"where": lambda node: len(node.args) != 1}, {"type": INT64})
)


def _operands(inner: st.SearchStrategy[Pattern]) -> st.SearchStrategy[Any]:
    lists = st.lists(inner, max_size=3)
    return st.one_of(st.none(), st.lists(inner, min_size=2, max_size=2), lists.map(tuple), lists, inner)


@st.composite
def _composed(draw: st.DrawFn, inner: st.SearchStrategy[Pattern]) -> Pattern:
    if draw(st.integers(0, 4)) == 0:
        return Pattern.any(*draw(st.lists(inner, min_size=1, max_size=3))).named(draw(st.sampled_from(("x", "n"))))
    args = draw(_operands(inner))
    anything = isinstance(args, tuple) and draw(st.booleans())
    return Pattern(draw(_OPS), args=args, name=draw(_NAMES), allow_any_len=anything, **draw(_EXTRA))


PATTERNS = st.recursive(st.builds(lambda op, name: Pattern(op, name=name), _OPS, _NAMES), _composed, max_leaves=6)


@given(PATTERNS, graphs(8))
@example(Pattern(ADD, args=[Pattern.any(X, Y), Pattern.any(Y, X)]), add(A, B))
def test_generated_code_finds_what_the_definition_finds(pattern: Pattern, root: Node) -> None:
    for node in (root, *root.args, block(), block(root, *root.args), block(root, root)):
        assert pattern.match(node) == matches(pattern, node), repr(pattern)


@given(PATTERNS, graphs(8), st.sampled_from("xyz"))
def test_what_is_bound_before_restricts_as_the_definition_says(pattern: Pattern, root: Node, name: str) -> None:
    for node in (root, *root.args):
        bound = {name: node.args[0] if node.args else node}
        assert pattern.match(node, bound) == matches(pattern, node, bound), repr(pattern)


def test_value_reads_a_constant() -> None:
    (found,) = P.const(name="c").match(int_(5))
    assert value(found["c"]) == 5
