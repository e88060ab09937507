"""The part of the fast reader that reads attributes and tables as they are printed.

What it does not take it gives up by raising `Unusual` or `ValueError`; it never reports anything.
"""

from __future__ import annotations

import math
import re
from typing import Any, Final

from scaly_ir.attributes import AttrValue, word_or_constant
from scaly_ir.tables import Table
from scaly_ir.tensors import TensorType
from scaly_ir.text.attribute_text import NUMBER_WORDS, Unusual
from scaly_ir.text.spelling import read_float, read_int, read_string
from scaly_ir.types import BOOL, FLOAT64, DType, int_range

_INT: Final = "-?[0-9]{1,400}"
_BOUND: Final = f"(?:None|{_INT})"
_ITEM: Final = rf"(?:{_INT}|slice\({_BOUND}, {_BOUND}, {_BOUND}\))"
_FLOAT: Final = (
    r"-?[0-9]{1,400}\.[0-9]{0,400}(?:e[-+]?[0-9]{1,9})?|-?[0-9]{1,400}e[-+]?[0-9]{1,9}|-?inf|nan(?:<0x[0-9A-Fa-f]+>)?"
)

_attribute = re.compile(
    rf'([A-Za-z_][A-Za-z0-9_]*)=(?:("(?:[^"\\]|\\.)*+")|(True|False|None)|({_FLOAT})|({_INT})'
    rf"|\[({_INT}(?:, {_INT})*+)?\]|\[({_ITEM}(?:, {_ITEM})*+)\])(?:, (?!$)|$)"
).match
_items = re.compile(rf"slice\(({_BOUND}), ({_BOUND}), ({_BOUND})\)|({_INT})").findall
_is_float = re.compile(_FLOAT).fullmatch


def read_attributes(text: str, dtype: DType) -> dict[str, Any]:
    """Read ``{key=value, ...}``; a fraction is read in `dtype`: only a fill is one."""
    values: dict[str, Any] = {}
    inner = text[1:-1]
    at = 0
    while at < len(inner):
        found = _attribute(inner, at)
        if found is None:
            raise Unusual
        key, string, constant, fraction, integer, integers, items = found.groups()
        if key in values or key in NUMBER_WORDS:
            raise Unusual
        at = found.end()
        if string is not None:
            values[key] = read_string(string)
        elif constant is not None:
            values[key] = word_or_constant(constant)
        elif fraction is not None:
            if key != "fill" or not dtype.is_float:
                raise Unusual
            values[key] = read_float(fraction, dtype)
        elif integer is not None:
            if key == "fill" and not dtype.is_int:
                raise Unusual
            values[key] = int(integer)
        elif items is not None:
            values[key] = tuple([_item(*item) for item in _items(items)])
        else:
            values[key] = tuple(map(int, integers.split(", "))) if integers else ()
    fill = values.get("fill")
    if not values or (type(fill) is int and dtype.is_int and fill not in int_range(dtype)):
        raise Unusual
    return values


def _item(start: str, stop: str, step: str, integer: str) -> AttrValue:
    if integer:
        return int(integer)
    return slice(*[None if bound == "None" else int(bound) for bound in (start, stop, step)])


# --- tables -----------------------------------------------------------------------------------------------------------

_not_brackets = re.compile(r"[^\[\],]+").sub
_is_stray = re.compile(r",(?! )|\](?![\],]|\Z)|(?<=[^\[ ])\[|(?<=[^,] )\[").search
_is_empty = re.compile(r"[\[\], ]*").fullmatch
_is_digits = re.compile(r"[-0-9, \[\]]*").fullmatch
_is_decimals = re.compile(r"[-+0-9.e, \[\]]*").fullmatch
_has_plus = re.compile(r"(?<!e)\+").search
_brackets: Final = str.maketrans("", "", "[]")
_LONGEST: Final = 400
_BOOLS: Final = {"True": 1, "False": 0}


def read_table(text: str, type_: TensorType) -> Table:
    """Read the value of a constant of a type."""
    shape, dtype = type_.shape, type_.dtype
    if _not_brackets("", text) != _skeleton(shape, len(text)):
        raise Unusual
    if _is_stray(text):
        raise Unusual
    words = text.translate(_brackets).split(", ") if type_.size else []
    if not words and not _is_empty(text):
        raise Unusual
    return Table.of(_numbers(text, words, dtype), dtype, shape)


def _skeleton(shape: tuple[int, ...], longest: int) -> str:
    """Return the brackets and commas in the text of a table; give up when it takes more than there is text."""
    skeleton = ""
    for extent in reversed(shape[: shape.index(0) + 1] if 0 in shape else shape):
        if (len(skeleton) + 1) * extent >= longest:
            raise Unusual
        skeleton = f"[{','.join([skeleton] * extent)}]"
    return skeleton


def _numbers(text: str, words: list[str], dtype: DType) -> list[Any]:
    if dtype is BOOL:
        return [_BOOLS[word] for word in words]
    if max(map(len, words), default=0) > _LONGEST:
        raise Unusual
    if dtype.is_int:
        if not _is_digits(text):
            raise Unusual
        numbers = list(map(int, words))
        if numbers and (min(numbers) not in int_range(dtype) or max(numbers) not in int_range(dtype)):
            raise Unusual
        return numbers
    if dtype is FLOAT64 and _is_decimals(text) and not _has_plus(text):
        values = list(map(float, words))
        if math.isfinite(sum(values)):
            return values
    return [_number(word, dtype) for word in words]


def _number(word: str, dtype: DType) -> float:
    if _is_float(word):
        return read_float(word, dtype)
    return read_float(str(read_int(word, dtype)) if not dtype.is_float else _whole(word), dtype)


def _whole(word: str) -> str:
    if not word.removeprefix("-").isdigit() or not word.isascii():
        raise Unusual
    return word
