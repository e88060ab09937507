"""Running a line: streams, redirections, exit codes, and tools that misbehave."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TextIO

import pytest

from scaly_ir.tools.golden import commands
from scaly_ir.tools.golden.execute import Done, run
from scaly_ir.tools.golden.golden_file import GoldenTest
from scaly_ir.tools.golden.run_line import Paths

Run = Callable[[str], list[Done]]
PYTHON = Path(sys.executable).as_posix()


@pytest.fixture
def run_line(load_text: Callable[[str], GoldenTest], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Return a function that runs one RUN line; more lines of the text are directives."""
    monkeypatch.chdir(tmp_path)

    def run_it(text: str) -> list[Done]:
        test = load_text(f"// RUN: {text}\n")
        return run(test, test.runs[0], Paths(test.path, tmp_path / "x.tmp"))

    return run_it


def _failures(done: list[Done]) -> list[str]:
    return [command.failure for command in done]


def _exit_with(argv: Sequence[str], stdin: TextIO, stdout: TextIO, stderr: TextIO) -> int:
    stdout.write("out\n")
    stdout.buffer.write(b"bytes \xff\n")
    stderr.write("err\n")
    stdout.write("end\n")
    return int(argv[0])


def _raise(argv: Sequence[str], stdin: TextIO, stdout: TextIO, stderr: TextIO) -> int:
    stdout.write("some")
    raise KeyError(argv[0])


def _leave(argv: Sequence[str], stdin: TextIO, stdout: TextIO, stderr: TextIO) -> int:
    stdout.close()
    raise SystemExit({"none": None, "text": "text"}.get(argv[0], 2))


def _read(argv: Sequence[str], stdin: TextIO, stdout: TextIO, stderr: TextIO) -> int:
    stdout.write(f"{argv} {stdin.read()!r}")
    return 0


@pytest.fixture(autouse=True)
def _tools(monkeypatch: pytest.MonkeyPatch) -> None:
    module = types.ModuleType("golden_test_tools")
    for name, tool in {"exit": _exit_with, "raise": _raise, "leave": _leave, "read": _read}.items():
        setattr(module, name, tool)
        monkeypatch.setitem(commands.TOOLS, f"tool-{name}", f"golden_test_tools:{name}")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setitem(commands.TOOLS, "tool-lost", "golden_test_no_such_module:main")
    monkeypatch.setitem(commands.TOOLS, "tool-empty", "golden_test_tools:main")
    commands._load.cache_clear()


def test_a_pipe_hands_bytes_on(run_line: Run) -> None:
    first, second = run_line("echo -n 'a  b' | tool-read x y")
    assert first.piped == b"a  b"
    assert second.piped == b"['x', 'y'] 'a  b'"


def test_the_first_command_reads_nothing(run_line: Run) -> None:
    assert run_line("tool-read")[0].piped == b"[] ''"


def test_echo_and_cat(run_line: Run, tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"f\xff\r\n")
    assert run_line("echo a 'b  c'")[0].piped == b"a b  c\n"
    assert run_line("echo x | cat f - f")[1].piped == b"f\xff\r\nx\nf\xff\r\n"
    assert run_line("echo x | cat")[1].piped == b"x\n"
    missing = run_line("cat nope f")[0]
    assert (missing.code, missing.piped) == (1, b"f\xff\r\n")
    assert missing.stderr == b"cat: error: cannot read 'nope': No such file or directory\n"
    assert run_line("cat -n f")[0].stderr == b"cat: error: option '-n' is not supported here\n"


def test_streams_keep_their_order(run_line: Run) -> None:
    apart = run_line("tool-exit 0")[0]
    assert (apart.piped, apart.stderr) == (b"out\nbytes \xff\nend\n", b"err\n")
    merged = run_line("tool-exit 0 2>&1")[0]
    assert (merged.piped, merged.stderr) == (b"out\nbytes \xff\nerr\nend\n", b"")


def test_redirections(run_line: Run, tmp_path: Path) -> None:
    file = tmp_path / "x.tmp"
    done = run_line("tool-exit 0 > %t")[0]
    assert (file.read_bytes(), done.piped, done.stderr) == (b"out\nbytes \xff\nend\n", b"", b"err\n")
    done = run_line("tool-exit 0 > %t 2>&1")[0]
    assert (file.read_bytes(), done.piped, done.stderr) == (b"out\nbytes \xff\nerr\nend\n", b"", b"")
    done = run_line("tool-exit 0 2>&1 > %t")[0]
    assert (file.read_bytes(), done.piped, done.stderr) == (b"out\nbytes \xff\nend\n", b"err\n", b"")
    assert run_line("echo a > %t && cat < %t")[1].piped == b"a\n"
    assert _failures(run_line("cat < nope | cat")) == ["cannot read 'nope': No such file or directory", ""]
    assert _failures(run_line("echo a > %t/x/y"))[0].startswith("cannot write '")


def test_redirections_of_a_subprocess(run_line: Run, tmp_path: Path) -> None:
    script = tmp_path / "both.py"
    script.write_text("import os; os.write(1, b'out'); os.write(2, b'err'); os.write(1, b'end')")
    command = f"'{PYTHON}' both.py"
    apart = run_line(command)[0]
    assert (apart.piped, apart.stderr) == (b"outend", b"err")
    assert run_line(f"{command} 2>&1")[0].piped == b"outerrend"
    assert run_line(f"{command} 2>&1 > %t")[0].piped == b"err"
    assert (tmp_path / "x.tmp").read_bytes() == b"outend"


def test_a_subprocess_reads_the_pipe_in_the_current_folder(run_line: Run, tmp_path: Path) -> None:
    script = tmp_path / "copy.py"
    script.write_text("import sys, os; print(os.getcwd() == sys.argv[1], sys.stdin.read())")
    assert run_line(f"echo x | '{PYTHON}' copy.py %S")[1].piped.split() == [b"True", b"x"]


@pytest.mark.parametrize(
    ("line", "failure"),
    [
        ("tool-exit 0", ""),
        ("tool-exit 1", "'tool-exit' exited with 1, expected 0; write 'not' before it if that is meant"),
        ("tool-exit 2", "'tool-exit' exited with 2, expected 0; write 'not' before it if that is meant"),
        ("tool-exit 3", "'tool-exit' exited with 3, expected 0"),
        ("not tool-exit 0", "'tool-exit' succeeded, but 'not' expects the exit code 1 or 2"),
        ("not tool-exit 1", ""),
        ("not tool-exit 2", ""),
        ("not tool-exit 3", "'tool-exit' exited with 3, an internal error, but 'not' expects the exit code 1 or 2"),
        ("not tool-exit 141", "'tool-exit' exited with 141, but 'not' expects the exit code 1 or 2"),
        ("tool-leave none", ""),
        ("tool-leave text", "'tool-leave' exited with 1, expected 0; write 'not' before it if that is meant"),
        ("not tool-leave 2", ""),
        ("not tool-raise x", "'tool-raise' exited with 3, an internal error, but 'not' expects the exit code 1 or 2"),
        ("tool-lost", "the tool 'tool-lost' cannot be loaded: No module named 'golden_test_no_such_module'"),
        (
            "tool-empty",
            "the tool 'tool-empty' cannot be loaded: module 'golden_test_tools' has no attribute 'main'",
        ),
        ("not tool-lost", "the tool 'tool-lost' cannot be loaded: No module named 'golden_test_no_such_module'"),
        ("no-such-command", "'no-such-command' exited with 127, expected 0"),
        ("not no-such-command", "'no-such-command' exited with 127, but 'not' expects the exit code 1 or 2"),
    ],
)
def test_exit_codes(run_line: Run, line: str, failure: str) -> None:
    assert _failures(run_line(line)) == [failure]


def test_a_tool_that_raises_leaves_its_traceback(run_line: Run) -> None:
    done = run_line("tool-raise x")[0]
    assert (done.code, done.piped) == (3, b"some")
    assert done.stderr == b"tool-raise: error: internal error: KeyError: 'x'\n"
    assert done.trace.startswith("Traceback")
    assert "_raise" in done.trace


def test_an_unknown_command_gets_a_suggestion(run_line: Run) -> None:
    meant = b"did you mean 'scaly-opt' or 'scaly-run'?\n"
    assert run_line("scaly-op %s")[0].stderr == b"command 'scaly-op' is not found; " + meant
    assert run_line("file-check %s 2>&1")[0].piped.startswith(b"command 'file-check' is not found; did you mean")


@pytest.mark.skipif(sys.platform == "win32", reason="no signals")
def test_a_signal_is_named(run_line: Run) -> None:
    command = f"'{PYTHON}' -c 'import os, signal; os.kill(os.getpid(), signal.SIGTERM)'"
    assert _failures(run_line(command))[0].endswith("was ended by SIGTERM")
    assert _failures(run_line(f"not {command}"))[0].endswith("was ended by SIGTERM")


def test_every_command_of_a_pipe_must_succeed(run_line: Run) -> None:
    assert [bool(failure) for failure in _failures(run_line("tool-exit 1 | cat"))] == [True, False]
    assert [bool(failure) for failure in _failures(run_line("echo a | tool-exit 1 | tool-exit 2"))] == [
        False,
        True,
        True,
    ]


def test_a_failed_pipe_ends_the_line(run_line: Run) -> None:
    assert len(run_line("echo a && tool-exit 1 | cat && echo b")) == 3
    assert len(run_line("echo a && not tool-exit 1 | cat && echo b")) == 4


def test_filecheck_is_a_command(run_line: Run) -> None:
    assert _failures(run_line("echo abc | filecheck %s\n// CHECK: b")) == ["", ""]
    done = run_line("echo abc | FileCheck %s\n// CHECK: d")[1]
    assert done.failure == "'FileCheck' exited with 1, expected 0"
    assert done.check
    assert done.check.mismatch
    assert _failures(run_line("echo abc | not filecheck %s\n// CHECK: d")) == ["", ""]
    failure = "'filecheck' succeeded, but 'not' expects the exit code 1 or 2"
    assert _failures(run_line("echo abc | not filecheck %s\n// CHECK: b")) == ["", failure]


def test_what_filecheck_says_can_be_checked(run_line: Run) -> None:
    line = "echo a | not filecheck %s --check-prefix=AAA 2>&1 | filecheck %s\n// AAA: b\n// CHECK: error: AAA: no match"
    assert _failures(run_line(line)) == ["", "", ""]


def test_filecheck_reads_other_files(run_line: Run, tmp_path: Path) -> None:
    (tmp_path / "checks").write_text("CHECK: a\n")
    (tmp_path / "output").write_text("a\n")
    assert _failures(run_line("echo a | filecheck %S/checks")) == ["", ""]
    assert _failures(run_line("filecheck %S/checks --input-file=output")) == [""]
    assert run_line("echo b | filecheck %S/checks")[1].failure


@pytest.mark.parametrize(
    ("line", "code", "message"),
    [
        ("filecheck %S/nope", 2, "filecheck: error: cannot read '"),
        ("filecheck %s --input-file=nope\n// CHECK: a", 2, "filecheck: error: cannot read 'nope': No such file"),
        ("filecheck %s\n// CHECK: a", 1, "filecheck: error: there is no output to check"),
        ("tool-exit 0 | filecheck %s\n// CHECK: a", 1, "filecheck: error: <run1 output>: byte 0xff is not valid UTF-8"),
        ("echo -n | filecheck %S/other", 2, "filecheck: error: '"),
    ],
)
def test_filecheck_that_cannot_check(run_line: Run, tmp_path: Path, line: str, code: int, message: str) -> None:
    (tmp_path / "other").write_text("nothing\n")
    done = run_line(line)[-1]
    assert done.code == code
    assert done.stderr.decode().startswith(message)
