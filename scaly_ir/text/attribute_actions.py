"""What the grammar rules of attributes and their values mean, in every dialect (``common.lark``).

A dialect whose values depend on what stands around them, as numbers of a dtype, keeps them as they are written by
methods of its own for `atom`, `sequence` and `slice`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from lark import Token

from scaly_ir.attributes import AttrValue, word_or_constant
from scaly_ir.text.lalr import Driver
from scaly_ir.text.language import IGNORED, Piece
from scaly_ir.text.spelling import LiteralError, read_float, read_name, read_string, read_whole, spell_name
from scaly_ir.types import FLOAT64, DType

Range = tuple[int, int]

ELIDED_MESSAGE: Final = "this constant was elided when it was printed"

_DEPTH: Final = 100
"""How deep attribute values may nest: what becomes of them recurses."""


def place_of(part: Token | Piece) -> Range:
    """Return where a part of the text stands."""
    return (part.start_pos or 0, part.end_pos or 0) if isinstance(part, Token) else (part.start, part.end)


class Given(dict[str, AttrValue]):
    """Attributes as read, with the place of each."""

    def __init__(self, places: Mapping[str, Range], values: Mapping[str, AttrValue]) -> None:
        super().__init__(values)
        self.places = places


class AttributeActions:
    """One method for each rule of the grammar, named alike; pieces come without punctuation."""

    def __init__(self) -> None:
        self.driver: Driver
        self._depths: dict[Range, int] = {}
        """How deep the attribute value with a range nests."""

    def _fail(self, message: str, at: Any, code: str) -> None:
        self.driver.fail(message, at, code)

    def _read_name(self, token: Token) -> str:
        try:
            return read_name(token[1:])
        except LiteralError as error:
            self._fail(str(error), place_of(token), "string")
            return "?"

    def attrs(self, parts: list[Any], at: Range) -> Given:
        """Read all attributes of an operation; one that is given twice is a mistake."""
        attrs: dict[str, AttrValue] = {}
        places: dict[str, Range] = {}
        for part in parts:
            key, value = part.value
            if key in attrs:
                shown = spell_name(key)
                notes = [self.driver.note(f"'{shown}' is given here", places[key])]
                self.driver.fail(f"attribute '{shown}' is given twice", place_of(part), "attribute", notes)
            attrs[key] = value
            places[key] = place_of(part)
        return Given(places, attrs)

    def map(self, parts: list[Any], at: Range) -> AttrValue:
        """Read a map, ``{key=value}``."""
        return None if self._too_deep(parts, at) else self.attrs(parts, at)

    def attr(self, parts: list[Any], at: Range) -> tuple[str, AttrValue]:
        """Read one attribute: its name and its value."""
        self._depths[at] = self._depths.get(place_of(parts[1]), 0)
        return parts[0].value, parts[1].value

    def _too_deep(self, parts: list[Any], at: Range) -> bool:
        """Tell whether an attribute value nests deeper than values are handled; say so where the limit is passed."""
        depth = 1 + max([self._depths.get(place_of(part), 0) for part in parts], default=0)
        self._depths[at] = depth
        if depth == _DEPTH + 1:
            self._fail(f"attribute values nest at most {_DEPTH} deep", (at[0], at[0] + 1), "nesting")
        return depth > _DEPTH

    def key(self, parts: list[Any], at: Range) -> str:
        """Read the name of an attribute."""
        token = parts[0]
        return self._string(token) if token.type == "STRING" else str(token)

    def _string(self, token: Token) -> str:
        try:
            return read_string(str(token))
        except LiteralError as error:
            self._fail(str(error), place_of(token), "string")
            return ""

    def atom(self, parts: list[Any], at: Range) -> AttrValue:
        """Read a value of one token."""
        token = parts[0]
        try:
            if token.type == "STRING":
                return read_string(str(token))
            if token.type == "INT":
                return read_whole(str(token))
            if token.type == "FLOAT":
                return read_float(str(token), FLOAT64)
        except LiteralError as error:
            self._fail(str(error), at, "literal-range")
            return None
        return DType(str(token)) if token.type == "DTYPE" else word_or_constant(str(token))

    def sequence(self, parts: list[Any], at: Range) -> AttrValue:
        """Read a list."""
        return None if self._too_deep(parts, at) else tuple([part.value for part in parts])

    def slice(self, parts: list[Any], at: Range) -> AttrValue:
        """Read ``slice(start, stop, step)``."""
        return None if self._too_deep(parts[1:], at) else slice(*[part.value for part in parts[1:]])

    def left_out(self, parts: list[Any], at: Range) -> AttrValue:
        """Refuse a table that was left out when it was printed."""
        self._fail(ELIDED_MESSAGE, at, "elided")
        return None

    def loc(self, parts: list[Any], at: Range) -> object:
        """Read where an operation comes from, which is no part of it: `text.written` finds it again when wanted."""
        if parts[1].type == "STRING":
            self._string(parts[1])
        return IGNORED
