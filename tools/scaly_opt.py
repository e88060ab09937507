"""scaly-opt: parse, verify and transform .sir files, then print them.

The driver of the passes, with the habits of mlir-opt. `main` touches no global state but the streams it is given.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final, TextIO, TypeVar

from scaly_ir import __version__
from scaly_ir.dialect import dialect_of, parse_source, verify_parsed
from scaly_ir.errors import PassError, PipelineError, ScalyError
from scaly_ir.graph import Node
from scaly_ir.pass_manager import Pass, build_pipeline, load_pass, run_pipeline
from scaly_ir.passes import PASSES
from scaly_ir.text.diagnostics import Diagnostic, error, note
from scaly_ir.text.locations import Locations
from scaly_ir.tools.command_line import Given, Option, UsageError, parse_arguments
from scaly_ir.tools.files import read_source, write_atomically
from scaly_ir.tools.reporting import Reporter, use_colour, write

_T = TypeVar("_T")

SEPARATOR: Final = "// -----\n"
NOTE_LINES: Final = 20

USAGE: Final = """\
Usage: scaly-opt [options] [file...]
Parse, verify and transform .sir files, then print them.

  scaly-opt f.sir                             check the file and print it
  scaly-opt f.sir --pass=fuse_elementwise     run a pass and print the result
  scaly-opt f.sir -o g.sir                    write the result to a file
  cat f.sir | scaly-opt -                     read standard input
  scaly-opt --list-passes                     what can I run?
"""

HELP: Final = f"""{USAGE}
Passes
  --pass=NAME[{{opt=val}}][,...]   run passes in the order given; repeatable
  --NAME[=opt=val ...]           the same for one pass, as --fuse_elementwise
  --list-passes                  print the passes there are

Input and output
  FILE..., -                     the files to read; - or none is standard input
  --stdin-name=NAME              call standard input NAME in messages
  -o FILE                        write here, only if all went well (default -)

Checking
  --verify-each[=true|false]     verify after every pass (default true)
  --no-verify-each               verify the input and the final result only

General
  --max-errors=N                 show at most N errors (default 20, 0 for all)
  --color=auto|always|never      colour messages (default auto)
  -q                             no warnings, notes or summary line
  -v                             say what is done, on standard error
  --traceback                    show the Python traceback of an error
  --version                      print the version
  -h, --help                     print this text

Exit codes: 0 success, 1 the input was refused, 2 wrong usage, 3 internal error.
"""

OPTIONS: Final = (
    Option(("pass", "pipeline", "pass-pipeline"), "yes"),
    Option(("o",), "yes"),
    Option(("stdin-name",), "yes"),
    Option(("verify-each",), "optional"),
    Option(("no-verify-each",)),
    Option(("list-passes",)),
    Option(("max-errors",), "yes"),
    Option(("color", "colour"), "yes"),
    Option(("q", "quiet")),
    Option(("v", "verbose")),
    Option(("traceback",)),
    Option(("version",)),
    Option(("help", "h")),
)


@dataclass(slots=True)
class _Settings:
    """What the command line asks for."""

    files: list[str]
    passes: list[Pass] = field(default_factory=list)
    output: str = "-"
    stdin_name: str = "<stdin>"
    verify_each: bool = True
    max_errors: int = 20
    colour: str = "auto"
    quiet: bool = False
    verbose: bool = False
    traceback: bool = False
    print_and_exit: str | None = None


def _settings(argv: Sequence[str]) -> _Settings:
    given, files = parse_arguments(argv, OPTIONS, PASSES)
    settings = _Settings(files or ["-"])
    for option in given:
        _apply(option, settings)
    return settings


def _apply(option: Given, settings: _Settings) -> None:
    value = option.value or ""
    if option.name == "pass":
        try:
            settings.passes.extend(build_pipeline(value, PASSES))
        except PipelineError as failure:
            start = option.value_start
            raise UsageError(str(failure), option.typed, start + failure.start, start + failure.end) from failure
    elif option.name == "o":
        settings.output = value
    elif option.name == "stdin-name":
        settings.stdin_name = value
    elif option.name == "verify-each":
        settings.verify_each = _choice(option, {"true": True, "false": False, "": True})
    elif option.name == "no-verify-each":
        settings.verify_each = False
    elif option.name == "max-errors":
        if not value.isdecimal():
            raise UsageError(f"option '--max-errors' expects a number of at least 0, got '{value}'")
        settings.max_errors = int(value)
    elif option.name == "color":
        settings.colour = _choice(option, {"auto": "auto", "always": "always", "never": "never"})
    elif option.name == "q":
        settings.quiet = True
    elif option.name == "v":
        settings.verbose = True
    elif option.name == "traceback":
        settings.traceback = True
    elif settings.print_and_exit is None:
        settings.print_and_exit = option.name


def _choice(option: Given, choices: Mapping[str, _T]) -> _T:
    value = option.value or ""
    if value not in choices:
        wanted = " or ".join([f"'{choice}'" for choice in choices if choice])
        raise UsageError(f"option '--{option.name}' expects {wanted}, got '{value}'")
    return choices[value]


def main(argv: Sequence[str], stdin: TextIO, stdout: TextIO, stderr: TextIO) -> int:
    """Run the tool; return its exit code."""
    try:
        settings = _settings(argv)
    except UsageError as failure:
        return _usage_error(failure, stderr)
    if settings.print_and_exit is not None:
        write(stdout, _information(settings.print_and_exit))
        return 0
    if not argv and stdin.isatty():
        write(stderr, USAGE)
        return 2
    reporter = Reporter(
        "scaly-opt",
        stderr,
        colour=use_colour(settings.colour, stderr, os.environ),
        quiet=settings.quiet,
        max_errors=settings.max_errors,
    )
    with _collector_paused():
        return _Run(settings, reporter, stdin, stdout, stderr).run()


def _usage_error(failure: UsageError, stderr: TextIO) -> int:
    lines = [f"scaly-opt: error: {failure}"]
    if failure.shown:
        lines += [f"  {failure.shown}", f"  {' ' * failure.start}^{'~' * (failure.end - failure.start - 1)}"]
    write(stderr, "\n".join(lines) + "\n")
    return 2


def _information(name: str) -> str:
    if name == "version":
        return f"scaly-opt {__version__}\n"
    if name == "list-passes":
        rows = [load_pass(PASSES, known) for known in sorted(PASSES)]
        width = max([len(row.name) for row in rows])
        return "".join([f"{row.name:{width}}  {row.scope:6}  {row.summary}\n" for row in rows])
    return HELP


@contextmanager
def _collector_paused() -> Iterator[None]:
    """Keep the cyclic collector off: it would walk all the small objects of a run again and again for no cycle."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


class _Run:
    """One run over all files."""

    def __init__(self, settings: _Settings, reporter: Reporter, stdin: TextIO, stdout: TextIO, stderr: TextIO) -> None:
        self.settings = settings
        self.reporter = reporter
        self.stdin = stdin
        self.stdout = stdout
        self.stderr = stderr
        self.code = 0

    def run(self) -> int:
        """Process every file, write what came out, and return the exit code."""
        results = []
        for path in self.settings.files:
            text = self._file(path)
            if text is not None:
                results.append(text)
        if self.settings.output == "-":
            write(self.stdout, SEPARATOR.join(results))
        elif self.code == 0:
            failure = write_atomically(self.settings.output, SEPARATOR.join(results))
            if failure is not None:
                self._refuse([failure])
        self.reporter.summarize()
        return self.code

    def _refuse(self, diagnostics: Sequence[Diagnostic], code: int = 1) -> None:
        self.reporter.report(diagnostics)
        self.code = max(self.code, code)

    def _file(self, path: str) -> str | None:
        """Process one file; return its printed result, or None after an error."""
        source = read_source(path, self.stdin, self.settings.stdin_name)
        if isinstance(source, Diagnostic):
            self._refuse([source])
            return None
        if self.settings.verbose:
            self.reporter.say(f"reading {source.name}")
        stage = "the reader"
        step: Pass | None = None
        try:
            parsed = parse_source(source)
            if parsed.root is None:
                self._refuse(parsed.diagnostics)
                return None
            stage = "the verifier"
            if self._broken(parsed.root, parsed.locations):
                return None
            root = parsed.root
            for number, step in enumerate(self.settings.passes, start=1):
                stage = f"pass '{step.name}'"
                result = run_pipeline(root, [step])
                if not self._check_step(step, number, root, result):
                    return None
                root = result
            stage = "the printer"
            return dialect_of(root).render(root)
        except PassError as failure:
            self._refuse([error(str(failure), code="pass")])
        except ScalyError as failure:
            self._refuse([error(f"{stage} failed: {failure}", code="pass")])
        except RecursionError:
            self._refuse([error(f"internal error in {stage}: too deeply nested", code="internal")], 3)
        except Exception as failure:  # whatever a bug raises becomes one diagnostic
            self._internal(stage, failure)
        return None

    def _internal(self, stage: str, failure: Exception) -> None:
        message = f"internal error in {stage}: {type(failure).__name__}: {failure}"
        self._refuse([error(message, code="internal")], 3)
        if self.settings.traceback or os.environ.get("SCALY_IR_TRACEBACK") == "1":
            import traceback

            write(self.stderr, "".join(traceback.format_exception(failure)))

    def _broken(self, root: Node, locations: Locations) -> bool:
        """Report every rule the input breaks."""
        diagnostics = verify_parsed(root, locations)
        if diagnostics:
            self._refuse(diagnostics)
        return bool(diagnostics)

    def _check_step(self, step: Pass, number: int, before: Node, after: Node) -> bool:
        """Verify what a pass made, when asked for or at the end; report and return False when it is invalid."""
        count = len(self.settings.passes)
        if self.settings.verbose:
            self.reporter.say(
                f"pass {number} of {count}: {step.name} {'made no change' if after is before else 'changed the IR'}"
            )
        if after is before or not (self.settings.verify_each or number == count):
            return True
        for violation in dialect_of(after).spec.check(after):
            message = f"IR is invalid after pass '{step.name}' ({number} of {count}): '{violation.node.op.name}': "
            shown = dialect_of(after).render(violation.statement_node).splitlines()
            lines = shown[:NOTE_LINES] + (["..."] if len(shown) > NOTE_LINES else [])
            text = "the operation is now\n" + "\n".join([f"  {line}" for line in lines])
            self._refuse(
                [error(f"{message}{violation.reason} [{violation.rule}]", code=violation.rule, notes=[note(text)])]
            )
            return False
        return True


def run() -> None:
    """Run the tool on the process's own arguments and streams, and end the process."""
    try:
        code = main(sys.argv[1:], sys.stdin, sys.stdout, sys.stderr)
        sys.stdout.flush()
        sys.stderr.flush()
    except KeyboardInterrupt:
        code = 130
    except BrokenPipeError:
        code = 141
    # Freeing millions of nodes one by one takes longer than all else at the end of a large run.
    os._exit(code)


if __name__ == "__main__":
    run()
