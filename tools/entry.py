"""What all tools have in common: the options that each takes, how one starts, and what an unexpected failure becomes.

A tool gives its own options and does its own work; nothing here knows what that is. Source: tools specification 1.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable, Sequence
from typing import Final, NoReturn, TextIO

from scaly_ir import __version__
from scaly_ir.errors import PluginError, described
from scaly_ir.tools.command_line import Given, Option, UsageError
from scaly_ir.tools.plugin_options import PLUGIN_OPTIONS, load_requested_plugins
from scaly_ir.tools.reporting import Reporter, use_colour, write, write_usage_error

Main = Callable[[Sequence[str], TextIO, TextIO, TextIO], int]
"""``main(argv, stdin, stdout, stderr)`` returns the exit code."""

COMPLETION: Final = Option(("completion",), "yes", "bash|zsh|fish")

GENERAL_OPTIONS: Final = (
    Option(("max-errors",), "yes"),
    Option(("color", "colour"), "yes", "auto|always|never"),
    Option(("diagnostics",), "yes", "text|json"),
    Option(("q", "quiet")),
    Option(("v", "verbose")),
    Option(("traceback",)),
    COMPLETION,
    Option(("version",)),
    Option(("help", "h")),
    *PLUGIN_OPTIONS,
)

GENERAL_HELP: Final = """\
General
  --max-errors=N                 show at most N errors (default 20, 0 for all)
  --color=auto|always|never      colour messages and IR (default auto)
  --diagnostics=text|json        messages for people, or an object for each
  --load-plugin=MODULE:FUNCTION  load a plug-in that is not installed
  --no-plugins                   do not load the installed plug-ins
  -q, --quiet                    no warnings, notes or summary line
  -v, --verbose                  say what is done, on standard error
  --traceback                    show the Python traceback of an error
  --completion=bash|zsh|fish     print what completes its command line there
  --version, -h, --help          print the version, or this text

Long options take one dash or two, and their value after '=' or a space.
"""


class General:
    """What the command line asks for that every tool knows."""

    def __init__(self) -> None:
        self.max_errors = 20
        self.colour = "auto"
        self.as_json = False
        """Whether diagnostics are for programs."""
        self.quiet = False
        self.verbose = False
        self.traceback = os.environ.get("SCALY_IR_TRACEBACK") == "1"
        self.print_and_exit = ""
        """The first option that asks a question, as ``help``."""
        self.shell = ""
        """The shell whose completion is asked for."""
        self.plugins: list[str] = []
        """The options that say which plug-ins are loaded, for whoever is to do the same."""

    def apply(self, option: Given) -> None:
        """Take note of a general option; any other is a question that is answered instead of doing work."""
        match option.name:
            case "max-errors":
                self.max_errors = option.number()
            case "color":
                self.colour = option.choice({"auto": "auto", "always": "always", "never": "never"})
            case "diagnostics":
                self.as_json = option.choice({"text": False, "json": True})
            case "q":
                self.quiet = True
            case "v":
                self.verbose = True
            case "traceback":
                self.traceback = True
            case "completion":
                self.shell = option.choice({"bash": "bash", "zsh": "zsh", "fish": "fish"})
                self.print_and_exit = self.print_and_exit or option.name
            case "load-plugin":  # seen to before the command line was read
                self.plugins.append(f"--load-plugin={option.text}")
            case "no-plugins":
                self.plugins.append("--no-plugins")
            case _:
                self.print_and_exit = self.print_and_exit or option.name

    def colours(self, stream: TextIO) -> bool:
        """Tell whether what goes to a stream is to be coloured."""
        return use_colour(self.colour, stream, os.environ)

    def shown(self, ir: str, path: str, stdout: TextIO) -> str:
        """Return IR as it is written to a path: in colour if that is a standard output which shows colours."""
        if path != "-" or not self.colours(stdout):
            return ir
        from scaly_ir.tools.highlight import highlighted

        return highlighted(ir)

    def reporter(self, tool: str, stderr: TextIO) -> Reporter:
        """Return what shows messages on `stderr` as is asked for."""
        return Reporter(
            tool,
            stderr,
            colour=self.colours(stderr),
            quiet=self.quiet,
            verbose=self.verbose,
            max_errors=self.max_errors,
            as_json=self.as_json,
        )

    def answer(self, tool: str, options: Sequence[Option], help_text: str) -> str:
        """Return what a tool prints that is asked for its version, its help or a script for completion."""
        if self.print_and_exit == "version":
            return f"{tool} {__version__}\n"
        if self.print_and_exit == "completion":
            from scaly_ir.tools.completion import script

            return script(self.shell, tool, options, help_text)
        return help_text


def run_tool(
    tool: str,
    work: Main,
    argv: Sequence[str],
    stdin: TextIO,
    stdout: TextIO,
    stderr: TextIO,
    *,
    plugins: bool = True,
) -> int:
    """Load plug-ins and do the work of a tool; return the exit code, also of what nobody expected to fail.

    Without `plugins` none is loaded, for a tool that only runs others.
    """
    # A run makes many small objects and hardly a cycle; the collector would walk over them again and again.
    collecting = gc.isenabled()
    gc.disable()
    try:
        if plugins:
            load_requested_plugins(argv)
        return work(argv, stdin, stdout, stderr)
    except UsageError as failure:
        write_usage_error(tool, failure, stderr, as_json=_wants_json(argv))
        return 2
    except PluginError as failure:
        return _stop(tool, str(failure), "plug-in", failure, argv, stderr)
    except BrokenPipeError:
        raise
    except OSError as failure:
        return _cannot_go_on(tool, failure, argv, stderr)
    except MemoryError as failure:
        return _stop(tool, "cannot go on: there is no memory", "memory", failure, argv, stderr)
    except Exception as failure:  # a bug that is no input's fault, as a pass that cannot be loaded
        return _stop(tool, f"internal error: {described(failure)}", "internal", failure, argv, stderr)
    finally:
        if collecting:
            gc.enable()


def _cannot_go_on(tool: str, failure: OSError, argv: Sequence[str], stderr: TextIO) -> int:
    """Say that the system lacks something, as room on a disk, and return the exit code."""
    from scaly_ir.tools.files import cannot_go_on

    try:
        return _stop(tool, cannot_go_on(failure), "system", failure, argv, stderr)
    except BrokenPipeError:
        raise
    except OSError:  # it is standard error that cannot be written, so nobody can be told
        return 1


def _stop(tool: str, message: str, code: str, failure: Exception, argv: Sequence[str], stderr: TextIO) -> int:
    """Say why the tool cannot go on, whatever the command line asks for; return the exit code."""
    from scaly_ir.text.diagnostics import error

    reporter = Reporter(tool, stderr, as_json=_wants_json(argv))
    reporter.refuse([error(message, code=code)], 3 if code == "internal" else 1)
    if not {"-traceback", "--traceback"}.isdisjoint(argv) or os.environ.get("SCALY_IR_TRACEBACK") == "1":
        reporter.show_traceback(failure)
    return reporter.code


def _wants_json(argv: Sequence[str]) -> bool:
    """Tell whether arguments that may be wrong ask for diagnostics in JSON."""
    typed = [text.lstrip("-") for text in argv]
    return "diagnostics=json" in typed or ("diagnostics", "json") in zip(typed, argv[1:], strict=False)


def write_to(path: str, text: str, stdout: TextIO, reporter: Reporter) -> None:
    """Write a result to a file, or to standard output for ``-``; what goes wrong goes to the reporter."""
    from scaly_ir.tools.files import write_result

    failure = write_result(path, text, stdout)
    if failure is not None:
        reporter.refuse([failure])


def run_process(main: Main) -> NoReturn:
    """Run a tool on the process's own arguments and streams, and end the process."""
    from scaly_ir.tools.interrupts import end_process

    end_process(lambda: run_on_process(main))


def run_on_process(main: Main) -> int:
    """Run a tool on the process's own arguments and streams; return its exit code."""
    return main(sys.argv[1:], *_standard_streams())


def _standard_streams() -> tuple[TextIO, TextIO, TextIO]:
    """Return the streams of the process; input or output that was closed when it started fails when it is used."""
    return (
        sys.stdin or os.fdopen(os.open(os.devnull, os.O_WRONLY), encoding="utf-8"),
        sys.stdout or os.fdopen(os.open(os.devnull, os.O_RDONLY), "w", encoding="utf-8"),
        sys.stderr or open(os.devnull, "w", encoding="utf-8"),
    )


def write_usage(text: str, stderr: TextIO) -> int:
    """Say how a tool is used to somebody who called it without anything to do; return the exit code."""
    write(stderr, text)
    return 2
