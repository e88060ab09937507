"""Pattern matchers: what rules receive, in which order they are tried, and what construction refuses (A6)."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given

from scaly_ir.graph import Node
from scaly_ir.graph.matcher import PatternMatcher
from scaly_ir.graph.pattern import Pattern
from tests.graph.expressions import (
    ADD,
    BLOCK,
    FOLDING,
    IDENTITIES,
    MUL,
    NEG,
    VAR,
    P,
    add,
    block,
    graphs,
    int_,
    mul,
    neg,
    var,
)

A, B, C = var("a"), var("b"), var("c")
X, Y = Pattern.var("x"), Pattern.var("y")
SUM = Pattern(ADD, args=(X, Y), name="sum")


def _only(pattern: Pattern, function: Callable[..., Any]) -> PatternMatcher:
    return PatternMatcher([(pattern, function)])


def test_captures_go_to_parameters_by_name() -> None:
    assert _only(SUM, lambda y, x: (y, x)).rewrite(add(A, B)) == (B, A)
    assert _only(SUM, lambda sum: [sum]).rewrite(add(A, B)) == [add(A, B)]
    assert _only(SUM, lambda: "nothing").rewrite(add(A, B)) == "nothing"


def test_the_context_goes_to_ctx() -> None:
    assert _only(SUM, lambda ctx, x: (ctx, x)).rewrite(add(A, B), "context") == ("context", A)
    assert _only(SUM, lambda x, *, ctx: (ctx, x)).rewrite(add(A, B)) == (None, A)


def test_a_default_stands_in_for_a_name_that_is_not_bound() -> None:
    assert _only(SUM, lambda x, z=3, y=None: (x, z, y)).rewrite(add(A, B)) == (A, 3, B)
    assert _only(SUM, lambda *, z=4, y: (z, y)).rewrite(add(A, B)) == (4, B)
    either = Pattern.any(Pattern(ADD, args=(X, Y)), Pattern(NEG, args=(X,)))
    assert _only(either, lambda x, y=5: (x, y)).rewrite(neg(A)) == (A, 5)
    assert _only(either, lambda x, y=5: (x, y)).rewrite(add(A, B)) == (A, B)
    assert _only(either, lambda x, y: (x, y)).rewrite(neg(A)) == (A, None)
    assert _only(Pattern(BLOCK, args=Pattern(NEG, args=(X,))), lambda x=6: [x]).rewrite(block()) == [6]


def test_a_rule_with_keywords_receives_all_captures() -> None:
    assert _only(SUM, lambda x, **rest: rest).rewrite(add(A, B)) == {"y": B, "sum": add(A, B)}


def test_any_callable_is_a_function() -> None:
    class Method:
        def rule(self, x: Node, ctx: int) -> tuple[Node, int]:
            return x, ctx

        def __call__(self, y: Node) -> Node:
            return y

    def three(x: Node, y: Node, z: int) -> tuple[Node, Node, int]:
        return x, y, z

    @functools.wraps(three)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        return three(*args, **kwargs)

    assert _only(SUM, Method().rule).rewrite(add(A, B), 2) == (A, 2)
    assert _only(SUM, Method()).rewrite(add(A, B)) is B
    assert _only(SUM, functools.partial(three, z=1)).rewrite(add(A, B)) == (A, B, 1)
    with pytest.raises(ValueError, match="never binds parameter 'z'"):
        _only(SUM, wrapped)


def _unbound(x: Node, z: Node) -> Node:
    return x


def test_a_parameter_that_is_never_bound_is_refused() -> None:
    rule = f"'_unbound' (test_matcher.py:{_unbound.__code__.co_firstlineno})"
    message = f"rule {rule}: the pattern sum: prog.add(x: _, y: _) never binds parameter 'z'"
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        _only(SUM, _unbound)
    with pytest.raises(ValueError, match=r"^rule 'my rule': .* never binds parameter 'z'$"):
        PatternMatcher([(SUM, _unbound, "my rule")])


def test_a_root_names_its_operators() -> None:
    message = r"^rule '<lambda>' \(test_matcher\.py:\d+\): the pattern x: _ does not say which operators it is for$"
    with pytest.raises(ValueError, match=message):
        _only(X, lambda x: x)
    with pytest.raises(ValueError, match="does not say which operators"):
        _only(Pattern.any(SUM, X), lambda x: x)
    _only(Pattern.any(SUM, Pattern.any(Pattern(NEG, args=(X,)))), lambda x: x)
    _only(Pattern(lambda op: True, name="x"), lambda x: x)


def test_the_first_rule_with_a_result_wins() -> None:
    eight = int_(8)
    both = PatternMatcher([(SUM, lambda: "first"), (SUM, lambda: "second")])
    assert both.rewrite(add(A, B)) == "first"
    declined = PatternMatcher([(SUM, lambda: None), (SUM, lambda sum: sum), (SUM, lambda: eight)])
    assert declined.rewrite(add(A, B)) is eight
    assert _only(SUM, lambda: False).rewrite(add(A, B)) is False, "a result need not be a node"
    assert both.rewrite(mul(A, B)) is None
    assert PatternMatcher([]).rewrite(add(A, B)) is None


def test_a_declined_binding_gives_way_to_the_next() -> None:
    tried: list[tuple[Node, Node]] = []

    def wants_b_first(x: Node, y: Node) -> Node | None:
        tried.append((x, y))
        return y if x is B else None

    pair = Pattern(ADD, args=[X, Y])
    assert _only(pair, wants_b_first).rewrite(add(A, B)) is A
    assert tried == [(A, B), (B, A)]
    tried.clear()
    assert _only(pair, wants_b_first).rewrite(add(A, A)) is None
    assert tried == [(A, A)], "equal bindings are tried once"


def test_only_rules_that_list_the_operator_are_tried() -> None:
    asked: list[str] = []

    def note(what: str) -> None:
        asked.append(what)

    rules = PatternMatcher(
        [
            (Pattern(ADD), lambda: note("add")),
            (Pattern([MUL, NEG]), lambda: note("mul or neg")),
            (Pattern.any(Pattern(MUL), Pattern(VAR)), lambda: note("mul or var")),
        ]
    )
    rules.rewrite(mul(A, B))
    assert asked == ["mul or neg", "mul or var"]
    asked.clear()
    rules.rewrite(A)
    rules.rewrite(add(A, B))
    rules.rewrite(int_(0))
    assert asked == ["mul or var", "add"]


def test_rules_are_told_apart_by_operands_without_changing_what_matches() -> None:
    rules = PatternMatcher(
        [
            (Pattern(BLOCK, args=(Pattern(NEG), X)), lambda: "neg first"),
            (Pattern(BLOCK, args=[Pattern(NEG), X]), lambda: "neg somewhere"),
            (Pattern(BLOCK, args=(X,)), lambda: "one"),
            (Pattern(BLOCK, args=(X,), allow_any_len=True, early_reject=[NEG]), lambda: "some neg"),
            (Pattern(BLOCK, args=Pattern(VAR)), lambda: "variables"),
            (Pattern(BLOCK), lambda: "else"),
        ]
    )
    assert rules.rewrite(block(neg(A), B)) == "neg first"
    assert rules.rewrite(block(B, neg(A))) == "neg somewhere"
    assert rules.rewrite(block(B)) == "one"
    assert rules.rewrite(block(A, B, C, A, neg(A))) == "some neg"
    assert rules.rewrite(block(A, B, C)) == rules.rewrite(block(A, B, C, A, B, C)) == "variables"
    assert rules.rewrite(block()) == "variables"
    assert rules.rewrite(block(A, int_(1))) == rules.rewrite(block(A, A, A, A, A, int_(1))) == "else"


def test_matchers_are_added() -> None:
    first, second = _only(SUM, lambda: "first"), _only(SUM, lambda: "second")
    assert (first + second).rewrite(add(A, B)) == "first"
    assert (second + first).rewrite(add(A, B)) == "second"
    assert len((first + second + first).rules) == 3
    with pytest.raises(TypeError):
        first + second.rules  # type: ignore[operator]


def test_an_exception_in_a_rule_is_the_callers() -> None:
    def fails(x: Node) -> Node:
        raise ZeroDivisionError("in the rule")

    with pytest.raises(ZeroDivisionError, match="in the rule"):
        _only(SUM, fails).rewrite(add(A, B))


@given(graphs())
def test_composition_laws(root: Node) -> None:
    first, second, third = IDENTITIES, FOLDING, _only(P.neg(P.var("x")), lambda x: x)
    none = PatternMatcher([])

    def choose(*matchers: PatternMatcher) -> object:
        return next((r for r in [m.rewrite(root) for m in matchers] if r is not None), None)

    assert (first + second).rewrite(root) is choose(first, second)
    assert (second + first).rewrite(root) is choose(second, first)
    assert ((first + second) + third).rewrite(root) is (first + (second + third)).rewrite(root)
    assert (none + first).rewrite(root) is (first + none).rewrite(root) is (first + first).rewrite(root)


@given(graphs())
def test_a_matcher_is_its_rules_one_by_one(root: Node) -> None:
    rules = (IDENTITIES + FOLDING).rules
    single = [PatternMatcher([(rule.pattern, rule.function)]) for rule in rules]
    results = [matcher.rewrite(root) for matcher in single]
    assert (IDENTITIES + FOLDING).rewrite(root) is next((r for r in results if r is not None), None)
