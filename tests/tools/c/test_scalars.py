"""Scalar expressions in C: every operator on odd values of every type, against the interpreter."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

import scaly_ir as sc
from scaly_ir.dialects.prog import build
from scaly_ir.graph import Node
from scaly_ir.tools.c import render_source
from scaly_ir.types import BOOL, FLOAT32, FLOAT64, INT32, INT64, DType, int_range
from tests.passes.prog import evaluator
from tests.tools.c.compiling import EXACT, Library, assert_same_bits, libm, needs_cc

ODD_FLOATS = (0.0, -0.0, 1.0, -1.5, 2.5, 1e-310, -1e300, 3.4e38, float("inf"), float("-inf"), float("nan"), 0.1)
UNARY = "sin cos tan asin acos atan sinh cosh tanh erf exp log sqrt floor ceil neg abs".split()
BINARY = "add sub mul div minimum maximum pow atan2".split()
SANITIZED = ("-fsanitize=undefined", "-Wno-overflow")


class Expressions:
    """Random integer expressions over constants, a table, memory that nobody knows, and a loop variable."""

    def __init__(self, seed: int, dtype: DType) -> None:
        self.random = random.Random(seed)
        self.dtype = dtype
        low, high = int_range(dtype)[0], int_range(dtype)[-1]
        self.values = (0, 1, -1, 2, -3, 7, low, high, low + 1, high // 2, -(2**31), 2**31 - 1)
        self.table = build.table("k0", self.values, dtype)
        self.memory = build.buffer("n", (len(self.values),), dtype)

    def leaf(self) -> Node:
        source = self.random.randrange(4)
        at = self.random.randrange(len(self.values))
        if source == 0:
            return build.const(self.values[at], self.dtype)
        if source == 3:
            variable = build.var("i")
            return variable if self.dtype is INT64 else build.cast(variable, self.dtype)
        return build.load(build.view(self.table if source == 1 else self.memory, at))

    def tree(self, depth: int) -> Node:
        if depth == 0 or self.random.randrange(6) == 0:
            return self.leaf()
        kind = self.random.choice("unary binary binary binary divide select".split())
        x, y = self.tree(depth - 1), self.tree(depth - 1)
        if kind == "unary":
            return build.apply(self.random.choice(["neg", "abs"]), x)
        if kind == "binary":
            return build.apply(self.random.choice("add sub mul floordiv floormod minimum maximum".split()), x, y)
        if kind == "select":
            return build.apply("select", build.apply(self.random.choice(["lt", "le", "eq", "ne"]), x, y), x, y)
        divisor = build.const(self.random.choice([v for v in self.values if v]), self.dtype)
        return build.apply(self.random.choice(["div", "mod"]), x, divisor)


def integers(seed: int, dtype: DType, count: int = 50) -> Node:
    """Return a module that computes random integers and writes each as two doubles that hold them exactly."""
    source = Expressions(seed, dtype)
    y = build.param("y", (2 * 3 * count,))
    body = [source.table, source.memory]
    for at, number in enumerate(source.values):
        body.append(build.store(build.view(source.memory, at), build.const(number, dtype)))
    stores = []
    half = build.const(2**16 if dtype is INT32 else 2**32, dtype)
    for index in range(count):
        value = source.tree(4)
        for part, op in enumerate(("floordiv", "floormod")):
            row = build.apply("mul", build.var("i"), build.index(2 * count))
            where = build.view(y, build.apply("add", row, build.index(2 * index + part)))
            stores.append(build.store(where, build.cast(build.apply(op, value, half), FLOAT64)))
    body.append(build.for_(build.range_("i", 0, 3), stores))
    return build.program([build.proc(f"f_{dtype}_{seed}", [y], body, {"input_count": 0})])


@needs_cc
def test_integers_wrap_and_nothing_overflows(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    modules = [integers(seed, dtype) for dtype in (INT32, INT64) for seed in (1,)]
    sources = {str(module.args[-1].attrs["name"]): render_source(module) for module in modules}
    library = Library(tmp_path, sources, [*EXACT, *SANITIZED])
    for name, module in zip(sources, modules, strict=True):
        sc.verify(module)
        assert_same_bits(library.run(module, name, {}), evaluator.run(module, {}).outputs, name)
    assert capfd.readouterr().err == ""  # where sanitizers complain


def floats(dtype: DType) -> Node:
    """Return a module that applies every operator on floats to every pair of odd values."""
    count = len(ODD_FLOATS)
    table = build.table("k0", ODD_FLOATS, dtype)
    loads = [build.load(build.view(table, build.var(name))) for name in ("i", "j")]
    results = [build.apply(name, loads[0]) for name in UNARY] + [build.apply(name, *loads) for name in BINARY]
    truths = [build.apply(name, *loads) for name in ("lt", "le", "eq", "ne")] + [build.apply("isfinite", loads[0])]
    truths += [build.apply("and", truths[0], truths[4]), build.apply("or", truths[2], build.apply("not", truths[4]))]
    truths += [build.apply("eq", truths[0], truths[1])]
    results += [build.apply("select", truth, *loads) for truth in truths]
    y = build.param("y", (count * count * len(results),))
    stores = []
    for number, result in enumerate(results):
        row = build.apply("add", build.apply("mul", build.var("i"), build.index(count)), build.var("j"))
        at = build.apply("add", build.apply("mul", row, build.index(len(results))), build.index(number))
        stores.append(build.store(build.view(y, at), result if dtype is FLOAT64 else build.cast(result, FLOAT64)))
    nest = build.for_(build.range_("i", 0, count), [build.for_(build.range_("j", 0, count), stores)])
    return build.program([build.proc(f"f_{dtype}", [y], [table, nest], {"input_count": 0})])


@needs_cc
def test_operators_on_odd_floats(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    functions = libm()
    for name in evaluator._LIBM:
        monkeypatch.setitem(evaluator._LIBM, name, lambda *operands, f=functions[name]: np.float64(f(*operands)))
    for name, function in (("minimum", "fmin"), ("maximum", "fmax")):
        monkeypatch.setitem(evaluator.PLAIN, name, lambda x, y, f=functions[function]: np.float64(f(x, y)))
    modules = {f"f_{dtype}": floats(dtype) for dtype in (FLOAT64, FLOAT32)}
    library = Library(tmp_path, {name: render_source(module) for name, module in modules.items()})
    for name, module in modules.items():
        assert_same_bits(library.run(module, name, {}), evaluator.run(module, {}).outputs, name)


def constants(values: Sequence[float], dtype: DType) -> Node:
    """Return a module that writes constants, as scalars and from a table."""
    x, y = build.table("k0", values, dtype), build.param("y", (2 * len(values),))
    body: list[Node] = [x]
    for at, value in enumerate(values):
        for position, scalar in ((at, build.const(value, dtype)), (at + len(values), build.load(build.view(x, at)))):
            body.append(
                build.store(build.view(y, position), scalar if dtype is FLOAT64 else build.cast(scalar, FLOAT64))
            )
    return build.program([build.proc(f"f_{dtype}", [y], body, {"input_count": 0})])


@needs_cc
def test_constants_keep_their_bits(tmp_path: Path) -> None:
    generator = np.random.default_rng(3)
    doubles = generator.integers(0, 2**63, 200, dtype=np.uint64).view(np.float64)
    # The shortest decimal of this float is so near to the middle of two that it must not be rounded to double first.
    singles = np.append(generator.integers(0, 2**32, 200, dtype=np.uint32), np.uint32(0x15AE43FD)).view(np.float32)
    modules = [
        constants([*[float(v) for v in doubles if np.isfinite(v)], 5e-324, 1.7976931348623157e308, 2.0**53], FLOAT64),
        constants([*[float(v) for v in singles if np.isfinite(v)], 1.401298464324817e-45], FLOAT32),
        constants([int(v) for v in int_range(INT32)[:: 2**28]] + [2**31 - 1], INT32),
        constants([-(2**62), 2**62, 2**40, -(2**31) - 1024, 2**31], INT64),
        constants([0, 1], BOOL),
    ]
    sources = {str(module.args[-1].attrs["name"]): render_source(module) for module in modules}
    library = Library(tmp_path, sources)
    for name, module in zip(sources, modules, strict=True):
        assert_same_bits(library.run(module, name, {}), evaluator.run(module, {}).outputs, name)
