"""scaly-run from the command line to the exit code, in this process: options, engines, files and failures."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from scaly_ir.tools import scaly_run as tool
from scaly_ir.tools.interrupts import ending_at_once
from tests.tools.run_cases import SCALE, needs_cc, same, scaly_run
from tests.tools.running import environment

pytestmark = pytest.mark.usefixtures("workspace")

INPUTS = ("--in", "x=[1,2,3]", "--in", "k=2")
RESULT = "y: tensor<3xfloat64>\n  [2.0, 4.0, 6.0]\n"


# --- what is printed and nothing else ---------------------------------------------------------------------------------


def test_help_fits_a_terminal_and_names_every_option() -> None:
    done = scaly_run("--help")
    assert (done.code, done.err) == (0, "")
    assert len(done.out.splitlines()) <= 64
    assert max([len(line) for line in done.out.splitlines()]) <= 80
    for option in tool.OPTIONS:
        assert re.search(rf"(?<![\w-])-{{1,2}}{option.names[0]}(?![\w-])", done.out), option.names[0]


def test_version_and_usage() -> None:
    assert re.fullmatch(r"scaly-run \d+\.\d+\.\d+\n", scaly_run("--version").out)
    assert scaly_run(terminal=True) == (2, "", tool.USAGE)


# --- interrupts -------------------------------------------------------------------------------------------------------

ENDLESS = """\
prog.proc @f(%n: memref<1xfloat64>, %y: memref<1xfloat64>) {input_count=1} {
  prog.store 0, %y[0] : float64
  prog.for %i = 0 to prog.cast(prog.load %n[0], int64) step 1 {kind=serial} {
    prog.for %j = 0 to prog.cast(prog.load %n[0], int64) step 1 {kind=serial} {
      prog.store prog.add(prog.sin(prog.load %y[0]), prog.load %n[0]), %y[0] : float64
    }
  }
}
"""


@needs_cc
@pytest.mark.skipif(os.name != "posix", reason="signals as POSIX has them")
def test_an_interrupt_ends_compiled_code() -> None:
    Path("f.sir").write_text(ENDLESS)
    command = [sys.executable, "-m", "scaly_ir.tools.scaly_run", "f.sir", "-v", "--engine=c", "--out=y.npy", "--in"]
    subprocess.run([*command, "n=[1]"], env=environment(), check=True, capture_output=True)  # what is compiled is kept
    os.unlink("y.npy")
    command.append("n=[1e9]")
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment()) as process:
        assert process.stderr is not None
        assert process.stdout is not None
        while process.stderr.readline() != b"scaly-run: compiling @f\n":
            assert process.poll() is None
        try:
            with pytest.raises(subprocess.TimeoutExpired):
                process.wait(1.5)  # time for the compiled code to begin, which does not end in years
            process.send_signal(signal.SIGINT)
            assert process.wait(5) in (-signal.SIGINT, 130)
        finally:
            process.kill()
        assert process.stdout.read() == b""
    assert os.listdir() == ["f.sir"]


def test_an_interrupt_is_left_to_whoever_calls_the_tool_as_a_function() -> None:
    before = signal.getsignal(signal.SIGINT)
    with ending_at_once():
        assert signal.getsignal(signal.SIGINT) is before


# --- input ------------------------------------------------------------------------------------------------------------


def test_standard_input_and_files() -> None:
    Path("f.sir").write_text(SCALE)
    assert scaly_run(*INPUTS) == (0, RESULT, "")
    assert scaly_run("-", "@scale", *INPUTS) == (0, RESULT, "")
    assert scaly_run("f.sir", *INPUTS, stdin="") == (0, RESULT, "")
    assert scaly_run("@scale", "f.sir", *INPUTS, stdin="") == (0, RESULT, "")


@pytest.mark.parametrize(
    ("argv", "text", "code", "message"),
    [
        (["missing.sir"], "", 1, "cannot read 'missing.sir': No such file or directory"),
        ([], "expr.func @f(", 1, "<stdin>:1:14: error: "),
        ([], "// nothing\n", 1, "scaly-run: error: the file defines no function to run"),
        ([], "prog.store 1, %x[0] : float64\n", 1, "a function or procedure is run, this file holds a fragment"),
        (["@scal"], SCALE, 1, "there is no function @scal in the file; did you mean @scale?"),
        (["a.sir", "b.sir"], "", 2, "scaly-run runs one file, found 'a.sir' and 'b.sir'"),
        (["@"], SCALE, 2, "'@' expects the name of a function behind it"),
        (["--compare", "--rtol=-1"], SCALE, 2, "option '--rtol' expects a number of at least 0, got '-1'"),
        (["--engine=d"], SCALE, 2, "option '--engine' expects 'ref' or 'c', got 'd'"),
        (["--compare", "--engine=c"], SCALE, 2, "option '--compare' without a file runs both engines"),
        (["--sanitize"], SCALE, 2, "option '--sanitize' needs '--engine=c' or '--compare'"),
        (["--oops"], SCALE, 2, "unknown option '--oops'"),
    ],
)
def test_what_cannot_be_run(argv: list[str], text: str, code: int, message: str) -> None:
    done = scaly_run(*argv, stdin=text)
    assert (done.code, done.out) == (code, "")
    assert message in done.err
    assert "Traceback" not in done.err


_MANY = "1x" * 65


@pytest.mark.parametrize("options", [[], ["--engine=c"]])
@pytest.mark.parametrize(
    "text", [same(f"tensor<{_MANY}float64>"), f"prog.proc @same(%x: memref<{_MANY}float64>) {{\n}}\n"]
)
def test_arrays_have_64_axes_at_most(text: str, options: list[str]) -> None:
    done = scaly_run("--random=0", *options, stdin=text)
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("<stdin>:1:")
    assert "error: %x of @same has 65 axes; arrays have at most 64\n" in done.err


@needs_cc
def test_values_in_between_have_64_axes_at_most() -> None:
    ones = ", ".join(["1"] * 65)
    text = (
        "expr.func @f(%x: tensor<1xfloat64>) -> (%y: tensor<1xfloat64>) {\n"
        '  %0 = expr.input {name="x"} : tensor<1xfloat64>\n'
        f"  %1 = expr.reshape(%0) {{shape=[{ones}]}} : tensor<{_MANY}float64>\n"
        "  %2 = expr.reshape(%1) {shape=[1]} : tensor<1xfloat64>\n"
        "  expr.return %2\n}\n"
    )
    done = scaly_run("--in", "x=[2]", stdin=text)
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("<stdin>:3:3: error: 'expr.reshape' has 65 axes; what is evaluated has at most 64\n")
    compiled = scaly_run("--in", "x=[2]", "--engine=c", stdin=text)
    assert (compiled.code, compiled.out) == (0, "y: tensor<1xfloat64>\n  [2.0]\n")


def test_a_verifier_error_comes_before_the_run() -> None:
    done = scaly_run(stdin="prog.proc @f(%x: memref<1xfloat64>) {\n  prog.store 1, %x[1] : float64\n}\n")
    assert done.code == 1
    assert done.err.startswith("<stdin>:2:")


def test_an_equal_statement_of_another_procedure_is_not_blamed() -> None:
    done = scaly_run("--in", "at=[1]", "--in", "y=[0]", stdin=TWINS)
    assert done.code == 1
    assert done.err.startswith("<stdin>:6:5: error: ")


TWINS = """\
prog.module {
  prog.proc @twin(%at: memref<1xint64>, %y: memref<1xfloat64>) {
    prog.store 1, %y[prog.load %at[0]] : float64
  }
  prog.proc @f(%at: memref<1xint64>, %y: memref<1xfloat64>) {
    prog.store 1, %y[prog.load %at[0]] : float64
    prog.call @twin(%at, %y)
  }
}
"""


# --- results ----------------------------------------------------------------------------------------------------------


def test_results_in_files() -> None:
    assert scaly_run(*INPUTS, "--out=y.npz", "--print=none") == (0, "", "")
    with np.load("y.npz") as archive:
        assert archive.files == ["y"]
        assert archive["y"].tolist() == [2.0, 4.0, 6.0]
    first = Path("y.npz").read_bytes()
    scaly_run(*INPUTS, "--out=y.npz")
    assert Path("y.npz").read_bytes() == first
    assert scaly_run(*INPUTS, "--out=y.npy") == (0, RESULT, "")
    assert np.load("y.npy").tolist() == [2.0, 4.0, 6.0]
    assert sorted(os.listdir()) == ["y.npy", "y.npz"]


def test_a_file_stays_as_it_was_when_something_is_wrong() -> None:
    Path("y.npz").write_text("old")
    assert scaly_run("--in", "x=1", "--out=y.npz").code == 1
    assert scaly_run(*INPUTS, "--out=none/y.npz").code == 1
    text = SCALE.replace("(%y: tensor<3xfloat64 diff>)", "(%y: tensor<3xfloat64 diff>, %z: tensor<3xfloat64 diff>)")
    done = scaly_run(*INPUTS, "--out=y.npy", stdin=text.replace("return %2", "return %2, %2"))
    assert (done.code, "'y.npy' holds one array, and there are 2 results" in done.err) == (1, True)
    assert Path("y.npz").read_text() == "old"
    assert os.listdir() == ["y.npz"]


def test_digits_and_repeat() -> None:
    done = scaly_run("--in=x=[1,2,3]", "--in=k=0.123456", "--digits=2", "--repeat=3")
    assert done.out == "y: tensor<3xfloat64>\n  [0.12, 0.25, 0.37]\n"
    assert re.fullmatch(r"scaly-run: @scale \(ref\), 3 calls: best [\d.]+ [mun]?s, mean [\d.]+ [mun]?s\n", done.err)


def test_more_digits_than_there_are() -> None:
    assert scaly_run("--in=x=[1,2,3]", "--in=k=0.1", "--digits=999999999").out.endswith(
        "[0.1, 0.2, 0.30000000000000004]\n"
    )


def test_a_nan_is_a_nan_whatever_its_bits() -> None:
    np.save("x.npy", np.array([np.nan, -np.nan, np.frombuffer(b"\x01\0\0\0\0\0\xf8\x7f")[0]]))
    assert scaly_run("--in", "x=x.npy", stdin=same("tensor<3xfloat64>")).out.endswith("[nan, nan, nan]\n")


# --- engines ----------------------------------------------------------------------------------------------------------


@needs_cc
def test_engines_agree() -> None:
    assert scaly_run(*INPUTS, "--engine=c") == (0, RESULT, "")
    assert scaly_run(*INPUTS, "--compare") == (0, "y: tensor<3xfloat64>: equal\n", "")
    assert scaly_run(*INPUTS, "--compare", "--print=full").out == f"y: tensor<3xfloat64>: equal\n{RESULT}"


def test_comparison_with_stored_results() -> None:
    np.savez("near.npz", y=np.array([2.0, 4.0, np.nextafter(6.0, 7.0)]))
    np.savez("far.npz", y=np.array([2.0, np.nan, 6.5]))
    line = "y: tensor<3xfloat64>: within tolerance; largest difference: "
    done = scaly_run(*INPUTS, "--compare=near.npz")
    assert (done.code, done.err) == (0, "")
    assert done.out == f"{line}absolute 8.88e-16 at [2], relative 1.48e-16 at [2], 1 ULP at [2]\n"
    assert scaly_run(*INPUTS, "--compare=near.npz", "--rtol=0", "--atol=0").code == 1
    done = scaly_run(*INPUTS, "--compare=far.npz", "--rtol=100")
    assert done.code == 1
    assert "beyond tolerance; largest difference: absolute inf at [1]" in done.out
    assert "error: %y[1] is 4.0 by ref, and nan by far.npz" in done.err
    np.savez("other.npz", z=np.zeros(3), y=np.zeros(2))
    assert "expected tensor<3xfloat64>, got tensor<2xfloat64>" in scaly_run(*INPUTS, "--compare=other.npz").err
    assert "cannot read 'none.npz'" in scaly_run(*INPUTS, "--compare=none.npz").err


def test_nan_equals_nan_and_integers_are_exact() -> None:
    np.savez("y.npz", y=np.array([np.nan, np.inf]))
    assert scaly_run("--in", "x=[nan,inf]", "--compare=y.npz", stdin=same("tensor<2xfloat64>")).code == 0
    np.savez("n.npz", y=np.array([1, 2**40]))
    argv = ("--compare=n.npz", "--rtol=1")
    assert scaly_run("--in", f"x=[1,{2**40}]", *argv, stdin=same("tensor<2xint64>")).code == 0
    assert scaly_run("--in", f"x=[1,{2**40 + 1}]", *argv, stdin=same("tensor<2xint64>")).code == 1


@needs_cc
def test_what_has_no_compiled_form_is_located() -> None:
    done = scaly_run("--in", "x=[1,2]", "--engine=c", stdin=same("tensor<2xint64>"))
    assert (done.code, done.out) == (1, "")
    assert "error: @same cannot be compiled: @same: inputs and outputs are dense float64" in done.err
    text = "prog.proc @f(%n: memref<1xfloat64>) {\n  prog.store prim.sigmoid(prog.load %n[0]), %n[0] : float64\n}\n"
    done = scaly_run("--in", "n=[1]", "--engine=c", stdin=text)
    assert done.err.startswith("<stdin>:2:14: error: no c lowering for operator 'prim.sigmoid'")


@needs_cc
def test_compiled_procedures_take_elements_of_any_type() -> None:
    text = "prog.proc @f(%n: memref<2xint32>, %p: memref<2xbool>) {input_count=1} {\n  prog.store 1, %p[1] : bool\n"
    text += "  prog.store prog.lt(3, prog.load %n[1]), %p[0] : bool\n}\n"
    done = scaly_run("--in", "n=[1,7]", "--engine=c", stdin=text)
    assert done == (0, "p: memref<2xbool>\n  [true, true]\n", "")
    assert scaly_run("--in", "n=[1,3]", "--compare", stdin=text) == (0, "p: memref<2xbool>: equal\n", "")


def test_without_a_compiler() -> None:
    done = scaly_run(*INPUTS, "--engine=c", "--cc=no-such-compiler")
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("scaly-run: error: no C compiler: 'no-such-compiler', named by --cc, is not found; ")


@needs_cc
def test_kept_files_and_the_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SCALY_IR_CACHE_DIR", str(tmp_path / "cache"))
    assert scaly_run(*INPUTS, "--engine=c", "--no-cache", "--keep=kept").code == 0
    assert sorted(os.listdir("kept"))[:2] == ["command.txt", "kernel.c"]
    assert not Path("cache").exists()
    assert scaly_run(*INPUTS, "--engine=c").code == 0
    assert len(os.listdir("cache")) == 1
    Path("file").write_text("")
    done = scaly_run(*INPUTS, "--engine=c", "--keep=file")
    assert (done.code, "cannot write 'file': File exists" in done.err) == (1, True)


OVERFLOW = """\
prog.proc @f(%at: memref<1xfloat64>, %y: memref<4xfloat64>) {input_count=1} {
  prog.for %i = 0 to 4 step 1 {kind=global} {
    prog.store 1, %y[%i] : float64
  }
  prog.store 2, %y[prog.cast(prog.load %at[0], int64)] : float64
}
"""


@needs_cc
def test_the_compilers_checks() -> None:
    done = scaly_run("--in", "at=[3]", "--engine=c", "--sanitize", stdin=OVERFLOW)
    if "cannot find" in done.err or "unsupported" in done.err:
        pytest.skip("the compiler has no libraries for its checks")
    assert (done.code, done.out, done.err) == (0, "y: memref<4xfloat64>\n  [1.0, 1.0, 1.0, 2.0]\n", "")
    done = scaly_run("--in", "at=[4]", "--engine=c", "--sanitize", stdin=OVERFLOW)
    assert (done.code, done.out) == (1, "")
    assert "error: a check of the compiled code failed: " in done.err
    assert "heap-buffer-overflow" in done.err


# --- what kills compiled code, and what it has no room for ------------------------------------------------------------

DIVISION = """\
prog.proc @f(%x: memref<2xfloat64>, %y: memref<1xfloat64>) {input_count=1} {
  %a = prog.assign prog.cast(prog.load %x[0], int64) : int64 {declare=True}
  %b = prog.assign prog.cast(prog.load %x[1], int64) : int64 {declare=True}
  prog.store prog.cast(prog.div(%a, %b), float64), %y[0] : float64
}
"""

WILD = """\
prog.proc @f(%x: memref<1xfloat64>, %y: memref<1xfloat64>) {input_count=1} {
  prog.store prog.load %x[prog.cast(prog.load %x[0], int64)], %y[0] : float64
}
"""


@needs_cc
@pytest.mark.skipif(not hasattr(os, "fork"), reason="a process of its own needs fork")
def test_what_kills_compiled_code_is_an_error() -> None:
    done = scaly_run("--in", "x=[1,0]", "--engine=c", stdin=DIVISION)
    assert (done.code, done.out) == (1, "")
    assert done.err == (
        "scaly-run: error: the compiled code was killed by signal SIGFPE (a division of integers by zero, or of the "
        "least integer by -1); --engine=ref finds the place\n"
    )
    assert scaly_run("--in", "x=[7,-2]", "--compare", "--repeat=2", stdin=DIVISION).code == 0
    least = "x=[-9223372036854775808,-1]"  # which the text takes care of
    assert (
        scaly_run("--in", least, "--engine=c", stdin=DIVISION).out
        == "y: memref<1xfloat64>\n  [-9.223372036854776e+18]\n"
    )
    done = scaly_run("--in", "x=[1e15]", "--engine=c", stdin=WILD)
    assert (done.code, done.out, "killed by signal SIGSEGV (an address" in done.err) == (1, "", True)


@needs_cc
def test_parameters_that_are_read_and_written_by_compiled_code() -> None:
    text = "prog.proc @f(%x: memref<2xfloat64>) {\n  prog.store prog.load %x[0], %x[1] : float64\n}\n"
    done = scaly_run("--in", "x=[3,4]", "--engine=c", "--repeat=3", stdin=text)
    assert (done.code, done.out) == (0, "x: memref<2xfloat64>\n  [3.0, 3.0]\n")


HUGE_WORKSPACE = """\
prog.module {
  prog.proc @f(%y: memref<1xfloat64>) {input_count=0, sz_w=1000000000000, w_self=1000000000000} {
    %w0 = prog.buffer : memref<1000000000000xfloat64, private> = prog.workspace offset 0
    %b = prog.buffer : memref<BUFFERxfloat64, private>
    prog.store 1, %b[9] : float64
    prog.store prog.load %b[9], %y[0] : float64
  }
}
"""


@needs_cc
@pytest.mark.skipif(sys.platform != "linux", reason="the address space cannot be limited")
@pytest.mark.parametrize("buffer", ["10", "100000"])  # a large one gets a stack of its own
def test_no_memory_for_the_workspace(buffer: str) -> None:
    Path("w.sir").write_text(HUGE_WORKSPACE.replace("BUFFER", buffer))
    command = f"ulimit -v 8000000; exec {sys.executable} -m scaly_ir.tools.scaly_run w.sir --random=1 --engine="
    for engine in ("ref", "c", "c --repeat=2"):
        done = subprocess.run(["sh", "-c", command + engine], env=environment(), capture_output=True, text=True)
        what = "the workspace needs 1000000000000 elements of float64"
        assert done.stderr == f"scaly-run: error: {what}, for which there is no memory\n"
        assert (done.returncode, done.stdout) == (1, "")


OUTER = """\
expr.func @f(%x: tensor<4000000xfloat64>, %z: tensor<4000000x1xfloat64>) -> (%y: tensor<4000000x4000000xfloat64>) {
  %0 = expr.input {name="x"} : tensor<4000000xfloat64>
  %1 = expr.input {name="z"} : tensor<4000000x1xfloat64>
  %2 = expr.mul(%0, %1) : tensor<4000000x4000000xfloat64>
  expr.return %2
}
"""


def test_no_memory_for_a_value() -> None:
    done = scaly_run("--random=1", stdin=OUTER)
    what = "'expr.mul' gives 16000000000000 elements of float64, for which there is no memory"
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith(f"<stdin>:4:3: error: {what}\n")
    beyond = OUTER.replace("4000000", "4000000000")  # more than any array has
    done = scaly_run("--in", "x=[1]", "--in", "z=[[1]]", stdin=beyond)
    assert done.code == 1
    done = scaly_run("--random=1", "--check-finite", stdin=OUTER)
    assert (done.code, what in done.err) == (1, True)


@needs_cc
def test_no_memory_for_a_result_of_compiled_code() -> None:
    done = scaly_run("--random=1", "--engine=c", stdin=OUTER)
    what = "result %y of @f is tensor<4000000x4000000xfloat64>"
    assert (done.code, done.out, done.err) == (1, "", f"scaly-run: error: {what}, for which there is no memory\n")


@pytest.mark.parametrize("extent", [10**12, 9 * 10**17])
@pytest.mark.parametrize("kind", ["tensor", "memref"])
@pytest.mark.parametrize(
    "options", [["--random=1"], ["--in", "x=arange"], ["--in", "x=fill:2"], ["--in", "0=random:3"]]
)
def test_no_memory_for_an_input(kind: str, extent: int, options: list[str]) -> None:
    type_ = f"{kind}<{extent}xfloat64>"
    text = f"prog.proc @same(%x: {type_}) {{input_count=1}} {{\n}}\n" if kind == "memref" else same(type_)
    done = scaly_run(*options, stdin=text)
    origin = " ".join(options)
    assert (done.code, done.out) == (1, "")
    assert f": error: input %x of @same, {origin}: it is {type_}, for which there is no memory\n" in done.err
    assert done.err.startswith("<stdin>:1:")


def test_places_of_what_the_evaluators_refuse() -> None:
    text = "expr.func @f(%x: tensor<2xint64>) -> (%y: tensor<2xint64>) {\n"
    text += '  %0 = expr.input {name="x"} : tensor<2xint64>\n'
    text += '  %1 = expr.call(%0) {callee="inner", output=0} : tensor<2xint64>\n  expr.return %1\n}\n'
    message = "'expr.call' refers to the function 'inner', which is not defined here"
    assert scaly_run("--random=1", stdin=text).err.startswith(f"<stdin>:3:3: error: {message}\n")
    head = "prog.proc @g(%x: memref<1xfloat64>, %y: memref<2xfloat64>) {input_count=1} {\n}\n"
    text = head + head.replace("@g", "@f").replace("{\n", "{\n  prog.store 1, %y[0] : float64\n", 1)
    done = scaly_run("--random=1", stdin=text)
    assert done.err.startswith("<stdin>:3:37: error: @f: element 1 of output %y is never written\n")
    assert "                                    ^~~~~~~~~~~~~~~~~~~~~\n" in done.err


@needs_cc
@pytest.mark.skipif(not Path("/bin/true").exists(), reason="needs a command that does nothing")
@pytest.mark.parametrize("options", [["--no-cache"], [], ["--sanitize"]])
def test_a_compiler_that_makes_nothing(options: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCALY_IR_CC", "/bin/true")
    done = scaly_run(*INPUTS, "--engine=c", *options)
    assert (done.code, done.out) == (1, "")
    assert "error: the C compiler failed: '/bin/true' says that all went well, but it made no file 'kernel" in done.err
    assert "Errno" not in done.err


def test_questions_load_no_arrays() -> None:
    script = (
        "import sys\n"
        "from scaly_ir.tools.scaly_run import main\n"
        "main(['--help'], sys.stdin, sys.stdout, sys.stderr)\n"
        "print(sorted({'numpy', 'ctypes', 'subprocess', 'rich', 'lark'} & set(sys.modules)))\n"
    )
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", env=environment(), check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_the_evaluator_loads_nothing_for_compiled_code() -> None:
    script = (
        "import sys\n"
        "from scaly_ir.tools.scaly_run import main\n"
        f"main({['--in', 'at=[3]', '-']!r}, sys.stdin, sys.stdout, sys.stderr)\n"
        "print([name for name in sys.modules if name.startswith(('scaly_ir.tools.jit', 'scaly_ir.tools.run.child'))])\n"
    )
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, input=OVERFLOW, capture_output=True, encoding="utf-8", env=environment(), check=True)
    assert done.stdout.splitlines() == ["y: memref<4xfloat64>", "  [1.0, 1.0, 1.0, 2.0]", "[]"]
