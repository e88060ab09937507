"""Where operations come from: the places of a file for IR that passes may have changed since it was read.

A place is no part of a node. What a pass made comes from where that comes from which it was made for, as the pass tells
(`provenance`), or else is looked up in the function by what it is: the same node, the same head of a body, what defines
the same name or writes the same place, or the only one that is the same but for the numbers of values. What is none of
these comes from the function.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import NamedTuple

from scaly_ir.attributes import value_key
from scaly_ir.graph import Node
from scaly_ir.op import CallEffectKind, Op
from scaly_ir.text.locations import Locations
from scaly_ir.text.provenance import Provenance, function_name
from scaly_ir.text.source import Span
from scaly_ir.text.written import UNKNOWN

_MODULE, _FUNCTION = "module", "function"
_DEPTH = 3
"""How many levels of operands are looked at where only the numbers of values may differ."""


class Origins:
    """The places of a file that the operations of a program come from."""

    def __init__(
        self, locations: Locations, operations: Iterable[Node], numbers: Sequence[int | None] | None = None
    ) -> None:
        """Take note of a program: the file's, or what passes made of that.

        `numbers` are those of the places in the file that `operations` have, None for one that comes from nowhere; left
        out, the operations are the file's own.
        """
        self._locations = locations
        self._operations = list(operations)
        self._numbers = list(range(len(self._operations))) if numbers is None else numbers
        self._functions: set[Hashable] = {None}
        self._parts: dict[tuple[Hashable, Node], int] | None = None
        self._places: dict[tuple[Hashable, Hashable], list[int]] = {}
        """The numbers of what is alike, in order: by the function around and what it is, and by the latter alone."""
        around: Hashable = None
        for number, node in zip(self._numbers, self._operations, strict=True):
            if (name := function_name(node)) is not None:
                around = name
                self._functions.add(name)
            if number is not None:
                for key in _keys(node):
                    for where in {around, None}:  # the same for what is in no function
                        self._places.setdefault((where, key), []).append(number)

    def finder(self) -> Finder:
        """Return what finds the places of one printing."""
        return Finder(self)

    def after(self, provenance: Provenance, operations: Iterable[Node]) -> Origins:
        """Return the places that the operations come from which a pass made of those of this program."""
        made = list(_in_functions(operations))
        times = Counter(made)
        used: dict[tuple[Hashable, Hashable], int] = {}
        known: dict[tuple[Hashable, Node], list[int]] = {}
        numbers: list[int | None] = []
        head: int | None = None
        for around, node in made:
            found = known.get((around, node))
            if found is None:
                found = known[around, node] = self._made_for(provenance, around, node, times[around, node])
            number = _next(found, (around, node), used) if found else self._alike((self._known(around),), node, used)
            if number is None:
                number = next(iter(self._told(provenance, None, node)), None)
            if function_name(node) is not None:
                head = number
            numbers.append(head if number is None else number)
        return Origins(self._locations, [node for _, node in made], numbers)

    def span(self, provenance: Provenance, node: Node, function: str | None) -> Span | None:
        """Return where an operation or an operand comes from at which a pass stopped; None if that is not known."""
        around = self._known(function)
        found = self._made_for(provenance, around, node, 1) or self._of(around, node)
        return self._locations.origin(found[-1]) if found else None

    def place(self, around: Hashable, node: Node, used: dict[tuple[Hashable, Hashable], int]) -> str | None:
        """Return the place of an operation in a function, None where it comes from nowhere in the file.

        `used` counts how many that are alike had one already.
        """
        number = self._alike((around, None), node, used)
        return None if number is None else self._locations.spelled(number)

    def _made_for(self, provenance: Provenance, around: Hashable, node: Node, times: int) -> list[int]:
        """Return the places that a node comes from which stands in a function so many times."""
        told = self._told(provenance, around, node)
        same = self._places.get((self._known(around), node), [])
        if not told:
            return same
        return sorted(told[-times:] if len(told) >= times else {*told, *same})

    def _known(self, function: Hashable) -> Hashable:
        """Return the name of a function of this program; None, which stands for all of them, for another one."""
        return function if function in self._functions else None

    def _told(self, provenance: Provenance, around: Hashable, node: Node) -> list[int]:
        return [number for origin in provenance.origins(node, around) for number in self._of(around, origin)]

    def _of(self, around: Hashable, node: Node) -> list[int]:
        """Return the places of an operation in a function, or that of the first one with an operand."""
        found = self._places.get((around, node))
        if found is None:
            if self._parts is None:
                self._parts = _parts(self._operations, self._numbers)
            number = self._parts.get((around, node))
            found = [] if number is None else [number]
        return found

    def _alike(
        self, functions: Iterable[Hashable], node: Node, used: dict[tuple[Hashable, Hashable], int]
    ) -> int | None:
        """Return the place of what is most like an operation in some functions, None being all of them."""
        for key in _keys(node):
            for where in functions:
                numbers = self._places.get((where, key))
                if numbers is not None and (len(numbers) == 1 or not isinstance(key, _Sketch)):
                    return _next(numbers, (where, key), used)
        return None


def _next(numbers: Sequence[int], key: tuple[Hashable, Hashable], used: dict[tuple[Hashable, Hashable], int]) -> int:
    """Return the next of some numbers; the last one stands for all that are left."""
    count = used[key] = used.get(key, -1) + 1
    return numbers[min(count, len(numbers) - 1)]


def _in_functions(operations: Iterable[Node]) -> Iterator[tuple[Hashable, Node]]:
    """Yield operations with the name of the function around."""
    around: Hashable = None
    for node in operations:
        if (name := function_name(node)) is not None:
            around = name
        yield around, node


def _parts(operations: Sequence[Node], numbers: Sequence[int | None]) -> dict[tuple[Hashable, Node], int]:
    """Return the number of the first operation that an operand is in: by function, and in all of them."""
    heads = set(operations)
    found: dict[tuple[Hashable, Node], int] = {}
    for (around, operation), number in zip(_in_functions(operations), numbers, strict=True):
        pending = [operand for operand in operation.args if operand not in heads]
        while pending and number is not None:
            node = pending.pop()
            if (around, node) not in found:
                found[around, node] = number
                found.setdefault((None, node), number)
                pending.extend([operand for operand in node.args if operand not in heads])
    return found


class Finder:
    """Finds places for one printing of IR, whose operations it is asked about in order."""

    def __init__(self, origins: Origins) -> None:
        self._origins = origins
        self._around: Hashable = None
        self._used: dict[tuple[Hashable, Hashable], int] = {}

    def __call__(self, node: Node) -> str:
        """Return the ``loc(...)`` of the next operation."""
        if (name := function_name(node)) is not None:
            self._around = name
        return self._origins.place(self._around, node, self._used) or UNKNOWN


def _keys(node: Node) -> Iterator[Hashable]:
    """Yield what an operation is known by, the surest first."""
    yield node
    attrs = node.attrs
    if node.op.get_attr("TModule", False):
        yield _MODULE
    elif (of := function_name(node)) is not None:  # of whatever dialect
        yield _FUNCTION, of
    elif node.type is None and not attrs and node.args:  # a loop: its domain is what remains when its body changes
        yield node.op, node.args[0]
        attrs = node.args[0].attrs
    bound = attrs.get("results")
    if isinstance(bound, tuple):  # what a pass puts in the place of an operation binds the same
        yield from [each for each in bound if isinstance(each, str) and not _is_number(each)]
    name = attrs.get("name", attrs.get("target"))
    if type(name) is str:
        yield node.op, name
    elif node.type is not None and node.args and not node.args[0].op.is_expression and _updates(node):
        yield node.op, node.args[0]  # what writes the same place
    yield _sketch(node, _DEPTH)


class _Sketch(NamedTuple):
    """An operation without its body, and without the numbers that stand for names of values."""

    op: Op
    type: Hashable
    attrs: tuple[tuple[str, Hashable], ...]
    operands: tuple[Hashable, ...]


def _sketch(node: Node, depth: int) -> _Sketch:
    kept = [(key, value_key(value)) for key, value in node.attrs.items() if key != "results" and not _is_number(value)]
    operands = [operand for operand in node.args if operand.type is not None] if depth else []
    return _Sketch(node.op, node.type, tuple(kept), tuple([_sketch(operand, depth - 1) for operand in operands]))


def _is_number(name: object) -> bool:
    """Tell whether a name of a value is none that anybody gave."""
    return isinstance(name, str) and name.isdigit()


def _updates(node: Node) -> bool:
    return bool(node.op.get_attr("TCallEffectKind") == CallEffectKind.UpdateState)
