"""Reproducers: what is saved when a pass fails, and what running that says."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from scaly_ir.passes import PASSES
from tests.tools.passes import REGISTRY
from tests.tools.running import CHAIN, FUSED, scaly_opt, scaly_opt_process


@pytest.fixture(autouse=True)
def _files(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SCALY_IR_REPRODUCER_DIR", raising=False)
    for name, place in REGISTRY.items():
        monkeypatch.setitem(PASSES, name, place)
    (workspace / "f.sir").write_text(CHAIN, encoding="utf-8")


def _without_locations(text: str) -> str:
    return re.sub(r" loc\(.*?\)(?= \{|$)", "", text, flags=re.MULTILINE)


def test_the_ir_before_the_pass_and_what_was_left_to_run(workspace: Path) -> None:
    done = scaly_opt("f.sir", "--pass=fuse_elementwise,raises,dce", "--reproducer=r.sir")
    assert done.code == 3
    lines = (workspace / "r.sir").read_text().splitlines(keepends=True)
    assert lines[0] == "// scaly-reproducer: 1\n"
    assert lines[1] == "// pipeline: raises,dce\n"
    assert lines[2] == "// options: --verify-each\n"
    assert lines[3].startswith("// failed: raises: error: internal error in pass 'raises': ")
    assert lines[4] == "// run: scaly-opt --run-reproducer r.sir\n"
    text = "".join(lines[5:])
    assert _without_locations(text) == FUSED
    assert '{kind=global} loc("f.sir":7:5) {\n' in text
    assert done.err.splitlines()[-1] == "scaly-opt: note: to repeat it: scaly-opt --run-reproducer r.sir"


def test_the_command_loads_plug_ins_and_can_be_typed(workspace: Path) -> None:
    (workspace / "mine.py").write_text(
        "def fails(root):\n    raise KeyError(3)\n\ndef plugin(registry):\n    registry.add_pass('fails', fails)\n"
    )
    plugins = ["--no-plugins", "--load-plugin=mine:plugin"]
    saved = scaly_opt_process("f.sir", *plugins, "--pass=dce,fails", "--reproducer=my r.sir").stderr.decode()
    command = saved.splitlines()[-1].partition("to repeat it: ")[2]
    assert shlex.split(command) == ["scaly-opt", *plugins, "--run-reproducer", "my r.sir"]
    assert f"// run: {command}\n" in (workspace / "my r.sir").read_text()
    again = scaly_opt_process(*shlex.split(command)[1:]).stderr.decode()
    assert again.splitlines()[-1] == "scaly-opt: it failed as it did before"
    assert "--reproducer" not in again  # there is one


@pytest.mark.parametrize("failing", ["raises", "breaks", "refuses", "nothing"])
def test_running_it_repeats_the_failure(failing: str) -> None:
    first = scaly_opt("f.sir", f"--pass=dce,{failing}", "--reproducer=r.sir")
    again = scaly_opt("--run-reproducer", "r.sir")
    assert again.code == first.code != 0
    assert again.err.splitlines()[-1] == "scaly-opt: it failed as it did before"


def test_the_whole_pipeline(workspace: Path) -> None:
    scaly_opt("f.sir", "--pass=fuse_elementwise,raises", "--reproducer=r.sir", "--reproducer-full", "--no-verify-each")
    text = (workspace / "r.sir").read_text()
    assert "// pipeline: fuse_elementwise,raises\n// options: --no-verify-each\n" in text
    assert _without_locations(text).endswith(CHAIN)


def test_in_a_directory(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (workspace / "saved").mkdir()
    scaly_opt("f.sir", "--pass=raises", "--reproducer=saved")
    assert [path.name for path in (workspace / "saved").iterdir()] == ["f-raises.sir"]
    monkeypatch.setenv("SCALY_IR_REPRODUCER_DIR", str(workspace / "saved"))
    scaly_opt("f.sir", "--pass=breaks")
    assert (workspace / "saved" / "f-breaks.sir").exists()


def test_nothing_is_saved_where_nothing_fails(workspace: Path) -> None:
    assert scaly_opt("f.sir", "--pass=dce", "--reproducer=r.sir").code == 0
    (workspace / "bad.sir").write_text("prog.proc", encoding="utf-8")
    assert scaly_opt("bad.sir", "--pass=dce", "--reproducer=r.sir").code == 1
    assert not (workspace / "r.sir").exists()


def test_the_first_failure_is_saved(workspace: Path) -> None:
    (workspace / "g.sir").write_text(FUSED, encoding="utf-8")
    done = scaly_opt("f.sir", "g.sir", "--pass=raises", "--reproducer=r.sir")
    assert _without_locations((workspace / "r.sir").read_text()).endswith(CHAIN)
    assert done.err.count("to repeat it") == 1


def test_what_no_longer_fails(workspace: Path) -> None:
    scaly_opt("f.sir", "--pass=raises", "--reproducer=r.sir")
    text = (workspace / "r.sir").read_text()
    (workspace / "r.sir").write_text(text.replace("pipeline: raises", "pipeline: dce"))
    done = scaly_opt("--run-reproducer", "r.sir")
    assert (done.code, done.out) == (0, CHAIN)
    assert done.err.startswith("scaly-opt: nothing failed; it was: raises: error: internal error")
    (workspace / "r.sir").write_text(text.replace("pipeline: raises", "pipeline: breaks"))
    assert "scaly-opt: it failed in another way; it was: raises: " in scaly_opt("--run-reproducer", "r.sir").err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("f.sir", "--run-reproducer"), "'f.sir' is no reproducer: it does not begin with '// scaly-reproducer: 1'"),
        (("f.sir", "--run-reproducer", "--pass=dce"), "option '--run-reproducer' takes the passes from the file"),
        (("--run-reproducer",), "option '--run-reproducer' takes one file"),
        (("missing.sir", "--run-reproducer"), "cannot read 'missing.sir'"),
        (("f.sir", "--pass=dce", "--reproducer-full"), "option '--reproducer-full' needs '--reproducer=FILE'"),
    ],
)
def test_wrong_use(options: tuple[str, ...], message: str) -> None:
    done = scaly_opt(*options)
    assert (done.code, done.out) == (2, "")
    assert message in done.err


def test_a_pipeline_that_is_no_more(workspace: Path) -> None:
    (workspace / "r.sir").write_text("// scaly-reproducer: 1\n// pipeline: dce,gone\n" + CHAIN, encoding="utf-8")
    done = scaly_opt("--run-reproducer", "r.sir")
    assert done.code == 2
    assert done.err.splitlines()[1:] == ["  dce,gone", "      ^~~~"]


def test_internal_errors_suggest_it() -> None:
    assert "note: --reproducer=FILE saves what repeats this" in scaly_opt("f.sir", "--pass=raises").err
    assert "note: --reproducer" not in scaly_opt("f.sir", "--pass=breaks").err
