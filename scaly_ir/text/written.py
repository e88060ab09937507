"""Locations that stand in a text, as ``--print-locations`` writes them: ``loc("f.sir":3:5)`` behind an operation.

An operation comes from where its location says, in messages and when it is printed again. Owns finding them and the
files that they name; which operation is which is `locations`'. Source: tools specification 4.4.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Final, NamedTuple

from scaly_ir.text.source import DecodeError, Source, Span
from scaly_ir.text.spelling import LiteralError, read_string, spell_string
from scaly_ir.text.terminals import SKIP, TERMINALS, scan

UNKNOWN: Final = "loc(unknown)"

_LARGEST: Final = 1 << 26
"""A file of more bytes is not opened only to show a line of it."""


class Written(NamedTuple):
    """A location that a text gives an operation; without a file nothing is known of where it comes from."""

    file: str | None
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        if self.file is None:
            return UNKNOWN
        return f"loc({spell_string(self.file)}:{self.line}:{self.column})"


_NUMBER: Final = rf"{SKIP}:{SKIP}([0-9]{{1,18}})"
LOCATION: Final = SKIP.join(["loc", r"\(", rf"(?:unknown|({TERMINALS['STRING']}){_NUMBER}{_NUMBER})", r"\)"])
"""Matches a location in any layout, with groups for file, line and column."""


@cache
def _pattern() -> re.Pattern[str]:
    """Return what matches a location, and the brace of the body behind it, with its label, if there is one."""
    return re.compile(rf"{LOCATION}({SKIP}\{{(?:{SKIP}\^[A-Za-z_]\w*{SKIP}\([^()]*\){SKIP}:)?)?")


@lru_cache(maxsize=1)  # a text with mistakes is asked about function by function
def written_in(text: str) -> Mapping[int, Written]:
    """Return the locations in a text, by the offset where the range of their operation ends.

    That is behind what stands before the location, behind the location itself or the brace after it, or, for an
    operation with a body in the generic form, behind its name.
    """
    found: dict[int, Written] = {}
    if "loc" not in text:
        return found
    names: list[int] = []
    """For each open parenthesis, where what stands before it ends."""
    name = before = 0
    for lexeme in scan(text, numbered=True):
        if lexeme.text == "(":
            names.append(before)
        elif lexeme.text == ")" and names:
            name = names.pop()
        elif lexeme.text == "loc" and (match := _pattern().match(text, lexeme.start)):
            try:
                file = None if match[1] is None else read_string(match[1])
            except LiteralError:
                continue
            location = Written(file, int(match[2] or 0), int(match[3] or 0))
            ends = (before, name, match.end()) if match[4] is None else (match.end(),)
            found.update(dict.fromkeys(ends, location))
        before = lexeme.end
    return found


class Files:
    """The files that locations name, as far as they can be read."""

    def __init__(self) -> None:
        self._sources: dict[str, Source | None] = {}

    def span(self, location: Written, read: Span) -> Span:
        """Return the place that a location names; an operation with it stands at `read`.

        Where no such file, or no such place in it, can be read, the source is empty: no line of it can be shown.
        """
        name, line, column = location.file or "", max(location.line, 1), max(location.column, 1)
        if name not in self._sources:
            self._sources[name] = _source(name)
        source = self._sources[name]
        start = None if source is None else source.offset(line, column)
        if source is None or start is None:
            source, start = Source(name, "", line), column - 1
        return Span(source, start, start, read)


def _source(name: str) -> Source | None:
    try:
        if not os.path.isfile(name) or os.path.getsize(name) > _LARGEST:
            return None
        with open(name, "rb") as file:
            return Source.from_bytes(file.read(), name)
    except (OSError, DecodeError):
        return None
