"""A page of documentation as steps: the files a reader writes and the commands a reader types, in order.

The fenced blocks of a Markdown page are its listings, and every one of them has to be real:

- A file name behind the language, as in ``python rules.py``: the block is that file, written (or written over) in the
  folder of the page. The text before the block has to show the name in backticks, for readers see it nowhere else.
- ``diff`` with a file name: an edit of that file. The lines that are kept or removed have to occur there once.
- ``sh``: a session. A line that begins with ``$ `` is typed, lines that begin with ``> `` go on with it after a
  backslash, and what follows is what it prints. A comment ``# exit code N`` ends a command that fails.
- ``python`` with ``>>>``: typed into one Python for the page, whose output follows.
- Any other language: an excerpt; it has to occur as it stands in a file or an output above. ``text`` is free.

This module reads; `runner` runs.
"""

from __future__ import annotations

import doctest
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final, Literal


class PageError(Exception):
    """A page is not what it says; the text is the finished message, with the place."""

    def __init__(self, page: str, line: int, message: str) -> None:
        super().__init__(f"{page}:{line}: {message}")


@dataclass(frozen=True)
class WriteFile:
    """Write a file."""

    line: int
    name: str
    text: str


@dataclass(frozen=True)
class EditFile:
    """Replace lines of a file by others."""

    line: int
    name: str
    old: list[str]
    new: list[str]


@dataclass(frozen=True)
class Type:
    """Type something into a session; `expected` is what that prints."""

    line: int
    session: Literal["sh", "python"]
    text: str
    expected: str
    code: int = 0


@dataclass(frozen=True)
class Excerpt:
    """Show lines of something above."""

    line: int
    text: str


Step = WriteFile | EditFile | Type | Excerpt

_FENCE: Final = re.compile(r"( *)(`{3,})([^`]*)")
_EXIT_CODE: Final = re.compile(r"\s+# exit code (\d+)\Z")


@dataclass
class _Block:
    """A fenced block, and the text between it and the block before it."""

    line: int
    info: list[str]
    lead: str
    lines: list[str]

    @property
    def text(self) -> str:
        return "".join([f"{line}\n" for line in self.lines])


def read_page(text: str, page: str) -> list[Step]:
    """Return the steps of a page that messages call `page`; `PageError` for a listing that nothing would check."""
    return [step for block in _blocks(text, page) for step in _steps(block, page)]


def _blocks(text: str, page: str) -> Iterator[_Block]:
    lead: list[str] = []
    block: _Block | None = None
    indent = fence = ""
    for number, line in enumerate(text.splitlines(), start=1):
        found = _FENCE.fullmatch(line)
        if block is None:
            if found:
                indent, fence = found[1], found[2]
                block = _Block(number, found[3].split(), "\n".join(lead), [])
                lead = []
            else:
                lead.append(line)
        elif found and len(found[2]) >= len(fence) and not found[3].strip():
            yield block
            block = None
        else:
            block.lines.append(line.removeprefix(indent))
    if block is not None:
        raise PageError(page, block.line, "this block is never closed")


def _steps(block: _Block, page: str) -> Iterable[Step]:
    match block.info:
        case []:
            raise PageError(page, block.line, "a block names its language; what nothing checks is 'text'")
        case ["text"]:
            return []
        case [_, name]:
            return [_file(block, name, page)]
        case ["sh"]:
            return _typed_in_shell(block, page)
        case ["python"]:
            return _typed_in_python(block, page)
        case [_]:
            return [Excerpt(block.line, block.text)]
    raise PageError(page, block.line, f"a block has a language and a file name, not '{' '.join(block.info)}'")


def _file(block: _Block, name: str, page: str) -> WriteFile | EditFile:
    if name.startswith("/") or ".." in name.split("/"):
        raise PageError(page, block.line, f"'{name}' is outside of the folder of the page")
    if f"`{name}`" not in block.lead:
        raise PageError(page, block.line, f"the text before this block does not tell readers the file name `{name}`")
    if block.info[0] != "diff":
        return WriteFile(block.line, name, block.text)
    kept = [line[1:] for line in block.lines if line[:1] != "+"]
    made = [line[1:] for line in block.lines if line[:1] != "-"]
    return EditFile(block.line, name, kept, made)


def _typed_in_shell(block: _Block, page: str) -> Iterator[Type]:
    typed: list[tuple[int, str, list[str]]] = []
    for number, line in enumerate(block.lines, start=block.line + 1):
        if line.startswith("$ "):
            typed.append((number, line[2:], []))
        elif not typed:
            raise PageError(page, number, "a line before the first command; what a reader types begins with '$ '")
        elif typed[-1][1].endswith("\\") and line.startswith("> "):
            typed[-1] = (typed[-1][0], f"{typed[-1][1]}\n{line[2:]}", [])
        else:
            typed[-1][2].append(line)
    if not typed:
        raise PageError(page, block.line, "a session without a command")
    for number, command, output in typed:
        code = _EXIT_CODE.search(command)
        yield Type(number, "sh", _EXIT_CODE.sub("", command), "\n".join(output), int(code[1]) if code else 0)


def _typed_in_python(block: _Block, page: str) -> Iterator[Type]:
    try:
        examples = doctest.DocTestParser().get_examples(block.text)
    except ValueError as problem:
        raise PageError(page, block.line, str(problem)) from None
    if not examples:
        raise PageError(page, block.line, "Python that nothing runs; give it a file name or begin lines with '>>> '")
    for example in examples:
        raised = example.exc_msg
        want = f"Traceback (most recent call last):\n...\n{raised}" if raised else example.want
        yield Type(block.line + 1 + example.lineno, "python", example.source, want.replace("<BLANKLINE>", ""))
