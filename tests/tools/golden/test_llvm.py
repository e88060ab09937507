"""A second opinion: what becomes of a check when LLVM's FileCheck does not agree with the package."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from scaly_ir.tools.golden.llvm import find_program

RunPytest = Callable[..., pytest.RunResult]

PASSES = "// RUN: echo a | filecheck %s\n// CHECK: a\n"
FAILS = "// RUN: echo a | not filecheck %s\n// CHECK: b\n"

pytestmark = pytest.mark.skipif(os.name != "posix", reason="programs as POSIX has them")


def _program(folder: Path, name: str, code: str) -> str:
    path = folder / name
    path.write_text(f"#!{shlex.quote(sys.executable)}\nimport sys\n{code}\n")
    path.chmod(0o755)
    return str(path)


def test_both_agree(run_pytest: RunPytest, tmp_path: Path) -> None:
    code = f"open({str(tmp_path / 'seen')!r}, 'a').write(repr(sys.argv[2:]) + repr(sys.stdin.read()))"
    program = _program(tmp_path, "agrees", code)
    options = " -DX=1 --match-full-lines --strict-whitespace --enable-var-scope --allow-empty --check-prefixes=A,B"
    text = f"// RUN: echo a | filecheck %s{options}\n// A:a\n// B-NOT:c\n"
    run_pytest({"testdata/x.sir": text}, f"--scaly-filecheck={program}").assert_outcomes(passed=1)
    arguments = ["--dump-input=never", "--check-prefixes=A,B", "--match-full-lines", "--strict-whitespace"]
    assert (tmp_path / "seen").read_text() == repr([*arguments, "--enable-var-scope", "--allow-empty", "-DX=1"]) + repr(
        "a\n"
    )


def test_a_verdict_that_is_another_one(run_pytest: RunPytest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    accepts, refuses = _program(tmp_path, "accepts", ""), _program(tmp_path, "refuses", "sys.exit('its reason')")
    files = {"testdata/passes.sir": PASSES, "testdata/fails.sir": FAILS}
    result = run_pytest(files, f"--scaly-filecheck={refuses}")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(
        [
            "testdata/passes.sir:1:18: error: filecheck: LLVM's FileCheck refuses this, and the 'filecheck' package "
            "does not:",
            "its reason",
        ]
    )
    monkeypatch.setenv("SCALY_IR_FILECHECK", accepts)
    result = run_pytest({})
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(
        ["*fails.sir:1:22: error: *LLVM's FileCheck accepts this, and the 'filecheck' package does not: CHECK: no*"]
    )
    run_pytest({}, "--scaly-filecheck=none").assert_outcomes(passed=2)


def test_a_program_that_cannot_run(run_pytest: RunPytest) -> None:
    result = run_pytest({"testdata/x.sir": PASSES}, "--scaly-filecheck=/nope")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*cannot run LLVM's FileCheck: *No such file or directory*"])


def test_the_newest_program_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    older = tmp_path / "older"
    older.mkdir()
    monkeypatch.setenv("PATH", os.pathsep.join([str(tmp_path / "nope"), str(older), str(tmp_path)]))
    assert find_program() == ""
    _program(older, "FileCheck-9", "")
    names = ["FileCheck-10", "FileCheck-14", "FileCheck-11", "FileCheck-x"]
    assert [_program(tmp_path, name, "") for name in names][1] == find_program()
    assert _program(tmp_path, "FileCheck", "") == find_program()


def test_the_suite_is_checked_by_both_where_that_is_possible(request: pytest.FixtureRequest) -> None:
    if request.config.option.scaly_filecheck == "none":
        pytest.skip("left out")
    assert request.config.option.scaly_filecheck == find_program()
