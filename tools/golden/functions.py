"""Functions in a text, found by their looks: a symbol behind an operation, and a body in braces on lines of its own.

Owns how an output is cut into units that are checked one by one. It knows no dialect: ``prog.proc @f(...) {`` and
``expr.region @g {`` are functions because of the symbol.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

_SYMBOL: Final = r'@(?:[\w.$-]+|"(?:[^"\\\n]|\\.)*")'
_HEADER: Final = re.compile(
    rf"^(?P<indent>[ \t]*)\w+\.\w+ (?P<name>{_SYMBOL})"
    r"(?:\((?:[^()]|\([^()]*\))*\))?[^{}\n]*\s*(?:\{[^\n]*\}\s+)?\{[ \t]*$",
    re.MULTILINE,
)
NUMBERED: Final = re.compile(r"%([0-9]+)(?![\w.$-])")
"""A value that has a number for a name."""
_AROUND: Final = re.compile(r"\s*(?:\}|// -----|(?:\w+\.)?module \{)?\s*").fullmatch
"""A line around functions that says nothing about them."""

Key = tuple[str, int]
"""What a unit is called, and which of those called so it is."""


@dataclass(frozen=True, slots=True)
class Unit:
    """Hold lines of an output that are checked together; `name` is the symbol of a function, or empty.

    `before` is the symbol of the function that follows what is none. `label` is the text of the first line that tells
    a function from all that is before it, or empty when none does.
    """

    name: str
    before: str
    number: int
    lines: tuple[str, ...]
    label: str = ""

    @property
    def key(self) -> Key:
        """Return what tells it from the other units of its output."""
        return (self.name or f"before {self.before}"), self.number


def headers(text: str) -> list[tuple[int, str]]:
    """Return the lines, counted from 0, on which functions of a file begin, and their symbols."""
    found = []
    line = position = 0
    for match in _HEADER.finditer(text):
        line += text.count("\n", position, match.start())
        position = match.start()
        found.append((line, match["name"]))
    return found


def units(text: str) -> list[Unit]:
    """Cut an output into its functions and what is between them; lines that only enclose functions are left out."""
    lines = text.rstrip("\n").split("\n") if text.strip() else []
    functions = list(_functions(lines))
    if not functions:
        first = next((at for at, line in enumerate(lines) if line.strip()), 0)
        return [Unit("", "", 0, tuple(lines[first:]))] if lines else []
    found: list[Unit] = []
    counts: Counter[str] = Counter()

    def add(name: str, before: str, part: Sequence[str], label: str = "") -> None:
        called = name or f"before {before}"
        found.append(Unit(name, before, counts[called], tuple(part), label))
        counts[called] += 1

    at = last = 0
    for start, end, name in [*functions, (len(lines), len(lines), "")]:
        for run in _runs(lines[at:start]):
            add("", name, run)
        if name:
            label = _label(lines[start])
            # A label is looked for from the one before on: a message that shows a line of the input may have it too.
            if any([label in line for line in lines[last:start]]):
                label = ""
            else:
                last = start + 1
            add(name, "", lines[start:end], label)
        at = end
    return found


def _label(header: str) -> str:
    """Return the text of a first line up to its numbered values: a label captures nothing."""
    text = header.strip()
    number = NUMBERED.search(text)
    if number is None:
        return text
    end = text.find("(", 0, number.start())
    return text[: end + 1] if end >= 0 else text[: number.start()].rstrip()


def _functions(lines: Sequence[str]) -> Iterator[tuple[int, int, str]]:
    """Yield where functions begin and end, and their symbols: up to a brace that stands below the first line."""
    at = 0
    while at < len(lines):
        match = _HEADER.match(lines[at])
        end = _end(lines, at, match["indent"]) if match else 0
        if match and end:
            yield at, end, match["name"]
            at = end
        else:
            at += 1


def _end(lines: Sequence[str], start: int, indent: str) -> int:
    for at in range(start + 1, len(lines)):
        if lines[at].rstrip() == f"{indent}}}":
            return at + 1
        if lines[at].startswith(indent) and (match := _HEADER.match(lines[at])) and match["indent"] == indent:
            return 0  # the line that looked like a function is shown on its own, as in a message
    return 0


def _runs(lines: Sequence[str]) -> Iterator[list[str]]:
    run: list[str] = []
    for line in lines:
        if not _AROUND(line):
            run.append(line)
        elif run:
            yield run
            run = []
    if run:
        yield run
