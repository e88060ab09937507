"""What each shared scalar operator means, as the Python source of one application, and the functions such source calls.

Values are Python's: ints for integers, bools or 0 and 1 for bool, floats for both floating types, a float32 held as the
float64 of the same value. Rounding a float64 result of one operation to float32 is exact for all of IEEE arithmetic, so
float32 needs no arithmetic of its own. Source: program specification 1.4 and 4.3.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from ctypes import c_float
from typing import Any, Final

import numpy as np

from scaly_ir.dialects.prog.evaluate import faults
from scaly_ir.dialects.prog.evaluate.faults import Fault
from scaly_ir.errors import EvaluationError
from scaly_ir.graph import Node
from scaly_ir.numeric import floating, integer
from scaly_ir.numeric.evaluate import by_reference, failed_reference
from scaly_ir.numeric.machine import Value, round_int, wrap
from scaly_ir.types import BOOL, FLOAT32, FLOAT64, DType, int_range


def single(x: float) -> float:
    """Return `x` rounded to float32."""
    return c_float(x).value


def single_of_int(x: int) -> float:
    """Return an integer rounded once to float32."""
    return single(x) if -_EXACT <= x <= _EXACT else round_int(x, FLOAT32)


_EXACT: Final = 2**53
"""All integers up to this are float64."""


def wrap_32(x: int) -> int:
    """Return `x` in the range of int32, modulo 2**32."""
    return wrap(x, 32)


def wrap_64(x: int) -> int:
    """Return `x` in the range of int64, modulo 2**64."""
    return wrap(x, 64)


def whole(x: float, least: int, greatest: int, dtype: str, strict: bool) -> int:
    """Return `x` without its fraction; where no integer of the type holds it, stop or give the least."""
    if math.isfinite(x):
        found = math.trunc(x)
        if least <= found <= greatest:
            return found
    if strict:
        faults.unfit(x, dtype)
    return least


def power(x: float, y: float) -> float:
    """Return `x` to the power of `y` as C has it.

    Of scalars NumPy takes the square root where `y` is 0.5, and that of an infinity or a zero below zero is another.
    """
    return float(np.power(np.array((x,)), np.array((y,)))[0])


# What NumPy has, under the names that NumPy has it by: a folded constant and an evaluated one must be the same, and
# operators fold through NumPy.
_LIBM: Final = {
    **{name: name for name in "sin cos tan sinh cosh tanh exp log".split()},
    **{f"a{name}": f"arc{name}" for name in "sin cos tan".split()},
    "atan2": "arctan2",
}

FLOATING: Final[dict[str, str]] = {
    "add": "{0} + {1}",
    "sub": "{0} - {1}",
    "mul": "{0} * {1}",
    "div": "{0} / {1} if {1} else divide({0}, {1})",
    "neg": "-{0}",
    "abs": "abs({0})",
    "sqrt": "root({0}) if {0} >= 0.0 else sqrt({0})",
    "erf": "erf({0})",
    **{name: f"float(np_{numpy}({{0}}))" for name, numpy in _LIBM.items()},
    "atan2": "float(np_arctan2({0}, {1}))",
    "pow": "power({0}, {1})",
    "floor": "floor({0})",
    "ceil": "ceil({0})",
    "minimum": "{0} if {0} < {1} else {1} if {1} < {0} else minimum({0}, {1})",
    "maximum": "{0} if {0} > {1} else {1} if {1} > {0} else maximum({0}, {1})",
}
"""Operators from floats to floats. The result of those in `ROUNDED` is rounded to the type."""

ROUNDED: Final = frozenset(FLOATING) - {"neg", "abs", "floor", "ceil", "minimum", "maximum"}

INTEGER: Final[dict[str, str]] = {
    "add": "{0} + {1}",
    "sub": "{0} - {1}",
    "mul": "{0} * {1}",
    "neg": "-{0}",
    "abs": "abs({0})",
    "div": "quotient({0}, {1})",
    "mod": "remainder({0}, {1})",
    "floordiv": "{0} // {1} if {1} else 0",
    "floormod": "{0} % {1} if {1} else 0",
    "minimum": "{0} if {0} < {1} else {1}",
    "maximum": "{0} if {0} > {1} else {1}",
}
"""Operators from integers to integers, before the result wraps."""

WRAPPING: Final = frozenset("add sub mul neg abs div floordiv".split())
TRUNCATING: Final = frozenset(("div", "mod"))
"""The divisions without a value for a zero divisor, and in an index for a negative operand."""

ANY: Final[dict[str, str]] = {
    "lt": "{0} < {1}",
    "le": "{0} <= {1}",
    "eq": "{0} == {1}",
    "ne": "{0} != {1}",
    "and": "{0} and {1}",
    "or": "{0} or {1}",
    "not": "not {0}",
    "isfinite": "isfinite({0})",
    "select": "{1} if {0} else {2}",
}
"""Operators whose source does not depend on a type. All operands are evaluated before."""

_BOUNDS: Final = {dtype: (int_range(dtype)[0], int_range(dtype)[-1]) for dtype in (DType("int32"), DType("int64"))}


def limits(dtype: DType) -> tuple[int, int]:
    """Return the least and the greatest integer of an integer type."""
    return _BOUNDS[dtype]


def cast_source(source: DType, target: DType, strict: bool) -> str:
    """Return the source of a conversion."""
    if target.is_int:
        if source.is_float:
            least, greatest = _BOUNDS[target]
            return f"whole({{0}}, {least}, {greatest}, '{target}', {strict})"
        if source is BOOL:
            return "+{0}"
        return "{0}" if target.bits >= source.bits else f"{{0}} if {spell_fits('{0}', target)} else wrap_32({{0}})"
    if source.is_float:
        return "single({0})" if target is FLOAT32 and source is FLOAT64 else "{0}"
    if target is FLOAT64:
        return "float({0})"
    return "single_of_int({0})"


def spell_fits(value: str, dtype: DType) -> str:
    """Return the source of the test whether an integer is in the range of its type."""
    least, greatest = _BOUNDS[dtype]
    return f"{least} <= {value} <= {greatest}"


HELPERS: Final[dict[str, Any]] = {
    "__builtins__": {"abs": abs, "float": float, "range": range},
    "ceil": floating.ceil,
    "divide": floating.divide,
    "erf": math.erf,
    "floor": floating.floor,
    "isfinite": math.isfinite,
    "maximum": floating.maximum,
    "minimum": floating.minimum,
    **{f"np_{name}": getattr(np, name) for name in _LIBM.values()},
    "power": power,
    "quotient": integer.quotient,
    "remainder": integer.remainder,
    "root": math.sqrt,
    "single": single,
    "single_of_int": single_of_int,
    "sqrt": floating.sqrt,
    "whole": whole,
    "wrap_32": wrap_32,
    "wrap_64": wrap_64,
    **{
        function.__name__: function
        for function in (
            faults.bad_step,
            faults.beyond,
            faults.by_zero,
            faults.fault,
            faults.negative,
            faults.outside,
            faults.read_only,
            faults.unwritten,
        )
    },
    "inf": math.inf,
}
"""The names that compiled source may use."""


def registered(node: Node) -> Callable[..., Value]:
    """Return a registered operator as a function of Python values, by its attribute `FNumpy`."""
    if not node.op.has_attr("FNumpy"):
        missing = f"'{node.op.name}' cannot be evaluated: it has no attribute FNumpy"
        return lambda *operands: faults.fault(missing)
    function = by_reference(node)

    def apply(*operands: Value) -> Value:
        try:
            return function(*operands)
        except EvaluationError as error:
            raise Fault(error.reason) from error.__cause__
        except FloatingPointError as error:
            raise Fault(failed_reference(node, error).reason) from error

    return apply


APPROXIMATED: Final[dict[str, Callable[..., float]]] = {
    **{name: getattr(np, numpy) for name, numpy in _LIBM.items()},
    "erf": math.erf,
    "pow": power,
}
"""The functions of the C library in float64, which no standard prescribes to the bit."""
