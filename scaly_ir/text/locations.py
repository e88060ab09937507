"""Where the statements of a read file stand: a side table, never part of a node's identity.

One range per statement is kept, numbered in pre-order; a place inside a statement is found by reading that statement
again (which is cheap, and only messages need it).
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from scaly_ir.graph import Node
from scaly_ir.text.diagnostics import Diagnostic
from scaly_ir.text.source import Source, Span
from scaly_ir.text.terminals import scan
from scaly_ir.text.written import Files, Written, written_in

Part = str | int
"""What of a node is meant: an attribute by its name, an operand by its number, or all of it (the empty string)."""

SpansOf = Callable[[Source, Node], Iterable[tuple[Node, Part, tuple[int, int]]]]
"""Reads the text of one statement again: each node in it with the part of it and its range."""


class Place(NamedTuple):
    """Where something stands: its statement, numbered in program order, a node in that, and the part of the node."""

    number: int
    statement: Node
    node: Node
    part: Part = ""


class PlaceOf(Protocol):
    """Finds where in a root a node is, the first time it is there; None when it is not.

    `within` names the function that it is to be in: equal statements of several functions are one node.
    """

    def __call__(self, root: Node, node: Node, within: str | None = None) -> Place | None:
        """Return the place."""


def first_place(
    root: Node,
    numbered: Iterable[Node],
    node: Node,
    within: str | None,
    parts_of: Callable[[Node], Sequence[Node]] = lambda statement: (),
) -> Place | None:
    """Do as `PlaceOf` says for a dialect; `numbered` are the parts of `root` that have numbers, in program order.

    The functions of a module are its operands, and each stands before what is in it. `parts_of` gives the operands of
    a statement that stand in its own text.
    """
    heads = frozenset(root.args)
    around = None
    seen: set[Node] = set()
    for number, found in enumerate(numbered):
        if found in heads:
            around = found.attrs.get("name")
        if within in (None, around) and (found is node or _is_below(parts_of(found), node, seen)):
            return Place(number, found, node)
    return None


def _is_below(roots: Sequence[Node], node: Node, seen: set[Node]) -> bool:
    """Tell whether a node is one of some roots, or an operand below; what was seen is not looked at again."""
    pending = list(roots)
    while pending:
        found = pending.pop()
        if found is node:
            return True
        if found not in seen:
            seen.add(found)
            pending.extend(found.args)
    return False


@dataclass(slots=True)
class Locations:
    """The ranges of the statements of `source`, by their number in program order.

    `starts` and `ends` count tokens when `in_tokens` is set, else they are offsets.
    """

    source: Source
    starts: Sequence[int]
    ends: Sequence[int]
    in_tokens: bool
    spans_of: SpansOf
    _offsets: array[int] = field(default_factory=lambda: array("q"))
    _read: tuple[int, dict[tuple[Node, Part], tuple[int, int]]] | None = None
    """The statement that was read again last, and the ranges in it."""
    _written: Mapping[int, Written] | None = None
    """The locations that the text has, by where the ranges of their statements end."""
    _files: Files = field(default_factory=Files)

    def statement(self, number: int) -> Span:
        """Return the range of a statement, or of the head of one with a body."""
        if not 0 <= number < len(self.starts):
            return Span(self.source, 0, 0)
        start, end = self.starts[number], self.ends[number]
        if self.in_tokens:
            if not self._offsets:
                for lexeme in scan(self.source.text):
                    self._offsets.extend((lexeme.start, lexeme.end))
            start, end = self._offsets[2 * start], self._offsets[2 * end - 1]
        return Span(self.source, start, end)

    def written(self, number: int) -> Written | None:
        """Return the location that the text gives a statement; None when it has none."""
        if self._written is None:
            self._written = written_in(self.source.text)
        return self._written.get(self.statement(number).end) if self._written else None

    def spelled(self, number: int) -> str:
        """Return the ``loc(...)`` of a statement: the one that the text gives it, else where it stands."""
        line, column = self.statement(number).position()
        return str(self.written(number) or Written(self.source.name, line, column))

    def origin(self, number: int) -> Span:
        """Return where a statement comes from: the place that the text gives it, else the range that it has there."""
        return self._origin(number, self.statement(number))

    def _origin(self, number: int, read: Span) -> Span:
        written = self.written(number)
        return read if written is None or written.file is None else self._files.span(written, read)

    def span(self, place: Place) -> Span:
        """Return where something comes from: its range, as exact as the text tells, or that of its statement."""
        return self._origin(place.number, self._range(place))

    def _range(self, place: Place) -> Span:
        """Return the range of a place in the text: as exact as it tells, at worst the statement."""
        whole = self.statement(place.number)
        if self._read is None or self._read[0] != place.number:
            text = self.source.text[whole.start : whole.end]
            ranges: dict[tuple[Node, Part], tuple[int, int]] = {}
            for node, part, around in self.spans_of(Source(self.source.name, text), place.statement):
                ranges.setdefault((node, part), around)
            self._read = (place.number, ranges)
        ranges = self._read[1]
        found = ranges.get((place.node, place.part)) or ranges.get((place.node, ""))
        return whole if found is None else Span(self.source, whole.start + found[0], whole.start + found[1])


@dataclass(frozen=True, slots=True)
class Parsed:
    """What reading a source gave: the root, or None and diagnostics, in source order."""

    root: Node | None
    locations: Locations
    diagnostics: tuple[Diagnostic, ...] = ()
