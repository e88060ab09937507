"""Lists of names with what they are: one to a line, the name first, in columns."""

from __future__ import annotations

from collections.abc import Sequence


def table(rows: Sequence[Sequence[str]]) -> str:
    """Return rows as lines, with the columns under each other."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join([f"{cell:{width}}" for cell, width in zip(row, widths, strict=True)]) for row in rows]
    return "".join([f"{line.rstrip()}\n" for line in lines])
