"""What scaly-translate does with a verified input: apply each target that is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TextIO

from scaly_ir.errors import TranslateError
from scaly_ir.graph import Node
from scaly_ir.text.diagnostics import Diagnostic, error, note
from scaly_ir.text.locations import Locations
from scaly_ir.text.source import Source
from scaly_ir.tools.input_driver import InputDriver
from scaly_ir.tools.reporting import Reporter
from scaly_ir.tools.translate.targets import Input, Request


class Translator(InputDriver[list[str]]):
    """Translates an input to several targets; what has no form in one goes to the reporter."""

    def __init__(
        self,
        requests: Sequence[Request],
        reporter: Reporter,
        stdin: TextIO,
        *,
        function: str = "",
        stdin_name: str = "<stdin>",
        verbose: bool = False,
        traceback: bool = False,
    ) -> None:
        super().__init__(reporter, stdin, stdin_name=stdin_name, verbose=verbose, traceback=traceback)
        self._requests = requests
        self._function = function

    def work(self, source: Source, root: Node, locations: Locations) -> list[str] | None:
        """Return a text for each target, or None when one of them failed."""
        self._stage = "what takes out a function"
        if self._function:
            from scaly_ir.tools.translate.part import part_of

            root, locations = part_of(root, locations, self._function)
        given = Input(root, locations, source.name)
        texts = []
        refused: list[Diagnostic] = []
        for request in self._requests:
            self._stage = f"translation '{request.target}'"
            if self._verbose:
                self._reporter.say(f"translating to {request.target}")
            try:
                texts.append(request.apply(given))
            except TranslateError as failure:
                diagnostic = located(failure, locations)
                if diagnostic not in refused:  # of source and header, one complaint is enough
                    refused.append(diagnostic)
                    self._reporter.refuse([diagnostic])
                if self._traceback:
                    self._reporter.show_traceback(failure)
        return None if refused else texts


def located(failure: TranslateError, locations: Locations) -> Diagnostic:
    """Return what a translation refuses as a diagnostic, at the operation when it says which one."""
    span = None if failure.place is None else locations.span(failure.place)
    return error(str(failure), span, "translation", [note(failure.hint)] if failure.hint else [])
