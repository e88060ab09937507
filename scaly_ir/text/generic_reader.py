"""The fast reader of the generic form, for every dialect: text without mistakes, straight to nodes.

It takes what `generic` prints, in any layout, and gives up on everything else by raising `Unusual`; the grammar of the
dialect then reads the whole text. It never reports anything. What a node means is the dialect's, which has a subclass;
a property test holds that both readers give the same nodes and places.
"""

from __future__ import annotations

import re
from array import array
from functools import cache
from itertools import compress
from typing import Final

from scaly_ir.graph import Node
from scaly_ir.text.attribute_text import Unusual
from scaly_ir.text.spelling import read_string
from scaly_ir.text.terminals import SKIP, TERMINALS
from scaly_ir.text.written import LOCATION

_VALUE: Final = rf"%(?:[0-9]+|{TERMINALS['VALUE'][1:]})"
_ATTRIBUTES: Final = rf'\{{[^{{}}"/]*+(?:{TERMINALS["STRING"]}[^{{}}"/]*+)*+\}}'
_TYPE: Final = rf"{TERMINALS['TENSOR']}|{TERMINALS['MEMREF']}|{TERMINALS['WORD']}"

_DROPPED: Final = -1
"""The end of what has no place of its own."""


@cache
def _patterns() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return what matches a node up to its operands, or their names, and what matches the rest of it."""
    name = rf"(?:({_VALUE}){SKIP}={SKIP})?"
    operands = rf"({_VALUE}(?:{SKIP},{SKIP}{_VALUE})*+)?"
    head = rf'{name}"([A-Za-z0-9_.]+)"{SKIP}\({SKIP}{operands}{SKIP}'
    tail = rf"\){SKIP}({_ATTRIBUTES})?{SKIP}:{SKIP}({_TYPE})(?:{SKIP}({LOCATION}))?{SKIP}(?:(,){SKIP})?"
    return re.compile(head), re.compile(tail)


_skip = re.compile(SKIP).match
_names = re.compile(_VALUE).findall


class _Open:
    """A node whose parentheses are open: its operands so far, and the numbers of their places if these are a body's."""

    __slots__ = ("name", "op", "operands", "place", "within")

    def __init__(self, name: str | None, op: str, operands: list[Node], place: int, within: list[int] | None) -> None:
        self.name = name
        self.op = op
        self.operands = operands
        self.place = place
        self.within = within


class GenericReader:
    """One reading. `starts` and `ends` are the ranges of operations, in the order of the text.

    Of an operation with a body, which an operator in `bodies` has, only the name is a place of its own.
    """

    bodies: frozenset[str] = frozenset()
    nested = True
    """Whether operands are nodes in turn, or names."""

    def __init__(self) -> None:
        self.starts = array("q")
        self.ends = array("q")
        self.names: dict[str, Node] = {}

    def make(self, op: str, operands: tuple[Node, ...], attrs: str | None, type_: str) -> Node:
        """Return the node with these operands, and with attributes and type as they are written."""
        raise NotImplementedError

    def add(self, name: str | None, node: Node) -> None:
        """Take a node that is no operand, and the name that is given to it."""
        raise NotImplementedError

    def lead_of(self, node: Node) -> int:
        """Return how many operands of a node with a body come before the body."""
        return 0

    def is_operation(self, node: Node) -> bool:
        """Tell whether a node in a body, or in none, has a place of its own."""
        return True

    def read(self, text: str) -> None:
        """Read the whole text."""
        if not text[: text.find("(")].rstrip().endswith('"'):
            raise Unusual  # it is in another form: nothing is loaded for it
        head, tail = _patterns()
        first = _skip(text)
        at, end = first.end() if first else 0, len(text)
        pending: list[_Open] = []
        while at < end:
            found = head.match(text, at)
            if found is None:
                raise Unusual
            self._open(found, pending)
            at = found.end()
            if found[3] is not None and text[at : at + 1] != ")":
                raise Unusual
            while text[at : at + 1] == ")":
                found = tail.match(text, at)
                if found is None:
                    raise Unusual
                at = found.end()
                self._close(found, pending)
                if bool(pending) is not (found[7] is not None or text.startswith(")", at)):
                    raise Unusual  # a comma is missing, or there is one too many
                if found[7] is not None:
                    if text.startswith(")", at):
                        raise Unusual
                    break
        if pending:
            raise Unusual
        kept = [end != _DROPPED for end in self.ends]
        if not all(kept):
            self.starts = array("q", compress(self.starts, kept))
            self.ends = array("q", compress(self.ends, kept))

    def _open(self, found: re.Match[str], pending: list[_Open]) -> None:
        name, op, operands = found.groups()
        around = pending[-1].within if pending else []
        if pending and (name is not None or not self.nested):
            raise Unusual
        place = _DROPPED
        within: list[int] | None = None
        if around is not None:
            place, within = len(self.starts), [] if op in self.bodies else None
            around.append(place)
            self.starts.append(found.start())
            self.ends.append(found.start() + len(op) + 2)
        known = self.names
        read = [] if operands is None else [known[operand] for operand in _names(operands)]
        pending.append(_Open(name, op, read, place, within))

    def _close(self, found: re.Match[str], pending: list[_Open]) -> None:
        closed = pending.pop()
        attrs, type_, location, file = found.group(1, 2, 3, 4)
        if file is not None:
            read_string(file)  # it may hold an escape that is none
        node = self.make(closed.op, tuple(closed.operands), attrs, type_)
        if closed.place != _DROPPED:
            self._place(closed, node, found.end(2 if location is None else 3))
        if pending:
            pending[-1].operands.append(node)
        else:
            self.add(closed.name, node)

    def _place(self, closed: _Open, node: Node, end: int) -> None:
        """Take note of where a node ends, now that it is known whether it, and what is in it, is an operation."""
        if closed.within is None:
            self.ends[closed.place] = end
        for place in closed.within[: self.lead_of(node)] if closed.within else ():
            self.ends[place] = _DROPPED
        if not self.is_operation(node):
            self.ends[closed.place] = _DROPPED
