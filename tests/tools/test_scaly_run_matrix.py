"""Functions of matrices, loops and buffers on both engines."""

from __future__ import annotations

import pytest

from tests.tools.run_cases import needs_cc, scaly_run

pytestmark = pytest.mark.usefixtures("workspace")

NUMERIC = """\
buffer.func @f(%A: memref<3x4x{T}>, %B: memref<4x2x{T}>, %e: memref<0x4x{T}>, %s: {T}) ->
  (%P: memref<3x2x{T}>, %Q: memref<0x2x{T}>, %S: {T}, %R: memref<5x6x{T}>, %D: memref<3x1x{T}>, %L: memref<6x{T}>) {{
  %0 = matrix.prod(%A, %B) : memref<3x2x{T}>
  %1 = matrix.prod(%e, %B) : memref<0x2x{T}>
  %2 = matrix.sum(%A) : {T}
  %3 = matrix.transpose(%A) : memref<4x3x{T}>
  %4 = matrix.pad(%3) {{hi=[0, 2], lo=[1, 1], mode=replicate, s_in=[4, 3], s_out=[5, 6]}} : memref<5x6x{T}>
  %5 = matrix.map_reduce(%A, %3) init(%s) {{indices=[[0, 2], [2, 0]]}} : memref<3x1x{T}> {{
  ^comb(%acc: {T}, %a: {T}, %b: {T}):
    %p = prog.mul(%a, %b) : {T}
    matrix.yield prog.sub(%acc, %p)
  }}
  %6 = matrix.map_reduce_aff(%4) init(%s) {{bounds=[3, 5], in_maps=[affine_map<(d0, d1) -> (4 - d1, d0 * 2)>], out_map=affine_map<(d0, d1) -> (d0 * 2)>}} : memref<6x{T}> {{
  ^comb(%acc: {T}, %a: {T}):
    matrix.yield prog.add(%acc, %a)
  }}
  buffer.return %0, %1, prog.mul(%2, %s), %4, %5, %6
}}
"""  # noqa: E501 - an operation is a line

LOOPS = """\
buffer.func @f(%n: int64, %p: bool, %x: memref<2x3xbool>) -> (%y: memref<2x3xbool>, %k: int32, %h: memref<6xfloat32>) {
  %b = buffer.constant(%p) : memref<2x1x3xbool>
  %floats = buffer.alloc : memref<6xfloat32>
  %hash = affine.for %i = 0 to 2 step 1 iter(%acc = 7) {kind=serial} : int32 {
    %inner = affine.for %j = 0 to 3 step 1 iter(%in = %acc) {kind=reduce} : int32 {
      %e = buffer.read %x[%i, %j] : bool
      buffer.write prog.ne(%e, %p), %b[%i, %j] : bool
      %flat = affine.apply(%i, %j) {map=affine_map<(d0, d1) -> (d0 * 3 + d1)>} : index
      %last = affine.max(%flat) {map=affine_map<(d0) -> (d0, 3)>} : index
      buffer.write prog.cast(prog.mul(%last, %n), float32), %floats[%flat] : float32
      affine.yield prog.add(prog.mul(%in, 1000003), prog.cast(%e, int32))
    }
    affine.yield %inner
  }
  buffer.return %b, %hash, %floats
}
"""


@needs_cc
@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "int32"])
def test_engines_agree_on_operations_of_whole_arrays(dtype: str) -> None:
    done = scaly_run("--random=3", "--compare", "--rtol=0", "--atol=0", stdin=NUMERIC.format(T=dtype))
    assert (done.code, done.err) == (0, "")
    assert [line.rpartition(": ")[2] for line in done.out.splitlines()] == ["equal"] * 6


@needs_cc
def test_engines_agree_on_loops() -> None:
    argv = ("--random=3", "--in", "p=true", "--in", "n=1000001")
    done = scaly_run(*argv, "--compare", stdin=LOOPS)
    types = ["y: memref<2x3xbool>", "k: int32", "h: memref<6xfloat32>"]
    assert done == (0, "".join([f"{type_}: equal\n" for type_ in types]), "")
    assert scaly_run(*argv, "--engine=c", "--sanitize", stdin=LOOPS) == scaly_run(*argv, stdin=LOOPS)


@needs_cc
@pytest.mark.parametrize("name", ["arg", "res", "w", "status", "main", "scaly_arg", "scaly_buffer"])
def test_any_name_of_a_function_runs_with_checks(name: str) -> None:
    text = f"buffer.func @{name}(%x: int32) -> (%y: int32) {{\n  buffer.return prog.add(%x, 1)\n}}\n"
    assert scaly_run("--in", "x=3", "--engine=c", "--sanitize", stdin=text) == (0, "y: int32\n  4\n", "")


def test_results_go_to_files_and_come_back() -> None:
    argv = ("--random=3", "--in", "p=true", "--in", "n=5")
    assert scaly_run(*argv, "--out=y.npz", "--print=none", stdin=LOOPS) == (0, "", "")
    assert scaly_run(*argv, "--compare=y.npz", stdin=LOOPS).code == 0
    done = scaly_run("--random=3", "--in", "p=true", "--in", "n=6", "--compare=y.npz", stdin=LOOPS)
    assert done.code == 1
    assert "error: %h[0] is 18.0 by ref, and 15.0 by y.npz" in done.err
