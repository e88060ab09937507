"""Types, as ``--describe`` shows them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from scaly_ir.tools.discovery.table import table
from scaly_ir.types import DTYPES


class _Kind(NamedTuple):
    """A kind of types: what it is, how it is written with what that means, and further lines."""

    summary: str
    forms: tuple[tuple[str, str], ...]
    notes: tuple[str, ...] = ()


_KINDS: Final[dict[str, _Kind]] = {
    "memref": _Kind(
        "the type of a buffer in dialect prog",
        (
            ("memref<8xfloat64>", "eight doubles in global space, as parameters are"),
            ("memref<2x4xint64, private>", "two rows of four; an index is flat, row-major"),
            ("memref<3xfloat32, constant>", "a table, with its values behind it"),
        ),
        ("spaces: global (left out), private, constant, local",),
    ),
    "tensor": _Kind(
        "the type of a value in dialect expr",
        (
            ("tensor<float64>", "a scalar"),
            ("tensor<2x3xfloat64>", "two rows of three"),
            ("tensor<2x3xfloat64 diff>", "one that can carry a derivative"),
            ("tensor<2x3xfloat64, #sp0>", "a matrix with the pattern that the module calls #sp0"),
        ),
    ),
    "sparse": _Kind(
        "the pattern of a matrix: which of its entries are stored",
        (("#sp0 = sparse<rows=[0, 1], cols=[2, 0]>", "two entries, at (0, 2) and (1, 0)"),),
    ),
}


def type_names() -> list[str]:
    """Return the names of the kinds of types and of the element types."""
    return [*_KINDS, *map(str, DTYPES)]


def describe_type(name: str) -> Iterator[str]:
    """Yield the lines of the description of a type."""
    kind = _KINDS.get(name)
    if kind is None:
        (dtype,) = [dtype for dtype in DTYPES if dtype == name]
        yield f"{name}: an element type"
        yield (
            f"  {dtype.size} byte{'s' * (dtype.size > 1)}; in C {dtype.c_type}; written 0 or 1"
            if not (dtype.is_int or dtype.is_float)
            else f"  {dtype.size} bytes; in C {dtype.c_type}"
        )
        return
    yield f"{name}: {kind.summary}"
    yield from ["", "Forms", *table([(f"  {form}", meaning) for form, meaning in kind.forms]).splitlines()]
    yield from [f"  {line}" for line in kind.notes]
