"""Whatever is lowered computes the same, bit for bit: random operations of every kind, dtype and shape, and graphs."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from scaly_ir.dialects.expr import ops
from scaly_ir.dialects.expr.node import Expr
from scaly_ir.errors import LoweringError
from scaly_ir.graph import Node, postorder
from tests.dialects.expr import graphs, reference
from tests.passes.expr.lowering.lowered import EvaluationError, check, lowered

ROUNDED: Final = frozenset("sin cos tan asin acos atan sinh cosh tanh erf exp log sqrt pow atan2".split())
"""Operations whose last bits may differ between arrays and single numbers."""

SIGNLESS: Final = frozenset({"minimum", "maximum", "reduce", "scatter"})
"""Operations that give either zero where two are equal, or that add to zeros."""


def values_for(nodes: list[Expr], seed: int) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    inputs = [node for node in postorder(*nodes) if node.op is ops.INPUT]
    return {node.attrs["name"]: graphs.values(rng, str(node.type.dtype), node.type.shape) for node in inputs}


def check_any(nodes: list[Expr], seed: int, **how: bool) -> None:
    try:
        check(*nodes, values=values_for(nodes, seed), **how)
    except EvaluationError as error:  # floats outside of an integer type have no value there
        assume(not str(error).startswith("conversion"))
        raise
    except LoweringError:
        assert any([too_large(node) for node in postorder(*nodes)])


def too_large(node: Node) -> bool:
    """Tell whether an operation has no form in `prog`."""
    most = 2 if node.op is ops.MATMUL else 4 if node.op is ops.TRANSPOSE else 99
    return any([operand.type.ndim > most for operand in node.args])


def check_one(data: st.DataObject, name: str, seed: int) -> None:
    node = data.draw(graphs.operations(name))
    check_any([node], seed, signed_zeros=name not in SIGNLESS, close=name in ROUNDED)


@pytest.mark.parametrize("name", [name for name in reference.NAMES if name not in reference.ELEMENTWISE])
@given(data=st.data(), seed=st.integers(0, 2**32 - 1))
def test_structural_operation(name: str, data: st.DataObject, seed: int) -> None:
    check_one(data, name, seed)


@given(data=st.data(), name=st.sampled_from(list(reference.ELEMENTWISE)), seed=st.integers(0, 2**32 - 1))
def test_elementwise_operation(data: st.DataObject, name: str, seed: int) -> None:
    check_one(data, name, seed)


@st.composite
def exact_graphs(draw: Any) -> list[Expr]:
    """Graphs of operations that are exact and in which no sign of a zero shows elsewhere."""
    maker = graphs.Maker(draw)
    names = [name for name in reference.NAMES if name not in ROUNDED | {"div", "minimum", "maximum"}]
    return [maker.make(maker.any_of(names)) for _ in range(draw(st.integers(1, 6)))]


@given(nodes=exact_graphs(), seed=st.integers(0, 2**32 - 1))
def test_graph_of_which_everything_is_an_output(nodes: list[Expr], seed: int) -> None:
    check_any(nodes, seed, signed_zeros=False)


@given(nodes=exact_graphs(), seed=st.integers(0, 2**32 - 1))
def test_graph(nodes: list[Expr], seed: int) -> None:
    check_any(nodes[-1:], seed, signed_zeros=False)


@given(nodes=exact_graphs())
def test_lowering_is_deterministic(nodes: list[Expr]) -> None:
    if not any([too_large(node) for node in postorder(*nodes)]):
        assert lowered(*nodes) is lowered(*nodes)
