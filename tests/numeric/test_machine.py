"""Wrapping, rounding and conversion against their definitions in integers and fractions, and against NumPy."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from scaly_ir.numeric.machine import NAN, NotExact, Reason, convert, first_nan, round_int, truncate, wrap
from scaly_ir.text.spelling import float_bits, float_from_bits, round_float
from scaly_ir.types import BOOL, FLOAT32, FLOAT64, INT32, INT64, DType, int_range
from tests.numeric.values import FLOATS, INTEGERS, NUMERIC, VALUES, nearest, outcome, same

ANY_INTEGER = st.integers(-(1 << 70), 1 << 70) | st.integers(-10, 10)


@given(ANY_INTEGER, st.integers(1, 64))
@example(1 << 63, 64)
def test_wrapping_is_congruence_modulo_the_width(value: int, bits: int) -> None:
    for signed in (True, False):
        wrapped = wrap(value, bits, signed=signed)
        low = -(1 << bits - 1) if signed else 0
        assert (wrapped - value) % (1 << bits) == 0
        assert low <= wrapped < low + (1 << bits)


@given(ANY_INTEGER | st.integers(-(1 << 130), 1 << 130), st.sampled_from(FLOATS))
@example((1 << 24) + 1, FLOAT32)
@example((1 << 60) + (1 << 36) + 1, FLOAT32)  # by way of a float64 this would be a tie, and lose
@example(-(1 << 128) + (1 << 103), FLOAT32)
@example((1 << 128) - (1 << 103) - 1, FLOAT32)
@example(1 << 2000, FLOAT64)
def test_integers_round_once(value: int, dtype: DType) -> None:
    assert round_int(value, dtype) == nearest(Fraction(value), dtype)


@given(VALUES[FLOAT64])
def test_float32_is_the_nearest(value: float) -> None:
    rounded = truncate(value, FLOAT32)
    if math.isfinite(value):
        assert same(rounded, math.copysign(nearest(Fraction(value), FLOAT32), value))
    assert same(truncate(rounded, FLOAT32), rounded)


@given(st.sampled_from([0x7FF << 52, 0xFFF << 52]), st.integers(1, (1 << 52) - 1))
@example(0x7FF << 52, 1)
@example(0xFFF << 52, (1 << 29) - 1)
def test_a_nan_keeps_its_sign_and_the_top_of_its_payload(sign: int, payload: int) -> None:
    bits = sign | payload
    value = float_from_bits(bits)
    rounded = float_bits(round_float(value, FLOAT32), FLOAT32)
    assert rounded >> 31 == bits >> 63
    assert rounded & 0x7FFFFF == (bits >> 29 & 0x7FFFFF or 0x400000)
    assert float_bits(round_float(value, FLOAT32)) == float_bits(float_from_bits(rounded, FLOAT32))


@given(st.sampled_from(NUMERIC), st.data())
def test_casts_agree_with_numpy(source: DType, data: st.DataObject) -> None:
    value = data.draw(VALUES[source])
    for target in NUMERIC:
        with np.errstate(all="ignore"):
            expected = np.array([value], str(source)).astype(str(target))[0].item()
        converted, reason = outcome(convert, value, target)
        if reason is Reason.CONVERSION:
            assert source.is_float
            assert not math.isfinite(value) or math.trunc(value) not in int_range(target)
            assert converted == int_range(target)[0]
        else:
            assert same(converted, expected)
            overflow = target.is_float and math.isinf(expected) and math.isfinite(value)
            assert reason is (Reason.OVERFLOW if overflow else None)


def test_casts_by_hand() -> None:
    assert convert(-7.9, INT32) == -7
    assert convert(2147483647.9, INT32) == 2147483647
    assert convert((1 << 32) + 5, INT32) == 5
    assert convert(3 << 31, INT32) == -(1 << 31)
    assert convert(16777217, FLOAT32) == 16777216.0
    assert convert(True, FLOAT64) == 1.0
    assert same(convert(True, INT64), 1)
    assert same(convert(NAN, BOOL), True)
    assert same(convert(-0.0, BOOL), False)
    for value in (math.nan, math.inf, 2147483648.0, -2147483649.0):
        with pytest.raises(NotExact, match="range of the integer type"):
            convert(value, INT32)
    with pytest.raises(NotExact, match="overflow"):
        convert(3.5e38, FLOAT32)
    assert convert(math.inf, FLOAT32) == math.inf


def test_a_float_is_no_integer_unless_converted() -> None:
    for dtype in INTEGERS:
        with pytest.raises(TypeError, match="convert"):
            truncate(1.0, dtype)
    assert same(truncate(0.5, BOOL), True)


def test_the_nan_of_an_operation_is_the_first_made_quiet() -> None:
    signalling, other = float_from_bits(0xFFF0000000000123), float_from_bits(0x7FF8000000000001)
    assert first_nan((1.0, 2.0)) is None
    found = first_nan((1.0, signalling, other))
    assert found is not None
    assert float_bits(found) == 0xFFF8000000000123
