"""The entry's interface: what it returns for pointers that are NULL, in order, and the numbers in the header."""

from __future__ import annotations

import ctypes
import re
from pathlib import Path

import pytest

import scaly_ir as sc
from scaly_ir.tools.c import render_header, render_source
from scaly_ir.tools.c.procedures import STATUS
from tests.tools.c.compiling import Library, needs_cc

PROGRAM = """\
prog.module {{
  prog.proc @f(%a: memref<2xfloat64>, %b: memref<2xfloat64>, %y: memref<2xfloat64>, %z: memref<2xfloat64>) \
{{input_count=2{sizes}}} {{
    prog.store prog.load %a[0], %y[0] : float64
    prog.store prog.load %b[0], %z[0] : float64
  }}
}}
"""
WITH_WORKSPACE = PROGRAM.format(sizes=", sz_w=3, w_self=3")
WITHOUT = PROGRAM.format(sizes="")


@needs_cc
def test_null_pointers_in_the_order_of_the_checks(tmp_path: Path) -> None:
    library = Library(tmp_path, {"f": render_source(sc.parse(WITH_WORKSPACE))})
    numbers = (ctypes.c_double * 8)()
    some = ctypes.addressof(numbers)

    def pointers(*given: int) -> ctypes.Array[ctypes.c_void_p]:
        return (ctypes.c_void_p * 2)(*[some if known else None for known in given])

    none, both = pointers(0, 0), pointers(1, 1)
    assert library.call("f", None, None, None) == 1
    assert library.call("f", both, None, some) == 1
    assert library.call("f", None, both, some) == 1
    assert library.call("f", none, none, None) == 2
    assert library.call("f", none, none, some) == 4
    assert library.call("f", pointers(1, 0), none, some) == 4
    assert library.call("f", both, none, some) == 3
    assert library.call("f", both, pointers(1, 0), some) == 3
    assert library.call("f", both, both, some) == 0


@needs_cc
def test_no_workspace_is_needed_where_none_is_used(tmp_path: Path) -> None:
    library = Library(tmp_path, {"f": render_source(sc.parse(WITHOUT))})
    numbers = (ctypes.c_double * 8)()
    both = (ctypes.c_void_p * 2)(*[ctypes.addressof(numbers)] * 2)
    assert library.call("f", both, both, None) == 0


def test_status_codes() -> None:
    assert list(STATUS.values()) == [0, 1, 2, 3, 4]
    header = render_header(sc.parse(WITHOUT))
    for name, code in STATUS.items():
        assert f"#ifndef {name}\n#define {name} {code}\n#endif\n" in header


@pytest.mark.parametrize(
    ("program", "check"), [(WITH_WORKSPACE, "if (!w) {\n    return SCALY_ERR_NULL_WORK;"), (WITHOUT, "(void)w;")]
)
def test_header_and_source_agree_on_the_workspace(program: str, check: str) -> None:
    module = sc.parse(program)
    header, source = render_header(module), render_source(module)
    (size,) = re.findall(r"#define f_SZ_W (\d+)\n", header)
    assert (int(size) > 0) == ("NULL_WORK" in check)
    assert check in source
    assert header in source


def test_what_a_header_leaves_out_is_worked_out() -> None:
    text = """\
prog.module {
  prog.proc @g(%y: memref<1xfloat64>) {input_count=0, sz_w=5, w_self=5} {
    prog.store 1, %y[0] : float64
  }
  prog.proc @f(%y: memref<1xfloat64>) {input_count=0, w_self=3} {
    prog.call @g(%y)
  }
}
"""
    source = render_source(sc.parse(text))
    assert "#define f_SZ_W 8\n" in source
    assert "g_raw(res[0], w + 3);" in source


def test_parameters_without_a_direction_are_results() -> None:
    header = render_header(sc.parse("prog.proc @f(%x: memref<2xfloat64>) {\n}\n"))
    assert "#define f_SZ_ARG 0\n" in header
    assert "#define f_SZ_RES 1\n" in header


def test_struct_types_that_would_meet() -> None:
    text = """\
prog.proc @f(%a.b: memref<2xfloat64>, %workspace: memref<0xfloat64>, %c-d: memref<1xfloat64>, \
%a-b: memref<1xfloat64>, %c_d: memref<1xfloat64>) {input_count=3} {
}
"""
    header = render_header(sc.parse(text))
    types = re.findall(r"double data\[(\d+)\];\n\} (\w+);", header)
    names = ["f_a_b_in_t", "f_workspace_t_", "f_c_d_in_t", "f_a_b_out_t", "f_c_d_out_t", "f_workspace_t"]
    assert types == list(zip(["2", "1", "1", "1", "1", "1"], names, strict=True))
