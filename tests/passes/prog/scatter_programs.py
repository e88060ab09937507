"""Random `prog` modules that sum pieces scattered into zeros, and what looks like it but for one thing."""

from __future__ import annotations

from hypothesis import strategies as st

from scaly_ir.dialects.prog import build
from scaly_ir.graph import Node
from scaly_ir.types import FLOAT64, INT64
from tests.passes.prog.programs import Writer
from tests.passes.prog.random_scalars import Buffer, Choose, Root

SIZE = 8
"""Of all sums: the largest of the other buffers has as many elements."""


class Scatterer(Writer):
    """Writes one procedure with sums of scatters; their results go to outputs at the end, for zeros lose their sign."""

    def __init__(self, choose: Choose, name: str, callees: list[Node]) -> None:
        super().__init__(choose, name, callees, tame=True)
        self.results: list[Node] = []

    def nest(self) -> None:
        """Sum two to four pieces, mostly from left to right."""
        self.sources = []
        operands = [self.scattered() for _ in range(self.pick([2, 2, 3, 4]))]
        if self.chance(5):
            operands[-1] = operands[0]
        while len(operands) > 1:
            if self.chance(15):
                self.disturb(self.sources)
            last = len(operands) == 2
            at = 0 if self.chance(90) else len(operands) - 2
            operands[at : at + 2] = [self.summed(operands[at], operands[at + 1], last)]
        self.results.append(operands[0])

    def scattered(self) -> Node:
        """Return a buffer of zeros that a piece is written to, or added to."""
        t = build.buffer(self.fresh("t"), (SIZE,) if self.chance(80) else (2, SIZE // 2))
        pieces = [b for b in self.buffers if b.node.type is FLOAT64 and b.readable]
        source = self.pick(pieces)
        self.sources.append(source.root)
        zero = build.const(0.0 if self.chance(95) else self.pick([-0.0, 1.0]), FLOAT64)
        covered = SIZE if self.chance(97) else SIZE - 1
        fill = self.loop(covered, lambda i: [build.store(build.view(t, build.var(i)), zero)])
        trips = self.between(1, source.readable)
        adds = self.chance(40)

        def store(variable: str) -> list[Node]:
            where = build.view(t, self.destination(variable, trips))
            value = build.load(build.view(source.node, build.var(variable)))
            return [build.store(where, build.apply("add", build.load(where), value) if adds else value)]

        scatter = self.loop(trips, store, "reduce" if adds else self.pick(["global", "serial"]))
        rest = [build.store(build.view(t, SIZE - 1), build.const(0.0, FLOAT64))] if covered < SIZE else []
        self.body += [t, fill, *rest, scatter]
        if self.chance(4):
            self.body.append(build.store(build.view(t, self.between(0, covered - 1)), build.const(1.0, FLOAT64)))
        if self.chance(4) and covered == SIZE:
            self.add(Buffer(t, Root(SIZE, False, SIZE), 0, SIZE))
        return t

    def destination(self, variable: str, trips: int) -> Node:
        """Return an index below `SIZE`: mostly one for each trip, at times one for several."""
        at = build.var(variable)
        kind = self.between(0, 9)
        if kind < 5:
            return build.apply("add", build.index(self.between(0, SIZE - trips)), at)
        if kind < 6 and trips <= SIZE // 2:
            return build.apply("mul", at, build.index(2))
        if kind < 8:
            return build.apply("mod", at, build.index(self.between(1, SIZE)))
        name = self.fresh("k")
        values = [self.between(0, SIZE - 1) for _ in range(SIZE)]
        self.body.append(build.table(name, values, INT64))
        return build.load(build.view(name, at, INT64))

    def summed(self, left: Node, right: Node, last: bool) -> Node:
        """Return the sum of two buffers; that of the last two may be an output."""
        if last and self.chance(30):
            total = build.param(self.fresh("o"), (SIZE,))
            self.params.append(total)
        else:
            total = build.buffer(self.fresh("r"), (SIZE,))
            self.body.append(total)

        def store(variable: str) -> list[Node]:
            reads = [build.load(build.view(operand, build.var(variable))) for operand in (left, right)]
            return [build.store(build.view(total, build.var(variable)), build.apply("add", *reads))]

        self.body.append(self.loop(SIZE, store))
        return total

    def finish(self) -> None:
        super().finish()
        for result in self.results:
            if result not in self.params:
                total = build.param(self.fresh("o"), (SIZE,))
                self.params.append(total)

                def store(variable: str, result: Node = result, total: Node = total) -> list[Node]:
                    value = build.load(build.view(result, build.var(variable)))
                    return [build.store(build.view(total, build.var(variable)), value)]

                self.body.append(self.loop(SIZE, store))


def scatter_module(choose: Choose) -> Node:
    """Return a module of one or two procedures; integer inputs are meant to hold zeros."""
    procedures: list[Node] = []
    for name in [["f"], ["g", "f"]][choose(0, 1)]:
        procedures.append(Scatterer(choose, name, list(procedures)).procedure())
    return build.program(procedures)


@st.composite
def scatter_modules(draw: st.DrawFn) -> Node:
    """Draw a module."""
    return scatter_module(lambda low, high: draw(st.integers(low, high)))
