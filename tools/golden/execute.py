"""Running one RUN line: pipes of commands, in process where possible.

Owns streams, redirections, exit codes and what counts as success. It explains nothing (`report`).
"""

from __future__ import annotations

import io
import shutil
import signal
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

from scaly_ir.text.diagnostics import did_you_mean, render
from scaly_ir.text.source import DecodeError, Source
from scaly_ir.tools.golden import check_options, matcher
from scaly_ir.tools.golden.check_options import CheckOptions
from scaly_ir.tools.golden.commands import IN_PROCESS, Tool, ToolError, find
from scaly_ir.tools.golden.golden_file import BadTestFileError, GoldenTest, read_source
from scaly_ir.tools.golden.matcher import CheckResult
from scaly_ir.tools.golden.run_line import Command, Paths, RunLine, Stderr
from scaly_ir.tools.programs import run_program

Check: TypeAlias = Callable[[CheckOptions, Source, Source], CheckResult]
"""What `filecheck` does with its options, the text with the directives and the output."""

INTERNAL_ERROR: Final = 3
"""The exit code of a bug in a tool; also given to a tool that raises."""

_NOT_FOUND: Final = 127  # as shells have it
_EXPECTED_FAILURES: Final = (1, 2)


@dataclass(frozen=True, slots=True)
class Done:
    """Hold what one command did; `failure` says why it counts as failed and is empty otherwise.

    `piped` went to the next command, `stderr` to nobody; `trace` is the traceback of a tool that raised.
    """

    command: Command
    code: int
    piped: bytes
    stderr: bytes
    failure: str
    trace: str = ""
    check: CheckResult | None = None


@dataclass(frozen=True, slots=True)
class _Raw:
    """Hold the exit code and what went to the two streams; with both merged, `err` is empty."""

    code: int
    out: bytes = b""
    err: bytes = b""
    trace: str = ""
    check: CheckResult | None = None


def run(test: GoldenTest, line: RunLine, paths: Paths, *, check: Check = matcher.check) -> list[Done]:
    """Run the pipes up to the first that fails; return all commands that ran, in order.

    `check` is what `filecheck` does. Raise `MissingPackageError` when a check needs a package that is not there.
    """
    done: list[Done] = []
    for pipe in line.pipes:
        data = b""
        start = len(done)
        for command in pipe:
            done.append(_run(test, line, command, paths, data, check))
            data = done[-1].piped
        if any(command.failure for command in done[start:]):
            break
    return done


def _run(test: GoldenTest, line: RunLine, command: Command, paths: Paths, data: bytes, check: Check) -> Done:
    arguments = paths.arguments(command)
    if command.stdin:
        name = paths.expand(command.stdin.text)
        try:
            data = Path(name).read_bytes()
        except OSError as problem:
            return Done(command, 1, b"", b"", f"cannot read '{name}': {problem.strerror}")
    merged = command.stderr is Stderr.FILE or (command.stderr is Stderr.PIPE and command.stdout is None)
    if arguments[0] in check_options.NAMES:
        raw = _check(test, line, arguments, paths, data, merged, check)
    else:
        try:
            tool = find(arguments[0])
        except ToolError as problem:
            return Done(command, INTERNAL_ERROR, b"", b"", str(problem))
        raw = _call(tool, arguments, data, merged) if tool else _spawn(arguments, data, merged)
    piped, stderr = raw.out, raw.err
    if command.stderr is Stderr.PIPE and not merged:
        piped, stderr = raw.err, b""
    if command.stdout:
        name = paths.expand(command.stdout.text)
        try:
            Path(name).write_bytes(raw.out)
        except OSError as problem:
            return Done(command, 1, b"", raw.err, f"cannot write '{name}': {problem.strerror}")
        piped = piped if command.stderr is Stderr.PIPE else b""
    return Done(command, raw.code, piped, stderr, _judge(command, raw.code), raw.trace, raw.check)


def _judge(command: Command, code: int) -> str:
    """Return why an exit code is a failure, or nothing."""
    if code < 0:
        return f"'{command.name}' was ended by {signal.Signals(-code).name}"
    if not command.negated:
        hint = "; write 'not' before it if that is meant"
        if command.name in check_options.NAMES or code not in _EXPECTED_FAILURES:
            hint = ""
        return f"'{command.name}' exited with {code}, expected 0{hint}" if code else ""
    if code in _EXPECTED_FAILURES:
        return ""
    what = {0: "succeeded", INTERNAL_ERROR: "exited with 3, an internal error"}.get(code, f"exited with {code}")
    return f"'{command.name}' {what}, but 'not' expects the exit code 1 or 2"


def _call(tool: Tool, arguments: Sequence[str], data: bytes, merged: bool) -> _Raw:
    """Run a tool on fresh streams. `write_through` keeps text and bytes that go to one stream in order."""
    out, err = _Sink(), _Sink()
    stdin = io.TextIOWrapper(io.BytesIO(data), encoding="utf-8", newline="")
    stdout = io.TextIOWrapper(out, encoding="utf-8", newline="", write_through=True)
    stderr = stdout if merged else io.TextIOWrapper(err, encoding="utf-8", newline="", write_through=True)
    trace = ""
    try:
        code = tool(arguments[1:], stdin, stdout, stderr)
    except SystemExit as left:
        code = left.code if isinstance(left.code, int) else int(left.code is not None)
    except Exception as problem:
        code, trace = INTERNAL_ERROR, traceback.format_exc()
        message = f"{arguments[0]}: error: internal error: {type(problem).__name__}: {problem}\n"
        (out if merged else err).write(message.encode())
    return _Raw(code, out.getvalue(), err.getvalue(), trace)


class _Sink(io.BytesIO):
    """Bytes that outlive the text stream around them."""

    def close(self) -> None:
        """Stay open: a tool may close its stream, and what it wrote is still wanted."""


def _spawn(arguments: Sequence[str], data: bytes, merged: bool) -> _Raw:
    program = shutil.which(arguments[0])
    if program is None:
        known = [*IN_PROCESS, *check_options.NAMES, "not"]
        message = f"command '{arguments[0]}' is not found{did_you_mean(arguments[0], known)}\n".encode()
        return _Raw(_NOT_FOUND, message if merged else b"", b"" if merged else message)
    done = run_program([program, *arguments[1:]], data, merged=merged)
    return _Raw(done.returncode, done.stdout, done.stderr or b"")


def _check(
    test: GoldenTest, line: RunLine, arguments: Sequence[str], paths: Paths, data: bytes, merged: bool, check: Check
) -> _Raw:
    """Run FileCheck; what it has to say goes to standard error too, so that a test can be about that."""
    output_name = f"<{line.name} output>"
    try:
        options = check_options.parse(arguments[1:])
        own = Path(options.check_file) == paths.file
        expected = test.source if own else read_source(Path(options.check_file), options.check_file)
        if options.input_file is not None:
            output_name = options.input_file
            data = Path(output_name).read_bytes()
        result = check(options, expected, Source.from_bytes(data, output_name))
    except check_options.OptionError as problem:
        return _say(2, f"filecheck: error: {problem}", merged)
    except BadTestFileError as problem:
        return _say(2, f"filecheck: {problem}", merged)
    except OSError as problem:
        return _say(2, f"filecheck: error: cannot read '{output_name}': {problem.strerror}", merged)
    except DecodeError as problem:
        return _say(1, f"filecheck: error: {output_name}: {problem}", merged)
    return _say(result.code, _summary(result), merged, result)


def _summary(result: CheckResult) -> str:
    if result.mismatch:
        return render(result.mismatch.diagnostic())
    return f"filecheck: error: {result.message}" if result.message else ""


def _say(code: int, message: str, merged: bool, result: CheckResult | None = None) -> _Raw:
    text = f"{message}\n".encode() if message else b""
    return _Raw(code, text if merged else b"", b"" if merged else text, check=result)
