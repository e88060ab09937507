"""A test file as lines that can be taken out and put in: what names a line by its distance still does afterwards.

Owns the text of the file that is written. Line ends and a byte-order mark stay as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

_MARK = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Reference:
    """Stand for a line in the text of another one: `spell` makes text of the distance from here to there.

    A line that is gone is taken for the own one.
    """

    target: Line
    spell: Callable[[int], str]


Part = str | Reference


@dataclass(slots=True, eq=False)
class Line:
    """Hold one line of the file to be, without its end."""

    parts: Sequence[Part]

    @property
    def text(self) -> str:
        """Return its text, without what depends on the distance of lines."""
        return "".join([part for part in self.parts if isinstance(part, str)])


def read_lines(data: bytes) -> list[Line]:
    """Return the lines of a file in UTF-8, numbered as those of a `Source`; a carriage return stays in its line."""
    return [Line([text]) for text in data.removeprefix(_MARK).decode("utf-8").split("\n")]


def new_line(parts: Iterable[Part], like: Line) -> Line:
    """Make a line that ends as `like` does."""
    return Line([*parts, "\r"] if like.text.endswith("\r") else list(parts))


def written(lines: Sequence[Line], before: bytes) -> bytes:
    """Return the bytes of the file; `before` are those it had."""
    numbers = {id(line): number for number, line in enumerate(lines)}

    def spelled(part: Part, number: int) -> str:
        return part if isinstance(part, str) else part.spell(numbers.get(id(part.target), number) - number)

    text = "\n".join(["".join([spelled(part, at) for part in line.parts]) for at, line in enumerate(lines)])
    return (_MARK if before.startswith(_MARK) else b"") + text.encode("utf-8")
