"""Compiled code and the evaluator compute the same: operations of every kind, many to a function, compiled at once.

Inputs and results of a compiled function are float64, so those of other types are converted inside of it.
"""

from __future__ import annotations

import shutil
from typing import Any, Final

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import scaly_ir as sc
from scaly_ir.dialects.expr import ops
from scaly_ir.dialects.expr.evaluate import evaluate_function
from scaly_ir.dialects.expr.simplify import simplify_function
from scaly_ir.dialects.expr.substitution import substitute_inputs
from scaly_ir.graph import Node, postorder
from tests.dialects.expr import graphs, reference
from tests.passes.expr.lowering.test_every_operation import ROUNDED, SIGNLESS, too_large

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")

TOGETHER: Final = 24
"""So many operations make one function."""

Array = np.ndarray[Any, Any]


def _has_form(node: Any) -> bool:
    """Tell whether an operation can be lowered and has the same value everywhere: C leaves some conversions open."""
    casts = [each for each in postorder(node) if each.op is ops.CAST]
    open_ = [each for each in casts if each.args[0].type.dtype.is_float and each.type.dtype.is_int]
    return not open_ and not any([too_large(each) for each in postorder(node)])


def _with_float64_leaves(node: Any, prefix: str) -> tuple[list[sc.Expr], sc.Expr]:
    """Return inputs of float64 and the operation on them, converted to float64."""
    formals, known = [], {}
    for each in postorder(node):
        if each.op is ops.INPUT:
            formal = sc.sym(f"{prefix}{each.attrs['name']}", each.type.shape)
            formals.append(formal)
            known[each] = formal if each.type.dtype == "float64" else sc.cast(formal, each.type.dtype)
    (made,) = substitute_inputs([node], known)
    return formals, made if made.type.dtype == "float64" else sc.cast(made, "float64")  # type: ignore[return-value]


def _value(rng: np.random.Generator, formal: Node, original: Node) -> Array:
    dtype = str(original.type.dtype)
    if dtype.startswith("int"):  # what float64 holds exactly
        return np.asarray(rng.integers(-4, 5, formal.type.shape), float)
    with np.errstate(all="ignore"):
        return np.asarray(graphs.values(rng, dtype, formal.type.shape).astype(float))


def check(nodes: list[tuple[str, Any]], seed: int) -> None:
    """Compile a function of all operations and compare each result."""
    rng = np.random.default_rng(seed)
    inputs: list[sc.Expr] = []
    values: list[Array] = []
    outputs: list[sc.Expr] = []
    for number, (_, node) in enumerate(nodes):
        originals = [each for each in postorder(node) if each.op is ops.INPUT]
        formals, output = _with_float64_leaves(node, f"o{number}_")
        inputs += formals
        values += [_value(rng, *pair) for pair in zip(formals, originals, strict=True)]
        outputs.append(output)
    function = sc.Function.from_exprs("f", inputs, outputs, output_names=[f"r{at}" for at in range(len(outputs))])
    expected = evaluate_function(simplify_function(function.node), values)
    found = sc.compile(function)(*values)
    for (name, node), got, wanted in zip(nodes, found if len(outputs) > 1 else [found], expected, strict=True):
        said = f"'{name}':\n{sc.render(node)}"
        assert got.shape == wanted.shape, said
        if name in ROUNDED:
            single = any([each.type.dtype == "float32" for each in postorder(node)])
            np.testing.assert_allclose(got, wanted, rtol=1e-6 if single else 1e-13, atol=0, err_msg=said)
        else:
            np.testing.assert_array_equal(got, wanted, err_msg=said)
            if name not in SIGNLESS:
                present = ~np.isnan(wanted)
                np.testing.assert_array_equal(np.signbit(got[present]), np.signbit(wanted[present]), err_msg=said)


PARTS: Final = [reference.NAMES[at : at + TOGETHER] for at in range(0, len(reference.NAMES), TOGETHER)]


@pytest.mark.parametrize("names", PARTS, ids=[f"{part[0]}-{part[-1]}" for part in PARTS])
@settings(max_examples=4, suppress_health_check=list(HealthCheck))
@given(data=st.data(), seed=st.integers(0, 2**32 - 1))
def test_operations(names: list[str], data: st.DataObject, seed: int, without_contraction: None) -> None:
    drawn = [(name, data.draw(graphs.operations(name))) for name in names]
    nodes = [(name, node) for name, node in drawn if _has_form(node)]
    if nodes:
        check(nodes, seed)


@pytest.fixture
def without_contraction(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compile without contraction, which rounds once where the evaluator rounds twice."""
    monkeypatch.setenv("CFLAGS", "-ffp-contract=off")
