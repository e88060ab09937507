"""Diagnostics as data, and the one place that turns them into text.

The library never prints: readers, verifiers and passes make `Diagnostic` records, and a tool renders them with
`render`. The layout follows the compilers users know: a head line, the source line, a caret under it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from scaly_ir.text.source import Span

Severity = Literal["error", "warning", "note", "remark"]

_COLOURS: Final = {"error": "\x1b[1;31m", "warning": "\x1b[1;35m", "note": "\x1b[1;36m", "remark": "\x1b[1;34m"}
_BOLD, _CARET, _RESET = "\x1b[1m", "\x1b[1;32m", "\x1b[0m"

LINE_CELLS: Final = 160
"""The widest source line that is shown whole; of a wider one, a window around the caret."""


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One message to the user.

    `code` is a stable slug for machines (the rule's name for a verifier failure). Notes follow their error. `pass_name`
    is the pass that was running, if one was.
    """

    severity: Severity
    message: str
    span: Span | None = None
    code: str = ""
    notes: tuple[Diagnostic, ...] = ()
    pass_name: str = ""

    def head(self, origin: str = "") -> str:
        """Return the first line: ``file:line:col: error: message``, or ``origin: error: message`` without a place."""
        place = f"{origin}: " if origin else ""
        if self.span is not None:
            line, column = self.span.position()
            place = f"{_printable(self.span.source.name)}:{line}:{column}: "
        message = "\n".join([_printable(line) for line in self.message.split("\n")])
        return f"{place}{self.severity}: {message}"


STANDS_HERE: Final = "it stands here in the text that was read"


def error(message: str, span: Span | None = None, code: str = "", notes: Sequence[Diagnostic] = ()) -> Diagnostic:
    """Make an error; a note shows the text when the file that the place is in cannot be."""
    if span is not None and span.read is not None and not span.source.text:
        notes = [note(STANDS_HERE, span.read), *notes]
    return Diagnostic("error", message, span, code, tuple(notes))


def note(message: str, span: Span | None = None) -> Diagnostic:
    """Make a note."""
    return Diagnostic("note", message, span)


def render(diagnostic: Diagnostic, *, origin: str = "", colour: bool = False) -> str:
    """Return the full text of a diagnostic and its notes, without a final line end."""
    parts = []
    for item in (diagnostic, *diagnostic.notes):
        head = item.head(origin)
        if colour:
            place, _, rest = head.partition(f"{item.severity}: ")
            head = f"{_BOLD}{place}{_COLOURS[item.severity]}{item.severity}:{_RESET} {_BOLD}{rest}{_RESET}"
        parts.append(head)
        if item.span is not None:
            parts.extend(excerpt(item.span, colour=colour))
    return "\n".join(parts)


def excerpt(span: Span, *, colour: bool) -> list[str]:
    """Return the source line of a range and the line with its caret; nothing for an empty line."""
    number, column = span.position()
    line = span.source.line_text(number)
    if not line.strip():
        return []
    start = column - 1
    end = max(start + 1, min(start + span.end - span.start, len(line)))
    first, last = _window(line, start)
    end = min(end, last)
    shown = line[first:last]
    caret = "".join([c if c == "\t" else " " * _cells(c) for c in line[first:start]])
    underline = "^" + "~" * (sum([_cells(c) for c in line[start:end]]) - 1)
    head, tail = ("..." if first else ""), ("..." if last < len(line) else "")
    mark = f"{_CARET}{underline}{_RESET}" if colour else underline
    return [f"{head}{_printable(shown)}{tail}", f"{' ' * len(head)}{caret}{mark}"]


def _window(line: str, start: int) -> tuple[int, int]:
    """Return the part of a line to show: all of it, or a window around `start` when it is too wide."""
    if len(line) * 2 <= LINE_CELLS or sum([_cells(c) for c in line[: LINE_CELLS + 1]]) <= LINE_CELLS >= len(line):
        return 0, len(line)
    first = last = start
    cells = 0
    while first > 0 and cells < LINE_CELLS // 2:
        first -= 1
        cells += max(1, _cells(line[first]))
    while last < len(line) and cells < LINE_CELLS:
        cells += max(1, _cells(line[last]))
        last += 1
    return first, last


def _cells(character: str) -> int:
    """Return how many terminal cells a character takes."""
    if character.isascii():
        return 1
    import unicodedata  # only text that needs it loads it

    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def _printable(text: str) -> str:
    """Replace what a terminal would act on; tabs stay, so that carets line up."""
    if text.isprintable():
        return text
    return "".join([c if c.isprintable() or c == "\t" else "\ufffd" for c in text])


def closest(name: str, known: Iterable[str], most: int = 3) -> list[str]:
    """Return up to `most` of the `known` names that `name` may have been meant as, nearest first.

    A name is near when at most a third of its letters are wrong, missing, too many or swapped, or when one is the
    beginning of the other; in each part of a dotted name, so that a common dialect makes nothing similar.
    """
    candidates = list(known)
    if len(name) > _LONGEST or len(candidates) > _MOST:
        return []
    found = []
    for position, candidate in enumerate(candidates):
        distance = _distance(name, candidate)
        if distance is not None:
            found.append((distance, position, candidate))
    found.sort()
    return [candidate for distance, _, candidate in found[:most] if distance == 0 or found[0][0] > 0]


_LONGEST: Final = 80
_MOST: Final = 2000
"""No similar name is looked for when a name is longer than that, or among more names: it would take too long."""

_MARKS: Final = "%@-"
"""What a name begins with because of what it is: it makes two names no more alike."""


def _distance(name: str, candidate: str) -> int | None:
    """Return how many edits lie between two names, or None when they are too many."""
    parts, others = name.lstrip(_MARKS).split("."), candidate.lstrip(_MARKS).split(".")
    if len(parts) != len(others):
        return None
    total = 0
    for part, other in zip(parts, others, strict=True):
        short, long = sorted((len(part), len(other)))
        if part.startswith(other) or other.startswith(part):
            edits, limit = long - short, 2 * short if short > 2 else short and 1
        else:
            limit = max(1, long // 3)
            edits = _edits(part, other, limit)
        if edits > limit or (edits and edits >= long):
            return None
        total += edits
    return total


def _edits(first: str, second: str, limit: int) -> int:
    """Return the number of inserted, deleted, changed and swapped letters; something over `limit` when it is over."""
    if abs(len(first) - len(second)) > limit or len(set(first) ^ set(second)) > 2 * limit:
        return limit + 1  # most pairs end here: an edit adds and removes one letter at most
    before: list[int] = []
    row = list(range(len(second) + 1))
    for i, letter in enumerate(first, start=1):
        before, last, row = row, before, [i]
        for j, other in enumerate(second, start=1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (letter != other))
            if i > 1 and j > 1 and letter == second[j - 2] and first[i - 2] == other:
                cost = min(cost, last[j - 2] + 1)
            row.append(cost)
        if min(row) > limit:
            return limit + 1
    return row[-1]


def did_you_mean(name: str, known: Iterable[str], *, quote: str = "'") -> str:
    """Return ``; did you mean 'x' or 'y'?`` for names near `name`, or an empty string."""
    return suggested(closest(name, known), quote=quote)


_MEANT: Final = "; did you mean "


def suggested(names: Iterable[str], *, quote: str = "'") -> str:
    """Return ``; did you mean 'x' or 'y'?``, or an empty string when there are no names."""
    quoted = [f"{quote}{name}{quote}" for name in names]
    return f"{_MEANT}{one_of(quoted)}?" if quoted else ""


def suggestions_in(message: str) -> list[str]:
    """Return the names that a message suggests, as `suggested` put them there."""
    _, _, tail = message.rpartition(_MEANT)
    names, mark, _ = tail.rpartition("?")
    if not mark or len(tail) == len(message):
        return []
    quote = names[:1]
    if quote in ("'", '"'):
        return names[1:-1].replace(f"{quote} or {quote}", f"{quote}, {quote}").split(f"{quote}, {quote}")
    return names.replace(" or ", ", ").split(", ")


def one_of(words: Iterable[str]) -> str:
    """Return words as alternatives, as ``a, b or c``: the wording of every message that lists some."""
    *others, last = words
    return f"{', '.join(others)} or {last}" if others else last
