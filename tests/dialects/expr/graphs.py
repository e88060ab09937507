"""Random valid graphs of `expr`: every operation on small shapes of every dtype, with zero extents and scalars."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
from hypothesis import strategies as st

from scaly_ir.dialects.expr import build, ops
from scaly_ir.dialects.expr.ingest import make_const
from scaly_ir.dialects.expr.node import Expr
from scaly_ir.op import Op
from scaly_ir.tables import Table
from scaly_ir.tensors import TensorType
from scaly_ir.types import DTYPES, DType
from tests.dialects.expr import reference

Array = np.ndarray[Any, Any]
Draw = Callable[[Any], Any]

SHAPES: Final = st.lists(st.sampled_from([0, 1, 2, 3]), max_size=3).map(tuple)
_FLOATS: Final = (0.0, -0.0, 1.0, -1.0, 0.5, 2.5, -2.9, 1e30, -1e-30, 3e38, 1e308, 5e-324, np.inf, -np.inf, np.nan)


def values(rng: np.random.Generator, dtype: str, shape: tuple[int, ...]) -> Array:
    """Numbers of a dtype: random ones, and those at the ends and edges."""
    wanted = np.dtype(dtype)
    size = int(np.prod(shape))
    if wanted.kind == "b":
        return rng.integers(0, 2, size).astype(bool).reshape(shape)
    with np.errstate(all="ignore"):
        if wanted.kind == "i":
            limits = np.iinfo(wanted)
            edges = np.array([0, 1, -1, 2, 3, -7, limits.min, limits.max, limits.min + 1], wanted)
            plain = rng.integers(-4, 5, size).astype(wanted)
        else:
            edges, plain = np.array(_FLOATS).astype(wanted), rng.normal(size=size).astype(wanted)
    return np.where(rng.random(size) < 0.35, rng.choice(edges, size), plain).astype(wanted).reshape(shape)


class Maker:
    """Makes operations on what was made before, on new inputs and on constants."""

    def __init__(self, draw: Draw) -> None:
        self.draw = draw
        self.rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
        self.made: list[Expr] = []
        self.inputs = 0

    def any_of(self, choices: Any) -> Any:
        return self.draw(st.sampled_from(list(choices)))

    def dtype(self, kinds: str = "bif") -> DType:
        return self.any_of([dtype for dtype in DTYPES if reference.KINDS[dtype] in kinds])  # type: ignore[no-any-return]

    def shape(self) -> tuple[int, ...]:
        return self.draw(SHAPES)  # type: ignore[no-any-return]

    def operand(self, dtype: DType, shape: tuple[int, ...]) -> Expr:
        """An expression of the dtype and shape."""
        fitting = [each for each in self.made if each.type.dtype is dtype and each.shape == shape]
        if fitting and self.draw(st.booleans()):
            return self.any_of(fitting)  # type: ignore[no-any-return]
        if self.draw(st.integers(0, 3)) == 0:
            return make_const(Table.from_array(values(self.rng, dtype, shape)))
        self.inputs += 1
        return build.sym(f"x{self.inputs}", shape, dtype=dtype, diff=self.draw(st.booleans()))

    def stretched(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """A shape that broadcasts to another."""
        kept = shape[self.draw(st.integers(0, len(shape))) :]
        return tuple([1 if self.draw(st.booleans()) and self.draw(st.booleans()) else extent for extent in kept])

    def index(self, shape: tuple[int, ...], extent: int) -> Expr:
        """Positions: constants, nearly all in bounds, or computed ones."""
        if self.draw(st.booleans()):
            return self.operand(DType("int64"), shape)
        positions = self.rng.integers(0, max(extent, 1), shape)
        return make_const(Table.from_array(np.asarray(positions, np.int64)))

    def make(self, name: str) -> Expr:
        """A valid operation of that name."""
        made = getattr(self, f"_{name}", self._elementwise)(name)
        self.made.append(made)
        return made

    def _elementwise(self, name: str) -> Expr:
        dtype, shape = self.dtype(reference.ACCEPTED[name]), self.shape()
        args = [self.operand(dtype, shape), *[self.operand(dtype, self.stretched(shape))] * (reference.ARITY[name] - 1)]
        self.draw(st.randoms(use_true_random=False)).shuffle(args)
        return build.make(Op.get(f"expr.{name}"), args)

    def _select(self, name: str) -> Expr:
        dtype, shape = self.dtype(), self.shape()
        condition = self.operand(DType("bool"), self.stretched(shape))
        return build.where(condition, self.operand(dtype, shape), self.operand(dtype, self.stretched(shape)))

    def _cast(self, name: str) -> Expr:
        shape = self.shape()
        return build.make(ops.CAST, [self.operand(self.dtype(), shape)], stated=TensorType(shape, self.dtype("if")))

    def _reduce(self, name: str) -> Expr:
        kind, shape = self.any_of(ops.REDUCTIONS), self.shape()
        if kind != "add":
            shape = tuple([max(extent, 1) for extent in shape])
        axes = [axis for axis in range(len(shape)) if self.draw(st.booleans())]
        x = self.operand(self.dtype("if" if kind == "add" else "bif"), shape)
        return build.make(ops.REDUCE, [x], {"axes": axes, "kind": kind})

    def _reshape(self, name: str) -> Expr:
        x = self.operand(self.dtype(), self.shape())
        return build.reshape(x, self.any_of([(x.size,), x.shape, x.shape[::-1], (1, *x.shape), (*x.shape, 1)]))

    def _transpose(self, name: str) -> Expr:
        x = self.operand(self.dtype(), self.shape())
        axes = list(range(x.ndim))
        self.draw(st.randoms(use_true_random=False)).shuffle(axes)
        return build.make(ops.TRANSPOSE, [x], {"axes": axes})

    def _slice(self, name: str) -> Expr:
        x = self.operand(self.dtype(), self.shape())
        bounds, steps = [None, *range(-4, 5)], [None, 1, 2, 3, -1, -2, -3]
        items: list[Any] = []
        for extent in x.shape:
            if extent and self.draw(st.booleans()):
                items.append(self.any_of(range(-extent, extent)))
            else:
                items.append(slice(self.any_of(bounds), self.any_of(bounds), self.any_of(steps)))
        return x[tuple(items)]

    def _lines(self, x: Expr) -> tuple[int | None, int, tuple[int, ...], tuple[int, ...]]:
        """An axis, its extent, and the extents around it."""
        axis = self.any_of([None, *range(x.ndim)])
        if axis is None:
            return None, x.size, (), ()
        return axis, x.shape[axis], x.shape[:axis], x.shape[axis + 1 :]

    def _mode(self, idx: Expr, extent: int) -> str:
        positions = idx.value
        inside = positions is not None and bool(np.all((positions >= 0) & (positions < extent)))
        mode: str = self.any_of(ops.MODES) if inside else "fill"
        return mode

    def _gather(self, name: str) -> Expr:
        x = self.operand(self.dtype(), self.shape())
        axis, extent, _, _ = self._lines(x)
        idx = self.index(self.shape()[:2], extent)
        attrs: dict[str, Any] = {"axis": axis, "mode": self._mode(idx, extent)}
        if attrs["mode"] == "fill":
            attrs["fill"] = {"b": True, "i": -3, "f": 0.25}[reference.KINDS[x.type.dtype]]
        return build.make(ops.GATHER, [x, idx], attrs)

    def _scatter(self, name: str) -> Expr:
        combine = self.any_of(ops.COMBINATIONS)
        base = self.operand(self.dtype("bif" if combine == "set" else "if"), self.shape())
        axis, extent, before, after = self._lines(base)
        idx = self.index(self.shape()[:2], extent)
        given = self.operand(base.type.dtype, (*before, *idx.shape, *after))
        attrs = {"axis": axis, "combine": combine, "mode": self._mode(idx, extent)}
        return build.make(ops.SCATTER, [base, idx, given], attrs)

    def _stack(self, name: str) -> Expr:
        dtype, shape = self.dtype(), self.shape()
        parts = [self.operand(dtype, shape) for _ in range(self.draw(st.integers(1, 3)))]
        return build.stack(parts, axis=self.draw(st.integers(0, len(shape))))

    def _concat(self, name: str) -> Expr:
        dtype, shape = self.dtype(), (*self.shape()[:2], 2)
        axis = self.draw(st.integers(0, len(shape) - 1))
        extents = self.draw(st.lists(st.integers(0, 3), min_size=1, max_size=3))
        parts = [self.operand(dtype, (*shape[:axis], extent, *shape[axis + 1 :])) for extent in extents]
        return build.concat(parts, axis=axis)

    def _matmul(self, name: str) -> Expr:
        dtype, (n, k, m) = self.dtype("if"), [self.any_of([0, 1, 2, 3]) for _ in range(3)]
        batch = self.shape()[:2]
        left = self.any_of([(k,), (n, k), (*batch, n, k), (*self.stretched(batch), n, k)])
        right = self.any_of([(k,), (k, m), (*batch, k, m), (*self.stretched(batch), k, m)])
        return build.matmul(self.operand(dtype, left), self.operand(dtype, right))


@st.composite
def operations(draw: Draw, name: str | None = None) -> Expr:
    """One valid operation, of a given name or any, on inputs and constants."""
    maker = Maker(draw)
    return maker.make(maker.any_of(reference.NAMES) if name is None else name)


@st.composite
def graphs(draw: Draw, most: int = 8) -> list[Expr]:
    """Some operations that are made of each other."""
    maker = Maker(draw)
    return [maker.make(maker.any_of(reference.NAMES)) for _ in range(draw(st.integers(1, most)))]
