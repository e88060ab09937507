"""Compiled C computes what the interpreter computes, by bits, and does so without undefined behaviour."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest

import scaly_ir as sc
from scaly_ir.dialects.prog import build
from scaly_ir.graph import Node
from scaly_ir.tools.c import COptions, render_source
from scaly_ir.tools.c.usage import element_count, input_count, workspace_sizes
from tests.passes.prog import evaluator
from tests.passes.prog.programs import inputs_of
from tests.tools.c.compiling import (
    C_COMPILERS,
    EXACT,
    STRICT,
    WARNINGS,
    Library,
    assert_same_bits,
    libm,
    needs_cc,
    write_sources,
)
from tests.tools.c.samples import golden_modules, random_modules

pytestmark = needs_cc


@pytest.fixture(autouse=True)
def _same_functions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give the interpreter the functions that compiled code calls: NumPy has its own, which round differently."""
    functions = libm()
    for name in evaluator._LIBM:
        monkeypatch.setitem(evaluator._LIBM, name, lambda *operands, f=functions[name]: np.float64(f(*operands)))
    for name, function in (("minimum", "fmin"), ("maximum", "fmax")):
        monkeypatch.setitem(evaluator.PLAIN, name, lambda x, y, f=functions[function]: np.float64(f(x, y)))


def _expected(module: Node) -> dict[str, Any] | None:
    """Return what the interpreter computes, or None for a program that has no meaning for these inputs."""
    try:
        return evaluator.run(module, inputs_of(module)).outputs
    except evaluator.EvaluationError:
        return None


def _compiled(modules: dict[str, Node], dialect: Literal["gnu", "c"], folder: Path) -> Library:
    """Compile modules to one library; a warning is an error, as is what is not in the C standard in dialect c."""
    sources = {name: render_source(module, COptions(dialect=dialect)) for name, module in modules.items()}
    return Library(folder, sources, [*EXACT, *WARNINGS, *STRICT[dialect]])


@pytest.mark.parametrize("dialect", ["gnu", "c"])
def test_golden_programs(dialect: Literal["gnu", "c"], tmp_path: Path) -> None:
    modules = golden_modules()
    library = _compiled(modules, dialect, tmp_path)
    for name, module in modules.items():
        expected = _expected(module)
        assert expected is not None, name
        assert_same_bits(library.run(module, name, inputs_of(module)), expected, name)


@pytest.mark.parametrize("dialect", ["gnu", "c"])
def test_random_programs(dialect: Literal["gnu", "c"], tmp_path: Path) -> None:
    modules = random_modules(25, seed=11)
    library = _compiled(modules, dialect, tmp_path)
    compared = 0
    for name, module in modules.items():
        expected = _expected(module)
        if expected is not None:
            assert_same_bits(library.run(module, name, inputs_of(module)), expected, name)
            compared += 1
    assert compared > 20


ROUNDINGS = """
prog.proc @f(%x: memref<1xfloat64>, %y: memref<3xfloat64>, %z: memref<3xfloat64>) {input_count=1} {
  %s = prog.buffer : memref<6xfloat64, private>
  prog.for %i = 0 to 3 step 1 {kind=global} {
    prog.store prog.cast(prog.cast(prog.load %x[0], float32), float64), %y[%i] : float64
  }
  prog.for %i = 0 to 3 step 1 {kind=global} {
    prog.store prog.load %y[%i], %s[%i] : float64
  }
  prog.for %t = 0 to 4 step 1 {kind=serial} {
    prog.for %k = 0 to 3 step 1 {kind=global} {
      prog.store prog.add(prog.load %s[prog.add(prog.mul(prog.mod(%t, 2), 3), %k)], 1), %s[prog.add(prog.mul(prog.sub(1, prog.mod(%t, 2)), 3), %k)] : float64
    }
  }
  prog.for %i = 0 to 3 step 1 {kind=global} {
    prog.store prog.load %s[%i], %z[%i] : float64
  }
}
"""  # noqa: E501


@pytest.mark.parametrize("level", ["-O2", "-O3"])
@pytest.mark.parametrize("dialect", ["gnu", "c"])
def test_roundings_to_float_are_kept(dialect: Literal["gnu", "c"], level: str, tmp_path: Path) -> None:
    """GCC 12 has dropped one of the three here."""
    module = sc.parse(ROUNDINGS)
    source = render_source(module, COptions(dialect=dialect))
    library = Library(tmp_path, {"f": source}, [*EXACT, *WARNINGS, *STRICT[dialect], level, "-fno-math-errno"])
    x = -2.8650489430209243
    rounded = float(np.float32(x))
    expected = {"y": np.full(3, rounded), "z": np.full(3, rounded + 4)}
    assert_same_bits(library.run(module, "f", {"x": [x]}), expected)


# --- under sanitizers -------------------------------------------------------------------------------------------------


def _driver(modules: dict[str, Node]) -> str:
    """Return a C program that calls each entry on buffers of exact size and prints the bits of what comes out."""
    parts = ["#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n#include <stdint.h>\n"]
    parts.append(
        "static double* copy(const double* from, size_t n) {\n"
        "  double* to = (double*)malloc(n * sizeof(double) + (n == 0));\n"
        "  if (n) memcpy(to, from, n * sizeof(double));\n  return to;\n}\n"
        "static void show(const double* p, size_t n) {\n"
        "  for (size_t i = 0; i < n; ++i) { uint64_t u; memcpy(&u, p + i, 8);\n"
        '    printf("%016llx\\n", (unsigned long long)u); }\n}\n'
    )
    calls = []
    for name, module in modules.items():
        entry = module.args[-1]
        params, count = build.params_of(entry), input_count(entry)
        size = workspace_sizes({proc.attrs["name"]: proc for proc in module.args})[entry.attrs["name"]].whole
        values = inputs_of(module)
        parts.append(f"int {name}(const double**, double**, int*, double*, int);\n")
        calls.append("  {\n    double* p[16]; const double* arg[16]; double* res[16]; double* w;\n")
        for at, param in enumerate(params):
            given = at < count or "input_count" not in entry.attrs
            numbers = [float(v) if given else 0.0 for v in values[param.attrs["name"]]] or [0.0]
            text = ", ".join(map(repr, numbers))
            calls.append(f"    static const double d{at}[] = {{{text}}};\n")
            calls.append(f"    p[{at}] = copy(d{at}, {element_count(param)});\n")
            target = f"arg[{at}]" if at < count else f"res[{at - count}]"
            calls.append(f"    {target} = p[{at}];\n")
        calls.append(f"    w = (double*)malloc({size or 1} * sizeof(double));\n")
        calls.append(f"    if ({name}(arg, res, 0, {'w' if size else '0'}, 0)) return 1;\n    free(w);\n")
        for at, param in enumerate(params):
            shown = f"show(p[{at}], {element_count(param)}); " if at >= count else ""
            calls.append(f"    {shown}free(p[{at}]);\n")
        calls.append("  }\n")
    return "".join([*parts, "int main(void) {\n", *calls, "  return 0;\n}\n"])


def test_no_undefined_behaviour(tmp_path: Path) -> None:
    modules = {**golden_modules(), **random_modules(8, seed=5)}
    modules = {name: module for name, module in modules.items() if _expected(module) is not None}
    sources = {name: render_source(module) for name, module in modules.items()}
    files = write_sources(tmp_path, {**sources, "main": _driver(modules)})
    flags = ["-O1", "-ffp-contract=off", "-fno-builtin", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    program = tmp_path / "program"
    command = [C_COMPILERS[0], *flags, "-o", str(program), *map(str, files), "-lm"]
    built = subprocess.run(command, capture_output=True, text=True, check=False)
    if built.returncode and ("asan" in built.stderr or "ubsan" in built.stderr):
        pytest.skip("the compiler has no sanitizers")
    assert built.returncode == 0, built.stderr[:4000]
    done = subprocess.run([str(program)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr[:4000]
    bits = np.array([int(line, 16) for line in done.stdout.split()], dtype=np.uint64).view(np.float64)
    expected = [values for module in modules.values() for values in (_expected(module) or {}).values()]
    assert_same_bits({"all": bits}, {"all": np.concatenate(expected)})
