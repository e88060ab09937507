"""Results as text and as files."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from scaly_ir.text.spelling import spell_float
from scaly_ir.tools.run.interface import Parameter
from scaly_ir.types import DType

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]

MOST_SHOWN: Final = 1000
"""Results with more elements are summarised unless they are wanted in full."""
_ENDS: Final = 3
_ALL_DIGITS: Final = 17
"""So many significant digits tell any two floats apart."""
_WIDTH: Final = 100


def result_text(parameter: Parameter, array: Array, style: str, digits: int | None) -> str:
    """Return a result with its name and type; `style` is ``full``, ``summary`` or empty for what its size suggests."""
    head = f"{parameter.name}: {parameter.type}\n"
    summary = style == "summary" or (not style and array.size > MOST_SHOWN)
    lines = _summary(array, parameter.dtype, digits) if summary else array_lines(array, parameter.dtype, digits)
    return head + "".join([f"  {line}\n" for line in lines])


def number_text(value: Any, dtype: DType, digits: int | None = None) -> str:
    """Return one element as a file has it, floats rounded to some significant digits if wanted.

    A NaN is ``nan``: which one it is depends on the machine.
    """
    if dtype.is_float:
        number = math.nan if value != value else float(value)
        if digits is not None and digits < _ALL_DIGITS and math.isfinite(number):
            number = float(f"{number:.{digits}g}")
        return spell_float(number, dtype, point=True)
    return str(value).lower() if dtype.kind == "bool" else str(int(value))


def array_lines(array: Array, dtype: DType, digits: int | None = None) -> list[str]:
    """Return an array as ``--in`` takes it, a line for each innermost list, and more for a long one."""
    words = [number_text(value, dtype, digits) for value in array.reshape(-1).tolist()]
    if array.ndim == 0:
        return words
    if array.size == 0:
        return [str(array.tolist())]
    width = array.shape[-1]
    lines: list[str] = []
    for row in range(array.size // width):
        opened = sum([row % math.prod(array.shape[axis:-1]) == 0 for axis in range(array.ndim - 1)])
        closed = sum([(row + 1) % math.prod(array.shape[axis:-1]) == 0 for axis in range(array.ndim - 1)])
        indent = " " * (array.ndim - 1 - opened)
        end = "]" * (closed + 1) + ("" if row + 1 == array.size // width else ",")
        lines += _wrapped(f"{indent}{'[' * (opened + 1)}", words[row * width : (row + 1) * width], end)
    return lines


def _wrapped(start: str, words: Sequence[str], end: str) -> list[str]:
    """Return words with commas between them, broken into lines that are not too long."""
    lines, line = [], start
    for at, word in enumerate(words):
        piece = word + (", " if at + 1 < len(words) else end)
        if len(line) + len(piece) > _WIDTH and line.strip("[ "):
            lines.append(line.rstrip())
            line = " " * len(start)
        line += piece
    return [*lines, line]


def _summary(array: Array, dtype: DType, digits: int | None) -> list[str]:
    import numpy

    def shown(values: Any) -> str:
        return ", ".join([number_text(value, dtype, digits) for value in values])

    flat = array.reshape(-1)
    lines = [f"shape {list(array.shape)}"]
    if flat.size:
        lines.append(f"first {shown(flat[:_ENDS].tolist())}; last {shown(flat[-_ENDS:].tolist())}")
    if flat.size and dtype.is_float:
        finite = flat[numpy.isfinite(flat)]
        if finite.size:
            lines.append(f"min {shown([finite.min()])}; max {shown([finite.max()])}, of what is finite")
        lines.append(f"{int(numpy.isnan(flat).sum())} NaN, {int(numpy.isinf(flat).sum())} infinite")
    elif flat.size:
        lines.append(f"min {shown([flat.min()])}; max {shown([flat.max()])}")
    return lines


def file_bytes(path: str, results: Sequence[tuple[str, Array]]) -> bytes:
    """Return results as a .npz file by name, or the only one as a .npy file."""
    import io

    import numpy

    held = io.BytesIO()
    if path.endswith(".npy"):
        numpy.save(held, results[0][1])
    else:
        # Written member by member: keywords of savez would meet its own parameter, and the clock must not matter.
        import zipfile

        with zipfile.ZipFile(held, "w") as archive:
            for name, array in results:
                member = io.BytesIO()
                numpy.save(member, array)
                archive.writestr(zipfile.ZipInfo(f"{name}.npy"), member.getvalue())
    return held.getvalue()
