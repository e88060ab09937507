"""Option parsing for the tools: a table of options, long names with one dash or two, no abbreviations, order kept.

The standard parser is not used: it reorders options, abbreviates them and words its messages for programmers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from scaly_ir.text.diagnostics import did_you_mean


class UsageError(Exception):
    """The command line is wrong; `shown` and the range mark the part to blame, if it is worth showing."""

    def __init__(self, message: str, shown: str = "", start: int = 0, end: int = 0) -> None:
        super().__init__(message)
        self.shown = shown
        self.start = start
        self.end = end


@dataclass(frozen=True, slots=True)
class Option:
    """One option.

    `value` tells whether it takes one: ``no``, ``yes``, or ``optional`` (then only with ``=``). `names` are all its
    spellings without dashes, the canonical one first.
    """

    names: tuple[str, ...]
    value: Literal["no", "yes", "optional"] = "no"


@dataclass(frozen=True, slots=True)
class Given:
    """One option as given: its canonical name, its value, and the argument as typed with where the value begins."""

    name: str
    value: str | None
    typed: str
    value_start: int


def parse_arguments(
    argv: Sequence[str], options: Sequence[Option], shorthands: Mapping[str, str]
) -> tuple[list[Given], list[str]]:
    """Split arguments into options, in order, and files; `UsageError` says what is wrong.

    `shorthands` are further option names (those of passes) that come back under their own name with an optional value.
    """
    by_name = {name: option for option in options for name in option.names}
    given: list[Given] = []
    files: list[str] = []
    position = 0
    while position < len(argv):
        argument = argv[position]
        position += 1
        if argument == "--":
            files.extend(argv[position:])
            break
        if not argument.startswith("-") or argument == "-":
            files.append(argument)
            continue
        name, equals, value = argument.lstrip("-").partition("=")
        brace = name.find("{")
        if brace >= 0:  # --pass_name{option=value}
            name, equals, value = name[:brace], "", argument.lstrip("-")[brace:]
        option = by_name.get(name)
        if option is None and name.replace("-", "_") in shorthands:
            text = name + (value if brace >= 0 else f"{{{value}}}" if equals else "")
            given.append(Given("pass", text, f"--pass={text}", len("--pass=")))
            continue
        if option is None or brace >= 0:
            dashes = argument[: len(argument) - len(argument.lstrip("-"))]
            spellings = [f"--{known}" if len(known) > 1 else f"-{known}" for known in [*by_name, *shorthands]]
            hint = did_you_mean(f"--{name}", spellings) or "; --help shows all"
            raise UsageError(f"unknown option '{dashes}{name}'{hint}")
        if option.value == "no":
            if equals:
                raise UsageError(f"option '--{option.names[0]}' takes no value")
            given.append(Given(option.names[0], None, argument, len(argument)))
        elif equals:
            given.append(Given(option.names[0], value, argument, len(argument) - len(value)))
        elif option.value == "optional":
            given.append(Given(option.names[0], None, argument, len(argument)))
        elif position < len(argv):
            value = argv[position]
            position += 1
            given.append(Given(option.names[0], value, f"{argument} {value}", len(argument) + 1))
        else:
            dash = "-" if len(name) == 1 else "--"
            raise UsageError(f"option '{dash}{name}' needs a value")
    return given, files
