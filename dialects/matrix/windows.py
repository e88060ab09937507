"""Operations made of the two map-reductions: reductions along axes, sums of products by a string, and windows.

Here is what they are (operators, result types, how axes and windows relate to loops); rules are in `window_rules.py`,
their lowering is in `passes/matrix/windows.py`. Source: matrix specification 13.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from scaly_ir.attributes import Word
from scaly_ir.dialects.affine.maps import AffineMap, Dim, Expr
from scaly_ir.dialects.buffer.ops import declare, list_of
from scaly_ir.graph import Node
from scaly_ir.signature import AttrSpec
from scaly_ir.types import DType, MemRefType, int_range

FOLDS: Final = {"add": "add", "mul": "mul", "max": "maximum", "min": "minimum"}
"""The kinds of reductions, with the scalar operator that each folds with."""
MEAN: Final = "mean"
"""The kind of a pool that adds and then divides by the number of elements of a window, padding included."""

_LIST: Final = list_of(int, "integers")

REDUCE: Final = declare(
    "matrix.reduce",
    "The elements along some axes combined, in row-major order.",
    {"A": "memref"},
    "memref",
    attrs={"axes": _LIST, "kind": AttrSpec(Word)},
    fresh=True,
    numeric=True,
)
EINSUM: Final = declare(
    "matrix.einsum",
    "Sums of products of elements whose indices a string names, as NumPy's function of that name.",
    {},
    "memref",
    rest=("inputs", "memref"),
    attrs={"spec": AttrSpec(str)},
    fresh=True,
    numeric=True,
)
CONV: Final = declare(
    "matrix.conv",
    "The cross-correlation of images (batch, channel, space...) with kernels (feature, channel, space...).",
    {"X": "memref", "W": "memref"},
    "memref",
    attrs=dict.fromkeys(("stride", "dilation", "lo", "hi"), _LIST),
    fresh=True,
    numeric=True,
)
POOL: Final = declare(
    "matrix.pool",
    "The elements of each window over the last axes combined.",
    {"X": "memref"},
    "memref",
    attrs={**dict.fromkeys(("window", "stride", "dilation", "lo", "hi"), _LIST), "kind": AttrSpec(Word)},
    fresh=True,
    numeric=True,
)


def seed(kind: str, dtype: DType) -> float:
    """Return what a fold begins with: what changes no element, the end of the range of `dtype` for max and min."""
    if kind == "mul":
        return 1
    if kind not in ("max", "min"):
        return 0
    if dtype.is_float:
        return float("-inf") if kind == "max" else float("inf")
    return int_range(dtype)[0 if kind == "max" else -1]


# --- reductions -------------------------------------------------------------------------------------------------------


def reduced_indices(rank: int, axes: Sequence[int]) -> tuple[int, ...]:
    """Return the index of each axis of an input: those of the result first, then what is reduced, in order."""
    kept = [axis for axis in range(rank) if axis not in axes]
    order = [*kept, *sorted(axes)]
    return tuple([order.index(axis) for axis in range(rank)])


def _reduce_type(call: Node) -> MemRefType:
    type_ = call.args[0].type
    axes = call.attrs["axes"]
    return MemRefType(tuple([extent for axis, extent in enumerate(type_.shape) if axis not in axes]), type_.dtype)


# --- strings of indices -----------------------------------------------------------------------------------------------


class SpecError(ValueError):
    """A string that names indices is wrong."""


class Subscripts(NamedTuple):
    """What a string of `matrix.einsum` says: the letters of each input, and those of the result."""

    inputs: tuple[str, ...]
    output: str

    @property
    def indices(self) -> list[list[int]]:
        """The indices of each input: those of the result by position, others numbered where they first stand."""
        numbers = {letter: number for number, letter in enumerate(self.output)}
        for letters in self.inputs:
            for letter in letters:
                numbers.setdefault(letter, len(numbers))
        return [[numbers[letter] for letter in letters] for letters in self.inputs]


_is_letters = re.compile(r"[A-Za-z]*").fullmatch


def read_subscripts(text: str) -> Subscripts:
    """Read ``ij,jk->ik``; without an arrow the result has the letters that stand once, in order of the alphabet.

    `SpecError` says what is wrong.
    """
    left, arrow, right = text.replace(" ", "").partition("->")
    inputs = tuple(left.split(","))
    for letters in (*inputs, right):
        if "..." in letters:
            raise SpecError("an ellipsis is not supported; name every axis")
        if not _is_letters(letters):
            raise SpecError(f"'{letters}' is no row of letters")
    every = "".join(inputs)
    output = right if arrow else "".join(sorted([letter for letter in set(every) if every.count(letter) == 1]))
    for letter in output:
        if letter not in every:
            raise SpecError(f"result index '{letter}' stands in no input")
        if output.count(letter) > 1:
            raise SpecError(f"result index '{letter}' stands twice")
    return Subscripts(inputs, output)


def _einsum_type(call: Node) -> MemRefType:
    subscripts = read_subscripts(call.attrs["spec"])
    extents: dict[str, int] = {}
    for letters, value in zip(subscripts.inputs, call.args, strict=True):
        extents |= dict(zip(letters, value.type.shape, strict=True))
    return MemRefType(tuple([extents[letter] for letter in subscripts.output]), call.args[0].type.dtype)


# --- windows ----------------------------------------------------------------------------------------------------------


class Axis(NamedTuple):
    """A spatial axis: its extent, the widths of the padding, the extent of the window, and how that moves."""

    extent: int
    low: int
    high: int
    window: int
    stride: int
    dilation: int

    @property
    def reach(self) -> int:
        """How far the window reaches."""
        return self.dilation * (self.window - 1) + 1

    @property
    def padded(self) -> int:
        """The extent with padding."""
        return self.low + self.extent + self.high

    @property
    def positions(self) -> int:
        """How many positions the window has."""
        return (self.padded - self.reach) // self.stride + 1


def axes_of(node: Node) -> list[Axis]:
    """Return the spatial axes of a convolution or pool."""
    shape = node.args[0].type.shape
    window = node.args[1].type.shape[2:] if node.op is CONV else node.attrs["window"]
    rows = [node.attrs[key] for key in ("lo", "hi")]
    moves = [node.attrs[key] for key in ("stride", "dilation")]
    return [Axis(*row) for row in zip(shape[len(shape) - len(window) :], *rows, window, *moves, strict=True)]


def leading(node: Node) -> tuple[int, ...]:
    """Return the extents of the axes of a pool that no window moves along."""
    shape: tuple[int, ...] = node.args[0].type.shape
    return shape[: len(shape) - len(node.attrs["window"])]


def _conv_type(call: Node) -> MemRefType:
    images, kernels = [operand.type for operand in call.args]
    return MemRefType((images.shape[0], kernels.shape[0], *[axis.positions for axis in axes_of(call)]), images.dtype)


def _pool_type(call: Node) -> MemRefType:
    return MemRefType((*leading(call), *[axis.positions for axis in axes_of(call)]), call.args[0].type.dtype)


class Box(NamedTuple):
    """The loops of windows, and which elements they are about: what `matrix.map_reduce_aff` takes."""

    bounds: tuple[int, ...]
    out_map: AffineMap
    in_maps: tuple[AffineMap, ...]

    @property
    def attrs(self) -> dict[str, Any]:
        """The attributes of the operation."""
        return self._asdict()


def _dim(number: int) -> Expr:
    return (Dim(number),)


def _scaled(number: int, factor: int) -> Expr:
    return _dim(number) if factor == 1 else (Dim(number), factor, "*")


def _at(position: int, offset: int, axis: Axis) -> Expr:
    """Return which element of a padded axis a window at a position is about, at an offset into it."""
    return (*_scaled(position, axis.stride), *_scaled(offset, axis.dilation), "+")


def box_of(node: Node) -> Box:
    """Return the loops of a convolution or pool over its padded input."""
    axes = axes_of(node)
    count = len(axes)
    positions = [axis.positions for axis in axes]
    windows = [axis.window for axis in axes]
    if node.op is CONV:
        images, kernels = [operand.type.shape for operand in node.args]
        bounds = (images[0], kernels[0], *positions, images[1], *windows)
        channel = 2 + count
        spatial = [_at(2 + number, channel + 1 + number, axis) for number, axis in enumerate(axes)]
        maps = [
            [_dim(0), _dim(channel), *spatial],
            [_dim(1), _dim(channel), *[_dim(channel + 1 + number) for number in range(count)]],
        ]
    else:
        kept = leading(node)
        rank = len(kept)
        bounds = (*kept, *positions, *windows)
        spatial = [_at(rank + number, rank + count + number, axis) for number, axis in enumerate(axes)]
        maps = [[*[_dim(number) for number in range(rank)], *spatial]]
    dims = len(bounds)
    out = [_dim(number) for number in range(len(node.type.shape))]
    return Box(bounds, AffineMap(dims, out), tuple([AffineMap(dims, results) for results in maps]))


for _op, _infer in ((REDUCE, _reduce_type), (EINSUM, _einsum_type), (CONV, _conv_type), (POOL, _pool_type)):
    _op.set_attr("FInferType", _infer)
