"""What every tool does with an input first: read it, verify it, and say what went wrong.

A tool's driver is a subclass whose `work` goes on with what was read; whatever that raises becomes one diagnostic.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, TextIO, TypeVar

from scaly_ir.dialect import dialect_of, parse_source, verify_parsed
from scaly_ir.errors import PassError, ScalyError, TranslateError, described
from scaly_ir.graph import Node
from scaly_ir.text.diagnostics import Diagnostic, error
from scaly_ir.text.locations import Locations
from scaly_ir.text.source import Source, Span
from scaly_ir.tools.files import read_source
from scaly_ir.tools.opt.watcher import Watcher
from scaly_ir.tools.reporting import Reporter

T = TypeVar("T")


class InputDriver(Generic[T]):
    """Processes inputs one after another; what goes wrong goes to the reporter."""

    def __init__(
        self,
        reporter: Reporter,
        stdin: TextIO,
        *,
        stdin_name: str = "<stdin>",
        verbose: bool = False,
        traceback: bool = False,
        watchers: Sequence[Watcher] = (),
    ) -> None:
        self._reporter = reporter
        self._stdin = stdin
        self._stdin_name = stdin_name
        self._verbose = verbose
        self._traceback = traceback
        self._watchers = watchers
        self._stage = ""
        """What is being done, for messages."""
        self._input: tuple[Node, Locations] | None = None
        """The root at hand and where its parts stand, as long as it is the one that was read."""

    def work(self, source: Source, root: Node, locations: Locations) -> T | None:
        """Go on with a verified input; None after an error that was reported."""
        raise NotImplementedError

    def process(self, path: str) -> T | None:
        """Process one input; return what `work` makes of it, or None after an error."""
        source = self.read(path)
        return None if source is None else self.process_source(source)

    def read(self, path: str) -> Source | None:
        """Read one input; None after an error."""
        for watcher in self._watchers:
            watcher.read(path)
        self._enter("read", "the reader")
        source = read_source(path, self._stdin, self._stdin_name)
        if isinstance(source, Diagnostic):
            self._reporter.refuse([source])
            return None
        if self._verbose:
            self._reporter.say(f"reading {source.name}")
        return source

    def process_source(self, source: Source) -> T | None:
        """Process what was read; return what `work` makes of it, or None after an error."""
        self._input = None
        try:
            return self._verified(source)
        except (PassError, TranslateError) as failure:
            self._failed(str(failure), "pass" if isinstance(failure, PassError) else "translation", failure)
        except ScalyError as failure:
            self._failed(f"{self._stage} failed: {failure}", "pass", failure)
        except MemoryError as failure:  # nobody knows better what it was wanted for
            self._failed(f"{self._stage} finds no memory: {failure}".rstrip(": "), "memory", failure)
        except RecursionError as failure:
            self._failed(f"internal error in {self._stage}: too deeply nested", "internal", failure)
        except Exception as failure:  # whatever a bug raises becomes one diagnostic
            self._failed(f"internal error in {self._stage}: {described(failure)}", "internal", failure)
        return None

    def _enter(self, phase: str, stage: str) -> None:
        """Go on to another phase of the run; `stage` is what messages call it."""
        self._stage = stage
        for watcher in self._watchers:
            watcher.enter(phase)

    def _verified(self, source: Source) -> T | None:
        self._enter("parse", "the reader")
        parsed = parse_source(source)
        self._reporter.report(parsed.diagnostics)
        if parsed.root is None:
            self._reporter.refuse([])
            return None
        self._enter("verify", "the verifier")
        broken = verify_parsed(parsed.root, parsed.locations)
        if broken:
            self._reporter.refuse(broken)
            return None
        self._input = (parsed.root, parsed.locations)
        self._enter("rest", "the tool")
        return self.work(source, parsed.root, parsed.locations)

    def _place(self, failure: Exception) -> Span | None:
        """Return where in the input something failed, as far as that is known."""
        if self._input is None or not isinstance(failure, ScalyError):
            return None
        from scaly_ir.text.provenance import function_among

        root, locations = self._input
        within = function_among(failure.blamed)
        for node in failure.blamed:
            place = dialect_of(root).place_of(root, node, within) or dialect_of(root).place_of(root, node)
            if place is not None:
                return locations.span(place)
        return None

    def _failed(self, message: str, code: str, failure: Exception) -> None:
        self._report_failure(error(message, self._place(failure), code), 3 if code == "internal" else 1)
        if self._traceback:
            self._reporter.show_traceback(failure)

    def _report_failure(self, diagnostic: Diagnostic, code: int) -> None:
        """Show the error that ends the work on an input, and tell who looks on."""
        self._reporter.refuse([diagnostic], code)
        for watcher in self._watchers:
            watcher.reported(diagnostic)
