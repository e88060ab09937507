"""Where operations come from: the places of a file for IR that passes may have changed since it was read.

A place is no part of a node. What a pass made comes from where the operation stands that it was made for, as passes
tell (`Provenance`), or else is looked up by what it is: the same head of a body, what defines the same name or writes
the same place, or the only one that is the same but for the numbers of values, first in the function around it. What is
none of these comes from that function.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import NamedTuple

from scaly_ir.attributes import value_key
from scaly_ir.graph import Node, postorder
from scaly_ir.graph.observe import Observer
from scaly_ir.op import CallEffectKind, Op
from scaly_ir.text.locations import Locations
from scaly_ir.text.written import UNKNOWN

_MODULE, _FUNCTION = "module", "function"
_DEPTH = 3
"""How many levels of operands are looked at where only the numbers of values may differ."""


class Provenance(Observer):
    """Follows what passes make of a file, from one pass to the next: for which operation each node was made."""

    def __init__(self, root: Node) -> None:
        """Take note of what was read."""
        super().__init__()
        self._given = frozenset(postorder(root))
        self._origins: dict[Node, Node] = {}

    def origin(self, node: Node) -> Node | None:
        """Return the node of the file that a node is or was made for; None if nobody told."""
        return node if node in self._given else self._origins.get(node)

    def rewritten(self, rule: str, before: Node, after: Sequence[Node]) -> None:
        """Follow what a rule made of an operation; a function that became another one says nothing of its parts."""
        if function_name(before) is None:
            self.derived(before, after)

    def rebuilt(self, before: Node, after: Node) -> None:
        """Follow an operation on other operands, or that binds other names."""
        origin = self.origin(before)
        if origin is not None and after not in self._given:
            self._origins.setdefault(after, origin)

    def derived(self, before: Node, after: Sequence[Node]) -> None:
        """Follow what was made for an operation, with all that is new in it."""
        origin = self.origin(before)
        if origin is None:
            return
        for node in after:
            pending = [node]
            while pending:
                made = pending.pop()
                if made not in self._given and (made is node or made not in self._origins):
                    self._origins.setdefault(made, origin)
                    pending.extend(made.args)


class Origins:
    """The places of the operations of a file."""

    def __init__(self, locations: Locations, operations: Iterable[Node], provenance: Provenance | None = None) -> None:
        """Take note of a file: where things stand, and its operations as these places are numbered."""
        self._locations = locations
        self._operations = list(operations)
        self._provenance = provenance
        self._parts: dict[Node, Node] | None = None
        self._places: dict[Hashable, list[int]] = {}
        """The numbers of what is alike, in order: by the function around and what it is, and by the latter alone."""
        around: Hashable = None
        for number, node in enumerate(self._operations):
            if (name := function_name(node)) is not None:
                around = name
            for key in _keys(node):
                for where in {around, None}:  # the same for what is in no function
                    self._places.setdefault((where, key), []).append(number)

    def finder(self) -> Finder:
        """Return what finds the places of one printing."""
        return Finder(self)

    def place(self, around: Hashable, node: Node, used: dict[Hashable, int]) -> str | None:
        """Return the place of an operation in a function, None where it comes from nowhere in the file.

        `used` counts how many that are alike had one already.
        """
        keys = _keys(node)
        for key in (next(keys), *self._made_for(node), *keys):
            for where in (around, None):
                numbers = self._places.get((where, key))
                if numbers is not None and (len(numbers) == 1 or not isinstance(key, _Sketch)):
                    count = used[where, key] = used.get((where, key), -1) + 1
                    return self._locations.spelled(numbers[min(count, len(numbers) - 1)])
        return None

    def _made_for(self, node: Node) -> tuple[Node, ...]:
        """Return the operation that a node was made for, if that is known."""
        origin = None if self._provenance is None else self._provenance.origin(node)
        if origin is None or origin is node:
            return ()
        if self._parts is None:
            self._parts = _parts(self._operations)
        return (self._parts.get(origin, origin),)


def _parts(operations: Iterable[Node]) -> dict[Node, Node]:
    """Return for each operand in some operations the first that it is in."""
    heads = set(operations)
    found: dict[Node, Node] = {}
    for operation in operations:
        pending = [operand for operand in operation.args if operand not in heads]
        while pending:
            node = pending.pop()
            if node not in found:
                found[node] = operation
                pending.extend([operand for operand in node.args if operand not in heads])
    return found


class Finder:
    """Finds places for one printing of IR, whose operations it is asked about in order."""

    def __init__(self, origins: Origins) -> None:
        self._origins = origins
        self._around: Hashable = None
        self._head = UNKNOWN
        """The place of the function around."""
        self._used: dict[Hashable, int] = {}

    def __call__(self, node: Node) -> str:
        """Return the ``loc(...)`` of the next operation."""
        if (name := function_name(node)) is not None:
            self._around, self._head = name, UNKNOWN
        found = self._origins.place(self._around, node, self._used)
        if name is not None:
            self._head = found or UNKNOWN
        return self._head if found is None else found


def function_name(node: Node) -> str | None:
    """Return the name of a function, None for any other node."""
    name = node.attrs.get("name")
    return name if node.type is None and type(name) is str else None


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
