"""Nodes: equal structure is one object, nothing changes, nothing is kept alive."""

from __future__ import annotations

import copy
import gc
import pickle
import threading
import weakref
from collections.abc import Callable
from struct import pack, unpack
from typing import Any

import pytest
from hypothesis import given

import scaly_ir as sc
from scaly_ir.attributes import Attrs, Word
from scaly_ir.graph import Node, live_nodes
from scaly_ir.graph.node import intern_node
from scaly_ir.op import Op
from scaly_ir.types import FLOAT32, FLOAT64, INT64, MemRefType
from tests.dialects.prog.generators import programs

LEAF = Op.get("prim.neg")
PAIR = Op.get("prim.add")


def leaf(**attrs: Any) -> Node:
    return Node(LEAF, (), attrs, FLOAT64)


def nan(bits: int) -> float:
    value: float = unpack("<d", pack("<Q", bits))[0]
    return value


# Values that are all different as attributes, whatever `==` says.
DISTINCT: tuple[Any, ...] = (
    *(
        None,
        True,
        False,
        1,
        0,
        1.0,
        0.0,
        -0.0,
        "1",
        "",
        "host",
        Word("host"),
        "float64",
        FLOAT64,
        Word("float"),
        "None",
    ),
    *(nan(0x7FF8 << 48), nan(0xFFF8 << 48), nan(0x7FF0000000000001), float("inf"), 10**30, 1e30, 5e-324, -5e-324),
    *(
        (),
        (1,),
        (1.0,),
        (True,),
        (0.0,),
        (-0.0,),
        (1, 2),
        (1.0, 2.0),
        (1, 2.0),
        (1.0, 2),
        ("a",),
        (Word("a"),),
        ("a", "b"),
    ),
    *(
        ((),),
        ((1,),),
        ((1.0,),),
        (None,),
        (nan(0x7FF8 << 48),),
        (nan(0xFFF8 << 48),),
        {},
        {"a": 1},
        {"a": 1.0},
        {"a": True},
    ),
    *({"b": 1}, {"a": {"a": 1}}, ({"a": 1},), slice(1, 2, 3), slice(1.0, 2, 3), slice(None, 2, 3), slice(1, 2, None)),
    *(("float", 1), (FLOAT64,), ("float64",)),
)


def test_equal_structure_is_the_same_object() -> None:
    assert leaf(a=1) is leaf(a=1)
    assert leaf(a=1, b="x") is leaf(b="x", a=1)
    assert leaf(a=[1, [2, 3]]) is leaf(a=(1, (2, 3)))
    assert Node(PAIR, [leaf(a=1), leaf(a=2)], {}, FLOAT64) is Node(PAIR, (leaf(a=1), leaf(a=2)), None, FLOAT64)
    assert Node(PAIR, iter([leaf(a=1)]), Attrs(), FLOAT64) is Node(PAIR, [leaf(a=1)], type=FLOAT64)


@pytest.mark.parametrize("value", DISTINCT, ids=repr)
def test_values_that_python_takes_for_equal_are_told_apart(value: Any) -> None:
    assert leaf(a=value) is leaf(a=copy.deepcopy(value))
    assert [leaf(a=other) is leaf(a=value) for other in DISTINCT].count(True) == 1
    assert leaf(a=(value,)) is not leaf(a=value)
    assert leaf(a={"a": value}) is not leaf(a=value)


def test_every_field_takes_part_in_identity() -> None:
    nodes = [
        leaf(a=1),
        Node(Op.get("prim.abs"), (), {"a": 1}, FLOAT64),
        Node(LEAF, (), {"a": 1}, FLOAT32),
        Node(LEAF, (), {"a": 1}, None),
        Node(LEAF, (), {"a": 1}, MemRefType((1,), FLOAT64)),
        Node(LEAF, (leaf(),), {"a": 1}, FLOAT64),
        Node(LEAF, (leaf(), leaf()), {"a": 1}, FLOAT64),
        Node(LEAF, (leaf(), leaf(), leaf()), {"a": 1}, FLOAT64),
        leaf(b=1),
        leaf(a=1, b=1),
    ]
    assert len({id(node) for node in nodes}) == len(nodes)
    assert all([a != b for a in nodes for b in nodes if a is not b])
    assert len(set(nodes)) == len(nodes)


def test_names_and_values_of_attributes_do_not_run_together() -> None:
    assert leaf(a="b", c="d") is not leaf(a="b", d="c")
    assert Node(LEAF, (), {"a": "b"}, None) is not Node(LEAF, (), {"ab": ""}, None)


def test_nodes_cannot_change() -> None:
    node = Node(PAIR, [leaf(a=1), leaf(a=2)], {"a": [1, 2], "m": {"k": 1}}, FLOAT64)
    for name in ("op", "args", "attrs", "type", "other", "__class__", "ty", "dtype"):
        with pytest.raises(AttributeError, match="immutable"):
            setattr(node, name, None)
        with pytest.raises(AttributeError, match="immutable"):
            delattr(node, name)
    attrs: Any = node.attrs
    changes: list[Callable[[], Any]] = [
        lambda: attrs.update(a=2),
        lambda: attrs.__setitem__("a", 2),
        lambda: attrs.__delitem__("a"),
        lambda: attrs.pop("a"),
        lambda: attrs.popitem(),
        lambda: attrs.clear(),
        lambda: attrs.setdefault("b", 1),
        lambda: attrs.__ior__({"b": 1}),
        lambda: attrs["m"].update(k=2),
    ]
    for change in changes:
        with pytest.raises(TypeError, match="read-only"):
            change()
    assert node.attrs == {"a": (1, 2), "m": {"k": 1}}
    assert isinstance(node.args, tuple)


def test_the_caller_keeps_no_hold_on_what_it_passed() -> None:
    values = [1, [2]]
    mapping = {"k": values}
    operands = [leaf(a=1)]
    node = Node(LEAF, operands, {"a": values, "m": mapping}, FLOAT64)
    values.append(3)
    mapping["l"] = []
    operands.clear()
    assert node.attrs == {"a": (1, (2,)), "m": {"k": (1, (2,))}}
    assert len(node.args) == 1


@pytest.mark.parametrize("operand", [None, 1, "x", FLOAT64, LEAF])
def test_operands_are_nodes(operand: Any) -> None:
    with pytest.raises(TypeError, match=r"operand of 'prim\.neg' is no node"):
        Node(LEAF, [operand])


@pytest.mark.parametrize("value", [object(), {1, 2}, b"x", 1j, [object()], {"a": object()}, slice(object(), 1)])
def test_attribute_values_are_of_known_kinds(value: Any) -> None:
    with pytest.raises(TypeError, match="an attribute cannot hold a value of type"):
        leaf(a=value)


def test_a_node_has_no_truth_value() -> None:
    with pytest.raises(TypeError, match="no truth value"):
        bool(leaf())
    with pytest.raises(TypeError, match="no truth value"):
        assert leaf() or True


def test_copies_are_the_node_itself() -> None:
    node = Node(PAIR, [leaf(a=1), leaf(a=-0.0)], {"x": [1.5, Word("w")]}, FLOAT64)
    assert copy.copy(node) is node
    assert copy.deepcopy(node) is node
    assert copy.deepcopy([node, {"k": node}]) == [node, {"k": node}]
    assert copy.copy(node.attrs) is copy.deepcopy(node.attrs) is node.attrs


@given(programs())
def test_pickles_read_back_to_the_node_itself(root: Node) -> None:
    assert pickle.loads(pickle.dumps(root)) is root


def test_replace_gives_the_node_itself_when_nothing_changes() -> None:
    node = Node(PAIR, [leaf(a=1)], {"x": 1, "y": 2}, FLOAT64)
    assert node.replace() is node
    assert node.replace(args=list(node.args), attrs=dict(node.attrs), type=FLOAT64) is node
    assert node.replace(type=None).type is None
    assert node.replace(args=()).args == ()
    assert node.with_attrs(x=1) is node
    assert node.with_attrs(x=1.0) is not node
    assert node.with_attrs(x=None, z=3).attrs == {"y": 2, "z": 3}
    assert node.with_attrs(axis=None, x=3) is Node(node.op, node.args, {"x": 3, "y": 2}, node.type)
    kept = node.replace(attrs={"axis": None, "x": 1})
    assert kept.with_attrs(x=2).attrs == {"axis": None, "x": 2}


def test_a_node_names_its_types() -> None:
    assert leaf().ty is leaf().type is leaf().dtype is FLOAT64
    memref = MemRefType((2, 3), INT64)
    assert Node(LEAF, (), {}, memref).dtype is INT64
    assert Node(LEAF, (), {}, None).dtype is None


def test_the_repr_of_a_node_does_not_print_the_graph_below_it() -> None:
    node = leaf()
    for _ in range(100_000):
        node = Node(PAIR, [node, node], {"name": "x"}, FLOAT64)
    assert repr(node) == "<prim.add x (2 operands) : float64>"


# --- how long nodes live ----------------------------------------------------------------------------------------------


@pytest.fixture
def baseline() -> int:
    gc.collect()
    return live_nodes()


def test_nodes_die_with_their_last_user(baseline: int) -> None:
    node = Node(PAIR, [leaf(only="here"), leaf(only="there")], {}, FLOAT64)
    assert live_nodes() == baseline + 3
    watch = weakref.ref(node.args[0])
    kept = node.args[1]
    del node
    assert watch() is None
    assert live_nodes() == baseline + 1
    assert leaf(only="there") is kept


def test_a_chain_of_a_million_nodes_is_freed(baseline: int) -> None:
    node = leaf(only="chain")
    for _ in range(1_000_000):
        node = Node(PAIR, (node, node), None, FLOAT64)
    assert live_nodes() == baseline + 1_000_001
    del node
    assert live_nodes() == baseline


def test_a_wide_node_is_freed(baseline: int) -> None:
    node = Node(PAIR, [leaf(number=number) for number in range(100_000)], None, FLOAT64)
    assert live_nodes() == baseline + 100_001
    del node
    assert live_nodes() == baseline


def test_a_place_is_free_again_after_its_node_died(baseline: int) -> None:
    for _ in range(1000):
        assert leaf(only="again").attrs == {"only": "again"}
    assert live_nodes() == baseline


@given(programs())
def test_reading_leaves_nothing_behind(root: Node) -> None:
    text = sc.render(root)
    sc.parse(text)
    before = live_nodes()
    sc.verify(sc.parse(text))
    assert live_nodes() == before


def test_nodes_of_failed_readings_die(baseline: int) -> None:
    with pytest.raises(sc.ParseError):
        sc.parse("prog.proc @f() {\n%t = prog.assign prog.add(12345.5, 2) : float64\nprog.store\n}\n")
    gc.collect()
    assert live_nodes() == baseline


# --- threads ----------------------------------------------------------------------------------------------------------


def test_threads_that_build_the_same_get_one_object(baseline: int) -> None:
    results: list[list[Node]] = []
    start = threading.Barrier(8)

    def build() -> None:
        start.wait()
        chain = [leaf(only="threads")]
        for number in range(3000):
            chain.append(Node(PAIR, (chain[-1], leaf(number=number)), {"n": number % 7}, FLOAT64))
        results.append(chain)

    threads = [threading.Thread(target=build) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 8
    assert all([ours is theirs for chain in results for ours, theirs in zip(chain, results[0], strict=True)])
    results.clear()
    gc.collect()
    assert live_nodes() == baseline


def test_threads_that_build_and_drop_never_get_two_objects() -> None:
    # Each thread holds what it made for a moment and asks for it again: while it is held it must be found.
    wrong: list[Node] = []

    def work(number: int) -> None:
        for step in range(4000):
            one = intern_node(PAIR, (leaf(n=step % 5),), Attrs({"m": step % 3}), FLOAT64)
            other = intern_node(PAIR, (leaf(n=step % 5),), Attrs({"m": step % 3}), FLOAT64)
            if one is not other:
                wrong.append(one)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_collection_in_the_middle_of_making_a_node_does_no_harm() -> None:
    before = gc.get_threshold()
    gc.set_threshold(1, 1, 1)
    try:
        for number in range(3000):
            cycle: list[Any] = [leaf(cycle=number)]
            cycle.append(cycle)
            assert Node(PAIR, (cycle[0], leaf(other=number)), None, FLOAT64).args[0] is cycle[0]
    finally:
        gc.set_threshold(*before)
