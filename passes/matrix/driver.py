"""Lowering functions statement by statement: rules of operators, and what a rule is given to work with.

A pass has a key, ``<pass>.FLowerOp``. An operator that has that attribute is lowered by calling it as
``f(ctx, statement) -> None`` for each statement; what it emits stands in the place of the statement, and is lowered
in turn. All other statements stay as they are. Source: matrix specification 9 and 10.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import ClassVar, Final, TypeVar

from scaly_ir.dialects.affine import build as affine
from scaly_ir.dialects.buffer import build, ops
from scaly_ir.dialects.buffer.names import Names
from scaly_ir.dialects.buffer.types import INDEX
from scaly_ir.errors import LoweringError
from scaly_ir.graph import Node
from scaly_ir.graph.observe import report_rewrite
from scaly_ir.op import Op
from scaly_ir.pass_manager import Pass
from scaly_ir.passes.matrix.rebuilding import in_functions
from scaly_ir.types import MemRefType

T = TypeVar("T")

DIALECTS: Final = frozenset({"matrix", "buffer", "affine"})
_DEEPEST: Final = 1000
"""So many rules may have emitted each what the next one lowers: more of them do not end."""


class Loops:
    """A nest of loops that is being built, which may carry values.

    `indices` holds an index operand for each extent: a loop variable, or 0 for an extent of 1, which needs no loop.
    """

    def __init__(self, indices: Sequence[Node], carried: Sequence[Node]) -> None:
        self.indices = tuple(indices)
        self.carried = tuple(carried)
        """What is carried, as it is at the beginning of the innermost body."""
        self.results: tuple[Node, ...] = ()
        """What is carried in the end; known when the nest is closed."""

    def give(self, values: Iterable[Node]) -> None:
        """End the innermost body with what is carried next."""
        self.results = tuple(values)


class Context:
    """What a rule works with: it emits statements, makes names and loops, and asks what a statement binds."""

    def __init__(self, function: Node, key: str) -> None:
        self._names = Names(function, lambda statement: not statement.op.has_attr(key))
        self._key = key
        self._bodies: list[list[Node]] = []
        self._unnamed = ""
        self._is_open = False
        """Whether a rule emitted what has a rule itself, or may hold such."""

    def emit(self, statement: Node) -> None:
        """Append a statement to the innermost open body."""
        self._bodies[-1].append(statement)
        if statement.op.has_attr(self._key) or build.region_of(statement) is not None:
            self._is_open = True

    def fresh(self, name: str = "") -> str:
        """Return a name that the function does not have: this one, if it is free; none gives a nameless value."""
        return self._names.fresh(name)

    def result(self, statement: Node) -> str:
        """Return the name that a statement binds, a new one if it binds none."""
        for binding in build.results_of(statement):
            return binding.name
        self._unnamed = self._unnamed or self.fresh()
        return self._unnamed

    @contextmanager
    def loop_nest(
        self,
        extents: Sequence[int] | Mapping[int, int],
        kind: str,
        carried: Sequence[tuple[str, Node]] = (),
    ) -> Iterator[Loops]:
        """Open a nest of loops from 0 to each extent, the first outermost; what is emitted next is its body.

        Variables are called after the position of an extent, or after its key. `carried` gives names and first values,
        for a body that ends in `Loops.give`. An extent of 1 has no loop.
        """
        numbered = extents if isinstance(extents, Mapping) else dict(enumerate(extents))
        variables = {number: self.fresh(f"i{number}") for number, extent in numbered.items() if extent != 1}
        indices = [affine.index(variables.get(number, 0)) for number in numbered]
        values = [first for _, first in carried]
        opened: list[Sequence[affine.Carried]] = []
        for _ in variables:
            opened.append([affine.Carried(self.fresh(name), values[at], "") for at, (name, _) in enumerate(carried)])
            # What is not defined at first is so for every loop: the body may not read it.
            values = [
                each.init if each.init.op is ops.UNDEF else build.value(each.name, each.init.type)
                for each in opened[-1]
            ]
            self._bodies.append([])
        loops = Loops(indices, values)
        yield loops
        for number, variable in reversed(variables.items()):
            here = opened.pop()
            if here:
                self.emit(affine.yield_(loops.results))
                here = [affine.Carried(name, init, self.fresh()) for name, init, _ in here]
            body = self._bodies.pop()
            extent = affine.index(numbered[number])
            loop = affine.for_(variable, affine.index(0), extent, body, kind=kind, carried=here)
            self._bodies[-1].append(loop)
            loops.results = tuple([build.value(each.result, each.init.type) for each in here])

    # --- statements that rules need ---------------------------------------------------------------------------------

    def alloc(self, name: str, type_: MemRefType) -> Node:
        """Emit fresh storage and return it."""
        self.emit(build.statement(ops.ALLOC, (), type_, (name,)))
        return build.value(name, type_)

    def constant(self, name: str, value: Node, type_: MemRefType) -> Node:
        """Emit fresh storage with one value in every element and return it."""
        self.emit(build.statement(ops.CONSTANT, (value,), type_, (name,)))
        return build.value(name, type_)

    def read(self, buffer: Node, indices: Iterable[Node], name: str = "") -> Node:
        """Emit the read of an element, of which `name` is to be the name, and return its value."""
        bound = self.fresh(name)
        self.emit(build.statement(ops.READ, (buffer, *indices), buffer.type.dtype, (bound,)))
        return build.value(bound, buffer.type.dtype)

    def write(self, value: Node, buffer: Node, indices: Iterable[Node]) -> None:
        """Emit the write of an element."""
        self.emit(build.statement(ops.WRITE, (value, buffer, *indices), buffer.type.dtype))

    def bind(self, statement: Callable[[str], Node]) -> Node:
        """Emit what `statement` makes of a new name and return the index of that name."""
        name = self.fresh()
        self.emit(statement(name))
        return build.value(name, INDEX)

    # --- for the driver -----------------------------------------------------------------------------------------------

    def open(self) -> None:
        """Begin a body."""
        self._bodies.append([])

    def close(self) -> list[Node]:
        """End the innermost body and return its statements."""
        return self._bodies.pop()

    def expansion(self, rule: Rule, statement: Node) -> tuple[list[Node], bool]:
        """Return what a rule emits for a statement, and whether there may be more to lower in it."""
        self._unnamed, self._is_open = "", False
        self.open()
        rule(self, statement)
        made = self.close()
        report_rewrite(statement.op.name, statement, *made)
        return made, self._is_open

    def add(self, statements: Iterable[Node]) -> None:
        """Append statements, in which there is nothing to lower, to the innermost open body."""
        self._bodies[-1].extend(statements)


Rule = Callable[[Context, Node], None]


def used(shape: Sequence[int], indices: Iterable[T]) -> list[T]:
    """Return what is there for each axis, without that of axes of extent 1, which have no index."""
    return [index for extent, index in zip(shape, indices, strict=True) if extent != 1]


@dataclass(frozen=True)
class LoweringPass(Pass):
    """The base of passes that consist of the rules of operators."""

    dialects: ClassVar[frozenset[str]] = DIALECTS

    def run(self, root: Node) -> Node:
        """Lower every statement whose operator has a rule."""
        return in_functions(root, lambda function: _lowered(function, f"{self.name}.FLowerOp"))


def set_rules(pass_name: str, rules: Mapping[Op, Callable[..., None]]) -> None:
    """Give operators their rules for a pass."""
    for op, rule in rules.items():
        op.set_attr(f"{pass_name}.FLowerOp", rule, override=True)


def _lowered(function: Node, key: str) -> Node:
    region = build.region_of(function)
    if region is None or not any([statement.op.has_attr(key) for statement in build.statements_in(region)]):
        return function
    return _rebuilt(function, key)


def _rebuilt(function: Node, key: str) -> Node:
    """Return a function with every statement lowered that has a rule; iterative, as regions may nest deeply."""
    ctx = Context(function, key)
    frames: list[tuple[Iterator[Node], Node | None]] = []  # with the owner of a region; None for what a rule emitted

    def enter(owner: Node) -> None:
        region = build.region_of(owner)
        assert region is not None
        frames.append((iter(build.body_of(region)), owner))
        ctx.open()

    enter(function)
    expansions = 0
    while True:
        statements, owner = frames[-1]
        for statement in statements:
            rule: Rule | None = statement.op.get_attr(key, None)
            if rule is not None:
                made, is_open = ctx.expansion(rule, statement)
                if not is_open:
                    ctx.add(made)
                    continue
                expansions += 1
                if expansions > _DEEPEST:
                    raise LoweringError(f"the lowering of '{statement.op.name}' does not end", statement, function)
                frames.append((iter(made), None))
                break
            if build.region_of(statement) is not None:
                enter(statement)
                break
            ctx.add((statement,))
        else:
            frames.pop()
            if owner is None:
                expansions -= 1
                continue
            region = build.region_of(owner)
            assert region is not None
            body, whole = tuple(ctx.close()), owner
            if body != build.body_of(region):
                whole = owner.replace(args=(*build.operands_of(owner), build.with_body(region, body)))
            if not frames:
                return whole
            ctx.add((whole,))
