"""Random loops for lane widening: most can be widened, and some hold what forbids it in a way that is easy to miss."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from hypothesis import strategies as st

from scaly_ir.dialects.prog import build
from scaly_ir.graph import Node
from scaly_ir.types import FLOAT64, INT64

Choose = Callable[[int, int], int]
T = TypeVar("T")

SIZE = 64
"""The elements of every buffer: indices stay below that."""


class Writer:
    """Writes one procedure: %x is an input, %y and %z are read and written, %t is a temporary."""

    def __init__(self, choose: Choose) -> None:
        self.choose = choose
        self.x, self.y, self.z = [build.param(name, (SIZE,)) for name in ("x", "y", "z")]
        self.t = build.buffer("t", (SIZE,))
        self.table = build.table("k", [(7 * at) % 16 for at in range(SIZE)], INT64)
        self.window = build.alias("a", self.y if choose(0, 4) == 0 else self.x, 3, (32,))
        self.floats: list[str] = []
        self.indices: list[tuple[Node, int]] = []
        self.stored: list[Node] = []
        self.count = 0

    def chance(self, percent: int) -> bool:
        return self.choose(1, 100) <= percent

    def pick(self, options: list[T]) -> T:
        return options[self.choose(0, len(options) - 1)]

    def fresh(self, prefix: str) -> str:
        self.count += 1
        return f"{prefix}{self.count}"

    # --- indices ------------------------------------------------------------------------------------------------------

    def index(self, limit: int = SIZE) -> Node:
        """Return an index below `limit`: an integer times a factor plus an offset, plus another one at times."""
        base, most = self.pick(self.indices)
        factor = self.pick([1, 1, 1, 1, 2, 3]) if most * 3 < limit else 1
        top = factor * most
        if top >= limit:
            return build.index(self.choose(0, limit - 1))
        node = base if factor == 1 else build.apply("mul", build.index(factor), base)
        other, extra = self.pick(self.indices)
        if other is not base and self.chance(60) and top + extra < limit:
            times = self.pick([1, 1, (limit - 1 - top) // max(extra, 1)]) if extra else 1
            node = build.apply("add", node, other if times == 1 else build.apply("mul", other, build.index(times)))
            top += times * extra
        if self.chance(30):
            node = build.apply("add", build.index(self.choose(0, limit - 1 - top)), node)
        if self.chance(4):
            node = build.apply("mod", node, build.index(self.choose(1, 9)))
        if self.chance(4):
            node = build.apply("sub", build.index(limit - 1), node)
        return node

    def view(self, buffer: Node) -> Node:
        if buffer is self.window:
            return build.view(buffer, self.index(32))
        if self.chance(4):
            return build.view(buffer, build.load(build.view(self.table, self.index())))
        return build.view(buffer, self.index())

    # --- values -------------------------------------------------------------------------------------------------------

    def number(self, depth: int = 2) -> Node:
        kind = self.choose(0, 11)
        if depth == 0 or kind < 3:
            if self.floats and self.chance(40):
                return build.var(self.pick(self.floats), FLOAT64)
            if self.stored and self.chance(30):
                return build.load(self.pick(self.stored))
            if self.chance(10):
                return build.const(self.pick([0.5, -0.0, 3.0]), FLOAT64)
            return build.load(self.view(self.pick([self.x] * 9 + [self.window, self.t, self.y])))
        x, y = self.number(depth - 1), self.number(depth - 1)
        if kind < 8:
            return build.apply(self.pick(["add", "sub", "mul"]), x, y)
        if kind == 8:
            return build.apply(self.pick(["sin", "neg", "abs", "floor", "sqrt"]), x)
        if kind == 9:
            return build.apply(self.pick(["minimum", "maximum", "div"]), x, y)
        condition = build.apply(self.pick(["lt", "le", "eq", "ne"]), x, y)
        if self.chance(30):
            condition = build.apply("and", condition, build.apply("not", build.apply("isfinite", y)))
        if self.chance(4):
            return build.cast(build.apply("mod", self.pick(self.indices)[0], build.index(3)), FLOAT64)
        return build.apply("select", condition, y, x)

    # --- statements ---------------------------------------------------------------------------------------------------

    def statement(self, depth: int) -> list[Node]:
        kind = self.choose(0, 11)
        if kind < 3:
            name = self.fresh("v")
            made = build.assign(name, self.number(), declare=True)
            self.floats.append(name)
            return [made]
        if kind == 3 and self.floats:
            return [build.assign(self.pick(self.floats), self.number())]
        if kind == 4:
            name = self.fresh("n")
            base, most = self.pick(self.indices)
            offset = self.choose(0, 2)
            value = build.apply("add", base, build.index(offset)) if offset else base
            made = build.assign(name, value, declare=True)
            self.indices.append((build.var(name), most + offset))
            return [made]
        if kind == 5 and depth < 2:
            return [self.inner(depth)]
        if kind == 6:
            where = build.view(self.pick([self.y, self.z]), self.index(SIZE - 1))
            return [build.store_pair(where, self.number(), self.number())]
        targets = [self.y] * 4 + [self.z] * 4 + [self.t] * 2 + [self.window] * (self.window.attrs["alias_of"] == "y")
        where = self.view(self.pick(targets))
        if self.stored and self.chance(15):
            where = self.pick(self.stored)
        value = self.number()
        if self.chance(25):
            value = build.apply("add", build.load(where), value)
        if where not in self.stored:
            self.stored.append(where)
        return [build.store(where, value)]

    def inner(self, depth: int) -> Node:
        trips, name, start = self.choose(1, 4), self.fresh("j"), self.choose(0, 2)
        return self.loop(name, start, start + trips, "reduce", depth + 1)

    def loop(self, name: str, start: int, stop: int, kind: str, depth: int) -> Node:
        kept = (list(self.floats), list(self.indices), list(self.stored))
        self.indices.append((build.var(name), stop - 1))
        self.indices = [self.indices[-1]] * (3 if depth == 0 else 1) + self.indices
        body = [made for _ in range(self.choose(1, 4)) for made in self.statement(depth)]
        self.floats, self.indices, self.stored = kept
        return build.for_(build.range_(name, start, stop, 1, kind), body)

    def sum(self) -> Node:
        """Return a loop that adds to one element, nearly always in a way that is an ordered sum."""
        trips, name = self.pick([2, 3, 5, 8, 11, 17]), self.fresh("i")
        kept = list(self.indices)
        self.indices = [(build.var(name), trips - 1)]
        where = build.view(self.pick([self.y, self.z, self.z]), build.index(self.choose(0, 3)))
        operands = [build.load(where), self.number()]
        if self.chance(30):
            operands.reverse()
        body = [build.store(where, build.apply("add", *operands))]
        self.indices = kept
        return build.for_(build.range_(name, 0, trips, 1, "reduce"), body)

    def procedure(self) -> Node:
        i = build.var("i")
        body = [self.t, self.table, self.window]
        body.append(
            build.for_(
                build.range_("i", 0, SIZE, 1, "serial"),
                [build.store(build.view(self.t, i), build.load(build.view(self.x, i)))],
            )
        )
        for _ in range(self.choose(1, 3)):
            if self.chance(20):
                body.append(self.sum())
                continue
            if self.chance(10):
                name = self.fresh("v")
                body.append(build.assign(name, self.number_outside(), declare=True))
                self.floats.append(name)
            start, trips = self.pick([0, 0, 0, 1, 4]), self.pick([1, 2, 3, 5, 8, 11, 16])
            name = self.pick(["i", "i", self.fresh("i")])
            body.append(self.loop(name, start, start + trips, self.pick(["global"] * 9 + ["serial"]), 0))
        return build.proc("f", [self.x, self.y, self.z], body, None)

    def number_outside(self) -> Node:
        return build.load(build.view(self.x, self.choose(0, SIZE - 1)))


def module(choose: Choose) -> Node:
    """Return a module of one procedure."""
    return build.program([Writer(choose).procedure()])


@st.composite
def modules(draw: st.DrawFn) -> Node:
    """Draw a module."""
    return module(lambda low, high: draw(st.integers(low, high)))
