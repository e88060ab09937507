"""The options of `filecheck` as RUN lines use them.

Owns the option table. Options of LLVM's FileCheck that the `filecheck` package has not are refused by name, so that
none is ever ignored.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from scaly_ir.text.diagnostics import did_you_mean

NAMES: Final = ("filecheck", "FileCheck")
"""The command names that mean the matcher."""

FLAGS: Final = {
    "match-full-lines": "match_full_lines",
    "strict-whitespace": "strict_whitespace",
    "enable-var-scope": "enable_var_scope",
    "allow-empty": "allow_empty",
}
"""The options without a value, each with the field of `CheckOptions` that holds it."""
_VALUED: Final = ("check-prefix", "check-prefixes", "input-file")
_MISSING: Final = (
    "allow-deprecated-dag-overlap",
    "allow-unused-prefixes",
    "color",
    "comment-prefixes",
    "dump-input",
    "dump-input-context",
    "dump-input-filter",
    "ignore-case",
    "implicit-check-not",
)
_PREFIX: Final = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
_VARIABLE: Final = re.compile(r"\$?[A-Za-z_][A-Za-z0-9_]*")
_RESERVED: Final = ("RUN", "COM")


@dataclass(frozen=True, slots=True)
class CheckOptions:
    """Hold the options of one `filecheck` command; `input_file` is None for standard input."""

    check_file: str
    prefixes: tuple[str, ...] = ("CHECK",)
    input_file: str | None = None
    variables: tuple[tuple[str, str], ...] = ()
    match_full_lines: bool = False
    strict_whitespace: bool = False
    enable_var_scope: bool = False
    allow_empty: bool = False


class OptionError(Exception):
    """Refuse a command line; `index` is the argument to blame, or None when one is missing."""

    def __init__(self, message: str, index: int | None = None) -> None:
        super().__init__(message)
        self.index = index


def parse(arguments: Sequence[str]) -> CheckOptions:
    """Read the arguments that follow `filecheck`; raise `OptionError`."""
    files: list[str] = []
    prefixes: list[str] = []
    flags: dict[str, bool] = {}
    input_file: str | None = None
    variables: dict[str, str] = {}
    rest = iter(enumerate(arguments))
    for index, argument in rest:
        if not argument.startswith("-") or argument == "-":
            files.append(argument)
            if len(files) > 1:
                raise OptionError(f"expected one file with directives, found '{files[0]}' and '{argument}'", index)
        elif argument.startswith("-D"):
            name, value = _definition(argument, index)
            variables[name] = value
        else:
            option, equals, value = argument.lstrip("-").partition("=")
            if option in FLAGS:
                if equals:
                    raise OptionError(f"option '--{option}' takes no value", index)
                flags[FLAGS[option]] = True
            elif option not in _VALUED:
                raise _unknown(option, index)
            else:
                if not equals:
                    index, value = next(rest, (index, ""))
                if not value:
                    raise OptionError(f"option '--{option}' needs a value", index)
                if option == "input-file":
                    input_file = None if value == "-" else value
                else:
                    prefixes += _prefixes(option, value, prefixes, index)
    if not files:
        raise OptionError("expected the file with the directives, as in 'filecheck %s'")
    return CheckOptions(files[0], tuple(prefixes or ["CHECK"]), input_file, tuple(variables.items()), **flags)


def _unknown(option: str, index: int) -> OptionError:
    if option in _MISSING:
        return OptionError(
            f"option '--{option}' of LLVM's FileCheck is not supported by the 'filecheck' package", index
        )
    known = [f"--{name}" for name in (*FLAGS, *_VALUED)]
    return OptionError(f"unknown option '--{option}'{did_you_mean('--' + option, known)}", index)


def _definition(argument: str, index: int) -> tuple[str, str]:
    name, equals, value = argument[2:].partition("=")
    if name.startswith("#"):
        raise OptionError("numeric variables ('-D#') are not supported by the 'filecheck' package", index)
    if not equals or not _VARIABLE.fullmatch(name):
        raise OptionError(f"expected '-DNAME=VALUE', found '{argument}'", index)
    return name, value


def _prefixes(option: str, value: str, before: Sequence[str], index: int) -> list[str]:
    found = value.split(",") if option == "check-prefixes" else [value]
    for position, prefix in enumerate(found):
        if not _PREFIX.fullmatch(prefix):
            raise OptionError(
                f"'{prefix}' is no prefix: one starts with a letter and has letters, digits, - and _", index
            )
        if prefix in _RESERVED:
            raise OptionError(f"'{prefix}' marks comments and cannot be a prefix", index)
        if prefix in before or prefix in found[:position]:
            raise OptionError(f"prefix '{prefix}' is given twice", index)
    return found
