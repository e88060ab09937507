"""A disk that is full, for every output of every tool: one message, exit code 1, and each file is as it was before."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from scaly_ir.passes import PASSES
from scaly_ir.tools import files
from scaly_ir.tools.golden import report
from scaly_ir.tools.golden.execute import run
from scaly_ir.tools.golden.golden_file import load
from scaly_ir.tools.golden.run_line import Paths
from scaly_ir.tools.scaly_reduce import main as scaly_reduce_main
from tests.tools.passes import REGISTRY
from tests.tools.run_cases import needs_cc, scaly_run
from tests.tools.running import CHAIN, Done, environment, run_tool, scaly_opt, scaly_translate

resource = pytest.importorskip("resource")

MARKER = "tree/.scaly-ir-tree"


@pytest.fixture(autouse=True)
def _files(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, place in REGISTRY.items():
        monkeypatch.setitem(PASSES, name, place)
    Path("f.sir").write_text(CHAIN)


@pytest.fixture
def full(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have every file that a tool writes fail when half of it is written."""

    def half(descriptor: int, text: str | bytes) -> None:
        data = text if isinstance(text, bytes) else text.encode()
        with open(descriptor, "wb") as out:
            out.write(data[: len(data) // 2])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(files, "_write_to", half)


@contextmanager
def no_file_over(size: int) -> Iterator[None]:
    """Let the system refuse to make a file longer than `size` bytes, as a disk does that is almost full."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def _tree() -> dict[str, bytes | None]:
    """Return all files of the working directory with what is in them, and all folders."""
    return {str(path): None if path.is_dir() else path.read_bytes() for path in sorted(Path().rglob("*"))}


def scaly_reduce(*argv: str) -> Done:
    """Run scaly-reduce in this process."""
    return run_tool(scaly_reduce_main, argv)


def _unwritable(tool: str, path: str) -> str:
    return f"{tool}: error: cannot write '{path}': No space left on device\n"


Tool = Callable[..., Done]

_OUTPUTS: dict[str, tuple[Tool, list[str], str]] = {
    "opt": (scaly_opt, ["f.sir", "-o", "out"], "out"),
    "opt, a new file": (scaly_opt, ["f.sir", "-o", "new"], "new"),
    "opt, the input": (scaly_opt, ["f.sir", "--pass=fuse_elementwise", "-o", "f.sir"], "f.sir"),
    "translate": (scaly_translate, ["f.sir", "--to=c", "-o", "out"], "out"),
    "run": (scaly_run, ["f.sir", "--random=0", "--print=none", "--out=out.npz"], "out.npz"),
    "reduce": (scaly_reduce, ["f.sir", "--test=true", "-o", "out"], "out"),
}


@pytest.mark.usefixtures("full")
@pytest.mark.parametrize("case", _OUTPUTS)
def test_a_result(case: str) -> None:
    tool, argv, path = _OUTPUTS[case]
    Path("out").write_text("old")
    Path("out.npz").write_text("old")
    before = _tree()
    assert tool(*argv) == (1, "", _unwritable(f"scaly-{case.partition(',')[0]}", path))
    assert _tree() == before


@pytest.mark.usefixtures("full")
def test_several_results() -> None:
    Path("out.c").write_text("old")
    before = _tree()
    said = [_unwritable("scaly-translate", path) for path in ("out.c", "out.h", "out.json")]
    done = scaly_translate("f.sir", "-o", "out.c", "-o", "out.h", "-o", "out.json")
    assert done == (1, "", "".join([*said, "3 errors\n"]))
    assert _tree() == before


def test_one_of_several_results() -> None:
    Path("out.h").write_text("old")
    before = _tree()
    header = len(scaly_translate("f.sir", "--to=header").out)
    with no_file_over(header):
        done = scaly_translate("f.sir", "-o", "out.h", "-o", "out.c")
    assert done == (1, "", "scaly-translate: error: cannot write 'out.c': File too large\n")
    assert _tree() == before


@pytest.mark.usefixtures("full")
@pytest.mark.parametrize("old", [True, False])
def test_the_steps_of_a_pipeline(old: bool) -> None:
    if old:
        for name in (MARKER, "tree/00_input.sir", "tree/01_dce.diff"):
            Path(name).parent.mkdir(exist_ok=True)
            Path(name).write_text("old")
    before = _tree()
    Path("out").write_text("old")
    done = scaly_opt("f.sir", "--pass=dce,fuse_elementwise", "--print-ir-tree-dir=tree", "-o", "out")
    assert done == (1, "", _unwritable("scaly-opt", MARKER))
    assert _tree() == {**before, "out": b"old", "tree": None}


def test_a_step_for_which_there_is_no_room_is_the_last() -> None:
    with no_file_over(100):
        done = scaly_opt("f.sir", "--pass=dce,fuse_elementwise", "--print-ir-tree-dir=tree", "-o", "out")
    assert done == (1, "", "scaly-opt: error: cannot write 'tree/00_input.sir': File too large\n")
    assert sorted(_tree()) == ["f.sir", "tree", MARKER]


@pytest.mark.usefixtures("full")
def test_a_reproducer() -> None:
    Path("saved.sir").write_text("old")
    before = _tree()
    done = scaly_opt("f.sir", "--pass=raises", "--reproducer=saved.sir")
    assert (done.code, done.out) == (3, "")
    assert _unwritable("scaly-opt", "saved.sir") in done.err
    assert "to repeat it" not in done.err
    assert _tree() == before


@needs_cc
@pytest.mark.usefixtures("full")
@pytest.mark.parametrize("checked", ["--no-cache", "--sanitize"])
def test_compiled_code_that_is_kept(checked: str) -> None:
    Path("kept").mkdir()
    Path("kept/kernel.c").write_text("old")
    before = _tree()
    done = scaly_run("f.sir", "--random=0", "--engine=c", checked, "--keep=kept")
    assert (done.code, done.out) == (1, "")
    if "the C compiler failed" not in done.err:  # one without these checks
        assert done.err.startswith("scaly-run: error: cannot write 'kept/")
        assert done.err.endswith(": No space left on device\n")
    assert _tree() == before


@needs_cc
@pytest.mark.parametrize("checked", ["--no-cache", "--sanitize"])
def test_code_that_is_compiled(checked: str, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("tmp").mkdir()
    monkeypatch.setenv("SCALY_IR_CACHE_DIR", os.path.abspath("cache"))
    monkeypatch.setattr(tempfile, "tempdir", os.path.abspath("tmp"))
    before = _tree()
    with no_file_over(100):
        done = scaly_run("f.sir", "--random=0", "--engine=c", checked)
    assert done == (1, "", "scaly-run: error: cannot compile: File too large\n")
    assert _tree() == before


# --- scaly-reduce -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("test", ["--test=true", "--crash"])
def test_candidates(test: str, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("tmp").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", os.path.abspath("tmp"))
    before = _tree()
    with no_file_over(100):
        done = scaly_reduce("f.sir", test, "-o", "out")
    assert done == (1, "", "scaly-reduce: error: cannot test candidates: File too large\n")
    assert _tree() == before


def test_what_a_check_writes_beside_its_candidate(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("tmp").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", os.path.abspath("tmp"))
    Path("f.sir").write_text(CHAIN.replace("4x", "4000x").replace("to 4 ", "to 4000 "))
    before = _tree()
    with no_file_over(10_000):  # room for the candidate, and not for the results of running it
        done = scaly_reduce("f.sir", "--miscompile", "--pass=dce", "-o", "out")
    assert done == (1, "", "scaly-reduce: error: cannot test candidates: File too large\n")
    assert _tree() == before


def test_the_folder_of_the_candidates(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(prefix: str, dir: str | None) -> str:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), f"/full/{prefix}1")

    monkeypatch.setattr(tempfile, "mkdtemp", refuse)
    done = scaly_reduce("f.sir", "--test=true", "-o", "out")
    message = "scaly-reduce: error: cannot go on: No space left on device ('/full/scaly-reduce-1')\n"
    assert done == (1, "", message)
    assert sorted(_tree()) == ["f.sir"]


def test_no_memory_where_nobody_expects_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(prefix: str, dir: str | None) -> str:
        raise MemoryError

    monkeypatch.setattr(tempfile, "mkdtemp", refuse)
    done = scaly_reduce("f.sir", "--test=true", "-o", "out")
    assert done == (1, "", "scaly-reduce: error: cannot go on: there is no memory\n")


# --- golden tests -----------------------------------------------------------------------------------------------------


def _golden(*argv: str, limit: int) -> subprocess.CompletedProcess[str]:
    """Run scaly-check, as a process of its own, which can make no file of more bytes than `limit`."""
    settings = {"PYTEST_ADDOPTS": "-p no:hypothesispytest -p no:cacheprovider", "COLUMNS": "80"}
    changes = {name: value for name, value in environment(**settings).items() if name != "CI"}
    script = (
        "import resource, runpy\n"
        f"resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {limit}))\n"
        "runpy.run_module('scaly_ir.tools.scaly_check', run_name='__main__')\n"
    )
    command = [sys.executable, "-B", "-c", script, *argv]
    return subprocess.run(command, capture_output=True, encoding="utf-8", env=changes, check=False)


def test_checks_that_are_made_anew() -> None:
    text = "// RUN: scaly-opt %s | filecheck %s\n" + CHAIN
    Path("f.sir").write_text(text)
    done = _golden("f.sir", "--update", limit=len(text) + 50)
    assert done.returncode == 1
    assert "error: cannot write 'f.sir': File too large" in done.stdout.replace(os.getcwd() + os.sep, "")
    assert "Traceback" not in done.stdout + done.stderr
    assert sorted(_tree()) == ["f.sir"]
    assert Path("f.sir").read_text() == text


@pytest.mark.usefixtures("full")
def test_the_output_of_a_test_that_fails(workspace: Path) -> None:
    Path("f.sir").write_text("// RUN: echo a | filecheck %s\n// CHECK: b\n")
    test = load(workspace / "f.sir", "f.sir")
    paths = Paths(test.path)
    text = report.explain(test, test.runs[0], run(test, test.runs[0], paths), paths, workspace / "kept", "f.sir::run1")
    assert "f.sir:2:11: error: CHECK: no match" in text
    assert f"full output: cannot write '{workspace.as_posix()}/kept/output.txt': No space left on device" in text
    assert os.listdir("kept") == []


def test_the_folder_for_the_output_of_a_test_that_fails(workspace: Path) -> None:
    Path("f.sir").write_text("// RUN: echo a | filecheck %s\n// CHECK: b\n")
    Path("kept").write_text("no folder")
    test = load(workspace / "f.sir", "f.sir")
    paths = Paths(test.path)
    text = report.explain(test, test.runs[0], run(test, test.runs[0], paths), paths, workspace / "kept", "f.sir::run1")
    assert f"full output: cannot be kept in '{workspace.as_posix()}/kept': File exists" in text
