"""scaly-opt: parse, verify and transform .sir files, then print them.

The command line of the tool, with the habits of mlir-opt; what it does with a file is `opt_driver`'s. `main` touches no
global state but the streams it is given. Modules are imported where they are used: this tool is started often.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, TextIO

from scaly_ir import __version__
from scaly_ir.errors import PluginError
from scaly_ir.passes import PASSES
from scaly_ir.tools.command_line import Given, Option, UsageError, parse_arguments
from scaly_ir.tools.plugin_options import PLUGIN_OPTIONS, load_requested_plugins
from scaly_ir.tools.reporting import Reporter, use_colour, write, write_usage_error

if TYPE_CHECKING:
    from scaly_ir.pass_manager import Pass

TOOL: Final = "scaly-opt"
SEPARATOR: Final = "// -----\n"
"""Stands between the results of several files."""

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
  --load-plugin=MODULE:FUNCTION  load a plug-in that is not installed
  --no-plugins                   do not load the installed plug-ins
  -q, --quiet                    no warnings, notes or summary line
  -v, --verbose                  say what is done, on standard error
  --traceback                    show the Python traceback of an error
  --version                      print the version
  -h, --help                     print this text

Long options take one dash or two, and their value after '=' or a space.
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
    *PLUGIN_OPTIONS,
)


class _Settings:
    """What the command line asks for."""

    def __init__(self, argv: Sequence[str]) -> None:
        self.passes: list[Pass] = []
        self.output = "-"
        self.stdin_name = "<stdin>"
        self.verify_each = True
        self.max_errors = 20
        self.colour = "auto"
        self.quiet = False
        self.verbose = False
        self.traceback = os.environ.get("SCALY_IR_TRACEBACK") == "1"
        self.print_and_exit = ""
        given, files = parse_arguments(argv, OPTIONS, PASSES)
        self.files = files or ["-"]
        for option in given:
            self._apply(option)

    def _apply(self, option: Given) -> None:
        match option.name:
            case "pass":
                self.passes += _passes(option)
            case "o":
                self.output = option.text
            case "stdin-name":
                self.stdin_name = option.text
            case "verify-each":
                self.verify_each = option.choice({"true": True, "false": False, "": True})
            case "no-verify-each":
                self.verify_each = False
            case "max-errors":
                self.max_errors = option.number()
            case "color":
                self.colour = option.choice({"auto": "auto", "always": "always", "never": "never"})
            case "q":
                self.quiet = True
            case "v":
                self.verbose = True
            case "traceback":
                self.traceback = True
            case "load-plugin" | "no-plugins":
                pass  # seen to before the command line was read
            case _:
                self.print_and_exit = self.print_and_exit or option.name


def _passes(option: Given) -> list[Pass]:
    from scaly_ir.errors import PipelineError
    from scaly_ir.pass_manager import build_pipeline

    try:
        return build_pipeline(option.text, PASSES)
    except PipelineError as failure:
        raise option.wrong(str(failure), failure.start, failure.end) from failure


def main(argv: Sequence[str], stdin: TextIO, stdout: TextIO, stderr: TextIO) -> int:
    """Run the tool; return its exit code."""
    # A run makes many small objects and hardly a cycle; the collector would walk over them again and again.
    collecting = gc.isenabled()
    gc.disable()
    try:
        return _run(argv, stdin, stdout, stderr)
    except UsageError as failure:
        write_usage_error(TOOL, failure, stderr)
        return 2
    except PluginError as failure:
        return _stop(str(failure), 1, failure, argv, stderr)
    except BrokenPipeError:
        raise
    except OSError:  # standard error cannot be written, so nobody can be told
        return 1
    except Exception as failure:  # a bug that is no input's fault, as a pass that cannot be loaded
        from scaly_ir.tools.opt_driver import described

        return _stop(f"internal error: {described(failure)}", 3, failure, argv, stderr)
    finally:
        if collecting:
            gc.enable()


def _run(argv: Sequence[str], stdin: TextIO, stdout: TextIO, stderr: TextIO) -> int:
    load_requested_plugins(argv)
    settings = _Settings(argv)
    if not argv and stdin.isatty():
        write(stderr, USAGE)
        return 2
    reporter = Reporter(
        TOOL,
        stderr,
        colour=use_colour(settings.colour, stderr, os.environ),
        quiet=settings.quiet,
        max_errors=settings.max_errors,
    )
    if settings.print_and_exit:
        _write_result("-", _information(settings.print_and_exit), stdout, reporter)
    else:
        _process(settings, reporter, stdin, stdout)
    reporter.summarize()
    return reporter.code


def _stop(message: str, code: int, failure: Exception, argv: Sequence[str], stderr: TextIO) -> int:
    """Say why the tool cannot go on, whatever the command line asks for, and return the exit code."""
    reporter = Reporter(TOOL, stderr)
    reporter.say(f"error: {message}")
    if "--traceback" in argv or os.environ.get("SCALY_IR_TRACEBACK") == "1":
        reporter.show_traceback(failure)
    return code


def _process(settings: _Settings, reporter: Reporter, stdin: TextIO, stdout: TextIO) -> None:
    """Process every file and write what came out; to a file only if all went well."""
    from scaly_ir.tools.opt_driver import Driver

    driver = Driver(
        settings.passes,
        reporter,
        stdin,
        stdin_name=settings.stdin_name,
        verify_each=settings.verify_each,
        verbose=settings.verbose,
        traceback=settings.traceback,
    )
    results = [text for path in settings.files if (text := driver.process(path)) is not None]
    if settings.output == "-" or reporter.code == 0:
        _write_result(settings.output, SEPARATOR.join(results), stdout, reporter)


def _write_result(path: str, text: str, stdout: TextIO, reporter: Reporter) -> None:
    from scaly_ir.tools.files import write_result

    failure = write_result(path, text, stdout)
    if failure is not None:
        reporter.refuse([failure])


def _information(name: str) -> str:
    if name == "version":
        return f"{TOOL} {__version__}\n"
    if name == "list-passes":
        from scaly_ir.pass_manager import load_pass

        rows = [load_pass(PASSES, known) for known in sorted(PASSES)]
        width = max([len(row.name) for row in rows])
        return "".join([f"{row.name:{width}}  {row.scope:6}  {row.summary}\n" for row in rows])
    return HELP


def run() -> None:
    """Run the tool on the process's own arguments and streams, and end the process."""
    try:
        code = main(sys.argv[1:], *_standard_streams())
    except KeyboardInterrupt:
        code = 130
    except BrokenPipeError:
        code = 141
    # Freeing millions of nodes one by one takes longer than all else at the end of a large run.
    os._exit(code)


def _standard_streams() -> tuple[TextIO, TextIO, TextIO]:
    """Return the streams of the process; input or output that was closed when it started fails when it is used."""
    return (
        sys.stdin or os.fdopen(os.open(os.devnull, os.O_WRONLY), encoding="utf-8"),
        sys.stdout or os.fdopen(os.open(os.devnull, os.O_RDONLY), "w", encoding="utf-8"),
        sys.stderr or open(os.devnull, "w", encoding="utf-8"),
    )


if __name__ == "__main__":
    run()
