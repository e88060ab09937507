"""The plugin as a user meets it: what is collected, what fails, and what is shown."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import types
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TextIO

import pytest

from scaly_ir.tools.golden import commands, matcher

RunPytest = Callable[..., pytest.RunResult]

PASSES = "// RUN: echo a | filecheck %s\n// CHECK: a\n"
FAILS = "// RUN: echo b | filecheck %s\n// CHECK: a\n"
OUTPUT = "func @f\n  %0 = add(%a, %b)\n  %1 = mul(%0, %0)\n  %2 = neg(%1)\n  %3 = sub(%0, %0)\n"


def _collected(result: pytest.RunResult) -> list[str]:
    return [line for line in result.outlines if "::" in line]


def _report(result: pytest.RunResult) -> str:
    """Return what stands below FAILURES, with paths that differ from run to run replaced."""
    text = "\n".join(result.outlines)
    return re.sub(r"(?<= )/\w\S*/", "/.../", text[text.index("= FAILURES =") :])


def test_one_item_for_each_run_line(run_pytest: RunPytest) -> None:
    files = {"testdata/a/x.sir": PASSES + "// RUN: echo \\\n// RUN: a\n// RUN: cat %s\n", "testdata/y.sir": PASSES}
    result = run_pytest(files, "--collect-only", "-q")
    assert _collected(result) == [
        "testdata/a/x.sir::run1",
        "testdata/a/x.sir::run2",
        "testdata/a/x.sir::run3",
        "testdata/y.sir::run1",
    ]
    run_pytest({}, "testdata/a/x.sir::run2", "-v").assert_outcomes(passed=1)
    run_pytest({}, "-k", "run1").assert_outcomes(passed=2, deselected=2)


def test_where_files_are_collected(run_pytest: RunPytest) -> None:
    files = {
        "testdata/x.sir": PASSES,
        "testdata/deep/er/x.sir": PASSES,
        "testdata/x.txt": FAILS,
        "testdata/Inputs/x.sir": "no test",
        "testdata/deep/Inputs/er/x.sir": "no test",
        "other/x.sir": "no test",
    }
    run_pytest(files).assert_outcomes(passed=2)
    run_pytest({}, "other", "testdata/deep").assert_outcomes(passed=1)


def test_a_file_named_on_the_command_line_is_collected_anywhere(run_pytest: RunPytest) -> None:
    files = {"other/x.sir": PASSES, "testdata/Inputs/x.sir": FAILS}
    run_pytest(files, "other/x.sir", "testdata/Inputs/x.sir").assert_outcomes(passed=1, failed=1)


def test_the_folders_are_a_setting(run_pytest: RunPytest) -> None:
    files = {
        "pytest.ini": "[pytest]\nscaly_golden_paths = golden more/golden\n",
        "golden/x.sir": PASSES,
        "more/golden/x.sir": PASSES,
        "Inputs/x.sir": "no test",
        "testdata/x.sir": "no test",
    }
    run_pytest(files).assert_outcomes(passed=2)


def test_a_folder_above_the_tests_may_be_named_inputs(run_pytest: RunPytest, pytester: pytest.Pytester) -> None:
    files = {"Inputs/pytest.ini": "[pytest]\n", "Inputs/testdata/x.sir": PASSES}
    run_pytest(files, "Inputs").assert_outcomes(passed=1)


def test_the_setting_is_a_list_in_toml(run_pytest: RunPytest) -> None:
    files = {
        "pyproject.toml": '[tool.pytest.ini_options]\nscaly_golden_paths = ["my golden"]\n',
        "my golden/x.sir": PASSES,
    }
    run_pytest(files).assert_outcomes(passed=1)


def test_without_golden_tests_nothing_changes(run_pytest: RunPytest) -> None:
    files = {"test_x.py": "def test_x(): pass\n", "testdata/x.txt": ""}
    run_pytest(files, "--strict-config", "--strict-markers").assert_outcomes(passed=1)


def test_importing_the_plugin_imports_nothing_else() -> None:
    script = (
        "import sys, pytest; before = set(sys.modules); import scaly_ir.tools.golden.plugin;"
        "print(*sorted(name for name in set(sys.modules) - before if name.startswith(('scaly_ir', 'filecheck'))))"
    )
    root = Path(__file__).parents[3]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(root), os.environ.get("PYTHONPATH", "")])}
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, env=environment)
    loaded = set(done.stdout.split())
    assert {name for name in loaded if name.startswith("scaly_ir.tools")} == {
        "scaly_ir.tools",
        "scaly_ir.tools.golden",
        "scaly_ir.tools.golden.plugin",
    }
    assert not {name for name in loaded if name.startswith(("filecheck", "scaly_ir.text", "scaly_ir.graph"))}


def test_a_failure_is_a_report_and_no_traceback(run_pytest: RunPytest) -> None:
    files = {
        "testdata/Inputs/out": OUTPUT,
        "testdata/x.sir": (
            "// RUN: cat %S/Inputs/out | filecheck %s\n"
            "// CHECK-LABEL: func @f\n"
            "// CHECK-NEXT: %[[X:[0-9]+]] = add\n"
            "// CHECK-NEXT: sub(%[[X]], %[[X]])\n"
        ),
    }
    result = run_pytest(files)
    result.assert_outcomes(failed=1)
    assert _report(result).startswith(
        """\
= FAILURES ===================================
_________________________________ x.sir: run1 __________________________________
testdata/x.sir:4:16: error: CHECK-NEXT: no match on the next line
// CHECK-NEXT: sub(%[[X]], %[[X]])
               ^~~~~~~~~~~~~~~~~~~
<run1 output>:3:1: note: this line was tried, with X = "0"
  %1 = mul(%0, %0)
^
<run1 output>:5:8: note: possible intended match
  %3 = sub(%0, %0)
       ^~~~~~~~~~~

<run1 output> has 5 lines; '+' matched before, '>' is the place above:
  + 1 | func @f
  + 2 |   %0 = add(%a, %b)
  > 3 |   %1 = mul(%0, %0)
    4 |   %2 = neg(%1)
    5 |   %3 = sub(%0, %0)

to repeat it: cd /.../testdata && cat /.../out | filecheck /.../x.sir
          or: pytest testdata/x.sir::run1

full output: /.../output.txt
     stderr: /.../stderr.txt
"""
    )


def test_a_failed_command_shows_what_it_said(run_pytest: RunPytest) -> None:
    result = run_pytest({"testdata/x.sir": "// RUN: echo a | cat nope | filecheck %s\n// CHECK: a\n"})
    assert _report(result).partition("to repeat it")[0].splitlines()[2:] == [
        "testdata/x.sir:1:18: error: 'cat' exited with 1, expected 0; write 'not' before it if that is meant",
        "// RUN: echo a | cat nope | filecheck %s",
        "                 ^~~",
        "",
        "'cat' wrote to standard error:",
        "  cat: error: cannot read 'nope': No such file or directory",
        "",
        "testdata/x.sir:1:29: note: after that, 'filecheck' exited with 1, expected 0",
        "// RUN: echo a | cat nope | filecheck %s",
        "                            ^~~~~~~~~",
        "",
    ]


def test_the_full_output_is_kept(run_pytest: RunPytest) -> None:
    result = run_pytest({"testdata/x.sir": "// RUN: echo -n all of it | filecheck %s\n// CHECK: none\n"})
    kept = re.search(r"full output: (.*)\n *stderr: (.*)", "\n".join(result.outlines))
    assert kept
    assert Path(kept[1]).read_text() == "all of it"
    assert "== filecheck\n" in Path(kept[2]).read_text()


def test_mistakes_in_a_file_are_collection_errors(run_pytest: RunPytest, pytester: pytest.Pytester) -> None:
    result = run_pytest({"testdata/x.sir": PASSES + "// CHECK-NXET: b\n", "testdata/y.sir": PASSES})
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(
        [
            "*ERROR collecting testdata/x.sir*",
            "testdata/x.sir:3:4: error: unknown directive 'CHECK-NXET'; did you mean 'CHECK-NEXT'?",
            "// CHECK-NXET: b",
            "   ^~~~~~~~~~",
        ]
    )
    result.stdout.no_fnmatch_line("*Traceback*")
    (pytester.path / "testdata" / "x.sir").write_bytes(b"// RUN: cat\n// \xff\n")
    run_pytest({}).stdout.fnmatch_lines(["testdata/x.sir:2:4: error: byte 0xff is not valid UTF-8"])
    (pytester.path / "testdata" / "x.sir").write_bytes(b"// RUN: cat\n\0")
    run_pytest({}).stdout.fnmatch_lines(["error: 'testdata/x.sir' is a binary file"])


def test_conditions(run_pytest: RunPytest) -> None:
    here, away = ("windows", "posix") if os.name == "nt" else ("posix", "windows")
    files = {
        "testdata/requires.sir": f"// REQUIRES: {away}\n{FAILS}",
        "testdata/unsupported.sir": f"// UNSUPPORTED: {here}\n{FAILS}",
        "testdata/xfail.sir": f"// XFAIL: *\n{FAILS}",
        "testdata/xpass.sir": f"// XFAIL: {here}\n{PASSES}",
        "testdata/runs.sir": f"// REQUIRES: {here}\n// UNSUPPORTED: {away}\n// XFAIL: {away}\n{PASSES}",
    }
    result = run_pytest(files, "-rs")
    result.assert_outcomes(skipped=2, xfailed=1, failed=1, passed=1)
    result.stdout.fnmatch_lines_random([f"*requires {away}", f"*unsupported with {here}"])


def test_the_temporary_path_is_private_and_removed(run_pytest: RunPytest, pytester: pytest.Pytester) -> None:
    text = "// RUN: not cat %t && echo a > %t && cat %t | filecheck %s\n"
    result = run_pytest({"testdata/x.sir": text * 2 + "// CHECK: a\n"}, "--basetemp=temporary")
    result.assert_outcomes(passed=2)
    assert list((pytester.path / "temporary").rglob("*.tmp")) == []
    result = run_pytest({"testdata/x.sir": text.replace("echo a", "echo b") + "// CHECK: a\n"}, "--basetemp=temporary")
    result.assert_outcomes(failed=1)
    assert [path.read_text() for path in (pytester.path / "temporary").rglob("*.tmp")] == ["b\n"]


def _install(monkeypatch: pytest.MonkeyPatch, name: str, action: Callable[[], object]) -> None:
    """Make `action` a tool."""

    def main(argv: Sequence[str], stdin: TextIO, stdout: TextIO, stderr: TextIO) -> int:
        action()
        return int(argv[0]) if argv else 0

    module = types.ModuleType("golden_plugin_tools")
    monkeypatch.setattr(module, "main", main, raising=False)
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setitem(commands.TOOLS, name, "golden_plugin_tools:main")
    commands._load.cache_clear()


@pytest.mark.parametrize(
    ("action", "reason"),
    [
        (lambda: os.environ.update(GOLDEN_X="1"), "changed the environment: GOLDEN_X"),
        (lambda: os.environ.pop("PATH"), "changed the environment: PATH"),
        (lambda: os.chdir(".."), "changed the working directory of the process"),
    ],
)
def test_an_item_that_changes_the_process_fails(
    run_pytest: RunPytest, monkeypatch: pytest.MonkeyPatch, action: Callable[[], object], reason: str
) -> None:
    _install(monkeypatch, "tool-rude", action)
    monkeypatch.delenv("PYTEST_CURRENT_TEST")  # the pytest within deletes it
    environment, folder = dict(os.environ), Path.cwd()
    result = run_pytest({"testdata/x.sir": "// RUN: tool-rude\n", "testdata/y.sir": PASSES})
    result.assert_outcomes(failed=1, passed=1)
    result.stdout.fnmatch_lines([f"testdata/x.sir:1:9: error: this line {reason}", "// RUN: tool-rude"])
    assert dict(os.environ) == environment
    assert Path.cwd() == folder
    result = run_pytest({"testdata/x.sir": "// RUN: tool-rude 1\n"})
    result.stdout.fnmatch_lines(["*'tool-rude' exited with 1*", f"*error: this line {reason}"])


def test_items_work_in_the_folder_of_their_file(run_pytest: RunPytest) -> None:
    files = {
        "testdata/a/x.sir": "// RUN: cat Inputs/f | filecheck %s\n// CHECK: a\n",
        "testdata/a/Inputs/f": "a\n",
        "testdata/b/x.sir": "// RUN: cat Inputs/f | filecheck %s\n// CHECK: b\n",
        "testdata/b/Inputs/f": "b\n",
    }
    run_pytest(files).assert_outcomes(passed=2)


@pytest.fixture
def _no_matcher(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> types.ModuleType:
        raise matcher.MissingPackageError("golden tests need the package 'filecheck'; install it")

    monkeypatch.setattr(matcher, "require", missing)
    monkeypatch.delenv("CI", raising=False)


@pytest.mark.usefixtures("_no_matcher")
def test_a_missing_matcher_says_what_to_install(run_pytest: RunPytest) -> None:
    result = run_pytest({"testdata/x.sir": PASSES, "testdata/y.sir": "// RUN: cat %s\n"})
    result.assert_outcomes(failed=1, passed=1)
    result.stdout.fnmatch_lines(["error: golden tests need the package 'filecheck'; install it"])
    result.stdout.no_fnmatch_line("*Traceback*")


@pytest.mark.usefixtures("_no_matcher")
def test_no_checks_are_written_that_cannot_be_tried(run_pytest: RunPytest, pytester: pytest.Pytester) -> None:
    text = "// RUN: echo a | filecheck %s\n"
    result = run_pytest({"testdata/x.sir": text}, "--scaly-update-checks")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["error: golden tests need the package 'filecheck'; install it"])
    result.stdout.no_fnmatch_line("*Traceback*")
    assert (pytester.path / "testdata/x.sir").read_text() == text
    result = run_pytest({}, "--scaly-update-diff")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["+// CHECK: a"])


def test_a_bug_in_the_plugin_is_not_hidden(run_pytest: RunPytest, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> types.ModuleType:
        raise ZeroDivisionError

    monkeypatch.setattr(matcher, "require", broken)
    run_pytest({"testdata/x.sir": PASSES}).stdout.fnmatch_lines(["*ZeroDivisionError*"])
