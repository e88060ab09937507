"""Writes the text of functions of matrices, loops and buffers from random choices: names, scalars and indices.

What is written is visible and in range; what a function consists of is the matter of `programs`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final, NamedTuple

from hypothesis import strategies as st

from scaly_ir.dialects.buffer.types import folded

Shape = tuple[int, ...]

FLOATS: Final = ("float64", "float32")
INTEGERS: Final = ("int64", "int32")
NUMERIC: Final = (*FLOATS, *INTEGERS)
DTYPES: Final = (*NUMERIC, "bool")
_NAMES: Final = ("a", "b", "acc", "i0", "i1", "t0", "v0", "z_t0", '"a.b"', "a_b", "e")


class Buffer(NamedTuple):
    """A buffer whose elements are all written: its name and type, and whether it may be written again."""

    name: str
    shape: Shape
    dtype: str
    is_writable: bool

    @property
    def type(self) -> str:
        """The text of its type."""
        return memref(self.shape, self.dtype)


class Counter(NamedTuple):
    """A loop variable with the values that it may have, from 0 on."""

    name: str
    below: int


def memref(shape: Shape, dtype: str) -> str:
    """Return the text of a type."""
    return f"memref<{''.join([f'{extent}x' for extent in shape])}{dtype}>"


class Writer:
    """Writes the text of one function, statement by statement, and knows what is visible."""

    def __init__(self, draw: Callable[..., Any], *, dtypes: Sequence[str] = DTYPES) -> None:
        self.draw = draw
        self.dtypes = tuple(dtypes)
        self.params: list[str] = []
        self.lines: list[str] = []
        self.buffers: list[Buffer] = []
        self.scalars: list[tuple[str, str]] = []
        self.counters: list[Counter] = []
        self._visible: set[str] = set()
        self._numbers = 0
        self._depth = 1

    # --- choices ------------------------------------------------------------------------------------------------------

    def integer(self, low: int, high: int) -> int:
        """Choose a number."""
        return int(self.draw(st.integers(low, high)))

    def one_of(self, choices: Sequence[Any]) -> Any:
        """Choose one of several."""
        return self.draw(st.sampled_from(choices))

    def flag(self) -> bool:
        """Choose yes or no."""
        return bool(self.draw(st.booleans()))

    def extents(self, rank: int) -> Shape:
        """Choose the extents of a shape; few are 0."""
        return tuple([self.one_of((1, 2, 3, 2, 1, 4, 0)) for _ in range(rank)])

    def numeric(self) -> str:
        """Choose a type of numbers."""
        return str(self.one_of([dtype for dtype in self.dtypes if dtype != "bool"]))

    # --- text ---------------------------------------------------------------------------------------------------------

    def name(self, wanted: str = "") -> str:
        """Return a name that is not visible: the wanted one, one of a few, or none."""
        name = wanted or (self.one_of(_NAMES) if self.integer(0, 3) == 0 else "")
        if not name or name in self._visible:
            self._numbers += 1
            name = str(self._numbers + 1000) if not wanted else f"{wanted}{self._numbers + 1000}"
        self._visible.add(name)
        return name

    def line(self, text: str) -> None:
        """Write a line."""
        self.lines.append("  " * self._depth + text)

    @contextmanager
    def scope(self) -> Iterator[None]:
        """Hide at the end what becomes visible inside."""
        before = list(self.buffers), list(self.scalars), list(self.counters), set(self._visible)
        self._depth += 1
        yield
        self._depth -= 1
        self.buffers, self.scalars, self.counters, self._visible = before

    @contextmanager
    def loop(self, below: int, kind: str, step: int = 1) -> Iterator[str]:
        """Write a loop from 0."""
        with self.scope():
            variable = self.name(self.one_of(("i", "j", "k")))
            self._depth -= 1
            self.line(f"affine.for %{variable} = 0 to {below} step {step} {{kind={kind}}} {{")
            self._depth += 1
            self.counters.append(Counter(variable, below))
            yield variable
        self.line("}")

    # --- buffers ------------------------------------------------------------------------------------------------------

    def parameter(self, shape: Shape, dtype: str) -> Buffer:
        """Add a parameter."""
        buffer = Buffer(f"p{len(self.params)}", shape, dtype, False)
        self.params.append(f"%{buffer.name}: {buffer.type}")
        # It is visible everywhere, so it goes before what is local.
        self.buffers.insert(0, buffer)
        return buffer

    def scalar_parameter(self, dtype: str) -> str:
        """Add a scalar parameter."""
        name = f"p{len(self.params)}"
        self.params.append(f"%{name}: {dtype}")
        self.scalars.insert(0, (name, dtype))
        return name

    def buffer(self, fits: Callable[[Buffer], bool], shape: Callable[[], Shape], dtype: Callable[[], str]) -> Buffer:
        """Choose a buffer that fits, or make a parameter."""
        found = [buffer for buffer in self.buffers if fits(buffer)]
        if found and self.integer(0, 3):
            return found[self.integer(0, len(found) - 1)]
        return self.parameter(shape(), dtype())

    def of(self, shape: Shape, dtype: str) -> Buffer:
        """Choose or make a buffer of a type."""
        return self.buffer(lambda each: (each.shape, each.dtype) == (shape, dtype), lambda: shape, lambda: dtype)

    def like(self, shape: Shape, dtype: str) -> Buffer:
        """Choose or make a buffer of the same elements, whatever axes of extent 1 there are."""
        return self.buffer(
            lambda each: folded(each.shape) == folded(shape) and each.dtype == dtype, lambda: shape, lambda: dtype
        )

    def any_buffer(self) -> Buffer:
        """Choose or make a buffer."""
        return self.buffer(
            lambda each: True, lambda: self.extents(self.integer(0, 3)), lambda: str(self.one_of(self.dtypes))
        )

    def made(self, shape: Shape, dtype: str, text: str, name: str = "") -> Buffer:
        """Write a statement that makes a buffer."""
        buffer = Buffer(name or self.name(), shape, dtype, True)
        self.line(f"%{buffer.name} = {text} : {buffer.type}")
        self.buffers.append(buffer)
        return buffer

    # --- scalars and indices ------------------------------------------------------------------------------------------

    def literal(self, dtype: str) -> str:
        """Choose a literal."""
        if dtype == "bool":
            return str(self.integer(0, 1))
        if dtype in FLOATS:
            return str(self.one_of(("0", "0.5", "-1.25", "3", "1e10", "-0.0", "0.1")))
        return str(self.one_of(("0", "1", "-2", "3", "65536", "2147483647")))

    def scalar(self, dtype: str, depth: int = 2) -> str:
        """Choose a scalar of what is visible."""
        known = [name for name, type_ in self.scalars if type_ == dtype]
        known += [counter.name for counter in self.counters] if dtype == "int64" else []
        if depth and self.integer(0, 2):
            return self._applied(dtype, depth - 1)
        if known and self.integer(0, 4):
            return f"%{known[self.integer(0, len(known) - 1)]}"
        return f"prog.const({self.literal(dtype)}, {dtype})"

    def _applied(self, dtype: str, depth: int) -> str:
        def operand(of: str = dtype) -> str:
            return self.scalar(of, depth)

        if dtype == "bool":
            return str(
                self.one_of(
                    (
                        f"prog.and({operand()}, {operand()})",
                        f"prog.not({operand()})",
                        f"prog.or({operand()}, {operand()})",
                    )
                )
            )
        choice = self.integer(0, 6)
        if choice == 0:
            return f"prog.neg({operand()})"
        if choice == 1:
            first, second = operand(), operand()
            return f"prog.select(prog.lt({first}, {second}), {first}, {second})"
        if choice == 2 and dtype in INTEGERS:
            return f"prog.{self.one_of(('floordiv', 'floormod'))}({operand()}, {operand()})"
        if choice == 2:
            return f"prog.div({operand()}, {operand()})"
        if choice == 3:
            of = self.one_of(
                [each for each in self.dtypes if each in (NUMERIC if dtype in FLOATS else INTEGERS)] or [dtype]
            )
            return f"prog.cast({operand(of)}, {dtype})"
        return f"prog.{self.one_of(('add', 'sub', 'mul'))}({operand()}, {operand()})"

    def index(self, extent: int) -> str:
        """Choose an index below an extent that is not 0, and write what computes it."""
        fitting = [counter for counter in self.counters if counter.below <= extent]
        choice = self.integer(0, 4)
        if choice > 2 and fitting:
            return f"%{self.one_of(fitting).name}"
        if choice > 1 and self.counters:
            counter = self.one_of(self.counters)
            name = self.name()
            if self.flag():
                op, results = self.one_of((("min", f"d0, {extent - 1}"), ("apply", f"d0 mod {extent}")))
            else:
                scale, shift = self.integer(1, 3), self.integer(0, 3)
                divided = self.one_of(("", f" floordiv {self.integer(1, 3)}", f" ceildiv {self.integer(1, 3)}"))
                op, results = "apply", f"((d0 * {scale}{divided}) + {shift}) mod {extent}"
            self.line(f"%{name} = affine.{op}(%{counter.name}) {{map=affine_map<(d0) -> ({results})>}} : index")
            if self.integer(0, 3) == 0:
                last = self.name()
                self.line(f"%{last} = affine.max(%{name}) {{map=affine_map<(d0) -> (d0, 0)>}} : index")
                return f"%{last}"
            return f"%{name}"
        return str(self.integer(0, extent - 1))

    def element(self, buffer: Buffer, *, leads: str = "") -> str:
        """Choose an element; `leads` is the index of the first axis."""
        axes = folded(buffer.shape)
        indices = [self.index(extent) for extent in (axes[1:] if leads else axes)]
        return f"%{buffer.name}[{', '.join([f'%{leads}', *indices] if leads else indices)}]"
