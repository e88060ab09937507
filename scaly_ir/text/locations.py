"""Where the statements of a read file stand: a side table, never part of a node's identity.

One range per statement is kept, numbered in pre-order; a place inside a statement is found by reading that statement
again (which is cheap, and only messages need it).
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from scaly_ir.graph import Node
from scaly_ir.text.diagnostics import Diagnostic
from scaly_ir.text.source import Source, Span
from scaly_ir.text.terminals import scan

SpansOf = Callable[[Source, Node], Sequence[tuple[Node | None, str, tuple[int, int]]]]
"""Reads the text of one statement again: each node in it with the part of it and its range."""


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

    def node(self, number: int, statement: Node, node: Node, part: str = "") -> Span:
        """Return the range of `node` (or of its name, with part ``"name"``) in the text of a statement."""
        whole = self.statement(number)
        text = self.source.text[whole.start : whole.end]
        found: tuple[int, int] | None = None
        for candidate, of, place in self.spans_of(Source(self.source.name, text), statement):
            if of == part and (candidate is node or candidate is None):
                found = place
                break
            if candidate is node and not of and found is None:
                found = place
        if part == "name" and (found is None or found == (0, len(text))):
            names = [lex for lex in scan(text) if lex.kind in ("VALUE", "SYMBOL")]
            if names:
                return Span(self.source, whole.start + names[0].start, whole.start + names[0].end)
        if found is None:
            return whole
        start, end = whole.start + found[0], whole.start + found[1]
        if part == "name":
            end = start + len(next(scan(self.source.text, start, end)).text)
        return Span(self.source, start, end)


@dataclass(frozen=True, slots=True)
class Parsed:
    """What reading a source gave: the root, or None and diagnostics, in source order."""

    root: Node | None
    locations: Locations
    diagnostics: tuple[Diagnostic, ...] = ()
