"""Random functions of matrices, loops and buffers that have a meaning, and arrays to run them on.

Every operation, axes of extents 0 to 4, up to three of them, all element types, combiners, storage in loops, carried
values and index expressions. Nothing is read that was not written, no index is out of range, and trips of loops of kind
``global`` do not depend on each other. Floats have no minima and maxima, where the sign of a zero is free.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
from hypothesis import strategies as st

import scaly_ir as sc
from scaly_ir.dialects.affine.maps import AffineMap, read_map
from scaly_ir.dialects.buffer import build
from scaly_ir.dialects.buffer.types import folded, scalar_type
from scaly_ir.graph import Node
from scaly_ir.types import MemRefType
from tests.dialects.matrix.writer import DTYPES, FLOATS, INTEGERS, Buffer, Counter, Shape, Writer, memref

_SIZE: Final = 64
"""The most elements of a buffer that is made."""


def _listed(values: Sequence[object]) -> str:
    return f"[{', '.join(map(str, values))}]"


class FunctionWriter(Writer):
    """Writes a function of random statements."""

    def read(self) -> None:
        """Read an element."""
        found = [buffer for buffer in self.buffers if 0 not in buffer.shape]
        buffer = self.one_of(found) if found else self.parameter((2,), self.numeric())
        element, name = self.element(buffer), self.name()
        self.line(f"%{name} = buffer.read {element} : {buffer.dtype}")
        self.scalars.append((name, buffer.dtype))

    def let(self) -> None:
        """Name a scalar."""
        dtype = self.one_of(self.dtypes)
        scalar = self._applied(dtype, 1)
        name = self.name()
        self.line(f"%{name} = {scalar} : {dtype}")
        self.scalars.append((name, dtype))

    def write(self) -> None:
        """Write an element of a buffer that is written already."""
        found = [buffer for buffer in self.buffers if buffer.is_writable and 0 not in buffer.shape]
        if not found:
            self.constant()
            return
        buffer = self.one_of(found)
        element = self.element(buffer)
        self.line(f"buffer.write {self.scalar(buffer.dtype)}, {element} : {buffer.dtype}")

    def constant(self) -> None:
        """Make a buffer of one value."""
        dtype = self.one_of(self.dtypes)
        self.made(self.extents(self.integer(0, 2)), dtype, f"buffer.constant({self.scalar(dtype)})")

    def shape(self) -> None:
        """Take an extent as a scalar."""
        found = [buffer for buffer in self.buffers if buffer.shape]
        buffer = self.one_of(found) if found else self.parameter((3, 2), self.numeric())
        name = self.name()
        self.line(f"%{name} = buffer.shape(%{buffer.name}) {{axis={self.integer(0, len(buffer.shape) - 1)}}} : index")
        self.scalars.append((name, "int64"))

    def prod(self) -> None:
        """Multiply matrices."""
        dtype = self.numeric()
        first = self.buffer(
            lambda each: len(each.shape) == 2 and each.dtype == dtype, lambda: self.extents(2), lambda: dtype
        )
        second = self.buffer(
            lambda each: len(each.shape) == 2 and (each.shape[0], each.dtype) == (first.shape[1], dtype),
            lambda: (first.shape[1], self.integer(0, 3)),
            lambda: dtype,
        )
        self.made((first.shape[0], second.shape[1]), dtype, f"matrix.prod(%{first.name}, %{second.name})")

    def transpose(self) -> None:
        """Transpose a matrix."""
        source = self.buffer(
            lambda each: len(each.shape) == 2, lambda: self.extents(2), lambda: str(self.one_of(self.dtypes))
        )
        self.made(source.shape[::-1], source.dtype, f"matrix.transpose(%{source.name})")

    def sum(self) -> None:
        """Add up a buffer."""
        source = self.buffer(lambda each: each.dtype != "bool", lambda: self.extents(self.integer(0, 3)), self.numeric)
        name = self.name()
        self.line(f"%{name} = matrix.sum(%{source.name}) : {source.dtype}")
        self.scalars.append((name, source.dtype))

    def _unfolded(self, shape: Shape, rank: int) -> Shape:
        """Choose a shape of the same elements with other axes of extent 1, if there are enough axes."""
        axes = list(folded(shape))
        while len(axes) < rank:
            axes.insert(self.integer(0, len(axes)), 1)
        return tuple(axes)

    def broadcast(self) -> None:
        """Stretch axes."""
        source = self.any_buffer()
        s_in = self._unfolded(source.shape, self.integer(0, 3))
        s_out = tuple([self.one_of((1, 2, 3, 0)) if extent == 1 else extent for extent in s_in])
        if math.prod(s_out) <= _SIZE:
            self.made(
                s_out,
                source.dtype,
                f"matrix.broadcast(%{source.name}) {{s_in={_listed(s_in)}, s_out={_listed(s_out)}}}",
            )

    def pad(self) -> None:
        """Surround a buffer with elements."""
        source = self.any_buffer()
        s_in = self._unfolded(source.shape, self.integer(0, 3))
        mode = self.one_of(("constant", "replicate"))
        lows, highs = [
            [0 if mode == "replicate" and extent == 0 else self.one_of((0, 1, 0, 2)) for extent in s_in] for _ in "lh"
        ]
        s_out = tuple([low + extent + high for low, extent, high in zip(lows, s_in, highs, strict=True)])
        value = f", {self.scalar(source.dtype)}" if mode == "constant" else ""
        if math.prod(s_out) <= 4 * _SIZE:
            attrs = (
                f"hi={_listed(highs)}, lo={_listed(lows)}, mode={mode}, s_in={_listed(s_in)}, s_out={_listed(s_out)}"
            )
            self.made(s_out, source.dtype, f"matrix.pad(%{source.name}{value}) {{{attrs}}}")

    def concat(self) -> None:
        """Put buffers side by side."""
        first = self.any_buffer()
        shape = self._unfolded(first.shape, 1)
        axis = self.integer(0, len(shape) - 1)
        inputs, shapes = [first], [shape]
        for _ in range(self.integer(0, 2)):
            block = tuple([self.integer(0, 2) if number == axis else n for number, n in enumerate(shape)])
            inputs.append(self.like(block, first.dtype))
            shapes.append(block)
        s_out = tuple([sum([each[axis] for each in shapes]) if number == axis else n for number, n in enumerate(shape)])
        names = ", ".join([f"%{each.name}" for each in inputs])
        attrs = f"axis={axis}, s_out={_listed(s_out)}, shapes={_listed([_listed(each) for each in shapes])}"
        self.made(s_out, first.dtype, f"matrix.concat({names}) {{{attrs}}}")

    def _combine(self, result: Shape, dtype: str, inputs: Sequence[Buffer], head: str, *, undef: bool) -> None:
        """Write an operation with a combiner; without a first value, that does not read its accumulator."""
        init = "undef" if undef else self.scalar(dtype)
        name, names = self.name(), ", ".join([f"%{each.name}" for each in inputs])
        op, _, attrs = head.partition(" ")
        self.line(f"%{name} = {op}({names}) init({init}) {attrs} : {memref(result, dtype)} {{")
        with self.scope():
            params = [(self.name("acc"), dtype), *[(self.name("e"), each.dtype) for each in inputs]]
            self.scalars += params[undef:]
            self._depth -= 1
            self.line(f"^comb({', '.join([f'%{param}: {type_}' for param, type_ in params])}):")
            self._depth += 1
            for _ in range(self.integer(0, 2)):
                self.let()
            self.line(f"matrix.yield {self.scalar(dtype)}")
        self.line("}")
        self.buffers.append(Buffer(name, result, dtype, True))

    def map_reduce(self) -> None:
        """Combine elements whose indices agree."""
        rank = self.integer(0, 2)
        extents = dict(enumerate(self.extents(rank)))
        for number in range(rank, rank + self.integer(0, 2)):
            extents[number + self.integer(0, 1) * (number > rank)] = self.one_of((2, 3, 1, 0, 2))
        numbers, dtype = sorted(extents), str(self.one_of(self.dtypes))
        inputs, indices = [], []
        for _ in range(self.integer(0, 2)):
            own = [self.one_of(numbers) for _ in range(self.integer(0, 3))] if numbers else []
            shape = tuple([extents[number] for number in own])
            if math.prod(shape) <= _SIZE:
                indices.append(own)
                inputs.append(self.of(shape, str(self.one_of(self.dtypes))))
        used = {number for own in indices for number in own if number >= rank}
        result = tuple([extents[number] for number in range(rank)])
        may_be_undef = 0 in result or all([extents[number] for number in used])
        head = f"matrix.map_reduce {{indices={_listed([_listed(own) for own in indices])}}}"
        self._combine(result, dtype, inputs, head, undef=may_be_undef and self.flag())

    def map_reduce_aff(self) -> None:
        """Combine elements that maps name."""
        rank = self.integer(0, 2)
        bounds = (*self.extents(rank), *self.extents(self.integer(0, 2)))
        dims = f"({', '.join([f'd{number}' for number in range(len(bounds))])})"
        order = self.draw(st.permutations(range(rank)))
        places = [(dim, self.integer(1, 2), self.integer(0, 1)) for dim in order]
        out_map = f"{dims} -> ({', '.join([f'd{dim} * {scale} + {shift}' for dim, scale, shift in places])})"
        extras = [self.integer(0, 1) for _ in places]
        result = tuple(
            [
                max(0, (bounds[dim] - 1) * scale + shift + 1) + extra
                for (dim, scale, shift), extra in zip(places, extras, strict=True)
            ]
        )
        has_holes = math.prod(bounds[:rank]) < math.prod(result)
        inputs, in_maps = [], []
        dtype = str(self.one_of(self.dtypes))
        for _ in range(self.integer(0, 2)):
            results = [self._map_result(len(bounds)) for _ in range(self.integer(0, 2))]
            in_map = f"{dims} -> ({', '.join(results)})"
            shape = _reach(read_map(f"affine_map<{in_map}>"), bounds)
            if math.prod(shape) <= 4 * _SIZE:
                in_maps.append(f"affine_map<{in_map}>")
                inputs.append(self.of(shape, str(self.one_of(self.dtypes))))
        if math.prod(result) <= 4 * _SIZE:
            may_be_undef = not has_holes and (0 in result or 0 not in bounds[rank:])
            head = (
                f"matrix.map_reduce_aff {{bounds={_listed(bounds)}, in_maps={_listed(in_maps)}, "
                f"out_map=affine_map<{out_map}>}}"
            )
            self._combine(result, dtype, inputs, head, undef=may_be_undef and self.flag())

    def _map_result(self, dims: int) -> str:
        if not dims or self.integer(0, 4) == 0:
            return str(self.integer(0, 2))
        first, second = self.integer(0, dims - 1), self.integer(0, dims - 1)
        return str(
            self.one_of(
                (
                    f"d{first}",
                    f"d{first} * 2 + d{second}",
                    f"(d{first} + 3) floordiv 2",
                    f"d{first} ceildiv 2 + d{second} * 0",
                    f"(d{first} * 3 - d{second}) mod 4",
                    f"-d{first} + 3",
                )
            )
        )

    def filled(self) -> None:
        """Make a buffer of which loops write each element."""
        dtype, axes = str(self.one_of(self.dtypes)), self.extents(self.integer(0, 2))
        buffer = Buffer(self.name(), axes, dtype, True)
        self.line(f"%{buffer.name} = buffer.alloc : {buffer.type}")
        kind = self.one_of(("global", "serial"))
        self._fill(buffer, list(folded(axes)), kind, [])
        self.buffers.append(buffer)

    def _fill(self, buffer: Buffer, axes: list[int], kind: str, indices: list[str]) -> None:
        if axes:
            with self.loop(axes[0], kind) as variable:
                self._fill(buffer, axes[1:], kind, [*indices, f"%{variable}"])
            return
        for _ in range(self.integer(0, 2)):
            self.one_of((self.read, self.let, self.read, self.constant, self.sum))()
        self.line(f"buffer.write {self.scalar(buffer.dtype)}, %{buffer.name}[{', '.join(indices)}] : {buffer.dtype}")

    def ordered(self) -> None:
        """Write a loop whose trips depend on each other, with whatever statements."""
        with self.loop(self.integer(0, 3), self.one_of(("serial", "reduce")), step=self.integer(1, 2)):
            self.statements(self.integer(1, 3))

    def carried(self) -> None:
        """Write a loop that carries values."""
        types = [str(self.one_of(self.dtypes)) for _ in range(self.integer(1, 2))]
        inits = [self.scalar(dtype) for dtype in types]
        results = [self.name() for _ in types]
        with_trips = self.integer(0, 3)
        # What a loop carries is visible in it alone; names are taken before so that the head can be written.
        with self.scope():
            self._depth -= 1
            params = [self.name(self.one_of(("acc", "s"))) for _ in types]
            values = ", ".join([f"%{param} = {init}" for param, init in zip(params, inits, strict=True)])
            kind = self.one_of(("serial", "reduce"))
            variable = self.name("i")
            self.line(
                f"{', '.join([f'%{each}' for each in results])} = affine.for %{variable} = 0 to {with_trips} step 1 "
                f"iter({values}) {{kind={kind}}} : {', '.join(types)} {{"
            )
            with self.scope():
                self.counters.append(Counter(variable, with_trips))
                self.scalars += list(zip(params, types, strict=True))
                self.statements(self.integer(0, 3))
                self.line(f"affine.yield {', '.join([self.scalar(dtype) for dtype in types])}")
            self.line("}")
            self._depth += 1
        self.scalars += list(zip(results, types, strict=True))

    def statements(self, count: int) -> None:
        """Write statements."""
        simple = (self.read, self.let, self.write, self.read, self.constant, self.shape)
        matrix = (self.prod, self.transpose, self.sum, self.broadcast, self.pad, self.concat)
        general = (self.map_reduce, self.map_reduce_aff, self.filled)
        loops = (self.ordered, self.carried) if self._depth < 3 else ()
        for _ in range(count):
            self.one_of((*simple, *matrix, *general, *general, *loops))()

    def results(self) -> tuple[str, str]:
        """Choose what the function returns: the declarations and the values."""
        declared, values = [], []
        for number in range(self.integer(1, 4)):
            if self.buffers and self.integer(0, 3):
                buffer = self.buffers[-1 - min(self.integer(0, 3), len(self.buffers) - 1)]
                shape = self._unfolded(buffer.shape, self.integer(0, 3)) if self.flag() else buffer.shape
                declared.append(f"%r{number}: {memref(shape, buffer.dtype)}")
                values.append(f"%{buffer.name}")
            else:
                dtype = self.one_of(self.dtypes)
                declared.append(f"%r{number}: {dtype}")
                values.append(self.scalar(dtype))
        return ", ".join(declared), ", ".join(values)

    def function(self, count: int) -> str:
        """Return the text of a function with so many statements at the top."""
        if self.flag():
            self.scalar_parameter(str(self.one_of(self.dtypes)))
        self.statements(count)
        declared, values = self.results()
        body = "\n".join(self.lines)
        return f"buffer.func @f({', '.join(self.params)}) -> ({declared}) {{\n{body}\n  buffer.return {values}\n}}\n"


def _reach(map_: AffineMap, bounds: Shape) -> Shape:
    """Return the extents that hold all that a map gives over a box."""
    points = [map_(point) for point in np.ndindex(*bounds)]
    return tuple([1 + max(values) for values in zip(*points, strict=True)]) if points else (2,) * len(map_.results)


@st.composite
def modules(draw: Callable[..., Any], *, most: int = 6, dtypes: Sequence[str] = DTYPES) -> Node:
    """Return a module with one function that has a meaning for any arrays."""
    writer = FunctionWriter(draw, dtypes=dtypes)
    text = writer.function(writer.integer(1, most))
    root = sc.parse(text)
    assert isinstance(root, Node)
    return root


_NUMBERS: Final = (0, 1, -1, 2, 3, -7, 0.5, 0.1, 1e10, -3.25, 100, -0.0, 65536, 2**31 - 1, -(2**31))


def arrays_of(function: Node, seed: int = 0) -> list[np.ndarray[Any, Any]]:
    """Return an array for each parameter of a function; those of scalars have no axes."""
    random = np.random.default_rng(seed)
    return [_array(param.type, random) for param in build.params_of(function.args[-1])]


def _array(type_: Any, random: np.random.Generator) -> np.ndarray[Any, Any]:
    dtype = str(scalar_type(type_))
    shape = type_.shape if isinstance(type_, MemRefType) else ()
    if dtype == "bool":
        return random.integers(0, 2, shape).astype(bool)
    numbers = [number for number in _NUMBERS if dtype in FLOATS or float(number).is_integer()]
    kept = [number for number in numbers if dtype not in INTEGERS or -(2**31) <= number < 2**31]
    return np.array(random.choice(np.array(kept, dtype=np.float64), shape)).astype(dtype)
