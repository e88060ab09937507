"""What gets a name: what is used twice, and what lies deep; constants, variables and views never do."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from scaly_ir.attributes import NO_ATTRS
from scaly_ir.dialects.prog import build
from scaly_ir.graph import Node, intern_node, postorder
from scaly_ir.op import Op, registry_scope
from scaly_ir.passes.prog.budgets import EXPRESSION_DEPTH
from scaly_ir.passes.prog.names import fresh_names
from scaly_ir.passes.prog.sharing import share
from scaly_ir.types import FLOAT64

ROW = build.var("i")
X = build.load(build.view("x", ROW, FLOAT64))


def _names() -> Iterator[str]:
    return fresh_names(set(), "v")


def _depth(value: Node) -> int:
    depths: dict[Node, int] = {}
    for node in postorder(value):
        depths[node] = (max([depths[operand] for operand in node.args], default=-1)) + 1
    return depths[value]


def test_an_operand_used_twice_is_named() -> None:
    sine = build.apply("sin", X)
    found = share([build.apply("mul", sine, sine)], _names())
    v0 = build.var("v0", FLOAT64)
    assert found.definitions == [build.assign("v0", sine, declare=True)]
    assert found.values == [build.apply("mul", v0, v0)]


def test_an_operand_used_by_two_values_is_named_before_what_needs_it() -> None:
    sine = build.apply("sin", X)
    found = share([build.apply("neg", sine), build.apply("mul", sine, X)], _names())
    v0, v1 = build.var("v0", FLOAT64), build.var("v1", FLOAT64)
    assert found.definitions == [
        build.assign("v0", X, declare=True),
        build.assign("v1", build.apply("sin", v0), declare=True),
    ]
    assert found.values == [build.apply("neg", v1), build.apply("mul", v1, v0)]


def test_a_value_listed_twice_is_named() -> None:
    found = share([X, X], _names())
    assert found.definitions == [build.assign("v0", X, declare=True)]
    assert found.values == [build.var("v0", FLOAT64)] * 2


def test_a_view_used_twice_has_its_index_named() -> None:
    index = build.apply("add", build.index(2), ROW)
    place = build.view("x", index, FLOAT64)
    found = share([place, build.apply("neg", build.load(place))], _names())
    assert found.definitions == [build.assign("v0", index, declare=True)]
    renamed = build.view("x", build.var("v0"), FLOAT64)
    assert found.values == [renamed, build.apply("neg", build.load(renamed))]


def test_constants_and_variables_have_no_other_name() -> None:
    two = build.const(2.0, FLOAT64)
    value = build.apply("add", build.apply("mul", two, two), build.cast(build.apply("mul", ROW, ROW), FLOAT64))
    assert share([value], _names()) == ([], [value])


@pytest.mark.parametrize("more", [0, 1])
def test_depth_ends_at_the_limit(more: int) -> None:
    value = X
    for number in range(EXPRESSION_DEPTH + more - _depth(X) + 1):  # a view is no level
        value = build.apply("add", value, build.const(number, FLOAT64))
    found = share([value], _names())
    assert len(found.definitions) == more
    every = [*[definition.args[0] for definition in found.definitions], *found.values]
    assert max([_depth(each) for each in every]) <= EXPRESSION_DEPTH + 1
    assert (found.values == [value]) == (not more)


def test_long_chains_are_cut_in_pieces() -> None:
    value = X
    for number in range(3000):
        value = build.apply("add", value, build.const(number, FLOAT64))
    found = share([value], _names())
    assert len(found.definitions) == 3001 // EXPRESSION_DEPTH
    assert max([_depth(definition.args[0]) for definition in found.definitions]) <= EXPRESSION_DEPTH + 1


def test_what_changes_state_stays_as_often_as_it_is_written() -> None:
    with registry_scope():
        op = Op.register("test.next")  # it does not say what it does
        op.set_signature(("x",))
        op.set_attr("TFixedReturnType", "float64")
        call = intern_node(op, (X,), NO_ATTRS, FLOAT64)
        value = build.apply("add", call, call)
        assert share([value], _names()) == ([], [value])
