"""Smaller extents: what is tried in the place of numbers that stand in shapes, in any dialect."""

from __future__ import annotations

from collections.abc import Iterable, Set
from typing import NamedTuple


class Extent(NamedTuple):
    """A number that stands in shapes and says how often loops run, and the smaller one that is tried instead."""

    old: int
    new: int


def smaller(found: Set[int]) -> list[Extent]:
    """Return the numbers above 1, largest first, each as 1, half as large and one less."""
    return [
        Extent(old, new) for old in sorted(found, reverse=True) if old > 1 for new in sorted({1, old // 2, old - 1})
    ]


def first(edits: Iterable[Extent]) -> dict[int, int]:
    """Return what numbers become; of several for one, the first."""
    sizes: dict[int, int] = {}
    for old, new in edits:
        sizes.setdefault(old, new)
    return sizes
