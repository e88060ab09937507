"""Finds loops whose trips may be evaluated at once, as far as that can be seen before the run.

Such a loop, or nest with nothing between its heads, holds stores, scalars of its own, and loops that run in step for
all trips. Every index that is written is affine and moves with each of the nest's variables. Whether the trips are
independent is settled when the loop is reached and all numbers are known (`arrays.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from scaly_ir.dialects.prog import ops
from scaly_ir.dialects.prog.affine import Affine, affine, trip_count
from scaly_ir.effects import CallEffectKind, side_effect
from scaly_ir.graph import Node, postorder
from scaly_ir.types import INT64, DType

FEWEST_TRIPS: Final = 32
"""With fewer trips a loop is faster evaluated trip by trip."""
_DEEPEST: Final = 6
_MOST_STATEMENTS: Final = 64
_MOST_NODES: Final = 2000


@dataclass(eq=False, slots=True)
class Inner:
    """A loop in the body of a site: all trips of the site go through it in step."""

    name: str
    bounds: tuple[Node, ...]
    fixed: bool
    """Whether its bounds do not depend on loops inside the site."""
    steps: list[Step] = field(default_factory=list)


class Write(NamedTuple):
    """A store of one value or a pair."""

    buffer: str
    dtype: DType
    form: Affine
    values: tuple[Node, ...]


class Assign(NamedTuple):
    """An assignment to a scalar of the body."""

    name: str
    value: Node


Step = Write | Assign | Inner


class Access(NamedTuple):
    """A read or write of a buffer: which elements, as far as that is affine, in which inner loops."""

    buffer: str
    form: Affine | None
    length: int
    written: bool
    loops: Mapping[str, Inner]


@dataclass(slots=True)
class Site:
    """A loop or nest whose trips may be evaluated at once."""

    chain: list[Node]
    """The ranges of the loops whose trips make up those of the site, outermost first."""
    steps: list[Step]
    accesses: list[Access]
    outer_variables: list[tuple[str, DType]]
    """The variables that are declared outside, with their types."""
    buffers: list[tuple[str, DType]]
    inner_names: set[str]
    single: bool
    """Whether the body is one store of one value: it fails before it writes anything, or not at all."""

    def runner(self, strict: bool) -> Callable[[Sequence[Any], Sequence[Any]], bool]:
        """Return the function that tries to run the site, given the places of its buffers and the outer variables."""
        from scaly_ir.dialects.prog.evaluate.arrays import Runner

        return Runner(self, strict)


def site_of(loop: Node, heights: Mapping[Node, int]) -> Site | None:
    """Return what is needed to evaluate a loop at once, or None when that cannot be done."""
    if heights[loop] > _DEEPEST:
        return None
    chain = [loop]
    while len(chain[-1].args) == 2 and chain[-1].args[1].op is ops.FOR:
        chain.append(chain[-1].args[1])
    return _Finder().find(chain)


class _Unfit(Exception):  # noqa: N818 - ends the search
    """The loop cannot be evaluated at once."""


class _Finder:
    def __init__(self) -> None:
        self.accesses: list[Access] = []
        self.outer: dict[str, DType] = {}
        self.buffers: dict[str, DType] = {}
        self.inside: dict[str, DType] = {}
        """The variables that are declared inside of the site and in scope."""
        self.loops: dict[str, Inner] = {}
        self.inner_names: set[str] = set()
        self.chain_names: set[str] = set()
        self.nodes = 0
        self.statements = 0

    def find(self, chain: list[Node]) -> Site | None:
        """Return the site of a nest whose loops have nothing between their heads."""
        try:
            written = list(_written_forms(chain[-1].args[1:]))
            together = _together(chain, written)
            if not together:
                return None
            for loop in chain[:together]:
                self.bounds(loop.args[0])
            for loop in chain[:together]:
                self.declare(loop.args[0].attrs["name"], INT64)
                self.chain_names.add(loop.args[0].attrs["name"])
            steps = self.body(chain[together - 1].args[1:])
        except _Unfit:
            return None
        single = len(steps) == 1 and isinstance(steps[0], Write) and len(steps[0].values) == 1
        ranges = [loop.args[0] for loop in chain[:together]]
        outer, buffers = list(self.outer.items()), list(self.buffers.items())
        return Site(ranges, steps, self.accesses, outer, buffers, self.inner_names, single)

    def declare(self, name: str, dtype: DType) -> None:
        if name in self.inside or name in self.outer:
            raise _Unfit
        self.inside[name] = dtype
        self.inner_names.add(name)

    def body(self, statements: Sequence[Node]) -> list[Step]:
        """Return the steps of a body; as deep as `_DEEPEST` at most."""
        before = dict(self.inside)
        steps = [self.step(statement) for statement in statements]
        self.inside = before
        return steps

    def step(self, statement: Node) -> Step:
        self.statements += 1
        if self.statements > _MOST_STATEMENTS:
            raise _Unfit
        if statement.op is ops.STORE or statement.op is ops.STORE_PAIR:
            view, *values = statement.args
            form = self.form(view)
            if form is None or any([value.type is not view.type for value in values]):
                raise _Unfit
            self.use(view.attrs["buffer"], view.type)
            self.accesses.append(Access(view.attrs["buffer"], form, len(values), True, dict(self.loops)))
            self.scalars([view.args[0], *values])
            return Write(view.attrs["buffer"], view.type, form, tuple(values))
        if statement.op is ops.ASSIGN:
            name = statement.attrs["target"]
            self.scalars(statement.args)
            if statement.attrs.get("declare"):
                self.declare(name, statement.type)
            elif self.inside.get(name) is not statement.type or name in self.loops:
                raise _Unfit
            return Assign(name, statement.args[0])
        if statement.op is not ops.FOR:
            raise _Unfit
        return self.inner(statement)

    def inner(self, statement: Node) -> Inner:
        domain = statement.args[0]
        name = domain.attrs["name"]
        fixed = self.bounds(domain)
        found = Inner(name, domain.args, fixed)
        before = dict(self.inside)
        self.declare(name, INT64)
        self.loops[name] = found
        found.steps = self.body(statement.args[1:])
        del self.loops[name]
        self.inside = before
        return found

    def bounds(self, domain: Node) -> bool:
        """Check bounds of a loop, which must be the same in all trips; tell whether they are known outside."""
        fixed = True
        if any([side_effect(bound) > CallEffectKind.Pure for bound in domain.args]):
            raise _Unfit
        for node in postorder(*domain.args):
            if node.op is ops.VAR and node.attrs["name"] in self.inside:
                fixed = False
                if node.attrs["name"] not in self.loops:
                    raise _Unfit
        self.scalars(domain.args)
        return fixed

    def scalars(self, roots: Sequence[Node]) -> None:
        """Note the variables and reads of scalars."""
        for node in postorder(*roots):
            self.nodes += 1
            if self.nodes > _MOST_NODES:
                raise _Unfit
            if node.op is ops.VAR:
                self.variable(node.attrs["name"], node.type)
            elif node.op is ops.LOAD:
                view = node.args[0]
                self.use(view.attrs["buffer"], view.type)
                self.accesses.append(Access(view.attrs["buffer"], self.form(view), 1, False, dict(self.loops)))
            elif node.op not in ops.ROWS and side_effect(node) > CallEffectKind.ReadState:
                raise _Unfit

    def variable(self, name: str, dtype: DType) -> None:
        known = self.inside.get(name)
        if known is None:
            if name in self.inner_names:
                raise _Unfit
            known = self.outer.setdefault(name, dtype)
        if known is not dtype:
            raise _Unfit

    def use(self, buffer: str, dtype: DType) -> None:
        if self.buffers.setdefault(buffer, dtype) is not dtype:
            raise _Unfit

    def form(self, view: Node) -> Affine | None:
        """Return the affine form of an index; None, too, when it uses scalars that differ between trips."""
        found = affine(view.args[0])
        if found is None:
            return None
        scalars = self.inside.keys() - self.loops.keys() - self.chain_names
        return None if scalars & found.coefficients.keys() else found


def _written_forms(statements: Sequence[Node]) -> list[Affine]:
    found = []
    pending = list(statements)
    while pending:
        statement = pending.pop()
        if statement.op is ops.FOR:
            pending.extend(statement.args[1:])
        elif statement.op in (ops.STORE, ops.STORE_PAIR):
            form = affine(statement.args[0].args[0])
            if form is None:
                raise _Unfit
            found.append(form)
        elif statement.op is not ops.ASSIGN:
            raise _Unfit
        if len(found) + len(pending) > _MOST_STATEMENTS:
            raise _Unfit
    return found


def _together(chain: Sequence[Node], written: Sequence[Affine]) -> int:
    """Return how many loops of a nest, from the outside, move every place that is written, and over the same range."""
    names: set[str] = set()
    count, trips = 0, 1
    for loop in chain:
        domain = loop.args[0]
        name = domain.attrs["name"]
        if not written or any([name not in form.coefficients for form in written]):
            break
        if any([node.op is ops.VAR and node.attrs["name"] in names for node in postorder(*domain.args)]):
            break
        names.add(name)
        count += 1
        known = trip_count(domain)
        trips *= FEWEST_TRIPS if known is None else known
    return count if trips >= FEWEST_TRIPS else 0
