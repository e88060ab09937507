"""scaly-run: run a function of a .sir file on arrays, on the evaluator, as compiled code, or on both to compare.

The command line of the tool; what it does with a file is `run.driver`'s. Source: tools specification 6.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, TextIO

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
    from scaly_ir.tools.reporting import Reporter
    from scaly_ir.tools.run.driver import Outcome, Wanted

TOOL: Final = "scaly-run"

USAGE: Final = """\
Usage: scaly-run [options] FILE [@func]
Run a function of a .sir file, by default the last one.

  scaly-run f.sir --in x=[1,2,3] --in k=2.5   give every input a value
  scaly-run f.sir @g --random=0               random inputs for @g
  scaly-run f.sir --random=0 --engine=c       run it as compiled code
  scaly-run f.sir --random=0 --compare        do evaluator and C agree?
"""

HELP: Final = f"""{USAGE}
Inputs
  --in NAME=VALUE                value of an input, by name or position: 2.5,
                                 [[1,2],[3,4]], x.npy, data.npz:key, fill:1.0,
                                 arange or random:SEED; repeatable
  --in-npz=FILE                  values by name
  --random=SEED                  random values for all other inputs
  --stdin-name=NAME              call standard input NAME in messages

Computing
  --engine=ref|c                 evaluator (default) or compiled C
  --compare[=FILE.npz]           compare c with ref, or with stored results
  --rtol=X, --atol=X             what is near enough (default 1e-10, 1e-12;
                                 for float32 1e-4, 1e-6)
  --trace                        show each operation with its value (ref)
  --check-finite                 stop at the first NaN or infinity (ref)
  --repeat=N                     time N more calls

Compiling
  --cc=COMMAND                   the compiler (default SCALY_IR_CC, CC, cc)
  --sanitize                     check addresses and undefined behaviour
  --keep=DIR                     leave source, library and command there
  --no-cache                     compile even if that was done before

Results
  --print=full|summary|none      how to print (default full up to 1,000)
  --digits=N                     round to N significant digits
  --out=FILE.npz|FILE.npy        write the results here, if all went well

{GENERAL_HELP}Exit codes: 0 success, 1 refused or different, 2 wrong usage, 3 internal error.
"""

OPTIONS: Final = (
    Option(("in",), "yes"),
    Option(("in-npz",), "yes", "file"),
    Option(("random",), "yes"),
    Option(("stdin-name",), "yes"),
    Option(("engine",), "yes", "ref|c"),
    Option(("compare",), "optional", "file"),
    Option(("rtol",), "yes"),
    Option(("atol",), "yes"),
    Option(("trace",)),
    Option(("check-finite",)),
    Option(("repeat",), "yes"),
    Option(("cc",), "yes"),
    Option(("sanitize",)),
    Option(("keep",), "yes", "folder"),
    Option(("no-cache",)),
    Option(("print",), "yes", "full|summary|none"),
    Option(("digits",), "yes"),
    Option(("out",), "yes", "file"),
    *GENERAL_OPTIONS,
)

_OF_C: Final = ("cc", "sanitize", "keep", "no-cache")
_OF_REF: Final = ("trace", "check-finite")
_OF_COMPARISON: Final = ("rtol", "atol")


class _Settings(General):
    """What the command line asks for."""

    def __init__(self, argv: Sequence[str]) -> None:
        super().__init__()
        self.stdin_name = "<stdin>"
        self.inputs: list[tuple[str, str]] = []
        self.last: dict[str, Given] = {}
        """Every option but ``in`` as it was given last."""
        given, words = parse_arguments(argv, OPTIONS, {})
        file, self.function = file_and_function(words, f"{TOOL} runs")
        self.path = "-" if file is None else file
        for option in given:
            self.apply(option)
        self._check_engines()

    def apply(self, option: Given) -> None:
        """Take note of an option."""
        self.last[option.name] = option
        if option.name == "in":
            name, equals, value = option.text.partition("=")
            if not equals or not name or not value:
                raise option.wrong(f"option '--in' expects NAME=VALUE, got '{option.text}'")
            self.inputs.append((name, value))
        elif option.name == "stdin-name":
            self.stdin_name = option.text
        elif option.name not in _VALUES:
            super().apply(option)

    def _check_engines(self) -> None:
        """Refuse what goes with no engine that runs."""
        compare = self.last.get("compare")
        both = compare is not None and not compare.text
        engine = self.last["engine"].choice({"ref": "ref", "c": "c"}) if "engine" in self.last else "ref"
        if both and "engine" in self.last:
            raise self.last["engine"].wrong(
                "option '--compare' without a file runs both engines, so leave '--engine' out"
            )
        for names, other, needs in ((_OF_C, "ref", "'--engine=c' or '--compare'"), (_OF_REF, "c", "'--engine=ref'")):
            for name in names:
                if name in self.last and engine == other and not both:
                    raise UsageError(f"option '--{name}' needs {needs}")
        for name in _OF_COMPARISON:
            if name in self.last and compare is None:
                raise UsageError(f"option '--{name}' needs '--compare'")
        out = self.last.get("out")
        if out is not None and not out.text.endswith((".npz", ".npy")):
            raise out.wrong(f"option '--out' expects FILE.npz or FILE.npy, got '{out.text}'")

    def wanted(self) -> Wanted:
        """Return what is wanted of the run."""
        from scaly_ir.tools.run.binding import Sources
        from scaly_ir.tools.run.driver import Wanted
        from scaly_ir.tools.run.engines import Compilation

        last, text = self.last, self._text
        compare = last.get("compare")
        wanted = Wanted(function=self.function)
        wanted.sources = Sources(self.inputs, text("in-npz"), last["random"].number() if "random" in last else None)
        wanted.engine = "c" if text("engine") == "c" else "ref"
        wanted.compare = None if compare is None else compare.text
        wanted.rtol = last["rtol"].real() if "rtol" in last else None
        wanted.atol = last["atol"].real() if "atol" in last else None
        if "print" in last:
            wanted.style = last["print"].choice({"full": "full", "summary": "summary", "none": "none"})
        wanted.digits = last["digits"].number(1) if "digits" in last else None
        wanted.trace, wanted.check_finite = "trace" in last, "check-finite" in last
        wanted.repeat = last["repeat"].number() if "repeat" in last else 0
        wanted.compilation = Compilation(text("cc"), "no-cache" not in last, text("keep"), "sanitize" in last)
        return wanted

    @property
    def output(self) -> str:
        """Where the results are written; empty for nowhere."""
        return self._text("out")

    def _text(self, name: str) -> str:
        return self.last[name].text if name in self.last else ""


_VALUES: Final = frozenset([option.names[0] for option in OPTIONS]) - {option.names[0] for option in GENERAL_OPTIONS}
"""The options that are looked at when all are known."""


def main(argv: Sequence[str], stdin: TextIO, stdout: TextIO, stderr: TextIO) -> int:
    """Run the tool; return its exit code."""
    return run_tool(TOOL, _run, argv, stdin, stdout, stderr)


def _run(argv: Sequence[str], stdin: TextIO, stdout: TextIO, stderr: TextIO) -> int:
    if not argv and stdin.isatty():
        return write_usage(USAGE, stderr)
    settings = _Settings(argv)
    reporter = settings.reporter(TOOL, stderr)
    if settings.print_and_exit:
        write_to("-", settings.answer(TOOL, OPTIONS, HELP), stdout, reporter)
    else:
        _process(settings, reporter, stdin, stdout, stderr)
    reporter.summarize()
    return reporter.code


def _process(settings: _Settings, reporter: Reporter, stdin: TextIO, stdout: TextIO, stderr: TextIO) -> None:
    """Run the function and show what came out; to a file only if all went well."""
    from scaly_ir.tools.run.driver import Runner

    runner = Runner(
        settings.wanted(),
        reporter,
        stdin,
        stderr,
        stdin_name=settings.stdin_name,
        verbose=settings.verbose,
        traceback=settings.traceback,
    )
    outcome = runner.process(settings.path)
    if outcome is None:
        return
    write_to("-", outcome.text, stdout, reporter)
    if outcome.mismatches:
        reporter.refuse(outcome.mismatches)
    if settings.output and reporter.code == 0:
        _save(settings.output, outcome, reporter)


def _save(path: str, outcome: Outcome, reporter: Reporter) -> None:
    from scaly_ir.text.diagnostics import error
    from scaly_ir.tools.files import write_atomically
    from scaly_ir.tools.run.results import file_bytes

    if path.endswith(".npy") and len(outcome.results) != 1:
        message = f"'{path}' holds one array, and there are {len(outcome.results)} results; write a .npz file"
        reporter.refuse([error(message, code="write")])
        return
    failure = write_atomically(path, file_bytes(path, [(result.name, array) for result, array in outcome.results]))
    if failure is not None:
        reporter.refuse([failure])


def run() -> None:
    """Run the tool on the process's own arguments and streams, and end the process."""
    run_process(main)


if __name__ == "__main__":
    run()
