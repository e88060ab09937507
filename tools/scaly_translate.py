"""scaly-translate: write IR in another form: C, a header, JSON, a graph, Python.

The command line of the tool; what targets there are is `translate.targets`'s. It runs no passes: scaly-opt does.
Source: tools specification 5.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NamedTuple, TextIO

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

if TYPE_CHECKING:
    from scaly_ir.tools.reporting import Reporter
    from scaly_ir.tools.translate.targets import Request

TOOL: Final = "scaly-translate"

USAGE: Final = """\
Usage: scaly-translate --to=TARGET [options] [file]
Translate a .sir file to C and other forms; scaly-opt runs the passes first.

  scaly-translate --to=c f.sir                print C source
  scaly-translate f.sir -o f.c -o f.h         write source and header
  scaly-translate --to='c{dialect=c}' f.sir   the same in plain C99
  scaly-opt f.sir --pass=... | scaly-translate --to=c
  scaly-translate --list-targets              what else is there?
"""

HELP: Final = f"""{USAGE}
Targets
  --to=TARGET[{{opt=val ...}}]     translate to this; repeatable, -o for each then
  --list-targets                 print the targets there are
  --describe=TARGET              print what a target is and its options
  --func=@NAME                   only this function, and what it calls

Input and output
  FILE, -                        the file to read; - or none is standard input
  --stdin-name=NAME              call standard input NAME in messages
  -o FILE                        write here, only if all went well (default -);
                                 without --to, its extension tells the target

{GENERAL_HELP}Exit codes: 0 success, 1 the input was refused, 2 wrong usage, 3 internal error.
"""

OPTIONS: Final = (
    Option(("to",), "yes", "target"),
    Option(("o",), "yes", "file"),
    Option(("func",), "yes"),
    Option(("stdin-name",), "yes"),
    Option(("list-targets",)),
    Option(("describe",), "yes", "target"),
    *GENERAL_OPTIONS,
)


class _Output(NamedTuple):
    """A text to write: the target that makes it, and where it goes."""

    request: Request
    path: str


class _Settings(General):
    """What the command line asks for."""

    def __init__(self, argv: Sequence[str]) -> None:
        super().__init__()
        self.function = ""
        self.stdin_name = "<stdin>"
        self.described: Given | None = None
        self._targets: list[Given] = []
        self._paths: list[Given] = []
        given, files = parse_arguments(argv, OPTIONS, {})
        if len(files) > 1:
            raise UsageError(f"{TOOL} takes one file, found '{files[0]}' and '{files[1]}'")
        self.file = files[0] if files else "-"
        for option in given:
            self.apply(option)

    def apply(self, option: Given) -> None:
        """Take note of one option."""
        match option.name:
            case "to":
                self._targets.append(option)
            case "o":
                self._paths.append(option)
            case "func":
                self.function = option.text.removeprefix("@")
                if not self.function:
                    raise option.wrong("option '--func' expects the name of a function, as '@f'")
            case "stdin-name":
                self.stdin_name = option.text
            case "describe":
                self.described = self.described or option
                super().apply(option)
            case _:
                super().apply(option)

    def outputs(self) -> list[_Output]:
        """Return what is to be written; `UsageError` when targets and files do not go together."""
        targets, paths = self._targets, self._paths
        _check_distinct(paths)
        if not targets and not paths:
            raise UsageError("nothing says what to translate to: give --to=TARGET, or -o FILE with its extension")
        if not targets:
            return [_Output(_request_of_file(path), path.text) for path in paths]
        if len(targets) == 1 and not paths:
            return [_Output(_request(targets[0]), "-")]
        if len(targets) != len(paths):
            counts = f"found {len(targets)} --to and {len(paths)} -o"
            raise UsageError(f"several outputs need a -o for each --to, {counts}")
        return [_Output(_request(target), path.text) for target, path in zip(targets, paths, strict=True)]


def _check_distinct(paths: Sequence[Given]) -> None:
    """Refuse a file that two results would go to; streams and devices take any number."""
    seen: dict[str, str] = {}
    for path in paths:
        if path.text == "-" or (os.path.exists(path.text) and not os.path.isfile(path.text)):
            continue
        target = os.path.realpath(path.text)
        if target in seen:
            same = "" if seen[target] == path.text else f", which is '{seen[target]}'"
            raise path.wrong(f"two results would go to '{path.text}'{same}")
        seen[target] = path.text


def _request(option: Given) -> Request:
    from scaly_ir.errors import PipelineError
    from scaly_ir.tools.translate.targets import read_request

    try:
        return read_request(option.text)
    except PipelineError as failure:
        raise option.wrong(str(failure), failure.start, failure.end) from failure


def _request_of_file(option: Given) -> Request:
    from scaly_ir.tools.translate.targets import TARGETS, read_request, target_of_file

    target = target_of_file(option.text)
    if target is None:
        known = ", ".join([f"'{target.extension}'" for target in TARGETS.values()])
        raise option.wrong(f"the extension of '{option.text}' tells no target: give --to, or one of {known}")
    return read_request(target)


def main(argv: Sequence[str], stdin: TextIO, stdout: TextIO, stderr: TextIO) -> int:
    """Run the tool; return its exit code."""
    return run_tool(TOOL, _run, argv, stdin, stdout, stderr)


def _run(argv: Sequence[str], stdin: TextIO, stdout: TextIO, stderr: TextIO) -> int:
    if not argv and stdin.isatty():
        return write_usage(USAGE, stderr)
    settings = _Settings(argv)
    reporter = settings.reporter(TOOL, stderr)
    if settings.print_and_exit:
        write_to("-", _information(settings), stdout, reporter)
    else:
        _process(settings, reporter, stdin, stdout)
    reporter.summarize()
    return reporter.code


def _process(settings: _Settings, reporter: Reporter, stdin: TextIO, stdout: TextIO) -> None:
    """Translate the file and write the results, none of them unless all went well."""
    from scaly_ir.tools.translate.driver import Translator

    outputs = settings.outputs()
    translator = Translator(
        [output.request for output in outputs],
        reporter,
        stdin,
        function=settings.function,
        stdin_name=settings.stdin_name,
        verbose=settings.verbose,
        traceback=settings.traceback,
    )
    texts = translator.process(settings.file)
    if texts is None:
        return
    from scaly_ir.tools.files import write_results

    results = [
        (path, settings.shown(text, path, stdout) if request.target == "sir" else text)
        for (request, path), text in zip(outputs, texts, strict=True)
    ]
    failures = write_results(results, stdout)
    if failures:
        reporter.refuse(failures)


def _information(settings: _Settings) -> str:
    match settings.print_and_exit:
        case "list-targets":
            from scaly_ir.tools.translate.targets import list_targets

            return list_targets()
        case "describe":
            return _description(settings)
        case _:
            return settings.answer(TOOL, OPTIONS, HELP)


def _description(settings: _Settings) -> str:
    from scaly_ir.text.diagnostics import did_you_mean
    from scaly_ir.tools.translate.targets import describe_target, target_names

    option = settings.described
    assert option is not None
    text = describe_target(option.text)
    if text is None:
        hint = did_you_mean(option.text, target_names()) or "; --list-targets shows all"
        raise option.wrong(f"unknown target '{option.text}'{hint}")
    return text


def run() -> None:
    """Run the tool on the process's own arguments and streams, and end the process."""
    run_process(main)


if __name__ == "__main__":
    run()
