"""FileCheck on one text: what matched, and if something did not, what and where.

Owns the result and the access to the `filecheck` package, which is imported when the first match is made.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import importlib.metadata
import io
import warnings
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, cast

from scaly_ir.text.diagnostics import Diagnostic, error, note
from scaly_ir.text.source import Source, Span
from scaly_ir.tools.golden.check_options import CheckOptions
from scaly_ir.tools.golden.directives import Directive, scan

if TYPE_CHECKING:
    from types import ModuleType

VERSION: Final = "1.0.6"
"""The release of `filecheck` that `recorder` is written for; pyproject.toml pins the same."""

INSTALL: Final = 'pip install "scaly-ir[test]"'
"""What brings what golden tests need."""


class MissingPackageError(Exception):
    """Tell that `filecheck` is not there or not the release that is needed."""


@dataclass(frozen=True, slots=True)
class Mismatch:
    """Say which directive failed and where in the output.

    `place` is what `place_note` is about, `matched` holds the ranges of the output that directives before took,
    `captured` the variables that the directive uses, `meant` the place where its pattern does match, if any, and
    `wanted` its text with captures filled in.
    """

    directive: Directive
    message: str
    place: Span | None = None
    place_note: str = ""
    matched: tuple[tuple[int, int], ...] = ()
    captured: tuple[tuple[str, str], ...] = ()
    meant: Span | None = None
    wanted: str = ""

    def diagnostic(self) -> Diagnostic:
        """Return the error at the directive with a note at the place in the output."""
        notes = []
        if self.place:
            known = " and ".join([f'{name} = "{value}"' for name, value in self.captured])
            notes.append(note(f"{self.place_note}, with {known}" if known else self.place_note, self.place))
        return error(f"{self.directive.name}: {self.message}", self.directive.argument_span, "check", notes)


@dataclass(frozen=True, slots=True)
class CheckResult:
    """Hold the outcome of one check; `code` is that of the command, `message` a failure that no directive has."""

    code: int
    output: Source
    message: str = ""
    mismatch: Mismatch | None = None
    remarks: str = field(default="", compare=False)  # what the package printed


@functools.cache
def require() -> ModuleType:
    """Return the module that works with `filecheck`; raise `MissingPackageError` where that cannot be had."""
    try:
        found = importlib.metadata.version("filecheck")
    except importlib.metadata.PackageNotFoundError:
        raise MissingPackageError(f"golden tests need the package 'filecheck'; install it with {INSTALL}") from None
    if found != VERSION:
        message = (
            f"golden tests need version {VERSION} of the package 'filecheck', found {found}; install it with {INSTALL}"
        )
        raise MissingPackageError(message)
    return importlib.import_module("scaly_ir.tools.golden.recorder")


def check(options: CheckOptions, expected: Source, output: Source) -> CheckResult:
    """Check `output` against the directives in `expected`; raise `MissingPackageError`."""
    recorder = require()
    directives = scan(expected, options.prefixes)
    if not directives:
        names = ", ".join([f"'{prefix}'" for prefix in options.prefixes])
        return CheckResult(2, output, f"'{expected.name}' has no directive with the prefix {names}")
    if output.text in ("", "\n") and not options.allow_empty:
        return CheckResult(1, output, "there is no output to check; --allow-empty would accept that")
    printed = io.StringIO()
    with (
        contextlib.redirect_stdout(io.StringIO()),
        contextlib.redirect_stderr(printed),
        warnings.catch_warnings(),
    ):
        # Python warns that `[[` in a regular expression may mean something else one day; POSIX knows what it means.
        warnings.simplefilter("ignore", FutureWarning)
        mismatch = cast("Mismatch | None", recorder.run(options, directives, output))
    return CheckResult(1 if mismatch else 0, output, "", mismatch, printed.getvalue())
