"""Random scalars of `prog` programs for property tests: indices in range, and numbers that read what may be read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from scaly_ir.dialects.prog import build
from scaly_ir.graph import Node
from scaly_ir.types import FLOAT64, INT64

T = TypeVar("T")

Choose = Callable[[int, int], int]
"""Returns a number between two, both included: the one source of chance, hypothesis or a plain generator."""

SIZES = (1, 2, 3, 4, 6, 8)
UNARY = ("neg", "abs", "floor", "sin", "exp", "sqrt")
BINARY = ("add", "sub", "mul", "div", "minimum", "pow")
TAME = ("neg", "abs", "floor", "sin"), ("add", "sub", "mul", "minimum")
"""Operators that make moderate numbers of moderate numbers."""


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
    def readable(self) -> int:
        """How many elements from the front may be read."""
        return max(min(self.root.defined - self.offset, self.size), 0)


class Scalars:
    """Writes scalars over the buffers and variables there are."""

    def __init__(self, choose: Choose, *, tame: bool = False) -> None:
        self.between = choose
        self.unary: Sequence[str] = TAME[0] if tame else UNARY
        self.binary: Sequence[str] = TAME[1] if tame else BINARY
        self.buffers: list[Buffer] = []
        self.unread: list[Buffer] = []
        """Temporaries that nothing has read yet."""
        self.sources: list[Root] = []
        """What the last expressions read."""
        self.scalars: dict[str, int | None] = {}
        """The scalars in scope: integers with a bound above, floats with None."""

    # --- choices ------------------------------------------------------------------------------------------------------

    def pick(self, choices: Sequence[T]) -> T:
        return choices[self.between(0, len(choices) - 1)]

    def chance(self, percent: int) -> bool:
        return self.between(0, 99) >= 100 - percent

    # --- expressions --------------------------------------------------------------------------------------------------

    def index(self, extent: int, depth: int = 2) -> Node:
        """Return an index in [0, extent)."""
        simple: list[Node] = [build.index(self.between(0, extent - 1))]
        bounded = [(name, below) for name, below in self.scalars.items() if below is not None]
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
        self.sources.append(chosen.root)
        return build.load(build.view(chosen.node, self.index(chosen.readable)))

    def number(self, depth: int = 2) -> Node:
        """Return a float64 expression."""
        kind = self.between(0, 9)
        if depth == 0 or kind < 3:
            floats = [name for name, below in self.scalars.items() if below is None]
            integers = [name for name, below in self.scalars.items() if below is not None]
            leaf = self.between(0, 9)
            if floats and leaf < 2:
                return build.var(self.pick(floats), FLOAT64)
            if integers and leaf == 2:
                return build.cast(build.var(self.pick(integers)), FLOAT64)
            if leaf == 3:
                return build.const(self.pick([0.0, -0.0, 1.0, 1.5, -3.0]), FLOAT64)
            return self.load()
        if kind < 5:
            return build.apply(self.pick(self.unary), self.number(depth - 1))
        if kind < 6:
            condition = build.apply("lt", self.number(depth - 1), self.number(depth - 1))
            return build.apply("select", condition, self.number(depth - 1), self.number(depth - 1))
        left = self.number(depth - 1)
        right = left if self.chance(25) else self.number(depth - 1)
        return build.apply(self.pick(self.binary), left, right)
