"""scaly-opt from the command line to the exit code, in this process: options, passes, files, output and failures."""

from __future__ import annotations

import gc
import os
import re
from pathlib import Path

import pytest

from scaly_ir.passes import PASSES
from scaly_ir.tools import scaly_opt as tool
from tests.tools.passes import REGISTRY
from tests.tools.running import BAD_SYNTAX, BAD_SYNTAX_ERROR, CHAIN, FUSED, TEN_LINES, scaly_opt

EMPTY = "prog.module {\n}\n"


@pytest.fixture(autouse=True)
def _passes(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Give every test the passes of `passes.py` besides our own."""
    for name, place in REGISTRY.items():
        monkeypatch.setitem(PASSES, name, place)


# --- what is printed and nothing else --------------------------------------------------------------------------------


def test_help_fits_a_terminal() -> None:
    for option in ("--help", "-h", "-help", "--h"):
        done = scaly_opt(option)
        assert (done.code, done.err) == (0, "")
        lines = done.out.splitlines()
        assert len(lines) <= 60
        assert max([len(line) for line in lines]) <= 80


def test_help_names_every_option() -> None:
    text = scaly_opt("--help").out
    for option in tool.OPTIONS:
        name = option.names[0]
        assert re.search(rf"(?<![\w-])-{{1,2}}{name}(?![\w-])", text), f"--help does not name {name}"


def test_no_pass_has_the_name_of_an_option() -> None:
    names = {name.replace("-", "_") for option in tool.OPTIONS for name in option.names}
    assert not names & set(PASSES)


def test_version() -> None:
    assert re.fullmatch(r"scaly-opt \d+\.\d+\.\d+\n", scaly_opt("--version").out)


def test_list_passes_begins_each_line_with_the_name_in_order() -> None:
    lines = scaly_opt("--list-passes").out.splitlines()
    assert sorted([line.split(" ")[0] for line in lines]) == sorted(PASSES)
    assert re.search(r"^fuse_elementwise +module +\w", "\n".join(lines), re.MULTILINE)
    assert {line.split()[1] for line in lines} <= {"module", "func"}


def test_the_first_of_several_questions_is_answered() -> None:
    assert scaly_opt("--version", "--help").out.startswith("scaly-opt ")
    assert scaly_opt("--help", "missing.sir").code == 0


def test_alone_on_a_terminal_it_says_how_it_is_used() -> None:
    done = scaly_opt(terminal=True)
    assert (done.code, done.out) == (2, "")
    assert done.err == tool.USAGE
    assert scaly_opt("-", stdin=EMPTY, terminal=True).code == 0


# --- passes ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "argv",
    [
        ["--pass=fuse_elementwise"],
        ["--pass", "fuse_elementwise"],
        ["-pass=fuse-elementwise"],
        ["--pipeline=fuse_elementwise"],
        ["--pass-pipeline", " fuse_elementwise "],
        ["--fuse_elementwise"],
        ["--fuse-elementwise"],
        ["-fuse-elementwise"],
        ["--fuse_elementwise="],
        ["--pass=same,fuse_elementwise,same"],
        ["--pass=same,\n  fuse_elementwise"],
        ["--same", "--fuse_elementwise"],
    ],
)
def test_ways_to_name_a_pass(argv: list[str]) -> None:
    assert scaly_opt(*argv, stdin=CHAIN) == (0, FUSED, "")


def test_passes_run_in_the_order_given_however_they_are_given() -> None:
    argv = ["--pass=mends", "--options=lanes=2", "--pass=same,mends", "-same", "--pass", "options"]
    done = scaly_opt("-v", *argv, stdin=CHAIN)
    ran = re.findall(r"pass (\d) of 6: (\w+) (made no change|changed the IR)", done.err)
    names = ["mends", "options", "same", "mends", "same", "options"]
    assert [name for _, name, _ in ran] == names
    assert [number for number, _, _ in ran] == list("123456")
    assert [change for _, _, change in ran if change == "made no change"] == ["made no change"] * 2
    assert '@"False 1 1.0 none slow"' in done.out


@pytest.mark.parametrize(
    ("argument", "values"),
    [
        ("--options", "False 1 1.0 none slow"),
        ("--pass=options{fast}", "True 1 1.0 none slow"),
        ("--pass=options{fast=true lanes=4}", "True 4 1.0 none slow"),
        ("--options=fast=TRUE scale=2.5", "True 1 2.5 none slow"),
        ("--options{mode=quick label_text=x}", "False 1 1.0 x quick"),
        ("--pass=options{label-text='a, b'}", "False 1 1.0 a, b slow"),
        ("--pass=options{sizes=8,4,2 lanes=-3}", "False -3 1.0 none slow 8 4 2"),
    ],
)
def test_options_of_a_pass(argument: str, values: str) -> None:
    assert f'@"{values}"' in scaly_opt(argument, stdin=CHAIN).out


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (
            ["--pass=same,fuse_elementwize"],
            """\
            error: unknown pass 'fuse_elementwize'; did you mean 'fuse_elementwise'?
              --pass=same,fuse_elementwize
                          ^~~~~~~~~~~~~~~~""",
        ),
        (
            ["--pass", "qqq,same"],
            """\
            error: unknown pass 'qqq'; --list-passes shows all
              --pass qqq,same
                     ^~~""",
        ),
        (
            ["--options=lane=4"],
            """\
            error: pass 'options' has no option 'lane'; did you mean 'lanes'?
              --options=lane=4
                        ^~~~""",
        ),
        (
            ["-fuse-elementwise{deep}"],
            """\
            error: pass 'fuse_elementwise' has no option 'deep'; it has none
              -fuse-elementwise{deep}
                                ^~~~""",
        ),
        (
            ["--pass=options{lanes=many}"],
            """\
            error: option 'lanes' of pass 'options' expects an integer, got 'many'
              --pass=options{lanes=many}
                                   ^~~~""",
        ),
        (
            ["--options=mode=fast"],
            """\
            error: option 'mode' of pass 'options' expects 'slow' or 'quick', got 'fast'
              --options=mode=fast
                             ^~~~""",
        ),
        (
            ["--pass=options{lanes=1 lanes=2}"],
            """\
            error: option 'lanes' is given twice
              --pass=options{lanes=1 lanes=2}
                                     ^~~~~""",
        ),
        (
            ["--pass=same,"],
            """\
            error: expected the name of a pass, found the end
              --pass=same,
                          ^""",
        ),
        (
            ["--options{lanes=1"],
            """\
            error: this '{' is not closed
              --options{lanes=1
                       ^""",
        ),
        (
            ["--pipeline=same,\n   oops,same"],
            """\
            error: unknown pass 'oops'; --list-passes shows all
                 oops,same
                 ^~~~""",
        ),
    ],
)
def test_a_mistake_in_a_pipeline_is_shown_as_typed(argv: list[str], message: str) -> None:
    expected = "scaly-opt: " + re.sub(r"^ {12}", "", message, flags=re.MULTILINE) + "\n"
    assert scaly_opt(*argv, "missing.sir") == (2, "", expected)


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["--fuse_elementwize"], "unknown option '--fuse_elementwize'; did you mean '--fuse_elementwise'?\n"),
        (["--color=allways"], "option '--color' expects 'auto', 'always' or 'never', got 'allways'; did you mean "),
        (["--verify-each=maybe"], "option '--verify-each' expects 'true' or 'false', got 'maybe'\n"),
        (["--max-errors=-1"], "option '--max-errors' expects a number of at least 0, got '-1'\n"),
        (["--max-errors"], "option '--max-errors' needs a value\n"),
        (["--traceback=1"], "option '--traceback' takes no value\n"),
    ],
)
def test_a_mistake_in_the_options_is_found_before_any_input_is_read(argv: list[str], message: str) -> None:
    done = scaly_opt("missing.sir", *argv)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(f"scaly-opt: error: {message}")


# --- files -----------------------------------------------------------------------------------------------------------


def test_no_file_and_a_dash_are_standard_input() -> None:
    for argv in ([], ["-"], ["--"], ["--", "-"], ["--stdin-name=x.sir"]):
        assert scaly_opt(*argv, stdin=TEN_LINES) == (0, TEN_LINES, "")


def test_standard_input_can_have_a_name() -> None:
    assert scaly_opt(stdin=BAD_SYNTAX) == (1, "", f"<stdin>{BAD_SYNTAX_ERROR}")
    assert scaly_opt("--stdin-name", "k.sir", stdin=BAD_SYNTAX).err == f"k.sir{BAD_SYNTAX_ERROR}"


def test_several_files_are_joined_and_all_are_processed() -> None:
    for name, text in {"a.sir": TEN_LINES, "bad.sir": BAD_SYNTAX, "b.any": EMPTY}.items():
        Path(name).write_text(text)
    done = scaly_opt("a.sir", "bad.sir", "missing", "b.any", "-", stdin=CHAIN)
    assert done.code == 1
    assert done.out == f"{TEN_LINES}// -----\n{EMPTY}// -----\n{CHAIN}"
    assert done.err == (
        f"bad.sir{BAD_SYNTAX_ERROR}scaly-opt: error: cannot read 'missing': No such file or directory\n2 errors\n"
    )


def test_an_empty_module_counts_when_results_are_joined() -> None:
    Path("empty.sir").write_text("// nothing\n")
    Path("a.sir").write_text(TEN_LINES)
    assert scaly_opt("empty.sir").out == ""
    assert scaly_opt("empty.sir", "a.sir", "empty.sir").out == f"// -----\n{TEN_LINES}// -----\n"


# --- output ----------------------------------------------------------------------------------------------------------


def test_a_file_can_be_its_own_output() -> None:
    Path("x.sir").write_text(CHAIN)
    assert scaly_opt("x.sir", "--pass=fuse_elementwise", "-o", "x.sir") == (0, "", "")
    assert Path("x.sir").read_text() == FUSED
    assert os.listdir() == ["x.sir"]


@pytest.mark.parametrize("argv", [["bad.sir"], ["a.sir", "bad.sir"], ["a.sir", "--raises"], ["a.sir", "--pass=oops"]])
def test_output_stays_as_it_was_when_something_fails(argv: list[str]) -> None:
    Path("a.sir").write_text(TEN_LINES)
    Path("bad.sir").write_text(BAD_SYNTAX)
    Path("out.sir").write_text("old")
    done = scaly_opt(*argv, "-o", "out.sir")
    assert done.code > 0
    assert done.out == ""
    assert Path("out.sir").read_text() == "old"
    assert sorted(os.listdir()) == ["a.sir", "bad.sir", "out.sir"]


def test_the_last_output_counts() -> None:
    assert scaly_opt("-o", "a.sir", "-o=b.sir", stdin=EMPTY) == (0, "", "")
    assert os.listdir() == ["b.sir"]
    assert scaly_opt("-o", "a.sir", "-o", "-", stdin=EMPTY) == (0, EMPTY, "")


def test_output_that_cannot_be_written() -> None:
    done = scaly_opt("-o", "missing/x.sir", stdin=EMPTY)
    assert done == (1, "", "scaly-opt: error: cannot write 'missing/x.sir': No such file or directory\n")


# --- reporting -------------------------------------------------------------------------------------------------------

MANY_ERRORS = (
    "prog.proc @f(%x: memref<8xfloat64>) {\n"
    + "".join([f"  prog.store 1, %x[{n}] : float64\n" for n in range(8, 33)])
    + "}\n"
)


def test_errors_are_limited_and_summed_up() -> None:
    def shown(*argv: str) -> tuple[int, list[str]]:
        lines = scaly_opt(*argv, stdin=MANY_ERRORS).err.splitlines()
        return len([line for line in lines if ": error: " in line]), lines[3 * 20 :][-2:]

    more = "scaly-opt: 5 more errors not shown; --max-errors=0 shows all"
    assert shown() == (20, [more, "25 errors"])
    assert shown("--max-errors=0")[0] == 25
    assert shown("--max-errors=1", "--max-errors", "30")[0] == 25
    assert shown("-q") == (20, [more])


def test_the_limit_is_for_all_files_together() -> None:
    Path("many.sir").write_text(MANY_ERRORS)
    done = scaly_opt("many.sir", "many.sir", "--max-errors=30")
    assert done.err.count(": error: ") == 30
    assert done.err.endswith("scaly-opt: 20 more errors not shown; --max-errors=0 shows all\n50 errors\n")


def test_progress_is_shown_on_request_and_apart_from_the_result() -> None:
    Path("x.sir").write_text(CHAIN)
    done = scaly_opt("-v", "x.sir", "--pass=same,fuse_elementwise")
    assert done.out == FUSED
    assert done.err == (
        "scaly-opt: reading x.sir\n"
        "scaly-opt: pass 1 of 2: same made no change\n"
        "scaly-opt: pass 2 of 2: fuse_elementwise changed the IR\n"
    )


def test_colour(monkeypatch: pytest.MonkeyPatch) -> None:
    def coloured(*argv: str, terminal: bool = False) -> bool:
        done = scaly_opt(*argv, "-", stdin=BAD_SYNTAX, terminal=terminal)
        assert done.code == 1
        return "\x1b[" in done.err

    assert not coloured()
    assert coloured(terminal=True)
    assert coloured("--color=always")
    assert coloured("--color=never", "-colour", "always")
    assert not coloured("--color=never", terminal=True)
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert coloured()
    assert not coloured("--color", "never")
    monkeypatch.setenv("NO_COLOR", "1")
    assert not coloured(terminal=True)
    assert coloured("--color=always")


# --- what a run leaves behind ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("argv", [["-"], ["--help"], ["--oops"], ["--raises"], ["missing.sir"]])
@pytest.mark.parametrize("collecting", [True, False])
def test_the_garbage_collector_is_as_it_was(argv: list[str], collecting: bool) -> None:
    was = gc.isenabled()
    try:
        (gc.enable if collecting else gc.disable)()
        scaly_opt(*argv, stdin=TEN_LINES)
        assert gc.isenabled() is collecting
    finally:
        (gc.enable if was else gc.disable)()


def test_nothing_else_of_the_process_changes() -> None:
    Path("x.sir").write_text(CHAIN)
    before = (os.getcwd(), dict(os.environ))
    scaly_opt("x.sir", "--fuse_elementwise", "-o", "y.sir")
    scaly_opt("--color=always", "missing.sir")
    assert (os.getcwd(), dict(os.environ)) == before


# --- which passes run -------------------------------------------------------------------------------------------------


def test_anchors_must_fit(workspace: Path) -> None:
    (workspace / "f.sir").write_text(CHAIN, encoding="utf-8")
    assert scaly_opt("f.sir", "--pass=builtin.module(fuse_elementwise)").out == FUSED
    assert scaly_opt("f.sir", "--pass=prog.module(O0,module(fuse_elementwise))").out == FUSED
    for text, name in (("func(dce)", "dce"), ("module(prog.proc(default))", "lower")):
        done = scaly_opt("f.sir", f"--pass={text}")
        assert done.code == 2
        assert f"pass '{name}' runs on the module, not on each function" in done.err


def test_dumped_pipelines_run_the_same(workspace: Path) -> None:
    (workspace / "f.sir").write_text(CHAIN, encoding="utf-8")
    pipeline = "O0,fuse-elementwise,options{sizes=1,2 label_text='x y' fast},options"
    done = scaly_opt("f.sir", "--dump-pipeline", f"--pass={pipeline}", "--stop-after=options")
    first = 'options{fast=true lanes=1 scale=1.0 label_text="x y" mode=slow sizes=1,2}'
    assert done.err == f'lower{{entry=""}},fuse_elementwise,{first}\n'
    assert "True 1 1.0 x y slow 1 2" in done.out
    assert scaly_opt("f.sir", "--dump-pass-pipeline", f"--pipeline={done.err.strip()}") == done
    whole = scaly_opt("f.sir", "--dump-pipeline", f"--pass={pipeline}")
    assert whole.code == 0
    assert scaly_opt("f.sir", "--dump-pipeline", f"--pipeline={whole.err.strip()}") == whole  # nothing for a list


def test_stop_after(workspace: Path) -> None:
    (workspace / "f.sir").write_text(CHAIN, encoding="utf-8")
    passes = "--pass=dce,fuse_elementwise,dce,pack-workspace"
    assert scaly_opt("f.sir", passes, "--stop-after=dce").out == CHAIN
    assert scaly_opt("f.sir", "--stop-after=dce:2", passes).out == FUSED
    assert "sz_w" in scaly_opt("f.sir", passes, "--stop-after=pack_workspace:1").out


@pytest.mark.parametrize(
    ("value", "message", "blamed"),
    [
        ("dcf", "pass 'dcf' is not run; did you mean 'dce'?", "dcf"),
        ("dce:3", "pass 'dce' is run 2 times", "3"),
        ("fuse_elementwise:2", "pass 'fuse_elementwise' is run once", "2"),
        ("dce:0", "option '--stop-after' expects a number of at least 1, got '0'", "0"),
        ("dce:x", "option '--stop-after' expects a number of at least 1, got 'x'", "x"),
    ],
)
def test_stop_after_nothing(value: str, message: str, blamed: str) -> None:
    done = scaly_opt("--pass=dce,fuse_elementwise,dce", f"--stop-after={value}")
    typed = f"--stop-after={value}"
    marks = " " * typed.rindex(blamed) + "^" + "~" * (len(blamed) - 1)
    assert (done.code, done.err.splitlines()) == (2, [f"scaly-opt: error: {message}", f"  {typed}", f"  {marks}"])
