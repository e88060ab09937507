"""`REQUIRES`, `UNSUPPORTED` and `XFAIL`: where a test applies.

Owns the table of features. A line names features separated by commas; `XFAIL: *` means everywhere.
"""

from __future__ import annotations

import functools
import os
import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from scaly_ir.text.diagnostics import Diagnostic, did_you_mean, error
from scaly_ir.text.source import Source, Span

_LINE: Final = re.compile(r"^[ \t]*//+[ \t]*(REQUIRES|UNSUPPORTED|XFAIL):[ \t]*(.*?)[ \t]*$", re.MULTILINE)


@functools.cache
def _has_c_compiler() -> bool:
    command = os.environ.get("CC", "").split()
    return any(shutil.which(name) for name in (command[:1] or ["cc", "gcc", "clang"]))


FEATURES: Final[dict[str, Callable[[], bool]]] = {
    "cc": _has_c_compiler,
    "windows": lambda: os.name == "nt",
    "posix": lambda: os.name == "posix",
}
"""What a test may ask for, and how to find out."""


@dataclass(frozen=True, slots=True)
class Conditions:
    """Hold the features that three kinds of line name."""

    requires: tuple[str, ...] = ()
    unsupported: tuple[str, ...] = ()
    xfail: tuple[str, ...] = ()

    def skip_reason(self) -> str:
        """Return why the test is skipped here, or an empty string."""
        missing = [name for name in self.requires if not FEATURES[name]()]
        if missing:
            return f"requires {', '.join(missing)}"
        present = [name for name in self.unsupported if name == "*" or FEATURES[name]()]
        return f"unsupported with {', '.join(present)}" if present else ""

    def xfail_reason(self) -> str:
        """Return why the test is expected to fail here, or an empty string."""
        present = [name for name in self.xfail if name == "*" or FEATURES[name]()]
        return f"XFAIL: {', '.join(present)}" if present else ""


def parse(source: Source) -> tuple[Conditions, list[Diagnostic]]:
    """Return the conditions of a file, and what is wrong with its lines."""
    found: dict[str, list[str]] = {"REQUIRES": [], "UNSUPPORTED": [], "XFAIL": []}
    problems: list[Diagnostic] = []
    for match in _LINE.finditer(source.text):
        at = match.start(2)
        for piece in match[2].split(","):
            name = piece.strip()
            start = at + len(piece) - len(piece.lstrip())
            at += len(piece) + 1
            if name in FEATURES or (name == "*" and match[1] != "REQUIRES"):
                found[match[1]].append(name)
                continue
            known = ", ".join(FEATURES)
            what = f"unknown feature '{name}'{did_you_mean(name, FEATURES)}" if name else "expected a feature"
            problems.append(error(f"{what} (there are {known})", Span(source, start, start + len(name)), "feature"))
    return Conditions(tuple(found["REQUIRES"]), tuple(found["UNSUPPORTED"]), tuple(found["XFAIL"])), problems
