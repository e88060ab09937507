"""Functions that call others, lowered under the rules for leaves, and whether their programs compute what they should.

`lowered` has the same for single expressions of any dtype.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

import scaly_ir as sc
from scaly_ir.dialects.expr import build, ops
from scaly_ir.dialects.expr.evaluate import evaluate_function
from scaly_ir.dialects.expr.functions import inputs_of, make_module
from scaly_ir.graph import Node
from scaly_ir.passes.expr.lowering.driver import lower
from tests.passes.expr.lowering.lowered import results


def loop_of(function: sc.Function, operands: Sequence[sc.Expr], **attrs: Any) -> sc.Expr:
    """A result of a loop spelled out; without other windows, step `k` takes entry `k` and those behind it."""
    plain: dict[str, Any] = {"cond": None, "n_carry": 0, "index": False, "reverse": False, "in_place": [], "output": 0}
    count = len(function.inputs) - attrs.get("n_carry", 0) - attrs.get("index", False)
    windows = {"starts": [0] * count, "strides": [1] * count}
    return build.make(ops.LOOP, operands, {**plain, **windows, "callee": function.node, **attrs})


def as_floats(name: str, inputs: Sequence[sc.Expr], results: Sequence[sc.Expr]) -> sc.Function:
    """The function of some results of any dtype, which it converts."""
    outputs = [sc.cast(each, "float64") for each in results]
    return sc.Function.from_exprs(name, inputs, outputs, None, [f"out{number}" for number in range(len(outputs))])


def module_of(function: sc.Function) -> Node:
    """The module of a function and what it calls; it verifies and reads back."""
    module = lower(make_module([function.node]))
    sc.verify(module)
    assert sc.parse(sc.render(module)) is module
    return module


def body_of(function: sc.Function) -> str:
    """The statements of the procedure of a function as text."""
    entry = sc.render(module_of(function)).split("  prog.proc ")[-1]
    return "".join([line.removeprefix("    ") + "\n" for line in entry.splitlines()[1:-2]])


def check_function(function: sc.Function, values: Mapping[str, Any]) -> Node:
    """Lower a function, compare what the program computes, by bits, with what the function does, and return the module.

    Both interpreters of programs run it, one of them with independent trips in a random order. Every NaN is as good as
    another.
    """
    module = module_of(function)
    arrays = {name: np.asarray(value, float) for name, value in values.items()}
    shuffled = sc.run(module, {name: array.reshape(-1) for name, array in arrays.items()}, shuffle=1)
    found = (results(module, arrays), shuffled.values(), expected(function, arrays))
    for number, (one, other, wanted) in enumerate(zip(*found, strict=True)):
        for got in (one, other):
            assert bits(got) == bits(wanted), f"output {number}: {got}, not {wanted.reshape(-1)}\n{sc.render(module)}"
    return module


def expected(function: sc.Function, values: Mapping[str, Any]) -> list[np.ndarray[Any, Any]]:
    """What a function computes when it, and what it calls, is simplified, as lowering does it."""
    entry = sc.run_passes(make_module([function.node]), "simplify_cse").args[-1]
    return evaluate_function(entry, [values[str(node.attrs["name"])] for node in inputs_of(entry)])


def bits(array: np.ndarray[Any, Any]) -> bytes:
    """The bits of an array in which all NaNs are the same."""
    flat = array.reshape(-1).copy()
    flat[np.isnan(flat)] = np.nan
    return flat.tobytes()
