"""Random `prog` modules for property tests: valid, small, and full of what makes moving a read wrong or dear.

Temporaries are mostly read once and soon, so that passes have something to do; between writing and reading come writes
to the sources, under their own names, under aliases, by calls and by loops in place. Every index is in range and every
element is written before it is read, so that the interpreter accepts each program.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np
from hypothesis import strategies as st

from scaly_ir.dialects.prog import build
from scaly_ir.graph import Node
from scaly_ir.types import FLOAT64, INT64, DType

T = TypeVar("T")

Choose = Callable[[int, int], int]
"""Returns a number between two, both included: the one source of chance, hypothesis or a plain generator."""

SIZES = (1, 2, 3, 4, 6, 8)
UNARY = ("neg", "abs", "floor", "sin", "exp", "sqrt")
BINARY = ("add", "sub", "mul", "div", "minimum", "pow")


@dataclass(slots=True)
class Root:
    """Some storage: how much of it is written, from the front, and a bound on the integers in it."""

    size: int
    writable: bool
    defined: int = 0
    below: int = 0


@dataclass(slots=True)
class Buffer:
    """A name for a part of some storage; `node` declares it."""

    node: Node
    root: Root
    offset: int
    size: int

    @property
    def name(self) -> str:
        name: str = self.node.attrs["name"]
        return name

    @property
    def readable(self) -> int:
        """How many elements from the front may be read."""
        return max(min(self.root.defined - self.offset, self.size), 0)


@dataclass(slots=True)
class Scope:
    """The scalars that may be used: integers with a bound above, floats with None."""

    scalars: dict[str, int | None] = field(default_factory=dict)
    fixed: set[str] = field(default_factory=set)
    """Loop variables, which cannot be assigned."""


class Writer:
    """Writes one procedure, keeping track of what is defined."""

    def __init__(self, choose: Choose, name: str, callees: list[Node]) -> None:
        self.between = choose
        self.name = name
        self.callees = callees
        self.buffers: list[Buffer] = []
        self.unread: list[Buffer] = []
        """Temporaries that nothing has read yet."""
        self.params: list[Node] = []
        self.body: list[Node] = []
        self.scope = Scope()
        self.count = 0

    # --- choices ------------------------------------------------------------------------------------------------------

    def pick(self, choices: Sequence[T]) -> T:
        return choices[self.between(0, len(choices) - 1)]

    def chance(self, percent: int) -> bool:
        return self.between(0, 99) >= 100 - percent

    def fresh(self, prefix: str) -> str:
        self.count += 1
        return f"{prefix}{self.count}"

    # --- expressions --------------------------------------------------------------------------------------------------

    def index(self, extent: int, depth: int = 2) -> Node:
        """Return an index in [0, extent)."""
        simple: list[Node] = [build.index(self.between(0, extent - 1))]
        bounded = [(name, below) for name, below in self.scope.scalars.items() if below is not None]
        for name, below in bounded:
            variable = build.var(name)
            if below <= extent:
                simple += [variable] * 4
                simple.append(build.apply("sub", build.index(extent - 1), variable))
                if below < extent:
                    simple.append(build.apply("add", variable, build.index(extent - below)))
                if (below - 1) * 2 < extent:
                    simple.append(build.apply("mul", variable, build.index(2)))
                for other, steps in bounded:
                    if other != name and below * steps <= extent:
                        scaled = build.apply("mul", variable, build.index(steps))
                        simple += [build.apply("add", scaled, build.var(other))] * 2
            else:
                simple.append(build.apply("mod", variable, build.index(extent)))
            if depth and (below - 1) ** 0.5 < extent:
                root = build.apply("sqrt", build.cast(variable, FLOAT64))
                simple.append(build.cast(root, INT64))
        if depth and self.chance(15):
            tables = [b for b in self.buffers if b.node.type is INT64 and b.readable]
            if tables:
                table = self.choose(tables)
                found = build.load(build.view(table.node, self.index(table.readable, depth - 1)))
                return found if table.root.below <= extent else build.apply("mod", found, build.index(extent))
        return self.pick(simple)

    def choose(self, buffers: list[Buffer]) -> Buffer:
        """Return a buffer to read, preferably one that nothing has read yet."""
        waiting = [buffer for buffer in buffers if any(buffer is other for other in self.unread)]
        chosen = self.pick(waiting if waiting and self.chance(75) else buffers)
        if self.chance(90):
            self.unread = [buffer for buffer in self.unread if buffer is not chosen]
        return chosen

    def load(self) -> Node:
        readable = [b for b in self.buffers if b.node.type is FLOAT64 and b.readable]
        if not readable:
            return build.const(self.pick([0.5, -2.0]), FLOAT64)
        chosen = self.choose(readable)
        return build.load(build.view(chosen.node, self.index(chosen.readable)))

    def number(self, depth: int = 2) -> Node:
        """Return a float64 expression."""
        kind = self.between(0, 9)
        if depth == 0 or kind < 3:
            floats = [name for name, below in self.scope.scalars.items() if below is None]
            integers = [name for name, below in self.scope.scalars.items() if below is not None]
            leaf = self.between(0, 9)
            if floats and leaf < 2:
                return build.var(self.pick(floats), FLOAT64)
            if integers and leaf == 2:
                return build.cast(build.var(self.pick(integers)), FLOAT64)
            if leaf == 3:
                return build.const(self.pick([0.0, -0.0, 1.0, 1.5, -3.0]), FLOAT64)
            return self.load()
        if kind < 5:
            return build.apply(self.pick(UNARY), self.number(depth - 1))
        if kind < 6:
            condition = build.apply("lt", self.number(depth - 1), self.number(depth - 1))
            return build.apply("select", condition, self.number(depth - 1), self.number(depth - 1))
        left = self.number(depth - 1)
        right = left if self.chance(25) else self.number(depth - 1)
        return build.apply(self.pick(BINARY), left, right)

    # --- statements ---------------------------------------------------------------------------------------------------

    def loop(self, trips: int, body: Callable[[str], list[Node]], kind: str = "global", step: int = 1) -> Node:
        """Return a loop whose variable runs up to `trips`; loops often share a name."""
        free = [name for name in ("i", "j", "k") if name not in self.scope.scalars]
        name = free[0] if self.chance(60) else self.fresh("i")
        before = dict(self.scope.scalars)
        self.scope.scalars[name] = trips
        self.scope.fixed.add(name)
        statements = body(name)
        self.scope.scalars = {known: self.scope.scalars[known] for known in before}
        self.scope.fixed.discard(name)
        return build.for_(build.range_(name, 0, trips, step, kind), statements)

    def declare(self, dtype: DType = FLOAT64) -> Buffer:
        size = self.pick(SIZES)
        node = build.buffer(self.fresh("t"), (size,), dtype)
        self.body.append(node)
        return Buffer(node, Root(size, True), 0, size)

    def fill(self) -> None:
        """Write a new temporary from the front, mostly all of it and at the loop variable."""
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
        self.add(whole)

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

    def write(self) -> Node:
        """Return a store into something written before, in place if it likes."""
        target = self.pick(self.targets())
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
                self.scope.scalars[scalar] = None
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
        self.scope.scalars[name] = below
        self.scope.fixed.add(name)
        body = [self.write()]
        self.scope.scalars.pop(name)
        self.scope.fixed.discard(name)
        return [build.for_(build.range_(name, 0, stop, 1, "serial"), body)]

    def reassign(self) -> list[Node]:
        floats = [n for n, below in self.scope.scalars.items() if below is None and n not in self.scope.fixed]
        return [build.assign(self.pick(floats), self.number())] if floats else []

    def scalar(self) -> None:
        if self.chance(40):
            self.body += self.reassign()
            return
        name = self.fresh("v")
        if self.chance(70):
            self.body.append(build.assign(name, self.number(), declare=True))
            self.scope.scalars[name] = None
        else:
            below = self.pick(SIZES)
            self.body.append(build.assign(name, self.index(below), declare=True))
            self.scope.scalars[name] = below

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
        steps = [self.fill] * 10 + [self.nest] * 5 + [self.call] * 3 + [self.copy, self.table, self.table]
        steps += [self.single, self.single, self.scalar, self.scalar, self.alias, self.pair]
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


def module(choose: Choose) -> Node:
    """Return a module of one to three procedures; integer inputs are meant to hold zeros."""
    procedures: list[Node] = []
    for name in [["f"], ["f"], ["g", "f"], ["h", "g", "f"]][choose(0, 3)]:
        procedures.append(Writer(choose, name, list(procedures)).procedure())
    return build.program(procedures)


@st.composite
def modules(draw: st.DrawFn) -> Node:
    """Draw a module."""
    return module(lambda low, high: draw(st.integers(low, high)))


def inputs_of(module: Node) -> dict[str, list[float]]:
    """Return values for all parameters of the entry, different for each element; integers are zeros."""
    random = np.random.default_rng(7)
    values: dict[str, list[float]] = {}
    for param in build.params_of(module.args[-1]):
        size = int(np.prod(param.attrs["shape"]))
        if param.type.is_float:
            values[param.attrs["name"]] = [float(value) for value in random.uniform(-2, 4, size).round(3)]
        else:
            values[param.attrs["name"]] = [0.0] * size
    return values
