"""Numbers as C text: the shortest text that has the same bits again, in C99 and in C++."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from scaly_ir.text.spelling import float_bits, round_float, spell_float
from scaly_ir.types import FLOAT32, FLOAT64, DType

INT_MAX: Final = 2**31 - 1


def is_plain_int(value: int) -> bool:
    """Tell whether the C text of an integer has the type ``int``."""
    return -INT_MAX - 1 <= value <= INT_MAX


def int_text(value: int) -> str:
    """Return an integer; the least one of a type has no literal of its own."""
    suffix = "" if is_plain_int(value) else "LL"
    if value in (-INT_MAX - 1, -(2**63)):
        return f"({value + 1}{suffix} - 1)"
    return f"{value}{suffix}"


def float_text(value: float, dtype: DType, dialect: str, *, point: bool = True) -> str:
    """Return a number of a floating type; with `point` it is a floating literal even where it is integral.

    The payload of a NaN survives in dialect ``gnu`` alone.
    """
    kind = dtype.c_type
    if value != value:
        return _nan(value, dtype, dialect)
    if value in (float("inf"), float("-inf")):
        return f"(({kind})INFINITY)" if value > 0 else f"(({kind})(-INFINITY))"
    if dtype is FLOAT64:
        return spell_float(value, dtype, point=point)
    text = spell_float(value, FLOAT32, point=point)
    if round_float(float(text), FLOAT32) != value:  # C rounds twice: to double, then to float
        text = spell_float(value, FLOAT64, point=point)
    return f"(({kind}){text})"


def _nan(value: float, dtype: DType, dialect: str) -> str:
    bits = float_bits(value, dtype)
    fraction = 51 if dtype is FLOAT64 else 22
    quiet, payload = bits >> fraction & 1, bits & ((1 << fraction) - 1)
    text = f"({dtype.c_type})NAN"
    if dialect == "gnu" and (payload or not quiet):
        function = ("__builtin_nan" if quiet else "__builtin_nans") + ("" if dtype is FLOAT64 else "f")
        text = f'{function}("0x{payload:x}")'
    return f"(-{text})" if bits >> (dtype.size * 8 - 1) else f"({text})"


def number_text(value: float, dtype: DType, dialect: str, *, point: bool = True) -> str:
    """Return a number of any type."""
    return float_text(value, dtype, dialect, point=point) if dtype.is_float else int_text(int(value))


_LINE: Final = 100
"""About how long the lines of a table get."""


def table_text(values: Iterable[float], dtype: DType, dialect: str, indent: str) -> str:
    """Return the initializer of a table, in lines when it is long."""
    texts = [number_text(value, dtype, dialect, point=False) for value in values] or ["0"]
    lines, line = [], ""
    for text in texts:
        if line and len(line) + len(text) > _LINE:
            lines.append(line)
            line = ""
        line += f"{', ' if line else ''}{text}"
    lines.append(line)
    if len(lines) == 1:
        return f"{{{line}}}"
    return "{\n" + ",\n".join([f"{indent}  {line}" for line in lines]) + f"\n{indent}}}"
