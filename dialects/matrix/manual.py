"""How operations of `matrix`, `affine` and `buffer` are written, with an example of each: what ``--describe`` shows.

Attributes are not repeated here; they are those of the operators.
"""

from __future__ import annotations

from textwrap import indent
from typing import Final

from scaly_ir.manual import Entry, applied
from scaly_ir.op import Op

_SCALAR: Final = ("VALUE", "a scalar: a number, a name, or an operation on scalars")
_INDICES: Final = ("INDEX, ...", "an index value or an integer for each axis of another extent than 1")


def _function(*lines: str, params: str = "%A: memref<2x3xfloat64>", results: str = "", returned: str = "") -> str:
    body = indent("\n".join([*lines, f"buffer.return {returned}".rstrip()]), "  ")
    return f"buffer.func @example({params}) -> ({results}) {{\n{body}\n}}\n"


def _result(line: str, type_: str, params: str = "%A: memref<2x3xfloat64>") -> str:
    return _function(*line.split("\n"), params=params, results=f"%y: {type_}", returned="%0")


_SUM_OF_ROWS: Final = _result(
    "%0 = matrix.map_reduce(%A) init(0) {indices=[[0, 1]]} : memref<2xfloat64> {\n"
    "^comb(%acc: float64, %a: float64):\n"
    "  matrix.yield prog.add(%acc, %a)\n"
    "}",
    "memref<2xfloat64>",
)
_LOOP: Final = _result(
    "%0 = affine.for %i = 0 to 2 step 1 iter(%acc = 0) {kind=reduce} : float64 {\n"
    "  %1 = buffer.read %A[%i, 0] : float64\n"
    "  affine.yield prog.add(%acc, %1)\n"
    "}",
    "float64",
)
_WRITE: Final = _result(
    "%0 = buffer.alloc : memref<2xfloat64>\n"
    "affine.for %i = 0 to 2 step 1 {kind=global} {\n"
    "  %1 = buffer.read %A[%i, 1] : float64\n"
    "  buffer.write %1, %0[%i] : float64\n"
    "}",
    "memref<2xfloat64>",
)
_MAPPED: Final = (
    "%0 = buffer.alloc : memref<2xfloat64>\n"
    "affine.for %i = 0 to 2 step 1 {{kind=global}} {{\n"
    "  %1 = {}(%i) {{map=affine_map<(d0) -> ({})>}} : index\n"
    "  %2 = buffer.read %A[%1, 0] : float64\n"
    "  buffer.write %2, %0[%i] : float64\n"
    "}}"
)
_COMBINER: Final = "scalars that get names, then 'matrix.yield' of the new accumulator"
_MAP: Final = "%NAME = {}(INDEX, ...) {{map=affine_map<(d0, ...) -> (EXPRESSION, ...)>}} : index"

_ENTRIES: Final[dict[str, Entry]] = {
    "buffer.module": Entry(("FUNCTION...",), regions="functions, each by itself", example=_function()),
    "buffer.func": Entry(
        ("buffer.func @NAME(%PARAMETER: TYPE, ...) -> (%RESULT: TYPE, ...) { STATEMENT... }",),
        regions="statements, which end in a 'buffer.return' of a value for each result",
        example=_result("%0 = matrix.sum(%A) : float64", "float64"),
    ),
    "buffer.region": Entry(("{ STATEMENT... }",), regions="statements that are executed in order", example=_WRITE),
    "buffer.let": Entry(
        ("%NAME = OPERATION : DTYPE",),
        (("OPERATION", "an operation on scalars"),),
        "the scalar, under a name",
        example=_result("%0 = prog.mul(%s, 2) : float64", "float64", "%s: float64"),
    ),
    "buffer.undef": Entry(
        ("undef",),
        result="no particular value, as the first accumulator where none is read",
        example=_result(
            "%0 = matrix.map_reduce(%A) init(undef) {indices=[[1, 0]]} : memref<3x2xfloat64> {\n"
            "^comb(%acc: float64, %a: float64):\n"
            "  matrix.yield %a\n"
            "}",
            "memref<3x2xfloat64>",
        ),
    ),
    "buffer.return": Entry(
        ("buffer.return VALUE, ...",),
        (("VALUE, ...", "a buffer or scalar for each result of the function"),),
        example=_function(results="%y: float64", returned="0.5", params=""),
    ),
    "buffer.alloc": Entry(
        ("%NAME = buffer.alloc : MEMREF",), result="storage; what it holds is not defined", example=_WRITE
    ),
    "buffer.constant": Entry(
        ("%NAME = buffer.constant(VALUE) : MEMREF",),
        (_SCALAR,),
        "storage with the value in every element",
        example=_result("%0 = buffer.constant(0.5) : memref<2xfloat64>", "memref<2xfloat64>", ""),
    ),
    "buffer.read": Entry(
        ("%NAME = buffer.read %BUFFER[INDEX, ...] : DTYPE",),
        (_INDICES,),
        "the element",
        example=_result("%0 = buffer.read %A[1, 0] : float64", "float64"),
    ),
    "buffer.write": Entry(("buffer.write VALUE, %BUFFER[INDEX, ...] : DTYPE",), (_SCALAR, _INDICES), example=_WRITE),
    "buffer.shape": Entry(
        ("%NAME = buffer.shape(%BUFFER) {axis=AXIS} : index",),
        (("%BUFFER", "a buffer"),),
        "the extent of an axis",
        example=_result("%0 = buffer.shape(%A) {axis=1} : index", "int64"),
    ),
    "affine.for": Entry(
        (
            "affine.for %I = INDEX to INDEX step INTEGER {kind=KIND}? { STATEMENT... }",
            "%NAME, ... = affine.for %I = INDEX to INDEX step INTEGER iter(%C = VALUE, ...) {kind=KIND}? : DTYPE, ... "
            "{ STATEMENT... }",
        ),
        (
            ("INDEX", "an index value or an integer; the loop stops before the second one"),
            ("VALUE", "what a carried value is at first"),
        ),
        "the carried values after the last trip",
        "statements; where values are carried, 'affine.yield' of the next ones in the end",
        example=_LOOP,
    ),
    "affine.yield": Entry(("affine.yield VALUE, ...",), (_SCALAR,), example=_LOOP),
    "affine.apply": Entry(
        (_MAP.format("affine.apply"),),
        (("INDEX, ...", "an index value or an integer for each dimension"),),
        "the result of the map",
        example=_result(_MAPPED.format("affine.apply", "1 - d0"), "memref<2xfloat64>"),
    ),
    "affine.min": Entry(
        (_MAP.format("affine.min"),),
        (("INDEX, ...", "an index value or an integer for each dimension"),),
        "the least of the results of the map",
        example=_result(_MAPPED.format("affine.min", "d0 + 1, 1"), "memref<2xfloat64>"),
    ),
    "affine.max": Entry(
        (_MAP.format("affine.max"),),
        (("INDEX, ...", "an index value or an integer for each dimension"),),
        "the greatest of the results of the map",
        example=_result(_MAPPED.format("affine.max", "d0 - 1, 0"), "memref<2xfloat64>"),
    ),
    "matrix.prod": Entry(
        ("%NAME = matrix.prod(%A, %B) : MEMREF",),
        (("%A", "a buffer with two axes"), ("%B", "a buffer with as many rows as A has columns")),
        "the matrix product",
        example=_result(
            "%0 = matrix.prod(%A, %B) : memref<2x4xfloat64>",
            "memref<2x4xfloat64>",
            "%A: memref<2x3xfloat64>, %B: memref<3x4xfloat64>",
        ),
    ),
    "matrix.transpose": Entry(
        ("%NAME = matrix.transpose(%A) : MEMREF",),
        (("%A", "a buffer with two axes"),),
        "rows as columns",
        example=_result("%0 = matrix.transpose(%A) : memref<3x2xfloat64>", "memref<3x2xfloat64>"),
    ),
    "matrix.sum": Entry(
        ("%NAME = matrix.sum(%A) : DTYPE",),
        (("%A", "a buffer of numbers"),),
        "the sum of all elements, row by row",
        example=_result("%0 = matrix.sum(%A) : float64", "float64"),
    ),
    "matrix.broadcast": Entry(
        ("%NAME = matrix.broadcast(%A) {s_in=SHAPE, s_out=SHAPE} : MEMREF",),
        (("%A", "a buffer with the elements of s_in"),),
        "the same elements, along stretched axes again and again",
        example=_result(
            "%0 = matrix.broadcast(%A) {s_in=[2, 1], s_out=[2, 4]} : memref<2x4xfloat64>",
            "memref<2x4xfloat64>",
            "%A: memref<2xfloat64>",
        ),
    ),
    "matrix.pad": Entry(
        (
            "%NAME = matrix.pad(%A, VALUE) {hi=WIDTHS, lo=WIDTHS, mode=constant, s_in=SHAPE, s_out=SHAPE} : MEMREF",
            "%NAME = matrix.pad(%A) {hi=WIDTHS, lo=WIDTHS, mode=replicate, s_in=SHAPE, s_out=SHAPE} : MEMREF",
        ),
        (("%A", "a buffer with the elements of s_in"), ("VALUE", "a scalar, for every new element")),
        "A with new elements around it",
        example=_result(
            "%0 = matrix.pad(%A, 0) {hi=[0, 1], lo=[1, 0], mode=constant, s_in=[2, 3], s_out=[3, 4]}"
            " : memref<3x4xfloat64>",
            "memref<3x4xfloat64>",
        ),
    ),
    "matrix.concat": Entry(
        ("%NAME = matrix.concat(%A, ...) {axis=AXIS, s_out=SHAPE, shapes=[SHAPE, ...]} : MEMREF",),
        (("%A, ...", "buffers with the elements of their shapes"),),
        "the inputs side by side along the axis",
        example=_result(
            "%0 = matrix.concat(%A, %A) {axis=0, s_out=[4, 3], shapes=[[2, 3], [2, 3]]} : memref<4x3xfloat64>",
            "memref<4x3xfloat64>",
        ),
    ),
    "matrix.map_reduce": Entry(
        ("%NAME = matrix.map_reduce(%A, ...) init(VALUE) {indices=[[NUMBER, ...], ...]} : MEMREF { ^comb(...): ... }",),
        (("%A, ...", "buffers"), ("VALUE", "the first accumulator, or undef")),
        "for each element, the combination of those of the inputs whose indices agree",
        _COMBINER,
        example=_SUM_OF_ROWS,
    ),
    "matrix.map_reduce_aff": Entry(
        (
            "%NAME = matrix.map_reduce_aff(%A, ...) init(VALUE) "
            "{bounds=[...], in_maps=[MAP, ...], out_map=MAP} : MEMREF { ^comb(...): ... }",
        ),
        (("%A, ...", "buffers"), ("VALUE", "the first accumulator, or undef")),
        "the same, of the elements that maps give for each point of a box of loops",
        _COMBINER,
        example=_result(
            "%0 = matrix.map_reduce_aff(%x) init(0) {bounds=[2, 2], in_maps=[affine_map<(d0, d1) -> (d0 + d1)>], "
            "out_map=affine_map<(d0, d1) -> (d0)>} : memref<2xfloat64> {\n"
            "^comb(%acc: float64, %a: float64):\n"
            "  matrix.yield prog.add(%acc, %a)\n"
            "}",
            "memref<2xfloat64>",
            "%x: memref<3xfloat64>",
        ),
    ),
    "matrix.reduce": Entry(
        ("%NAME = matrix.reduce(%A) {axes=[AXIS, ...], kind=KIND} : MEMREF",),
        (("%A", "a buffer of numbers"),),
        "the elements along the axes combined: kind is add, mul, max or min",
        example=_result("%0 = matrix.reduce(%A) {axes=[1], kind=max} : memref<2xfloat64>", "memref<2xfloat64>"),
    ),
    "matrix.einsum": Entry(
        ('%NAME = matrix.einsum(%A, ...) {spec="LETTERS,...->LETTERS"} : MEMREF',),
        (("%A, ...", "buffers of numbers, with a letter for each axis"),),
        "for each element, the sum of the products of those of the inputs whose letters agree",
        example=_result('%0 = matrix.einsum(%A, %A) {spec="ij,kj->ik"} : memref<2x2xfloat64>', "memref<2x2xfloat64>"),
    ),
    "matrix.conv": Entry(
        ("%NAME = matrix.conv(%X, %W) {dilation=[...], hi=[...], lo=[...], stride=[...]} : MEMREF",),
        (("%X", "images: batch, channel, and the axes of space"), ("%W", "kernels: feature, channel, and these axes")),
        "batch, feature and positions: the sums of elements times those of a kernel; the padding is 0",
        example=_result(
            "%0 = matrix.conv(%X, %W) {dilation=[1], hi=[1], lo=[1], stride=[2]} : memref<1x3x3xfloat64>",
            "memref<1x3x3xfloat64>",
            "%X: memref<1x2x5xfloat64>, %W: memref<3x2x3xfloat64>",
        ),
    ),
    "matrix.pool": Entry(
        (
            "%NAME = matrix.pool(%X) {dilation=[...], hi=[...], kind=KIND, lo=[...], stride=[...], window=[...]}"
            " : MEMREF",
        ),
        (("%X", "a buffer of numbers; the window moves along its last axes"),),
        "the elements of each window combined: kind is add, mul, max, min or mean, which counts the padding",
        example=_result(
            "%0 = matrix.pool(%A) {dilation=[1], hi=[0], kind=max, lo=[0], stride=[1], window=[2]}"
            " : memref<2x2xfloat64>",
            "memref<2x2xfloat64>",
        ),
    ),
    "matrix.yield": Entry(("matrix.yield VALUE",), (_SCALAR,), example=_SUM_OF_ROWS),
}


def manual(op: Op) -> Entry:
    """Return the entry of an operator of these dialects."""
    return _ENTRIES.get(op.name) or applied(op)
