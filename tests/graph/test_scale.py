"""A chain of a million nodes, and threads: graph specification A9, with the default recursion limit."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from scaly_ir.graph import Node, postorder, preorder, toposort
from scaly_ir.graph.matcher import PatternMatcher
from scaly_ir.graph.rewrite import AfterOperands, AroundOperands, BeforeOperands, Mode, graph_rewrite, substitute
from scaly_ir.graph.walk import backward_slice, op_in_backward_slice_with_self, reaches, split, topovisit
from tests.graph.expressions import ADD, MUL, SIMPLIFY, P, add, chain, int_, mul, var

LENGTH = 1_000_000
ZERO = PatternMatcher([(P.var("x") + 0, lambda x: x)])


@pytest.fixture(scope="module", autouse=True)
def _no_collector() -> Iterator[None]:
    """Keep the collector at rest: it would walk over millions of live objects again and again."""
    gc.disable()
    yield
    gc.enable()


@pytest.fixture(scope="module")
def ones() -> Node:
    """``x + 1 + 1 + ...``"""
    return chain(LENGTH, 1)


@pytest.fixture(scope="module")
def zeros() -> Node:
    """``x + 0 + 0 + ...``"""
    return chain(LENGTH, 0)


def test_walks(ones: Node) -> None:
    order = toposort(ones)
    assert len(order) == LENGTH + 2
    assert order[0] is var("x")
    assert order[-1] is ones
    assert postorder(ones) == order
    assert sum(1 for _ in preorder(ones)) == LENGTH + 2
    depths: dict[Node, int] = {}
    assert topovisit(ones, lambda node: 1 + max([depths[a] for a in node.args], default=0), depths) == LENGTH + 1


def test_slices(ones: Node) -> None:
    assert len(backward_slice(ones)) == LENGTH + 1
    assert reaches(ones, var("x"))
    assert not reaches(ones, var("y"))
    assert not op_in_backward_slice_with_self(ones, [MUL])
    assert split(ones, ADD) == [var("x")] + [int_(1)] * LENGTH


@pytest.mark.parametrize("mode", Mode)
def test_rules_after_operands(ones: Node, zeros: Node, mode: Mode) -> None:
    assert graph_rewrite(ones, AfterOperands(ZERO), mode=mode) is ones
    assert graph_rewrite(zeros, AfterOperands(ZERO), mode=mode) is var("x")


@pytest.mark.parametrize("mode", Mode)
def test_rules_before_operands(ones: Node, zeros: Node, mode: Mode) -> None:
    assert graph_rewrite(ones, BeforeOperands(ZERO), mode=mode) is ones
    # Once, the first rewrite ends it: what it makes is not looked at.
    expected = var("x") if mode is Mode.FIXED_POINT else zeros.args[0]
    assert graph_rewrite(zeros, BeforeOperands(ZERO), mode=mode) is expected


def test_substitution(ones: Node) -> None:
    renamed = substitute(ones, {var("x"): var("y")})
    assert (renamed.op, len(toposort(renamed))) == (ADD, LENGTH + 2)
    assert reaches(renamed, var("y"))


def test_rules_that_rewrite_every_node() -> None:
    length = 100_000
    root = chain(length, 1)
    to_product = PatternMatcher([(P.add(P.var("x"), P.const(name="c")), lambda x, c: mul(x, c))])
    for mode in Mode:
        product = graph_rewrite(root, AfterOperands(to_product), mode=mode)
        assert (product.op, len(toposort(product))) == (MUL, length + 2)
    assert graph_rewrite(root, AfterOperands(SIMPLIFY)) is add(var("x"), int_(length))


def test_threads_share_matchers_and_agree() -> None:
    root = chain(2000, 0, 1, 2, 3)
    shared = PatternMatcher([(rule.pattern, rule.function) for rule in SIMPLIFY.rules])  # nothing is compiled yet
    start = Barrier(8)

    def work(number: int) -> Node:
        start.wait()
        rules = AfterOperands(shared) if number % 2 else AroundOperands(shared, shared)
        return graph_rewrite(root, rules)

    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(work, range(8)))
    assert {id(result) for result in results} == {id(add(var("x"), int_(3000)))}
