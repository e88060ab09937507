"""Where operations come from: the places of a file for IR that passes may have changed since it was read.

A place is no part of a node, so what a pass made is looked up by what it is: the same node, the same head of a body, or
what defines the same name or writes the same place, first in the function around it. What is none of these comes from
nowhere.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator

from scaly_ir.graph import Node
from scaly_ir.op import CallEffectKind
from scaly_ir.text.locations import Locations
from scaly_ir.text.written import UNKNOWN


class Origins:
    """The places of the operations of a file."""

    def __init__(self, locations: Locations, operations: Iterable[Node]) -> None:
        """Take note of a file: where things stand, and its operations as these places are numbered."""
        self._locations = locations
        self._places: dict[Hashable, list[int]] = {}
        """The numbers of what is alike, in order: by the function around and what it is, and by the latter alone."""
        around: Hashable = None
        for number, node in enumerate(operations):
            if _is_function(node):
                around = node.attrs["name"]
            for key in _keys(node):
                for where in {around, None}:  # the same for what is in no function
                    self._places.setdefault((where, key), []).append(number)

    def finder(self) -> Finder:
        """Return what finds the places of one printing."""
        return Finder(self)

    def place(self, around: Hashable, node: Node, used: dict[Hashable, int]) -> str:
        """Return the place of an operation in a function; `used` counts how many that are alike had one already."""
        for key in _keys(node):
            for where in (around, None):
                numbers = self._places.get((where, key))
                if numbers is not None:
                    count = used[where, key] = used.get((where, key), -1) + 1
                    return self._locations.spelled(numbers[min(count, len(numbers) - 1)])
        return UNKNOWN


class Finder:
    """Finds places for one printing of IR, whose operations it is asked about in order."""

    def __init__(self, origins: Origins) -> None:
        self._origins = origins
        self._around: Hashable = None
        self._used: dict[Hashable, int] = {}

    def __call__(self, node: Node) -> str:
        """Return the ``loc(...)`` of the next operation."""
        if _is_function(node):
            self._around = node.attrs["name"]
        return self._origins.place(self._around, node, self._used)


def _is_function(node: Node) -> bool:
    return node.type is None and type(node.attrs.get("name")) is str


def _keys(node: Node) -> Iterator[Hashable]:
    """Yield what an operation is known by, the surest first."""
    yield node
    attrs = node.attrs
    if node.op.get_attr("TModule", False):
        yield node.op
    elif node.type is None and not attrs and node.args:  # a loop: its domain is what remains when its body changes
        yield node.op, node.args[0]
        attrs = node.args[0].attrs
    for name in attrs.get("results") or ():  # what a pass puts in the place of an operation binds the same
        if type(name) is str and not name.isdigit():  # those that are numbers stand for none
            yield name
    name = attrs.get("name", attrs.get("target"))
    if type(name) is str:
        yield node.op, name
    elif node.type is not None and node.args and node.op.get_attr("TCallEffectKind") == CallEffectKind.UpdateState:
        yield node.op, node.args[0]  # what writes the same place
