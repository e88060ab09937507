"""Random `prog` modules of procedures that can be run at compile time, most of them at least, for property tests.

Their arithmetic is such that the identities of real numbers keep every finite result: nothing makes a finite number
of infinity or NaN. Elements are overwritten and read in between, under several names; calls get windows of buffers.
"""

from __future__ import annotations

from hypothesis import strategies as st

from scaly_ir.dialects.prog import build
from scaly_ir.graph import Node
from scaly_ir.types import FLOAT64, INT64
from tests.passes.prog.random_scalars import Buffer, Choose, Root, Scalars

SIZES = (1, 2, 3, 4, 6)
CONSTANTS = (0.0, -0.0, 1.0, -1.0, 2.0, 0.5, -3.0)
MODES = ("procedure",) * 7 + ("inline", "disabled", "")
HINTS = ("auto",) * 5 + ("scalar",) * 4 + ("block", "")
TRAPS = ("integer", "assign", "pair", "dynamic", "uninitialized", "computed")


class Writer(Scalars):
    """Writes one procedure; everything that can be read is written from the front."""

    def __init__(self, choose: Choose, name: str, callees: list[Node]) -> None:
        super().__init__(choose)
        self.name = name
        self.callees = callees
        self.body: list[Node] = []
        self.count = 0

    def fresh(self, prefix: str) -> str:
        self.count += 1
        return f"{prefix}{self.count}"

    # --- expressions --------------------------------------------------------------------------------------------------

    def number(self, depth: int = 2) -> Node:
        kind = self.between(0, 9)
        if depth == 0 or kind < 2:
            if self.chance(25):
                return build.const(self.pick(CONSTANTS), FLOAT64)
            return self.load()
        if kind < 4:
            return build.apply(self.pick(("neg", "neg", "abs", "sin")), self.number(depth - 1))
        left = self.number(depth - 1)
        right = left if self.chance(25) else self.number(depth - 1)
        if self.chance(10):
            return build.apply("div", left, build.const(self.pick((1.0, -1.0, 2.0)), FLOAT64))
        return build.apply(self.pick(("add", "add", "sub", "mul")), left, right)

    # --- statements ---------------------------------------------------------------------------------------------------

    def targets(self) -> list[Buffer]:
        return [b for b in self.buffers if b.node.type is FLOAT64 and b.root.writable and b.readable]

    def fill(self, node: Node, size: int) -> None:
        """Write a buffer from end to end."""
        name = self.fresh("z")
        self.scalars[name] = size
        store = build.store(build.view(node, build.var(name)), self.number(1))
        del self.scalars[name]
        self.body.append(build.for_(build.range_(name, 0, size), [store]))
        self.buffers.append(Buffer(node, Root(size, True, size), 0, size))

    def temporary(self) -> None:
        size = self.pick(SIZES)
        node = build.buffer(self.fresh("t"), (size,))
        self.body.append(node)
        self.fill(node, size)

    def table(self) -> None:
        size = self.pick(SIZES)
        if self.chance(40):
            below = self.pick(SIZES)
            values = [self.between(0, below - 1) for _ in range(size)]
            node, root = build.table(self.fresh("k"), values, INT64), Root(size, False, size, below)
        else:
            floats = [self.pick(CONSTANTS) for _ in range(size)]
            node, root = build.table(self.fresh("k"), floats, FLOAT64), Root(size, False, size)
        self.body.append(node)
        self.buffers.append(Buffer(node, root, 0, size))

    def alias(self) -> None:
        sources = [b for b in self.buffers if b.node.type is FLOAT64 and b.size]
        if sources:
            source = self.pick(sources)
            offset = self.between(0, source.size - 1)
            size = self.between(1, source.size - offset)
            node = build.alias(self.fresh("a"), source.node, offset, (size,))
            self.body.append(node)
            self.buffers.append(Buffer(node, source.root, source.offset + offset, size))

    def store(self) -> Node:
        target = self.pick(self.targets())
        value = self.number()
        if self.chance(40):
            value = build.apply("add", build.load(build.view(target.node, self.index(target.readable))), value)
        return build.store(build.view(target.node, self.index(target.readable)), value)

    def nest(self, depth: int = 3) -> Node:
        """Return a nest of loops, or a statement."""
        if depth == 0 or self.chance(30):
            call = self.call() if self.chance(40) else None
            return self.store() if call is None else call
        name = self.pick([n for n in ("i", "j", "k", "l") if n not in self.scalars])
        start, trips, step = self.between(0, 2), self.between(0, 4), self.between(1, 2)
        stop = start + trips * step
        self.scalars[name] = max(stop, 1)
        body = [self.nest(depth - 1) for _ in range(self.between(1, 2))]
        del self.scalars[name]
        kind = self.pick(("global", "reduce", "serial", "unroll"))
        return build.for_(build.range_(name, start, stop, step, kind), body)

    def call(self) -> Node | None:
        """Return a call on windows, of which outputs overlap no other; whole buffers where these fit."""
        if not self.callees:
            return None
        callee = self.pick(self.callees)
        inputs = callee.attrs["input_count"]
        windows: list[tuple[Root, int, int, bool]] = []
        arguments = []
        for position, param in enumerate(build.params_of(callee)):
            needed, output = param.attrs["shape"][0], position >= inputs
            fit = [b for b in self.buffers if b.node.type is FLOAT64 and b.readable >= needed]
            fit = [b for b in fit if b.root.writable or not output]
            if not fit:
                return None
            chosen = self.pick(fit)
            start = self.between(0, chosen.readable - needed)
            first, last = chosen.offset + start, chosen.offset + start + needed
            for root, other, end, is_output in windows:
                if root is chosen.root and (output or is_output) and first < end and other < last:
                    return None
            windows.append((chosen.root, first, last, output))
            moving = [name for name, below in self.scalars.items() if below and below + needed - 1 <= chosen.readable]
            if moving and not output and not any(root is chosen.root and out for root, _, _, out in windows):
                windows[-1] = (chosen.root, chosen.offset, chosen.offset + chosen.size, False)
                arguments.append(build.view(chosen.node, build.var(self.pick(moving))))
            else:
                arguments.append(chosen.node if start == 0 and self.chance(50) else build.view(chosen.node, start))
        counts = {} if self.chance(20) else {"n_in": inputs, "n_out": len(arguments) - inputs}
        return build.call(callee.attrs["name"], arguments, **counts)

    def trap(self) -> None:
        """Add what cannot be run at compile time."""
        target = self.pick(self.targets())
        place = build.view(target.node, 0)
        kind = self.pick(TRAPS)
        if kind == "integer":
            whole = build.cast(build.cast(build.const(2.5, FLOAT64), INT64), FLOAT64)
            self.body.append(build.store(place, whole))
        elif kind == "assign":
            self.body.append(build.assign(self.fresh("s"), self.number(), declare=True))
        elif kind == "pair" and target.readable > 1:
            self.body.append(build.store_pair(place, self.number(), self.number()))
        elif kind == "dynamic":
            stop = build.cast(build.apply("abs", build.apply("sin", build.load(place))), INT64)
            domain = build.range_(self.fresh("n"), 0, stop, 1, "serial")
            self.body.append(build.for_(domain, [build.store(place, build.const(1, FLOAT64))]))
        elif kind == "uninitialized":  # but for what nobody reads
            self.body.append(build.buffer(self.fresh("t"), (3,)))
        elif kind == "computed":
            at = build.cast(build.apply("abs", build.apply("sin", build.load(place))), INT64)
            self.body.append(build.store(build.view(target.node, at), self.number()))

    # --- a procedure --------------------------------------------------------------------------------------------------

    def procedure(self, *, is_entry: bool) -> Node:
        params = []
        inputs, outputs = self.between(0, 3), self.between(1, 2)
        for _ in range(inputs):
            size = self.pick(SIZES)
            params.append(build.param(self.fresh("x"), (size,)))
            self.buffers.append(Buffer(params[-1], Root(size, False, size), 0, size))
        for _ in range(outputs):
            size = self.pick(SIZES)
            params.append(build.param(self.fresh("y"), (size,)))
            self.fill(params[-1], size)
        for _ in range(self.between(1, 7)):
            self.pick((self.temporary, self.table, self.alias, *[self.add_nest] * 5))()
        if self.chance(12):
            self.trap()
        header: dict[str, object] = {"input_count": inputs}
        mode, hint = self.pick(MODES), "scalar" if is_entry and self.chance(60) else self.pick(HINTS)
        header |= {"scalarize_mode": mode} if mode else {}
        header |= {"lowering": hint} if hint else {}
        return build.proc(self.name, params, self.body, header)

    def add_nest(self) -> None:
        self.body.append(self.nest())


def module(choose: Choose) -> Node:
    """Return a module of one to four procedures."""
    procedures: list[Node] = []
    names = ["p", "q", "r"][: choose(0, 3)]
    for name in [*names, "f"]:
        procedures.append(Writer(choose, name, list(procedures)).procedure(is_entry=name == "f"))
    return build.program(procedures)


@st.composite
def modules(draw: st.DrawFn) -> Node:
    """Draw a module."""
    return module(lambda low, high: draw(st.integers(low, high)))
