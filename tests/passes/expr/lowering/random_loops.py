"""Random functions with calls, maps and loops: bodies of every kind, carries of every dtype, windows that overlap."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from hypothesis import strategies as st

import scaly_ir as sc
from scaly_ir.dialects.expr import build, ops

Draw = Callable[[Any], Any]
Types = Sequence[tuple[str, tuple[int, ...]]]

SHAPES: Final = ((), (1,), (2,), (3,), (2, 2), (0,))
KINDS: Final = {"float64": 0.0, "int64": 0, "bool": False}
_NUMBERS: Final = itertools.count()


class Case(NamedTuple):
    """A function and values for its inputs."""

    function: sc.Function
    values: dict[str, np.ndarray[Any, Any]]


def numbers(seed: int, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    """Small numbers, some of them odd."""
    rng = np.random.default_rng(seed)
    plain = rng.integers(-8, 9, shape) / 4
    return np.where(rng.random(shape) < 0.1, rng.choice([-0.0, np.inf, np.nan, 1e300], shape), plain)


class Maker:
    """Makes random expressions of what is given."""

    def __init__(self, draw: Draw, given: Sequence[sc.Expr], *, depth: int = 1) -> None:
        self.draw = draw
        self.pool = list(given)
        self.depth = depth

    def of(self, dtype: str, shape: tuple[int, ...]) -> sc.Expr:
        """An expression of a type: something given or constant, or made of these."""
        for _ in range(self.draw(st.integers(0, 3))):
            self._grow()
        found = self._value(dtype, shape)
        return self.draw(st.sampled_from([found, self._combined(found, dtype, shape)]))  # type: ignore[no-any-return]

    def _value(self, dtype: str, shape: tuple[int, ...]) -> sc.Expr:
        fitting = [each for each in self.pool if str(each.type.dtype) == dtype]
        exact = [each for each in fitting if each.type.shape == shape]
        if exact and self.draw(st.integers(0, 3)):
            return self.draw(st.sampled_from(exact))  # type: ignore[no-any-return]
        size = int(np.prod(shape))
        larger = [each for each in fitting if each.type.size >= size]
        if larger and self.draw(st.integers(0, 3)):
            flat = build.reshape(self.draw(st.sampled_from(larger)), (-1,))
            start = self.draw(st.integers(0, flat.size - size))
            return build.reshape(flat[start : start + size], shape)
        value = self.draw(st.integers(-3, 3))
        return sc.const(np.full(shape, value, dtype))

    def _combined(self, x: sc.Expr, dtype: str, shape: tuple[int, ...]) -> sc.Expr:
        y = self._value(dtype, self.draw(st.sampled_from([shape, shape[1:], ()])))
        if dtype == "bool":
            return self.draw(st.sampled_from([x & y, x | y, ~x]))  # type: ignore[no-any-return]
        return self.draw(st.sampled_from([x + y, x - y, x * y, sc.where(sc.less(x, y), x, y + x)]))  # type: ignore[no-any-return]

    def _grow(self) -> None:
        """Add an expression to what there is."""
        way = self.draw(st.sampled_from(["cast", "compare", "combine", "call", "map", "scan"]))
        x = self.draw(st.sampled_from(self.pool)) if self.pool else sc.const(1.0)
        dtype, shape = str(x.type.dtype), x.type.shape
        if way == "cast" and dtype != "float64":
            self.pool.append(sc.cast(x, "float64"))
        elif way == "compare" and dtype != "bool":
            self.pool.append(sc.less(x, self._value(dtype, shape)))
        elif way == "combine":
            self.pool.append(self._combined(x, dtype, shape))
        elif way in ("call", "map", "scan") and self.depth > 0:
            self.pool.extend(getattr(self, f"_{way}")())

    def _call(self) -> list[sc.Expr]:
        types = [("float64", self.draw(st.sampled_from(SHAPES))) for _ in range(self.draw(st.integers(1, 2)))]
        callee = body(self.draw, "callee", types, types[:1] * self.draw(st.integers(1, 2)), depth=self.depth - 1)
        return list(_many(callee.symbolic_call(*[self._value(*each) for each in types])))

    def _map(self) -> list[sc.Expr]:
        return loop(self.draw, self, "mapped", carries=[], depth=self.depth - 1)

    def _scan(self) -> list[sc.Expr]:
        carry = self.draw(st.sampled_from([(dtype, shape) for dtype in KINDS for shape in SHAPES[:3]]))
        return loop(self.draw, self, "inner", carries=[carry], depth=self.depth - 1)


def _many(results: Any) -> Sequence[Any]:
    return results if isinstance(results, tuple | list) else (results,)


def body(draw: Draw, name: str, inputs: Types, outputs: Types, *, depth: int = 0) -> sc.Function:
    """A random function of a signature."""
    formals = [sc.sym(f"a{number}", shape, dtype=dtype) for number, (dtype, shape) in enumerate(inputs)]
    maker = Maker(draw, formals, depth=depth)
    results = [maker.of(*each) for each in outputs]
    names = [f"r{number}" for number in range(len(outputs))]
    return sc.Function.from_exprs(f"{name}_{next(_NUMBERS)}", formals, results, None, names)


def loop(
    draw: Draw,
    maker: Maker,
    name: str,
    *,
    carries: Types,
    depth: int = 0,
    conditional: bool = False,
    trip: bool = False,
) -> list[sc.Expr]:
    """Some results of a random loop."""
    length = draw(st.integers(0, 5))
    is_map = not carries and not trip
    dtypes = ["float64"] if is_map else list(KINDS)
    sliced = [(draw(st.sampled_from(dtypes)), draw(st.sampled_from(SHAPES))) for _ in range(draw(st.integers(0, 2)))]
    stacked = [(draw(st.sampled_from(dtypes)), draw(st.sampled_from(SHAPES))) for _ in range(draw(st.integers(0, 2)))]
    if not carries and not stacked:
        stacked = [("float64", (2,))]
    index = bool(carries or trip) and draw(st.booleans())
    step = [("int64", ())] if index else []
    function = body(draw, name, [*carries, *step, *sliced], [*carries, *stacked], depth=depth)
    starts, strides, outers = [], [], []
    for dtype, shape in sliced:
        start, stride = draw(st.integers(0, 2)), draw(st.integers(0, 3))
        extra = draw(st.integers(0, 1))
        size = start + max(length - 1, 0) * stride + int(np.prod(shape)) + extra
        outers.append(build.reshape(maker.of(dtype, (size,)), (-1,)))
        starts.append(start)
        strides.append(stride)
    shared = [each for each, stride in zip(sliced, strides, strict=True) if stride == 0]
    cond = body(draw, f"{name}_goes_on", [*carries, *shared], [("bool", ())]) if conditional else None
    attrs = {
        "callee": function.node,
        "cond": None if cond is None else cond.node,
        "n_carry": len(carries),
        "length": length,
        "starts": starts,
        "strides": strides,
        "index": index,
        "reverse": not conditional and draw(st.booleans()),
        "in_place": [],
    }
    operands = [*[maker.of(*each) for each in carries], *outers]
    if trip:
        operands.append(sc.const(np.int64(draw(st.integers(-2, 7)))))
    count = 2 * len(carries) + len(stacked) + 1
    wanted = draw(st.lists(st.integers(0, count - 1), min_size=1, max_size=count, unique=True))
    return [build.make(ops.LOOP, operands, {**attrs, "output": number}) for number in wanted]


@st.composite
def functions(draw: Draw, /, **how: Any) -> Case:
    """A function of one loop: with carries of random types, ending early or not, unless `how` says otherwise."""
    x, y = sc.sym("x", (6,)), sc.sym("y", ())
    maker = Maker(draw, [x, y], depth=0)
    if "carries" not in how:
        kinds = [(dtype, shape) for dtype in KINDS for shape in SHAPES]
        how["carries"] = draw(st.lists(st.sampled_from(kinds), min_size=1, max_size=3))
        how["trip"] = draw(st.booleans())
    results = loop(draw, maker, "body", depth=1, **how)
    outputs = [sc.cast(each, "float64") for each in results]
    if draw(st.booleans()):
        outputs.append(outputs[0] + outputs[0] * 2.0)
    names = [f"out{number}" for number in range(len(outputs))]
    function = sc.Function.from_exprs("f", [x, y], outputs, None, names)
    seed = draw(st.integers(0, 2**32 - 1))
    return Case(function, {"x": numbers(seed, (6,)), "y": numbers(seed + 1, ())})
