"""What is looked for without a script: a diagnostic, an internal error, wrong results."""

from __future__ import annotations

import io
import os
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, fields
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from scaly_ir.text.diagnostics import Diagnostic, render
from scaly_ir.tools.reduce.interest import Outcome
from scaly_ir.tools.reporting import Reporter

if TYPE_CHECKING:
    from scaly_ir.pass_manager import Pass
    from scaly_ir.tools.run.driver import Outcome as RunOutcome


_RUN_NEEDS: Final = (
    *("numpy", "scaly_ir.tools.opt_driver", "scaly_ir.tools.run.driver", "scaly_ir.tools.run.comparison"),
    *("scaly_ir.tools.run.results", "scaly_ir.tools.run.values", "scaly_ir.tools.jit.functions"),
    *("scaly_ir.tools.jit.program", "scaly_ir.dialects.prog.evaluate", "scaly_ir.dialects.expr.evaluate"),
)


@dataclass(frozen=True)
class OptCheck:
    """What scaly-opt says of a file: a diagnostic that matches, or an internal error, or one that does both."""

    error: str = ""
    """A regular expression that ``severity: message`` of a diagnostic, or of its notes, has to match somewhere."""
    crash: bool = False
    verify_each: bool = True
    plugins: tuple[str, ...] = ()
    """The options that load plug-ins, for the command."""

    def load(self) -> None:
        """Import what scaly-opt needs."""
        import_module("scaly_ir.tools.opt_driver")

    def run(self, path: str, passes: Sequence[Pass]) -> Outcome:
        """Do what scaly-opt does."""
        found, code, _ = _optimized(path, passes, self.verify_each)
        matches = not self.error or any([re.search(self.error, line) for line in _heads(found)])
        return Outcome(matches and (code == 3 or not self.crash), code, _shown(found))

    def died(self, code: int) -> Outcome:
        """Return that it crashed, which is what is looked for unless there should be a message."""
        how = f"the process was ended by signal {-code}" if code < 0 else f"the process ended with exit code {code}"
        return Outcome(self.crash and not self.error, 3, how)

    def command(self, path: str, passes: Sequence[Pass]) -> str:
        """Return the call of scaly-opt."""
        return shlex.join(["scaly-opt", *self._options(), path, *_pass_option(passes)])

    def _options(self) -> list[str]:
        return [*self.plugins, *([] if self.verify_each else ["--no-verify-each"])]


@dataclass(frozen=True)
class MiscompileCheck:
    """Results that should agree and do not: of evaluator and compiled code; with passes, of before and after them."""

    function: str = ""
    seed: int = 0
    plugins: tuple[str, ...] = ()

    def load(self) -> None:
        """Import what scaly-run needs."""
        for module in _RUN_NEEDS:
            import_module(module)

    def run(self, path: str, passes: Sequence[Pass]) -> Outcome:
        """Run the function on random inputs, in both ways."""
        if not passes:
            done, said = self._run(path, "")
            return Outcome(bool(done and done.mismatches), int(done is None or bool(done.mismatches)), said)
        before, said = self._run(path, None)
        if before is None:
            return Outcome(False, 1, said)
        found, code, text = _optimized(path, passes, True)
        if text is None:
            return Outcome(False, code, _shown(found))
        expected, changed = os.path.join(os.path.dirname(path), "expected.npz"), f"{path}.passed"
        from scaly_ir.tools.run.results import file_bytes

        with open(expected, "wb") as results:
            results.write(file_bytes(expected, [(result.name, array) for result, array in before.results]))
        with open(changed, "w", encoding="utf-8") as file:
            file.write(text)
        after, said = self._run(changed, expected)
        return Outcome(bool(after and after.mismatches), int(after is None or bool(after.mismatches)), said)

    def _run(self, path: str, compare: str | None) -> tuple[RunOutcome | None, str]:
        from scaly_ir.tools.run.binding import Sources
        from scaly_ir.tools.run.driver import Runner, Wanted
        from scaly_ir.tools.run.engines import Compilation

        reporter = Reporter("scaly-run", io.StringIO())
        wanted = Wanted(self.function, Sources(seed=self.seed), compare=compare, style="none")
        wanted.compilation = Compilation(cached=False)
        with reporter.collecting() as found:
            done = Runner(wanted, reporter, io.StringIO(), io.StringIO()).process(path)
        said = [] if done is None else [line for line in done.text.splitlines() if line]
        return done, "\n".join([*said, *[_rendered(each, "scaly-run") for each in found]])

    def died(self, code: int) -> Outcome:
        """Return that nothing was found: there were no results."""
        return Outcome(False, code, "the process that ran the function died")

    def command(self, path: str, passes: Sequence[Pass]) -> str:
        """Return the call of scaly-run, and with passes what makes the results to compare with."""
        function = [f"@{self.function}"] if self.function else []
        inputs = [*function, f"--random={self.seed}"]
        run = ["scaly-run", *self.plugins, path, *inputs]
        if not passes:
            return shlex.join([*run, "--compare"])
        first = shlex.join([*run, "--print=none", "--out=expected.npz"])
        second = shlex.join(["scaly-opt", *self.plugins, path, *_pass_option(passes)])
        third = shlex.join(["scaly-run", *self.plugins, "-", *inputs, "--compare=expected.npz"])
        return f"{first} && {second} | {third}"


def _optimized(path: str, passes: Sequence[Pass], verify_each: bool) -> tuple[list[Diagnostic], int, str | None]:
    """Return what scaly-opt says of a file, its exit code and its result."""
    from scaly_ir.tools.opt_driver import Driver

    reporter = Reporter("scaly-opt", io.StringIO())
    with reporter.collecting() as found:
        text = Driver(passes, reporter, io.StringIO(), verify_each=verify_each, follow_failures=False).process(path)
    code = max(reporter.code, int(any([each.severity == "error" for each in found])))
    return found, code, text


def _heads(diagnostics: Sequence[Diagnostic]) -> list[str]:
    return [f"{each.severity}: {each.message}" for whole in diagnostics for each in (whole, *whole.notes)]


def _shown(diagnostics: Sequence[Diagnostic]) -> str:
    return "\n".join([_rendered(each, "scaly-opt") for each in diagnostics])


def _rendered(diagnostic: Diagnostic, tool: str) -> str:
    return render(diagnostic, origin=tool)


def _pass_option(passes: Sequence[Pass]) -> list[str]:
    return [f"--pass={spell_passes(passes)}"] if passes else []


def spell_passes(passes: Sequence[Pass]) -> str:
    """Return the text of a pipeline, with the options that are not left to their defaults."""
    from scaly_ir.pipeline import spell_item

    return ",".join([spell_item(step.name, _given(step)) for step in passes])


def _given(step: Pass) -> dict[str, Any]:
    values = {field.name: getattr(step, field.name) for field in fields(step)}
    return {field.name: values[field.name] for field in fields(step) if values[field.name] != field.default}
