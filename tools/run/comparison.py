"""How far two arrays are apart, and whether that is near enough (tools specification 6)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from scaly_ir.tools.run.interface import Parameter
from scaly_ir.types import FLOAT32, FLOAT64

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]

_TOLERANCES: Final = {FLOAT64: (1e-10, 1e-12), FLOAT32: (1e-4, 1e-6)}
"""Relative and absolute; other types are compared exactly."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """What came of comparing a result: one line about it, and the first element that is too far off, if any is."""

    line: str
    worst: tuple[int, ...] | None


def compare(parameter: Parameter, found: Array, wanted: Array, rtol: float | None, atol: float | None) -> Comparison:
    """Compare a result with what it should be, of the same type; NaN equals NaN."""
    import numpy

    relative, absolute = _TOLERANCES.get(parameter.dtype, (0.0, 0.0))
    relative = relative if rtol is None or not parameter.dtype.is_float else rtol
    absolute = absolute if atol is None or not parameter.dtype.is_float else atol
    same = (found == wanted) | ((found != found) & (wanted != wanted))
    head = f"{parameter.name}: {parameter.type}: "
    if same.all():
        return Comparison(f"{head}equal", None)
    with numpy.errstate(all="ignore"):
        difference = numpy.abs(numpy.subtract(found, wanted, dtype="float64"))
        difference = numpy.where(same, 0.0, numpy.where(difference == difference, difference, numpy.inf))
        size = numpy.abs(wanted.astype("float64"))
        near = same | ((difference <= absolute + relative * size) & numpy.isfinite(difference))
        proportion = numpy.where(difference == 0.0, 0.0, difference / size)
    parts = [f"absolute {_largest(difference)}", f"relative {_largest(proportion)}"]
    if parameter.dtype.is_float:
        parts.append(_largest(_ulps(found, wanted, same), " ULP"))
    verdict = "within" if near.all() else "beyond"
    line = f"{head}{verdict} tolerance; largest difference: {', '.join(parts)}"
    bad = numpy.argwhere(~near)
    return Comparison(line, tuple([int(at) for at in bad[0]]) if len(bad) else None)


def _largest(values: Array, unit: str = "") -> str:
    """Return the largest value and where it is."""
    import numpy

    at = numpy.unravel_index(int(values.argmax()), values.shape)
    value = values[at]
    shown = str(int(value)) if values.dtype.kind in "iu" else f"{float(value):.3g}"
    return f"{shown}{unit}{f' at {[int(index) for index in at]}' if at else ''}"


def _ulps(found: Array, wanted: Array, same: Array) -> Array:
    """Return how many floats lie between two; 0 for what is the same, the most there can be beside a NaN."""
    import numpy

    bits = f"i{found.dtype.itemsize}"
    ordered = []
    with numpy.errstate(all="ignore"):  # integers wrap, and what a choice leaves out does not matter
        for array in (found, wanted):
            raw = numpy.ascontiguousarray(array).view(bits).reshape(array.shape)
            # Negative floats count downwards from zero, and both zeros are one number.
            ordered.append(numpy.where(raw < 0, numpy.iinfo(bits).min - raw, raw).astype("i8"))
        apart = numpy.maximum(*ordered).astype("u8") - numpy.minimum(*ordered).astype("u8")
    odd = numpy.isnan(found) | numpy.isnan(wanted)
    return numpy.where(same, numpy.uint64(0), numpy.where(odd, numpy.iinfo("u8").max, apart))
