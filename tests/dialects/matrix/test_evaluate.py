"""The evaluator: the values that the specification lists, and what has no meaning."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import scaly_ir as sc
from scaly_ir.dialects.matrix.evaluate import evaluate_function
from tests.dialects.matrix.functions import function, one, refusal

ADD = "matrix.yield prog.add(%acc, %a)"


def combine(head: str, args: str, body: str) -> str:
    """Return a statement with a combiner that binds ``%r``."""
    return f"%r = {head} {{\n^comb({args}):\n{body}\n}}"


# --- operations on whole arrays ---------------------------------------------------------------------------------------

PROD = "%r = matrix.prod(%A, %B) : "


def prod(left: str, right: str, result: str, a: Any, b: Any) -> Any:
    return one(f"{PROD}{result}", result, f"%A: {left}, %B: {right}", A=a, B=b).tolist()


def test_prod() -> None:
    left, right = [[1, 2], [3, 4], [5, 6]], [[1, 0, 2], [0, 1, 3]]
    expected = [[1, 2, 8], [3, 4, 18], [5, 6, 28]]
    assert prod("memref<3x2xfloat64>", "memref<2x3xfloat64>", "memref<3x3xfloat64>", left, right) == expected


def test_prod_of_nothing() -> None:
    none = np.zeros((2, 0)), np.zeros((0, 3))
    assert prod("memref<2x0xfloat64>", "memref<0x3xfloat64>", "memref<2x3xfloat64>", *none) == [[0.0] * 3] * 2
    assert (
        prod("memref<0x2xint32>", "memref<2x3xint32>", "memref<0x3xint32>", np.zeros((0, 2), "int32"), [[1] * 3] * 2)
        == []
    )


def test_prod_of_integers_wraps() -> None:
    assert prod("memref<1x3xint64>", "memref<3x1xint64>", "memref<1x1xint64>", [[1, 2, 3]], [[4], [5], [6]]) == [[32]]
    left, right = [[65536, 1]], [[65536], [5]]
    assert prod("memref<1x2xint32>", "memref<2x1xint32>", "memref<1x1xint32>", left, right) == [[5]]


def test_transpose() -> None:
    body = "%r = matrix.transpose(%A) : memref<4x1xint32>"
    found = one(body, "memref<4x1xint32>", "%A: memref<1x4xint32>", A=[[9, 8, 7, 6]])
    assert (found.tolist(), found.dtype) == ([[9], [8], [7], [6]], np.dtype("int32"))


@pytest.mark.parametrize(
    ("type_", "dtype", "values", "expected"),
    [
        ("memref<2x1x2xint64>", "int64", [[[1, 2]], [[3, 4]]], 10),
        ("memref<float32>", "float32", 2.5, 2.5),
        ("memref<3x0xfloat64>", "float64", np.zeros((3, 0)), 0.0),
        ("memref<2xint32>", "int32", [2147483647, 1], -2147483648),
        ("memref<3xfloat64>", "float64", [1e16, 1, -1e16], 0.0),
        ("memref<3xfloat32>", "float32", [2**24, 1, 1], 2**24),
    ],
)
def test_sum(type_: str, dtype: str, values: Any, expected: float) -> None:
    found = one(f"%r = matrix.sum(%A) : {dtype}", dtype, f"%A: {type_}", A=values)
    assert (found.tolist(), found.shape, str(found.dtype)) == (expected, (), dtype)


def test_a_sum_begins_at_zero() -> None:
    assert str(one("%r = matrix.sum(%A) : float64", "float64", "%A: memref<1xfloat64>", A=[-0.0])) == "0.0"


@pytest.mark.parametrize(
    ("source", "value", "s_in", "s_out", "expected"),
    [
        ("memref<float64>", 2, [1, 1], [2, 3], [[2.0] * 3] * 2),
        ("memref<1xfloat64>", [2], [1], [0], []),
        ("memref<3xfloat64>", [1, 2, 3], [1, 3], [2, 3], [[1, 2, 3]] * 2),
        ("memref<2xfloat64>", [1, 2], [2, 1], [2, 3], [[1] * 3, [2] * 3]),
    ],
)
def test_broadcast(source: str, value: Any, s_in: list[int], s_out: list[int], expected: Any) -> None:
    type_ = f"memref<{''.join([f'{extent}x' for extent in s_out])}float64>"
    body = f"%r = matrix.broadcast(%A) {{s_in={s_in}, s_out={s_out}}} : {type_}"
    assert one(body, type_, f"%A: {source}", A=value).tolist() == expected


@pytest.mark.parametrize(
    ("values", "lo", "hi", "expected"),
    [
        ([4, 8], [3], [4], [4, 4, 4, 4, 8, 8, 8, 8, 8]),
        ([[1, 2], [3, 4]], [1, 0], [0, 1], [[1, 2, 2], [1, 2, 2], [3, 4, 4]]),
        ([[1, 2]], [1, 0], [0, 0], [[1, 2], [1, 2]]),
    ],
)
def test_pad_with_the_nearest_edge(values: Any, lo: list[int], hi: list[int], expected: Any) -> None:
    s_in, s_out = list(np.shape(values)), list(np.shape(expected))
    types = [f"memref<{''.join([f'{extent}x' for extent in shape])}float64>" for shape in (s_in, s_out)]
    body = f"%r = matrix.pad(%A) {{hi={hi}, lo={lo}, mode=replicate, s_in={s_in}, s_out={s_out}}} : {types[1]}"
    assert one(body, types[1], f"%A: {types[0]}", A=values).tolist() == expected


def test_pad_with_a_value() -> None:
    body = "%r = matrix.pad(%A, 9) {hi=[1], lo=[2], mode=constant, s_in=[0], s_out=[3]} : memref<3xint32>"
    assert one(body, "memref<3xint32>", "%A: memref<0xint32>", A=np.zeros(0, "int32")).tolist() == [9, 9, 9]
    body = "%r = matrix.pad(%A, %v) {hi=[0, 1], lo=[1, 0], mode=constant, s_in=[1, 2], s_out=[2, 3]} : memref<2x3xbool>"
    found = one(body, "memref<2x3xbool>", "%A: memref<2xbool>, %v: bool", A=[True, False], v=True)
    assert (found.tolist(), found.dtype) == ([[True, True, True], [True, False, True]], np.dtype(bool))


@pytest.mark.parametrize(
    ("axis", "expected"),
    [
        (0, [[[0, 1], [2, 3]], [[4, 5], [6, 7]], [[90, 91], [92, 93]]]),
        (1, [[[0, 1], [2, 3], [90, 91]], [[4, 5], [6, 7], [92, 93]]]),
        (2, [[[0, 1, 90], [2, 3, 91]], [[4, 5, 92], [6, 7, 93]]]),
    ],
)
def test_concat_along_each_axis(axis: int, expected: Any) -> None:
    shape = [1 if at == axis else 2 for at in range(3)]
    s_out = list(np.shape(expected))
    type_ = f"memref<{'x'.join(map(str, s_out))}xint64>"
    body = f"%r = matrix.concat(%A, %B) {{axis={axis}, s_out={s_out}, shapes=[[2, 2, 2], {shape}]}} : {type_}"
    found = one(body, type_, "%A: memref<2x2x2xint64>, %B: memref<2x2xint64>", A=range(8), B=[[90, 91], [92, 93]])
    assert found.tolist() == expected


def test_concat_with_nothing() -> None:
    body = (
        "%r = matrix.concat(%A, %B, %C) {axis=1, s_out=[2, 3], shapes=[[2, 0], [2, 1], [2, 2]]} : memref<2x3xfloat64>"
    )
    params = "%A: memref<2x0xfloat64>, %B: memref<2x1xfloat64>, %C: memref<2x2xfloat64>"
    found = one(body, "memref<2x3xfloat64>", params, A=np.zeros((2, 0)), B=[[5], [6]], C=[[1, 2], [3, 4]])
    assert found.tolist() == [[5, 1, 2], [6, 3, 4]]


# --- combinations -----------------------------------------------------------------------------------------------------

FLOATS = "%acc: float64, %a: float64"


@pytest.mark.parametrize(("indices", "type_"), [("[1, 1]", "memref<1xint64>"), ("[0, 0]", "memref<int64>")])
def test_a_diagonal(indices: str, type_: str) -> None:
    body = combine(f"matrix.map_reduce(%A) init(0) {{indices=[{indices}]}} : {type_}", "%acc: int64, %a: int64", ADD)
    assert one(body, type_, "%A: memref<2x2xint64>", A=[[1, 2], [3, 4]]).reshape(-1).tolist() == [5]


def test_an_index_that_no_input_has_repeats_the_value() -> None:
    head = "matrix.map_reduce(%A) init(undef) {indices=[[1]]} : memref<2x3xfloat64>"
    found = one(combine(head, FLOATS, "matrix.yield %a"), "memref<2x3xfloat64>", "%A: memref<3xfloat64>", A=[1, 2, 3])
    assert found.tolist() == [[1, 2, 3]] * 2


def test_points_are_combined_in_order() -> None:
    head = "matrix.map_reduce(%A) init(0) {indices=[[0]]} : memref<int64>"
    body = combine(head, "%acc: int64, %a: int64", "matrix.yield prog.add(prog.mul(2, %acc), %a)")
    assert one(body, "memref<int64>", "%A: memref<4xint64>", A=[1, 0, 1, 1]) == 11
    head = "matrix.map_reduce(%A) init(0) {indices=[[3, 1]]} : memref<int64>"
    body = combine(head, "%acc: int64, %a: int64", "matrix.yield prog.add(prog.mul(10, %acc), %a)")
    assert (
        one(body, "memref<int64>", "%A: memref<2x3xint64>", A=[[1, 2, 3], [4, 5, 6]]) == 142536
    )  # 3 is the faster one


def test_without_points_an_element_is_what_the_accumulator_is_first() -> None:
    head = "matrix.map_reduce(%A) init(-inf) {indices=[[0, 1]]} : memref<2xfloat64>"
    body = combine(head, FLOATS, "matrix.yield prog.maximum(%acc, %a)")
    assert one(body, "memref<2xfloat64>", "%A: memref<2x0xfloat64>", A=np.zeros((2, 0))).tolist() == [-np.inf] * 2


def test_inputs_of_other_types() -> None:
    head = "matrix.map_reduce(%A, %w) init(0) {indices=[[0, 1], [1]]} : memref<2xfloat64>"
    product = "matrix.yield prog.add(%acc, prog.mul(prog.cast(%a, float64), prog.cast(%b, float64)))"
    body = combine(head, "%acc: float64, %a: int32, %b: float32", product)
    params = "%A: memref<2x3xint32>, %w: memref<3xfloat32>"
    assert one(body, "memref<2xfloat64>", params, A=[[1, 2, 3], [4, 5, 6]], w=[0.5, 2, 1]).tolist() == [7.5, 18]


def test_no_inputs_and_no_axes() -> None:
    body = combine("matrix.map_reduce() init(3) {indices=[]} : memref<float64>", "%acc: float64", "matrix.yield %acc")
    assert one(body, "memref<float64>") == 3
    assert one(body.replace("yield %acc", "yield prog.add(%acc, %s)"), "memref<float64>", "%s: float64", s=0.5) == 3.5


def test_a_combiner_with_names_and_scalars_around_it() -> None:
    head = "matrix.map_reduce(%A) init(%s) {indices=[[0, 1]]} : memref<2xfloat32>"
    lines = "%p = prog.mul(%a, %t) : float32\n%q = prog.add(%p, %s) : float32\nmatrix.yield prog.add(%acc, %q)"
    body = f"%t = prog.add(%s, %s) : float32\n{combine(head, '%acc: float32, %a: float32', lines)}"
    found = one(body, "memref<2xfloat32>", "%A: memref<2x2xfloat32>, %s: float32", A=[[1, 2], [3, 4]], s=0.5)
    assert found.tolist() == [0.5 + 1.5 + 2.5, 0.5 + 3.5 + 4.5]


def aff(inputs: str, init: str, bounds: str, out: str, in_: str, result: str) -> str:
    dims = "d0" if "," not in bounds else "d0, d1"
    maps = f"in_maps=[affine_map<({dims}) -> ({in_})>], out_map=affine_map<({dims}) -> ({out})>"
    return f"matrix.map_reduce_aff({inputs}) init({init}) {{bounds=[{bounds}], {maps}}} : {result}"


def test_elements_that_maps_name() -> None:
    reverse = combine(aff("%x", "undef", "5", "d0", "4 - d0", "memref<5xfloat64>"), FLOATS, "matrix.yield %a")
    assert one(reverse, "memref<5xfloat64>", "%x: memref<5xfloat64>", x=[1, 2, 3, 4, 5]).tolist() == [5, 4, 3, 2, 1]
    spread = combine(aff("%x", "0", "2", "d0 * 2 + 1", "d0", "memref<5xfloat64>"), FLOATS, "matrix.yield %a")
    assert one(spread, "memref<5xfloat64>", "%x: memref<2xfloat64>", x=[7, 8]).tolist() == [0, 7, 0, 8, 0]
    windows = combine(aff("%x", "0", "3, 2", "d0", "d0 * 2 + d1", "memref<3xfloat64>"), FLOATS, ADD)
    assert one(windows, "memref<3xfloat64>", "%x: memref<6xfloat64>", x=[1, 2, 3, 4, 5, 6]).tolist() == [3, 7, 11]
    none = combine(aff("%x", "4", "3, 0", "d0", "d0", "memref<3xfloat64>"), FLOATS, ADD)
    assert one(none, "memref<3xfloat64>", "%x: memref<3xfloat64>", x=[1, 2, 3]).tolist() == [4] * 3


# --- buffers and loops ------------------------------------------------------------------------------------------------


def test_carried_values_are_taken_over_together() -> None:
    loop = """%p, %q = affine.for %i = {} to 8 step 3 iter(%a = 0, %b = 1) {{kind=serial}} : int64, int64 {{
  affine.yield prog.add(%a, %i), prog.mul(%b, prog.add(%a, 1))
}}
buffer.return %p, %q"""
    results = "%x: int64, %y: int64"
    swapped = loop.replace("prog.add(%a, %i), prog.mul(%b, prog.add(%a, 1))", "%b, %a")
    assert sc.run(function(swapped.format(1), "", results), {}) == {"x": 1, "y": 0}
    assert sc.run(function(loop.format(1), "", results), {}) == {"x": 12, "y": 12}
    assert sc.run(function(loop.format(8), "", results), {}) == {"x": 0, "y": 1}


def test_index_expressions() -> None:
    maps = {
        "apply": "d0 floordiv 4 + (d0 - 9) floordiv 4 * 10 + d0 ceildiv 4 * 100 + (d0 - 9) mod 4 * 1000 - d1",
        "min": "d0 - 3, d1, 4",
        "max": "d0 - 3, d1, 4",
    }
    lines = [f"%{n} = affine.{n}(%i, 2) {{map=affine_map<(d0, d1) -> ({m})>}} : index" for n, m in maps.items()]
    body = f"""%b = buffer.alloc : memref<9x3xint64>
affine.for %i = 0 to 9 step 1 {{kind=global}} {{
  {lines[0]}
  {lines[1]}
  {lines[2]}
  buffer.write %apply, %b[%i, 0] : int64
  buffer.write %min, %b[%i, 1] : int64
  buffer.write %max, %b[%i, 2] : int64
}}
buffer.return %b"""
    found = sc.run(function(body, "", "%y: memref<9x3xint64>"), {})["y"]
    for i, row in enumerate(found.tolist()):
        value = i // 4 + (i - 9) // 4 * 10 + -(-i // 4) * 100 + (i - 9) % 4 * 1000 - 2
        assert row == [value, min(i - 3, 2, 4), max(i - 3, 2, 4)]


def test_buffers() -> None:
    body = """%c = buffer.constant(2.5) : memref<1x3xfloat32>
%n = buffer.shape(%c) {axis=1} : index
%b = buffer.alloc : memref<3x1xint64>
affine.for %i = 0 to %n step 1 {kind=global} {
  buffer.write prog.mul(%i, %i), %b[%i] : int64
}
buffer.write -1, %b[1] : int64
%v = buffer.read %b[2] : int64
buffer.return %c, %b, %b, %v"""
    results = "%w: memref<3xfloat32>, %x: memref<3xint64>, %y: memref<3x1xint64>, %z: int64"
    found = sc.run(function(body, "", results), {})
    assert [value.tolist() for value in found.values()] == [[2.5] * 3, [0, -1, 4], [[0], [-1], [4]], 4]
    found["x"][0] = 7
    assert found["y"][0, 0] == 0


def test_results_without_a_name() -> None:
    body = """buffer.read %A[0] : float64
matrix.sum(%A) : float64
buffer.alloc : memref<2xint32>
buffer.constant(1) : memref<2xint32>
prog.add(%k, 2) : int64
buffer.shape(%A) {axis=0} : index
affine.apply(1) {map=affine_map<(d0) -> (d0)>} : index
matrix.transpose(%A) : memref<1x3xfloat64>
%r = prog.add(%k, 1) : int64"""
    assert one(body, "int64", "%A: memref<3x1xfloat64>, %k: int64", A=[1, 2, 3], k=4) == 5


def test_results_do_not_share_storage_with_parameters() -> None:
    x = np.array([1.0, 2.0])
    (function_,) = function(
        "buffer.return %x, %x", "%x: memref<2xfloat64>", "%a: memref<2xfloat64>, %b: memref<2xfloat64>"
    ).args
    first, second = evaluate_function(function_, [x])
    first[0], second[1] = 7.0, 8.0
    assert (x.tolist(), first.tolist(), second.tolist()) == ([1, 2], [7, 2], [1, 8])


def test_each_trip_allocates_anew() -> None:
    body = """affine.for %i = 0 to 2 step 1 {kind=global} {
  %b = buffer.alloc : memref<2xfloat64>
  buffer.write 1, %b[%i] : float64
  %v = buffer.read %b[0] : float64
}
%r = buffer.constant(0) : memref<1xfloat64>"""
    failure = refusal(body, "memref<1xfloat64>")
    assert failure.reason == "read of %b[0], which is never written before"
    assert failure.loops == {"i": 1}


def test_a_parameter_may_be_given_in_other_forms() -> None:
    body = "%r = prog.add(%s, 1) : float32"
    assert one(body, "float32", "%s: float32", s=[2]) == 3
    with pytest.raises(sc.EvaluationError, match=r"%s of @f is float32, which does not hold 0\.1"):
        one(body, "float32", "%s: float32", s=0.1)
    with pytest.raises(sc.EvaluationError, match="no array for %s of @f"):
        one(body, "float32", "%s: float32")
    with pytest.raises(sc.EvaluationError, match="@f has no parameter %scael; did you mean 'scale'"):
        one("%r = prog.add(%scale, 1) : float32", "float32", "%scale: float32", scale=1, scael=2)


def test_the_function_that_is_run() -> None:
    text = "buffer.func @{}() -> (%y: int32) {{\n  buffer.return {}\n}}\n"
    module = sc.parse(text.format("first", 1) + text.format("last", 2))
    assert sc.run(module, {}) == {"y": 2}
    assert sc.run(module, {}, "first") == {"y": 1}
    with pytest.raises(sc.EvaluationError, match="no function @frist; did you mean '@first'"):
        sc.run(module, {}, "frist")
    with pytest.raises(sc.EvaluationError, match="no function to run"):
        sc.run(module.replace(args=()), {})


def test_an_order_of_global_trips() -> None:
    body = """%r = buffer.constant(0) : memref<1xint64>
affine.for %i = 0 to 9 step 1 {{kind={}}} {{
  %v = buffer.read %r[] : int64
  buffer.write prog.add(prog.mul(%v, 10), %i), %r[] : int64
}}
buffer.return %r"""

    def digits(kind: str, seed: int | None) -> int:
        return int(sc.run(function(body.format(kind), "", "%y: memref<1xint64>"), {}, shuffle=seed)["y"][0])

    assert digits("serial", 1) == digits("global", None) == 12345678
    assert digits("global", 1) == digits("global", 1) != digits("global", 2)
    assert sorted(f"{digits('global', 1):09}") == list("012345678")


def test_integers_as_c_has_them() -> None:
    body = "%r = prog.{}(%a, %b) : int32"
    params = "%a: int32, %b: int32"
    assert one(body.format("add"), "int32", params, a=2147483647, b=1) == -2147483648
    assert one(body.format("div"), "int32", params, a=-7, b=2) == -3
    assert one(body.format("floordiv"), "int32", params, a=-7, b=0) == 0
    assert refusal(body.format("div"), "int32", params, a=5, b=0).reason == "'div' of 5 by zero"


# --- what has no meaning ----------------------------------------------------------------------------------------------

PARTLY = "%b = buffer.alloc : memref<2x2xfloat64>\nbuffer.write 1, %b[0, 0] : float64\n"


@pytest.mark.parametrize(
    ("statement", "where"),
    [
        ("%r = buffer.read %b[0, 1] : float64", "read of %b[0, 1], which"),
        (
            "%c = matrix.transpose(%b) : memref<2x2xfloat64>\n%r = buffer.read %c[0, 0] : float64",
            "read of %b[0, 1], which",
        ),
        ("%r = matrix.sum(%b) : float64", "read of %b[0, 1], which"),
        (
            combine("matrix.map_reduce(%b) init(0) {indices=[[0, 1]]} : memref<float64>", FLOATS, ADD).replace(
                "%r", "%c"
            )
            + "\n%r = buffer.read %c[] : float64",
            "'matrix.map_reduce' reads elements of %b that",
        ),
    ],
)
def test_elements_that_were_not_written(statement: str, where: str) -> None:
    failure = refusal(f"{PARTLY}{statement}", "float64")
    assert failure.reason == f"{where} are never written before".replace("which are", "which is")
    assert failure.procedure == "f"
    assert failure.statement is not None


def test_elements_that_nobody_reads_need_not_be_written() -> None:
    head = aff("%b", "undef", "2", "d0", "0, d0", "memref<2xfloat64>")
    body = f"{PARTLY}buffer.write 2, %b[0, 1] : float64\n{combine(head, FLOATS, 'matrix.yield %a')}"
    assert one(body, "memref<2xfloat64>").tolist() == [1, 2]
    assert one(
        f"{PARTLY}%r = matrix.prod(%A, %b) : memref<0x2xfloat64>",
        "memref<0x2xfloat64>",
        "%A: memref<0x2xfloat64>",
        A=np.zeros((0, 2)),
    ).shape == (0, 2)


def test_a_result_that_is_not_written() -> None:
    failure = refusal("%r = buffer.alloc : memref<2x1x2xint32>", "memref<2x2xint32>")
    assert str(failure) == "@f: element [0, 0] of result %y is never written"


@pytest.mark.parametrize(("least", "end", "index"), [(-1, 1, -1), (0, 3, 2), (-5, 9, -5)])
def test_an_index_out_of_range(least: int, end: int, index: int) -> None:
    loop = f"affine.for %i = {least} to {end} step 1 {{kind=serial}} {{\nbuffer.write 1, %r[1, %i] : bool\n}}"
    failure = refusal(f"%r = buffer.alloc : memref<3x1x2xbool>\n{loop}", "memref<3x2xbool>")
    assert failure.reason == f"write of %r with index {index} at position 1, outside [0, 2)"
    assert failure.loops == {"i": index}
    assert str(failure).splitlines()[1] == "  in 'buffer.write 1, %r[1, %i] : bool'"


def test_names_of_other_regions_mean_nothing() -> None:
    loop = "affine.for %i = 0 to 2 step 1 {kind=serial} {\n"
    body = f"""%r = buffer.alloc : memref<int64>
{loop}  %k = affine.apply(%i) {{map=affine_map<(d0) -> (d0 + 1)>}} : index
  buffer.write prog.mul(%k, %k), %r[] : int64
}}
{loop}  %k = prog.add(%n, 1) : int64
  buffer.write prog.mul(%k, %k), %r[] : int64
}}"""
    assert one(body, "memref<int64>", "%n: int64", n=2**33) == 2**34 + 1


UNDEFINED = "affine.for %i = 0 to {trips} step 1 iter(%a = undef) {{kind=serial}} : float64 {{\naffine.yield {next}\n}}"


def test_undef_that_is_read() -> None:
    body = f"%x = {UNDEFINED}\n%r = prog.add(%x, 1) : float64"
    assert one(body.format(trips=1, next="2.0"), "float64") == 3
    assert refusal(body.format(trips=0, next="2.0"), "float64").reason == "read of %x, which is undef"
    failure = refusal(body.format(trips=2, next="prog.add(%a, 1)"), "float64")
    assert (failure.reason, failure.loops) == ("read of %a, which is undef", {"i": 0})
    assert refusal(body.format(trips=1, next="undef"), "float64").reason == "read of undef"


def test_what_goes_wrong_in_a_combiner_is_shown_there() -> None:
    head = "matrix.map_reduce(%A, %B) init(0) {indices=[[0], [0]]} : memref<3xint32>"
    lines = "%q = prog.div(%a, %b) : int32\nmatrix.yield prog.add(%acc, %q)"
    body = combine(head, "%acc: int32, %a: int32, %b: int32", lines)
    params = "%A: memref<3xint32>, %B: memref<3xint32>"
    assert one(body, "memref<3xint32>", params, A=[4, -7, 6], B=[2, 2, 1]).tolist() == [2, -3, 6]
    failure = refusal(body, "memref<3xint32>", params, A=[4, 5, 6], B=[2, 0, 1])
    assert str(failure) == "@f: 'div' of 5 by zero\n  in '%q = prog.div(%a, %b) : int32'"


# --- size -------------------------------------------------------------------------------------------------------------


def test_deep_nests() -> None:
    depth = 1000
    loops = [f"affine.for %i{level} = 0 to 2 step 2 {{kind=global}} {{" for level in range(depth)]
    body = "%t = buffer.alloc : memref<float64>\nbuffer.write 3, %t[] : float64\n%q = buffer.read %t[] : float64"
    written = f"%r = buffer.alloc : memref<float64>\n{chr(10).join(loops)}\n{body}\nbuffer.write %q, %r[] : float64"
    assert one(f"{written}{'}' * depth}", "memref<float64>") == 3
    carried = ["%a"]
    for level in range(depth):
        previous = f"%a{level - 1}" if level else "%s"
        head = f"%r{level} = affine.for %i{level} = 0 to 1 step 1"
        carried.append(f"{head} iter(%a{level} = {previous}) {{kind=reduce}} : float64 {{")
    ends = "".join([f"affine.yield %r{level}\n}}\n" for level in range(depth - 1, 0, -1)])
    text = "\n".join(carried[1:]) + f"\naffine.yield prog.add(%a{depth - 1}, 1)\n}}\n{ends}"
    assert one(f"{text}%r = prog.add(%r0, 0) : float64", "float64", "%s: float64", s=2) == 3


def test_long_functions() -> None:
    count = 3000
    lines = [f"%v{at} = prog.add(%v{at - 1}, 1) : int64\nbuffer.write %v{at}, %r[] : int64" for at in range(1, count)]
    body = "%v0 = prog.add(%s, 1) : int64\n%r = buffer.alloc : memref<int64>\n" + "\n".join(lines)
    assert one(body, "memref<int64>", "%s: int64", s=0) == count


def test_a_long_combiner() -> None:
    count = 2000
    chain = "".join(["prog.add("] * count) + "%a" + ", 1)" * count
    head = "matrix.map_reduce(%A) init(0) {indices=[[0]]} : memref<2xint64>"
    body = combine(head, "%acc: int64, %a: int64", f"matrix.yield {chain}")
    assert one(body, "memref<2xint64>", "%A: memref<2xint64>", A=[1, 2]).tolist() == [count + 1, count + 2]
