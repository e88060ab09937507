"""Random `prog` modules for property tests that read constant tables, and temporaries filled with a number."""

from __future__ import annotations

from hypothesis import strategies as st

from scaly_ir.dialects.prog import build
from scaly_ir.graph import Node
from scaly_ir.types import FLOAT64, INT64
from tests.passes.prog.programs import Writer
from tests.passes.prog.random_scalars import SIZES, Buffer, Choose, Root

_NUMBERS = (0.5, 2.0, 1.0, -3.0)


class TableWriter(Writer):
    """Writes procedures in which half of what others compute is constant."""

    def fill(self) -> None:
        if self.chance(70):
            super().fill()
            return
        whole = self.declare()
        number = build.const(self.pick(_NUMBERS), FLOAT64)
        self.body.append(self.loop(whole.size, lambda i: [build.store(build.view(whole.node, build.var(i)), number)]))
        whole.root.defined = whole.size
        self.add(whole)

    def copy(self) -> None:
        if self.chance(30):
            super().copy()
            return
        size = self.pick(SIZES)
        values = [self.pick(_NUMBERS[: self.between(1, 4)]) for _ in range(size)]
        self.constant(build.table(self.fresh("k"), values, FLOAT64), size, 0)

    def table(self) -> None:
        if self.chance(20):
            super().table()
            return
        size, below = self.pick(SIZES), self.pick(SIZES)
        values = [self.between(0, below - 1) for _ in range(size)]
        self.constant(build.table(self.fresh("k"), values, INT64), size, below)

    def constant(self, table: Node, size: int, below: int) -> None:
        """Declare a table."""
        self.body.append(table)
        self.add(Buffer(table, Root(size, False, size, below), 0, size))


def table_module(choose: Choose) -> Node:
    """Return a module of one or two procedures."""
    procedures: list[Node] = []
    for name in [["f"], ["f"], ["g", "f"]][choose(0, 2)]:
        procedures.append(TableWriter(choose, name, list(procedures)).procedure())
    return build.program(procedures)


def entry_module(choose: Choose) -> Node:
    """Return a procedure that stores integer arithmetic on entries of tables, mostly at one index."""
    length = choose(1, 5)
    dtype = INT64
    output, params = build.param("z", 3 * length, dtype), [build.param("n", length, dtype)]
    tables = []
    for number in range(choose(1, 3)):
        size = length + (choose(0, 9) == 0)
        tables.append(
            build.table(f"k{number}", [choose(-1 if choose(0, 5) == 0 else 0, 9) for _ in range(size)], dtype)
        )
    names = [table.attrs["name"] for table in tables]
    at = build.var("i")
    turned = build.apply("sub", build.index(length - 1), at)
    places = [at, turned] if choose(0, 3) == 0 else [[at, turned][choose(0, 1)]]

    def value(depth: int) -> Node:
        kind = choose(0, 9)
        if depth == 0 or kind == 0:
            leaf = choose(0, 9)
            if leaf < 2:
                return build.index(choose(1, 5))
            source = "n" if leaf == 9 and choose(0, 2) == 0 else names[choose(0, len(names) - 1)]
            return build.load(build.view(source, places[choose(0, len(places) - 1)], dtype))
        op = ("div", "mod", "add", "mul", "sub", "floordiv", "minimum", "div", "mod", "neg")[kind]
        return build.apply(op, *[value(depth - 1) for _ in range(1 if op == "neg" else 2)])

    stores = []
    for number in range(3):
        where = build.view(output, build.apply("add", at, build.index(number * length)))
        picked = value(choose(1, 3))
        if choose(0, 1):
            picked = build.load(build.view(names[0], build.apply("floormod", picked, build.index(length)), dtype))
        stores.append(build.store(where, picked))
    body = [*tables, build.for_(build.range_("i", 0, length), stores)]
    return build.program([build.proc("f", [*params, output], body, {"input_count": 1})])


@st.composite
def table_modules(draw: st.DrawFn) -> Node:
    """Draw a module with tables and fills."""
    return table_module(lambda low, high: draw(st.integers(low, high)))


@st.composite
def entry_modules(draw: st.DrawFn) -> Node:
    """Draw a module of arithmetic on entries; it may divide by zero."""
    return entry_module(lambda low, high: draw(st.integers(low, high)))
