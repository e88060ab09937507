"""Names, strings and numbers are spelled so that reading gives back the same bits."""

from __future__ import annotations

import json
import math
from itertools import pairwise
from random import Random
from struct import pack, unpack

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scaly_ir.text.spelling import (
    LiteralError,
    float_bits,
    float_from_bits,
    read_float,
    read_int,
    read_name,
    read_string,
    round_float,
    spell_float,
    spell_name,
    spell_string,
)
from scaly_ir.text.terminals import scan
from scaly_ir.types import BOOL, FLOAT32, FLOAT64, INT32, INT64, DType

SIZES = {FLOAT32: (8, 23), FLOAT64: (11, 52)}
"""Bits of exponent and fraction."""


def patterns(dtype: DType, count: int) -> list[int]:
    """Return bits of floats of every exponent and sign, with fractions at the ends and in between, and random ones."""
    exponent_bits, fraction_bits = SIZES[dtype]
    random = Random(3)
    found = []
    for exponent in range(1 << exponent_bits):
        for sign in (0, 1):
            high = (sign << exponent_bits | exponent) << fraction_bits
            last = (1 << fraction_bits) - 1
            fractions = (0, 1, last, last >> 1, (last >> 1) + 1, random.getrandbits(fraction_bits))
            found += [high | fraction for fraction in fractions]
    return found + [random.getrandbits(dtype.bits) for _ in range(count)]


@pytest.mark.parametrize("dtype", SIZES)
@pytest.mark.parametrize("point", [True, False])
def test_floats_read_back_to_their_bits(dtype: DType, point: bool) -> None:
    for bits in patterns(dtype, 20_000):
        value = float_from_bits(bits, dtype)
        assert float_bits(value, dtype) == bits
        text = spell_float(value, dtype, point=point)
        assert float_bits(read_float(text, dtype), dtype) == bits, text
        (token, end) = scan(text)
        assert token.text == text
        assert token.kind in ("FLOAT", "INT")
        assert token.kind == "FLOAT" or not point
        assert end.kind == "END"


def test_finite_floats_have_their_shortest_spelling() -> None:
    for bits in patterns(FLOAT32, 20_000):
        value = float_from_bits(bits, FLOAT32)
        if math.isfinite(value):
            shortest = f"{numpy.float32(value):.0e}" if value == 0 else str(numpy.float32(value))
            assert len(spell_float(value, FLOAT32, point=True)) <= max(3 + (bits >> 31), len(shortest))
    for bits in patterns(FLOAT64, 20_000):
        value = float_from_bits(bits)
        if math.isfinite(value):
            assert spell_float(value, point=True) == repr(value)


@pytest.mark.parametrize(
    ("value", "with_point", "without"),
    [
        (0.0, "0.0", "0"),
        (-0.0, "-0.0", "-0.0"),
        (2.0, "2.0", "2"),
        (-1.0, "-1.0", "-1"),
        (0.1, "0.1", "0.1"),
        (1e16, "1e+16", "1e+16"),
        (5e-324, "5e-324", "5e-324"),
        (1.7976931348623157e308, "1.7976931348623157e+308", "1.7976931348623157e+308"),
        (math.inf, "inf", "inf"),
        (-math.inf, "-inf", "-inf"),
        (float_from_bits(0x7FF8 << 48), "nan", "nan"),
        (float_from_bits(0xFFF8 << 48), "nan<0xfff8000000000000>", "nan<0xfff8000000000000>"),
        (float_from_bits(0x7FF0000000000001), "nan<0x7ff0000000000001>", "nan<0x7ff0000000000001>"),
    ],
)
def test_floats_are_spelled_as_specified(value: float, with_point: str, without: str) -> None:
    assert spell_float(value, point=True) == with_point
    assert spell_float(value, point=False) == without


def test_float32_is_spelled_by_its_own_digits() -> None:
    tenth = round_float(0.1, FLOAT32)
    assert tenth != 0.1
    assert spell_float(tenth, FLOAT32, point=True) == "0.1"
    assert spell_float(float_from_bits(1, FLOAT32), FLOAT32, point=True) == "1e-45"
    assert spell_float(float_from_bits(0x7FC00000, FLOAT32), FLOAT32, point=True) == "nan"
    assert spell_float(float_from_bits(0x7F800001, FLOAT32), FLOAT32, point=True) == "nan<0x7f800001>"


@given(st.floats(allow_nan=False))
def test_rounding_to_float32_is_that_of_the_machine(value: float) -> None:
    with numpy.errstate(over="ignore"):
        expected = float(numpy.float32(value))
    rounded = round_float(value, FLOAT32)
    assert pack("<d", rounded) == pack("<d", expected)
    assert round_float(rounded, FLOAT32) == rounded
    assert round_float(value, FLOAT64) is value


@given(st.integers(1, (1 << 52) - 1), st.booleans())
def test_a_nan_stays_a_nan_in_float32(payload: int, negative: bool) -> None:
    value: float = unpack("<d", pack("<Q", negative << 63 | 0x7FF0 << 48 | payload))[0]
    rounded = round_float(value, FLOAT32)
    assert rounded != rounded
    assert float_bits(round_float(rounded, FLOAT32)) == float_bits(rounded)
    text = spell_float(rounded, FLOAT32, point=True)
    assert float_bits(read_float(text, FLOAT32)) == float_bits(rounded)


@pytest.mark.parametrize(
    ("text", "dtype", "value"),
    [
        ("1", FLOAT64, 1.0),
        ("1.", FLOAT64, 1.0),
        (".5", FLOAT64, 0.5),
        ("-.5", FLOAT32, -0.5),
        ("1e9", FLOAT64, 1e9),
        ("1E+2", FLOAT64, 100.0),
        ("-0", FLOAT64, -0.0),
        ("-0", FLOAT32, -0.0),
        ("007", FLOAT64, 7.0),
        ("1e-400", FLOAT64, 0.0),
        ("3.4028234e38", FLOAT32, 3.4028234663852886e38),
        ("9007199254740993", FLOAT64, 9007199254740992.0),
    ],
)
def test_number_literals(text: str, dtype: DType, value: float) -> None:
    read = read_float(text, dtype)
    assert pack("<d", read) == pack("<d", value)


@pytest.mark.parametrize(
    ("text", "dtype", "message"),
    [
        ("1e400", FLOAT64, "1e400 is too large for float64; write 'inf' for an infinity"),
        ("-1e39", FLOAT32, "-1e39 is too large for float32; write 'inf' for an infinity"),
        ("3.4028236e38", FLOAT32, "3.4028236e38 is too large for float32; write 'inf' for an infinity"),
        ("1" * 4301, FLOAT64, "an integer of more than 4300 digits is not read"),
        ("nan<0x7fc00000>", FLOAT64, "a NaN of float64 has 16 hexadecimal digits, found 8"),
        ("nan<0x7ff8000000000000>", FLOAT32, "a NaN of float32 has 8 hexadecimal digits, found 16"),
        ("nan<0x7ff0000000000000>", FLOAT64, "0x7ff0000000000000 are not the bits of a float64 NaN"),
        ("nan<0x3ff8000000000000>", FLOAT64, "0x3ff8000000000000 are not the bits of a float64 NaN"),
        ("nan<0xff800000>", FLOAT32, "0xff800000 are not the bits of a float32 NaN"),
    ],
)
def test_number_literals_without_a_value(text: str, dtype: DType, message: str) -> None:
    with pytest.raises(LiteralError) as failure:
        read_float(text, dtype)
    assert str(failure.value) == message


@pytest.mark.parametrize("dtype", [BOOL, INT32, INT64])
def test_integer_literals_fit_their_type(dtype: DType) -> None:
    low, high = (0, 1) if dtype is BOOL else (-(1 << (dtype.bits - 1)), (1 << (dtype.bits - 1)) - 1)
    assert [read_int(str(value), dtype) for value in (low, high)] == [low, high]
    for value in (low - 1, high + 1):
        with pytest.raises(LiteralError, match=f"^{value} does not fit {dtype}$"):
            read_int(str(value), dtype)
    with pytest.raises(LiteralError, match=r"^-9999999999999999999\.\.\.9999999999 does not fit"):
        read_int("-" + "9" * 4300, dtype)
    with pytest.raises(LiteralError, match="more than 4300 digits"):
        read_int("-" + "9" * 4301, dtype)


@given(st.text(st.characters()))
def test_strings_and_names_read_back(text: str) -> None:
    spelled = spell_string(text)
    if not any(["\ud800" <= a <= "\udbff" and "\udc00" <= b <= "\udfff" for a, b in pairwise(text)]):
        assert read_string(spelled) == json.loads(spelled) == text
        assert read_name(spell_name(text)) == text
    assert spelled.isprintable()
    spelled.encode()
    assert [lexeme.kind for lexeme in scan(spelled)] == ["STRING", "END"]
    assert [lexeme.kind for lexeme in scan(f"%{spell_name(text)}")] == ["VALUE", "END"]
    assert [lexeme.kind for lexeme in scan(f"@{spell_name(text)}")] == ["SYMBOL", "END"]


@pytest.mark.parametrize(
    ("name", "spelled"),
    [
        ("x", "x"),
        ("_a.b-c$1", "_a.b-c$1"),
        ("0", '"0"'),
        ("", '""'),
        ("a b", '"a b"'),
        ("é", '"é"'),
        ("\U0001f642", '"\U0001f642"'),
        ('"', '"\\""'),
        ("\\", '"\\\\"'),
        ("\n\t\x00\x7f", '"\\n\\t\\u0000\\u007f"'),
        ("\u2028\u202e\ufeff", '"\\u2028\\u202e\\ufeff"'),
        ("\ud800", '"\\ud800"'),
        ("\U000e0001", '"\\udb40\\udc01"'),
        ("x\n", '"x\\n"'),
    ],
)
def test_names_are_quoted_where_they_must_be(name: str, spelled: str) -> None:
    assert spell_name(name) == spelled
    assert read_name(spelled) == name


@pytest.mark.parametrize("token", ['"\\q"', '"\\u12"', '"a\\"', '"', '"\\ud800\\u"'])
def test_strings_with_a_bad_escape(token: str) -> None:
    with pytest.raises(LiteralError, match=r"^the string holds an escape that JSON does not know$"):
        read_string(token)


@pytest.mark.parametrize("token", ['"a\ud800\udc00"', '"a\ud800\\udc00"', '"\\udbff\\udfff\udbff\\udfff"'])
def test_two_surrogates_in_a_row_are_no_text(token: str) -> None:
    with pytest.raises(
        LiteralError, match=r"^the string holds the surrogates U\+D[8B].. and U\+D[CF].. in a row; write"
    ):
        read_string(token)


@pytest.mark.parametrize("character", ["\t", "\r", "\0", "\x1b"])
def test_control_characters_in_strings_are_escaped(character: str) -> None:
    with pytest.raises(LiteralError, match=r"^the string holds a control character; write it as an escape$"):
        read_string(f'"a{character}"')


@pytest.mark.parametrize(
    ("text", "bits"),
    [
        ("1.000000059604644775390624", 0x3F800000),
        ("1.000000059604644775390625", 0x3F800000),
        ("1.000000059604644775390626", 0x3F800001),
        ("-1.000000059604644775390626", 0xBF800001),
        ("3.40282356779733661637539395458142568447e38", 0x7F7FFFFF),
        ("7.1e-46", 0x00000001),
        ("7.0e-46", 0x00000000),
    ],
)
def test_a_float32_is_the_one_nearest_to_the_text(text: str, bits: int) -> None:
    assert float_bits(read_float(text, FLOAT32), FLOAT32) == bits


def test_what_rounds_to_no_float32_is_too_large() -> None:
    with pytest.raises(LiteralError, match="too large for float32"):
        read_float("3.40282356779733661637539395458142568448e38", FLOAT32)
