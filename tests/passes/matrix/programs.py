"""Random functions of matrices, loops and buffers in which there is much to fold, merge and drop.

Constants, unit and empty extents, maps that do nothing, loops that run once or never, writes before and after: what
decides whether a rule may apply is drawn often. Programs are valid, and nearly all of them run without an error.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st

import scaly_ir as sc
from scaly_ir.dialects.buffer import build
from scaly_ir.graph import Node
from scaly_ir.types import MemRefType

Shape = tuple[int, ...]
NUMBERS = {
    "float64": ["0", "-0.0", "0.1", "1", "-2.5", "1e+308", "inf", "nan<0x7ff8000000000005>"],
    "float32": ["0", "-0.0", "0.1", "1", "-2.5", "3e+38", "-inf"],
    "int32": ["0", "1", "-3", "2147483647", "65536"],
    "int64": ["0", "1", "-3", "9223372036854775807"],
}


class Buffer(NamedTuple):
    """A buffer in scope."""

    name: str
    shape: Shape
    dtype: str
    fixed: bool

    @property
    def type(self) -> str:
        return memref(self.shape, self.dtype)


class Index(NamedTuple):
    """An index in scope and the values that it may have."""

    name: str
    values: range


def memref(shape: Shape, dtype: str) -> str:
    """Return the text of a type."""
    return f"memref<{''.join([f'{extent}x' for extent in shape])}{dtype}>"


def listed(values: Sequence[Any]) -> str:
    """Return the text of a list."""
    return f"[{', '.join([str(value) for value in values])}]"


class Writer:
    """Writes one function."""

    def __init__(self, draw: Any, dtypes: Sequence[str]) -> None:
        self.draw = draw
        self.dtypes = dtypes
        self.lines: list[str] = []
        self.buffers: list[Buffer] = []
        self.scalars: list[tuple[str, str]] = []
        self.indices: list[Index] = []
        self.done: list[tuple[str, str]] = []
        """Scalars that were computed, and their types."""
        self.visible: set[str] = {"A", "B", "C", "s", "R", "S", "T"}
        self.count = 0
        self.depth = 0

    def one(self, choices: Sequence[Any]) -> Any:
        """Draw one of several."""
        return self.draw(st.sampled_from(list(choices)))

    def often(self, weight: int = 50) -> bool:
        """Draw a truth, with a chance in percent."""
        return int(self.draw(st.integers(0, 99))) < weight

    def name(self) -> str:
        """Make a name: one of a few that is free here, or none."""
        self.count += 1
        name = self.one(["t", "u", "v", "", ""])
        name = name if name and name not in self.visible else str(self.count)
        self.visible.add(name)
        return name

    def line(self, text: str) -> None:
        self.lines.append("  " * (self.depth + 1) + text)

    def extent(self) -> int:
        return int(self.one([0, 1, 1, 2, 2, 3]))

    def shape(self, rank: int | None = None) -> Shape:
        return tuple([self.extent() for _ in range(self.one([0, 1, 2, 2, 3]) if rank is None else rank)])

    # --- operands -----------------------------------------------------------------------------------------------------

    def buffer(self, *, rank: int | None = None, dtype: str | None = None, loose: bool = False) -> Buffer:
        """Draw a buffer in scope, or make one: with `loose`, one that may be written to."""
        found = [
            b
            for b in self.buffers
            if (rank is None or len(b.shape) == rank) and dtype in (None, b.dtype) and not (loose and b.fixed)
        ]
        if found and self.often(85):
            return found[-1] if self.often(40) else self.one(found)
        return self.constant(self.shape(rank), dtype or self.one(self.dtypes))

    def bind(self, text: str, shape: Shape, dtype: str) -> Buffer:
        """Write a statement that makes a buffer."""
        name = self.name()
        self.line(f"%{name} = {text} : {memref(shape, dtype)}")
        self.buffers.append(Buffer(name, shape, dtype, False))
        return self.buffers[-1]

    def bind_scalar(self, text: str, dtype: str) -> None:
        name = self.name()
        self.line(f"%{name} = {text} : {dtype}")
        self.scalars.append((name, dtype))
        self.done.append((text, dtype))

    def constant(self, shape: Shape, dtype: str) -> Buffer:
        value = self.literal(dtype) if self.often(75) else self.scalar(dtype)
        return self.bind(f"buffer.constant({value})", shape, dtype)

    def literal(self, dtype: str) -> str:
        return str(self.one(NUMBERS[dtype]))

    def scalar(self, dtype: str) -> str:
        """Draw a scalar of a type: a name, a literal, or an operation."""
        found = [f"%{name}" for name, its in self.scalars if its == dtype]
        if dtype == "int64":
            found += [f"%{index.name}" for index in self.indices]
        first = self.one(found) if found and self.often(70) else self.literal(dtype)
        if found and self.often(30):
            return f"prog.{self.one(['add', 'mul', 'maximum'])}({self.one(found)}, {first})"
        return first

    def index(self, extent: int) -> str:
        """Draw an index below an extent."""
        found = [i for i in self.indices if i.values and i.values[0] >= 0 and i.values[-1] < extent]
        if found and self.often(70):
            return f"%{self.one(found).name}"
        if self.indices and self.often(30):
            name, source = self.name(), self.one(self.indices)
            self.line(f"%{name} = affine.apply(%{source.name}) {{map=affine_map<(d0) -> (d0 mod {extent})>}} : index")
            self.indices.append(Index(name, range(extent)))
            return f"%{name}"
        return str(self.draw(st.integers(0, extent - 1)))

    def element(self, buffer: Buffer) -> str:
        return f"%{buffer.name}[{', '.join([self.index(extent) for extent in buffer.shape if extent != 1])}]"

    # --- statements ---------------------------------------------------------------------------------------------------

    def statement(self) -> None:
        """Write one statement, and what it needs."""
        choices = (
            "constant read write transpose prod sum broadcast pad concat map_reduce aff shape index scalar again loop"
        )
        kind = self.one(choices.split())
        if kind == "loop" and self.depth >= 3:
            kind = "transpose"
        getattr(self, f"_{kind}")()

    def _constant(self) -> None:
        self.constant(self.shape(), self.one(self.dtypes))

    def _read(self) -> None:
        buffer = self.buffer()
        if 0 not in buffer.shape:
            self.bind_scalar(f"buffer.read {self.element(buffer)}", buffer.dtype)

    def _write(self) -> None:
        buffer = self.buffer(loose=True)
        if 0 not in buffer.shape:
            value = self.scalar(buffer.dtype)
            self.line(f"buffer.write {value}, {self.element(buffer)} : {buffer.dtype}")

    def _transpose(self) -> None:
        buffer = self.buffer(rank=2)
        self.bind(f"matrix.transpose(%{buffer.name})", buffer.shape[::-1], buffer.dtype)

    def _prod(self) -> None:
        first = self.buffer(rank=2)
        found = [
            b for b in self.buffers if len(b.shape) == 2 and b.dtype == first.dtype and b.shape[0] == first.shape[1]
        ]
        second = self.one(found) if found else self.constant((first.shape[1], self.extent()), first.dtype)
        shape = (first.shape[0], second.shape[1])
        self.bind(f"matrix.prod(%{first.name}, %{second.name})", shape, first.dtype)

    def _sum(self) -> None:
        buffer = self.buffer()
        self.bind_scalar(f"matrix.sum(%{buffer.name})", buffer.dtype)

    def _broadcast(self) -> None:
        buffer = self.buffer()
        source = [*buffer.shape, *[1] * self.one([0, 0, 0, 1])]
        target = [self.extent() if extent == 1 and self.often(50) else extent for extent in source]
        attrs = f"{{s_in={listed(source)}, s_out={listed(target)}}}"
        self.bind(f"matrix.broadcast(%{buffer.name}) {attrs}", tuple(target), buffer.dtype)

    def _pad(self) -> None:
        buffer = self.buffer()
        replicate = self.often(50)
        widths = [
            (0, 0) if self.often(50) or (replicate and extent == 0) else (self.one([0, 1, 4]), self.one([0, 2]))
            for extent in buffer.shape
        ]
        lo, hi = [low for low, _ in widths], [high for _, high in widths]
        target = [low + extent + high for (low, high), extent in zip(widths, buffer.shape, strict=True)]
        value = "" if replicate else f", {self.scalar(buffer.dtype)}"
        mode = "replicate" if replicate else "constant"
        attrs = (
            f"{{hi={listed(hi)}, lo={listed(lo)}, mode={mode}, s_in={listed(buffer.shape)}, s_out={listed(target)}}}"
        )
        self.bind(f"matrix.pad(%{buffer.name}{value}) {attrs}", tuple(target), buffer.dtype)

    def _concat(self) -> None:
        first = self.buffer(rank=self.one([1, 2, 2]))
        axis = self.draw(st.integers(0, len(first.shape) - 1))

        def rest(shape: Shape) -> list[int]:
            return [extent for place, extent in enumerate(shape) if place != axis]

        found = [
            b
            for b in self.buffers
            if b.dtype == first.dtype and len(b.shape) == len(first.shape) and rest(b.shape) == rest(first.shape)
        ]
        inputs = [self.one(found) for _ in range(self.one([1, 2, 3]))]
        shape = list(first.shape)
        shape[axis] = sum([buffer.shape[axis] for buffer in inputs])
        names = ", ".join([f"%{buffer.name}" for buffer in inputs])
        shapes = listed([listed(buffer.shape) for buffer in inputs])
        attrs = f"{{axis={axis}, s_out={listed(shape)}, shapes={shapes}}}"
        self.bind(f"matrix.concat({names}) {attrs}", tuple(shape), first.dtype)

    def _combiner(self, head: str, shape: Shape, dtype: str, *, undef: bool) -> None:
        """Write an operation of one input with a combiner."""
        yielded = self.one(["%x", "%x", "prog.mul(%x, %x)"] if undef else ["%acc", "%x", "prog.add(%acc, %x)"])
        self.visible |= {"acc", "x"}
        init = "undef" if undef else self.scalar(dtype)
        name = self.name()
        self.line(f"%{name} = {head.format(init=init)} : {memref(shape, dtype)} {{")
        self.line(f"^comb(%acc: {dtype}, %x: {dtype}):")
        self.line(f"  matrix.yield {yielded}")
        self.line("}")
        self.visible -= {"acc", "x"}
        self.buffers.append(Buffer(name, shape, dtype, False))

    def _map_reduce(self) -> None:
        buffer = self.buffer()
        rank = len(buffer.shape)
        kept = [axis for axis in range(rank) if self.often(70)]
        gaps = self.one([0, 0, 2])
        number = {axis: place for place, axis in enumerate(kept)}
        indices = [number.get(axis, len(kept) + gaps + 2 * axis) for axis in range(rank)]
        reduced = [buffer.shape[axis] for axis in range(rank) if axis not in number]
        undef = 0 not in reduced and self.often(50)
        shape = tuple([buffer.shape[axis] for axis in kept])
        head = f"matrix.map_reduce(%{buffer.name}) init({{init}}) {{{{indices=[{listed(indices)}]}}}}"
        self._combiner(head, shape, buffer.dtype, undef=undef)

    def _aff(self) -> None:
        buffer = self.buffer()
        dims = [f"d{axis}" for axis in range(len(buffer.shape))]
        same = [f"{dim}{self.one(['', ' + 0', ' * 1', ' floordiv 1', ' mod 7'])}" for dim in dims]
        start = f"affine_map<({', '.join(dims)}) -> ("
        attrs = (
            f"bounds={listed(buffer.shape)}, in_maps=[{start}{', '.join(same)})>], out_map={start}{', '.join(dims)})>"
        )
        head = f"matrix.map_reduce_aff(%{buffer.name}) init({{init}}) {{{{{attrs}}}}}"
        self._combiner(head, buffer.shape, buffer.dtype, undef=self.often(50))

    def _shape(self) -> None:
        buffer = self.buffer()
        if buffer.shape:
            axis = self.draw(st.integers(0, len(buffer.shape) - 1))
            name = self.name()
            self.line(f"%{name} = buffer.shape(%{buffer.name}) {{axis={axis}}} : index")
            self.indices.append(Index(name, range(buffer.shape[axis], buffer.shape[axis] + 1)))

    def _index(self) -> None:
        if not self.indices:
            return
        first, second = self.one(self.indices), self.one(self.indices)
        name = self.name()
        parts = [
            "d0",
            "d0 + 0",
            "d1 * 1",
            "d0 * 0",
            "d1 mod 1",
            "-d0",
            "d0 - d1",
            "(d0 - 3) floordiv 2",
            "d1 ceildiv 1",
        ]
        results = [
            f"{self.one(parts)} {self.one(['+', '-'])} {self.one(['0', '0', '1', '-2'])}"
            for _ in range(self.one([1, 2]))
        ]
        op = self.one(["min", "max"]) if len(results) > 1 else self.one(["apply", "apply", "min"])
        map_ = f"affine_map<(d0, d1) -> ({', '.join(results)})>"
        self.line(f"%{name} = affine.{op}(%{first.name}, %{second.name}) {{map={map_}}} : index")
        self.indices.append(Index(name, range(-1000, 1000)))

    def _scalar(self) -> None:
        dtype = self.one(self.dtypes)
        self.bind_scalar(f"prog.add({self.scalar(dtype)}, {self.scalar(dtype)})", dtype)

    def _again(self) -> None:
        """Compute a scalar once more."""
        if self.done:
            self.bind_scalar(*self.one(self.done))

    def _loop(self) -> None:
        """Write a loop of a few trips that may carry values."""
        lower, step = self.one([0, 0, 1, -1]), self.one([1, 1, 2])
        trips = self.one([0, 1, 1, 2, 3])
        upper = lower + trips * step
        bounds = [str(lower), str(upper)]
        for place, bound in enumerate((lower, upper)):
            found = [index for index in self.indices if list(index.values) == [bound]]
            if found and self.often(60):
                bounds[place] = f"%{self.one(found).name}"
        carried = [(self.one(self.dtypes), self.name()) for _ in range(self.one([0, 0, 1, 2]))]
        inits = [self.scalar(dtype) for dtype, _ in carried]
        kept = (len(self.buffers), len(self.scalars), len(self.indices), len(self.done), set(self.visible))
        params = [(dtype, self.name()) for dtype, _ in carried]
        variable = self.name()
        results = ", ".join([f"%{name}" for _, name in carried])
        text = f"affine.for %{variable} = {bounds[0]} to {bounds[1]} step {step}"
        if carried:
            pairs = [f"%{name} = {init}" for (_, name), init in zip(params, inits, strict=True)]
            text = f"{results} = {text} iter({', '.join(pairs)})"
        types = f" : {', '.join([dtype for dtype, _ in carried])}" if carried else ""
        self.line(f"{text} {{kind=serial}}{types} {{")
        self.depth += 1
        self.indices.append(Index(variable, range(lower, max(upper, lower + 1), step)))
        self.scalars += [(name, dtype) for dtype, name in params]
        for _ in range(self.one([1, 2, 4])):
            self.statement()
        if carried:
            self.line(f"affine.yield {', '.join([self.scalar(dtype) for dtype, _ in carried])}")
        self.depth -= 1
        self.line("}")
        del self.buffers[kept[0] :], self.scalars[kept[1] :], self.indices[kept[2] :], self.done[kept[3] :]
        self.visible = kept[4]
        self.scalars += [(name, dtype) for dtype, name in carried]

    # --- the function -------------------------------------------------------------------------------------------------

    def function(self) -> str:
        """Write a function that returns two buffers and a scalar."""
        self.buffers = [Buffer(name, self.shape(), self.one(self.dtypes), True) for name in "ABC"]
        self.scalars = [("s", self.one(self.dtypes))]
        params = [f"%{buffer.name}: {buffer.type}" for buffer in self.buffers] + [f"%s: {self.scalars[0][1]}"]
        for _ in range(self.one([2, 5, 9])):
            self.statement()
        first, second = self.buffer(), self.buffer()
        dtype = self.one(self.dtypes)
        value = self.scalar(dtype)
        results = f"%R: {first.type}, %S: {second.type}, %T: {dtype}"
        body = "\n".join(self.lines)
        returned = f"  buffer.return %{first.name}, %{second.name}, {value}"
        return f"buffer.func @f({', '.join(params)}) -> ({results}) {{\n{body}\n{returned}\n}}\n"


@st.composite
def modules(draw: Any, dtypes: Sequence[str] = tuple(NUMBERS)) -> Node:
    """Draw a module of one function on elements of some types."""
    module: Node = sc.parse(Writer(draw, dtypes).function())
    return module


def inputs_of(function: Node, seed: int = 0) -> dict[str, Any]:
    """Return arguments for a function: small numbers."""
    rng = np.random.default_rng(seed)
    found = {}
    for param in build.params_of(function.args[-1]):
        shape = param.type.shape if isinstance(param.type, MemRefType) else ()
        found[param.attrs["name"]] = rng.integers(-9, 9, shape).astype(str(param.dtype))
    return found
