"""graph_rewrite and substitute: every row of graph specification A7, A8 and B17, and what goes wrong."""

from __future__ import annotations

import pytest

from scaly_ir.errors import RewriteError, ScalyError
from scaly_ir.graph import Calls, Node, intern_node, toposort
from scaly_ir.graph.matcher import PatternMatcher
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
from scaly_ir.graph.rewrite_errors import brief
from scaly_ir.op import Op
from scaly_ir.types import FLOAT64, INT32, INT64
from tests.graph.expressions import ADD, CONST, MUL, NEG, P, add, block, call, int_, mul, neg, sub, value, var

A, B, C, D, E = [var(name) for name in "abcde"]
ONCE, FIXED_POINT = Mode.ONCE, Mode.FIXED_POINT
X = P.var("x")


def _constants(pairs: dict[int, int]) -> PatternMatcher:
    """Return rules that make some constants into others."""

    def other(c: Node) -> Node | None:
        return int_(pairs[value(c)]) if value(c) in pairs else None

    return PatternMatcher([(P.const(name="c"), other)])


def _log(*ops: Op) -> tuple[PatternMatcher, list[Node]]:
    """Return a matcher that rewrites nothing and notes what it is given."""
    given: list[Node] = []
    return PatternMatcher([(Pattern(ops or (lambda op: True), name="n"), lambda n: given.append(n))]), given


# --- to a fixed point ------------------------------------------------------------------------------------------------


def test_rules_after_operands_see_rewritten_operands() -> None:
    rules = AfterOperands(PatternMatcher([(X + 0, lambda x: x), (P.neg(-X), lambda x: x)]))
    assert graph_rewrite(neg(add(neg(A), int_(0))), rules) is A
    assert graph_rewrite(add(A, B), rules) is add(A, B), "without a rewrite, the result is the root"


def test_rules_before_operands_apply_until_none_does() -> None:
    log, given = _log()
    rules = BeforeOperands(_constants({1: 2, 2: 3}) + log)
    assert graph_rewrite(add(A, int_(1)), rules) is add(A, int_(3))
    assert given == [add(A, int_(1)), A, int_(3), add(A, int_(3))], "a rebuilt node is entered"


def test_operands_are_entered_first_one_first() -> None:
    log, given = _log()
    root = add(mul(A, B), neg(C))
    graph_rewrite(root, BeforeOperands(log))
    assert given == [root, mul(A, B), A, B, neg(C), C]
    after, given = _log()
    graph_rewrite(root, AfterOperands(after))
    assert given == toposort(root)


def test_what_a_rule_makes_is_rewritten_in_turn() -> None:
    grow = PatternMatcher([(-P.const(2, "c"), lambda c: mul(int_(1), add(c, int_(0))))])
    fold = PatternMatcher([(X + 0, lambda x: x), (X * 1, lambda x: x)])
    assert graph_rewrite(neg(int_(2)), AfterOperands(grow + fold)) is int_(2)
    assert graph_rewrite(neg(int_(2)), AroundOperands(grow, fold)) is int_(2)


def test_both_matchers_of_around() -> None:
    # before: a -> b where it stands; after: b + b -> c
    before = PatternMatcher([(P.op("var", attrs={"name": "a"}), lambda: B)])
    after = PatternMatcher([(Pattern(ADD, args=(Pattern(attrs={"name": "b"}),) * 2), lambda: C)])
    assert graph_rewrite(neg(add(A, B)), AroundOperands(before, after)) is neg(C)


def test_each_matcher_is_given_each_node_once() -> None:
    before, entered = _log()
    after, left = _log()
    shared = neg(int_(1))
    root = block(shared, add(shared, int_(1)), add(neg(int_(2)), int_(2)))
    result = graph_rewrite(root, AroundOperands(_constants({1: 2}) + before, after))
    two = int_(2)
    assert result is block(neg(two), add(neg(two), two), add(neg(two), two))
    for given in (entered, left):
        assert len(given) == len(set(given))
    assert set(left) == set(toposort(result))
    assert set(entered) == (set(toposort(result)) | set(toposort(root))) - {int_(1)}


def test_a_node_made_of_another_is_not_rewritten_again() -> None:
    # 1 becomes 2, which stands in the graph already: one node, given to the matcher once.
    log, given = _log(CONST)
    assert graph_rewrite(add(int_(1), int_(2)), BeforeOperands(_constants({1: 2}) + log)) is add(int_(2), int_(2))
    assert given == [int_(2)]


def test_a_gate_keeps_the_node_and_what_is_below_it() -> None:
    def gate(x: Node) -> Node:
        raise BottomUpGate

    after, left = _log()
    before = _constants({1: 2}) + PatternMatcher([(-X, gate), (P.sub(X, P.var("y")), lambda x, y: neg(add(x, y)))])
    assert graph_rewrite(block(neg(int_(1)), int_(1)), BeforeOperands(before)) is block(neg(int_(1)), int_(2))
    root = block(sub(int_(1), A))
    assert graph_rewrite(root, AroundOperands(before, after)) is block(neg(add(int_(1), A))), "the last node produced"
    assert left == [root, block(neg(add(int_(1), A)))][1:], "rules after operands do not see it"


@pytest.mark.parametrize("mode", Mode)
def test_a_gate_after_operands_is_the_callers(mode: Mode) -> None:
    def gate(x: Node) -> Node:
        raise BottomUpGate

    rules = PatternMatcher([(-X, gate)])
    with pytest.raises(BottomUpGate):
        graph_rewrite(neg(A), AfterOperands(rules), mode=mode)
    with pytest.raises(BottomUpGate):
        graph_rewrite(neg(A), BeforeOperands(rules), mode=ONCE)


def test_the_context_reaches_the_rules() -> None:
    rules = PatternMatcher([(P.op("var", name="v"), lambda ctx, v: ctx.get(v))])
    assert graph_rewrite(add(A, B), AfterOperands(rules), ctx={A: C}) is add(C, B)
    assert graph_rewrite(add(A, B), BeforeOperands(rules), mode=ONCE, ctx={A: C}) is add(C, B)


def test_a_rule_that_makes_no_node_is_named() -> None:
    rules = PatternMatcher([(-X, lambda: True, "wrong")])
    for mode in Mode:
        for kind in (AfterOperands, BeforeOperands):
            with pytest.raises(TypeError) as caught:
                graph_rewrite(neg(A), kind(rules), mode=mode)
            assert str(caught.value) == (
                "rule 'wrong' made a 'bool' of prog.neg(prog.var {name=\"a\"}) : int64; a rewrite needs a node"
            )


# --- once ------------------------------------------------------------------------------------------------------------


def test_once_does_not_look_at_results_again() -> None:
    counting = _constants({1: 2, 2: 3})
    assert graph_rewrite(add(int_(1), int_(2)), AfterOperands(counting), mode=ONCE) is add(int_(2), int_(3))
    assert graph_rewrite(add(int_(1), int_(2)), BeforeOperands(counting), mode=ONCE) is add(int_(2), int_(3))
    assert graph_rewrite(add(int_(1), int_(2)), BeforeOperands(counting)) is add(int_(3), int_(3))


def test_once_leaves_what_is_below_a_replaced_node() -> None:
    rules = PatternMatcher([(-X, lambda x: mul(x, int_(1)))]) + _constants({1: 2})
    after, left = _log()
    assert graph_rewrite(neg(int_(1)), AroundOperands(rules, after), mode=ONCE) is mul(int_(1), int_(1))
    assert left == []
    assert graph_rewrite(block(neg(int_(1)), int_(1)), BeforeOperands(rules), mode=ONCE) is block(
        mul(int_(1), int_(1)), int_(2)
    )


def test_once_gives_a_rebuilt_node_to_the_rules_after_operands() -> None:
    rules = PatternMatcher([(P.neg(-X), lambda x: x), (X + 0, lambda x: x)])
    assert graph_rewrite(neg(add(neg(A), int_(0))), AfterOperands(rules), mode=ONCE) is A
    seen, given = _log(ADD)
    graph_rewrite(add(int_(1), A), AfterOperands(_constants({1: 2}) + seen), mode=ONCE)
    assert given == [add(int_(2), A)]


# --- calls and types -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", Mode)
def test_the_body_of_a_skipped_call_stays(mode: Mode) -> None:
    body = neg(A)
    root = block(call(body, A), body)
    rules = PatternMatcher([(P.op("var", attrs={"name": "a"}), lambda: B)])
    for kind in (AfterOperands, BeforeOperands):
        skipped = graph_rewrite(root, kind(rules), calls=Calls.SKIP, mode=mode)
        assert skipped is block(call(body, B), neg(B)), "reached otherwise, the body is rewritten"
        assert graph_rewrite(root, kind(rules), mode=mode) is block(call(neg(B), B), neg(B))
    unseen, given = _log(NEG)
    graph_rewrite(call(body, A), AfterOperands(unseen), calls=Calls.SKIP, mode=mode)
    assert given == []


def test_a_rebuilt_node_has_the_type_its_operator_infers() -> None:
    inferring = _operator("infers", FInferType=lambda node: node.args[0].type)
    fixed = _operator("fixed", TFixedReturnType="float64", FInferType=lambda node: INT32)
    plain = _operator("plain")
    narrow = var("a", INT32)
    for op, before, after in ((inferring, INT64, INT32), (fixed, FLOAT64, FLOAT64), (plain, INT64, INT64)):
        node = Node(op, (A,), None, before)
        assert rebuild(node, (narrow,)) is Node(op, (narrow,), None, after)
        assert substitute(node, {A: narrow}) is Node(op, (narrow,), None, after)
    assert rebuild(intern_node(plain, (A,), int_(3).attrs, INT64), [B]).attrs == {"value": 3}


def test_an_exception_of_a_type_rule_is_the_callers() -> None:
    def fails(node: Node) -> object:
        raise IndexError("no operand")

    node = Node(_operator("fails", FInferType=fails), (A,), None, INT64)
    with pytest.raises(IndexError, match="no operand"):
        substitute(node, {A: B})


def _operator(name: str, **attributes: object) -> Op:
    op = Op.register(f"test_graph.{name}")
    for key, held in attributes.items():
        op.set_attr(key, held)
    return op


# --- rewrites that do not end ----------------------------------------------------------------------------------------


def _three_to_four(c: Node) -> Node | None:
    return int_({3: 4, 4: 3}.get(value(c), value(c)))


SWAP = PatternMatcher([(P.const(name="c"), _three_to_four)])
LINE = _three_to_four.__code__.co_firstlineno


def test_rules_before_operands_that_cycle() -> None:
    with pytest.raises(RewriteError) as caught:
        graph_rewrite(add(A, int_(3)), BeforeOperands(SWAP))
    error = caught.value
    assert isinstance(error, ValueError)
    assert isinstance(error, ScalyError)
    assert (error.kind, error.node, error.rule) == ("cycle", int_(3), f"'_three_to_four' (test_rewrite.py:{LINE})")
    assert str(error) == (
        "cycle: prog.const_int {value=3} : int64 is made of itself again; "
        f"rule '_three_to_four' (test_rewrite.py:{LINE}) makes prog.const_int {{value=4}} : int64 of it"
    )
    assert graph_rewrite(int_(3), BeforeOperands(SWAP), mode=ONCE) is int_(4)


def test_a_cycle_is_found_where_it_is_entered_sideways() -> None:
    rules = _constants({1: 2, 2: 3, 3: 2})
    with pytest.raises(RewriteError) as caught:
        graph_rewrite(int_(1), BeforeOperands(rules))
    assert (caught.value.kind, caught.value.node) == ("cycle", int_(2))


def test_rules_after_operands_that_swap_depend_on_themselves() -> None:
    with pytest.raises(RewriteError) as caught:
        graph_rewrite(add(A, int_(3)), AfterOperands(SWAP))
    assert (caught.value.kind, caught.value.node) == ("self_dependence", int_(3))
    assert str(caught.value) == (
        "self_dependence: the result for prog.const_int {value=3} : int64 is part of itself; "
        f"rule '_three_to_four' (test_rewrite.py:{LINE}) makes prog.const_int {{value=4}} : int64 of it"
    )
    assert graph_rewrite(int_(3), AfterOperands(SWAP), mode=ONCE) is int_(4)


def test_a_node_that_becomes_part_of_itself() -> None:
    rules = PatternMatcher([(P.op("var", name="v"), lambda v: neg(add(v, int_(1))), "more")])
    for kind in (BeforeOperands, AfterOperands):
        with pytest.raises(RewriteError) as caught:
            graph_rewrite(mul(A, A), kind(rules))
        assert (caught.value.kind, caught.value.node, caught.value.rule) == ("self_dependence", A, "'more'")
        assert str(caught.value) == (
            "self_dependence: the result for prog.var {name=\"a\"} : int64 is part of itself; rule 'more' makes "
            'prog.neg(prog.add(prog.var {name="a"}, prog.const_int {value=1})) : int64 of it'
        )


def test_a_rewrite_that_grows_reaches_the_limit() -> None:
    deeper = PatternMatcher([(P.const(name="c"), lambda c: neg(int_(value(c) + 1)), "deeper")])
    for kind in (BeforeOperands, AfterOperands):
        with pytest.raises(RewriteError) as caught:
            graph_rewrite(add(int_(0), A), kind(deeper), stack_limit=10)
        assert (caught.value.kind, caught.value.rule) == ("stack_limit", "'deeper'")
        # ten, and four for each of the three nodes
        assert str(caught.value) == (
            "stack_limit: more than 22 rewrites wait for others; the last: rule 'deeper' made "
            "prog.neg(prog.const_int {value=23}) : int64 of prog.const_int {value=22} : int64"
        )


def test_a_chain_of_rewrites_without_end_reaches_the_limit() -> None:
    counting = PatternMatcher([(P.const(name="c"), lambda c: int_(value(c) + 1))])
    for kind in (BeforeOperands, AfterOperands):
        with pytest.raises(RewriteError, match=r"^stack_limit: more than 104 rewrites wait") as caught:
            graph_rewrite(int_(0), kind(counting), stack_limit=100)
        assert caught.value.kind == "stack_limit"


def test_deep_graphs_do_not_reach_the_limit() -> None:
    root = A
    for _ in range(1000):
        root = neg(root)
    flip = PatternMatcher([(-X, lambda x: mul(x, int_(-1)))])
    for kind in (BeforeOperands, AfterOperands):
        assert graph_rewrite(root, kind(flip), stack_limit=0).op is MUL


def test_an_interrupted_rewrite_leaves_no_trace() -> None:
    failing = [True]

    def interrupted(x: Node) -> Node:
        if failing:
            raise KeyboardInterrupt
        return x

    root = block(neg(neg(add(A, int_(0)))), add(neg(neg(B)), int_(0)))
    rules = PatternMatcher([(P.neg(-X), lambda x: x), (X + 0, interrupted)])
    for kind in (BeforeOperands, AfterOperands):
        failing.append(True)
        with pytest.raises(KeyboardInterrupt):
            graph_rewrite(root, kind(rules))
        failing.clear()
        assert graph_rewrite(root, kind(rules)) is block(A, B)


def test_a_node_is_told_in_a_few_words() -> None:
    deep = neg(neg(neg(A)))
    assert brief(deep) == "prog.neg(prog.neg(prog.neg(...))) : int64"
    assert brief(block(A, B, C, D)).endswith(', prog.var {name="c"}, ...)')
    assert brief(block()) == "prog.block"
    assert len(brief(var("x" * 1000))) < 100
    assert len(brief(block(*[block(*[var("x" * 1000)] * 9)] * 9))) < 1000


# --- substitution ----------------------------------------------------------------------------------------------------


def test_substitution_goes_on_in_what_it_puts_in() -> None:
    pairs = {A: add(B, E), B: D}
    root = add(A, int_(4))
    assert substitute(root, pairs) is add(add(D, E), int_(4))
    assert substitute(root, pairs, mode=ONCE) is add(add(B, E), int_(4))


def test_substitution_of_a_node_by_part_of_itself() -> None:
    with pytest.raises(RewriteError) as caught:
        substitute(A, {A: add(A, int_(1))})
    assert (caught.value.kind, caught.value.rule) == ("self_dependence", "'substitute'")
    assert substitute(neg(A), {A: add(A, int_(1))}, mode=ONCE) is neg(add(A, int_(1)))
    with pytest.raises(RewriteError) as caught:
        substitute(A, {A: B, B: A})
    assert caught.value.kind == "cycle"
    assert substitute(add(A, B), {A: B, B: A}, mode=ONCE) is add(B, A)


def test_substitution_replaces_users_first() -> None:
    assert substitute(neg(add(A, B)), {add(A, B): C, A: D}) is neg(C)
    assert substitute(add(A, B), {add(A, B): A}, mode=ONCE) is A
    assert substitute(add(A, B), {add(A, B): A, A: D}) is D


def test_pairs_of_a_node_with_itself_are_dropped() -> None:
    def never(x: Node) -> Node:
        raise AssertionError

    root = neg(A)
    extra = PatternMatcher([(-X, never)])
    assert substitute(root, {}, extra=extra) is root
    assert substitute(root, {A: A, root: root}, extra=extra) is root


def test_extra_rules_run_after_the_substitution_with_the_mapping() -> None:
    seen: list[object] = []

    def fold(x: Node, ctx: object) -> Node:
        seen.append(ctx)
        return x

    extra = PatternMatcher([(X + 0, fold)])
    assert substitute(block(add(B, int_(0)), A), {A: neg(C), D: D}, extra=extra) is block(B, neg(C))
    assert seen == [{A: neg(C)}]


@pytest.mark.parametrize("mode", Mode)
def test_substitution_treats_calls_as_told(mode: Mode) -> None:
    root = call(neg(A), A)
    assert substitute(root, {A: B}, mode=mode) is call(neg(B), B)
    assert substitute(root, {A: B}, mode=mode, calls=Calls.SKIP) is call(neg(A), B)
