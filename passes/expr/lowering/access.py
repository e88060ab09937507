"""Index arithmetic: where the entries of a result come from, as expressions of a flat position.

A map from positions to positions is given by the extents of the result and, for each, the distance in the source.
Source: lowering specification 1.3.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from scaly_ir.dialects.prog import build
from scaly_ir.graph import Node


class Axis(NamedTuple):
    """A run of entries: how many, and how far apart they are in the source."""

    extent: int
    stride: int


def row_major(shape: Sequence[int]) -> list[int]:
    """Return the distance between neighbours along each axis of an array."""
    strides = [1] * len(shape)
    for axis in range(len(shape) - 2, -1, -1):
        strides[axis] = strides[axis + 1] * shape[axis + 1]
    return strides


def broadcast_strides(shape: Sequence[int], result: Sequence[int]) -> list[int]:
    """Return the distances in an operand of `shape` along the axes of the result it is broadcast to."""
    missing = len(result) - len(shape)
    own = row_major(shape)
    return [0] * missing + [0 if extent == 1 else stride for extent, stride in zip(shape, own, strict=True)]


def merged(shape: Sequence[int], strides: Sequence[int]) -> list[Axis]:
    """Return the axes with those joined that are one run in the source, and without those of one entry."""
    axes: list[Axis] = []
    for extent, stride in zip(shape, strides, strict=True):
        if extent == 1:
            continue
        if axes and axes[-1].stride == stride * extent:
            axes[-1] = Axis(axes[-1].extent * extent, stride)
        else:
            axes.append(Axis(extent, stride))
    return axes


def source_index(position: Node, shape: Sequence[int], strides: Sequence[int], offset: int = 0) -> Node:
    """Return where the entry at a flat position of an array of `shape` is in the source.

    The coordinate along an axis is ``position div s``, ``s`` being the entries behind that axis, then ``mod`` its
    extent unless it is the first; units and zeros leave nothing behind. An array without entries has no position, so
    that any index does: 0, since there is no remainder of a division by an extent of 0.
    """
    inner = math.prod(shape)
    if not inner:
        return build.index(0)
    axes = merged(shape, strides)
    index = build.index(offset) if offset else None
    for number, axis in enumerate(axes):
        inner //= axis.extent
        if axis.stride == 0:
            continue
        coordinate = divided(position, inner)
        if number:
            coordinate = build.apply("mod", coordinate, build.index(axis.extent))
        index = plus(index, coordinate, axis.stride)
    return build.index(0) if index is None else index


def divided(position: Node, by: int) -> Node:
    """Return ``position div by``, without a division by 1."""
    return position if by <= 1 else build.apply("div", position, build.index(by))


def plus(index: Node | None, coordinate: Node, stride: int) -> Node:
    """Return ``index + coordinate * stride``; None stands for nothing yet."""
    if index is not None and stride < 0:
        return build.apply("sub", index, scaled(coordinate, -stride))
    term = scaled(coordinate, stride)
    return term if index is None else build.apply("add", index, term)


def summed(*indices: Node) -> Node:
    """Return the sum of indices without those that are zero."""
    total: Node | None = None
    for index in indices:
        if index is not build.index(0):
            total = plus(total, index, 1)
    return build.index(0) if total is None else total


def scaled(coordinate: Node, by: int) -> Node:
    """Return ``coordinate * by``, without a product by 1."""
    return coordinate if by == 1 else build.apply("mul", coordinate, build.index(by))


def shifted(position: Node, by: int) -> Node:
    """Return ``by + position``, without a sum with 0."""
    return position if by == 0 else build.apply("add", build.index(by), position)
