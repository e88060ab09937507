"""scaly-reduce from the command line to the exit code: tests, candidates, files, reproducers, and what is refused."""

from __future__ import annotations

import errno
import json
import os
import re
import shlex
import sys
import time
from pathlib import Path

import pytest

import scaly_ir as sc
from scaly_ir.dialects.prog import ops
from scaly_ir.graph import Node, preorder
from scaly_ir.op import Op
from scaly_ir.tools import scaly_reduce as tool
from scaly_ir.tools.reduce import interest
from scaly_ir.tools.reduce.state import State
from scaly_ir.tools.scaly_reduce import main
from tests.tools.run_cases import needs_cc
from tests.tools.running import BAD_SYNTAX, CHAIN, OUT_OF_BOUNDS, TEN_LINES, Done, run_tool, scaly_opt

pytestmark = [pytest.mark.usefixtures("workspace", "registry"), pytest.mark.skipif(os.name != "posix", reason="fork")]

LINE = re.compile(r"reduced [\d,]+ (?:operation|line)s? to [\d,]+, [\d,]+ candidates?, \d+ s")


def scaly_reduce(*argv: str, stdin: str | bytes = "", terminal: bool = False) -> Done:
    return run_tool(main, argv, stdin, terminal)


def trips_on_neg(root: Node) -> Node:
    """Fail on a negation."""
    if any([node.op.name == "prog.neg" for node in preorder(root)]):
        raise KeyError("neg")
    return root


def dies_on_neg(root: Node) -> Node:
    """End the process on a negation."""
    if any([node.op.name == "prog.neg" for node in preorder(root)]):
        os.abort()
    return root


def hangs_without_loops(root: Node) -> Node:
    """Never end on a program without loops; fail on any other."""
    if not any([node.op is ops.FOR for node in preorder(root)]):
        time.sleep(1000)
    raise KeyError("loops")


def turns_neg_around(root: Node) -> Node:
    """Compute something else."""
    mapping = {node: node.args[0] for node in preorder(root) if node.op.name == "prog.neg"}
    from scaly_ir.graph.rewrite import substitute

    return substitute(root, mapping)


@pytest.fixture(autouse=True)
def passes(registry: None) -> None:
    """Add the passes of this module."""
    from scaly_ir.plugins import PluginRegistry

    added = PluginRegistry()
    for function in (trips_on_neg, dies_on_neg, hangs_without_loops, turns_neg_around):
        added.add_pass(function.__name__, function, dialects=["prog"])


@pytest.fixture
def chain(workspace: Path) -> None:
    (workspace / "x.sir").write_text(CHAIN)


NEG = """\
prog.module {
  prog.proc @a(%y: memref<1xfloat64>) {
    prog.store prog.neg(0), %y[0] : float64
  }
}
"""


# --- what is printed and nothing else ---------------------------------------------------------------------------------


def test_help_fits_a_terminal_and_names_every_option() -> None:
    done = scaly_reduce("--help")
    assert (done.code, done.err) == (0, "")
    lines = done.out.splitlines()
    assert len(lines) <= 60
    assert max([len(line) for line in lines]) <= 80
    for option in tool.OPTIONS:
        assert re.search(rf"(?<![\w-])-{{1,2}}{option.names[0]}(?![\w-])", done.out), option.names


def test_version_and_usage() -> None:
    assert re.fullmatch(r"scaly-reduce \d+\.\d+\.\d+\n", scaly_reduce("--version").out)
    assert scaly_reduce(terminal=True) == (2, "", tool.USAGE)


# --- what is interesting ----------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("chain")
def test_a_crash() -> None:
    done = scaly_reduce("x.sir", "--crash", "--pass=fuse_elementwise,trips_on_neg,canonicalize")
    assert (done.code, done.out) == (0, "")
    summary, command = done.err.splitlines()
    assert LINE.fullmatch(summary)
    assert summary.startswith("reduced 7 operations to 3, ")
    assert command == "scaly-opt x.reduced.sir --pass=trips_on_neg"
    assert Path("x.reduced.sir").read_text() == NEG
    assert Path("x.sir").read_text() == CHAIN
    assert sorted(os.listdir()) == ["x.reduced.sir", "x.sir"]
    again = scaly_opt(*shlex.split(command)[1:])
    assert again.code == 3
    assert "internal error in pass 'trips_on_neg': KeyError: 'neg'" in again.err


@pytest.mark.usefixtures("chain")
@pytest.mark.parametrize("test", ["--error=KeyError", "--error=^error: internal.*neg'$", "--crash", "-crash"])
def test_an_error_by_its_message(test: str) -> None:
    assert scaly_reduce("x.sir", test, "--pass=trips_on_neg", "-q") == (0, "", "")
    assert Path("x.reduced.sir").read_text() == NEG


@pytest.mark.usefixtures("chain")
def test_a_crash_with_a_message() -> None:
    assert scaly_reduce("x.sir", "--crash", "--error=neg", "--pass=trips_on_neg", "-q").code == 0
    assert Path("x.reduced.sir").read_text() == NEG
    done = scaly_reduce("x.sir", "--crash", "--error=pos", "--pass=trips_on_neg")
    assert done.code == 2


@pytest.mark.usefixtures("chain")
def test_a_pass_that_ends_the_process() -> None:
    done = scaly_reduce("x.sir", "--crash", "--pass=dies_on_neg", "-q")
    assert done == (0, "", "")
    assert Path("x.reduced.sir").read_text() == NEG
    done = scaly_reduce("x.sir", "--error=abort", "--pass=dies_on_neg")
    assert done.code == 2
    assert "the process was ended by signal 6" in done.err


@pytest.mark.usefixtures("chain")
@pytest.mark.parametrize(
    "command", ["grep -q prog.neg", "grep -q prog.neg {}", "cat {} | grep -q prog.neg; test $? = 0"]
)
def test_a_command(command: str) -> None:
    done = scaly_reduce("x.sir", f"--test={command}", "-o", "out dir.sir")
    assert done.code == 0
    assert Path("out dir.sir").read_text() == NEG
    path = "'out dir.sir'"
    expected = command.replace("{}", path) if "{}" in command else f"{command} {path}"
    assert done.err.splitlines()[1] == expected
    assert sorted(os.listdir()) == ["out dir.sir", "x.sir"]


@pytest.mark.usefixtures("chain")
def test_a_command_runs_in_the_working_directory_and_cannot_change_the_input() -> None:
    Path("test.sh").write_text('grep -q prog.neg "$1" && echo gone > "$1"\n')
    assert scaly_reduce("x.sir", "--test=sh test.sh", "-q") == (0, "", "")
    assert Path("x.sir").read_text() == CHAIN
    assert Path("x.reduced.sir").read_text() == NEG


@pytest.mark.usefixtures("chain")
def test_wrong_results_of_a_pass() -> None:
    done = scaly_reduce("x.sir", "--miscompile", "@chain", "--pass=dce,turns_neg_around", "--random=3")
    assert done.code == 0, done.err
    text = Path("x.reduced.sir").read_text()
    assert "prog.neg(" in text
    assert text.count("\n") <= 5
    assert done.err.splitlines()[1] == (
        "scaly-run x.reduced.sir @chain --random=3 --print=none --out=expected.npz && "
        "scaly-opt x.reduced.sir --pass=turns_neg_around | "
        "scaly-run - @chain --random=3 --compare=expected.npz"
    )


@needs_cc
def test_wrong_results_of_compiled_code() -> None:
    op = Op.register("odd.twice", "Twice x, but not in C.")
    op.set_signature(["x"], attrs={})
    op.set_attr("FInferType", lambda call: call.args[0].ty)
    op.set_attr("TCallEffectKind", sc.CallEffectKind.Pure)
    op.set_attr("FNumpy", lambda x: x + x)
    op.set_attr("TCSpelling", "3.0 * {0}")
    stores = [f"prog.store odd.twice(prog.load %x[{at}]), %y[{at}] : float64\n" for at in range(2)]
    header = "%x: memref<2xfloat64>, %y: memref<2xfloat64>"
    Path("x.sir").write_text(f"prog.proc @f({header}) {{input_count=1}} {{\n{''.join(stores)}}}\n")
    assert scaly_reduce("x.sir", "--miscompile", "-q", "--timeout=60") == (0, "", "")
    text = Path("x.reduced.sir").read_text()
    assert "odd.twice(" in text
    assert text.count("\n") <= 5


# --- candidates -------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("chain")
def test_a_candidate_that_takes_too_long_is_not_interesting() -> None:
    start = time.monotonic()
    done = scaly_reduce("x.sir", "--error=loops", "--pass=hangs_without_loops", "--timeout=0.5", "-q")
    assert done == (0, "", "")
    assert "prog.for" in Path("x.reduced.sir").read_text()
    assert time.monotonic() - start < 100


@pytest.mark.usefixtures("chain")
def test_an_input_that_takes_too_long() -> None:
    done = scaly_reduce("x.sir", "--test=sleep 100; true", "--timeout=0.2")
    assert done.code == 2
    assert "result: no end in time (see --timeout)\n" in done.err


@pytest.mark.usefixtures("chain")
def test_the_time_for_all() -> None:
    start = time.monotonic()
    done = scaly_reduce("x.sir", "--test=sleep 0.3; grep -q prog.neg", "--max-time=1")
    assert time.monotonic() - start < 30
    assert done.code == 0
    assert done.err.splitlines()[0].endswith(" s; --max-time is over")
    assert "prog.neg" in Path("x.reduced.sir").read_text()


@pytest.mark.usefixtures("chain")
@pytest.mark.parametrize("jobs", ["-j2", "-j=3", "--jobs=8"])
def test_the_result_does_not_depend_on_how_many_are_tried_at_a_time(jobs: str) -> None:
    one = scaly_reduce("x.sir", "--crash", "--pass=trips_on_neg", "-o", "one.sir")
    more = scaly_reduce("x.sir", "--crash", "--pass=trips_on_neg", "-o", "more.sir", jobs)
    assert Path("one.sir").read_text() == Path("more.sir").read_text()
    assert one.err.splitlines()[0].rpartition(",")[0] == more.err.splitlines()[0].rpartition(",")[0]


def test_a_file_that_does_not_verify() -> None:
    Path("x.sir").write_text(OUT_OF_BOUNDS)
    done = scaly_reduce("x.sir", "--error=index 9")
    assert done.code == 1
    assert done.err.endswith("scaly-reduce: note: --allow-invalid reduces a file that does not verify\n2 errors\n")
    assert not Path("x.reduced.sir").exists()
    done = scaly_reduce("x.sir", "--error=index 9", "--allow-invalid", "-q")
    assert done == (0, "", "")
    assert Path("x.reduced.sir").read_text() == (
        "prog.proc @f(%x: memref<1xfloat64>) {\n  prog.store 0, %x[9] : float64\n}\n"
    )


def test_an_operation_that_is_not_valid_gets_other_operands() -> None:
    Path("x.sir").write_text(
        "expr.func @f(%x: tensor<8xfloat64>) -> (%y: tensor<8xfloat64>) {\n"
        '  %0 = expr.input {name="x"} : tensor<8xfloat64>\n'
        "  %1 = expr.sin(%0) : tensor<8xfloat64>\n"
        "  %2 = expr.slice(%1) {index=[slice(0, 4, None)]} : tensor<4xfloat64>\n"
        "  %3 = expr.add(%1, %2) : tensor<8xfloat64>\n"
        "  expr.return %3\n}\n"
    )
    assert scaly_reduce("x.sir", "--error=broadcast", "--allow-invalid", "-q") == (0, "", "")
    kept = Path("x.reduced.sir").read_text()
    assert "expr.add(" in kept
    assert "expr.sin" not in kept
    assert "expr.slice" not in kept


def test_a_file_that_cannot_be_read_as_ir() -> None:
    Path("x.sir").write_text(BAD_SYNTAX)
    done = scaly_reduce("x.sir", "--error=expected 'step'")
    assert done.code == 1
    assert done.err.endswith("scaly-reduce: note: --text reduces a file that cannot be read, by lines and tokens\n")
    done = scaly_reduce("x.sir", "--error=expected 'step'", "--text")
    assert done.code == 0
    assert re.match(r"reduced \d lines to 1, ", done.err)
    text = Path("x.reduced.sir").read_text()
    assert text.startswith("prog.for")
    assert len(text) < 30


@pytest.mark.parametrize(
    ("data", "error"),
    [(b"prog.proc @f(%x\xff) {\n}\n", "byte 0xff"), (b"a\0b\n", "binary file"), ("prog.proc @é {\n}".encode(), "é")],
)
def test_text_that_is_no_text(data: bytes, error: str) -> None:
    Path("x.sir").write_bytes(data)
    assert scaly_reduce("x.sir", f"--error={error}", "--text", "-q") == (0, "", "")
    assert len(Path("x.reduced.sir").read_bytes()) <= 3


def test_a_failure_that_its_layout_makes() -> None:
    Path("x.sir").write_text(TEN_LINES.replace("    prog.store", "  /" + "/ why\n    prog.store"))
    done = scaly_reduce("x.sir", "--test=grep -q why")
    assert done.code == 2
    message = "'x.sir' is not interesting any more once it is printed again; --text keeps its layout"
    assert done.err.splitlines()[0] == f"scaly-reduce: error: {message}"
    assert scaly_reduce("x.sir", "--test=grep -q why", "--text", "-q").code == 0
    assert Path("x.reduced.sir").read_text() == "why"


def test_a_dialect_that_says_nothing_of_its_modules(monkeypatch: pytest.MonkeyPatch) -> None:
    from scaly_ir.tools.reduce import steps

    monkeypatch.setattr(steps, "_KINDS", {})
    Path("x.sir").write_text(CHAIN)
    assert scaly_reduce("x.sir", "--crash", "--pass=trips_on_neg,canonicalize", "-q").code == 0
    text = Path("x.reduced.sir").read_text()
    assert "prog.neg" in text
    assert "prog.exp" not in text


def test_a_dialect_can_bring_its_own_changes() -> None:
    from scaly_ir.tools.reduce.steps import Kind, add_kinds, kinds_of

    kind = Kind("nothing", lambda root: (), lambda root, edits: None)
    root = sc.parse(CHAIN)
    before = kinds_of(root)
    with sc.registry_scope():
        add_kinds("prog", [kind])
        assert kinds_of(root) == [kind]
    assert kinds_of(root) == before


# --- files ------------------------------------------------------------------------------------------------------------


def test_standard_input_goes_to_standard_output() -> None:
    done = scaly_reduce("-", "--crash", "--pass=trips_on_neg", "-q", stdin=CHAIN)
    assert (done.code, done.out, done.err) == (0, NEG, "")
    done = scaly_reduce("-", "--crash", "--stdin-name=kernel.sir", stdin="prog.proc")
    assert done.code == 1
    assert done.err.startswith("kernel.sir:1:10: error: ")
    assert os.listdir() == []


@pytest.mark.usefixtures("chain")
def test_a_file_may_take_its_own_place() -> None:
    assert scaly_reduce("x.sir", "--crash", "--pass=trips_on_neg", "-q", "-o", "x.sir").code == 0
    assert Path("x.sir").read_text() == NEG


@pytest.mark.usefixtures("chain")
def test_an_output_that_cannot_be_written() -> None:
    done = scaly_reduce("x.sir", "--crash", "--pass=trips_on_neg", "-o", "no/such.sir")
    assert done.code == 1
    assert done.err == "scaly-reduce: error: cannot write 'no/such.sir': No such file or directory\n"


@pytest.mark.parametrize(("name", "output"), [("a.b", "a.b.reduced.sir"), ("x.sir", "x.reduced.sir")])
def test_the_name_of_the_output(name: str, output: str) -> None:
    Path(name).write_text(CHAIN)
    assert scaly_reduce(name, "--crash", "--pass=trips_on_neg", "-q").code == 0
    assert Path(output).read_text() == NEG


@pytest.mark.parametrize("text", ["", "// nothing\n", "\ufeff\r\n"])
def test_an_empty_file(text: str) -> None:
    Path("x.sir").write_text(text)
    done = scaly_reduce("x.sir", "--test=true")
    assert done.code == 0
    assert done.err.startswith("reduced 0 operations to 0, 0 candidates, ")
    assert Path("x.reduced.sir").read_text() == ""


@pytest.mark.usefixtures("chain")
@pytest.mark.parametrize(("room", "kept"), [(0, False), (3, True)])
def test_no_room_for_candidates(room: int, kept: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    write, places = interest.Folder.write, iter(range(room))

    def write_while_there_is_room(folder: interest.Folder, state: State) -> Path:
        if next(places, None) is None:
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(folder, state)

    monkeypatch.setattr(interest.Folder, "write", write_while_there_is_room)
    done = scaly_reduce("x.sir", "--crash", "--pass=trips_on_neg", "-q")
    assert (done.code, done.out) == (1, "")
    assert done.err == "scaly-reduce: error: cannot test candidates: No space left on device\n"
    assert os.path.exists("x.reduced.sir") == kept


def test_files_that_cannot_be_read() -> None:
    Path("kernel.sir").write_text(CHAIN)
    done = scaly_reduce("kernle.sir", "--crash")
    assert (done.code, done.err) == (
        1,
        "scaly-reduce: error: cannot read 'kernle.sir': No such file or directory; did you mean 'kernel.sir'?\n",
    )
    assert scaly_reduce(".", "--crash").code == 1


@pytest.mark.usefixtures("chain")
def test_progress() -> None:
    done = scaly_reduce("x.sir", "--crash", "--pass=dce,trips_on_neg", "-v")
    assert "scaly-reduce: passes: 7 operations, " in done.err
    assert re.search(r"scaly-reduce: operations: \d operations, \d+ characters\n", done.err)


@pytest.mark.usefixtures("chain")
def test_messages_for_programs() -> None:
    done = scaly_reduce("x.sir", "--crash", "--pass=trips_on_neg", "--diagnostics=json")
    said = [json.loads(line) for line in done.err.splitlines()]
    assert [each["severity"] for each in said] == ["note", "note"]
    assert said[0]["message"].startswith("reduced 7 operations to 3, ")
    done = scaly_reduce("x.sir", "--crash", "--diagnostics=json")
    assert json.loads(done.err)["code"] == "not-interesting"


# --- reproducers ------------------------------------------------------------------------------------------------------

HEADER = """\
// scaly-reproducer: 1
// pipeline: fuse_elementwise,trips_on_neg,dce{}
// options: --verify-each
// failed: trips_on_neg: error: internal error in pass 'trips_on_neg': KeyError: 'neg'
// run: scaly-opt --run-reproducer x.sir
"""


def test_a_reproducer_says_what_is_run_and_what_fails() -> None:
    Path("x.sir").write_text(HEADER + CHAIN)
    done = scaly_reduce("x.sir")
    assert done.code == 0
    assert done.err.splitlines()[1] == "scaly-opt x.reduced.sir --pass=trips_on_neg"
    assert Path("x.reduced.sir").read_text() == (
        HEADER.replace("fuse_elementwise,trips_on_neg,dce{}", "trips_on_neg").replace("x.sir", "x.reduced.sir") + NEG
    )
    done = scaly_reduce("x.reduced.sir", "-q")
    assert Path("x.reduced.reduced.sir").read_text().endswith(NEG)


def test_what_scaly_opt_saves_is_reduced() -> None:
    Path("x.sir").write_text(CHAIN)
    assert scaly_opt("x.sir", "--pass=canonicalize,trips_on_neg,dce", "--reproducer=saved.sir").code == 3
    done = scaly_reduce("saved.sir")
    assert done.code == 0, done.err
    assert Path("saved.reduced.sir").read_text().endswith(NEG)
    again = scaly_opt("--run-reproducer", "saved.reduced.sir")
    assert again.code == 3
    assert "KeyError: 'neg'" in again.err


def test_options_override_a_reproducer() -> None:
    Path("x.sir").write_text(HEADER.replace("neg'\n", "other'\n") + CHAIN)
    assert scaly_reduce("x.sir").code == 2
    assert scaly_reduce("x.sir", "--error=KeyError", "-q").code == 0
    assert scaly_reduce("x.sir", "--test=grep -q prog.exp", "-q").code == 0
    assert Path("x.reduced.sir").read_text().startswith("prog.module")


@pytest.mark.parametrize(
    ("old", "new", "error"),
    [
        ("reproducer: 1", "reproducer: 2", "'x.sir' is a reproducer of version 2, expected version 1"),
        ("// failed", "// fialed", "'x.sir' is a reproducer that does not say what failed; give --error or --crash"),
        (",dce", ",dcee", "the pipeline of 'x.sir': unknown pass 'dcee'; did you mean 'dce'?"),
    ],
)
def test_reproducers_that_cannot_be_used(old: str, new: str, error: str) -> None:
    Path("x.sir").write_text(HEADER.replace(old, new) + CHAIN)
    done = scaly_reduce("x.sir")
    assert done.code == 2
    assert done.err.splitlines()[0] == f"scaly-reduce: error: {error}"


# --- what is refused --------------------------------------------------------------------------------------------------

TWO = "are two tests; one decides what is interesting"


@pytest.mark.usefixtures("chain")
def test_an_input_that_is_not_interesting() -> None:
    done = scaly_reduce("x.sir", "--test=echo nothing; echo here >&2; false")
    assert (done.code, done.out) == (2, "")
    assert done.err == (
        "scaly-reduce: error: 'x.sir' is not interesting\n"
        "  command: echo nothing; echo here >&2; false x.sir\n"
        "  result: exit code 1\n"
        "  output:\n"
        "    nothing\n"
        "    here\n"
    )
    assert not Path("x.reduced.sir").exists()
    done = scaly_reduce("x.sir", "--error=nothing", "--pass=trips_on_neg")
    assert done.code == 2
    assert done.err == (
        "scaly-reduce: error: 'x.sir' is not interesting\n"
        "  command: scaly-opt x.sir --pass=trips_on_neg\n"
        "  result: exit code 3\n"
        "  output:\n"
        "    scaly-opt: error: internal error in pass 'trips_on_neg': KeyError: 'neg'\n"
    )
    done = scaly_reduce("x.sir", "--miscompile", "--pass=dce")
    assert done.code == 2
    assert "    y: memref<4xfloat64>: equal\n" in done.err


@pytest.mark.usefixtures("chain")
@pytest.mark.parametrize(
    ("argv", "error"),
    [
        (
            ["x.sir"],
            "'x.sir' is no reproducer, so give --test, --error, --crash or --miscompile to say what is interesting",
        ),
        (["--crash"], "no file to reduce; '-' is standard input"),
        (["x.sir", "y.sir", "--crash"], "scaly-reduce takes one file, found 'x.sir' and 'y.sir'"),
        (["x.sir", "@f", "@g", "--miscompile"], "scaly-reduce takes one function, found '@f' and '@g'"),
        (["x.sir", "@", "--miscompile"], "'@' expects the name of a function behind it"),
        (["x.sir", "@f", "--crash"], "a function needs '--miscompile'"),
        (["x.sir", "--crash", "--random=1"], "option '--random' needs '--miscompile'"),
        (["x.sir", "--crash", "--miscompile"], f"options '--crash' and '--miscompile' {TWO}"),
        (["x.sir", "--test=a", "--error=b"], f"options '--error' and '--test' {TWO}"),
        (
            ["x.sir", "--test=a", "--pass=dce"],
            "option '--pass' does not go with '--test', whose command runs the passes",
        ),
        (["x.sir", "--miscompile", "--text"], "option '--text' does not go with '--miscompile', which runs a function"),
        (["x.sir", "--crash", "-j0"], "option '-j' expects a number of at least 1, got '0'"),
        (["x.sir", "--crash", "-j", "two"], "option '-j' expects a number of at least 1, got 'two'"),
        (
            ["x.sir", "--crash", "--timeout=soon"],
            "option '--timeout' expects seconds, a number of at least 0, got 'soon'",
        ),
        (
            ["x.sir", "--crash", "--max-time=-1"],
            "option '--max-time' expects seconds, a number of at least 0, got '-1'",
        ),
        (["x.sir", "--error=a("], "option '--error' expects a regular expression: missing ), unterminated subpattern"),
        (["x.sir", "--crsh"], "unknown option '--crsh'; did you mean '--crash'?"),
        (["x.sir", "--crash", "--pass=dcee"], "unknown pass 'dcee'; did you mean 'dce'?"),
    ],
)
def test_wrong_command_lines(argv: list[str], error: str) -> None:
    done = scaly_reduce(*argv)
    assert (done.code, done.out) == (2, "")
    assert done.err.splitlines()[0] == f"scaly-reduce: error: {error}"
    assert os.listdir() == ["x.sir"]


def test_the_tool_is_installed_under_its_name() -> None:
    import tomllib

    root = Path(__file__).parents[2]
    scripts = tomllib.loads((root / "pyproject.toml").read_text())["project"]["scripts"]
    assert scripts["scaly-reduce"] == "scaly_ir.tools.start:scaly_reduce"
    assert sys.modules[tool.__name__] is tool
