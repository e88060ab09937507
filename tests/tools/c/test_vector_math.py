"""Calls of glibc's vector math library: where it has a function, how near its results are, and what is left without."""

from __future__ import annotations

import math
import platform
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest

import scaly_ir as sc
from scaly_ir.attributes import NO_ATTRS
from scaly_ir.dialects.prog import build
from scaly_ir.graph import Node, intern_node, preorder
from scaly_ir.op import Op, registry_scope
from scaly_ir.tools.c import COptions, CTranslateError, render_header, render_source
from scaly_ir.tools.c.vector_math import FUNCTIONS
from scaly_ir.types import FLOAT64
from tests.tools.c.compiling import C_COMPILERS, EXACT, WARNINGS, Library, compile_with, needs_cc, write_sources
from tests.tools.c.lane_samples import widened

GLIBC: Final = platform.libc_ver()
HAS_LIBRARY: Final = (
    GLIBC[0] == "glibc"
    and platform.machine() == "x86_64"
    and tuple(map(int, GLIBC[1].split(".")[:2])) >= (2, 35)
    and bool(C_COMPILERS)
)
needs_library: Final = pytest.mark.skipif(not HAS_LIBRARY, reason="needs glibc 2.35 or later on x86-64")

FAST: Final = COptions(vector_math=True)
OPERATORS: Final = "acos asin atan atan2 cos cosh erf exp log pow sin sinh tan tanh".split()
"""Those that the library has a function for."""
OTHERS: Final = "abs add ceil div floor maximum minimum mod mul neg sqrt sub".split()
"""Those that it has none for."""
TRIPS: Final = 41
UNFIT: Final = ("twice_v", "select", "isfinite", "splat", "load")
"""No names of functions on vectors for an operator with one operand."""

_MODULE: Final = """
prog.proc @f(%x: memref<{n}xfloat64>, %u: memref<{n}xfloat64>, %y: memref<{n}xfloat64>) {{input_count=2}} {{
  prog.for %i = 0 to {n} step 1 {{kind=global}} {{
    prog.store prog.{name}({operands}), %y[%i] : float64
  }}
}}
"""


def _module(name: str, lanes: object = "auto", entry: str = "f") -> Node:
    operands = ", ".join(["prog.load %x[%i]", "prog.load %u[%i]"][: len(Op.get(f"prim.{name}").args_info)])
    return widened(sc.parse(_MODULE.format(n=TRIPS, name=name, operands=operands)), lanes, entry)


def _inputs(name: str) -> dict[str, list[float]]:
    """Return numbers from where the function is defined, then special ones."""
    source = np.random.default_rng(len(name))
    low, high = {"acos": (-1, 1), "asin": (-1, 1), "log": (1e-3, 100), "pow": (0.1, 5)}.get(name, (-9, 9))
    special = [0.0, -0.0, math.inf, -math.inf, math.nan, 1e300, -1e300, 5e-324, 2.0, -1.0]
    values = [*source.uniform(low, high, TRIPS - len(special)), *special]
    return {"x": values, "u": [*source.uniform(-4, 4, TRIPS - 10), *special[::-1]]}


@needs_library
@pytest.mark.parametrize("flags", [[], ["-mavx2"], ["-march=native"], ["-DSCALY_LANES=1"]], ids=str)
def test_errors_are_small(flags: list[str], tmp_path: Path) -> None:
    modules = {f"v_{name}": _module(name, entry=f"v_{name}") for name in OPERATORS}
    if "-mavx2" in flags and " avx2 " not in Path("/proc/cpuinfo").read_text(encoding="utf-8"):
        pytest.skip("needs AVX2")
    exact = {f"e_{name}": _module(name, 1, f"e_{name}") for name in OPERATORS}
    sources = {
        **{name: render_source(module, FAST) for name, module in modules.items()},
        **{name: render_source(module) for name, module in exact.items()},
    }
    library = Library(tmp_path, sources, [*EXACT, *WARNINGS, *flags])
    differing = 0
    for name in OPERATORS:
        found = library.run(modules[f"v_{name}"], f"v_{name}", _inputs(name))["y"]
        expected = library.run(exact[f"e_{name}"], f"e_{name}", _inputs(name))["y"]
        differing += int((found != expected).sum())
        finite = np.isfinite(expected)
        np.testing.assert_array_equal(found[~finite], expected[~finite], name)
        error = np.abs(found[finite] - expected[finite]) / np.spacing(np.abs(expected[finite]))
        assert error.max() <= 5, (name, error.max())  # 4 of the vector's, and the rounding of the other
    assert (differing > len(OPERATORS) * 5) == (flags != ["-DSCALY_LANES=1"])  # NaNs always differ


@needs_library
@pytest.mark.parametrize(
    ("flags", "called"),
    [
        (["-DSCALY_LANES=2"], "_ZGVbN2v_sin"),
        (["-mavx"], "_ZGVcN4v_sin"),
        (["-mavx2"], "_ZGVdN4v_sin"),
        (["-mavx2", "-DSCALY_LANES=2"], "_ZGVbN2v_sin"),
        (["-mavx512f"], "_ZGVeN8v_sin"),
        (["-mavx512f", "-DSCALY_LANES=4"], "_ZGVdN4v_sin"),
        (["-DSCALY_LANES=1"], "sin"),
        (["-DSCALY_LANES=8"], "sin"),  # without AVX-512 there is no function on 8
        (["-mavx2", "-DSCALY_VECTOR_MATH=0"], "sin"),
    ],
    ids=str,
)
@pytest.mark.parametrize("extension", [".c", ".cpp"])
def test_what_is_called(flags: list[str], called: str, extension: str, tmp_path: Path) -> None:
    files = write_sources(tmp_path, {"f": render_source(_module("sin"), FAST)}, extension)
    target = tmp_path / "f.o"
    compile_with(C_COMPILERS[0], [*WARNINGS, "-O2", *flags, "-c", "-o", str(target)], files)
    names = subprocess.run(["nm", str(target)], capture_output=True, text=True, check=True).stdout.split()
    assert [name for name in names if name.endswith("sin")] == [called]


@needs_cc
def test_other_systems_have_none(tmp_path: Path) -> None:
    for flags in (["-U__GLIBC__"], ["-U__GLIBC_MINOR__", "-D__GLIBC_MINOR__=21"]):
        text = render_source(_module("sin"), FAST)
        pretended = "".join(
            [f"#undef {flag[2:].partition('=')[0]}\n" for flag in flags if flag.startswith("-U")]
            + [f"#define {flag[2:].replace('=', ' ')}\n" for flag in flags if flag.startswith("-D")]
        )
        text = text.replace("#include <stdint.h>\n", f"#include <stdint.h>\n{pretended}")
        files = write_sources(tmp_path, {"f": text})
        target = tmp_path / "f.o"
        compile_with(C_COMPILERS[0], [*WARNINGS, "-O2", "-c", "-o", str(target)], files)
        assert b"_ZGV" not in target.read_bytes()


# --- text -------------------------------------------------------------------------------------------------------------


def test_operators_that_the_library_has_a_function_for() -> None:
    assert FUNCTIONS.keys() >= set(OPERATORS)
    for name in OPERATORS:
        assert f"v_{name})" in render_source(_module(name), FAST)
    for name in OTHERS:
        assert "SCALY_MATH" not in render_source(_module(name), FAST)


def test_it_is_off_unless_asked_for() -> None:
    assert "_ZGV" not in render_source(_module("sin"))
    assert "-lmvec" not in render_source(_module("sin"))
    assert " * Link: -lmvec -lm" in render_source(_module("sin"), FAST)
    function = sc.Function.from_exprs("f", [sc.sym("x", 8)], [sc.sym("x", 8).sin()])
    assert "_ZGV" in sc.render_c_source(function, lanes=4, vector_math=True)
    assert "_ZGV" not in sc.render_c_source(function, lanes=4)


def test_without_lanes_there_is_nothing_to_call() -> None:
    assert render_source(_module("sin", 1), FAST) == render_source(_module("sin", 1))
    assert render_source(_module("floor"), FAST) == render_source(_module("floor"))


def test_plain_c_has_no_vectors() -> None:
    with pytest.raises(CTranslateError, match="option 'vector_math' needs 'dialect=gnu'"):
        render_source(_module("sin"), COptions(dialect="c", vector_math=True))
    assert render_header(_module("sin"), COptions(dialect="c", vector_math=True))


def test_what_all_lanes_share_is_computed_once() -> None:
    text = """prog.proc @f(%x: memref<8xfloat64>, %y: memref<8xfloat64>) {input_count=1} {
      prog.for %i = 0 to 8 step 1 {kind=global} {
        prog.store prog.mul(prog.load %x[%i], prog.sin(prog.load %x[0])), %y[%i] : float64
      }
    }"""
    source = render_source(widened(sc.parse(text), "auto", "f"), FAST)
    assert "splat(sin(x[0]))" in source
    assert "_ZGV" not in source


@pytest.fixture
def cbrt() -> Iterator[None]:
    """Register operators of a plug-in that are functions of C: one is in the library as well, one is not."""
    with registry_scope():
        for name in ("cbrt", "tgamma"):
            op = Op.register(f"test.{name}")
            op.set_signature(("x",))
            attrs: dict[str, Any] = {"TFixedReturnType": "float64", "TVectorizable": True, "TCallEffectKind": 0}
            for key, value in {**attrs, "TCSpelling": name}.items():
                op.set_attr(key, value)
        yield


def _applied(name: str) -> Node:
    """Return a program that applies an operator of a plug-in to each element, in lanes."""
    load = build.load(build.view("x", build.var("i"), FLOAT64))
    value = intern_node(Op.get(f"test.{name}"), (load,), NO_ATTRS, FLOAT64)
    x, y = build.param("x", 8), build.param("y", 8)
    loop = build.for_(build.range_("i", 0, 8), [build.store(build.view(y, build.var("i")), value)])
    return widened(build.program([build.proc("f", [x, y], [loop], {"input_count": 1})]), "auto", "f")


@pytest.mark.usefixtures("cbrt")
def test_operators_of_plug_ins() -> None:
    for name, expected in {"cbrt": True, "tgamma": False}.items():
        source = render_source(_applied(name), FAST)
        assert (f"v_{name})" in source) == expected
        assert f"{name}(x0[lane])" in source


@pytest.mark.usefixtures("cbrt")
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("({0} + {1})", "the C text of operator 'test.cbrt' names an operand that there is not: ({0} + {1})"),
        # No function, one of two operands, one that gives truth values, and one that is no operator's.
        *[(name, f"the C text of operator 'test.cbrt' on vectors is '{name}'") for name in UNFIT],
    ],
)
def test_c_text_that_does_not_fit_an_operator_of_a_plug_in(text: str, said: str) -> None:
    Op.get("test.cbrt").set_attr("TCVectorSpelling", text)
    root = _applied("cbrt")
    with pytest.raises(CTranslateError, match=re.escape(said)) as caught:
        render_source(root)
    assert caught.value.place is not None
    statement, node = caught.value.place.statement, caught.value.place.node
    assert node.op.name == "test.cbrt"
    assert node in statement.args
    assert statement in set(preorder(root))
    assert "cbrt(" in render_source(root, COptions(dialect="c"))  # which has no vectors


@pytest.mark.usefixtures("cbrt")
@pytest.mark.parametrize(
    ("text", "expected"),
    [("abs", r"scaly_lanes_\w+_abs\(scaly_lanes_\w+_load\("), ("(-{0})", r"\(-scaly_lanes_\w+_load\(")],
)
def test_c_text_of_an_operator_of_a_plug_in(text: str, expected: str) -> None:
    Op.get("test.cbrt").set_attr("TCVectorSpelling", text)
    source = render_source(_applied("cbrt"), FAST)
    assert re.search(expected, source)
    assert "cbrt" not in source
