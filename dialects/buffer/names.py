"""Names in functions of buffers: results without a name of their own are numbered, and new names are made unique.

A name that is a number stands for no name: functions are kept with these numbered from 0 in the order of the text, so
that what a pass removes or adds leaves no trace in them. Source: matrix specification 2 and 9.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import count

from scaly_ir.attributes import Attrs
from scaly_ir.dialects.buffer import build
from scaly_ir.dialects.buffer.substitution import with_names
from scaly_ir.graph import Node, intern_node
from scaly_ir.graph.observe import report_renamed


def is_number(name: str) -> bool:
    """Tell whether a name stands for none."""
    return name.isdigit() and name.isascii()


def definitions(function: Node, enters: Callable[[Node], bool] = lambda statement: True) -> list[str]:
    """Return the names that a function defines, in the order of the text: parameters, and what statements bind.

    What is defined in the region of a statement is left out where `enters` says no.
    """
    region = build.region_of(function)
    if region is None:
        return []
    found = _names(build.params_of(region))
    for statement in build.statements_in(region, enters):
        found += build.names_of(statement)
        inner = build.region_of(statement)
        if inner is not None and enters(statement):
            found += _names(build.params_of(inner))
    return found


def _names(declarations: Iterable[Node]) -> list[str]:
    return [node.attrs["name"] for node in declarations]


def numbered(function: Node) -> Node:
    """Return a function whose nameless values are numbered from 0; the function itself if they are.

    A number that a result is called is left out.
    """
    outputs = frozenset([result.attrs.get("name") for result in build.operands_of(function)])

    def numbers() -> Iterator[str]:
        return (number for number in map(str, count()) if number not in outputs)

    wanted = numbers()
    if all([name == next(wanted) for name in definitions(function) if is_number(name)]):
        return function
    wanted = numbers()
    return renamed(function, lambda name: next(wanted) if is_number(name) else name)


def numbered_module(root: Node) -> Node:
    """Return a module with its functions so."""
    functions = [numbered(function) for function in root.args]
    return root if list(root.args) == functions else build.module(functions)


class _Open:
    """A region that is being rebuilt: what is left of it, what it became, and what its names stood for before.

    `operands` and `attrs` are what its owner has from now on.
    """

    __slots__ = ("attrs", "before", "made", "operands", "owner", "params", "statements")

    def __init__(self, owner: Node, operands: Sequence[Node], attrs: Attrs) -> None:
        self.owner = owner
        self.operands = operands
        self.attrs = attrs
        self.params: list[Node] = []
        self.statements = iter(build.body_of(owner.args[-1]))
        self.made: list[Node] = []
        self.before: list[tuple[str, str | None]] = []

    def rebuilt(self) -> Node:
        """Return the statement or function with what its region became; the same one if that is the same."""
        args = (*self.operands, build.region(self.params, self.made))
        return intern_node(self.owner.op, args, self.attrs, self.owner.type)


def renamed(function: Node, name_of: Callable[[str], str]) -> Node:
    """Return a function in which what it defines has other names; `name_of` is asked for each, in order of the text."""
    moved: dict[str, str] = {}
    """The names in scope that became others."""
    opened: list[_Open] = []

    def define(name: str, before: list[tuple[str, str | None]]) -> str:
        new = name_of(name)
        if new != name or name in moved:
            before.append((name, moved.get(name)))
            moved[name] = new
        return new

    pairs: list[tuple[Node, Node]] = []
    """What became of statements, and of the function."""

    def enter(owner: Node, operands: Sequence[Node], attrs: Attrs) -> None:
        entry = _Open(owner, operands, attrs)
        opened.append(entry)
        for param in build.params_of(owner.args[-1]):
            name = param.attrs["name"]
            new = define(name, entry.before)
            entry.params.append(param if new == name else build.declaration(new, param.type))

    enter(function, build.operands_of(function), function.attrs)
    while True:
        entry = opened[-1]
        for statement in entry.statements:
            operands = build.operands_of(statement)
            if moved:
                operands = tuple([with_names(operand, moved) for operand in operands])
            attrs = statement.attrs
            names = attrs.get("results")
            if names:
                new = tuple([define(name, entry.before) for name in names])
                if new != names:
                    attrs = Attrs({**attrs, "results": new})
            if len(operands) < len(statement.args):  # there is a region
                enter(statement, operands, attrs)
                break
            made = statement
            if attrs is not statement.attrs or operands != statement.args:
                made = intern_node(statement.op, operands, attrs, statement.type)
                pairs.append((statement, made))
            entry.made.append(made)
        else:
            opened.pop()
            for name, earlier in reversed(entry.before):
                if earlier is None:
                    del moved[name]
                else:
                    moved[name] = earlier
            whole = entry.rebuilt()
            if whole is not entry.owner:
                pairs.append((entry.owner, whole))
            if not opened:
                report_renamed(pairs)
                return whole
            opened[-1].made.append(whole)


class Names:
    """Makes names that a function does not have.

    A base that is taken gets ``_1``, ``_2``, ...; without a base, a value stays nameless.
    """

    def __init__(self, function: Node, enters: Callable[[Node], bool] = lambda statement: True) -> None:
        """Look at a function, but at no names in the regions of statements where `enters` says no."""
        outputs = _names(build.operands_of(function))  # no value may be called as a result is
        self._taken = {*outputs, *definitions(function, enters)}
        self._next: dict[str, int] = {}
        self._number = max([int(name) for name in self._taken if is_number(name)], default=-1)

    def fresh(self, base: str = "") -> str:
        """Return a name that was neither there nor made before."""
        if not base or is_number(base):
            self._number += 1
            return str(self._number)
        name, number = base, self._next.get(base, 0)
        while name in self._taken:
            number += 1
            name = f"{base}_{number}"
        self._next[base] = number
        self._taken.add(name)
        return name
