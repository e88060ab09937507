"""IR around passes, on standard error, in a directory, and never in the result."""

from __future__ import annotations

from pathlib import Path

import pytest

from scaly_ir.passes import PASSES
from tests.tools.passes import REGISTRY
from tests.tools.running import CHAIN, FUSED, scaly_opt


@pytest.fixture(autouse=True)
def _files(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, place in REGISTRY.items():
        monkeypatch.setitem(PASSES, name, place)
    (workspace / "f.sir").write_text(CHAIN, encoding="utf-8")


def _dumps(*options: str, passes: str = "dce,fuse_elementwise,dce") -> list[tuple[str, str]]:
    """Return the headlines and texts of the dumps of a run."""
    done = scaly_opt("f.sir", f"--pass={passes}", *options)
    assert (done.code, done.out) == (0, FUSED)
    parts = done.err.split("// -----// ")
    assert parts[0] == ""
    pairs = [part.split(" //----- //\n") for part in parts[1:]]
    return [(head, text) for head, text in pairs]


BEFORE, AFTER = "IR Dump Before", "IR Dump After"


@pytest.mark.parametrize("prefix", ["", "mlir-"])
def test_around_named_passes(prefix: str) -> None:
    assert _dumps(f"--{prefix}print-ir-before=fuse-elementwise") == [(f"{BEFORE} fuse_elementwise", CHAIN)]
    assert _dumps(f"--{prefix}print-ir-after=fuse_elementwise") == [(f"{AFTER} fuse_elementwise", FUSED)]
    both = _dumps("--print-ir-after=dce", f"--{prefix}print-ir-before", "dce")
    assert both == [
        (f"{BEFORE} dce", CHAIN),
        (f"{AFTER} dce", CHAIN),
        (f"{BEFORE} dce", FUSED),
        (f"{AFTER} dce", FUSED),
    ]


def test_around_all_passes() -> None:
    names = ["dce", "fuse_elementwise", "dce"]
    assert [head for head, _ in _dumps("--print-ir-before-all")] == [f"{BEFORE} {name}" for name in names]
    assert [text for _, text in _dumps("--print-ir-after-all")] == [CHAIN, FUSED, FUSED]


def test_after_change() -> None:
    assert _dumps("--print-ir-after-change") == [(f"{AFTER} fuse_elementwise", FUSED)]


def test_one_function() -> None:
    ((_, text),) = _dumps("--print-ir-after=fuse_elementwise", "--print-ir-func=@chain")
    assert text.startswith("prog.proc @chain(")
    assert _dumps("--print-ir-after=fuse_elementwise", "--print-ir-func=chain") == [(_, text)]


@pytest.mark.parametrize("options", [["--print-ir-after=dce"], ["--print-ir-diff"], []])
def test_a_function_that_is_not_there(options: list[str]) -> None:
    done = scaly_opt("f.sir", "--pass=dce", "--print-ir-func=@chian,@chain", *options)
    warning = "scaly-opt: warning: option '--print-ir-func': there is no function @chian; did you mean '@chain'?"
    assert (done.code, done.out) == (0, CHAIN)
    assert [line for line in done.err.splitlines() if "scaly-opt" in line] == [warning]
    assert warning not in scaly_opt("f.sir", "--pass=dce", "--print-ir-func=@chian,@chain", "-q", *options).err


def test_a_function_of_one_of_several_inputs_or_of_a_pass() -> None:
    Path("g.sir").write_text(CHAIN.replace("@chain", "@other"), encoding="utf-8")
    assert scaly_opt("f.sir", "g.sir", "--pass=dce", "--print-ir-func=@other").err == ""
    Path("g.sir").write_text("prog", encoding="utf-8")  # without any function there is nothing to say
    assert "--print-ir-func" not in scaly_opt("g.sir", "--pass=dce", "--print-ir-func=@other").err


def test_a_pass_that_is_not_run() -> None:
    done = scaly_opt("f.sir", "--pass=dce,cse", "--print-ir-after=dce,cze")
    assert done.code == 2
    assert done.err.splitlines() == [
        "scaly-opt: error: pass 'cze' is not run; did you mean 'cse'?",
        "  --print-ir-after=dce,cze",
        "                       ^~~",
    ]
    assert "these are: dce, cse" in scaly_opt("f.sir", "--pass=dce,cse", "--print-ir-before=lower").err
    assert "no pass is" in scaly_opt("f.sir", "--print-ir-before=lower").err


@pytest.mark.parametrize("failing", ["raises", "breaks"])
def test_after_failure(failing: str) -> None:
    done = scaly_opt("f.sir", f"--pass=dce,{failing}", "--print-ir-after-failure")
    assert done.code in (1, 3)
    assert f"// -----// IR Dump After {failing} Failed //----- //\n" in done.err
    assert "IR Dump After dce" not in done.err


# --- a directory ------------------------------------------------------------------------------------------------------


def _names(folder: Path) -> list[str]:
    return sorted([path.name for path in folder.iterdir() if not path.name.startswith(".")])


def test_tree(workspace: Path) -> None:
    folder = workspace / "a" / "b"
    done = scaly_opt("f.sir", "--pass=dce,fuse_elementwise", f"--print-ir-tree-dir={folder}")
    assert (done.code, done.out, done.err) == (0, FUSED, "")
    files = ["00_input.sir", "01_dce.sir", "02_fuse_elementwise.diff", "02_fuse_elementwise.sir"]
    assert _names(folder) == files
    assert (folder / "00_input.sir").read_text() == CHAIN
    assert (folder / "02_fuse_elementwise.sir").read_text() == FUSED
    assert (folder / "02_fuse_elementwise.diff").read_text().startswith("--- before fuse_elementwise\n")


def test_tree_of_an_earlier_run_is_cleared_of_its_files(workspace: Path) -> None:
    folder = workspace / "tree"
    scaly_opt("f.sir", "--pass=dce,fuse_elementwise", f"--print-ir-tree-dir={folder}")
    (folder / "mine.txt").write_text("mine")
    assert scaly_opt("f.sir", "--pass=dce", f"--print-ir-tree-dir={folder}").code == 0
    assert _names(folder) == ["00_input.sir", "01_dce.sir", "mine.txt"]


def test_no_other_directory_is_touched(workspace: Path) -> None:
    folder = workspace / "mine"
    folder.mkdir()
    (folder / "00_input.sir").write_text("mine")
    done = scaly_opt("f.sir", "--pass=dce", f"--print-ir-tree-dir={folder}")
    assert done.code == 2
    assert f"'{folder}' is not empty, and not a directory that --print-ir-tree-dir made" in done.err
    assert (folder / "00_input.sir").read_text() == "mine"


def test_tree_of_what_is_no_directory(workspace: Path) -> None:
    done = scaly_opt("f.sir", "--pass=dce", "--print-ir-tree-dir=f.sir")
    assert (done.code, done.err) == (1, "scaly-opt: error: cannot write 'f.sir': File exists\n")


def test_tree_takes_one_input() -> None:
    done = scaly_opt("f.sir", "f.sir", "--pass=dce", "--print-ir-tree-dir=t")
    assert done.code == 2
    assert "option '--print-ir-tree-dir' takes one input" in done.err
