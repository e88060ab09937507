"""The NumPy semantics of the shared scalar operators: what an operator's attribute `FNumpy` holds.

Each is a callable on arrays or scalars of the operands' types. NumPy is imported at the first call. Results are those
of the specifications: integers wrap, floating-point exceptions make no noise, and a float32 goes through the float64
function and is rounded once, as the C translator has it. Division of integers by zero gives 0, whatever the division.
Source: program specification 4.3.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

Function = Callable[..., Any]


def quiet(function: str | Function) -> Function:
    """Return a function of NumPy, or of arrays, as a callable that imports NumPy late and makes no noise."""

    def apply(*arrays: Any) -> Any:
        import numpy

        with numpy.errstate(all="ignore"):
            return (getattr(numpy, function) if isinstance(function, str) else function)(*arrays)

    return apply


def in_double(function: str | Function) -> Function:
    """Return `function` computed in float64 and rounded once to the type of its operands."""

    def through_double(*arrays: Any) -> Any:
        import numpy

        doubles = [numpy.asarray(array, numpy.float64) for array in arrays]
        result = numpy.asarray((getattr(numpy, function) if isinstance(function, str) else function)(*doubles))
        return result.astype(numpy.result_type(*arrays), copy=False)[()]

    return quiet(through_double)


def erf(x: Any) -> Any:
    """Return the error function of an array of float64; NumPy has none."""
    import numpy

    return numpy.vectorize(math.erf, otypes=[numpy.float64])(x)


def divide(x: Any, y: Any) -> Any:
    """Return ``x / y``: rounded by IEEE for floats, toward zero for integers."""
    import numpy

    if numpy.result_type(x, y).kind == "f":
        return numpy.true_divide(x, y)
    down = numpy.floor_divide(x, y)
    inexact = (down * y != x) & ((x < 0) != (y < 0)) & (y != 0)
    return down + inexact


def remainder(x: Any, y: Any) -> Any:
    """Return the remainder of the integer division toward zero."""
    import numpy

    return numpy.where(y == 0, 0, x - divide(x, y) * y).astype(numpy.result_type(x, y))[()]


def minimum(x: Any, y: Any) -> Any:
    """Return the lesser operand, where one is NaN the other.

    What ``numpy.fmin`` makes of a signalling NaN depends on the length of the array.
    """
    import numpy

    return numpy.where(y != y, x, numpy.where(x != x, y, numpy.minimum(x, y)))[()]


def maximum(x: Any, y: Any) -> Any:
    """Return the greater operand, where one is NaN the other."""
    import numpy

    return numpy.where(y != y, x, numpy.where(x != x, y, numpy.maximum(x, y)))[()]


def power(x: Any, y: Any) -> Any:
    """Return ``x ** y`` as C has it: for a single exponent of 0.5, NumPy takes a root, which keeps the sign of zero."""
    import numpy

    root = numpy.equal(y, 0.5)
    result = numpy.power(x, y)
    result = numpy.where(root & numpy.equal(x, 0.0), 0.0, result)
    return numpy.where(root & numpy.isneginf(x), numpy.inf, result)
