"""What scaly-run does with a verified file: find the function, bind its inputs, compute, show what came out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TextIO

from scaly_ir.errors import CompileError, EvaluationError, LoweringError, ScalyError, TranslateError
from scaly_ir.graph import Node
from scaly_ir.running import Observer
from scaly_ir.text.diagnostics import Diagnostic, error
from scaly_ir.text.locations import Locations
from scaly_ir.text.source import Source, Span
from scaly_ir.tools.input_driver import InputDriver
from scaly_ir.tools.reporting import Reporter, write
from scaly_ir.tools.run.binding import Sources, bind
from scaly_ir.tools.run.engines import Compilation, Compute, compiled, evaluator
from scaly_ir.tools.run.interface import Parameter, RunError, Runnable, find_function

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]

Engine = Literal["ref", "c"]


@dataclass(slots=True)
class Wanted:
    """What is wanted of a run."""

    function: str = ""
    sources: Sources = field(default_factory=Sources)
    engine: Engine = "ref"
    compare: str | None = None
    """The file with the results to compare with, or an empty text for the other engine."""
    rtol: float | None = None
    atol: float | None = None
    style: str = ""
    digits: int | None = None
    trace: bool = False
    check_finite: bool = False
    repeat: int = 0
    compilation: Compilation = field(default_factory=Compilation)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came out: the text for standard output, the results, and which of them are not what they should be."""

    text: str
    results: Sequence[tuple[Parameter, Array]]
    mismatches: Sequence[Diagnostic] = ()


class Runner(InputDriver[Outcome]):
    """Runs a function of a file; what goes wrong goes to the reporter."""

    def __init__(
        self,
        wanted: Wanted,
        reporter: Reporter,
        stdin: TextIO,
        stderr: TextIO,
        *,
        stdin_name: str = "<stdin>",
        verbose: bool = False,
        traceback: bool = False,
    ) -> None:
        super().__init__(reporter, stdin, stdin_name=stdin_name, verbose=verbose, traceback=traceback)
        self._wanted = wanted
        self._stderr = stderr

    def work(self, source: Source, root: Node, locations: Locations) -> Outcome | None:
        """Run the function."""
        self._stage = "the run"
        try:
            runnable = find_function(root, locations, self._wanted.function)
            values, warnings = bind(runnable, self._wanted.sources)
            self._reporter.report(warnings)
            return self._run(runnable, values)
        except RunError as failure:
            self._reporter.refuse(failure.diagnostics)
        return None

    def _run(self, runnable: Runnable, values: Sequence[Array]) -> Outcome:
        wanted = self._wanted
        if wanted.compare == "":
            expected = self._results(runnable, values, "ref")
            found = self._results(runnable, values, "c")
            return self._compared(runnable, found, expected, "ref")
        results = self._results(runnable, values, wanted.engine)
        if wanted.compare is not None:
            return self._compared(runnable, results, _stored(runnable, wanted.compare), wanted.compare)
        return Outcome(self._shown(runnable, results, wanted.style), _paired(runnable, results))

    # --- computing ----------------------------------------------------------------------------------------------------

    def _results(self, runnable: Runnable, values: Sequence[Array], engine: Engine) -> list[Array]:
        """Return what an engine computes; `RunError` when it cannot."""
        self._stage = "the evaluator" if engine == "ref" else "the compiled code"
        try:
            compute = self._engine(runnable, values, engine)
            results = compute(values)
            if self._wanted.repeat:
                self._time(runnable, compute, values, engine)
        except (EvaluationError, LoweringError, TranslateError, CompileError) as failure:
            if self._traceback:
                self._reporter.show_traceback(failure)
            raise RunError(_diagnosed(runnable, failure)) from failure
        except ScalyError:
            raise
        except (ValueError, IndexError, NotImplementedError) as failure:
            if engine != "ref":
                raise
            raise RunError(error(f"{runnable.shown} cannot be evaluated: {failure}", code="run")) from failure
        return results

    def _engine(self, runnable: Runnable, values: Sequence[Array], engine: Engine) -> Compute:
        wanted = self._wanted
        if engine == "c":
            if self._verbose:
                self._reporter.say(f"compiling {runnable.shown}")
            return compiled(runnable, wanted.compilation)
        if not wanted.trace and not wanted.check_finite:
            return evaluator(runnable)
        from scaly_ir.tools.run.tracing import Trace, check_inputs

        if wanted.check_finite:
            check_inputs(runnable, values)
        trace = Trace(lambda text: write(self._stderr, text), wanted.digits) if wanted.trace else None
        return evaluator(runnable, Observer(trace, wanted.check_finite))

    def _time(self, runnable: Runnable, compute: Compute, values: Sequence[Array], engine: str) -> None:
        from time import perf_counter

        count = self._wanted.repeat
        times = []
        for _ in range(count):
            start = perf_counter()
            compute(values)
            times.append(perf_counter() - start)
        mean = sum(times) / count
        self._reporter.say(
            f"{runnable.shown} ({engine}), {count} calls: best {_seconds(min(times))}, mean {_seconds(mean)}"
        )

    # --- showing ------------------------------------------------------------------------------------------------------

    def _shown(self, runnable: Runnable, results: Sequence[Array], style: str) -> str:
        from scaly_ir.tools.run.results import result_text

        if style == "none":
            return ""
        digits = self._wanted.digits
        pairs = _paired(runnable, results)
        return "".join([result_text(parameter, array, style, digits) for parameter, array in pairs])

    def _compared(self, runnable: Runnable, found: Sequence[Array], expected: Sequence[Array], origin: str) -> Outcome:
        """Return a line for each result; one that is too far off is an error."""
        from scaly_ir.tools.run.comparison import compare
        from scaly_ir.tools.run.results import number_text

        lines, mismatches = [], []
        for result, array, other in zip(runnable.results, found, expected, strict=True):
            comparison = compare(result, array, other, self._wanted.rtol, self._wanted.atol)
            lines.append(f"{comparison.line}\n")
            if comparison.worst is not None:
                where = f"{result.shown}{list(comparison.worst) if comparison.worst else ''}"
                engine = "c" if self._wanted.compare == "" else self._wanted.engine
                one, two = [number_text(each[comparison.worst], result.dtype) for each in (array, other)]
                message = f"{where} is {one} by {engine}, and {two} by {origin}"
                mismatches.append(error(message, result.span, "mismatch"))
        text = "".join(lines)
        if self._wanted.style:
            text += self._shown(runnable, found, self._wanted.style)
        return Outcome(text, _paired(runnable, found), mismatches)


def _paired(runnable: Runnable, results: Sequence[Array]) -> list[tuple[Parameter, Array]]:
    return list(zip(runnable.results, results, strict=True))


def _stored(runnable: Runnable, path: str) -> list[Array]:
    """Return the results that a file holds."""
    from scaly_ir.tools.run.values import ValueFault, converted, from_archive, load_archive

    found, faults = [], []
    try:
        archive = load_archive(path)
    except ValueFault as fault:
        raise RunError(error(str(fault), code="compare")) from fault
    for result in runnable.results:
        try:
            found.append(converted(from_archive(archive, path, result.name), result))
        except ValueFault as fault:
            faults.append(error(f"result {result.shown} of {runnable.shown}: {fault}", result.span, "compare"))
    if faults:
        raise RunError(*faults)
    return found


def _diagnosed(runnable: Runnable, failure: ScalyError) -> Diagnostic:
    """Return why an engine gave up, at the operation to blame where it is known."""
    if isinstance(failure, EvaluationError):
        span = runnable.span_of(failure.statement, failure.procedure, next(iter(failure.blamed), None))
        span = span or _span_of_blamed(runnable, failure, failure.procedure)
        return error(str(failure), span, "evaluation")
    if isinstance(failure, LoweringError):
        span = _span_of_blamed(runnable, failure)
        return error(f"{runnable.shown} cannot be compiled: {failure}", span, "lowering")
    if isinstance(failure, TranslateError):
        if runnable.runner.passes != "":  # what was translated is not what the file holds
            return error(f"{runnable.shown} cannot be compiled: {failure}", code="translation")
        from scaly_ir.tools.translate.driver import located

        return located(failure, runnable.locations)
    return error(str(failure), code="compile")


def _span_of_blamed(runnable: Runnable, failure: ScalyError, within: str | None = None) -> Span | None:
    spans = [runnable.span_of(node, within) for node in failure.blamed]
    return next((span for span in spans if span is not None), None)


def _seconds(time: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if time >= size:
            return f"{time / size:.3g} {unit}"
    return f"{time * 1e9:.3g} ns"
