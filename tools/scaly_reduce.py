"""scaly-reduce: shrink a failing .sir file as long as it stays interesting.

The command line of the tool; how a file is reduced is `reduce.driver`'s. Source: tools specification 7.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, TextIO

from scaly_ir.passes import PASSES
from scaly_ir.tools.command_line import Given, Option, UsageError, file_and_function, parse_arguments
from scaly_ir.tools.entry import (
    GENERAL_HELP,
    GENERAL_OPTIONS,
    General,
    run_process,
    run_tool,
    write_to,
    write_usage,
)

if TYPE_CHECKING:
    from pathlib import Path

    from scaly_ir.pass_manager import Pass
    from scaly_ir.tools.reduce.interest import Test
    from scaly_ir.tools.reporting import Reporter
    from scaly_ir.tools.reproducers import Head

TOOL: Final = "scaly-reduce"

USAGE: Final = """\
Usage: scaly-reduce [options] FILE [@func]
Shrink a failing .sir file as long as it stays interesting.

  scaly-reduce f.sir --test='./fails.sh {}'           while the command exits 0
  scaly-reduce f.sir --error='no slot' --pass=a,b     while an error matches
  scaly-reduce f.sir --crash --pass=a,b               while a pass crashes
  scaly-reduce f.sir --miscompile                     while results are wrong
  scaly-reduce saved.sir                              what scaly-opt saved
"""

HELP: Final = f"""{USAGE}
Interesting
  --test=CMD                     a shell command that exits 0; {{}} is the path
                                 of the candidate, which else follows it
  --error=REGEX                  a diagnostic of scaly-opt matches
  --crash                        scaly-opt has an internal error
  --miscompile                   @func (the last one) computes something else as
                                 C or, with --pass, after the passes
  --pass=NAME[{{opt=val}}][,...]   the passes to run; repeatable
  --no-verify-each               do not verify between them
  --random=SEED                  the inputs of --miscompile (default 0)

Candidates
  --allow-invalid                they need not verify
  --text                         they are text: leave out lines, then tokens
  --timeout=SECONDS              for each (default 10, 0 for no limit)
  --max-time=SECONDS             for all; the best until then is the result
  -j N                           try N at a time; the result is the same

Input and output
  FILE, -                        the file to reduce; - is standard input
  -o FILE                        write here, at each improvement; the default
                                 for f.sir is f.reduced.sir, for - it is -
  --stdin-name=NAME              call standard input NAME in messages

{GENERAL_HELP}Exit codes: 0 success, 1 refused, 2 wrong usage or FILE is not interesting,
3 internal error, 130 interrupted (the best so far is in the output file).
"""

OPTIONS: Final = (
    Option(("test",), "yes"),
    Option(("error",), "yes"),
    Option(("crash",)),
    Option(("miscompile",)),
    Option(("pass", "pipeline", "pass-pipeline"), "yes", "passes"),
    Option(("no-verify-each",)),
    Option(("random",), "yes"),
    Option(("allow-invalid",)),
    Option(("text",)),
    Option(("timeout",), "yes"),
    Option(("max-time",), "yes"),
    Option(("j", "jobs"), "yes"),
    Option(("o",), "yes", "file"),
    Option(("stdin-name",), "yes"),
    *GENERAL_OPTIONS,
)

_GENERAL_NAMES: Final = frozenset([option.names[0] for option in GENERAL_OPTIONS])


class _Settings(General):
    """What the command line asks for."""

    def __init__(self, argv: Sequence[str]) -> None:
        super().__init__()
        self.last: dict[str, Given] = {}
        """Every option but ``pass`` as it was given last."""
        self.passes: list[Pass] = []
        given, words = parse_arguments(_with_jobs(argv), OPTIONS, PASSES)
        for option in given:
            self.apply(option)
        file, self.function = file_and_function(words, f"{TOOL} takes")
        self.file = file or ""
        if self.print_and_exit:
            return
        self._check()
        self.timeout = self._seconds("timeout", 10.0)
        self.max_time = self._seconds("max-time", None)
        self.jobs = self.last["j"].number(1) if "j" in self.last else 1
        self.seed = self.last["random"].number() if "random" in self.last else 0

    def apply(self, option: Given) -> None:
        """Take note of one option."""
        if option.name == "pass":
            self.passes += option.pipeline(PASSES)
        elif option.name in _GENERAL_NAMES:
            super().apply(option)
        else:
            self.last[option.name] = option

    def _check(self) -> None:
        """Refuse what goes with nothing."""
        last = self.last
        if not self.file:
            raise UsageError("no file to reduce; '-' is standard input")
        tests: list[str] = [name for name in ("test", "crash", "miscompile") if name in last]
        if "error" in last and tests != ["crash"]:
            tests.insert(0, "error")
        if len(tests) > 1:
            raise UsageError(
                f"options '--{tests[0]}' and '--{tests[1]}' are two tests; one decides what is interesting"
            )
        if "test" in last and (self.passes or "no-verify-each" in last):
            name = "--pass" if self.passes else "--no-verify-each"
            raise UsageError(f"option '{name}' does not go with '--test', whose command runs the passes")
        for given, what in ((self.function, "a function"), ("random" in last, "option '--random'")):
            if given and "miscompile" not in last:
                raise UsageError(f"{what} needs '--miscompile'")
        if "text" in last and "miscompile" in last:
            raise UsageError("option '--text' does not go with '--miscompile', which runs a function")
        if "error" in last:
            self._check_pattern(last["error"])

    def _check_pattern(self, option: Given) -> None:
        try:
            re.compile(option.text)
        except re.error as failure:
            at = failure.pos or 0
            raise option.wrong(f"option '--error' expects a regular expression: {failure.msg}", at) from None

    def _seconds(self, name: str, default: float | None) -> float | None:
        """Return a number of seconds; None for 0, which sets no limit."""
        option = self.last.get(name)
        return default if option is None else option.real("seconds, a number") or None

    @property
    def output(self) -> str:
        """Where the best is kept."""
        if "o" in self.last:
            return self.last["o"].text
        return "-" if self.file == "-" else f"{self.file.removesuffix('.sir')}.reduced.sir"

    @property
    def has_test(self) -> bool:
        """Whether the command line says what is interesting."""
        return any([name in self.last for name in ("test", "error", "crash", "miscompile")])


def _with_jobs(argv: Sequence[str]) -> list[str]:
    """Return the arguments with ``-j4`` as ``-j=4``, as make takes it."""
    return [re.sub(r"^-j(?=\d+$)", "-j=", text) for text in argv]


def main(argv: Sequence[str], stdin: TextIO, stdout: TextIO, stderr: TextIO) -> int:
    """Run the tool; return its exit code. `KeyboardInterrupt` leaves the best so far in the output file."""
    return run_tool(TOOL, _run, argv, stdin, stdout, stderr)


def _run(argv: Sequence[str], stdin: TextIO, stdout: TextIO, stderr: TextIO) -> int:
    if not argv and stdin.isatty():
        return write_usage(USAGE, stderr)
    settings = _Settings(argv)
    reporter = settings.reporter(TOOL, stderr)
    if settings.print_and_exit:
        write_to("-", settings.answer(TOOL, OPTIONS, HELP), stdout, reporter)
    else:
        _reduce(settings, reporter, stdin, stdout)
    reporter.summarize()
    return reporter.code


def _reduce(settings: _Settings, reporter: Reporter, stdin: TextIO, stdout: TextIO) -> None:
    from pathlib import Path

    from scaly_ir.text.diagnostics import Diagnostic, error
    from scaly_ir.tools.files import read_bytes, temporary_folder
    from scaly_ir.tools.reduce.driver import Job, Reducer
    from scaly_ir.tools.reproducers import read_head

    stdin_name = settings.last["stdin-name"].text if "stdin-name" in settings.last else "<stdin>"
    data = read_bytes(settings.file, stdin, stdin_name)
    if isinstance(data, Diagnostic):
        reporter.refuse([data])
        return
    name = stdin_name if settings.file == "-" else settings.file
    reproducer = None
    if "test" not in settings.last and "miscompile" not in settings.last:
        reproducer = read_head(data.decode("utf-8", "replace"), settings.plugins)
        passes = _passes_of(reproducer, name, settings)
        settings.passes = settings.passes or passes
    if not settings.has_test and reproducer is None:
        raise UsageError(
            f"'{name}' is no reproducer, so give --test, --error, --crash or --miscompile to say what is interesting"
        )
    with temporary_folder("scaly-reduce-") as folder:
        base = "stdin.sir" if settings.file == "-" else os.path.basename(settings.file)
        job = Job(
            name,
            data,
            _test(settings, reproducer, Path(folder), base),
            tuple(settings.passes),
            settings.output,
            reproducer,
            as_text="text" in settings.last,
            allow_invalid="allow-invalid" in settings.last,
            as_json=settings.as_json,
            jobs=settings.jobs,
            max_time=settings.max_time,
        )
        try:
            Reducer(job, reporter, stdout, quiet=settings.quiet, verbose=settings.verbose).run()
        except BrokenPipeError:
            raise
        except OSError as failure:  # as when there is no room for candidates, or no process more
            reporter.refuse([error(f"cannot test candidates: {failure.strerror or failure}", code="test")])


def _passes_of(reproducer: Head | None, name: str, settings: _Settings) -> list[Pass]:
    """Return the passes that a reproducer names, unless the command line does; `UsageError` when they cannot be had."""
    from scaly_ir.errors import PipelineError
    from scaly_ir.pass_manager import build_pipeline
    from scaly_ir.tools.reproducers import VERSION

    if reproducer is None:
        return []
    if reproducer.version != VERSION:
        raise UsageError(f"'{name}' is a reproducer of version {reproducer.version}, expected version {VERSION}")
    if not settings.has_test and not reproducer.error:
        raise UsageError(f"'{name}' is a reproducer that does not say what failed; give --error or --crash")
    try:
        return [] if settings.passes or not reproducer.pipeline else build_pipeline(reproducer.pipeline, PASSES)
    except PipelineError as failure:
        message = f"the pipeline of '{name}': {failure}"
        raise UsageError(message, reproducer.pipeline, failure.start, failure.end) from failure


def _test(settings: _Settings, reproducer: Head | None, folder: Path, base: str) -> Test:
    """Return what decides whether a candidate is interesting."""
    from scaly_ir.tools.reduce.interest import Folder

    files = Folder(folder, base)
    last, plugins = settings.last, tuple(settings.plugins)
    if "test" in last:
        from scaly_ir.tools.reduce.command import CommandTest

        return CommandTest(last["test"].text, files, settings.timeout)
    from scaly_ir.tools.reduce.checks import MiscompileCheck, OptCheck
    from scaly_ir.tools.reduce.child import CheckTest

    if "miscompile" in last:
        return CheckTest(MiscompileCheck(settings.function, settings.seed, plugins), files, settings.timeout)
    wanted = last["error"].text if "error" in last else ""
    if not settings.has_test and reproducer is not None:
        wanted = reproducer.error
    verify_each = "no-verify-each" not in last and (reproducer is None or reproducer.verify_each)
    return CheckTest(OptCheck(wanted, "crash" in last, verify_each, plugins), files, settings.timeout)


def run() -> None:
    """Run the tool on the process's own arguments and streams, and end the process."""
    run_process(main)


if __name__ == "__main__":
    run()
