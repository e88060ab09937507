"""scaly-opt when something fails: the input, a pass, what a pass leaves, or the tool itself."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from scaly_ir.pass_manager import build_pipeline
from scaly_ir.passes import PASSES
from scaly_ir.tools.opt_driver import Driver
from scaly_ir.tools.reporting import Reporter
from tests.tools.passes import REGISTRY, Once
from tests.tools.running import CHAIN, OUT_OF_BOUNDS, scaly_opt


@pytest.fixture(autouse=True)
def _passes(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Give every test the passes of `passes.py` besides our own."""
    for name, place in REGISTRY.items():
        monkeypatch.setitem(PASSES, name, place)


# --- what fails ------------------------------------------------------------------------------------------------------


def test_every_violation_is_shown_where_it_is() -> None:
    done = scaly_opt(stdin=OUT_OF_BOUNDS)
    assert (done.code, done.out) == (1, "")
    heads = [line for line in done.err.splitlines() if "error" in line]
    assert [head.split(":")[1] for head in heads[:2]] == ["2", "3"]
    assert all([head.endswith("[index-static-bounds]") for head in heads[:2]])
    assert heads[2] == "2 errors"


@pytest.mark.parametrize(
    ("name", "code", "message"),
    [
        ("raises", 3, "internal error in pass 'raises': KeyError: 3"),
        ("recurses", 3, "internal error in pass 'recurses': too deeply nested"),
        ("swells", 1, "pass 'swells' finds no memory"),
        ("refuses", 1, "pass 'refuses' does not take this"),
        ("stumbles", 1, "pass 'stumbles' failed: no such thing"),
        ("nothing", 1, "pass 'nothing' failed without a message"),
    ],
)
def test_a_pass_that_fails(name: str, code: int, message: str) -> None:
    advice = "scaly-opt: note: --reproducer=FILE saves what repeats this\n" if code == 3 else ""
    done = scaly_opt(f"--pass=same,{name},mends", stdin=CHAIN)
    assert done == (code, "", f"scaly-opt: error: {message}\n{advice}")


@pytest.mark.parametrize("before", ["", "same,", "fuse_elementwise,", "fuse_elementwise,unroll_unit_loops,"])
def test_what_a_pass_blames_is_shown_whatever_passes_made_of_it(before: str) -> None:
    done = scaly_opt(f"--pass={before}blames", stdin=CHAIN)
    head, *shown = done.err.splitlines()
    assert (done.code, head) == (1, "<stdin>:7:5: error: pass 'blames' failed: no form for this")
    assert shown[0] == "    prog.for %j = 0 to 4 step 1 {kind=global} {"


def test_a_pass_that_does_not_run_twice_is_no_failure_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Once, "runs", [])
    Path("a.sir").write_text(CHAIN)
    done = scaly_opt("a.sir", "a.sir", "--pass=fuse_elementwise,once,blames")
    assert done.code == 3
    first, second = [line for line in done.err.splitlines() if " error: " in line]
    assert first == "a.sir:7:5: error: pass 'blames' failed: no form for this"
    assert second == "scaly-opt: error: internal error in pass 'once': KeyError: 3"


@pytest.mark.parametrize(("follows", "place"), [(True, "a.sir:7:5"), (False, "scaly-opt")])
def test_passes_run_again_for_the_place_of_a_failure_only_if_it_is_wanted(follows: bool, place: str) -> None:
    Path("a.sir").write_text(CHAIN)
    err = io.StringIO()
    passes = build_pipeline("fuse_elementwise,blames", PASSES)
    driver = Driver(passes, Reporter("scaly-opt", err), io.StringIO(), follow_failures=follows)
    assert driver.process("a.sir") is None
    assert err.getvalue().splitlines()[0] == f"{place}: error: pass 'blames' failed: no form for this"


def test_the_largest_exit_code_of_several_files_counts() -> None:
    Path("a.sir").write_text(CHAIN)
    done = scaly_opt("missing.sir", "a.sir", "missing.sir", "--raises")
    assert done.code == 3
    assert done.err.endswith("3 errors\n")


@pytest.mark.parametrize("how", ["option", "variable"])
@pytest.mark.parametrize(("name", "code", "last"), [("raises", 3, "KeyError: 3"), ("refuses", 1, "PassError: ")])
def test_a_traceback_is_shown_on_request(
    how: str, name: str, code: int, last: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if how == "variable":
        monkeypatch.setenv("SCALY_IR_TRACEBACK", "1")
    done = scaly_opt(f"--{name}", *(["--traceback"] if how == "option" else []), stdin=CHAIN)
    assert done.code == code
    assert "\nTraceback (most recent call last):\n" in done.err
    assert last in done.err.splitlines()[-1]


def test_a_pass_that_cannot_be_loaded_is_an_internal_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(PASSES, "absent", "scaly_ir.no_such_module:Absent")
    message = "scaly-opt: error: internal error: ModuleNotFoundError: No module named 'scaly_ir.no_such_module'\n"
    for argv in (["--absent"], ["--list-passes"]):
        assert scaly_opt(*argv, stdin=CHAIN) == (3, "", message)
    assert "Traceback" in scaly_opt("--absent", "--traceback", stdin=CHAIN).err


@pytest.mark.parametrize("option", ["-traceback", "--traceback"])
def test_a_plug_in_that_is_not_there_shows_a_traceback_if_that_is_asked_for(option: str) -> None:
    done = scaly_opt(option, "--load-plugin=scaly_ir.no_such_module:register", stdin=CHAIN)
    assert done.code == 1
    assert "Traceback" in done.err


def test_a_pass_needs_a_module_and_not_a_fragment() -> None:
    done = scaly_opt("--same", stdin="%a = prog.assign 1 : float64 {declare=True}\n")
    assert done == (1, "", "scaly-opt: error: pass 'same' takes a module or procedures, not a fragment\n")


# --- verification after passes ---------------------------------------------------------------------------------------

INVALID = """\
scaly-opt: error: IR is invalid after pass 'breaks' (2 of 3): 'prog.for': kind 'unheard' is unknown [range-attrs]
scaly-opt: note: the operation is now
  prog.for %i = 0 to 8 step 1 {kind=unheard} {
    prog.store 0, %x[%i] : float64
  }
"""


def test_a_pass_that_leaves_invalid_ir() -> None:
    assert scaly_opt("--pass=same,breaks,mends", stdin=CHAIN) == (1, "", INVALID)
    assert scaly_opt("-q", "--pass=same,breaks,mends", stdin=CHAIN).err == INVALID.partition("scaly-opt: note")[0]


def test_a_long_operation_is_cut_off() -> None:
    lines = scaly_opt("--breaks=length=30", stdin=CHAIN).err.splitlines()
    assert len(lines) == 2 + 20 + 1
    assert lines[-1] == "  ..."


def test_an_operation_that_cannot_be_printed_is_left_out() -> None:
    done = scaly_opt("--mangles", stdin=CHAIN)
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("scaly-opt: error: IR is invalid after pass 'mangles' (1 of 1): 'prog.store': ")
    assert "Error" not in done.err


@pytest.mark.parametrize("option", ["--no-verify-each", "--verify-each=false"])
def test_checks_between_passes_can_be_left_out(option: str) -> None:
    done = scaly_opt(option, "--pass=breaks,mends", stdin=CHAIN)
    assert done.code == 0
    assert "@mended" in done.out


@pytest.mark.parametrize("passes", ["mends,breaks", "breaks,same", "breaks,same,same"])
def test_the_final_result_is_always_verified(passes: str) -> None:
    done = scaly_opt("--no-verify-each", f"--pass={passes}", stdin=CHAIN)
    count = passes.count(",") + 1
    assert (done.code, done.out) == (1, "")
    last = passes.rpartition(",")[2]
    assert done.err.startswith(f"scaly-opt: error: IR is invalid after pass '{last}' ({count} of {count}): ")
    assert done.err.endswith("note: only the final result was verified; --verify-each finds the pass to blame\n")


def test_the_last_of_contrary_options_counts() -> None:
    assert scaly_opt("--no-verify-each", "--verify-each", "--pass=breaks,mends", stdin=CHAIN).code == 1
    assert scaly_opt("--verify-each=true", "--no-verify-each", "--pass=breaks,mends", stdin=CHAIN).code == 0
