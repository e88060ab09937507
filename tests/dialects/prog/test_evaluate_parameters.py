"""What the evaluator takes and gives: arrays by name, converted only where nothing is lost (specification 4.4)."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

import scaly_ir as sc
from scaly_ir.errors import EvaluationError
from scaly_ir.graph import Node

X8: Mapping[str, Any] = {"x": np.arange(8.0)}
PARAMS = "%x: memref<8xfloat64>, %y: memref<8xfloat64>"
ONES = "prog.for %o = 0 to 8 step 1 {kind=global} { prog.store 1, %y[%o] : float64 }"


def proc(body: str, params: str = PARAMS, header: str = "input_count=1") -> Node:
    """Return a module of one procedure `f`."""
    attrs = f" {{{header}}}" if header else ""
    return sc.parse(f"prog.module {{ prog.proc @f({params}){attrs} {{ {body} }} }}")


def refusal(module: Node, inputs: Mapping[str, Any] = X8, **options: Any) -> sc.EvaluationError:
    """Return the error that running ends with."""
    with pytest.raises(sc.EvaluationError) as caught:
        sc.run(module, inputs, **options)
    return caught.value


COPY = """prog.module {{ prog.proc @copy(%x: memref<2x3x{dtype}>, %y: memref<3x2x{dtype}>) {{input_count=1}} {{
  prog.for %i = 0 to 6 step 1 {{kind=global}} {{ prog.store prog.load %x[%i], %y[%i] : {dtype} }} }} }}"""


@pytest.mark.parametrize("dtype", ["bool", "int32", "int64", "float32", "float64"])
def test_arrays_are_flat_or_shaped_and_outputs_have_their_shape(dtype: str) -> None:
    module = sc.parse(COPY.format(dtype=dtype))
    values = np.array([0, 1, 1, 0, 1, 0]).astype(dtype)
    for given in (values, values.reshape(2, 3), [0, 1, 1, 0, 1, 0], [[0, 1, 1], [0, 1, 0]], values[::-1][::-1]):
        found = sc.run(module, {"x": given})["y"]
        assert found.dtype == np.dtype(dtype)
        assert found.shape == (3, 2)
        assert found.reshape(-1).tolist() == values.tolist()


@pytest.mark.parametrize(
    ("dtype", "given", "reason"),
    [
        ("float64", np.zeros(5), "%x of @copy has shape [2, 3] or [6], the array given for it [5]"),
        ("float64", np.zeros((3, 2)), "%x of @copy has shape [2, 3] or [6], the array given for it [3, 2]"),
        ("float64", 1.0, "the array given for it []"),
        ("float64", np.zeros(6, np.float32), "%x of @copy is float64, the array given for it float32"),
        ("int64", np.zeros(6, np.int32), "%x of @copy is int64, the array given for it int32"),
        ("int64", [0.5] * 6, "%x of @copy is int64, which does not hold 0.5"),
        ("int64", [2.0**63] * 6, "which does not hold 9.2"),
        ("int64", [2**63] * 6, "which does not hold 9223372036854775808"),
        ("int64", [2**65] * 6, "does not consist of numbers that fit a machine type"),
        ("int32", [2**31] * 6, "which does not hold 2147483648"),
        ("int32", [np.nan] * 6, "which does not hold nan"),
        ("float64", [2**53 + 1] * 6, "which does not hold 9007199254740993"),
        ("float64", [2**63 - 1] * 6, "which does not hold 9223372036854775807"),
        ("float32", [0.1] * 6, "which does not hold 0.1"),
        ("float32", [2**24 + 1] * 6, "which does not hold 16777217"),
        ("float32", [1e39] * 6, "which does not hold 1e+39"),
        ("bool", [2] * 6, "which does not hold 2"),
        ("float64", ["a"] * 6, "does not consist of numbers"),
        ("float64", None, "does not consist of numbers"),
        ("float64", [1j] * 6, "does not consist of numbers"),
        ("float64", [[1], [1, 2]], "what is given for %x of @copy is no array"),
    ],
)
def test_arrays_that_do_not_fit(dtype: str, given: Any, reason: str) -> None:
    assert reason in refusal(sc.parse(COPY.format(dtype=dtype)), {"x": given}).reason


@pytest.mark.parametrize(
    ("dtype", "given"),
    [("int64", [-(2.0**63), 2.0**62]), ("float64", [2**53, -(2**63)]), ("float32", [np.nan, np.inf, 0.5, 2**24])],
)
def test_numbers_convert_where_nothing_is_lost(dtype: str, given: list[float]) -> None:
    given = [*given, 0, 0, 0, 0][:6]
    found = sc.run(sc.parse(COPY.format(dtype=dtype)), {"x": given})["y"].reshape(-1)
    assert np.array_equal(found, np.array(given).astype(dtype), equal_nan=dtype == "float32")


def test_names_that_do_not_fit() -> None:
    module = proc(ONES)
    assert refusal(module, {}).reason == "@f needs an array for input %x"
    assert refusal(module, {**X8, "y": X8["x"]}).reason == "%y is an output of @f and takes no array"
    assert refusal(module, {**X8, "xx": 1}).reason == "@f has no input 'xx'; did you mean 'x'?"
    assert "the module has no procedure @g" in refusal(module, X8, proc="g").reason
    assert "no procedure to run" in refusal(sc.parse("")).reason
    assert "a module is run" in refusal(sc.parse("prog.store 1, %y[0] : float64")).reason


def test_parameters_are_read_and_written_where_nothing_says_which_are_inputs() -> None:
    module = proc("prog.store prog.add(prog.load %x[0], prog.load %y[1]), %y[0] : float64", header="")
    mine = np.arange(8.0)
    found = sc.run(module, {"x": mine, "y": mine})
    assert found["x"].tolist() == mine.tolist()
    assert found["y"].tolist() == [1.0, *mine[1:]]
    assert mine.tolist() == list(range(8))


def test_every_element_of_an_output_is_written() -> None:
    error = refusal(proc("prog.store 1, %y[0] : float64 prog.store 1, %y[2] : float64"))
    assert str(error) == "@f: element 1 of output %y is never written"


def test_empty_and_scalar_parameters() -> None:
    module = proc(
        "prog.store prog.load %x[0], %y[0] : float64",
        "%e: memref<0x3xfloat64>, %x: memref<float64>, %z: memref<0xint64>, %y: memref<1xfloat64>",
        "input_count=2",
    )
    found = sc.run(module, {"e": [], "x": 2.5})
    assert found["y"].tolist() == [2.5]
    assert found["z"].shape == (0,)
    assert found["z"].dtype == np.int64


TWO = """prog.module {
  prog.proc @g(%a: memref<2xfloat64>, %b: memref<2xfloat64>) {input_count=1} {
    prog.store_pair prog.load %a[0], prog.load %a[1], %b[0] : float64
  }
  prog.proc @f(%x: memref<2xfloat64>, %y: memref<2xfloat64>) {input_count=1} { prog.call @g(%x, %y) }
}"""


def test_a_procedure_runs_by_name_or_alone() -> None:
    module = sc.parse(TWO)
    assert sc.run(module, {"a": [1, 2]}, "g")["b"].tolist() == [1.0, 2.0]
    assert sc.run(module.args[0], {"a": [1, 2]})["b"].tolist() == [1.0, 2.0]


def test_numpy_is_loaded_by_the_first_run() -> None:
    code = "import sys, scaly_ir as sc; sc.run; assert 'numpy' not in sys.modules, 'numpy'"
    subprocess.run([sys.executable, "-c", code], check=True)


EMPTY: Any = sc.parse("prog.proc @f(%x: memref<1xfloat64>) {\n}\n")
OTHER: Any = sc.parse('%0 = expr.input {name="x"} : tensor<float64>\nexpr.return %0\n')


@pytest.mark.parametrize(
    ("arguments", "kind", "message"),
    [
        ((3, {}), TypeError, "expected a module or procedure of 'prog', got 3"),
        ((EMPTY, None), TypeError, "expected a mapping from names of inputs to arrays, got None"),
        ((EMPTY, [1.0]), TypeError, "expected a mapping from names of inputs to arrays, got [1.0]"),
        ((EMPTY, {}, 3), TypeError, "expected the name of a procedure, got 3"),
        ((EMPTY.args[0].args[0], {"x": [1.0]}), EvaluationError, "this is a 'prog.buffer'"),
        (
            (OTHER, {}),
            EvaluationError,
            "a module or procedure of 'prog' is run, this is 'expr.return'; pass 'lower' makes",
        ),
    ],
)
def test_what_is_nothing_to_run(arguments: tuple[Any, ...], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=re.escape(message)):
        sc.run(*arguments)
