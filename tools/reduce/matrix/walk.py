"""Functions of buffers as sequences of statements, each with a number, and rebuilding them without some.

What is to be changed is named by its place: the function, and the number of the statement in it, counted from 0 in the
order of the text. Names are followed: what takes the place of a value does so wherever the value is used.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from scaly_ir.dialects.buffer import build, names, ops
from scaly_ir.dialects.buffer.substitution import with_values
from scaly_ir.dialects.buffer.types import are_compatible
from scaly_ir.graph import Node, preorder
from scaly_ir.types import MemRefType


class Instead(NamedTuple):
    """What takes the place of a statement and its region: a value for each name that it binds, and other statements."""

    values: Sequence[Node] = ()
    statements: Sequence[Node] = ()


class Inner(NamedTuple):
    """A statement whose region loses parameters, or which loses itself: its region takes its place.

    `values` are what the names of parameters stand for that go. Where a region takes the place of its statement, what
    it gives in the end stands for what the statement binds.
    """

    statement: Node | None
    values: Mapping[str, Node]


Change = Callable[[int, Node, Node], Node | Instead | Inner]
"""Returns what stands in the place of a statement, given with its number, with operands as they became, and as it was.

The region of the statement is not changed yet, and is not to be.
"""


def functions_of(root: Node) -> tuple[Node, ...]:
    """Return the functions of a module."""
    return root.args if root.op is ops.MODULE else ()


def with_functions(functions: Sequence[Node]) -> Node | None:
    """Return a module of functions, with their values numbered; None where nothing is left."""
    return names.numbered_module(build.module(functions)) if functions else None


def numbered(function: Node) -> Iterator[tuple[int, Node]]:
    """Yield each statement of a function with its number."""
    return enumerate(build.statements_in(function.args[-1]))


def places(root: Node) -> Iterator[tuple[int, int, Node]]:
    """Yield each statement of a module with the number of its function and its own."""
    for at, function in enumerate(functions_of(root)):
        for number, statement in numbered(function):
            yield at, number, statement


def with_operands(statement: Node, operands: Sequence[Node]) -> Node:
    """Return a statement with other operands and its region."""
    own = build.operands_of(statement)
    return statement if tuple(operands) == own else statement.replace(args=(*operands, *statement.args[len(own) :]))


def used(statement: Node) -> set[str]:
    """Return the names that a statement refers to, without those in its region."""
    operands = build.operands_of(statement)
    return {node.attrs["name"] for operand in operands for node in preorder(operand) if build.is_variable(node)}


class _Open:
    """A region that is being rebuilt: of a statement, or of one that it takes the place of."""

    def __init__(self, before: Node, statement: Node | None, params: Sequence[Node]) -> None:
        self.before = before
        self.statement = statement
        self.params = params
        self.left = iter(build.body_of(before.args[-1]))
        self.made: list[Node] = []
        self.given: Sequence[Node] = ()


class _Rewriting:
    """A function that is being rebuilt; iterative, as regions may nest deeply."""

    def __init__(self, function: Node, change: Change, known: Mapping[str, Node]) -> None:
        self._function = function
        self._change = change
        self._known = dict(known)
        """What names became: those in scope that are not what they were."""
        self._number = -1
        self._fresh = names.Names(function)
        self._definitions = Counter(names.definitions(function))

    def run(self, params: Sequence[Node]) -> tuple[Node, ...]:
        """Return the operands of the function as they become: declarations of its results, and the region."""
        opened = [_Open(self._function, self._function, params)]
        while True:
            entry = opened[-1]
            for before in entry.left:
                inner = self._statement(entry, before)
                if inner is not None:
                    if inner.statement is None:
                        inner.made = entry.made
                    opened.append(inner)
                    break
            else:
                opened.pop()
                if not opened:
                    return _fitting(build.operands_of(self._function), build.region(entry.params, entry.made))
                self._close(opened[-1], entry)

    def _statement(self, entry: _Open, before: Node) -> _Open | None:
        """Add what becomes of a statement to an open region; return its region if that is to be gone through."""
        self._number += 1
        statement = with_operands(before, [self._value(operand) for operand in build.operands_of(before)])
        if entry.statement is None and build.is_terminator(before):
            entry.given = statement.args
            return None
        made = self._change(self._number, statement, before)
        if isinstance(made, Node) and made.op is ops.LET and not made.args[0].args:
            made = Instead(made.args)  # text has names for operations alone
        region = build.region_of(before)
        if isinstance(made, Instead):
            self._number += 0 if region is None else sum(1 for _ in build.statements_in(region))
            entry.made.extend(made.statements)
            bound = [name for name, _ in build.results_of(before)]
            for name in bound:
                self._known.pop(name, None)
            self._known.update(zip(bound, [self._value(value) for value in made.values], strict=False))
            return None
        if region is None:
            assert isinstance(made, Node)
            self._define(entry, before, made)
            return None
        inner = made if isinstance(made, Inner) else Inner(made, {})
        params = [param for param in build.params_of(region) if param.attrs["name"] not in inner.values]
        for param in params:
            self._known.pop(param.attrs["name"], None)
        self._known.update(inner.values)
        return _Open(before, inner.statement, params)

    def _close(self, outer: _Open, entry: _Open) -> None:
        if entry.statement is None:
            self._known.update(zip([name for name, _ in build.results_of(entry.before)], entry.given, strict=False))
            return
        region = build.region(entry.params, entry.made)
        statement = entry.statement.replace(args=(*build.operands_of(entry.statement), region))
        self._define(outer, entry.before, statement)

    def _define(self, entry: _Open, before: Node, statement: Node) -> None:
        """Add a statement to a region, under other names where it comes out of one in which others are visible."""
        old = build.results_of(before)
        if entry.statement is None and any([self._definitions[name] > 1 for name, _ in old]):
            statement = statement.with_attrs(results=tuple([self._fresh.fresh(name) for name, _ in old]))
        entry.made.append(statement)
        for was, now in zip(old, build.results_of(statement), strict=True):
            if was == now:
                self._known.pop(was.name, None)
            else:
                self._known[was.name] = build.value(*now)

    def _value(self, operand: Node) -> Node:
        return with_values(operand, self._known)


def _fitting(results: Sequence[Node], region: Node) -> tuple[Node, ...]:
    """Return declarations of results of the shapes that a region returns, and the region."""
    returned = build.body_of(region)[-1].args
    made = [
        build.declaration(result.attrs["name"], value.type) if _is_reshaped(result.type, value.type) else result
        for result, value in zip(results, returned, strict=True)
    ]
    return (*made, region)


def _is_reshaped(old: object, new: object) -> bool:
    return isinstance(old, MemRefType) and isinstance(new, MemRefType) and not are_compatible(old, new)


def rewritten(
    function: Node, change: Change, params: Sequence[Node] | None = None, values: Mapping[str, Node] | None = None
) -> Node:
    """Return a function of what `change` makes of each statement, outer ones first.

    `params` are other declarations of its parameters, and `values` what their names stand for then.
    """
    kept = build.params_of(function.args[-1]) if params is None else params
    args = _Rewriting(function, change, values or {}).run(kept)
    return function if args == function.args else function.replace(args=args)


def changed(root: Node, change: Callable[[int, int, Node, Node], Node | Instead | Inner]) -> Node | None:
    """Return a module of what `change` makes of each statement, given with the numbers of function and statement."""
    made = []
    for at, function in enumerate(functions_of(root)):
        made.append(rewritten(function, lambda number, now, before, at=at: change(at, number, now, before)))  # type: ignore[misc]
    return with_functions(made)
