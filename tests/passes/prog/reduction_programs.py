"""Random nests that sum up elements one after another, for property tests: in scalars or in place, with traps.

Most nests are such that their loops may change places; each choice of the generator has some that are not. All indices
are in range, and all that is read is written before.
"""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import strategies as st

from scaly_ir.dialects.prog import build
from scaly_ir.graph import Node
from scaly_ir.types import FLOAT32, FLOAT64, INT64, DType
from tests.passes.prog.random_scalars import Choose, T

SIZE = 400
"""How many elements the buffers have."""
TERMS = ((32,), (33,), (32,), (4, 8), (4, 8), (2, 4, 4), (4, 8), (2, 4, 4), (33,), (31,), (0, 32))
"""How often the loops over terms run."""
STRIDES = (0, 0, 1, 1, 1, 8, 9)


class Writer:
    """Writes one procedure around a nest."""

    def __init__(self, choose: Choose) -> None:
        self.between = choose
        self.dtype = self.pick([FLOAT64] * 5 + [FLOAT32, INT64, INT64])
        self.extents: dict[str, int] = {}
        """One more than the greatest value of each loop variable in scope."""
        self.carried: list[str] = []

    def pick(self, choices: Sequence[T]) -> T:
        return choices[self.between(0, len(choices) - 1)]

    def chance(self, percent: int) -> bool:
        return self.between(0, 99) >= 100 - percent

    # --- scalars ------------------------------------------------------------------------------------------------------

    def affine(self, coefficients: dict[str, int], constant: int = 0) -> Node:
        index = build.index(constant)
        for name, coefficient in coefficients.items():
            if coefficient:
                scaled = build.apply("mul", build.var(name), build.index(coefficient))
                index = build.apply("add", index, build.var(name) if coefficient == 1 else scaled)
        return index

    def term(self) -> Node:
        """Return a load of an input, or, as a trap, of the storage of the sums."""
        name = self.pick(["x"] * 19 + ["w"] * 19 + ["y", "a"])
        coefficients: dict[str, int] = {}
        room = SIZE - 1
        for variable, extent in self.extents.items():
            stride = self.pick((0, 1, 1, 1) if variable == "j" and self.chance(95) else STRIDES)
            if stride * max(extent - 1, 0) <= room:
                coefficients[variable] = stride
                room -= stride * max(extent - 1, 0)
        index = self.affine(coefficients, self.between(0, 1) if room else 0)
        if self.chance(2):
            index = build.apply("mod", index, build.index(7))
        return build.load(build.view(name, index, self.dtype))

    def value(self, total: Node, scalars: Sequence[Node] = ()) -> Node:
        """Return a sum with one more term, or something like it."""
        more = self.pick(scalars) if scalars else self.term()
        if self.chance(60):
            more = build.apply("mul", more, self.term())
        if self.chance(5) and self.carried:
            more = build.apply("mul", more, build.var(self.pick(self.carried), self.dtype))
        if self.chance(15):
            return build.apply("select", build.apply("lt", total, more), more, total)
        return build.apply(self.pick(["add", "add", "add", "sub", "minimum"]), total, more)

    # --- statements ---------------------------------------------------------------------------------------------------

    def loop(self, name: str, trips: int, body: Sequence[Node], kinds: Sequence[str], start: int = 0) -> Node:
        return build.for_(build.range_(name, start, start + trips, 1, self.pick(kinds)), body)

    def step(self, total: Node) -> list[Node]:
        """Return the declarations of the innermost body and, as the last, the declaration of the new sum."""
        scalars: list[Node] = []
        declarations = []
        for _ in range(self.pick([0, 0, 0, 1, 2])):
            value = self.value(total) if self.chance(20) else self.term()
            scalars.append(build.var(f"v{len(scalars)}", self.dtype))
            declarations.append(build.assign(f"v{len(scalars) - 1}", value, declare=True))
        return [*declarations, build.assign("new", self.value(total, scalars), declare=True)]

    def place(self, terms: Sequence[str]) -> Node:
        """Return the view of an element: in a row, mostly, and for a trap one that trips share."""
        row = {"i": 16} if "i" in self.extents else {}
        at = self.affine({**row, "j": 1}, self.pick([0, 0, 1]))
        if self.chance(10):
            at = self.pick([self.affine({**row, "j": 2}), build.apply("sub", build.index(20), build.var("j"))])
        if self.chance(5):
            at = self.pick([build.index(3), build.apply("mod", build.var("j"), build.index(5))])
        if terms and self.chance(10):
            at = build.apply("add", at, build.var(self.pick(terms)))
        return build.view(self.pick(["y"] * 8 + ["a"]), at, self.dtype)

    def terms(self, extents: Sequence[int], carried: bool) -> list[tuple[str, int]]:
        """Bring the loops over terms into scope, and the scalars that they carry."""
        loops = []
        for depth, extent in enumerate(extents):
            loops.append((f"k{depth}", extent))
            self.extents[f"k{depth}"] = extent
            if carried and depth and self.chance(70):
                self.carried.append(f"s{depth}")
        return loops

    def in_scalar(self, extents: Sequence[int]) -> list[Node]:
        """Return the body of the loop over elements: a scalar, the loops over terms, and a store."""
        start = self.pick([build.const(0, self.dtype), build.const(1, self.dtype), self.term()])
        before = build.assign("s", start, declare=True)
        self.carried = ["s"]
        outside = dict(self.extents)
        loops = self.terms(extents, carried=True)
        total = build.var(self.carried.pop(), self.dtype)
        *declarations, new = self.step(total)
        body = [*declarations, build.assign(total.attrs["name"], new.args[0])]
        self.carried.append(total.attrs["name"])
        for depth, (name, trips) in reversed(list(enumerate(loops))):
            body = [self.loop(name, trips, body, self.kinds())]
            if f"s{depth}" in self.carried:
                inner = self.carried.pop()
                outer = build.var(self.carried[-1], self.dtype)
                first = build.const(0, self.dtype) if self.chance(4) else outer
                last = build.var(inner, self.dtype)
                if self.chance(4):
                    last = build.apply("add", last, outer)
                body = [build.assign(inner, first, declare=True), *body, build.assign(outer.attrs["name"], last)]
        self.extents = outside
        self.carried = []
        value: Node = build.var("s", self.dtype)
        if self.chance(30):
            value = self.value(value)
        return [before, *body, build.store(self.place([]), value)]

    def in_place(self, extents: Sequence[int]) -> list[Node]:
        """Return the body of the loop over elements: stores of the element around and in the loops over terms."""
        ends = self.pick([(True, False)] * 3 + [(True, True)] * 3 + [(False, True), (False, False)])
        place = self.place([] if any(ends) else [f"k{depth}" for depth in range(len(extents))])
        around = [build.store(place, self.value(build.load(place))) if end else None for end in ends]
        if ends[0] and self.chance(70):
            around[0] = build.store(place, build.const(0, self.dtype))
        outside = dict(self.extents)
        loops = self.terms(extents, carried=False)
        *declarations, new = self.step(build.load(place))
        at = self.place([]) if self.chance(5) else place
        body = [*declarations, build.store(at, new.args[0])]
        for name, trips in reversed(loops):
            body = [self.loop(name, trips, body, self.kinds())]
        self.extents = outside
        return [statement for statement in (around[0], *body, around[1]) if statement is not None]

    def kinds(self) -> Sequence[str]:
        return ["reduce"] * 24 + ["serial"] * 8 + ["global"]

    def procedure(self) -> Node:
        """Return a procedure that fills an output, sums up elements of it, and uses them."""
        inputs = [build.param(name, SIZE, self.dtype) for name in ("x", "w")]
        y = build.param("y", SIZE, self.dtype)
        one = build.assign("one", build.const(1, self.dtype), declare=True)
        fill = build.store(build.view(y, build.var("z")), build.var("one", self.dtype))
        before = [one, build.alias("a", y, 0, SIZE), build.for_(build.range_("z", 0, SIZE), [fill])]
        if self.chance(50):
            self.extents["i"] = 2
        start, trips = self.pick([0, 0, 1]), self.pick([8, 8, 8, 9, 9, 10, 7])
        self.extents["j"] = start + trips
        extents = self.pick(TERMS)
        body = self.in_scalar(extents) if self.chance(60) else self.in_place(extents)
        nest = self.loop("j", trips, body, ["global"] * 6 + ["serial", "reduce"], start)
        if "i" in self.extents:
            nest = build.for_(build.range_("i", 0, 2), [nest])
        return build.proc("f", [*inputs, y], [*before, nest], {"input_count": 2})


def module(choose: Choose) -> Node:
    """Return a module of one procedure."""
    return build.program([Writer(choose).procedure()])


@st.composite
def reductions(draw: st.DrawFn) -> Node:
    """Draw a module."""
    return module(lambda low, high: draw(st.integers(low, high)))


def values_of(module: Node) -> dict[str, list[float]]:
    """Return values for the inputs: small integers for integers, and numbers whose sums are rounded."""
    found: dict[str, list[float]] = {}
    for param in build.params_of(module.args[-1])[:2]:
        dtype: DType = param.type
        integers = [(7 * at + len(found)) % 11 - 5 for at in range(SIZE)]
        found[param.attrs["name"]] = [value / 3 if dtype.is_float else value for value in integers]
    return found
