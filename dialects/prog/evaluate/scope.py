"""The names of a procedure while it is compiled: what each stands for, where it lives, what values it may have."""

from __future__ import annotations

from typing import Final, NamedTuple

from scaly_ir.dialects.prog import ops
from scaly_ir.dialects.prog.context import value_name
from scaly_ir.dialects.prog.evaluate.faults import Loop
from scaly_ir.graph import Node
from scaly_ir.numeric.bounds import bounds, may_wrap
from scaly_ir.numeric.interval import Interval
from scaly_ir.types import INT64, DType


class Variable(NamedTuple):
    """A scalar or loop variable and the source of its value."""

    source: str
    dtype: DType
    is_loop: bool


class Buffer(NamedTuple):
    """A buffer: its number in the procedure, and what is known of it before the run.

    `read_only` is None where only the caller knows; a `filled` one has no poisoned elements.
    """

    number: int
    dtype: DType
    size: int
    read_only: bool | None
    filled: bool


class Misuse(Exception):  # noqa: N818 - becomes a fault at the place of the statement
    """A name is used that is not declared, or for what it is not."""


class Scope:
    """What names stand for at one place of a procedure, and bounds of integers there.

    Without a width of the lanes, no name stands for that.
    """

    def __init__(self, width: int | None) -> None:
        self.buffers: dict[str, Buffer] = {}
        self.variables: dict[str, Variable] = {}
        self.loop: Loop | None = None
        self._width: Final = width
        self._ranges: dict[str, Interval] = {}
        self._known: dict[Node, Interval] = {}
        self._opened: list[list[str]] = [[]]

    def open(self) -> None:
        """Begin a body."""
        self._opened.append([])

    def close(self) -> None:
        """End a body: what it declared goes out of scope."""
        for name in self._opened.pop():
            del self.variables[name]

    def declare(self, name: str, variable: Variable) -> None:
        """Declare a scalar or loop variable in the innermost body."""
        self.check_new(name)
        self.variables[name] = variable
        self._opened[-1].append(name)

    def declare_buffer(self, name: str, buffer: Buffer) -> None:
        """Declare a buffer, for the rest of the procedure."""
        self.check_new(name)
        self.buffers[name] = buffer

    def check_new(self, name: str) -> None:
        """Raise `Misuse` when a name is declared already."""
        if name in self.variables or name in self.buffers:
            raise Misuse(f"name {value_name(name)} is declared twice")

    def variable(self, name: str, dtype: DType) -> Variable:
        """Return what a variable stands for."""
        if self._width is not None and name.startswith(ops.RESERVED_PREFIX):
            found = Variable(str(self._width), INT64, is_loop=True)
            self._ranges[name] = Interval(self._width, self._width)
        elif name in self.variables:
            found = self.variables[name]
        else:
            used = "a buffer and is used as a scalar" if name in self.buffers else "not declared here"
            raise Misuse(f"{value_name(name)} is {used}")
        if found.dtype is not dtype:
            raise Misuse(f"variable {value_name(name)} has dtype {found.dtype}, used as {dtype}")
        return found

    def buffer(self, name: str, dtype: DType | None = None) -> Buffer:
        """Return what a buffer's name stands for; `dtype` is the type it is used with."""
        found = self.buffers.get(name)
        if found is None:
            used = "a scalar and is used as a buffer" if name in self.variables else "not declared here"
            raise Misuse(f"{value_name(name)} is {used}")
        if dtype is not None and found.dtype is not dtype:
            raise Misuse(f"view dtype {dtype} differs from buffer {value_name(name)} dtype {found.dtype}")
        return found

    def enter(self, loop: Loop, values: Interval) -> None:
        """Enter a loop whose variable has one of `values` in its body."""
        self.loop = loop
        self._ranges[loop.name] = values
        self._known.clear()

    def leave(self, outer: Loop | None) -> None:
        """Leave the innermost loop."""
        assert self.loop is not None
        del self._ranges[self.loop.name]
        self.loop = outer
        self._known.clear()

    def bounds(self, scalar: Node) -> Interval:
        """Return the integers that a scalar may be here."""
        return bounds(scalar, self._ranges, self._known)

    def may_wrap(self, scalar: Node) -> bool:
        """Tell whether an integer operation may leave its type here, before it wraps."""
        return may_wrap(scalar, self._ranges, self._known)
