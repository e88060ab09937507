"""The names of a function while it is compiled: what each stands for, and where it lives."""

from __future__ import annotations

from typing import NamedTuple

from scaly_ir.dialects.buffer.printer import value_name
from scaly_ir.dialects.buffer.types import folded
from scaly_ir.dialects.prog.evaluate import scope
from scaly_ir.dialects.prog.evaluate.scope import Misuse, Variable
from scaly_ir.numeric.interval import Interval
from scaly_ir.types import INT64, DType, MemRefType

__all__ = ["Misuse", "Scope", "Storage", "Variable"]


class Storage(NamedTuple):
    """A buffer: its number in the function, its type, and what is known of it before the run.

    A `filled` one has no elements that were not written.
    """

    number: int
    type: MemRefType
    read_only: bool
    filled: bool

    @property
    def extents(self) -> tuple[int, ...]:
        """The extents that its indices are about."""
        return folded(self.type.shape)


class Scope(scope.Scope):
    """What names stand for at one place of a function; they are visible to the end of their region."""

    def __init__(self) -> None:
        super().__init__(width=None)
        self.undefined: set[str] = set()
        """The variables that may stand for ``undef``."""
        self._storages: dict[str, Storage] = {}

    def close(self) -> None:
        """End a region: what it defined goes out of scope."""
        for name in self._opened.pop():
            if name in self.variables:
                del self.variables[name]
                self._ranges.pop(name, None)
                self.undefined.discard(name)
            else:
                del self._storages[name]
        self._known.clear()

    def declare_storage(self, name: str, storage: Storage) -> None:
        """Define a buffer."""
        self.check_new(name)
        self._storages[name] = storage
        self._opened[-1].append(name)

    def check_new(self, name: str) -> None:
        """Raise `Misuse` when a name is visible already."""
        if name in self.variables or name in self._storages:
            raise Misuse(f"{value_name(name)} is defined twice")

    def restrict(self, name: str, values: Interval) -> None:
        """Note which values an index has."""
        self._ranges[name] = values

    def variable(self, name: str, dtype: DType) -> Variable:
        """Return what the name of a scalar or index stands for."""
        found = self.variables.get(name)
        if found is None or found.dtype is not dtype:
            raise Misuse(self._unfit(name, str(INT64 if dtype is None else dtype)))
        return found

    def storage(self, name: str) -> Storage:
        """Return what the name of a buffer stands for."""
        found = self._storages.get(name)
        if found is None:
            raise Misuse(self._unfit(name, "a buffer"))
        return found

    def _unfit(self, name: str, used: str) -> str:
        known = self.variables.get(name)
        if known is None and name not in self._storages:
            return f"{value_name(name)} is not visible here"
        return f"{value_name(name)} is {'a buffer' if known is None else known.dtype}, used as {used}"
