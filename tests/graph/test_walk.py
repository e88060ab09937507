"""Walks: orders, gates, calls, slices and sets, by graph specification A4 and B17."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scaly_ir.graph import Calls, Node, NodeSet, postorder, preorder, toposort
from scaly_ir.graph.walk import (
    backward_slice,
    backward_slice_with_self,
    op_in_backward_slice_with_self,
    operands_of,
    reaches,
    split,
    topovisit,
)
from tests.graph.expressions import ADD, CALL, CONST, MUL, SUB, VAR, add, block, call, graphs, int_, mul, neg, sub, var

A, B, C, D = [var(name) for name in "abcd"]


def _finishing_order(root: Node) -> list[Node]:
    """Return the order that a recursive walk finishes nodes in, straight from the definition."""
    done: dict[Node, None] = {}

    def visit(node: Node) -> None:
        if node not in done:
            for operand in node.args:
                visit(operand)
            done[node] = None

    visit(root)
    return list(done)


def test_toposort_shares_and_goes_left_to_right() -> None:
    total = add(A, B)
    square = mul(total, total)
    assert toposort(square) == [A, B, total, square]
    assert toposort(sub(B, add(A, B))) == [B, A, add(A, B), sub(B, add(A, B))]


def test_toposort_lists_what_the_last_operand_shares_where_it_was_finished() -> None:
    inner = neg(B)
    root = block(add(A, inner), inner, B)
    assert toposort(root) == [A, B, inner, add(A, inner), root]


@given(graphs())
def test_toposort_is_the_finishing_order_of_a_depth_first_walk(root: Node) -> None:
    assert toposort(root) == _finishing_order(root) == postorder(root)


@given(graphs(), st.integers(0, 2**30))
def test_a_gate_leaves_out_what_only_refused_nodes_reach(root: Node, bits: int) -> None:
    every = toposort(root)
    refused = {node for place, node in enumerate(every) if bits >> place & 1}
    asked: list[Node] = []

    def gate(node: Node) -> bool:
        asked.append(node)
        return node not in refused

    order = toposort(root, gate=gate)
    wanted: set[Node] = set()
    for node in reversed(every):  # users before operands
        if node not in refused and (node is root or any(node in user.args for user in wanted)):
            wanted.add(node)
    assert set(order) == wanted
    assert order == [node for node in order if node in wanted]
    assert len(asked) == len(set(asked)), "a gate is asked once for each node"
    for node in wanted:
        assert reaches(root, node, gate=gate)


def test_a_refused_root_gives_nothing() -> None:
    assert toposort(add(A, B), gate=lambda node: False) == []


def test_an_exception_in_a_gate_is_the_callers() -> None:
    def gate(node: Node) -> bool:
        raise KeyError(node)

    with pytest.raises(KeyError):
        toposort(A, gate=gate)


def test_skip_leaves_out_bodies_but_not_what_is_reached_otherwise() -> None:
    body = neg(A)
    only_called = call(body, B)
    assert toposort(only_called) == [A, body, B, only_called]
    assert toposort(only_called, calls=Calls.SKIP) == [B, only_called]
    both = block(only_called, body)
    assert toposort(both, calls=Calls.SKIP) == [B, only_called, A, body, both]
    assert operands_of(only_called, Calls.SKIP) == (B,)
    assert operands_of(only_called, Calls.ENTER) == (body, B)


def test_postorder_takes_several_roots_and_preorder_visits_users_first() -> None:
    assert postorder(B, add(A, B), A) == [B, A, add(A, B)]
    assert postorder() == []
    assert list(preorder(sub(neg(A), B))) == [sub(neg(A), B), neg(A), A, B]


def test_topovisit_fills_the_cache_operands_first() -> None:
    root = mul(add(A, B), add(A, B))
    cache: dict[Node, int] = {}
    visited: list[Node] = []

    def size(node: Node) -> int:
        visited.append(node)
        return 1 + sum([cache[operand] for operand in node.args])

    assert topovisit(root, size, cache) == 7
    assert visited == toposort(root)
    assert set(cache) == set(visited)


def test_topovisit_stops_at_what_the_cache_has() -> None:
    inner = add(A, B)
    cache = {inner: "known"}
    assert topovisit(neg(inner), lambda node: node.op.mnemonic, cache) == "neg"
    assert set(cache) == {inner, neg(inner)}
    assert topovisit(inner, lambda node: "never", cache) == "known"


def test_topovisit_caches_none_and_enters_bodies() -> None:
    cache: dict[Node, None] = {}
    visited: list[Node] = []
    topovisit(call(neg(A), B), visited.append, cache)
    topovisit(call(neg(A), B), visited.append, cache)
    assert visited == [A, neg(A), B, call(neg(A), B)]


def test_topovisit_resumes_after_an_exception() -> None:
    root = add(neg(A), neg(B))
    cache: dict[Node, str] = {}
    calls: list[Node] = []

    def visit(node: Node) -> str:
        calls.append(node)
        if node is B and calls.count(B) == 1:
            raise KeyboardInterrupt
        return node.op.mnemonic

    with pytest.raises(KeyboardInterrupt):
        topovisit(root, visit, cache)
    assert list(cache) == [A, neg(A)]
    assert topovisit(root, visit, cache) == "add"
    assert calls == [A, neg(A), B, B, neg(B), root]


def test_slices() -> None:
    root = call(neg(A), B)
    assert list(backward_slice(root)) == [A, neg(A), B]
    assert list(backward_slice_with_self(root)) == [root, A, neg(A), B]
    assert list(backward_slice(root, calls=Calls.SKIP)) == [B]
    assert list(backward_slice_with_self(A)) == [A]


def test_op_in_backward_slice_with_self() -> None:
    root = call(mul(A, A), add(B, int_(1)))
    assert op_in_backward_slice_with_self(root, [CALL])
    assert op_in_backward_slice_with_self(root, [SUB, MUL])
    assert not op_in_backward_slice_with_self(root, [MUL], calls=Calls.SKIP)
    assert op_in_backward_slice_with_self(root, [CONST], calls=Calls.SKIP)
    assert not op_in_backward_slice_with_self(root, [])


def test_node_sets_remember_the_order_but_do_not_compare_it() -> None:
    ab, ba = NodeSet([A, B, A]), NodeSet([B, A])
    assert (list(ab), list(ba)) == ([A, B], [B, A])
    assert ab == ba
    assert set(ab) == {A, B}
    assert hash(ab) == hash(ba)
    assert ab != NodeSet([A])
    assert A in ab
    assert C not in ab
    assert list(ab | NodeSet([C, A])) == [A, B, C]
    assert len(NodeSet()) == 0
    assert repr(NodeSet([A])) == f"NodeSet([{A!r}])"


def test_reaches_goes_through_accepted_nodes_only() -> None:
    inner = neg(A)
    root = add(inner, B)
    assert reaches(root, A)
    assert not reaches(root, A, gate=lambda node: node is not inner)
    assert reaches(root, inner, gate=lambda node: node is not inner), "the target itself is not asked about"
    assert not reaches(root, A, gate=lambda node: node is not root)
    assert reaches(root, root, gate=lambda node: False)
    assert not reaches(A, root)
    assert not reaches(call(inner, B), A, calls=Calls.SKIP)
    assert reaches(call(inner, A), A, calls=Calls.SKIP)


@given(graphs(), graphs())
def test_reaches_agrees_with_slices(root: Node, other: Node) -> None:
    assert reaches(root, other) == (other in backward_slice_with_self(root))


def test_split_lists_the_operands_of_a_tree() -> None:
    assert split(add(add(A, B), add(C, mul(A, D))), ADD) == [A, B, C, mul(A, D)]
    assert split(add(A, A), ADD) == [A, A]
    assert split(A, ADD) == [A]
    assert split(A, VAR) == [], "a node without operands has none to list"
