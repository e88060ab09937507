"""How a tool reports: diagnostics to standard error, a limit, a summary line, and colour when it is wanted.

Rendering is loaded with the first message, as most runs have none.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from scaly_ir.text.diagnostics import Diagnostic
    from scaly_ir.tools.command_line import UsageError


def use_colour(choice: str, stream: TextIO, environment: Mapping[str, str]) -> bool:
    """Tell whether to colour what goes to a stream: by the option, NO_COLOR, FORCE_COLOR, or if it is a terminal."""
    if choice != "auto":
        return choice == "always"
    if environment.get("NO_COLOR"):
        return False
    if environment.get("FORCE_COLOR"):
        return True
    return stream.isatty() and environment.get("TERM") != "dumb"


def write(stream: TextIO, text: str | bytes) -> None:
    """Write text as UTF-8, whatever the stream's own encoding is, or bytes that are text already."""
    binary = getattr(stream, "buffer", None)
    if binary is None:
        stream.write(text if isinstance(text, str) else text.decode("utf-8", "backslashreplace"))
    else:
        stream.flush()
        left = memoryview(text if isinstance(text, bytes) else text.encode("utf-8", "backslashreplace"))
        while left:  # an unbuffered stream takes a part at a time
            left = left[binary.write(left) or 0 :]
    stream.flush()


def write_usage_error(tool: str, failure: UsageError, stream: TextIO, *, as_json: bool = False) -> None:
    """Show what is wrong with the command line, with a caret under the part to blame."""
    if as_json:
        from scaly_ir.text.diagnostics import error

        Reporter(tool, stream, as_json=True).report([error(str(failure), code="usage")])
        return
    lines = [f"{tool}: error: {failure}"]
    if failure.shown:
        from scaly_ir.text.diagnostics import excerpt
        from scaly_ir.text.source import Source, Span

        typed = Span(Source("", failure.shown), failure.start, failure.end)
        lines += [f"  {line}" for line in excerpt(typed, colour=False)]
    write(stream, "\n".join(lines) + "\n")


class Reporter:
    """Renders diagnostics for one run of a tool, counts them and keeps the exit code."""

    def __init__(
        self,
        tool: str,
        stream: TextIO,
        *,
        colour: bool = False,
        quiet: bool = False,
        verbose: bool = False,
        max_errors: int = 0,
        as_json: bool = False,
    ) -> None:
        self.tool = tool
        self.code = 0
        self.colour = colour
        self.verbose = verbose
        self.errors: list[str] = []
        """The messages of the errors that were shown."""
        self._stream = stream
        self._quiet = quiet
        self._as_json = as_json
        self._left = max_errors if max_errors > 0 else -1
        self._counts: Counter[str] = Counter()
        self._suppressed = 0
        self._held: list[Diagnostic] | None = None

    def refuse(self, diagnostics: Sequence[Diagnostic], code: int = 1) -> None:
        """Show diagnostics and end with at least this exit code."""
        self.report(diagnostics)
        if self._held is None or code > 1:
            self.code = max(self.code, code)

    @contextmanager
    def collecting(self) -> Iterator[list[Diagnostic]]:
        """Collect what is reported inside the ``with`` block instead of showing it; only internal errors still fail."""
        held: list[Diagnostic] = []
        self._held = held
        try:
            yield held
        finally:
            self._held = None

    def report(self, diagnostics: Sequence[Diagnostic], origin: str = "") -> None:
        """Show diagnostics, errors up to the limit; `origin`, or else the tool, stands where one has no place."""
        if self._held is not None:
            self._held += diagnostics
            return
        for diagnostic in diagnostics:
            self._counts[diagnostic.severity] += 1
            if diagnostic.severity != "error":
                if not self._quiet:
                    self._show(diagnostic, origin)
            elif self._left == 0:
                self._suppressed += 1
            else:
                self._left -= 1
                self.errors.append(diagnostic.message)
                self._show(diagnostic, origin)

    def _show(self, diagnostic: Diagnostic, origin: str) -> None:
        if self._quiet:
            from dataclasses import replace

            diagnostic = replace(diagnostic, notes=())
        if self._as_json:
            from scaly_ir.tools.json_diagnostics import json_line

            write(self._stream, json_line(diagnostic))
        else:
            from scaly_ir.text.diagnostics import render

            write(self._stream, render(diagnostic, origin=origin or self.tool, colour=self.colour) + "\n")

    def say(self, text: str) -> None:
        """Show a line of progress."""
        write(self._stream, f"{self.tool}: {text}\n")

    def write(self, text: str) -> None:
        """Show text as it is."""
        write(self._stream, text)

    def write_ir(self, text: str) -> None:
        """Show IR, in colour when messages are."""
        if self.colour:
            from scaly_ir.tools.highlight import highlighted

            text = highlighted(text)
        self.write(text)

    def show_traceback(self, failure: BaseException) -> None:
        """Show where in the code an exception comes from."""
        import traceback

        write(self._stream, "".join(traceback.format_exception(failure)))

    def summarize(self) -> None:
        """Close the run with a line when there was more than one error or warning."""
        if self._suppressed:
            more = _counted(self._suppressed, "more error")
            self._say_more(f"{more} not shown; --max-errors=0 shows all")
        counts = [(self._counts[severity], severity) for severity in ("error", "warning") if self._counts[severity]]
        if sum([count for count, _ in counts]) > 1 and not self._quiet and not self._as_json:
            write(self._stream, ", ".join([_counted(count, severity) for count, severity in counts]) + "\n")

    def _say_more(self, text: str) -> None:
        if not self._as_json:
            self.say(text)
            return
        from scaly_ir.text.diagnostics import Diagnostic

        self._show(Diagnostic("note", text, code="max-errors"), "")


def _counted(count: int, what: str) -> str:
    return f"{count:,} {what}{'s' if count != 1 else ''}"
