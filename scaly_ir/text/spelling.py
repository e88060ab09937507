"""How names, strings and numbers are spelled and read: one rule for every dialect, lossless in both directions.

Owns the bare-name rule, JSON quoting and the float spellings (shortest decimal that reads back to the same bits,
``inf``, ``nan``, ``nan<0x...>`` for every NaN other than the default quiet one).
"""

from __future__ import annotations

import json
import math
import re
from functools import lru_cache
from struct import pack, unpack
from typing import Final

from scaly_ir.types import FLOAT32, FLOAT64, DType, int_range

BARE_NAME: Final = r"[A-Za-z_][A-Za-z0-9_.$-]*"
_is_bare = re.compile(BARE_NAME).fullmatch

_is_plain = re.compile(r'"[ !#-\[\]-~]*"').fullmatch
"""Tells whether a quoted string holds nothing but ASCII letters and signs that stand for themselves."""

MAX_INTEGER_DIGITS: Final = 4300
"""The longest integer literal that is read (DESIGN, rulings: numbers)."""


class LiteralError(ValueError):
    """A literal has no value of the wanted type; the message says why, in the user's words."""


def spell_string(text: str) -> str:
    """Return `text` as a JSON string; non-ASCII letters stay, control characters and lone surrogates are escaped."""
    quoted = json.dumps(text, ensure_ascii=False)
    if text.isprintable():
        return quoted
    return "".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in quoted)


_surrogates = re.compile("[\ud800-\udbff][\udc00-\udfff]").search


def surrogate_pair(text: str) -> str | None:
    """Return the first two surrogates in a row, in words; None when `text` has none and so reads back as it is."""
    found = None if text.isascii() else _surrogates(text)
    if found is None:
        return None
    high, low = map(ord, found[0])
    whole = 0x10000 + (high - 0xD800 << 10) + (low - 0xDC00)
    return f"the surrogates U+{high:04X} and U+{low:04X} in a row; write the character U+{whole:04X}"


@lru_cache(maxsize=4096)
def spell_name(name: str) -> str:
    """Return `name` bare when the bare-name rule allows it, else quoted."""
    return name if _is_bare(name) else spell_string(name)


def read_string(token: str) -> str:
    """Return the value of a quoted string; `LiteralError` for a bad escape, or for what no file can hold."""
    if _is_plain(token):
        return token[1:-1]
    try:
        value = json.loads(token)
    except ValueError as error:
        control = "control character" in str(error)
        what = "a control character; write it as an escape" if control else "an escape that JSON does not know"
        raise LiteralError(f"the string holds {what}") from error
    assert isinstance(value, str)
    pair = surrogate_pair(value)
    if pair is not None:
        raise LiteralError(f"the string holds {pair}")
    return value


def read_name(token: str) -> str:
    """Return the name in a token after its sigil: bare, or a quoted string."""
    return read_string(token) if token.startswith('"') else token


def float_bits(value: float, dtype: DType = FLOAT64) -> int:
    """Return the IEEE bits of `value` in `dtype`; NaN payloads and signs survive.

    A float32 is held as the float64 of the same value, a NaN with its payload in the high bits of the fraction.
    """
    bits: int = unpack("<Q", pack("<d", value))[0]
    if dtype is FLOAT64:
        return bits
    if value != value:
        payload = bits >> 29 & 0x7FFFFF
        return (bits >> 32 & 0x80000000) | 0x7F800000 | (payload or 0x400000)  # without a payload it were an infinity
    single: int = unpack("<I", pack("<f", value))[0]
    return single


def float_from_bits(bits: int, dtype: DType = FLOAT64) -> float:
    """Return the float whose IEEE bits in `dtype` are `bits`; the inverse of `float_bits`."""
    if dtype is FLOAT32:
        if bits & 0x7F800000 == 0x7F800000 and bits & 0x7FFFFF:
            bits = (bits & 0x80000000) << 32 | 0x7FF0000000000000 | (bits & 0x7FFFFF) << 29
        else:
            single: float = unpack("<f", pack("<I", bits))[0]
            return single
    value: float = unpack("<d", pack("<Q", bits))[0]
    return value


def round_float(value: float, dtype: DType) -> float:
    """Return `value` rounded to `dtype`; what is too large becomes infinite, NaNs keep what fits of their payload."""
    if dtype is FLOAT64 or value - value != 0.0:
        return value if value == value else float_from_bits(float_bits(value, dtype), dtype)
    try:
        rounded: float = unpack("<f", pack("<f", value))[0]
    except OverflowError:
        return math.copysign(math.inf, value)
    return rounded


def spell_float(value: float, dtype: DType = FLOAT64, *, point: bool) -> str:
    """Return the shortest text that reads back to the same bits of `dtype`.

    `point` keeps the ``.0`` of an integral value (``2.0``); without it, it is dropped (``2``), except in ``-0.0``.
    """
    if value - value != 0.0:
        return _spell_special(value, dtype)
    text = repr(value) if dtype is FLOAT64 else _spell_single(value)
    if not point and text.endswith(".0") and text != "-0.0":
        return text[:-2]
    return text


def _spell_special(value: float, dtype: DType) -> str:
    if value == value:
        return "inf" if value > 0 else "-inf"
    bits = float_bits(value, dtype)
    if bits == (0x7FF8000000000000 if dtype is FLOAT64 else 0x7FC00000):
        return "nan"
    return f"nan<0x{bits:0{dtype.size * 2}x}>"


@lru_cache(maxsize=4096)
def _shortest_single(value: float) -> str:
    import numpy  # the one place that needs it: loaded for the first float32 with many digits

    return str(numpy.float32(value))


def _spell_single(value: float) -> str:
    """Spell a finite float32; a double's text of up to six digits is already the shortest: 24 bits hold six digits."""
    text = repr(value)
    digits = text.partition("e")[0].replace(".", "").lstrip("-0")
    return text if len(digits) <= 6 else _shortest_single(value)


def read_whole(text: str) -> int:
    """Return an integer literal of any size; `LiteralError` for one of too many digits."""
    if len(text.lstrip("-")) > MAX_INTEGER_DIGITS:
        raise LiteralError(f"an integer of more than {MAX_INTEGER_DIGITS} digits is not read")
    return int(text)


def read_int(text: str, dtype: DType) -> int:
    """Return the integer literal `text` as a value of `dtype`; `LiteralError` when it does not fit."""
    value = read_whole(text)
    if value not in int_range(dtype):
        raise LiteralError(f"{_short(text)} does not fit {dtype}")
    return value


def read_float(text: str, dtype: DType) -> float:
    """Return the number literal `text` rounded to `dtype`.

    ``-0`` is negative zero. `LiteralError` when a decimal rounds to an infinity or a NaN pattern is none of `dtype`.
    """
    if text.startswith("nan<"):
        return _read_nan(text, dtype)
    if text in ("inf", "-inf", "nan"):
        return float(text)
    if len(text) > MAX_INTEGER_DIGITS and text.lstrip("-").isdigit():
        read_whole(text)
    value = _single(text) if dtype is FLOAT32 else float(text)
    if value - value != 0.0:
        raise LiteralError(f"{_short(text)} is too large for {dtype}; write 'inf' for an infinity")
    return value


def _single(text: str) -> float:
    """Return the float32 nearest to a decimal, which rounding it to a float64 first would miss near a tie."""
    double = float(text)
    value = round_float(double, FLOAT32)
    if value == double or double - double != 0.0:
        return value
    below, above = math.nextafter(double, -math.inf), math.nextafter(double, math.inf)
    if round_float(below, FLOAT32) == round_float(above, FLOAT32):
        return value  # not near a tie
    from decimal import Decimal  # hardly ever needed

    exact, rounded = Decimal(text), Decimal(double)
    if exact == rounded:
        return value
    return round_float(above if exact > rounded else below, FLOAT32)


def _read_nan(text: str, dtype: DType) -> float:
    digits = text[len("nan<0x") : -1]
    bits = int(digits, 16)
    exponent, fraction = (0x7FF0 << 48, (1 << 52) - 1) if dtype is FLOAT64 else (0x7F80 << 16, (1 << 23) - 1)
    if len(digits) != dtype.size * 2:
        raise LiteralError(f"a NaN of {dtype} has {dtype.size * 2} hexadecimal digits, found {len(digits)}")
    if bits & exponent != exponent or not bits & fraction:
        raise LiteralError(f"{text[4:-1]} are not the bits of a {dtype} NaN")
    return float_from_bits(bits, dtype)


def _short(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:20]}...{text[-10:]}"
