"""What scaly-opt does with a verified input: run the passes, verify again, print.

Owns the stages and what to say when one of them fails; knows neither the command line nor where the result goes.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final, TextIO

from scaly_ir.dialect import dialect_of
from scaly_ir.errors import ScalyError
from scaly_ir.graph import Node
from scaly_ir.remarks import collect_remarks
from scaly_ir.text.diagnostics import Diagnostic, error, note
from scaly_ir.text.locations import Locations
from scaly_ir.text.source import Source, Span
from scaly_ir.tools.input_driver import InputDriver
from scaly_ir.tools.opt.ir_text import Input, IrText, generic_text
from scaly_ir.tools.opt.watcher import Watcher
from scaly_ir.tools.reporting import Reporter

if TYPE_CHECKING:
    from scaly_ir.pass_manager import Pass
    from scaly_ir.spec import Violation

NOTE_LINES: Final = 20
"""How much of an invalid operation is shown."""


class Driver(InputDriver[str]):
    """Processes inputs one after another with the same passes; what goes wrong goes to the reporter."""

    def __init__(
        self,
        passes: Sequence[Pass],
        reporter: Reporter,
        stdin: TextIO,
        *,
        stdin_name: str = "<stdin>",
        verify_each: bool = True,
        verbose: bool = False,
        traceback: bool = False,
        watchers: Sequence[Watcher] = (),
        advice: str = "",
        text: IrText | None = None,
        given: Input | None = None,
        follow_failures: bool = True,
    ) -> None:
        super().__init__(
            reporter, stdin, stdin_name=stdin_name, verbose=verbose, traceback=traceback, watchers=watchers
        )
        self._passes = passes
        self._verify_each = verify_each
        self._text = text or IrText()
        self._given = given or Input()
        self._follow_failures = follow_failures
        self._advice = advice
        """What to do about an internal error."""
        self._read: tuple[Node, Locations] | None = None
        """The input at hand, and where things stand in it."""
        self._pass = ""
        """The pass that runs."""

    def process_source(self, source: Source) -> str | None:
        """Process what was read; return the text that comes out, or None after an error."""
        self._pass, self._read = "", None
        return super().process_source(source)

    def work(self, source: Source, root: Node, locations: Locations) -> str | None:
        """Run the passes on a verified input and print it."""
        self._read = (root, locations)
        self._given.begin(root, locations)
        for watcher in self._watchers:
            watcher.begin(root)
        result = self._transformed(root, source.name) if self._passes else root
        if result is None:
            return None
        self._enter("print", "the printer")
        text = self._text.result(result)
        self._enter("rest", "the tool")
        return text

    def _transformed(self, root: Node, name: str) -> Node | None:
        """Run the passes on a valid module; return what they make of it, or None when that is not valid.

        What a pass remarks is shown when it is through, under the `name` of the input.
        """
        count = len(self._passes)
        verified = root
        for number, step in enumerate(self._passes, start=1):
            self._stage, self._pass = f"pass '{step.name}'", step.name
            for watcher in self._watchers:
                watcher.before_pass(number, step, root)
            result = self._run(number, step, root, name)
            for watcher in self._watchers:
                watcher.after_pass(number, step, root, result)
            if self._verbose:
                change = "made no change" if result is root else "changed the IR"
                self._reporter.say(f"pass {number} of {count}: {step.name} {change}")
            if result is not root:
                self._input = None
            before, root = root, result
            if root is not verified and (self._verify_each or number == count):
                self._enter("verify", f"the verifier after pass '{step.name}'")
                for violation in dialect_of(root).spec.check(root):
                    self._tell_failure(number, step, before, root)
                    self._report_failure(self._invalid(violation, f"pass '{step.name}' ({number} of {count})"), 1)
                    return None
                verified = root
                self._enter("rest", "the tool")
            for watcher in self._watchers:
                watcher.after_verified(number, step, root)
        self._pass = ""
        return root

    def _run(self, number: int, step: Pass, root: Node, name: str) -> Node:
        from scaly_ir.pass_manager import run_pipeline

        with collect_remarks() as remarks:
            try:
                return self._given.run(root, lambda: run_pipeline(root, [step]))
            except Exception:
                self._tell_failure(number, step, root, None)
                raise
            finally:
                self._reporter.report([replace(remark, pass_name=step.name) for remark in remarks], origin=name)

    def _tell_failure(self, number: int, step: Pass, before: Node, after: Node | None) -> None:
        for watcher in self._watchers:
            watcher.pass_failed(number, step, before, after)

    def _place(self, failure: Exception) -> Span | None:
        """Return where in the input something failed, or where what it failed for comes from, as far as is known.

        Passes do not keep where things come from, so unless they were followed they run again until then and are.
        """
        found = super()._place(failure)
        if found is not None or self._read is None or not self._follow_failures:
            return found
        if not isinstance(failure, ScalyError) or not failure.blamed:
            return None
        given = self._given
        if not given.is_followed:
            given = Input()
            given.is_followed = True
            root, locations = self._read
            given.begin(root, locations)
            with collect_remarks(), suppress(Exception):  # what a pass does the second time is no part of the run
                for step in self._passes:
                    root = given.run(root, partial(step.run, root))
        return given.span(failure.blamed)

    def _report_failure(self, diagnostic: Diagnostic, code: int) -> None:
        if code == 3 and self._advice:
            diagnostic = replace(diagnostic, notes=(*diagnostic.notes, note(self._advice)))
        diagnostic = replace(diagnostic, pass_name=self._pass)
        super()._report_failure(diagnostic, code)

    def _invalid(self, violation: Violation, after: str) -> Diagnostic:
        """Return the error for what a pass left: with the operation as it is now, if it can be printed at all."""
        notes = []
        statement = violation.place.statement
        try:
            lines = dialect_of(statement).render(statement).splitlines()
        except Exception:  # a printer may rely on what the verifier would have checked
            lines = generic_text(statement).splitlines()
        shown = [*lines[:NOTE_LINES], "..."] if len(lines) > NOTE_LINES else lines
        notes.append(note("the operation is now\n" + "\n".join([f"  {line}" for line in shown])))
        if not self._verify_each and len(self._passes) > 1:
            notes.append(note("only the final result was verified; --verify-each finds the pass to blame"))
        return error(f"IR is invalid after {after}: {violation.message}", code=violation.rule, notes=notes)
