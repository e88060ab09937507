"""What compiled procedures call to make places: declarations, and the arguments of calls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from scaly_ir.dialects.prog.context import symbol_name, value_name
from scaly_ir.dialects.prog.evaluate.faults import Fault
from scaly_ir.dialects.prog.evaluate.memory import Place, Storage, poisoned
from scaly_ir.types import FLOAT64, DType

__all__ = ["Binding", "Parameter", "alias", "poisoned", "workspace"]


class Parameter(NamedTuple):
    """What a procedure takes."""

    name: str
    size: int
    dtype: DType
    is_input: bool


def alias(of: Place, name: str, offset: int, size: int) -> Place:
    """Return a window of a buffer."""
    return of.window(name, offset, size, read_only=False)


def workspace(storage: Storage, first: int, name: str, offset: int, size: int) -> Place:
    """Return a window of the part of the workspace that begins at `first`."""
    start = first + offset
    if start < 0 or start + size > len(storage.values):
        has = f"a workspace of {len(storage.values)}"
        raise Fault(f"{value_name(name)} needs [{start}, {start + size}) of the workspace, but the run has {has}")
    return Place(name, storage, start, size, FLOAT64, read_only=False)


class Binding:
    """Binds the arguments of a call to the parameters of a procedure."""

    __slots__ = ("_callee", "_parameters")

    def __init__(self, callee: str, parameters: Sequence[Parameter]) -> None:
        self._callee = callee
        self._parameters = parameters

    def __call__(self, given: Sequence[Place], starts: Sequence[int]) -> list[Place]:
        """Return the places of the parameters for arguments that start at the given elements."""
        bound = []
        for place, start, parameter in zip(given, starts, self._parameters, strict=True):
            bound.append(place.window(parameter.name, start, parameter.size, parameter.is_input))
        for output in bound:
            if not output.read_only:
                self._check_overlap(output, bound)
        return bound

    def _check_overlap(self, output: Place, bound: Sequence[Place]) -> None:
        for other in bound:
            if other is not output and output.overlaps(other):
                both = f"output {value_name(output.name)} of {symbol_name(self._callee)} overlaps"
                raise Fault(f"{both} the argument for {value_name(other.name)} of the same call")
