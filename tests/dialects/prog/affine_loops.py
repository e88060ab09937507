"""Random nests of affine loops, some of them wrong: what may or may not be evaluated at once."""

from __future__ import annotations

from collections.abc import Callable

from scaly_ir.dialects.prog import build
from scaly_ir.graph import Node
from scaly_ir.types import FLOAT64, INT64

Choose = Callable[[int, int], int]

SIZE = 600


class Nests:
    """Writes a procedure `f` with the inputs `x` and `at`, the output `y`, and a temporary `t` that overlaps itself."""

    def __init__(self, choose: Choose) -> None:
        self.between = choose
        self.variables: list[str] = []
        self.scalars: list[str] = []
        self.count = 0

    def chance(self, percent: int) -> bool:
        return self.between(0, 99) < percent

    def index(self, *, strided: bool) -> Node:
        """Return an index; a strided one moves far with each variable, as a row-major array does."""
        found = build.index(self.between(6, 9) if self.chance(99) else self.between(-2, SIZE))
        stride = 1 if self.chance(80) else self.between(1, 3)
        for name in reversed(self.variables):
            if strided or self.chance(60):
                term = build.apply("mul", build.var(name), build.index(stride if strided else self.between(-1, 8)))
                found = build.apply("add", term, found)
                stride *= self.between(4, 9)
        if not strided and self.chance(15):
            found = build.load(build.view("at", build.apply("floormod", found, build.index(SIZE)), INT64))
        return found

    def number(self, depth: int = 2) -> Node:
        kind = self.between(0, 9)
        if depth == 0 or kind < 4:
            if self.scalars and self.chance(30):
                return build.var(self.scalars[self.between(0, len(self.scalars) - 1)], FLOAT64)
            if self.variables and self.chance(10):
                return build.cast(build.var(self.variables[-1]), FLOAT64)
            name = ("x", "y", "t", "a")[self.between(0, 3)]
            return build.load(build.view(name, self.index(strided=self.chance(50)), FLOAT64))
        if kind < 6:
            return build.apply(("neg", "exp", "sqrt", "abs")[self.between(0, 3)], self.number(depth - 1))
        name = ("add", "mul", "sub", "div", "minimum")[self.between(0, 4)]
        return build.apply(name, self.number(depth - 1), self.number(depth - 1))

    def store(self) -> Node:
        target = build.view(("y", "y", "t", "a")[self.between(0, 3)], self.index(strided=self.chance(90)), FLOAT64)
        if self.chance(10):
            return build.store_pair(target, self.number(), self.number(1))
        if self.chance(40):
            return build.store(target, build.apply("add", build.load(target), self.number(1)))
        return build.store(target, self.number())

    def body(self, depth: int) -> list[Node]:
        scalars = list(self.scalars)
        statements = []
        for _ in range(self.between(1, 2)):
            if self.chance(20):
                self.count += 1
                statements.append(build.assign(f"v{self.count}", self.number(), declare=True))
                self.scalars.append(f"v{self.count}")
            elif self.chance(10) and self.scalars:
                statements.append(build.assign(self.scalars[-1], self.number()))
            statements.append(self.loop(depth - 1) if depth > 1 and self.chance(60) else self.store())
        self.scalars = scalars
        return statements

    def loop(self, depth: int) -> Node:
        self.count += 1
        name = f"i{self.count}"
        trips = self.between(0, 4) if self.variables else self.between(8, 40)
        start, step = self.between(0, 2), self.between(1, 2)
        stop: Node | int = start + trips * step
        if self.variables and self.chance(15):
            stop = build.apply("minimum", build.index(start + trips * step), build.var(self.variables[0]))
        self.variables.append(name)
        inner = [self.loop(depth - 1)] if depth > 1 and self.chance(50) else self.body(depth)
        self.variables.pop()
        kind = ("global", "serial", "reduce")[self.between(0, 2)]
        return build.for_(build.range_(name, start, stop, step, kind), inner)

    def module(self) -> Node:
        """Return a module whose output is written before the nests begin, mostly; some of `t` is."""
        x, y, at = build.param("x", SIZE), build.param("y", SIZE), build.param("at", SIZE, INT64)
        t = build.buffer("t", SIZE)
        size = SIZE if self.chance(95) else self.between(0, SIZE)
        i = build.var("i")
        fill = [build.store(build.view(y, i), build.load(build.view(x, i)))]
        some = [build.store(build.view(t, i), build.load(build.view(y, i)))]
        body = [
            t,
            build.alias("a", t, self.between(0, 8), 560),
            build.for_(build.range_("i", 0, SIZE), fill),
            build.for_(build.range_("i", 0, size), some),
            *[self.loop(self.between(1, 3)) for _ in range(self.between(1, 3))],
        ]
        return build.program([build.proc("f", [x, at, y], body, {"input_count": 2})])
