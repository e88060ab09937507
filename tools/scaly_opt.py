"""scaly-opt: parse, verify and transform .sir files, then print them.

The command line of the tool, with the habits of mlir-opt; what it does with a file is `opt_driver`'s. `main` touches no
global state but the streams it is given. Modules are imported where they are used: this tool is started often.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final, TextIO

from scaly_ir.passes import PASSES
from scaly_ir.tools.command_line import Given, Option, UsageError, parse_arguments
from scaly_ir.tools.entry import (
    GENERAL_HELP,
    GENERAL_OPTIONS,
    General,
    run_process,
    run_tool,
    write_to,
    write_usage,
)
from scaly_ir.tools.opt import discovering, looking, printing
from scaly_ir.tools.reporting import Reporter

if TYPE_CHECKING:
    from scaly_ir.pass_manager import Pass
    from scaly_ir.text.source import Source
    from scaly_ir.tools.opt_driver import Driver
    from scaly_ir.tools.reproducers import Head

TOOL: Final = "scaly-opt"
MARKER: Final = "// -----"
"""The line between the results of several files or parts, unless another one is between the parts of the input."""

USAGE: Final = """\
Usage: scaly-opt [options] [file...]
Parse, verify and transform .sir files, then print them.

  scaly-opt f.sir                          check the file and print it
  scaly-opt f.sir --pass=fuse_elementwise,fold_arith       run two passes
  scaly-opt f.sir --pass=fold_arith --print-ir-diff        see what changed
  scaly-opt --list-passes                  what can I run?
  scaly-opt --describe fold_arith          what does it do, which options?
"""

HELP: Final = f"""{USAGE}
Passes
  --pass=NAME[{{opt=val}}][,...]   run passes in the order given; repeatable
  --pipeline=TEXT, --NAME[=...]  the same; one pass, as --fuse_elementwise
  --stop-after=NAME[:K]          run no pass after the first (K-th) NAME
  --dump-pipeline                print the pipeline with all its options
  --run-reproducer               run the pipeline that a reproducer holds

Input and output
  FILE..., -                     the files to read; - or none is standard input
  --split-input-file[=MARKER]    treat parts between '// -----' lines alone
  --stdin-name=NAME              call standard input NAME in messages
  -o FILE                        write here, only if all went well (default -)
{printing.HELP}
{looking.HELP}
Checking
  --no-verify-each, --verify-each=false    verify input and result alone
  --verify-roundtrip             print, read back and compare after every pass
  --verify-diagnostics           compare diagnostics with expected-... comments

Discovering
  --list-passes, --list-dialects, --list-ops[=DIALECT]
  --describe=NAME                a pass, operation, dialect, type, rule, ...

{GENERAL_HELP}Exit codes: 0 success, 1 the input was refused, 2 wrong usage, 3 internal error.
"""

OPTIONS: Final = (
    Option(("pass", "pipeline", "pass-pipeline"), "yes", "passes"),
    Option(("o",), "yes", "file"),
    Option(("stdin-name",), "yes"),
    Option(("split-input-file",), "optional"),
    Option(("verify-diagnostics",), "optional", "all|only-expected"),
    Option(("verify-each",), "optional", "true|false"),
    Option(("no-verify-each",)),
    Option(("stop-after",), "yes", "pass"),
    Option(("run-reproducer",)),
    Option(("dump-pipeline", "dump-pass-pipeline")),
    *discovering.OPTIONS,
    *printing.OPTIONS,
    *looking.OPTIONS,
    *GENERAL_OPTIONS,
)


class _Settings(General):
    """What the command line asks for."""

    def __init__(self, argv: Sequence[str]) -> None:
        super().__init__()
        self.passes: list[Pass] = []
        self.output = "-"
        self.stdin_name = "<stdin>"
        self.verify_each = True
        self.looking = looking.Looking()
        self.printing = printing.Printing()
        self.dump_pipeline = False
        self.run_reproducer = False
        self.marker: str | None = None
        """The line between parts of a file, if these are processed on their own."""
        self.expectations = ""
        """Whether diagnostics are compared with comments: ``all``, ``only-expected`` or not at all."""
        self.question: Given | None = None
        """The first option that asks what there is."""
        stop_after: Given | None = None
        given, files = parse_arguments(argv, OPTIONS, PASSES)
        self.files = files or ["-"]
        for option in given:
            if option.name == "stop-after":
                stop_after = option
            else:
                self.apply(option)
        if stop_after is not None:
            self.passes = _up_to(stop_after, self.passes)

    def apply(self, option: Given) -> None:
        """Take note of an option."""
        match option.name:
            case "pass":
                self.passes += option.pipeline(PASSES)
            case "o":
                self.output = option.text
            case "stdin-name":
                self.stdin_name = option.text
            case "verify-each":
                self.verify_each = option.choice({"true": True, "false": False, "": True})
            case "split-input-file":
                self.marker = option.text or MARKER
            case "verify-diagnostics":
                self.expectations = option.choice({"": "all", "all": "all", "only-expected": "only-expected"})
            case "run-reproducer":
                self.run_reproducer = True
            case "dump-pipeline":
                self.dump_pipeline = True
            case "no-verify-each":
                self.verify_each = False
            case _:
                if option.name in discovering.NAMES:
                    self.question = self.question or option
                if not (self.looking.apply(option) or self.printing.apply(option)):
                    super().apply(option)


def _up_to(option: Given, passes: list[Pass]) -> list[Pass]:
    """Return the passes up to the one that ``--stop-after`` names."""
    name, colon, number = option.text.partition(":")
    if colon and not (number.isascii() and number.isdigit() and int(number) > 0):
        raise option.wrong(f"option '--stop-after' expects a number of at least 1, got '{number}'", len(name) + 1)
    wanted = name.replace("-", "_")
    places = [place for place, step in enumerate(passes) if step.name == wanted]
    count = int(number or 1)
    if len(places) < count:
        if not places:
            raise option.wrong(f"pass '{wanted}' is not run{looking.those_run(wanted, passes)}", 0, len(name))
        often = "once" if len(places) == 1 else f"{len(places)} times"
        raise option.wrong(f"pass '{wanted}' is run {often}", len(name) + 1)
    return passes[: places[count - 1] + 1]


def main(argv: Sequence[str], stdin: TextIO, stdout: TextIO, stderr: TextIO) -> int:
    """Run the tool; return its exit code."""
    return run_tool(TOOL, _run, argv, stdin, stdout, stderr)


def _run(argv: Sequence[str], stdin: TextIO, stdout: TextIO, stderr: TextIO) -> int:
    settings = _Settings(argv)
    if not argv and stdin.isatty():
        return write_usage(USAGE, stderr)
    reporter = settings.reporter(TOOL, stderr)
    if settings.print_and_exit:
        write_to("-", _information(settings), stdout, reporter)
    else:
        head = _read_reproducer(settings) if settings.run_reproducer else None
        if settings.dump_pipeline:
            from scaly_ir.pass_manager import spell_pipeline

            reporter.write(spell_pipeline(settings.passes) + "\n")
        _process(settings, reporter, stdin, stdout)
        if head is not None:
            reporter.say(_outcome(head, reporter))
    reporter.summarize()
    return reporter.code


def _process(settings: _Settings, reporter: Reporter, stdin: TextIO, stdout: TextIO) -> None:
    """Process every file and write what came out; to a file only if all went well."""
    from scaly_ir.tools.opt.ir_text import Input, IrText
    from scaly_ir.tools.opt_driver import Driver

    given = Input()
    text = settings.printing.text(given)
    watchers = settings.looking.watchers(settings.passes, len(settings.files), reporter, text, given)
    checks = ["--verify-each" if settings.verify_each else "--no-verify-each"]
    shown = IrText(input=given)
    reproducers = settings.looking.reproducer(settings.passes, checks, settings.plugins, reporter, shown)
    watchers += reproducers
    driver = Driver(
        settings.passes,
        reporter,
        stdin,
        stdin_name=settings.stdin_name,
        verify_each=settings.verify_each,
        verbose=settings.verbose,
        traceback=settings.traceback,
        watchers=watchers,
        text=text,
        given=given,
        advice="" if reproducers or settings.run_reproducer else "--reproducer=FILE saves what repeats this",
    )
    results = [text for path in settings.files for text in _results(path, driver, settings, reporter)]
    if settings.output == "-" or reporter.code == 0:
        joined = f"{settings.marker or MARKER}\n".join(results)
        write_to(settings.output, settings.shown(joined, settings.output, stdout), stdout, reporter)
    for watcher in watchers:
        watcher.close()


def _read_reproducer(settings: _Settings) -> Head:
    """Take the pipeline and options of a reproducer, and return its head; `UsageError` for anything else."""
    from scaly_ir.errors import PipelineError
    from scaly_ir.pass_manager import build_pipeline
    from scaly_ir.text.diagnostics import Diagnostic
    from scaly_ir.tools.files import read_source
    from scaly_ir.tools.reproducers import VERSION, read_head

    if settings.passes:
        raise UsageError("option '--run-reproducer' takes the passes from the file")
    if len(settings.files) != 1 or settings.files == ["-"]:
        raise UsageError("option '--run-reproducer' takes one file")
    source = read_source(settings.files[0], sys.stdin)
    if isinstance(source, Diagnostic):
        raise UsageError(source.message)
    head = read_head(source.text)
    if head is None or head.version != VERSION:
        start = f"// scaly-reproducer: {VERSION}"
        raise UsageError(f"'{settings.files[0]}' is no reproducer: it does not begin with '{start}'")
    try:
        settings.passes = build_pipeline(head.pipeline, PASSES)
    except PipelineError as failure:
        raise UsageError(str(failure), head.pipeline, failure.start, failure.end) from failure
    settings.verify_each = head.verify_each
    return head


def _outcome(head: Head, reporter: Reporter) -> str:
    """Return what became of the failure that a reproducer is about."""
    if not reporter.code:
        return f"nothing failed; it was: {head.failed}"
    again = any([re.fullmatch(head.error, " ".join(error.split())) for error in reporter.errors])
    return "it failed as it did before" if again else f"it failed in another way; it was: {head.failed}"


def _results(path: str, driver: Driver, settings: _Settings, reporter: Reporter) -> Iterator[str]:
    """Yield what comes out of a file, or of each of its parts that are not empty."""
    source = driver.read(path)
    if source is None:
        return
    parts = [source]
    if settings.marker is not None:
        from scaly_ir.tools.opt.splitting import near_markers, split_source

        parts = split_source(source, settings.marker)
        reporter.report(list(near_markers(source, settings.marker)))
    for part in parts:
        text = driver.process_source(part) if not settings.expectations else _compared(part, driver, settings, reporter)
        if text or (text is not None and len(parts) == 1):
            yield text


def _compared(part: Source, driver: Driver, settings: _Settings, reporter: Reporter) -> str | None:
    """Process a part of a file, and report where diagnostics are not those that its comments expect."""
    from scaly_ir.tools.opt.expectations import expectations, unmet

    expected, wrong = expectations(part)
    with reporter.collecting() as came:
        text = driver.process_source(part)
    faults = [*wrong, *unmet(expected, came, only_expected=settings.expectations == "only-expected")]
    if faults:
        reporter.refuse(faults)
    return text


def _information(settings: _Settings) -> str:
    if settings.question is not None and settings.print_and_exit == settings.question.name:
        return discovering.answer(settings.question)
    return settings.answer(TOOL, OPTIONS, HELP)


def run() -> None:
    """Run the tool on the process's own arguments and streams, and end the process."""
    run_process(main)


if __name__ == "__main__":
    run()
