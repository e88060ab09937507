"""Observers of rewrites: what they are told, and that nothing is done for those who do not listen."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from types import FrameType

import pytest
from hypothesis import given

from scaly_ir.folding import FOLD, Folder
from scaly_ir.graph import Node, observe
from scaly_ir.graph.matcher import PatternMatcher
from scaly_ir.graph.observe import (
    Observer,
    observe_rewrites,
    observed,
    report_derived,
    report_rebuilt,
    report_rewrite,
)
from scaly_ir.graph.pattern import Pattern
from scaly_ir.graph.rewrite import (
    AfterOperands,
    AroundOperands,
    BeforeOperands,
    BottomUpGate,
    Mode,
    graph_rewrite,
    rebuild,
    substitute,
)
from scaly_ir.identities import CHOICES, IDENTITIES, PRODUCTS, QUOTIENTS, SUMS
from tests.graph.expressions import FOLDING, SIMPLIFY, P, add, graphs, int_, mul, neg, var

A, B = var("a"), var("b")
X = P.var("x")


class _Log(Observer):
    def __init__(self) -> None:
        super().__init__()
        self.rewrites: list[tuple[str, Node, Sequence[Node]]] = []
        self.rebuilds: list[tuple[Node, Node]] = []
        self.made: list[tuple[Node, Sequence[Node]]] = []

    def rewritten(self, rule: str, before: Node, after: Sequence[Node]) -> None:
        self.rewrites.append((rule, before, after))

    def rebuilt(self, before: Node, after: Node) -> None:
        self.rebuilds.append((before, after))

    def derived(self, before: Node, after: Sequence[Node]) -> None:
        self.made.append((before, after))


def _drop_zero(x: Node) -> Node:
    return x


RULES = PatternMatcher([(X + 0, _drop_zero), (P.neg(-X), lambda x: x, "twice")])


def test_each_rewrite_is_told_in_order() -> None:
    log = _Log()
    with observe_rewrites(log):
        assert graph_rewrite(neg(add(neg(A), int_(0))), AfterOperands(RULES)) is A
    assert log.rewrites == [
        ("drop_zero", add(neg(A), int_(0)), (neg(A),)),
        ("twice", neg(neg(A)), (A,)),
    ]
    assert log.rebuilds == [(neg(add(neg(A), int_(0))), neg(neg(A)))]


@pytest.mark.parametrize("mode", Mode)
def test_rules_before_operands(mode: Mode) -> None:
    log = _Log()
    with observe_rewrites(log):
        result = graph_rewrite(mul(add(A, int_(0)), B), BeforeOperands(RULES), mode=mode)
    assert result is mul(A, B)
    assert log.rewrites == [("drop_zero", add(A, int_(0)), (A,))]
    assert log.rebuilds == [(mul(add(A, int_(0)), B), mul(A, B))]


def test_a_rule_without_a_name_is_known_by_its_place() -> None:
    log = _Log()
    rules = PatternMatcher([(X + 0, lambda x: x)])
    line = test_a_rule_without_a_name_is_known_by_its_place.__code__.co_firstlineno + 2
    with observe_rewrites(log):
        graph_rewrite(add(A, int_(0)), AfterOperands(rules))
    assert [rule for rule, _, _ in log.rewrites] == [f"test_observe.py:{line}"]


def test_a_rule_that_stands_for_many_says_which() -> None:
    log = _Log()
    with observe_rewrites(log):
        folder = Folder(IDENTITIES, trees=True, constants_first=True)
        graph_rewrite(mul(add(A, int_(0)), add(int_(1), int_(2))), AfterOperands(FOLD), ctx=folder)
    assert [rule for rule, _, _ in log.rewrites] == ["add_zero", "fold prog.add"]


def test_a_rewrite_within_a_rule_has_its_own_name() -> None:
    folder = Folder(IDENTITIES, trees=True, constants_first=True)

    def inner(n: Node) -> Node:
        graph_rewrite(mul(B, int_(1)), AfterOperands(FOLD), ctx=Folder(IDENTITIES, trees=True, constants_first=True))
        return A

    log = _Log()
    with observe_rewrites(log):
        graph_rewrite(neg(B), BeforeOperands(PatternMatcher([(P.neg(name="n"), inner)])), ctx=folder)
    assert [rule for rule, _, _ in log.rewrites] == ["multiply_by_one", "inner"]


def test_what_was_folded_by_itself_names_nothing() -> None:
    log = _Log()
    with observe_rewrites(log):
        folder = Folder(IDENTITIES, trees=True, constants_first=True)
        assert folder.fold(mul(A, int_(1))) is A
        graph_rewrite(add(A, int_(0)), AfterOperands(RULES))
    assert [rule for rule, _, _ in log.rewrites] == ["drop_zero"]


def test_what_is_quiet_is_not_told() -> None:
    log = _Log()
    with observe_rewrites(log):
        graph_rewrite(add(A, int_(0)), AfterOperands(RULES), quiet=True)
        assert substitute(neg(A), {A: B}) is neg(B)
    assert (log.rewrites, log.rebuilds) == ([], [(neg(A), neg(B))])


def test_what_becomes_of_a_node_is_told() -> None:
    log = _Log()
    with observe_rewrites(log):
        assert neg(A).replace(args=[B]) is neg(B)
        assert neg(A).replace(args=[A]) is neg(A)
        report_rebuilt(neg(A), neg(A))
        report_derived(neg(A), A, B)
    report_derived(neg(A), A)
    assert (log.rebuilds, log.made) == ([(neg(A), neg(B))], [(neg(A), (A, B))])


def test_an_observer_that_does_nothing_tells_the_one_around_it() -> None:
    outer = _Log()
    with observe_rewrites(outer), observe_rewrites(Observer()):
        report_rewrite("one", A, B)
        report_rebuilt(A, B)
        report_derived(A, B)
    assert (outer.rewrites, outer.rebuilds, outer.made) == ([("one", A, (B,))], [(A, B)], [(A, (B,))])


def test_an_observer_in_itself_is_told_once_and_keeps_nobody() -> None:
    outer, inner = _Log(), Observer()
    with observe_rewrites(outer):
        with observe_rewrites(inner), observe_rewrites(inner):
            report_rewrite("one", A, B)
        assert inner.outer is None
    assert outer.rewrites == [("one", A, (B,))]


def test_a_gate_and_a_wrong_result_are_as_without_an_observer() -> None:
    def close() -> None:
        raise BottomUpGate

    gate = PatternMatcher([(P.neg(), close)])
    wrong = PatternMatcher([(P.neg(), lambda: 3, "three")])
    log = _Log()
    with observe_rewrites(log):
        root = mul(neg(add(A, int_(0))), B)
        assert graph_rewrite(root, AroundOperands(gate, RULES)) is root
        with pytest.raises(TypeError, match="rule 'three' made a 'int'"):
            graph_rewrite(neg(A), AfterOperands(wrong))
    assert log.rewrites == []


def test_the_innermost_observer_is_told_and_none_outside() -> None:
    outer, inner = _Log(), _Log()
    report_rewrite("lost", A)
    with observe_rewrites(outer):
        with observe_rewrites(inner):
            report_rewrite("one", A, B)
        report_rewrite("two", A)
        with pytest.raises(KeyError), observe_rewrites(inner):
            raise KeyError
        report_rewrite("three", A)
    report_rewrite("lost", A)
    assert inner.rewrites == [("one", A, (B,))]
    assert outer.rewrites == [("two", A, ()), ("three", A, ())]


def test_rebuilding_without_an_observer_is_the_function_itself() -> None:
    assert observed(rebuild) is rebuild
    log = _Log()
    with observe_rewrites(log):
        told = observed(rebuild)
        assert told(neg(A), [B]) is neg(B)
        assert told(neg(A), [A]) is neg(A)
    assert log.rebuilds == [(neg(A), neg(B))]


@pytest.mark.parametrize("mode", Mode)
@given(root=graphs())
def test_observing_changes_nothing(mode: Mode, root: Node) -> None:
    rules = AroundOperands(FOLDING, SIMPLIFY)
    expected = graph_rewrite(root, rules, mode=mode)
    log = _Log()
    with observe_rewrites(log):
        assert graph_rewrite(root, rules, mode=mode) is expected
    if expected is not root:
        assert log.rewrites
    else:
        assert not log.rebuilds


@pytest.mark.parametrize("length", [10, 1000])
def test_without_an_observer_nothing_is_done_for_a_rule(length: int) -> None:
    root = var("x")
    for number in range(length):
        root = add(root, mul(int_(number + 10), int_(3)))

    def folded() -> Node:
        folder = Folder(IDENTITIES, trees=True, constants_first=True)
        return graph_rewrite(root, AfterOperands(FOLD), ctx=folder)

    folded()  # what is compiled with the first use is not what is counted
    log = _Log()
    assert _calls_that_tell(folded) == ["observer", "observer"], "once for the folder, once for the rewrite"
    with observe_rewrites(log):
        assert "rebuilt" in _calls_that_tell(folded)
    assert len(log.rewrites) == length


def _calls_that_tell(work: Callable[[], object]) -> list[str]:
    """Return which functions some work calls for the sake of observers."""
    names = []

    def profile(frame: FrameType, event: str, argument: object) -> None:
        code = frame.f_code
        if event == "call" and (code.co_filename == observe.__file__ or code.co_name == "telling"):
            names.append(code.co_name)

    sys.setprofile(profile)
    try:
        work()
    finally:
        sys.setprofile(None)
    return names


def test_identities_have_names_of_their_own() -> None:
    names = [rule.name for table in (SUMS, PRODUCTS, QUOTIENTS, CHOICES) for rule in table.rules]
    assert len(set(names)) == len(names)
    assert all([name.isidentifier() for name in names])


def test_names_of_rules() -> None:
    def _made(n: Node) -> Node:
        return n

    class Maker:
        def __call__(self, n: Node) -> Node:
            return n

    every = Pattern(lambda op: True, name="n")
    matcher = PatternMatcher([(P.neg(name="n"), _made), (every, Maker()), (every, lambda n: n, "given")])
    assert [rule.name for rule in matcher.rules] == ["made", "Maker", "given"]
    assert [rule.run.__name__ for rule in matcher.rules] == ["made", "Maker", "given"]
