"""Random `prog` modules whose procedures are called from loops, with arguments that move and arguments that do not."""

from __future__ import annotations

from hypothesis import strategies as st

from scaly_ir.dialects.prog import build
from scaly_ir.graph import Node
from scaly_ir.types import FLOAT64
from tests.passes.prog.programs import Writer
from tests.passes.prog.random_scalars import Buffer, Choose, Root


class Mapper(Writer):
    """Writes one procedure that mostly calls others, in loops."""

    def nest(self) -> None:
        if self.callees:
            self.call()
        else:
            super().nest()

    def call(self) -> None:
        """Map a procedure over places in buffers; an output shares storage with no other argument."""
        if not self.callees:
            return
        callee = self.pick(self.callees)
        inputs = callee.attrs.get("input_count")
        trips = self.pick([1, 2, 2, 3])
        taken: list[Root] = []
        arguments: list[Node] = []
        name = self.pick(["it", "jt"]) if self.chance(80) else self.fresh("it")
        for position, param in reversed(list(enumerate(build.params_of(callee)))):
            output = inputs is None or position >= inputs
            needed = param.attrs["shape"][0]
            fit = [b for b in self.buffers if b.node.type is param.type and b.readable >= needed]
            fit = [b for b in fit if not any(b.root is root for root in taken)]
            fit = [b for b in fit if (b.root.writable or not output) and (b.node.type is FLOAT64 or b.root.below <= 1)]
            if not fit:
                return
            chosen = self.pick(fit)
            if output:
                taken.append(chosen.root)
            arguments.insert(0, self.place(chosen, needed, trips, name))
        if inputs is not None:
            names = [node.attrs.get("buffer", node.attrs.get("name")) for node in arguments[:inputs]]
            read = [b.root for b in self.buffers if b.node.attrs["name"] in names]
            if any(root is other for root in taken for other in read):
                return
        counts = {} if self.chance(5) else {"n_in": inputs or 1, "n_out": len(arguments) - (inputs or 1)}
        call = build.call(callee.attrs["name"], arguments, **counts)
        self.body.append(build.for_(build.range_(name, 0, trips, 1, self.pick(["global", "serial"])), [call]))

    def place(self, buffer: Buffer, needed: int, trips: int, name: str) -> Node:
        """Return a place for `needed` elements: the whole buffer, a part of it, or one that moves with the loop."""
        room = buffer.readable - needed
        if room >= trips - 1 and trips > 1 and self.chance(40):
            step = self.between(1, room // (trips - 1))
            return build.view(buffer.node, build.apply("mul", build.var(name), build.index(step)))
        return buffer.node if self.chance(40) else build.view(buffer.node, self.between(0, room))


def mapped_module(choose: Choose) -> Node:
    """Return a module of two or three procedures; integer inputs are meant to hold zeros."""
    procedures: list[Node] = []
    for name in [["g", "f"], ["h", "g", "f"]][choose(0, 1)]:
        procedures.append(Mapper(choose, name, list(procedures)).procedure())
    return build.program(procedures)


@st.composite
def mapped_modules(draw: st.DrawFn) -> Node:
    """Draw a module."""
    return mapped_module(lambda low, high: draw(st.integers(low, high)))
