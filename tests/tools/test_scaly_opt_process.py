"""scaly-opt as a process: signals, pipes, closed streams, start-up, and that its output depends on the input alone."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.tools.running import (
    BAD_SYNTAX,
    BAD_SYNTAX_ERROR,
    CHAIN,
    FUSED,
    PROCESS,
    TEN_LINES,
    environment,
    scaly_opt_process,
)

pytestmark = pytest.mark.usefixtures("workspace")

posix = pytest.mark.skipif(os.name != "posix", reason="signals and descriptors as POSIX has them")


def test_a_run_from_the_shell() -> None:
    done = scaly_opt_process("--pass=fuse_elementwise", stdin=CHAIN.encode())
    assert (done.returncode, done.stdout, done.stderr) == (0, FUSED.encode(), b"")
    done = scaly_opt_process(stdin=BAD_SYNTAX.encode())
    assert (done.returncode, done.stdout, done.stderr.decode()) == (1, b"", f"<stdin>{BAD_SYNTAX_ERROR}")
    assert scaly_opt_process("--oops").returncode == 2


@posix
@pytest.mark.parametrize(("name", "code"), [("SIGINT", 130), ("SIGTERM", 143), ("SIGHUP", 129)])
def test_an_interrupt_is_silent_and_leaves_no_file(name: str, code: int) -> None:
    Path("x.sir").write_text(TEN_LINES)
    Path("out.sir").write_text("old")
    command = [*PROCESS, "-v", "x.sir", "-", "-o", "out.sir"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, env=environment()) as process:
        assert process.stderr is not None
        assert process.stderr.readline() == b"scaly-opt: reading x.sir\n"  # next it waits for standard input
        process.send_signal(getattr(signal, name))
        assert process.wait(timeout=30) == code
        assert process.stderr.read() == b""
    assert Path("out.sir").read_text() == "old"
    assert sorted(os.listdir()) == ["out.sir", "x.sir"]


@posix
def test_a_reader_that_goes_away_ends_the_run_silently() -> None:
    lines = "  prog.store 1, %x[0] : float64\n" * 20_000  # more than a pipe holds
    Path("x.sir").write_text(f"prog.proc @f(%x: memref<8xfloat64>) {{\n{lines}}}\n")
    with subprocess.Popen(
        [*PROCESS, "x.sir"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment()
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline() == b"prog.proc @f(%x: memref<8xfloat64>) {\n"
        process.stdout.close()
        assert process.wait(timeout=60) == 141
        assert process.stderr.read() == b""


@posix
@pytest.mark.parametrize(
    ("redirection", "code", "message"),
    [
        ("<&-", 1, "scaly-opt: error: cannot read '<stdin>': Bad file descriptor\n"),
        ("x.sir >&-", 1, "scaly-opt: error: cannot write standard output: Bad file descriptor\n"),
        ("x.sir -o y.sir >&-", 0, ""),
        ("x.sir >/dev/null 2>&-", 0, ""),
        ("missing.sir 2>&-", 1, ""),
        pytest.param(
            "x.sir >/dev/full",
            1,
            "scaly-opt: error: cannot write standard output: No space left on device\n",
            marks=pytest.mark.skipif(sys.platform != "linux", reason="/dev/full"),
        ),
        pytest.param(
            "missing.sir 2>/dev/full",
            1,
            "",
            marks=pytest.mark.skipif(sys.platform != "linux", reason="/dev/full"),
        ),
    ],
)
def test_streams_that_are_closed_or_full(redirection: str, code: int, message: str) -> None:
    Path("x.sir").write_text(TEN_LINES)
    command = f'exec "$0" -m scaly_ir.tools.scaly_opt {redirection}'
    done = subprocess.run(
        ["sh", "-c", command, sys.executable], capture_output=True, env=environment(), check=False, encoding="utf-8"
    )
    assert (done.returncode, done.stderr) == (code, message)


def test_output_depends_on_the_input_alone(tmp_path: Path) -> None:
    bad = BAD_SYNTAX.replace("@f", '@"naïve \u65e5"')
    results = set()
    for number, changes in enumerate(
        (
            {"PYTHONHASHSEED": "0"},
            {"PYTHONHASHSEED": "1", "LANG": "C", "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
            {"PYTHONHASHSEED": "2", "LC_ALL": "C.UTF-8", "TZ": "Asia/Tokyo", "COLUMNS": "20", "HOME": "/"},
        )
    ):
        folder = tmp_path / f"folder{number}"
        folder.mkdir()
        (folder / "chain.sir").write_text(CHAIN, encoding="utf-8")
        (folder / "bad.sir").write_text(bad, encoding="utf-8")
        env = environment()
        os.chdir(folder)
        done = subprocess.run(
            [*PROCESS, "chain.sir", "bad.sir", "chian.sir", "-v", "--fuse_elementwise"],
            capture_output=True,
            env={**env, **changes},
            check=False,
        )
        assert done.returncode == 1
        results.add((done.stdout, done.stderr))
    ((out, err),) = results
    assert out.decode() == FUSED
    assert '@"naïve \u65e5"' not in err.decode()  # not on the line that is shown
    assert "did you mean 'chain.sir'?" in err.decode()


# --- start-up --------------------------------------------------------------------------------------------------------

SLOW = {
    *("numpy", "rich", "lark", "argparse", "importlib.metadata", "pathlib", "tempfile", "difflib", "unicodedata"),
    *("traceback", "subprocess", "logging", "asyncio", "multiprocessing"),
}
"""What takes long to import and is needed for unusual things only."""


def _imported(*argv: str) -> set[str]:
    """Return the modules that a run loads into a fresh interpreter."""
    script = (
        "import json, sys\n"
        "before = set(sys.modules)\n"
        "from scaly_ir.tools.scaly_opt import main\n"
        "code = main(sys.argv[2:], sys.stdin, open(sys.argv[1], 'w', encoding='utf-8'), sys.stderr)\n"
        "print(json.dumps([code, sorted(set(sys.modules) - before)]))\n"
    )
    command = [sys.executable, "-c", script, os.devnull, *argv]
    done = subprocess.run(command, capture_output=True, env=environment(), check=True, encoding="utf-8")
    code, modules = json.loads(done.stdout)
    assert (code, done.stderr) == (0, "")
    return set(modules)


def test_a_small_file_loads_little() -> None:
    Path("x.sir").write_text(TEN_LINES)
    modules = _imported("x.sir")
    assert "scaly_ir.dialects.prog.reader" in modules
    assert not modules & {*SLOW, "scaly_ir.tools.highlight", "scaly_ir.tools.discovery"}
    assert not [name for name in modules if name.startswith(("scaly_ir.passes.", "scaly_ir.pass_manager"))]


def test_a_pass_loads_no_more_than_itself() -> None:
    Path("x.sir").write_text(CHAIN)
    assert not _imported("x.sir", "--fuse_elementwise") & {"numpy", "rich", "lark", "argparse", "importlib.metadata"}


@pytest.mark.parametrize("option", ["--version", "--help"])
def test_a_question_about_the_tool_loads_no_dialect(option: str) -> None:
    modules = _imported(option)
    assert not modules & SLOW
    assert not [name for name in modules if name.startswith(("scaly_ir.dialect", "scaly_ir.graph", "scaly_ir.pass_"))]
