"""Option parsing for the tools: a table of options, long names with one dash or two, no abbreviations, order kept.

The standard parser is not used: it reorders options, abbreviates them and words its messages for programmers. Every
run of a tool starts here, so nothing is imported that only a mistake needs.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeVar

if TYPE_CHECKING:
    from scaly_ir.pass_manager import Pass, Registry

_T = TypeVar("_T")


class UsageError(Exception):
    """The command line is wrong; `shown` and the range mark the part to blame, if it is worth showing."""

    def __init__(self, message: str, shown: str = "", start: int = 0, end: int = 0) -> None:
        super().__init__(message)
        self.shown = shown
        self.start = start
        self.end = end


class Option(NamedTuple):
    """One option.

    `value` tells whether it takes one: ``no``, ``yes``, or ``optional`` (then only with ``=``). `names` are all its
    spellings without dashes, the canonical one first. `complete` says what a shell offers as its value: ``file``,
    ``folder``, ``pass``, ``passes`` (with commas between), ``target``, or choices with ``|`` between.
    """

    names: tuple[str, ...]
    value: Literal["no", "yes", "optional"] = "no"
    complete: str = ""


class Given(NamedTuple):
    """One option as given: its canonical name, its value, and the arguments as typed with where the value begins."""

    name: str
    value: str | None
    typed: str
    value_start: int

    @property
    def text(self) -> str:
        """The value, empty when there is none."""
        return self.value or ""

    def wrong(self, message: str, start: int = 0, end: int | None = None) -> UsageError:
        """Return an error that points at ``value[start:end]`` in the command line."""
        last = len(self.text) if end is None else end
        return UsageError(message, self.typed, self.value_start + start, self.value_start + last)

    def choice(self, choices: Mapping[str, _T]) -> _T:
        """Return what the value stands for; `UsageError` when it is none of the keys."""
        if self.text not in choices:
            from scaly_ir.text.diagnostics import did_you_mean, one_of

            known = [choice for choice in choices if choice]
            wanted = one_of([f"'{choice}'" for choice in known])
            message = f"option '{_dashed(self.name)}' expects {wanted}, got '{self.text}'"
            raise self.wrong(message + did_you_mean(self.text, known))
        return choices[self.text]

    def number(self, least: int = 0) -> int:
        """Return the value as a number; `UsageError` when it is no whole number of at least `least`."""
        if not (self.text.isascii() and self.text.isdigit() and len(self.text) < 10 and int(self.text) >= least):
            raise self.wrong(f"option '{_dashed(self.name)}' expects a number of at least {least}, got '{self.text}'")
        return int(self.text)

    def real(self, what: str = "a number") -> float:
        """Return the value as a number with a fraction; `UsageError` when it is none, negative or infinite."""
        try:
            value = float(self.text)
        except ValueError:
            value = math.nan
        if not 0 <= value < math.inf:
            raise self.wrong(f"option '{_dashed(self.name)}' expects {what} of at least 0, got '{self.text}'")
        return value

    def pipeline(self, passes: Registry) -> list[Pass]:
        """Return the passes that the value names, which are among `passes`; `UsageError` when it is no pipeline."""
        from scaly_ir.errors import PipelineError
        from scaly_ir.pass_manager import build_pipeline

        try:
            return build_pipeline(self.text, passes)
        except PipelineError as failure:
            raise self.wrong(str(failure), failure.start, failure.end) from failure


def _dashed(name: str) -> str:
    return f"-{name}" if len(name) == 1 else f"--{name}"


class _Argument:
    """One argument that starts with a dash, taken apart: ``--name``, ``--name=value`` or ``--name{value}``."""

    def __init__(self, text: str) -> None:
        self.text = text
        after = text.lstrip("-")
        self.dashes = len(text) - len(after)
        marks = [at for at in (after.find("="), after.find("{")) if at >= 0]
        end = min(marks, default=len(after))
        self.name = after[:end]
        self.mark = after[end : end + 1]
        self.value = after[end + 1 :]


def parse_arguments(
    argv: Sequence[str],
    options: Sequence[Option],
    shorthands: Mapping[str, object],
    advice: str = "--help shows all",
) -> tuple[list[Given], list[str]]:
    """Split arguments into options, in order, and files; `UsageError` says what is wrong.

    `shorthands` are further option names (those of passes); ``--NAME`` and ``--NAME=TEXT`` come back as the option
    ``pass`` with the value ``NAME`` and ``NAME{TEXT}``. `advice` is what to do about an option that is like no other.
    """
    by_name = {name: option for option in options for name in option.names}
    given: list[Given] = []
    files: list[str] = []
    left = iter(argv)
    for text in left:
        if text == "--":
            files.extend(left)
        elif text == "-" or not text.startswith("-"):
            files.append(text)
        else:
            argument = _Argument(text)
            option = by_name.get(argument.name) if argument.dashes <= 2 else None
            if option is not None:
                given.append(_option(argument, option, left, by_name))
            elif argument.dashes <= 2 and argument.name.replace("-", "_") in shorthands:
                given.append(_shorthand(argument))
            else:
                raise _unknown(argument, [*by_name, *shorthands], advice)
    return given, files


def file_and_function(words: Sequence[str], does: str) -> tuple[str | None, str]:
    """Return the file among words, if any, and the function without its ``@``, empty when there is none.

    `does` begins the message of the `UsageError` on several, as in ``scaly-run runs``.
    """
    functions = [word for word in words if word.startswith("@")]
    files = [word for word in words if not word.startswith("@")]
    for found, what in ((files, "file"), (functions, "function")):
        if len(found) > 1:
            raise UsageError(f"{does} one {what}, found '{found[0]}' and '{found[1]}'")
    if "@" in functions:
        raise UsageError("'@' expects the name of a function behind it")
    return (files[0] if files else None), (functions[0][1:] if functions else "")


def _option(argument: _Argument, option: Option, left: Iterator[str], by_name: Mapping[str, Option]) -> Given:
    name, text, value = option.names[0], argument.text, argument.value
    if argument.mark:
        typed = text[: -len(value) - 1]
        if option.value == "no":
            raise UsageError(f"option '{typed}' takes no value")
        if argument.mark == "{":
            raise UsageError(f"option '{typed}' takes its value after '='")
        return Given(name, value, text, len(text) - len(value))
    if option.value != "yes":
        return Given(name, None, text, len(text))
    following = next(left, None)
    if following is None:
        raise UsageError(f"option '{text}' needs a value")
    if following.startswith("-") and _Argument(following).name in by_name:
        raise UsageError(f"option '{text}' needs a value, found option '{following}'")
    return Given(name, following, f"{text} {following}", len(text) + 1)


def _shorthand(argument: _Argument) -> Given:
    text = argument.text[argument.dashes :]
    if argument.mark == "=":  # as long as what was typed up to the closing brace, so places in it stay right
        text = f"{argument.name}{{{argument.value}}}"
    return Given("pass", text, argument.text, argument.dashes)


def _unknown(argument: _Argument, known: Sequence[str], advice: str) -> UsageError:
    from scaly_ir.text.diagnostics import closest, did_you_mean

    typed = argument.text[: argument.dashes + len(argument.name)]
    near = closest(argument.name, known)  # without the dashes, which would make all options alike
    hint = did_you_mean(f"--{argument.name}", [_dashed(name) for name in near]) or f"; {advice}"
    return UsageError(f"unknown option '{typed}'{hint}")
