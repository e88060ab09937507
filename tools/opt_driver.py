"""What scaly-opt does with an input: read it, verify it, run the passes, verify again, print.

Owns the stages and what to say when one of them fails; knows neither the command line nor where the result goes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, TextIO

from scaly_ir.dialect import dialect_of, parse_source, verify_parsed
from scaly_ir.errors import PassError, ScalyError
from scaly_ir.graph import Node
from scaly_ir.remarks import collect_remarks
from scaly_ir.text.diagnostics import Diagnostic, error, note
from scaly_ir.text.source import Source
from scaly_ir.tools.entry import described
from scaly_ir.tools.files import read_source
from scaly_ir.tools.reporting import Reporter

if TYPE_CHECKING:
    from scaly_ir.pass_manager import Pass
    from scaly_ir.spec import Violation

NOTE_LINES: Final = 20
"""How much of an invalid operation is shown."""


class Driver:
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
    ) -> None:
        self._passes = passes
        self._reporter = reporter
        self._stdin = stdin
        self._stdin_name = stdin_name
        self._verify_each = verify_each
        self._verbose = verbose
        self._traceback = traceback
        self._stage = ""

    def process(self, path: str) -> str | None:
        """Process one input; return its printed result, or None after an error."""
        source = read_source(path, self._stdin, self._stdin_name)
        if isinstance(source, Diagnostic):
            self._reporter.refuse([source])
            return None
        if self._verbose:
            self._reporter.say(f"reading {source.name}")
        try:
            return self._result(source)
        except PassError as failure:
            self._failed(str(failure), "pass", failure)
        except ScalyError as failure:
            self._failed(f"{self._stage} failed: {failure}", "pass", failure)
        except RecursionError as failure:
            self._failed(f"internal error in {self._stage}: too deeply nested", "internal", failure)
        except Exception as failure:  # whatever a bug raises becomes one diagnostic
            self._failed(f"internal error in {self._stage}: {described(failure)}", "internal", failure)
        return None

    def _failed(self, message: str, code: str, failure: Exception) -> None:
        self._reporter.refuse([error(message, code=code)], 3 if code == "internal" else 1)
        if self._traceback:
            self._reporter.show_traceback(failure)

    def _result(self, source: Source) -> str | None:
        self._stage = "the reader"
        parsed = parse_source(source)
        self._reporter.report(parsed.diagnostics)
        if parsed.root is None:
            self._reporter.refuse([])
            return None
        self._stage = "the verifier"
        broken = verify_parsed(parsed.root, parsed.locations)
        if broken:
            self._reporter.refuse(broken)
            return None
        root = self._transformed(parsed.root, source.name) if self._passes else parsed.root
        if root is None:
            return None
        self._stage = "the printer"
        return dialect_of(root).render(root)

    def _transformed(self, root: Node, name: str) -> Node | None:
        """Run the passes on a valid module; return what they make of it, or None when that is not valid.

        What a pass remarks is shown when it is through, under the `name` of the input.
        """
        count = len(self._passes)
        verified = root
        for number, step in enumerate(self._passes, start=1):
            self._stage = f"pass '{step.name}'"
            result = self._run(step, root, name)
            if self._verbose:
                change = "made no change" if result is root else "changed the IR"
                self._reporter.say(f"pass {number} of {count}: {step.name} {change}")
            root = result
            if root is not verified and (self._verify_each or number == count):
                self._stage = f"the verifier after pass '{step.name}'"
                for violation in dialect_of(root).spec.check(root):
                    self._reporter.refuse([self._invalid(violation, f"pass '{step.name}' ({number} of {count})")])
                    return None
                verified = root
        return root

    def _run(self, step: Pass, root: Node, name: str) -> Node:
        from scaly_ir.pass_manager import run_pipeline

        with collect_remarks() as remarks:
            try:
                return run_pipeline(root, [step])
            finally:
                self._reporter.report(remarks, origin=name)

    def _invalid(self, violation: Violation, after: str) -> Diagnostic:
        """Return the error for what a pass left: with the operation as it is now, if it can be printed at all."""
        notes = []
        statement = violation.place.statement
        try:
            lines = dialect_of(statement).render(statement).splitlines()
        except Exception:  # a printer may rely on what the verifier would have checked
            lines = []
        if lines:
            shown = [*lines[:NOTE_LINES], "..."] if len(lines) > NOTE_LINES else lines
            notes.append(note("the operation is now\n" + "\n".join([f"  {line}" for line in shown])))
        if not self._verify_each and len(self._passes) > 1:
            notes.append(note("only the final result was verified; --verify-each finds the pass to blame"))
        return error(f"IR is invalid after {after}: {violation.message}", code=violation.rule, notes=notes)
