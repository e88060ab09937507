"""Generated C compiles without warnings: as C++ too, with its header, beside other headers, by every compiler here.

That it compiles as C in both dialects is seen in `test_execution`, which runs it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import pytest

import scaly_ir as sc
from scaly_ir.dialects.expr.functions import make_module
from scaly_ir.tools.c import COptions, render_header, render_source
from tests.passes.expr.lowering.empty import functions as empty
from tests.tools.c.compiling import (
    C_COMPILERS,
    CPP_COMPILERS,
    STRICT,
    WARNINGS,
    as_one_cpp_file,
    compile_with,
    needs_cc,
    needs_cpp,
    write_sources,
)
from tests.tools.c.samples import golden_modules, random_modules

CHECK = ("-fsyntax-only", *WARNINGS)


@needs_cpp
@pytest.mark.parametrize("compiler", CPP_COMPILERS)
@pytest.mark.parametrize(("dialect", "flags"), [("gnu", ()), ("c", ("-std=c++17", "-pedantic"))])
def test_as_cpp(compiler: str, dialect: Literal["gnu", "c"], flags: tuple[str, ...], tmp_path: Path) -> None:
    modules = {**golden_modules(), **random_modules(15, seed=3)}
    options = COptions(dialect=dialect, typed_buffers=True)
    sources = {name: render_source(module, options) for name, module in modules.items()}
    files = write_sources(tmp_path, {"all": as_one_cpp_file(sources)}, ".cpp")
    compile_with(compiler, [*CHECK, *flags], files)


@needs_cc
@pytest.mark.parametrize("passes", ["lower", "lower,default"])
def test_arrays_without_entries(passes: str, tmp_path: Path) -> None:
    sources = {
        name: render_source(sc.run_passes(make_module([function.node]), passes)) for name, function in empty().items()
    }
    compile_with(C_COMPILERS[0], CHECK, write_sources(tmp_path, sources))


@needs_cc
@pytest.mark.parametrize("compiler", C_COMPILERS[1:])
@pytest.mark.parametrize("dialect", ["gnu", "c"])
def test_by_other_compilers(compiler: str, dialect: Literal["gnu", "c"], tmp_path: Path) -> None:
    sources = {name: render_source(m, COptions(dialect=dialect)) for name, m in golden_modules().items()}
    compile_with(compiler, [*CHECK, *STRICT[dialect]], write_sources(tmp_path, sources))


TWO = """\
prog.module {{
  prog.proc @{name}(%x: memref<3xfloat64>, %y: memref<{size}xfloat64>) {{input_count=1, sz_w=4, w_self=4}} {{
    %s = prog.buffer : memref<4xfloat64, private> = prog.workspace offset 0
    prog.store prog.load %x[0], %s[3] : float64
    prog.store prog.load %s[3], %y[0] : float64
  }}
}}
"""


USER = """\
#include "first.h"
#include "second.h"
#include "first.h"
int main(void) {
  first_x_t x = {{1, 2, 3}};
  first_y_t y = {{0}};
  first_workspace_t w;
  second_x_t x2 = {{4, 5, 6}};
  second_y_t y2 = {{0, 0}};
  second_workspace_t w2;
  if (first_call(&x, &y, &w) != SCALY_SUCCESS) {
    return 1;
  }
  if (second_call(&x2, &y2, &w2) != SCALY_SUCCESS) {
    return 2;
  }
  if (first_call(NULL, &y, &w) != SCALY_ERR_NULL_INPUT || first_call(&x, &y, NULL) != SCALY_ERR_NULL_WORK) {
    return 3;
  }
  return y.data[0] == 1 && y2.data[0] == 4 && first_SZ_W == 4 && second_SZ_RES == 1 ? 0 : 4;
}
"""
"""A program that calls two entries through their headers; it ends with 0 when all is well."""


def _write_two(folder: Path) -> list[Path]:
    """Write two sources and their headers; return the sources."""
    options = COptions(dialect="c", typed_buffers=True)
    modules = {name: sc.parse(TWO.format(name=name, size=size)) for name, size in (("first", 1), ("second", 2))}
    write_sources(folder, {name: render_header(module, options) for name, module in modules.items()}, ".h")
    sources = {name: render_source(m, COptions(dialect="c", include=f"{name}.h")) for name, m in modules.items()}
    return write_sources(folder, sources)


@needs_cc
def test_headers_go_together(tmp_path: Path) -> None:
    files = [*_write_two(tmp_path), *write_sources(tmp_path, {"user": USER})]
    program = tmp_path / "program"
    compile_with(C_COMPILERS[0], [*WARNINGS, *STRICT["c"], "-o", str(program)], [*files, Path("-lm")])
    compile_with(str(program), [], [])


@needs_cc
@needs_cpp
def test_headers_serve_cpp(tmp_path: Path) -> None:
    objects = []
    for file in _write_two(tmp_path):
        objects.append(file.with_suffix(".o"))
        compile_with(C_COMPILERS[0], ["-c", "-o", str(objects[-1])], [file])
    program = tmp_path / "program"
    users = write_sources(tmp_path, {"user": USER}, ".cpp")
    compile_with(CPP_COMPILERS[0], [*WARNINGS, "-pedantic", "-o", str(program)], [*users, *objects])
    compile_with(str(program), [], [])


@needs_cc
def test_lane_counts_are_those_of_the_target_or_given(tmp_path: Path) -> None:
    text = """\
prog.proc @f(%x: memref<1xfloat64>) {
  prog.store prog.cast(%SCALY_WIDTH_1_2_4_8, float64), %x[0] : float64
}
"""
    source = render_source(sc.parse(text))
    checks = {1: 1, 2: 2, 4: 4, 8: 4}
    for lanes, width in checks.items():
        sources = {f"lanes{lanes}": f"{source}\nint check[SCALY_WIDTH_1_2_4_8 == {width} ? 1 : -1];\n"}
        files = write_sources(tmp_path, sources)
        compile_with(C_COMPILERS[0], [*CHECK, f"-DSCALY_LANES={lanes}", "-DSCALY_REGISTER_SLOTS=64"], files)
    with pytest.raises(AssertionError, match="SCALY_LANES must be 1, 2, 4 or 8"):
        compile_with(C_COMPILERS[0], [*CHECK, "-DSCALY_LANES=3"], files)
