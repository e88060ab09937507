"""scaly-check as a user meets it: which tests it runs, how it writes checks, and how it ends."""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from scaly_ir.tools.golden.update import NOTE
from scaly_ir.tools.scaly_check import main
from tests.tools.running import Done, environment, run_tool

pytestmark = pytest.mark.usefixtures("workspace")

PASSES = "// RUN: echo a | filecheck %s\n// CHECK: a\n"
FAILS = "// RUN: echo b | filecheck %s\n// CHECK: a\n"
NO_CHECKS = "// RUN: echo a | filecheck %s\n"
MADE = f"{NO_CHECKS}{NOTE}\n// CHECK: a\n"
PROCESS = (sys.executable, "-m", "scaly_ir.tools.scaly_check")


def _environment(**changes: str) -> dict[str, str]:
    start = {name: value for name, value in environment().items() if name != "CI" and not name.startswith("PYTEST_")}
    return {**start, "PYTEST_ADDOPTS": "-p no:hypothesispytest -p no:cacheprovider", "COLUMNS": "80", **changes}


def _check(*argv: str, **changes: str) -> Done:
    """Run the tool as a process of its own, as pytest cannot be run well within pytest."""
    done = subprocess.run(
        [*PROCESS, *argv], capture_output=True, encoding="utf-8", env=_environment(**changes), check=False
    )
    return Done(done.returncode, done.stdout, done.stderr)


def _write(files: dict[str, str]) -> None:
    for name, text in files.items():
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(text)


# --- running ----------------------------------------------------------------------------------------------------------


def test_golden_tests_alone_are_run() -> None:
    _write(
        {
            "testdata/x.sir": PASSES,
            "testdata/Inputs/y.sir": "none",
            "testdata/test_x.py": "def test_x(): assert False\n",
            "other/x.sir": FAILS,
            "tests/test_y.py": "def test_y(): assert False\n",
            "pytest.ini": "[pytest]\ntestpaths = tests testdata\n",
        }
    )
    done = _check()
    assert (done.code, done.err) == (0, "")
    assert " 1 passed" in done.out


def test_paths_are_files_items_and_folders_anywhere() -> None:
    _write({"a/x.sir": NO_CHECKS + PASSES, "a/Inputs/x.sir": FAILS, "b/y.sir": FAILS, "testdata/z.sir": FAILS})
    done = _check("a/x.sir::run2", "a", "b/y.sir", "-q")
    assert done.code == 1
    assert "1 failed, 2 passed" in done.out
    assert "b/y.sir:2:11: error: CHECK: no match in the rest of the output\n" in done.out


def test_what_is_passed_on() -> None:
    _write({"testdata/x.sir": FAILS, "testdata/y.sir": FAILS, "testdata/z.sir": PASSES})
    assert "1 failed" in _check("-x").out
    assert "1 passed, 2 deselected" in _check("-k", "z.sir").out
    assert "1 passed, 2 deselected" in _check("-kz.sir", "-v").out
    assert "1 passed, 2 deselected" in _check("-q", "--", "-k", "z.sir").out
    done = _check("-n2", "--color=never")
    assert done.code == 1
    assert "2 workers [3 items]" in done.out
    assert "2 failed, 1 passed" in done.out
    assert "testdata/z.sir::run1" in _check("--", "--collect-only", "-q").out


def test_nothing_to_run() -> None:
    done = _check()
    assert done.code == 2
    assert "no golden tests: there is no folder 'testdata' in" in done.err
    assert "Traceback" not in done.err
    Path("testdata").mkdir()
    done = _check()
    assert (done.code, done.err) == (1, "scaly-check: error: no golden test was run\n")


def test_a_path_that_is_not_there() -> None:
    _write({"fuse.sir": PASSES})
    done = _check("fues.sir")
    message = "scaly-check: error: cannot read 'fues.sir': No such file or directory; did you mean 'fuse.sir'?\n"
    assert (done.code, done.out, done.err) == (1, "", message)
    done = _check("fues.sir", "fuse.sir")
    assert (done.code, done.err) == (1, message)
    assert " 1 passed" in done.out


def test_mistakes_in_a_file_are_shown() -> None:
    _write({"testdata/x.sir": PASSES + "// CHECK-NXET: a\n"})
    done = _check()
    assert done.code == 1
    assert "testdata/x.sir:3:4: error: unknown directive 'CHECK-NXET'; did you mean 'CHECK-NEXT'?" in done.out


@pytest.mark.skipif(os.name != "posix", reason="signals as POSIX has them")
def test_an_interrupt_ends_it() -> None:
    _write({"testdata/x.sir": "// RUN: sleep 30\n"})
    with subprocess.Popen([*PROCESS, "-v"], stdout=subprocess.PIPE, env=_environment(PYTHONUNBUFFERED="1")) as process:
        assert process.stdout is not None
        said = b""
        while b"run1" not in said:
            chunk = os.read(process.stdout.fileno(), 1 << 16)
            assert chunk, said
            said += chunk
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        process.stdout.read()
        assert process.wait(timeout=30) == 130


def test_the_process_is_left_as_it_was() -> None:
    _write(
        {
            "testdata/x.sir": PASSES,
            "run.py": (
                "import io, os, sys\n"
                "from scaly_ir.tools.scaly_check import main\n"
                "before = dict(os.environ), os.getcwd(), list(sys.path), sys.stdout\n"
                "out = io.TextIOWrapper(io.BytesIO(), encoding='utf-8')\n"
                "assert main(['-q'], sys.stdin, out, sys.stderr) == 0\n"
                "assert (dict(os.environ), os.getcwd(), list(sys.path), sys.stdout) == before\n"
                "assert b'1 passed' in out.buffer.getvalue()\n"
            ),
        }
    )
    subprocess.run([sys.executable, "run.py"], env=_environment(), check=True)


# --- messages for programs --------------------------------------------------------------------------------------------

PLUGIN = "def shout(root):\n    raise KeyError(3)\n\ndef register(registry):\n    registry.add_pass('shout', shout)\n"


def _objects(*argv: str) -> list[tuple[object, ...]]:
    """Run the tool; return the places, codes and messages on standard error, on which there must be nothing else."""
    found = [json.loads(line) for line in _check("--diagnostics=json", *argv).err.splitlines()]
    assert {fields["severity"] for fields in found} <= {"error"}
    return [(fields["file"], fields["line"], fields["column"], fields["code"], fields["message"]) for fields in found]


def test_what_is_wrong_comes_as_objects() -> None:
    _write(
        {
            "testdata/a.sir": FAILS,
            "testdata/b.sir": PASSES + "// CHECK-NXET: a\n// CHECK a\n",
            "testdata/c.sir": PASSES,
            "testdata/d.sir": "// RUN: cat nope\n",
            "testdata/e.sir": f"// XFAIL: *\n{PASSES}",
        }
    )
    found = _objects()
    assert sorted(found, key=str) == [
        ("testdata/a.sir", 2, 11, "check", "CHECK: no match in the rest of the output"),
        ("testdata/b.sir", 3, 4, "check-directive", "unknown directive 'CHECK-NXET'; did you mean 'CHECK-NEXT'?"),
        ("testdata/b.sir", 4, 4, "check-directive", "missing ':' right after 'CHECK'"),
        (
            "testdata/d.sir",
            1,
            9,
            "exit-code",
            "'cat' exited with 1, expected 0; write 'not' before it if that is meant",
        ),
        ("testdata/e.sir", 2, 1, "test", "[XPASS(strict)] XFAIL: *"),
    ]
    assert sorted(_objects("-n2"), key=str) == sorted(found, key=str)
    assert _objects("testdata/c.sir") == []


def test_notes_say_what_was_found() -> None:
    _write({"testdata/a.sir": FAILS, "testdata/d.sir": "// RUN: cat nope\n"})
    check, run = [json.loads(line)["notes"] for line in _check("--diagnostics=json").err.splitlines()]
    assert [(each["file"], each["line"], each["message"]) for each in check] == [
        ("<run1 output>", 1, "searched from here"),
    ]
    assert run[0]["message"].startswith("'cat' wrote to standard error:\n  cat: error: cannot read 'nope'")


def test_what_has_no_place_comes_as_an_object_too() -> None:
    _write({"testdata/x.sir": PASSES, "testdata/y.sir": FAILS})
    assert _objects("-k", "none") == [(None, None, None, "no-test", "no golden test was run")]
    (found,) = _objects("testdata/x.sir::run9")
    assert found[:4] == (None, None, None, "usage")
    assert str(found[4]).startswith("not found: ")
    (found,) = _objects("testdata/y.sir", "--update")
    assert found[:4] == ("testdata/y.sir", 1, 1, "check-written")


# --- options for the tools in RUN lines -------------------------------------------------------------------------------


def test_a_plug_in_is_loaded_in_all_tools() -> None:
    _write({"mine.py": PLUGIN, "testdata/x.sir": "// RUN: echo a | cat\n// RUN: scaly-opt %s --shout\n"})
    assert "unknown option '--shout'" in _check().out
    for processes in ([], ["-n2"]):
        done = _check("--load-plugin=mine:register", *processes)
        assert "internal error in pass 'shout': KeyError: 3" in done.out
        assert "or: scaly-check --load-plugin=mine:register testdata/x.sir::run2\n" in done.out
        assert "Traceback" not in done.out
    assert "\n      raise KeyError(3)\n" in _check("--load-plugin", "mine:register", "--traceback").out


def test_the_command_for_an_update_that_fails() -> None:
    _write({"testdata/x.sir": "// RUN: cat nope | filecheck %s\n"})
    done = _check("--update", "--no-plugins")
    assert "or: scaly-check --no-plugins testdata/x.sir --diff\n" in done.out
    assert "'cat' exited with 1" in _check("testdata/x.sir", "--diff").out


# --- packages that are missing ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("package", ["pytest", "filecheck"])
def test_a_missing_package_is_named(package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    _hide(package, monkeypatch)
    done = run_tool(main, [])
    message = f"error: golden tests need the package '{package}'; install it with pip install \"scaly-ir[test]\"\n"
    assert (done.code, done.out, done.err) == (1, "", f"scaly-check: {message}")
    assert run_tool(main, ["--help"]).code == 0


def test_several_processes_need_a_package(monkeypatch: pytest.MonkeyPatch) -> None:
    _hide("xdist", monkeypatch)
    done = run_tool(main, ["-n", "2"])
    assert done.code == 1
    assert "option '-n' needs the package 'pytest-xdist'; install it with pip install pytest-xdist" in done.err


def _hide(package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == package else find(name))


# --- usage ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["--updat"], "unknown option '--updat'; did you mean '--update' or '--update-checks'?"),
        (["--lf"], "unknown option '--lf'; those of pytest go behind '--'"),
        (["--force"], "option '--force' needs '--update' or '--diff'"),
        (["-k"], "option '-k' needs a value"),
        (["--color=blue"], "option '--color' expects 'auto', 'always' or 'never', got 'blue'"),
        (["--diff=x"], "option '--diff' takes no value"),
        (["--load-plugin=x"], "option '--load-plugin' expects MODULE:FUNCTION, got 'x'"),
        (["-"], "golden tests are files and folders; '-' is none"),
    ],
)
def test_a_wrong_command_line(argv: list[str], message: str) -> None:
    done = run_tool(main, argv)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(f"scaly-check: error: {message}")


@pytest.mark.parametrize("option", ["--version", "--help", "--completion=bash"])
def test_a_question_loads_little(option: str) -> None:
    script = "import sys; from scaly_ir.tools.scaly_check import main; main(sys.argv[1:], *[sys.__stderr__] * 3);"
    script += "print(*sorted(sys.modules))"
    command = [sys.executable, "-c", script, option]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", env=environment(), check=True)
    slow = {"pytest", "filecheck", "numpy", "rich", "lark", "argparse", "importlib.metadata", "scaly_ir.graph"}
    assert not set(done.stdout.split()) & slow


def test_help_and_version() -> None:
    lines = run_tool(main, ["--help"]).out.splitlines()
    assert len(lines) <= 60
    assert max(map(len, lines)) <= 80
    assert run_tool(main, ["--version"]).out.startswith("scaly-check 0.")


# --- updating ---------------------------------------------------------------------------------------------------------


def test_checks_are_written_and_run() -> None:
    _write({"testdata/x.sir": NO_CHECKS, "testdata/y.sir": PASSES})
    done = _check("--update", "--color=never")
    assert done.code == 0
    assert Path("testdata/x.sir").read_text() == MADE
    assert Path("testdata/y.sir").read_text() == PASSES
    assert (
        "--- testdata/x.sir\n+++ testdata/x.sir\n@@ -1,2 +1,4 @@\n // RUN: echo a | filecheck %s\n"
        f"+{NOTE}\n+// CHECK: a\n \n" in done.out
    )
    assert "testdata/y.sir: kept: its checks do not come from scaly-check" in done.out
    done = _check("--update-checks")
    assert done.code == 0
    assert "@@" not in done.out
    assert Path("testdata/x.sir").read_text() == MADE
    assert _check("testdata/x.sir").code == 0


def test_a_preview_writes_nothing() -> None:
    _write({"testdata/x.sir": NO_CHECKS})
    for options in (["--diff"], ["--update", "--diff"]):
        done = _check(*options)
        assert done.code == 0
        assert "+// CHECK: a\n" in done.out
        assert Path("testdata/x.sir").read_text() == NO_CHECKS


def test_a_file_that_is_named_has_to_be_touched() -> None:
    _write({"testdata/x.sir": FAILS})
    done = _check("testdata/x.sir", "--update")
    assert done.code == 1
    assert "testdata/x.sir: error: its checks do not come from scaly-check" in done.out
    assert Path("testdata/x.sir").read_text() == FAILS
    assert _check("testdata/x.sir::run1", "--update", "--force").code == 0
    assert Path("testdata/x.sir").read_text() == MADE.replace(" a\n", " b\n").replace("echo a", "echo b")


def test_ci_writes_nothing() -> None:
    _write({"testdata/x.sir": NO_CHECKS})
    done = _check("--update", CI="true")
    assert (done.code, done.out) == (2, "")
    message = "checks are not rewritten where the environment variable CI is set"
    assert done.err == f"scaly-check: error: {message}; --diff shows them\n"
    assert _check("--diff", CI="true").code == 0
    command = [sys.executable, "-m", "pytest", "--scaly-update-checks"]
    pytest_done = subprocess.run(command, capture_output=True, encoding="utf-8", env=_environment(CI="1"), check=False)
    assert pytest_done.returncode == 4
    assert message in pytest_done.stderr
    assert Path("testdata/x.sir").read_text() == NO_CHECKS


def test_a_test_that_still_fails_is_a_failure() -> None:
    _write({"testdata/x.sir": f"{NO_CHECKS}// RUN: cat %s | not filecheck %s --check-prefix=B\n// B: a\n"})
    done = _check("--update", "--force")
    assert done.code == 1
    assert "the checks are written, and the test still does not pass:" in done.out
    assert "testdata/x.sir:2:22: error: 'filecheck' succeeded, but 'not' expects the exit code 1 or 2" in done.out
    assert "or: pytest testdata/x.sir::run2" in done.out


def test_a_command_that_fails_leaves_the_file() -> None:
    text = "// RUN: cat nope | filecheck %s\n"
    _write({"testdata/x.sir": text})
    done = _check("--update")
    assert done.code == 1
    assert "'cat' exited with 1, expected 0" in done.out
    assert Path("testdata/x.sir").read_text() == text


def test_where_a_test_does_not_apply_nothing_is_written() -> None:
    away = "posix" if os.name == "nt" else "windows"
    _write({"testdata/x.sir": f"// REQUIRES: {away}\n{NO_CHECKS}", "testdata/y.sir": f"// XFAIL: *\n{NO_CHECKS}"})
    done = _check("--update")
    assert "2 skipped" in done.out
    assert "testdata/x.sir: kept: requires" in done.out
    assert NOTE not in Path("testdata/x.sir").read_text() + Path("testdata/y.sir").read_text()


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="permissions do not stop root")
def test_a_file_that_cannot_be_written() -> None:
    _write({"testdata/x.sir": NO_CHECKS})
    Path("testdata/x.sir").chmod(0o444)
    done = _check("--update")
    assert done.code == 1
    assert "cannot write" in done.out


def test_pytest_updates_too_and_in_several_processes() -> None:
    _write({f"testdata/{name}.sir": NO_CHECKS for name in "abcd"})
    command = [sys.executable, "-m", "pytest", "--scaly-update-checks", "-q", "-n2"]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", env=_environment(), check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("+// CHECK: a\n") == 4
    assert {path.read_text() for path in Path("testdata").iterdir()} == {MADE}


def test_pytest_forces_only_updates() -> None:
    command = [sys.executable, "-m", "pytest", "--scaly-update-force"]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", env=_environment(), check=False)
    assert done.returncode == 4
    assert "--scaly-update-force needs --scaly-update-checks" in done.stderr
