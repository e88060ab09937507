"""`RUN` lines as data: commands, pipes and redirections, and the `%` substitutions in their words.

Owns what a line means. `run_parser` reads it, `execute` runs it.
"""

from __future__ import annotations

import enum
import re
import shlex
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from scaly_ir.text.source import Span

_SUBSTITUTION = re.compile(r"%[sSt%]")


class Stderr(enum.Enum):
    """Say where standard error goes."""

    KEPT = "apart, for reports only"
    PIPE = "to where standard output went before any '>'"
    FILE = "to the file of '>'"


@dataclass(frozen=True, slots=True)
class Word:
    """Hold one word: `text` is unquoted and still has its `%` substitutions."""

    text: str
    span: Span


@dataclass(frozen=True, slots=True)
class Command:
    """Hold one command of a pipe; `words` starts with its name and is never empty."""

    words: tuple[Word, ...]
    negated: bool
    stdin: Word | None
    stdout: Word | None
    stderr: Stderr

    @property
    def name(self) -> str:
        """Return the name of the program or tool."""
        return self.words[0].text

    @property
    def title(self) -> str:
        """Return the name as the RUN line has it, with a leading `not`."""
        return f"not {self.name}" if self.negated else self.name

    def all_words(self) -> Iterator[Word]:
        """Yield the words and the targets of redirections."""
        yield from self.words
        if self.stdin:
            yield self.stdin
        if self.stdout:
            yield self.stdout


@dataclass(frozen=True, slots=True)
class RunLine:
    """Hold one RUN line: pipes that run one after another until one fails (`&&`)."""

    number: int
    span: Span
    pipes: tuple[tuple[Command, ...], ...]

    @property
    def name(self) -> str:
        """Return the name of its test item."""
        return f"run{self.number}"

    def commands(self) -> Iterator[Command]:
        """Yield the commands of all pipes."""
        for pipe in self.pipes:
            yield from pipe


@dataclass(frozen=True, slots=True)
class Paths:
    """Say what `%s`, `%S` and `%t` stand for; `temporary` may be None for a line without `%t`.

    `options` are what each command in `tools` is given besides.
    """

    file: Path
    temporary: Path | None = None
    options: Sequence[str] = ()
    tools: Collection[str] = ()

    def arguments(self, command: Command) -> list[str]:
        """Return the words of a command as they are run."""
        name, *others = [self.expand(word.text) for word in command.words]
        return [name, *(self.options if name in self.tools else ()), *others]

    def expand(self, text: str) -> str:
        """Replace the substitutions in a word."""
        return _SUBSTITUTION.sub(self._value, text)

    def _value(self, match: re.Match[str]) -> str:
        match match[0]:
            case "%s":
                return self.file.as_posix()
            case "%S":
                return self.file.parent.as_posix()
            case "%t":
                if self.temporary is None:
                    raise ValueError("no temporary path was given for %t")
                return self.temporary.as_posix()
            case _:
                return "%"


def needs_temporary(run: RunLine) -> bool:
    """Tell whether any word of the line has `%t`."""
    return any("%t" in _SUBSTITUTION.findall(word.text) for command in run.commands() for word in command.all_words())


def spell(run: RunLine, paths: Paths) -> str:
    """Spell the line as a POSIX shell command, substitutions replaced."""
    return " && ".join(" | ".join([_spell(command, paths) for command in pipe]) for pipe in run.pipes)


def _spell(command: Command, paths: Paths) -> str:
    parts = ["not"] if command.negated else []
    parts += [shlex.quote(word) for word in paths.arguments(command)]
    if command.stdin:
        parts += ["<", shlex.quote(paths.expand(command.stdin.text))]
    if command.stderr is Stderr.PIPE:
        parts.append("2>&1")
    if command.stdout:
        parts += [">", shlex.quote(paths.expand(command.stdout.text))]
    if command.stderr is Stderr.FILE:
        parts.append("2>&1")
    return " ".join(parts)
