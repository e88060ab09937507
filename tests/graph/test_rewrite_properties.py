"""Laws of rewriting, on random expressions: values stay, results are final, shared nodes stay shared."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scaly_ir.graph import Node, toposort
from scaly_ir.graph.matcher import PatternMatcher
from scaly_ir.graph.pattern import Pattern
from scaly_ir.graph.rewrite import (
    AfterOperands,
    AroundOperands,
    BeforeOperands,
    Mode,
    Rules,
    graph_rewrite,
    rebuild,
    substitute,
)
from tests.graph.expressions import (
    ENVIRONMENTS,
    FOLDING,
    IDENTITIES,
    NAMES,
    SIMPLIFY,
    evaluate,
    graphs,
    int_,
    mul,
    neg,
    var,
)

ALL_RULES: list[Rules] = [
    AfterOperands(SIMPLIFY),
    BeforeOperands(SIMPLIFY),
    AroundOperands(IDENTITIES, FOLDING),
    AroundOperands(FOLDING, IDENTITIES),
    AroundOperands(SIMPLIFY, SIMPLIFY),
]
RULES = pytest.mark.parametrize("rules", ALL_RULES, ids=["after", "before", "around", "around2", "both"])
MODES = pytest.mark.parametrize("mode", Mode)


@RULES
@MODES
@given(root=graphs(), env=ENVIRONMENTS)
def test_rewriting_keeps_the_value(rules: Rules, mode: Mode, root: Node, env: dict[str, int]) -> None:
    assert evaluate(graph_rewrite(root, rules, mode=mode), env) == evaluate(root, env)


@RULES
@given(root=graphs())
def test_a_fixed_point_is_one(rules: Rules, root: Node) -> None:
    result = graph_rewrite(root, rules)
    assert graph_rewrite(result, rules) is result
    if not isinstance(rules, AroundOperands):
        assert graph_rewrite(result, rules, mode=Mode.ONCE) is result
        assert all(rules.matcher.rewrite(node) is None for node in toposort(result))


def _by_definition(root: Node, rules: Rules) -> Node:
    """Rewrite to a fixed point by recursion, straight from the definition; without gates and errors."""
    before = rules.before if isinstance(rules, AroundOperands) else None
    after = rules.after if isinstance(rules, AroundOperands) else None
    if isinstance(rules, BeforeOperands):
        before = rules.matcher
    elif isinstance(rules, AfterOperands):
        after = rules.matcher
    results: dict[Node, Node] = {}

    def enter(node: Node) -> Node:
        if node not in results:
            last = node
            while before is not None and (made := before.rewrite(last)) is not None:
                last = made
            operands = [enter(operand) for operand in last.args]
            if any(new is not old for new, old in zip(operands, last.args, strict=True)):
                results[node] = enter(rebuild(last, operands))
            else:
                made = None if after is None else after.rewrite(last)
                results[node] = last if made is None else enter(made)
        return results[node]

    return enter(root)


@RULES
@given(root=graphs())
def test_the_engine_does_what_the_definition_says(rules: Rules, root: Node) -> None:
    assert graph_rewrite(root, rules) is _by_definition(root, rules)


@given(graphs())
def test_shared_nodes_stay_shared(root: Node) -> None:
    given_before: list[Node] = []
    given_after: list[Node] = []
    before = PatternMatcher([(Pattern(lambda op: True, name="n"), lambda n: given_before.append(n))])
    after = PatternMatcher([(Pattern(lambda op: True, name="n"), lambda n: given_after.append(n))])
    result = graph_rewrite(root, AroundOperands(before + IDENTITIES, after + FOLDING))
    assert len(given_before) == len(set(given_before))
    assert len(given_after) == len(set(given_after))
    assert set(toposort(result)) <= set(given_after), "what is in the result went through the rules"


@given(graphs(40))
def test_renaming_keeps_the_number_of_nodes(root: Node) -> None:
    there = {var(name): var(f"new_{name}") for name in NAMES}
    back = {new: old for old, new in there.items()}
    for mode in Mode:
        renamed = substitute(root, there, mode=mode)
        assert len(toposort(renamed)) == len(toposort(root))
        assert substitute(renamed, back, mode=mode) is root


@given(graphs(), st.dictionaries(st.sampled_from(NAMES), graphs(6), max_size=3), ENVIRONMENTS)
def test_substitution_is_evaluation_elsewhere(root: Node, pairs: dict[str, Node], env: dict[str, int]) -> None:
    result = substitute(root, {var(name): new for name, new in pairs.items()}, mode=Mode.ONCE)
    inner = {name: evaluate(new, env) for name, new in pairs.items()}
    assert evaluate(result, env) == evaluate(root, {**env, **inner})


@given(graphs(), st.data())
def test_what_is_substituted_is_gone(root: Node, data: st.DataObject) -> None:
    old = data.draw(st.sampled_from(toposort(root)))
    new = var("fresh", old.type)
    for mode in Mode:
        result = substitute(root, {old: new}, mode=mode)
        assert old not in toposort(result)
        assert new in toposort(result)
        assert substitute(result, {new: old}, mode=mode) is root


@given(graphs(), graphs(6))
def test_substitution_of_what_is_not_there(root: Node, new: Node) -> None:
    for mode in Mode:
        assert substitute(root, {var("elsewhere"): new}, mode=mode) is root


@given(graphs(), graphs(4), graphs(4))
def test_independent_substitutions_commute(root: Node, first: Node, second: Node) -> None:
    fresh = {var(name): var(f"new_{name}") for name in NAMES}
    first, second = substitute(first, fresh), substitute(second, fresh)
    a, b = var("a"), var("b")
    both = substitute(root, {a: first, b: second})
    assert substitute(substitute(root, {a: first}), {b: second}) is both
    assert substitute(substitute(root, {b: second}), {a: first}) is both
    assert substitute(root, {a: first, b: second}, mode=Mode.ONCE) is both


@given(graphs())
def test_the_order_of_rules_decides(root: Node) -> None:
    one = PatternMatcher([(Pattern(lambda op: op.mnemonic == "neg"), lambda: int_(1))])
    two = PatternMatcher([(Pattern(lambda op: op.mnemonic == "neg"), lambda: int_(2))])
    assert graph_rewrite(root, AfterOperands(one + two)) is graph_rewrite(root, AfterOperands(one))
    assert graph_rewrite(root, BeforeOperands(two + one)) is graph_rewrite(root, BeforeOperands(two))


def test_examples_of_simplification() -> None:
    a = var("a")
    assert graph_rewrite(mul(neg(neg(a)), int_(1)), AfterOperands(SIMPLIFY)) is a
