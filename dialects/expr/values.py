"""Attribute values as they are written: what they stand for depends on the type of the operation, which follows them.

Numbers keep their text until the dtype is known that they are read in. Mistakes go to a function that records them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from scaly_ir.attributes import AttrValue, spell_value
from scaly_ir.dialects.expr import ops
from scaly_ir.op import Op
from scaly_ir.tables import Table
from scaly_ir.tensors import TensorType
from scaly_ir.text.spelling import LiteralError, read_float, read_int, read_whole
from scaly_ir.types import BOOL, FLOAT64, DType

At = tuple[int, int]
Fail = Callable[[str, At, str], None]

LARGEST_SPLAT: Final = 1 << 31
"""The most bytes that a constant written as ``splat<...>`` may take."""


class Literal(NamedTuple):
    """A number."""

    text: str
    at: At


class Atom(NamedTuple):
    """A string, word or constant, which needs no type."""

    value: AttrValue
    at: At


class Sequence(NamedTuple):
    """A list."""

    items: list[Any]
    at: At


class Splat(NamedTuple):
    """A table whose entries are all one."""

    entry: Any
    at: At


class LeftOut(NamedTuple):
    """A constant that was left out when it was printed, of which was complained already."""

    at: At


class Reference(NamedTuple):
    """The number of a function, in the generic form."""

    name: str
    at: At


def plain(raw: Any, fail: Fail) -> AttrValue:
    """Return the value that stands for itself: integers as they are, other numbers as float64."""
    if isinstance(raw, Atom):
        return raw.value
    if isinstance(raw, Sequence):
        return tuple([plain(item, fail) for item in raw.items])
    if isinstance(raw, Mapping):
        return {key: plain(value, fail) for key, value in raw.items()}
    if isinstance(raw, slice):
        return slice(plain(raw.start, fail), plain(raw.stop, fail), plain(raw.step, fail))
    if isinstance(raw, Reference):
        fail("a function stands in no list or map", raw.at, "attribute")
    if isinstance(raw, Splat):
        fail("'splat' stands for the value of an 'expr.const' only", raw.at, "attribute")
    if not isinstance(raw, Literal):
        return None
    try:
        return read_whole(raw.text) if is_whole(raw.text) else read_float(raw.text, FLOAT64)
    except LiteralError as error:
        fail(str(error), raw.at, "literal-range")
        return 0


def is_whole(text: str) -> bool:
    """Tell whether a number is written as an integer."""
    return text.removeprefix("-").isdigit()


def attribute(op: Op, key: str, raw: Any, type_: TensorType, fail: Fail) -> AttrValue:
    """Return the value of an attribute of an operation with a known result type."""
    if key == "value" and op is ops.CONST:
        return table(raw, type_, fail)
    if key == "fill" and op is ops.GATHER and isinstance(raw, Literal):
        number = entry(raw, type_.dtype, fail) if type_.dtype is not BOOL else plain(raw, fail)
        return 0 if number is None else number
    return plain(raw, fail)


def table(raw: Any, type_: TensorType, fail: Fail) -> Table | None:
    """Return the table of a constant; None, and a mistake, when its value does not have the shape of its type."""
    shape, dtype = type_.shape, type_.dtype
    if isinstance(raw, LeftOut):
        return None
    if isinstance(raw, Splat):
        if type_.size * dtype.size > LARGEST_SPLAT:
            fail(f"a constant of {type_.size} entries is too large", raw.at, "const-value")
            return None
        number = entry(raw.entry, dtype, fail)
        return None if number is None else Table(dtype, shape, Table.of([number], dtype, ()).data * type_.size)
    level = [raw]
    for axis, extent in enumerate(shape):
        following: list[Any] = []
        for item in level:
            if not isinstance(item, Sequence):
                found = _shown(item)
                fail(
                    f"expected a list of {_entries(extent)} along axis {axis}, found {found}", _at(item), "const-value"
                )
                return None
            if len(item.items) != extent:
                found = f"found {len(item.items)}"
                fail(
                    f"expected {_entries(extent)} along axis {axis}, {found}: the type is {type_}",
                    item.at,
                    "const-value",
                )
                return None
            following.extend(item.items)
        level = following
    numbers = [entry(item, dtype, fail) for item in level]
    return None if None in numbers else Table.of(numbers, dtype, shape)  # type: ignore[arg-type]


def _entries(count: int) -> str:
    return f"{count} entr{'y' if count == 1 else 'ies'}"


def entry(raw: Any, dtype: DType, fail: Fail) -> float | None:
    """Return a number as an entry of a dtype, read from its text; None, and a mistake, when it is none."""
    if isinstance(raw, Atom) and dtype is BOOL and type(raw.value) is bool:
        return int(raw.value)
    if not isinstance(raw, Literal) or dtype is BOOL:
        wanted = "'True' or 'False'" if dtype is BOOL else "a number"
        fail(f"expected {wanted}, found {_shown(raw)}", _at(raw), "const-value")
        return None
    if dtype.is_int and not is_whole(raw.text):
        fail(f"expected an integer, found '{raw.text}'; the type is {dtype}", raw.at, "const-value")
        return None
    try:
        return read_float(raw.text, dtype) if dtype.is_float else read_int(raw.text, dtype)
    except LiteralError as error:
        fail(str(error), raw.at, "literal-range")
        return None


def _at(raw: Any) -> At:
    at: At = getattr(raw, "at", (0, 0))
    return at


def _shown(raw: Any) -> str:
    if isinstance(raw, Sequence):
        return "a list"
    if isinstance(raw, Literal):
        return f"'{raw.text}'"
    if isinstance(raw, Atom):
        return f"'{spell_value(raw.value)}'"
    return "something else"
