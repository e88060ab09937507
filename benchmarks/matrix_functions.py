"""The functions of the benchmark of generated C that are written in the matrix dialect, and the same in `expr`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import scaly_ir as sc


class MatrixCase(NamedTuple):
    """One function: its text, the same in `expr`, and the same in NumPy."""

    name: str
    text: str
    make: Callable[[], sc.Function]
    numpy: Callable[..., Any]


def _function(name: str, body: Callable[..., Any], **shapes: Any) -> sc.Function:
    trees = [sc.arg(argument, shape) for argument, shape in shapes.items()]
    made: sc.Function = sc.function(*trees, outputs=sc.arg("out"), name=name)(body)
    return made


def _product(size: int) -> MatrixCase:
    shape = f"memref<{size}x{size}xfloat64>"
    text = f"""\
buffer.func @prod{size}(%A: {shape}, %B: {shape}) -> (%C: {shape}) {{
  %0 = matrix.prod(%A, %B) : {shape}
  buffer.return %0
}}
"""
    square = (size, size)
    return MatrixCase(
        f"prod{size}", text, lambda: _function(f"prod{size}", lambda a, b: a @ b, A=square, B=square), np.matmul
    )


_SIDE = 128
_IMAGE = f"memref<1x1x{_SIDE}x{_SIDE}xfloat64>"
_CONV = f"""\
buffer.func @conv3x3(%X: {_IMAGE}, %W: memref<1x1x3x3xfloat64>) -> (%Y: {_IMAGE}) {{
  %0 = matrix.conv(%X, %W) {{dilation=[1, 1], hi=[1, 1], lo=[1, 1], stride=[1, 1]}} : {_IMAGE}
  buffer.return %0
}}
"""


def _conv() -> sc.Function:
    def body(x: sc.Expr, w: sc.Expr) -> sc.Expr:
        wide = sc.concat([sc.const(np.zeros((1, _SIDE))), x, sc.const(np.zeros((1, _SIDE)))], axis=0)
        sides = sc.const(np.zeros((_SIDE + 2, 1)))
        padded = sc.concat([sides, wide, sides], axis=1)
        terms = [
            padded[row : row + _SIDE, column : column + _SIDE] * w[row, column]
            for row in range(3)
            for column in range(3)
        ]
        total = terms[0]
        for term in terms[1:]:
            total = total + term
        return total

    return _function("conv3x3", body, X=(_SIDE, _SIDE), W=(3, 3))


def _conv_numpy(x: Any, w: Any) -> Any:
    padded = np.pad(x, 1)
    total = np.zeros_like(x)
    for row in range(3):
        for column in range(3):
            total += padded[row : row + _SIDE, column : column + _SIDE] * w[row, column]
    return total


_NETWORK = """\
buffer.func @network(%X: memref<32x64xfloat64>, %V: memref<64x128xfloat64>, %b: memref<128xfloat64>, %W: memref<128x10xfloat64>) -> (%Y: memref<32x10xfloat64>) {
  %0 = matrix.prod(%X, %V) : memref<32x128xfloat64>
  %1 = matrix.map_reduce(%0, %b) init(undef) {indices=[[0, 1], [1]]} : memref<32x128xfloat64> {
  ^comb(%acc: float64, %x: float64, %bias: float64):
    matrix.yield prog.maximum(prog.add(%x, %bias), 0)
  }
  %2 = matrix.prod(%1, %W) : memref<32x10xfloat64>
  buffer.return %2
}
"""  # noqa: E501 - a line of text holds one statement


def _network() -> sc.Function:
    def body(x: sc.Expr, v: sc.Expr, b: sc.Expr, w: sc.Expr) -> sc.Expr:
        return sc.maximum(x @ v + b, 0.0) @ w

    return _function("network", body, X=(32, 64), V=(64, 128), b=128, W=(128, 10))


MATRIX_CASES = (
    _product(64),
    _product(256),
    MatrixCase("conv3x3", _CONV, _conv, _conv_numpy),
    MatrixCase("network", _NETWORK, _network, lambda x, v, b, w: np.maximum(x @ v + b, 0.0) @ w),
)
