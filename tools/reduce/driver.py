"""What scaly-reduce does: read the file, try it, search for the smallest, keep the best in a file, say how it went."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TextIO

from scaly_ir.dialect import parse_source
from scaly_ir.text.diagnostics import Diagnostic, error, note
from scaly_ir.tools.files import decoded, write_atomically, write_result
from scaly_ir.tools.interrupts import held
from scaly_ir.tools.reduce.checks import spell_passes
from scaly_ir.tools.reduce.interest import Outcome, Running, Test
from scaly_ir.tools.reduce.search import OutOfTime, Search
from scaly_ir.tools.reduce.state import State
from scaly_ir.tools.reduce.steps import Step, steps_for
from scaly_ir.tools.reporting import Reporter
from scaly_ir.tools.reproducers import Head

if TYPE_CHECKING:
    from scaly_ir.pass_manager import Pass


@dataclass
class Job:
    """What is to be reduced, and how."""

    name: str
    """The path of the input as messages have it."""
    data: bytes
    test: Test
    passes: tuple[Pass, ...] = ()
    output: str = "-"
    reproducer: Head | None = None
    as_text: bool = False
    allow_invalid: bool = False
    as_json: bool = False
    """Whether messages are for programs."""
    jobs: int = 1
    max_time: float | None = None
    started: float = field(default_factory=time.monotonic)


class Reducer:
    """Does one job; what goes wrong goes to the reporter."""

    def __init__(self, job: Job, reporter: Reporter, stdout: TextIO, *, quiet: bool, verbose: bool) -> None:
        self._job = job
        self._reporter = reporter
        self._stdout = stdout
        self._quiet = quiet
        self._verbose = verbose

    def run(self) -> None:
        """Reduce; `KeyboardInterrupt` leaves the best so far in the output file."""
        job = self._job
        given = State(job.data.decode("utf-8", "surrogateescape"), job.passes)
        start = given if job.as_text else self._read()
        if start is None:
            return
        outcome = self._tested(given)
        if not outcome.interesting:
            self._refuse_boring(f"'{job.name}' is not interesting", outcome, job.passes)
            return
        if start is not given:
            outcome = self._tested(start)
            if not outcome.interesting:
                message = f"'{job.name}' is not interesting any more once it is printed again; --text keeps its layout"
                self._refuse_boring(message, outcome, job.passes)
                return
        self._search(start)

    def _tested(self, state: State) -> Outcome:
        running: Running | None = None
        try:
            with held():
                running = self._job.test.start(state)
            return running.wait()
        finally:
            if running is not None:
                running.stop()

    # --- the input ----------------------------------------------------------------------------------------------------

    def _read(self) -> State | None:
        """Return the module of the input; None, with errors that say what to do, where there is none."""
        job = self._job
        source = decoded(job.data, job.name)
        if isinstance(source, Diagnostic):
            self._reporter.refuse([source])
            return None
        parsed = parse_source(source)
        if parsed.root is None:
            self._refuse(parsed.diagnostics, "--text reduces a file that cannot be read, by lines and tokens")
            return None
        if not job.allow_invalid:
            from scaly_ir.dialect import verify_parsed

            broken = verify_parsed(parsed.root, parsed.locations)
            if broken:
                self._refuse(broken, "--allow-invalid reduces a file that does not verify")
                return None
        return State(parsed.root, job.passes)

    def _refuse(self, diagnostics: tuple[Diagnostic, ...] | list[Diagnostic], hint: str) -> None:
        self._reporter.refuse(diagnostics)
        self._reporter.report([note(hint)])

    def _refuse_boring(self, message: str, outcome: Outcome, passes: tuple[Pass, ...]) -> None:
        how = "no end in time (see --timeout)" if outcome.code is None else f"exit code {outcome.code}"
        lines = [message, f"  command: {self._job.test.command(self._job.name, passes)}", f"  result: {how}"]
        output = outcome.output.rstrip().splitlines()
        lines += ["  output:" if output else "  output: none", *[f"    {line}".rstrip() for line in output]]
        self._reporter.refuse([error("\n".join(lines), code="not-interesting")], 2)

    # --- the search ---------------------------------------------------------------------------------------------------

    def _search(self, start: State) -> None:
        job = self._job
        deadline = None if job.max_time is None else job.started + job.max_time
        search = Search(
            start,
            job.test,
            self._improved,
            jobs=job.jobs,
            deadline=deadline,
            allow_invalid=job.allow_invalid,
        )
        if not self._write(start):
            return
        late = ""
        try:
            search.run(steps_for(start))
        except OutOfTime:
            late = "; --max-time is over"
        except _Unwritable:
            return
        if job.output == "-":
            failure = write_result("-", self._data(search.best), self._stdout)
            if failure is not None:
                self._reporter.refuse([failure])
        if not self._quiet:
            self._summarize(start, search, late)

    def _summarize(self, start: State, search: Search, late: str) -> None:
        """Say how it went, and how to see the failure."""
        job, unit = self._job, self._unit
        before, after = start.weight.operations, search.best.weight.operations
        count = f"{search.candidates:,} candidate{'s' * (search.candidates != 1)}"
        seconds = f"{time.monotonic() - job.started:.0f} s"
        summary = f"reduced {before:,} {unit}{'s' * (before != 1)} to {after:,}, {count}, {seconds}{late}"
        for line in (summary, job.test.command(job.output, search.best.passes)):
            if job.as_json:
                self._reporter.report([note(line)])
            else:
                self._reporter.write(f"{line}\n")

    @property
    def _unit(self) -> str:
        return "line" if self._job.as_text else "operation"

    def _improved(self, state: State, step: Step) -> None:
        """Keep a better state."""
        if not self._write(state):
            raise _Unwritable
        if self._verbose:
            size = f"{state.weight.operations:,} {self._unit}s, {state.weight.length:,} characters"
            self._reporter.say(f"{step.name}: {size}")

    def _write(self, state: State) -> bool:
        """Replace the output file; say so and return False when that is not possible."""
        if self._job.output == "-":
            return True
        failure = write_atomically(self._job.output, self._data(state))
        if failure is not None:
            self._reporter.refuse([failure])
        return failure is None

    def _data(self, state: State) -> bytes:
        """Return what is written: a reproducer stays one."""
        reproducer = self._job.reproducer
        if reproducer is None or self._job.as_text:
            return state.data
        return reproducer.header(spell_passes(state.passes), self._job.output).encode() + state.data


class _Unwritable(Exception):  # noqa: N818 (it ends a search after the error was told)
    """The output file cannot be replaced any more."""
