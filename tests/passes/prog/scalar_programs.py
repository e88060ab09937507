"""Random `prog` procedures for property tests that compute much with few scalars, again and again.

Expressions are drawn from a small pool, so that equal ones meet in one statement, in different lists and in loops that
may not run; between them scalars are reassigned. Divisions may be by zero, and conversions may not fit.
"""

from __future__ import annotations

from hypothesis import strategies as st

from scaly_ir.dialects.prog import build
from scaly_ir.graph import Node
from scaly_ir.types import FLOAT64, INT64
from tests.passes.prog.random_scalars import Choose

FLOATS = ("add", "sub", "mul", "minimum", "div", "exp", "neg")
INTEGERS = ("add", "sub", "mul", "minimum", "div", "mod", "floordiv")


class ScalarWriter:
    """Writes one procedure `f` with the integers `n` and the numbers `x` as inputs, and `y` and `z` as outputs."""

    def __init__(self, choose: Choose, *, loops: bool) -> None:
        self.choose = choose
        self.loops = loops
        self.integers = ["p", "q"]
        self.floats = ["a", "b"]
        self.fixed: list[str] = []
        """Loop variables, which nobody assigns."""
        self.pool: list[Node] = []
        self.count = 0

    def chance(self, percent: int) -> bool:
        return self.choose(0, 99) >= 100 - percent

    def fresh(self, prefix: str) -> str:
        """Return a name that may be in use elsewhere, but not around this place."""
        taken = {*self.integers, *self.floats, *self.fixed}
        free = [name for name in (f"{prefix}0", f"{prefix}1") if name not in taken]
        self.count += 1
        return free[0] if free else f"{prefix}_{self.count}"

    # --- expressions --------------------------------------------------------------------------------------------------

    def integer(self, depth: int = 2) -> Node:
        if depth == 0 or self.chance(30):
            names = [*self.integers, *self.fixed]
            at = self.choose(0, len(names) + 1)
            return build.var(names[at]) if at < len(names) else build.index(at - len(names) + 1)
        if self.chance(8):
            return build.cast(self.number(depth - 1), INT64)
        if self.chance(5):
            return build.load(build.view("n", self.index(), INT64))
        op = INTEGERS[self.choose(0, len(INTEGERS) - 1)]
        return build.apply(op, self.integer(depth - 1), self.integer(depth - 1))

    def number(self, depth: int = 2) -> Node:
        if depth == 0 or self.chance(30):
            at = self.choose(0, len(self.floats))
            constant = build.const([0.0, -0.0, 2.0][self.choose(0, 2)], FLOAT64)
            return build.var(self.floats[at], FLOAT64) if at < len(self.floats) else constant
        if self.chance(8):
            return build.cast(self.integer(depth - 1), FLOAT64)
        if self.chance(8):
            return build.load(build.view("x", self.index(), FLOAT64))
        op = FLOATS[self.choose(0, len(FLOATS) - 1)]
        operands = [self.number(depth - 1) for _ in range(1 if op in ("exp", "neg") else 2)]
        return build.apply(op, *operands)

    def pooled(self, fresh: Node) -> Node:
        """Return an expression of that type that was written before, where all in it is in scope; or a fresh one."""
        scope = {*self.integers, *self.floats, *self.fixed}
        known = [old for old in self.pool if old.type is fresh.type and _names(old) <= scope]
        if known and self.chance(60):
            return known[self.choose(0, len(known) - 1)]
        self.pool.append(fresh)
        return fresh

    def index(self) -> Node:
        """Return an index below 4."""
        value = build.apply("add", self.pooled(self.integer(1)), build.index(self.choose(0, 1)))
        return build.apply("floormod", value, build.index(4))

    # --- statements ---------------------------------------------------------------------------------------------------

    def store(self) -> Node:
        if self.chance(60):
            return build.store(build.view("y", self.index(), FLOAT64), self.pooled(self.number(3)))
        return build.store(build.view("z", self.index(), INT64), self.pooled(self.integer(3)))

    def assign(self) -> Node:
        if self.chance(50):
            return build.assign(self.floats[self.choose(0, len(self.floats) - 1)], self.pooled(self.number()))
        return build.assign(self.integers[self.choose(0, len(self.integers) - 1)], self.pooled(self.integer()))

    def declare(self) -> Node:
        value = self.pooled(self.number() if self.chance(50) else self.integer())
        name = self.fresh("v" if value.type is FLOAT64 else "w")
        (self.floats if value.type is FLOAT64 else self.integers).append(name)
        return build.assign(name, value, declare=True)

    def loop(self, depth: int) -> Node:
        name = self.fresh("i")
        stop = build.index(self.choose(0, 3)) if self.chance(50) else self.bound()
        self.fixed.append(name)
        body = self.statements(depth)
        self.fixed.pop()
        return build.for_(build.range_(name, 0, stop, 1, "serial"), body)

    def bound(self) -> Node:
        return build.apply("floormod", self.pooled(self.integer()), build.index(3))

    def statements(self, depth: int) -> list[Node]:
        integers, floats = list(self.integers), list(self.floats)
        written = []
        for _ in range(self.choose(1, 6)):
            kind = self.choose(0, 9)
            if self.loops and depth > 0 and kind < 4:
                written.append(self.loop(depth - 1))
            elif kind < 7:
                written.append(self.store())
            elif kind < 9:
                written.append(self.assign())
            else:
                written.append(self.declare())
        self.integers, self.floats = integers, floats
        return written

    def module(self) -> Node:
        params = [build.param("n", (4,), INT64), build.param("x", (4,))]
        params += [build.param("y", (4,)), build.param("z", (4,), INT64)]
        body = []
        for at, (integer, number) in enumerate(zip(self.integers, self.floats, strict=True)):
            body.append(build.assign(integer, build.load(build.view(params[0], at)), declare=True))
            body.append(build.assign(number, build.load(build.view(params[1], at)), declare=True))
        body += self.statements(3)
        return build.program([build.proc("f", params, body)])


def _names(root: Node) -> set[str]:
    found, pending = set(), [root]
    while pending:
        node = pending.pop()
        pending += node.args
        if "name" in node.attrs:
            found.add(node.attrs["name"])
    return found


@st.composite
def scalar_modules(draw: st.DrawFn, *, loops: bool = True) -> Node:
    """Draw a module of one such procedure."""
    return ScalarWriter(lambda low, high: draw(st.integers(low, high)), loops=loops).module()
