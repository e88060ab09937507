"""Functions as compiled code: `sc.compile`, the text of C, and calls on numbers with what they fall back to."""

from __future__ import annotations

import copy
import os
import pickle
import shutil
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import scaly_ir as sc
from scaly_ir.tools.jit import functions

needs_cc = pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")


@sc.function(sc.G(sc.L("x", (2, 3)), sc.L("k", ())), outputs=sc.G(sc.L("scaled"), sc.G(sc.L("total"))))
def scaled(xk: Any) -> Any:
    x, k = xk
    return x.sin() * k, (x.sum(),)


@sc.function(sc.arg("x", 3))
def square(x: sc.Expr) -> sc.Expr:
    return x * x


X = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])


# --- sc.compile -------------------------------------------------------------------------------------------------------


@needs_cc
def test_a_compiled_function_is_called_as_the_function_is(cache: Path) -> None:
    fast = sc.compile(scaled)
    first, (total,) = fast((X, 2.0))
    np.testing.assert_allclose(first, np.sin(X) * 2.0, rtol=1e-14)
    assert (type(total), total.shape, total) == (np.ndarray, (), 21.0)
    assert fast.function is scaled
    assert "sin(" in fast.source
    assert fast.library.is_relative_to(cache)
    assert repr(fast).startswith("<CompiledFunction scaled(x: ")
    with pytest.raises(ValueError, match=r"^scaled: expected shape \(2, 3\) for 'x', got \(3,\)$"):
        fast(([1.0, 2.0, 3.0], 1.0))
    with pytest.raises(TypeError, match=r"^scaled: expected numbers, got an expression$"):
        fast((sc.sym("x", (2, 3)), sc.sym("k")))


@needs_cc
def test_arrays_of_any_layout() -> None:
    fast = sc.compile(scaled)
    wanted = fast((X, 2.0))[0]
    odd = np.frombuffer(b"\0" + X.tobytes(), np.uint8)[1:].view(np.float64).reshape(2, 3)
    for same in (np.asfortranarray(X), np.repeat(X, 2, axis=1)[:, ::2], X.astype(">f8"), X.astype(np.int32), odd):
        np.testing.assert_array_equal(fast((same, 2.0))[0], wanted)


@needs_cc
def test_contiguous_arrays_are_not_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    fast = sc.compile(square)
    x = np.ones(3)
    x.flags.writeable = False
    seen: list[int] = []
    inner = fast._program.run

    def watched(inputs: list[Any], outputs: list[Any]) -> None:
        seen.extend([array.ctypes.data for array in inputs])
        inner(inputs, outputs)

    monkeypatch.setattr(fast._program, "run", watched)
    result = fast(x)
    assert seen == [x.ctypes.data]
    assert not np.shares_memory(result, x)


@needs_cc
def test_the_same_function_is_compiled_once(cache: Path) -> None:
    assert sc.compile(square).library == sc.compile(square).library
    assert len(os.listdir(cache)) == 1


@needs_cc
@pytest.mark.parametrize("lanes", ["auto", 1, 2, 4, 8])
def test_lanes(lanes: int | str) -> None:
    x, y = sc.sym("x", 19), sc.sym("y", 19)
    function = sc.Function.from_exprs("waves", [x, y], [(x + y) * y - 0.5 * x, (x * y).sum()])
    values = np.linspace(-1, 2, 19), np.linspace(3, 1, 19)
    plain = sc.compile(function)(*values)
    for found, expected in zip(sc.compile(function, lanes=lanes)(*values), plain, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-14)
    source = sc.render_c_source(function, lanes=lanes, dialect="c")
    assert ("static inline void waves_lanes_2(" in source) == (lanes != 1)
    assert ("#define SCALY_LANES 8\n#elif" in source) == (lanes == "auto")
    assert ("vector_size" in sc.render_c_source(function, lanes=lanes)) == (lanes != 1)


def test_options_of_the_pipeline() -> None:
    x, d = sc.sym("x", 4), sc.sym("d", ())
    quotient = sc.Function.from_exprs("quotient", [x, d], [x / d])
    assert sc.compile(quotient, reciprocal=True)([1, 2, 3, 4], 4.0).tolist() == [0.25, 0.5, 0.75, 1.0]
    assert "(1.0 / arg[1][0])" in sc.render_c_source(quotient, reciprocal=True)
    assert "(1.0 / arg[1][0])" not in sc.render_c_source(quotient)
    rows = sc.Function.from_exprs("rows", [x, sc.sym("m", (3, 4))], [x + sc.sym("m", (3, 4))])
    assert " % " in sc.render_c_source(rows, delinearize=False)
    assert " % " not in sc.render_c_source(rows)
    assert sc.compile(rows)([1, 2, 3, 4], [[1] * 4] * 3).tolist() == [[2, 3, 4, 5]] * 3
    table = sc.sym("table", (32, 8))
    columns = sc.Function.from_exprs("columns", [table], [table.sum(axis=0)])
    assert sc.render_c_source(columns) == sc.render_c_source(columns, interchange=True)
    assert sc.render_c_source(columns) != sc.render_c_source(columns, interchange=False)
    values = np.linspace(-1, 1, 256).reshape(32, 8) / 3
    for option in (True, False):
        assert sc.compile(columns, interchange=option)(values).tolist() == np.add.accumulate(values)[-1].tolist()
    with pytest.raises(sc.PipelineError, match="option 'lanes' of pass 'default' expects"):
        sc.compile(square, lanes=3)


def test_what_cannot_be_compiled() -> None:
    integers = sc.Function.from_exprs("f", [sc.sym("n", 2, dtype="int64")], [sc.sym("n", 2, dtype="int64") + 1])
    with pytest.raises(sc.LoweringError):
        sc.compile(integers)
    with pytest.raises(TypeError, match="expected a function, got 3"):
        sc.compile(3)  # type: ignore[arg-type]

    @sc.function(sc.arg("x"))
    def template(x: sc.Expr) -> sc.Expr:
        return x

    with pytest.raises(TypeError, match=r"give it shapes with fn\.instantiate"):
        sc.compile(template)


def test_text_in_c() -> None:
    source = sc.render_c_source(square)
    assert "int square(const double** arg, double** res, int* iw, double* w, int mem) {" in source
    assert sc.render_c_source(square) == source
    assert "-std=c99" in sc.render_c_source(square, dialect="c")
    assert sc.render_c_header(square) in source
    with pytest.raises(ValueError, match="dialect is 'gnu' or 'c', got 'cpp'"):
        sc.render_c_source(square, dialect="cpp")  # type: ignore[arg-type]


# --- calls on numbers -------------------------------------------------------------------------------------------------


@needs_cc
def test_a_call_on_numbers_runs_compiled_code(cache: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert square([1, 2, 3]).tolist() == [1.0, 4.0, 9.0]
    (folder,) = os.listdir(cache)
    assert "square" in (cache / folder / "kernel.c").read_text()
    assert square([2, 3, 4]).tolist() == [4.0, 9.0, 16.0]


def test_without_a_compiler_the_evaluator_answers_and_says_so_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCALY_IR_CC", "no-such-compiler")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert square([1, 2, 3]).tolist() == [1.0, 4.0, 9.0]
        first, (total,) = scaled((X, 2.0))
        assert (first.shape, total.shape) == ((2, 3), ())
    (notice,) = caught
    assert notice.category is sc.NotCompiledWarning
    assert notice.filename == __file__
    assert str(notice.message).startswith("no C compiler: 'no-such-compiler', named by SCALY_IR_CC, is not found; ")
    with pytest.raises(sc.NoCompilerError):
        sc.compile(square)


@needs_cc
def test_a_compiler_that_appears_is_used(monkeypatch: pytest.MonkeyPatch, cache: Path) -> None:
    monkeypatch.setenv("SCALY_IR_CC", "no-such-compiler")
    with pytest.warns(sc.NotCompiledWarning):
        square([1, 2, 3])
    monkeypatch.delenv("SCALY_IR_CC")
    square([1, 2, 3])
    assert len(os.listdir(cache)) == 1


@needs_cc
def test_what_cannot_be_lowered_is_evaluated(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(node: Any) -> Any:
        raise sc.LoweringError("@square: it is too square")

    monkeypatch.setattr(functions, "lowered", refuse)
    with pytest.warns(
        sc.NotCompiledWarning,
        match=r"^square is not compiled: @square: it is too square; the evaluator computes it",
    ):
        assert square([1, 2, 3]).tolist() == [1.0, 4.0, 9.0]


@needs_cc
def test_a_compiler_that_fails_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CFLAGS", "-fno-such-option-at-all")
    with pytest.raises(sc.CompileError, match="the C compiler failed: "):
        square([1, 2, 3])


@needs_cc
def test_functions_without_inputs_and_with_loops() -> None:
    answer = sc.Function.from_exprs("answer", [], [sc.const(6.0) * 7.0])
    assert answer() == 42.0
    step = sc.Function.from_exprs("step", [sc.sym("c", ())], [sc.sym("c", ()) * 2.0])
    x = sc.sym("x", ())
    powers = sc.Function.from_exprs("powers", [x], [sc.fori_loop(10, _indexed(step), x)])
    assert powers(1.0) == 1024.0


def _indexed(step: sc.Function) -> sc.Function:
    number, carry = sc.sym("n", (), dtype="int64"), sc.sym("c", ())
    return sc.Function.from_exprs("indexed", [carry, number], [step(carry)])


# --- pickles ----------------------------------------------------------------------------------------------------------


@needs_cc
def test_compiled_functions_are_pickled_with_their_text(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = sc.compile(scaled)
    stored = pickle.dumps(compiled)
    shutil.rmtree(compiled.library.parent)  # where it is read, it may have to be compiled again
    again = pickle.loads(stored)
    assert (again.source, again.function) == (compiled.source, scaled)
    assert again.library.exists()
    x = np.arange(6.0).reshape(2, 3)
    assert again((x, 2.0))[0].tolist() == compiled((x, 2.0))[0].tolist()
    assert copy.deepcopy(again).source == compiled.source
    monkeypatch.setenv("SCALY_IR_CC", "no-such-compiler")
    with pytest.raises(sc.NoCompilerError):
        pickle.loads(stored)
