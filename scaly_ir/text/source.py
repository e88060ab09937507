"""Source buffers: the text of one file, its name as the user typed it, and places in it.

Owns decoding (UTF-8, byte-order mark, CR LF), line look-up and nothing else. Places are offsets in code points.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field

_BINARY_WINDOW = 8192


class DecodeError(ValueError):
    """The bytes are no text; the message says so, and `source` and `offset` say where if that is known."""

    def __init__(self, message: str, source: Source | None = None, offset: int = 0) -> None:
        super().__init__(message)
        self.source = source
        self.offset = offset


@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """The text of one input, or of a part of one. Lines end with LF; `name` is shown in messages."""

    name: str
    text: str
    first_line: int = 1
    """The number of its first line in the input."""
    _starts: list[int] = field(default_factory=list, repr=False)

    @staticmethod
    def from_text(text: str, name: str = "<string>") -> Source:
        """Make a source from a string: a byte-order mark is skipped and CR LF counts as LF."""
        text = text.removeprefix("\ufeff")
        return Source(name, text.replace("\r\n", "\n") if "\r" in text else text)

    @staticmethod
    def from_bytes(data: bytes, name: str) -> Source:
        """Decode a file; `DecodeError` for a binary file or for invalid UTF-8, which it locates."""
        if b"\0" in data[:_BINARY_WINDOW]:
            raise DecodeError(f"'{name}' is a binary file")
        try:
            return Source.from_text(data.decode("utf-8"), name)
        except UnicodeDecodeError as error:
            readable = Source.from_text(data.decode("utf-8", errors="replace"), name)
            before = Source.from_text(data[: error.start].decode("utf-8"), name)
            message = f"byte 0x{data[error.start]:02x} is not valid UTF-8"
            raise DecodeError(message, readable, len(before.text)) from error

    def _line_starts(self) -> list[int]:
        if not self._starts:
            position = 0
            for line in self.text.split("\n"):
                self._starts.append(position)
                position += len(line) + 1
        return self._starts

    def position(self, offset: int) -> tuple[int, int]:
        """Return the line and column of `offset`, both from 1 in the input; a column is a code point."""
        starts = self._line_starts()
        line = bisect_right(starts, offset)
        return line + self.first_line - 1, offset - starts[line - 1] + 1

    def offset(self, line: int, column: int) -> int | None:
        """Return the offset of a place in the input, the opposite of `position`; None when there is no such place."""
        starts = self._line_starts()
        if not self.first_line <= line < self.first_line + len(starts):
            return None
        return starts[line - self.first_line] + column - 1 if column <= len(self.line_text(line)) + 1 else None

    def line_span(self, line: int) -> Span:
        """Return the range of a line, by its number in the input."""
        start = self._line_starts()[line - self.first_line]
        return Span(self, start, start + len(self.line_text(line)))

    def line_text(self, line: int) -> str:
        """Return a line, by its number in the input, without its end."""
        start = self._line_starts()[line - self.first_line]
        end = self.text.find("\n", start)
        return self.text[start:] if end < 0 else self.text[start:end]


@dataclass(frozen=True, slots=True)
class Span:
    """The half-open range ``[start, end)`` of a source; an empty one marks a place between two characters."""

    source: Source
    start: int
    end: int
    read: Span | None = None
    """The range in the text that was read, when that says that it comes from another file."""

    def position(self) -> tuple[int, int]:
        """Return the line and column where the range starts."""
        return self.source.position(self.start)

    @property
    def here(self) -> Span:
        """The range in the text that was read."""
        return self.read or self

    @property
    def text(self) -> str:
        """What stands in the range."""
        return self.source.text[self.start : self.end]
