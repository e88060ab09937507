"""How a tool reports: diagnostics to standard error, a limit, a summary line, and colour when it is wanted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TextIO

from scaly_ir.text.diagnostics import Diagnostic, render


def use_colour(choice: str, stream: TextIO, environment: Mapping[str, str]) -> bool:
    """Tell whether to colour a stream: the option counts first, then NO_COLOR, FORCE_COLOR and what the stream is."""
    if choice != "auto":
        return choice == "always"
    if environment.get("NO_COLOR"):
        return False
    if environment.get("FORCE_COLOR"):
        return True
    return stream.isatty() and environment.get("TERM") != "dumb"


def write(stream: TextIO, text: str) -> None:
    """Write text as UTF-8, whatever the stream's own encoding is."""
    binary = getattr(stream, "buffer", None)
    if binary is None:
        stream.write(text)
    else:
        stream.flush()
        binary.write(text.encode("utf-8", "backslashreplace"))
    stream.flush()


class Reporter:
    """Renders diagnostics for one run of a tool and counts them."""

    def __init__(self, tool: str, stream: TextIO, *, colour: bool, quiet: bool, max_errors: int) -> None:
        self.tool = tool
        self._stream = stream
        self._colour = colour
        self._quiet = quiet
        self._left = max_errors if max_errors > 0 else -1
        self._counts: Counter[str] = Counter()
        self._suppressed = 0

    @property
    def errors(self) -> int:
        """How many errors there were, shown or not."""
        return self._counts["error"]

    def report(self, diagnostics: Sequence[Diagnostic]) -> None:
        """Show diagnostics, errors up to the limit."""
        for diagnostic in diagnostics:
            self._counts[diagnostic.severity] += 1
            if self._quiet and diagnostic.severity != "error":
                continue
            if diagnostic.severity == "error":
                if self._left == 0:
                    self._suppressed += 1
                    continue
                self._left -= 1
            write(self._stream, render(diagnostic, origin=self.tool, colour=self._colour) + "\n")

    def say(self, text: str) -> None:
        """Show a line of progress."""
        write(self._stream, f"{self.tool}: {text}\n")

    def summarize(self) -> None:
        """Close the run with a line when there was more than one error or warning."""
        if self._suppressed:
            write(self._stream, f"{self.tool}: {self._suppressed} more errors not shown; --max-errors=0 shows all\n")
        counts = [(self._counts[name], name) for name in ("error", "warning") if self._counts[name]]
        if sum([count for count, _ in counts]) > 1 and not self._quiet:
            write(self._stream, ", ".join([f"{n} {name}{'s' if n != 1 else ''}" for n, name in counts]) + "\n")
