"""What ``--trace`` and ``--check-finite`` show of a run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from scaly_ir.running import Shown, not_finite
from scaly_ir.text.diagnostics import error
from scaly_ir.text.spelling import spell_name
from scaly_ir.tools.run.interface import RunError, Runnable
from scaly_ir.tools.run.results import MOST_SHOWN, array_lines, number_text
from scaly_ir.types import BOOL, DType

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]


class Trace:
    """Shows each operation or statement, with what it gave; it is told as `running.Observer` says."""

    def __init__(self, say: Callable[[str], None], digits: int | None = None) -> None:
        self._say = say
        self._digits = digits
        self._last = ""

    def __call__(self, function: str, text: str, shown: Iterable[Shown]) -> None:
        """Show one."""
        if function != self._last:
            self._say(f"in @{spell_name(function)}\n")
            self._last = function
        self._say(f"  {text}\n")
        for target, value, dtype in shown:
            name = f"{target} = " if target else ""
            for line in self._lines(value, dtype):
                self._say(f"    {name}{line}\n")

    def _lines(self, value: Any, dtype: DType) -> list[str]:
        if not hasattr(value, "shape"):
            return [number_text(bool(value) if dtype is BOOL else value, dtype, self._digits)]
        if value.size <= MOST_SHOWN:
            return array_lines(value, dtype, self._digits)
        ends = [number_text(entry, dtype, self._digits) for entry in (value.reshape(-1)[0], value.reshape(-1)[-1])]
        return [f"{value.size:,} elements, from {ends[0]} to {ends[1]}"]


def check_inputs(runnable: Runnable, values: Sequence[Array]) -> None:
    """Raise `RunError` when an input has a NaN or an infinity already."""
    for parameter, value in zip(runnable.inputs, values, strict=True):
        bad = not_finite(value)
        if bad:
            message = f"input {parameter.shown} of {runnable.shown} has {bad}"
            raise RunError(error(message, parameter.span, "not-finite"))
