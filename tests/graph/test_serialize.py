"""Stored graphs read back to the same objects, in this process and in others, and broken ones are refused."""

from __future__ import annotations

import copy
import gc
import json
import os
import pickle
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import scaly_ir as sc
from scaly_ir.dialects.prog import build
from scaly_ir.errors import SerializeError
from scaly_ir.graph import Node, live_nodes
from scaly_ir.graph.digest import key
from scaly_ir.graph.encoding import register_type
from scaly_ir.graph.serialize import dumps, loads
from scaly_ir.op import Op
from scaly_ir.types import FLOAT64, INT32, MemRefType
from tests.dialects.prog.generators import fragments, programs
from tests.graph.test_digest import ODD_VALUES, chain

ROOT = Path(__file__).resolve().parents[2]
HOLDER = Op.register("serialize_test.holder")


@given(st.one_of(programs(registered=True), fragments(registered=True)))
def test_reading_gives_the_same_object(root: Node) -> None:
    assert loads(dumps(root)) is root
    assert pickle.loads(pickle.dumps(root)) is root


@given(programs())
def test_reading_rebuilds_what_is_gone(root: Node) -> None:
    stored, text, digest = dumps(root), sc.render(root), key(root)
    del root
    again = loads(stored)
    assert (sc.render(again), key(again), dumps(again)) == (text, digest, stored)


def test_every_kind_of_attribute_value_survives() -> None:
    nodes = [Node(HOLDER, (), {"value": value, "a": 1}) for value in ODD_VALUES]
    nodes.append(Node(HOLDER, (), {"value": 10**5000, "": -(10**5000), "\ud83d": 1, "float": 1}))
    nodes.append(Node(HOLDER, (), {"value": {"nested": {"map": [None, (1.0, 2.0), slice(1, None, "x")]}}}))
    for node in nodes:
        assert loads(dumps(node)) is node
    root = Node(HOLDER, nodes)
    assert loads(dumps(root)) is root


def test_types_survive() -> None:
    memref = Node(HOLDER, (), type=MemRefType((3, 4), FLOAT64, "private"))
    assert loads(dumps(memref)) is memref
    assert loads(dumps(Node(HOLDER, type=MemRefType((), FLOAT64)))).type is MemRefType((), FLOAT64)


class _Box:
    def __str__(self) -> str:
        return "box<1>"


def test_a_new_kind_of_type_says_how_it_is_read() -> None:
    box = _Box()
    node = Node(HOLDER, (), type=box)
    with pytest.raises(SerializeError, match="unknown type 'box<1>'"):
        loads(dumps(node))
    register_type("box", lambda text: box)
    assert loads(dumps(node)) is node


def test_copies_are_the_node_itself() -> None:
    root = chain(10)
    assert copy.copy(root) is copy.deepcopy(root) is root
    assert pickle.loads(pickle.dumps([root, root.args[0]])) == [root, root.args[0]]


@pytest.mark.parametrize("reading", ["loads(data)", "pickle.loads(pickle.dumps(0) and data)"])
def test_a_fresh_process_loads_the_dialect_it_needs(reading: str) -> None:
    root = chain(5)
    data = dumps(root) if reading == "loads(data)" else pickle.dumps(root)
    script = (
        "import sys, pickle\n"
        "from scaly_ir.graph.serialize import loads\n"
        "from scaly_ir.graph.digest import key\n"
        f"data = sys.stdin.buffer.read()\nprint(key({reading}), end='')"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", script], input=data, env=environment, capture_output=True, check=True)
    assert done.stdout.decode() == key(root)


def test_long_chains_and_shared_operands() -> None:
    root = chain(20_000)
    assert loads(dumps(root)) is root
    assert pickle.loads(pickle.dumps(root)) is root
    shared = build.const(1.0, FLOAT64)
    for _ in range(200):
        shared = build.apply("add", shared, shared)
    assert loads(dumps(shared)) is shared
    assert len(dumps(shared)) < 5000


def test_reading_leaves_nothing_behind() -> None:
    stored = dumps(chain(1000, "only here"))
    gc.collect()
    before = live_nodes()
    again = loads(stored)
    assert live_nodes() > before
    del again
    gc.collect()
    assert live_nodes() <= before


# --- what is refused -------------------------------------------------------------------------------------------------

GRAPH = json.loads(dumps(chain(2)))


BROKEN: dict[str, list[Any]] = {
    "scaly-ir graph": [None, 0, 2, "1", []],
    "ops": [None, 1, "x", [], [[]], ["prog.nothing"] * 9, ["nobody.f"] * 9, ["prog"] * 9, [""] * 9],
    "types": [None, 1, "x", [], [[]], ["int7"], ["memref<3xint7>"], ["memref<x>"], ["a<"], [1]],
    "attrs": [None, 1, "x", [], [None] * 9, *[[entry] * 9 for entry in ([1, 2], ["a"], ["a", 1.5], ["a", {"no": 1}])]],
    "nodes": [
        None,
        1,
        "x",
        [],
        [None],
        [0],
        [0, 0, 0, 1, 0],
        [0, 0, 0, -1],
        [0, 0, 0, 2, 0],
        [9, 0, 0, 0],
        [-1, 0, 0, 0],
    ],
}
"""What each part of a stored graph must not be."""


@pytest.mark.parametrize(
    "data",
    [
        *[b"", b"{}", b"[]", b"null", b"\xff\xfe", b"[" * 100_000, b'{"scaly-ir graph":1'],
        *[json.dumps({k: v for k, v in GRAPH.items() if k != part}).encode() for part in GRAPH],
        *[json.dumps({**GRAPH, part: value}).encode() for part, values in BROKEN.items() for value in values],
    ],
)
def test_broken_data_is_refused(data: bytes) -> None:
    with pytest.raises(SerializeError):
        loads(data)


def _mutants(value: Any) -> st.SearchStrategy[Any]:
    """Return changes of JSON data, one place in it replaced."""
    odd = st.sampled_from([None, True, -1, 0, 3, 1.5, "", "x", "prog.add", [], {}, [0], {"float": "7"}, {"map": 1}])
    children: list[st.SearchStrategy[Any]] = []
    if isinstance(value, list):
        children = [
            _mutants(item).map(lambda new, at=at: [*value[:at], new, *value[at + 1 :]])  # type: ignore[misc]
            for at, item in enumerate(value)
        ]
    elif isinstance(value, dict):
        children = [_mutants(item).map(lambda new, at=at: {**value, at: new}) for at, item in value.items()]  # type: ignore[misc]
    return st.one_of(odd, *children)


@given(_mutants(GRAPH))
def test_changed_data_is_read_or_refused(data: Any) -> None:
    with suppress(SerializeError):
        loads(json.dumps(data).encode())


def test_the_error_says_what_is_wrong() -> None:
    with pytest.raises(SerializeError, match="this is no graph of format 1"):
        loads(b"{}")
    with pytest.raises(SerializeError, match=r"'prog\.nothing' is not registered"):
        loads(json.dumps({**GRAPH, "ops": ["prog.nothing"]}).encode())
    with pytest.raises(ValueError, match="cannot be read"):
        loads(b"?")
    assert loads(dumps(build.var("x", INT32))) is build.var("x", INT32)
