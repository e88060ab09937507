"""Random `prog` modules with mapped stages for property tests: what reads their results, and what comes in between.

The programs of `programs.py` hardly ever hold a loop around a call of scalar code. Here nearly all do, most can be
merged, and the rest come close to what can be.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from hypothesis import strategies as st

from scaly_ir.dialects.prog import build
from scaly_ir.graph import Node
from scaly_ir.types import FLOAT64
from tests.passes.prog.random_scalars import Choose

T = TypeVar("T")
ROOM = 40
"""The number of elements of each buffer of the caller."""


class Chance:
    """Makes choices."""

    def __init__(self, choose: Choose) -> None:
        self.between = choose

    def pick(self, choices: Sequence[T]) -> T:
        return choices[self.between(0, len(choices) - 1)]

    def percent(self, likely: int) -> bool:
        return self.between(0, 99) >= 100 - likely


class Stage(Chance):
    """Writes a procedure of scalar code."""

    def procedure(self, name: str) -> Node:
        inputs = [build.param(f"p{k}", (self.between(1, 3),)) for k in range(self.between(1, 2))]
        outputs = [build.param(f"q{k}", (self.between(1, 3),)) for k in range(self.between(1, 2))]
        counted = self.percent(85)
        if not counted:
            inputs = inputs[:1]  # arguments that may be written must not overlap
        body: list[Node] = []
        known: list[Node] = [build.load(build.view(p, at)) for p in inputs for at in range(p.attrs["shape"][0])]
        for number in range(self.between(0, 3)):
            body.append(build.assign(f"v{number}", self.number(known), declare=True))
            known.append(build.var(f"v{number}", FLOAT64))
        places = [(q, at) for q in outputs for at in range(q.attrs["shape"][0])]
        if self.percent(10):
            places.append(self.pick(places))
        if self.percent(10):
            places.reverse()
        for q, at in places:
            if at + 1 < q.attrs["shape"][0] and self.percent(10):
                body.append(build.store_pair(build.view(q, at), self.number(known), self.number(known)))
            body.append(build.store(build.view(q, at), self.number(known)))
        header: dict[str, object] = {"scalarized": True} if self.percent(97) else {}
        if counted:
            header["input_count"] = len(inputs)
        return build.proc(name, [*inputs, *outputs], body, header)

    def number(self, known: Sequence[Node], depth: int = 2) -> Node:
        kind = self.between(0, 9)
        if depth == 0 or kind < 3:
            return self.pick(known) if kind else build.const(self.pick([0.5, -0.0, 3.0]), FLOAT64)
        if kind < 6:
            return build.apply(self.pick(["neg", "sin", "exp"]), self.number(known, depth - 1))
        return build.apply(
            self.pick(["add", "sub", "mul"]), self.number(known, depth - 1), self.number(known, depth - 1)
        )


class Caller(Chance):
    """Writes the procedure with the maps."""

    def __init__(self, choose: Choose, callees: Sequence[Node]) -> None:
        super().__init__(choose)
        self.callees = callees
        self.sources = [build.buffer("x0", (ROOM,)), build.param("x1", (ROOM,))]
        self.outputs = [build.param(f"y{k}", (ROOM,)) for k in range(2)]
        self.body: list[Node] = []
        self.results: list[tuple[Node, int, int]] = []
        """Buffers with what maps gave: how many trips there are, and how many elements in each."""
        self.count = 0
        self.trips = self.between(2, 5)
        self.scalar: Node | None = None

    def fresh(self, prefix: str) -> str:
        self.count += 1
        return f"{prefix}{self.count}"

    def loop(self, trips: int, store: Callable[[Node], Node], kind: str = "global") -> Node:
        name = self.pick(["i", self.fresh("i")])
        return build.for_(build.range_(name, 0, trips, 1, kind), [store(build.var(name))])

    def declare(self, size: int = ROOM) -> Node:
        node = build.buffer(self.fresh("t"), (size,))
        self.body.append(node)
        return node

    # --- maps ---------------------------------------------------------------------------------------------------------

    def map(self) -> None:
        callee = self.pick(self.callees)
        count = callee.attrs.get("input_count")
        trips = self.trips if self.percent(85) else self.between(1, 5)
        start, step = self.pick([(0, 1)] * 8 + [(1, 1), (0, 2)])
        name = self.fresh("it")
        variable = build.var(name)
        arguments = []
        for param in build.params_of(callee):
            size = param.attrs["shape"][0]
            if param.attrs["name"].startswith("p"):
                sources = self.sources if count is not None else self.sources[:1]
                arguments.append(self.argument(size, variable, start + trips * step, sources))
            else:
                arguments.append(self.result(size, variable, trips, start, step))
        counts = {"n_in": count, "n_out": len(arguments) - count} if count is not None and self.percent(95) else {}
        kind = "global" if self.percent(96) else "serial"
        domain = build.range_(name, start, start + trips * step, step, kind)
        self.body.append(build.for_(domain, [build.call(callee.attrs["name"], arguments, **counts)]))

    def argument(self, size: int, variable: Node, end: int, sources: Sequence[Node]) -> Node:
        """Return a place to read from that may move with the loop."""
        if self.results and self.percent(25):
            buffer, trips, elements = self.pick(self.results)
            if elements >= size and trips >= end:
                moved = build.apply("mul", variable, build.index(elements))
                first = self.between(0, elements - size)
                return build.view(buffer, build.apply("add", moved, build.index(first)))
        source = self.pick(sources)
        base, limit = source, ROOM
        if self.percent(15):
            base = build.alias(self.fresh("a"), source, 2, (ROOM - 2,))
            self.body.append(base)
            limit = ROOM - 2
        stride = self.pick([size] * 6 + [0, 1])
        first = self.pick([0, 0, 0, stride, 2 * stride, 1])
        if first + stride * (end - 1) + size > limit:
            first, stride = 0, 0
        if stride == 0:
            return base if first == 0 and self.percent(50) else build.view(base, first)
        index = build.apply("add", build.index(first), build.apply("mul", build.index(stride), variable))
        if stride == 1 and first == 0 and self.percent(50):
            index = variable
        if self.scalar is not None and first + stride * (end - 1) + size < limit and self.percent(50):
            index = build.apply("add", self.scalar, index)
        return build.view(base, index)

    def result(self, size: int, variable: Node, trips: int, start: int, step: int) -> Node:
        if self.percent(8):
            return self.declare(size)  # nobody asked for it
        buffer = self.declare() if self.percent(70) else self.pick(self.outputs)
        if start == 0 and step == 1:
            self.results.append((buffer, trips, size))
        return build.view(buffer, build.apply("mul", variable, build.index(size)) if size > 1 else variable)

    # --- what reads results -------------------------------------------------------------------------------------------

    def consumer(self) -> None:
        if not self.results:
            return
        buffer, trips, size = self.pick(self.results)
        forms = [self.select] * 4 + [self.whole] * 4 + [self.nest] * 2 + [self.scatter, self.neighbours, self.mirrored]
        form = self.pick([*forms, self.last, self.total, self.repeat])
        form(buffer, trips, size)

    def target(self, trips: int, size: int) -> Node:
        target = self.pick(self.outputs) if self.percent(60) else self.declare()
        if trips:
            self.results.append((target, trips, size))
        return target

    def value(self, load: Node, at: Node, trips: int, size: int) -> Node:
        """Return something made of a load, and of what stands at the same place elsewhere."""
        kind = self.between(0, 9)
        if kind < 3:
            return load
        if kind < 5:
            return build.apply(self.pick(["neg", "sin"]), load)
        other = self.pick(self.sources)
        others = [buffer for buffer, count, each in self.results if count >= trips and each == size]
        if others and kind < 8:
            other = self.pick(others)
        elif kind == 8:
            other = build.table(self.fresh("k"), [self.pick([1.0, 2.0, -0.0]) for _ in range(ROOM)])
            self.body.append(other)
        index = build.apply("mod", at, build.index(size)) if kind == 9 else at
        return build.apply(self.pick(["add", "mul"]), load, build.load(build.view(other, index)))

    def select(self, buffer: Node, trips: int, size: int) -> None:
        first = self.between(0, size - 1)

        def store(variable: Node) -> Node:
            at = build.apply("add", build.index(first), build.apply("mul", variable, build.index(size)))
            return build.store(
                build.view(target, variable), self.value(build.load(build.view(buffer, at)), at, trips, 1)
            )

        target = self.target(trips, 1)
        self.body.append(self.loop(trips, store, self.pick(["global", "global", "serial"])))

    def whole(self, buffer: Node, trips: int, size: int) -> None:
        skipped = self.pick([0, 0, 0, 0, 1, size])
        if skipped >= trips * size:
            return
        source = buffer
        if skipped:
            source = build.alias(self.fresh("a"), buffer, skipped, (trips * size - skipped,))
            self.body.append(source)

        def store(variable: Node) -> Node:
            value = self.value(build.load(build.view(source, variable)), variable, trips, size)
            if self.percent(15):
                value = build.apply("add", build.load(build.view(target, variable)), value)
            return build.store(build.view(target, variable), value)

        target = self.target(trips - (skipped > 0), size)
        self.body.append(self.loop(trips * size - skipped, store))

    def nest(self, buffer: Node, trips: int, size: int) -> None:
        target = self.target(trips, size)
        inner, outer = build.var(self.fresh("j")), build.var(self.fresh("i"))
        at = build.apply("add", build.apply("mul", outer, build.index(size)), inner)
        stores = [build.store(build.view(target, at), self.value(build.load(build.view(buffer, at)), at, trips, size))]
        if self.percent(20):
            other = self.target(trips, size)
            load = build.load(build.view(self.pick([buffer, target]), at))
            stores.append(build.store(build.view(other, at), load))
        domains = [build.range_(outer.attrs["name"], 0, trips), build.range_(inner.attrs["name"], 0, size)]
        if self.percent(30):
            domains.reverse()
        self.body.append(build.for_(domains[0], [build.for_(domains[1], stores)]))

    def scatter(self, buffer: Node, trips: int, size: int) -> None:
        target = self.declare()
        zero = build.const(0.0, FLOAT64)
        self.body.append(self.loop(ROOM, lambda i: build.store(build.view(target, i), zero)))
        stride = 2 if trips * size * 2 <= ROOM else 1

        def store(variable: Node) -> Node:
            at = build.apply("mul", variable, build.index(stride))
            value = build.load(build.view(buffer, variable))
            if self.percent(40):
                value = build.apply("add", build.load(build.view(target, at)), value)
            return build.store(build.view(target, at), value)

        self.body.append(self.loop(trips * size, store))
        self.results.append((target, trips, size * stride))

    def neighbours(self, buffer: Node, trips: int, size: int) -> None:
        def store(variable: Node) -> Node:
            after = build.apply("add", variable, build.index(size))
            loads = [build.load(build.view(buffer, at)) for at in (after, variable)]
            return build.store(build.view(target, variable), build.apply("sub", *loads))

        if trips > 1 and self.percent(40):
            target = self.target(trips - 1, size)
            self.body.append(self.loop((trips - 1) * size, store))

    def mirrored(self, buffer: Node, trips: int, size: int) -> None:
        last = build.index(trips * size - 1)
        target = self.target(trips, size)

        def store(variable: Node) -> Node:
            at = build.apply("sub", last, variable)
            return build.store(build.view(target, variable), build.load(build.view(buffer, at)))

        self.body.append(self.loop(trips * size, store))

    def repeat(self, buffer: Node, trips: int, size: int) -> None:
        target = self.pick(self.outputs)
        if trips * size * 2 <= ROOM:
            half = build.index(2)
            self.body.append(
                self.loop(
                    trips * size * 2,
                    lambda i: build.store(
                        build.view(target, i), build.load(build.view(buffer, build.apply("div", i, half)))
                    ),
                )
            )

    def last(self, buffer: Node, trips: int, size: int) -> None:
        at = self.pick([trips * size - 1, 0])
        self.body.append(build.store(build.view(self.pick(self.outputs), at), build.load(build.view(buffer, at))))

    def total(self, buffer: Node, trips: int, size: int) -> None:
        if self.percent(80):
            return
        place = build.view(self.pick(self.outputs), 0)

        def store(variable: Node) -> Node:
            load = build.load(build.view(buffer, variable))
            return build.store(place, build.apply("add", build.load(place), load))

        self.body.append(self.loop(trips * size, store, "reduce"))

    # --- what comes in between ----------------------------------------------------------------------------------------

    def disturb(self) -> None:
        kind = self.between(0, 4)
        target = self.pick([self.sources[0], self.sources[0], *self.outputs, *[r[0] for r in self.results]])
        if self.scalar is not None and kind == 0:
            self.body.append(build.assign(self.scalar.attrs["name"], build.index(self.between(0, 1))))
        elif kind == 1:
            alias = build.alias(self.fresh("a"), target, 3, (5,))
            self.body += [alias, build.store(build.view(alias, self.between(0, 4)), build.const(1.5, FLOAT64))]
        elif kind == 2:
            value = build.load(build.view(self.sources[1], 0))
            self.body.append(build.store(build.view(target, self.between(0, 9)), value))
        elif kind == 3:
            self.body.append(self.loop(5, lambda i: build.store(build.view(target, i), build.const(7.0, FLOAT64))))
        else:
            place = build.view(self.sources[0], 4)
            inner = build.store(place, build.apply("neg", build.load(place)))
            self.body.append(self.loop(3, lambda _: inner, "serial"))

    def procedure(self) -> Node:
        """Return the procedure; its first source is a copy of the input, so that it may change."""
        copied, given = self.sources
        self.body.append(copied)
        self.body.append(
            self.loop(ROOM, lambda i: build.store(build.view(copied, i), build.load(build.view(given, i))))
        )
        for target in self.outputs:
            value = build.const(2.0, FLOAT64) if self.percent(70) else build.load(build.view(self.sources[1], 1))
            self.body.append(self.loop(ROOM, lambda i, t=target, v=value: build.store(build.view(t, i), v)))  # type: ignore[misc]
        if self.percent(25):
            self.body.append(build.assign("off", build.index(self.between(0, 1)), declare=True))
            self.scalar = build.var("off")
        for _ in range(self.between(1, 3)):
            self.map()
        for _ in range(self.between(0, 4)):
            if self.percent(12):
                self.disturb()
            elif self.percent(20):
                self.map()
            else:
                self.consumer()
        return build.proc("f", [given, *self.outputs], self.body, {"input_count": 1})


def staged_module(choose: Choose) -> Node:
    """Return a module of one to three stages and a procedure that maps them."""
    stages = [Stage(choose).procedure(f"g{k}") for k in range(choose(1, 3))]
    return build.program([*stages, Caller(choose, stages).procedure()])


@st.composite
def staged_modules(draw: st.DrawFn) -> Node:
    """Draw a module."""
    return staged_module(lambda low, high: draw(st.integers(low, high)))
