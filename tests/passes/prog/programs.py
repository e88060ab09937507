"""Random `prog` modules for property tests: valid, small, and full of what makes moving a read wrong or dear.

Temporaries are mostly read once and soon, so that passes have something to do; between writing and reading come writes
to the sources, under their own names, under aliases, by calls and by loops in place. Every index is in range and every
element is written before it is read, so that the interpreter accepts each program.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from hypothesis import strategies as st

from scaly_ir.dialects.prog import build
from scaly_ir.graph import Node
from scaly_ir.types import FLOAT64, INT64, DType
from tests.passes.prog.random_scalars import SIZES, Buffer, Choose, Root, Scalars


class Writer(Scalars):
    """Writes one procedure, keeping track of what is defined."""

    def __init__(self, choose: Choose, name: str, callees: list[Node], *, tame: bool = False) -> None:
        super().__init__(choose, tame=tame)
        self.name = name
        self.callees = callees
        self.params: list[Node] = []
        self.body: list[Node] = []
        self.count = 0

    def fresh(self, prefix: str) -> str:
        self.count += 1
        return f"{prefix}{self.count}"

    # --- statements ---------------------------------------------------------------------------------------------------

    def loop(self, trips: int, body: Callable[[str], list[Node]], kind: str = "global") -> Node:
        """Return a loop whose variable runs up to `trips`; loops often share a name."""
        free = [name for name in ("i", "j", "k") if name not in self.scalars]
        name = free[0] if self.chance(60) else self.fresh("i")
        before = dict(self.scalars)
        self.scalars[name] = trips
        statements = body(name)
        self.scalars = {known: self.scalars[known] for known in before}
        return build.for_(build.range_(name, 0, trips, 1, kind), statements)

    def declare(self, dtype: DType = FLOAT64) -> Buffer:
        size = self.pick(SIZES)
        node = build.buffer(self.fresh("t"), (size,), dtype)
        self.body.append(node)
        return Buffer(node, Root(size, True), 0, size)

    def fill(self) -> None:
        """Write a new temporary from the front, mostly all of it and at the loop variable."""
        self.sources = []
        whole = self.declare()
        covered = whole.size if self.chance(90) else self.between(1, whole.size)
        backwards = self.chance(5)

        def store(variable: str) -> list[Node]:
            at = build.var(variable)
            if backwards:
                at = build.apply("sub", build.index(covered - 1), at)
            return [build.store(build.view(whole.node, at), self.number())]

        self.body.append(self.loop(covered, store, self.pick(["global"] * 8 + ["serial", "reduce"])))
        whole.root.defined = covered
        self.disturb(self.sources)
        self.add(whole)

    def disturb(self, sources: list[Root]) -> None:
        """Change at times what was just read: a scalar, or an element of a source, by one of its names."""
        if self.chance(10):
            self.body += self.reassign()
        targets = [target for target in self.targets() if any(target.root is root for root in sources)]
        if targets and self.chance(20):
            self.body.append(self.write(self.pick(targets)))

    def table(self) -> None:
        """Fill a new temporary with integers to be used as indices."""
        whole = self.declare(INT64)
        below = self.pick(SIZES)

        def store(variable: str) -> list[Node]:
            return [build.store(build.view(whole.node, build.var(variable)), self.index(below))]

        self.body.append(self.loop(whole.size, store))
        whole.root.defined, whole.root.below = whole.size, below
        self.add(whole)

    def add(self, buffer: Buffer) -> None:
        self.buffers.append(buffer)
        self.unread.append(buffer)

    def targets(self) -> list[Buffer]:
        """Return what may be written: readable elements are overwritten, so nothing becomes undefined."""
        return [b for b in self.buffers if b.node.type is FLOAT64 and b.root.writable and b.readable]

    def write(self, target: Buffer | None = None) -> Node:
        """Return a store into something written before, in place if it likes."""
        target = target or self.pick(self.targets())
        where = build.view(target.node, self.index(target.readable))
        value = self.number()
        if self.chance(30):
            value = build.apply("add", build.load(build.view(target.node, self.index(target.readable))), value)
        return build.store(where, value)

    def nest(self) -> None:
        """Write in a nest of one or two loops, with a scalar or a loop of unknown trips in it at times."""
        if not self.targets():
            return

        def inner(_: str) -> list[Node]:
            statements = []
            if self.chance(20):
                scalar = self.fresh("v")
                statements.append(build.assign(scalar, self.number(), declare=True))
                self.scalars[scalar] = None
            statements.append(self.write())
            if self.chance(30):
                statements.append(self.write())
            if self.chance(10):
                statements += self.reassign()
            if self.chance(8):
                statements += self.dynamic()
            return statements

        def outer(_: str) -> list[Node]:
            statements = [self.loop(self.pick(SIZES), inner, "reduce")]
            if self.chance(30):
                statements.append(self.write())
            return statements

        body = outer if self.chance(30) else inner
        self.body.append(self.loop(self.pick(SIZES), body, self.pick(["global", "serial", "reduce"])))

    def dynamic(self) -> list[Node]:
        """Return a loop that runs as often as a buffer says."""
        tables = [b for b in self.buffers if b.node.type is INT64 and b.readable]
        if not tables:
            return []
        table = self.choose(tables)
        stop = build.load(build.view(table.node, self.between(0, table.readable - 1)))
        name, below = self.fresh("n"), max(table.root.below, 1)
        self.scalars[name] = below
        body = [self.write()]
        self.scalars.pop(name)
        return [build.for_(build.range_(name, 0, stop, 1, "serial"), body)]

    def reassign(self) -> list[Node]:
        floats = [name for name, below in self.scalars.items() if below is None]
        return [build.assign(self.pick(floats), self.number())] if floats else []

    def scalar(self) -> None:
        if self.chance(40):
            self.body += self.reassign()
            return
        name = self.fresh("v")
        if self.chance(70):
            self.body.append(build.assign(name, self.number(), declare=True))
            self.scalars[name] = None
        else:
            below = self.pick(SIZES)
            self.body.append(build.assign(name, self.index(below), declare=True))
            self.scalars[name] = below

    def single(self) -> None:
        if self.targets():
            self.body.append(self.write())

    def pair(self) -> None:
        targets = [target for target in self.targets() if target.readable > 1]
        if targets:
            target = self.pick(targets)
            where = build.view(target.node, self.index(target.readable - 1))
            self.body.append(build.store_pair(where, self.number(), self.number()))

    def alias(self) -> None:
        sources = [b for b in self.buffers if b.size > 0]
        if sources:
            source = self.pick(sources)
            offset = self.between(0, source.size - 1)
            size = self.between(1, source.size - offset)
            node = build.alias(self.fresh("a"), source.node, offset, (size,))
            self.body.append(node)
            self.buffers.append(Buffer(node, source.root, source.offset + offset, size))

    def copy(self) -> None:
        """Fill a temporary that can be overwritten later, as a source for others."""
        whole = self.declare()

        def store(variable: str) -> list[Node]:
            return [build.store(build.view(whole.node, build.var(variable)), self.number(1))]

        self.body.append(self.loop(whole.size, store, "reduce"))
        whole.root.defined = whole.size
        self.buffers.append(whole)

    def call(self) -> None:
        """Call a procedure on whole buffers or on places in them; an output shares storage with no other argument."""
        if not self.callees:
            return
        callee = self.pick(self.callees)
        inputs = callee.attrs.get("input_count")
        taken: list[Root] = []
        arguments = []
        for position, param in reversed(list(enumerate(build.params_of(callee)))):
            needed = param.attrs["shape"][0]
            output = inputs is None or position >= inputs
            fit = [b for b in self.buffers if b.node.type is param.type and b.readable >= needed]
            fit = [b for b in fit if not any(b.root is root for root in taken)]
            fit = [b for b in fit if (b.root.writable or not output) and (b.node.type is FLOAT64 or b.root.below <= 1)]
            if not fit:
                return
            chosen = self.pick(fit)
            if output:
                taken.append(chosen.root)
            self.unread = [buffer for buffer in self.unread if buffer is not chosen]
            start = self.between(0, chosen.readable - needed)
            whole = start == 0 and self.chance(50)
            arguments.append((chosen, whole, start))
        used = [chosen.root for chosen, _, _ in arguments[len(taken) :]]
        if any(root is other for root in taken for other in used):
            return
        nodes = [b.node if whole else build.view(b.node, start) for b, whole, start in reversed(arguments)]
        counts = {} if inputs is None or self.chance(30) else {"n_in": inputs, "n_out": len(nodes) - inputs}
        if inputs is None and self.chance(50):
            counts = {"n_in": 1, "n_out": len(nodes) - 1}  # what a call says need not be all that happens
        call = build.call(callee.attrs["name"], nodes, **counts)
        self.body.append(self.loop(2, lambda _: [call], "serial") if self.chance(30) else call)

    # --- a procedure --------------------------------------------------------------------------------------------------

    def procedure(self) -> Node:
        inputs = self.between(1, 3)
        counted = self.chance(80)
        for position in range(inputs + self.between(1, 2)):
            size = self.pick(SIZES)
            integers = position < inputs and position > 0 and self.chance(25)
            node = build.param(self.fresh("x" if position < inputs else "y"), (size,), INT64 if integers else FLOAT64)
            written = counted and position >= inputs
            root = Root(size, not counted or position >= inputs, 0 if written else size, 1)
            self.params.append(node)
            if not written:
                self.buffers.append(Buffer(node, root, 0, size))
            else:
                self.body.append(self.loop(size, lambda i, node=node: [self.initial(node, i)]))  # type: ignore[misc]
                self.buffers.append(Buffer(node, Root(size, True, size), 0, size))
        steps = [self.fill] * 10 + [self.nest] * 4 + [self.call] * 3 + [self.copy, self.table, self.table]
        steps += [self.single, self.scalar, self.scalar, self.alias, self.alias, self.pair]
        for _ in range(self.between(0, 2)):
            self.copy()
        for _ in range(self.between(2, 12)):
            self.pick(steps)()
        self.finish()
        header = {"input_count": inputs} if counted else {}
        return build.proc(self.name, self.params, self.body, header)

    def initial(self, node: Node, variable: str) -> Node:
        return build.store(build.view(node, build.var(variable)), self.number(0))

    def finish(self) -> None:
        """Read what nothing has read yet into an output."""
        outputs = [b for b in self.buffers if b.root.writable and b.node in self.params and b.node.type is FLOAT64]
        if not outputs:
            return
        for waiting in list(self.unread):
            if waiting.node.type is not FLOAT64 or not waiting.readable or self.chance(20):
                continue
            target = self.pick(outputs)

            def store(_: str, source: Buffer = waiting, target: Buffer = target) -> list[Node]:
                value = build.load(build.view(source.node, self.index(source.readable)))
                if self.chance(20):
                    value = build.apply("mul", value, value)
                where = build.view(target.node, self.index(target.readable))
                return [build.store(where, build.apply("add", value, build.load(where)))]

            self.body.append(self.loop(self.pick(SIZES), store, "reduce"))


def module(choose: Choose, *, tame: bool = False) -> Node:
    """Return a module of one to three procedures; integer inputs are meant to hold zeros.

    A tame one rarely computes anything that is not finite.
    """
    procedures: list[Node] = []
    for name in [["f"], ["f"], ["g", "f"], ["h", "g", "f"]][choose(0, 3)]:
        procedures.append(Writer(choose, name, list(procedures), tame=tame).procedure())
    return build.program(procedures)


@st.composite
def modules(draw: st.DrawFn, *, tame: bool = False) -> Node:
    """Draw a module."""
    return module(lambda low, high: draw(st.integers(low, high)), tame=tame)


def inputs_of(module: Node, integer: int = 0) -> dict[str, list[float]]:
    """Return values for all parameters of the entry: numbers that differ, and the same integer everywhere."""
    random = np.random.default_rng(7)
    values: dict[str, list[float]] = {}
    for param in build.params_of(module.args[-1]):
        size = int(np.prod(param.attrs["shape"]))
        if param.type.is_float:
            values[param.attrs["name"]] = [float(value) for value in random.uniform(-2, 4, size).round(3)]
        else:
            values[param.attrs["name"]] = [integer] * size
    return values
