"""Orders and keys of nodes: the same whatever was built first, in every process, and different for different nodes."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import cmp_to_key
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scaly_ir.attributes import AttrValue, Word
from scaly_ir.dialects.prog import build
from scaly_ir.graph import Node, postorder
from scaly_ir.graph import digest as module
from scaly_ir.graph.digest import compare_structure, key, key_with, structure_ranks
from scaly_ir.op import Op
from scaly_ir.text.spelling import float_from_bits
from scaly_ir.types import BOOL, FLOAT32, FLOAT64, INT32, INT64, MemRefType
from tests.dialects.prog.generators import fragments, programs

ROOT = Path(__file__).resolve().parents[2]

OPS = [Op.register(f"digest_test.{name}") for name in ("f", "g", "h")]

ODD_VALUES: tuple[AttrValue, ...] = (
    *(1, 1.0, True, "1", "True", None, "None", 0.0, -0.0, (), (1,), (1.0,), (True,), ("1",)),
    *(INT64, "int64", "a", Word("a"), slice(1), slice(1, None), {"a": 1}, {"a": 1.0}, {}, ((1,),)),
    *(float_from_bits(0x7FF8000000000000), float_from_bits(0x7FF8000000000001), float_from_bits(0xFFF8000000000000)),
    *(1 << 200, "\ud83d", "\U0001f642", "", [1, 2.0], [1.0, 2.0]),
)
"""Values that are all different, though some are equal in Python or look alike in text."""


def leaf(value: AttrValue) -> Node:
    return Node(OPS[0], (), {"value": value}, INT64)


def chain(length: int, name: str = "a") -> Node:
    node, one = build.var(name, INT32), build.const(1, INT32)
    for _ in range(length):
        node = build.apply("add", node, one)
    return node


@st.composite
def graphs(draw: st.DrawFn) -> list[Node]:
    """Draw the nodes of a random graph with much sharing; few labels, so that operands decide."""
    nodes = [Node(OPS[0], (), {"value": value}, INT64) for value in (0, 1)]
    for _ in range(draw(st.integers(0, 40))):
        operands = draw(st.lists(st.sampled_from(nodes), max_size=3))
        attrs: dict[str, Any] = draw(st.sampled_from([{}, {"value": 1}, {"value": Word("one")}]))
        nodes.append(Node(draw(st.sampled_from(OPS)), operands, attrs, draw(st.sampled_from([None, INT32]))))
    return nodes


# --- order -----------------------------------------------------------------------------------------------------------


def test_order_by_hand() -> None:
    f, g, _ = OPS
    zero, one = leaf(0), leaf(1)
    ordered = [
        Node(f),
        Node(f, type=FLOAT64),
        leaf(10),  # by the text of the attributes
        leaf(9),
        Node(f, type=MemRefType((2,), FLOAT64)),
        Node(g, type=INT64),
        Node(g, [leaf(10)], type=INT64),  # a proper prefix comes first
        Node(g, [leaf(10), leaf(9)], type=INT64),
        Node(g, [leaf(9)], type=INT64),
        Node(g, [leaf(9), zero, one], type=INT64),
        Node(g, [leaf(9), one, zero], type=INT64),
        Node(g, [Node(g, type=INT64)], type=INT64),
    ]
    for i, x in enumerate(ordered):
        for j, y in enumerate(ordered):
            assert (compare_structure(x, y) > 0) - (compare_structure(x, y) < 0) == (i > j) - (i < j), (x, y)


def test_values_that_look_alike_are_ordered_all_the_same() -> None:
    nodes = [leaf(value) for value in ODD_VALUES]
    for x in nodes:
        for y in nodes:
            order = compare_structure(x, y)
            assert (order == 0) == (x is y)
            assert order == -compare_structure(y, x)
    ranks = structure_ranks(Node(OPS[1], nodes))
    assert sorted(nodes, key=ranks) == sorted(nodes, key=cmp_to_key(compare_structure))


@given(graphs())
def test_ranks_are_places_in_the_order(nodes: list[Node]) -> None:
    root = Node(OPS[2], nodes)
    reached = postorder(root)
    rank = structure_ranks(root)
    by_comparison = sorted(reached, key=cmp_to_key(compare_structure))
    assert [rank(node) for node in by_comparison] == list(range(len(reached)))
    for x in nodes:
        for y in nodes:
            assert (compare_structure(x, y) == 0) == (x is y)


@given(graphs(), st.integers(1, 8), st.sampled_from([1, 2, 4]))
def test_ranks_survive_splits_and_renumbering(nodes: list[Node], block: int, gap: int) -> None:
    root = Node(OPS[2], nodes)
    expected = structure_ranks(root)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_BLOCK", block)
        patch.setattr(module, "_GAP", gap)
        crowded = structure_ranks(root)
    assert [expected(node) for node in nodes] == [crowded(node) for node in nodes]


def test_a_node_that_is_not_reached_has_no_rank() -> None:
    with pytest.raises(KeyError):
        structure_ranks(leaf(1))(leaf(2))


# --- keys ------------------------------------------------------------------------------------------------------------


def test_different_values_have_different_keys() -> None:
    assert len({key(leaf(value)) for value in ODD_VALUES}) == len(ODD_VALUES)


@given(graphs())
def test_nodes_have_one_key_each(nodes: list[Node]) -> None:
    assert len({key(node) for node in set(nodes)}) == len(set(nodes))


def test_what_a_key_depends_on() -> None:
    f, g, _ = OPS
    x, y = leaf(0), leaf(1)
    nodes = [
        Node(f, [x, y]),
        Node(g, [x, y]),
        Node(f, [y, x]),
        Node(f, [x, y], type=INT64),
        Node(f, [x, y], type=BOOL),
        Node(f, [x, y], {"value": 1}),
        Node(f, [x, y], {"other": 1}),
        Node(f, [x]),
        Node(f, [x, y, y]),
        Node(f, [Node(f, [x, y])]),
    ]
    assert len({key(node) for node in nodes}) == len(nodes)
    assert len(key(x)) == 64


_PROGRAM = """
from scaly_ir.dialects.prog import build
from scaly_ir.graph.digest import key
from scaly_ir.graph.serialize import dumps
from scaly_ir.types import FLOAT32

x = build.param("x", (2, 3), FLOAT32)
value = build.apply("mul", build.load(build.view(x, 0)), build.const(0.1, FLOAT32))
loop = build.for_(build.range_("i", 0, 4), [build.store(build.view(x, 1), value)])
root = build.program([build.proc("f", [x], [loop, build.assign("s", value, declare=True)], {"lowering": "auto"})])
"""


def test_keys_and_bytes_are_the_same_in_every_process() -> None:
    script = _PROGRAM + "print(key(root)); print(dumps(root).decode())"
    outputs = set()
    for seed in ("0", "1", "31337"):
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)}
        command = [sys.executable, "-c", script]
        outputs.add(subprocess.run(command, env=environment, capture_output=True, check=True, text=True).stdout)
    space: dict[str, Any] = {}
    exec(_PROGRAM, space)
    assert len(outputs) == 1
    assert outputs.pop().split()[0] == key(space["root"])


@given(st.one_of(programs(registered=True), fragments()))
def test_the_key_with_other_attributes_is_that_of_the_node_built_with_them(root: Node) -> None:
    def renamed(node: Node) -> dict[str, AttrValue] | None:
        name = node.attrs.get("name")
        return None if name is None else {**node.attrs, "name": f"{name}'"}

    rebuilt: dict[Node, Node] = {}
    calls = []
    for node in postorder(root):
        new = renamed(node)
        rebuilt[node] = node.replace(args=[rebuilt[o] for o in node.args], attrs=node.attrs if new is None else new)

    def counted(node: Node) -> dict[str, AttrValue] | None:
        calls.append(node)
        return renamed(node)

    assert key_with(root, counted) == key(rebuilt[root])
    assert len(calls) == len(set(calls)) == len(rebuilt)


# --- size ------------------------------------------------------------------------------------------------------------


def test_long_chains() -> None:
    x, y = chain(20_000, "a"), chain(20_000, "b")
    assert compare_structure(x, y) < 0 < compare_structure(y, x)
    assert key(x) != key(y)
    ranks = structure_ranks(Node(OPS[0], [x, y]))
    assert ranks(x) < ranks(y)


def test_shared_operands_are_looked_at_once() -> None:
    x, y = build.const(1.0, FLOAT32), build.const(2.0, FLOAT32)
    for _ in range(200):
        x, y = build.apply("add", x, x), build.apply("add", y, y)
    assert compare_structure(x, y) < 0
    assert key(x) != key(y)
    assert structure_ranks(x)(x) == 0  # an addition comes before a constant, and so what adds additions
