"""What --print-rewrites shows: each rewrite with its rule, and something true of every pass that changes something."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import pytest

from scaly_ir.graph import Node
from scaly_ir.graph.observe import observer, report_rewrite
from scaly_ir.pass_manager import Pass, Pipeline, load_pass
from scaly_ir.passes import PASSES
from scaly_ir.tools.discovery.examples import read_example
from scaly_ir.tools.opt.rewrites import LONGEST, MOST_LINES
from tests.tools.running import CHAIN, FUSED, scaly_opt

HEAD = "// -----// Rewrite "
SHARED = """\
prog.proc @f(%x: memref<8xfloat64>) {
  prog.store prog.add(prog.load %x[0], 0), %x[0] : float64
}
prog.proc @g(%x: memref<8xfloat64>) {
  prog.store prog.add(prog.load %x[0], 0), %x[1] : float64
  prog.store prog.add(prog.load %x[1], 0), %x[1] : float64
}
"""
ROWS = """\
expr.func @f(%x: tensor<4xfloat64>) -> (%y: tensor<4xfloat64>) {
  %0 = expr.input {lowering="auto", name="x"} : tensor<4xfloat64>
  %1 = expr.const {lowering="auto", value=[1.0, 2.0, 3.0, 4.0]} : tensor<4xfloat64>
  %2 = expr.const {lowering="auto", value=1.0} : tensor<float64>
  %3 = expr.mul(%1, %2) : tensor<4xfloat64>
  %4 = expr.add(%0, %3) : tensor<4xfloat64>
  expr.return %4
}
"""
TWO = """\
expr.func @f(%x: tensor<float64>, %y: tensor<float64>) -> (%z: tensor<float64>) {
  %0 = expr.input {lowering="auto", name="x"} : tensor<float64>
  %1 = expr.input {lowering="auto", name="y"} : tensor<float64>
  %2 = expr.mul(%0, %1) : tensor<float64>
  %3 = expr.sub(%0, %1) : tensor<float64>
  %4 = expr.add(%2, %3) : tensor<float64>
  expr.return %4
}
"""
STEPS = [
    name
    for name in sorted(PASSES)
    if not issubclass(load_pass(PASSES, name), Pipeline) and read_example(load_pass(PASSES, name), name)
]


@dataclass(frozen=True)
class Half(Pass):
    """Tell of a rewrite and fail."""

    name: ClassVar[str] = "half"
    dialects: ClassVar[frozenset[str] | None] = None

    def run(self, root: Node) -> Node:
        """Raise what no pass should."""
        report_rewrite("begin", root.args[0].args[-1])
        raise KeyError(3)


@dataclass(frozen=True)
class Swap(Pass):
    """Swap the operands of the second operand of a function's result, and tell nobody."""

    name: ClassVar[str] = "swap"
    dialects: ClassVar[frozenset[str] | None] = None

    def run(self, root: Node) -> Node:
        """Return the module of the function."""
        (function,) = root.args
        result, *inputs = function.args
        first, second = result.args
        swapped = result.replace(args=[first, second.replace(args=second.args[::-1])])
        return root.replace(args=[function.replace(args=[swapped, *inputs])])


@pytest.fixture(autouse=True)
def _files(workspace: Path) -> None:
    for name, text in {"f.sir": CHAIN, "shared.sir": SHARED, "rows.sir": ROWS}.items():
        (workspace / name).write_text(text, encoding="utf-8")


def _heads(text: str) -> list[str]:
    return [line.removeprefix(HEAD).removesuffix(" //----- //") for line in text.splitlines() if line.startswith(HEAD)]


@pytest.mark.parametrize("name", STEPS)
def test_every_pass_that_changes_something_shows_it(name: str, workspace: Path) -> None:
    example = read_example(load_pass(PASSES, name), name)
    assert example is not None
    (workspace / "example.sir").write_text(example.before, encoding="utf-8")
    plain = scaly_opt("example.sir", f"--pass={name}", "--print-ir-diff", "-q")
    shown = scaly_opt("example.sir", f"--pass={name}", f"--print-rewrites={name}", "-q")
    assert (shown.code, shown.out) == (0, plain.out)
    assert bool(_heads(shown.err)) == bool(plain.err)
    assert all([f" ({name})" in head for head in _heads(shown.err)])
    assert {line[0] for line in shown.err.splitlines()} <= set("-+ @/")
    assert observer() is None


RULES = {  # of passes that apply rules, or replace statements one by one: those of the example
    "canonicalize": {"add_zero", "fold prog.add", "multiply_by_one"},
    "fold_arith": {"add_zero", "fold prog.add", "multiply_by_one"},
    "fold_arith_after_unroll": {"drop_dead_buffer", "drop_fill", "read"},
    "fold_tiles": {"fold_table", "read"},
    "inline": {"inline_call"},
    "legalize": {"default.FLegalize"},
    "lower_intrinsics": {"default.FLegalize"},
    "prepare_scalar": {"name_scalars"},
    "simplify": {"add_zero"},
    "unroll_loops": {"unroll_loop"},
    "widen_ranges": {"widen_loop"},
}


@pytest.mark.parametrize("name", sorted(RULES))
def test_rules(name: str, workspace: Path) -> None:
    example = read_example(load_pass(PASSES, name), name)
    assert example is not None
    done = scaly_opt("-", f"--pass={name}", f"--print-rewrites={name}", stdin=example.before)
    assert {head.partition(" (")[0] for head in _heads(done.err)} == RULES[name]


def test_a_pass_without_rules_has_one_rewrite_for_each_function() -> None:
    done = scaly_opt("f.sir", "--pass=fuse_elementwise", "--print-rewrites=fuse-elementwise")
    assert (done.code, done.out) == (0, FUSED)
    assert _heads(done.err) == ['fuse_elementwise (fuse_elementwise) loc("f.sir":2:3)']
    assert [line for line in done.err.splitlines() if line[0] == "+"] == [
        "+    prog.store prog.neg(prog.exp(prog.load %x[%j])), %y[%j] : float64"
    ]


def test_what_a_pass_works_out_for_itself_is_no_rewrite(workspace: Path) -> None:
    (workspace / "once.sir").write_text(
        "prog.proc @f(%x: memref<8xfloat64>) {\n"
        "  prog.for %i = prog.add(1, 0) to 2 step 1 {kind=global} {\n"
        "    prog.store 1, %x[%i] : float64\n  }\n}\n",
        encoding="utf-8",
    )
    done = scaly_opt("once.sir", "--pass=unroll_unit_loops", "--print-rewrites=unroll_unit_loops")
    assert _heads(done.err) == ['unroll_unit_loops (unroll_unit_loops) loc("once.sir":1:1)']


def test_what_is_part_of_two_functions_has_the_place_of_the_first() -> None:
    every = scaly_opt("shared.sir", "--pass=canonicalize", "--print-rewrites=canonicalize")
    assert _heads(every.err) == [
        'add_zero (canonicalize) loc("shared.sir":2:3)',
        'add_zero (canonicalize) loc("shared.sir":6:3)',
    ]
    one = scaly_opt("shared.sir", "--pass=canonicalize", "--print-rewrites=canonicalize", "--print-ir-func=@g")
    assert _heads(one.err) == [
        'add_zero (canonicalize) loc("shared.sir":5:3)',
        'add_zero (canonicalize) loc("shared.sir":6:3)',
    ]
    none = scaly_opt("shared.sir", "--pass=canonicalize", "--print-rewrites=canonicalize", "--print-ir-func=@h")
    assert none.err == "scaly-opt: warning: option '--print-ir-func': there is no function @h\n"


def test_only_the_passes_that_are_named() -> None:
    done = scaly_opt("shared.sir", "--pass=fold_arith,canonicalize,dce", "--print-rewrites=canonicalize,dce")
    assert done.err == "", "fold_arith left them nothing to do"
    done = scaly_opt("shared.sir", "f.sir", "--pass=fold_arith,fuse_elementwise", "--print-rewrites=fold_arith")
    assert [head.partition(" ")[0] for head in _heads(done.err)] == ["add_zero"] * 3


def test_constants() -> None:
    done = scaly_opt("rows.sir", "--pass=simplify", "--print-rewrites=simplify")
    assert done.err == (
        f'{HEAD}multiply_by_one (simplify) loc("rows.sir":5:3) //----- //\n'
        "-expr.mul([1.0, 2.0, 3.0, 4.0], 1.0) : tensor<4xfloat64>\n"
        "+[1.0, 2.0, 3.0, 4.0] : tensor<4xfloat64>\n"
    )
    done = scaly_opt("rows.sir", "--pass=simplify", "--print-rewrites=simplify", "--elide-constants=3")
    assert "-expr.mul(elided<4>, 1.0) : tensor<4xfloat64>\n+elided<4> : tensor<4xfloat64>\n" in done.err


def test_colours() -> None:
    options = ["shared.sir", "--pass=canonicalize", "--print-rewrites=canonicalize"]
    plain, coloured = scaly_opt(*options), scaly_opt(*options, "--color=always")
    assert "\x1b" not in plain.err
    assert coloured.err.splitlines()[:3] == [
        plain.err.splitlines()[0],
        "\x1b[31m-prog.add(prog.load %x[0], 0) : float64\x1b[0m",
        "\x1b[32m+prog.load %x[0] : float64\x1b[0m",
    ]


def test_another_dialect_is_a_change_of_every_function() -> None:
    heads = _heads(scaly_opt("rows.sir", "--pass=lower", "--print-rewrites=lower").err)
    assert heads == ['multiply_by_one (lower) loc("rows.sir":5:3)', 'lower (lower) loc("rows.sir":1:1)']


def test_a_rewrite_is_short_however_deep_and_long_the_program_is(workspace: Path) -> None:
    value = "prog.load %x[0]"
    for _ in range(3000):
        value = f"prog.neg(prog.exp({value}))"
    text = f"prog.proc @f(%x: memref<8xfloat64>) {{\n  prog.store prog.add({value}, 0), %x[0] : float64\n"
    stores = "".join([f"  %v{n} = prog.assign {n} : float64 {{declare=True}}\n" for n in range(100)])
    (workspace / "deep.sir").write_text(f"{text}{stores}}}\n", encoding="utf-8")
    done = scaly_opt("deep.sir", "--pass=canonicalize,dce,cse", "--print-rewrites=canonicalize,dce,cse")
    lines = done.err.splitlines()
    assert lines[:3] == [
        f'{HEAD}add_zero (canonicalize) loc("deep.sir":2:3) //----- //',
        "-prog.add(prog.neg(prog.exp(...)), 0) : float64",
        "+prog.neg(prog.exp(prog.neg(...))) : float64",
    ]
    assert lines[3].startswith(f"{HEAD}dce (dce)")
    assert len(lines) == 3 + 1 + MOST_LINES + 1
    assert lines[-1].endswith(" more lines")
    assert max(map(len, lines)) <= LONGEST + len("...")


def test_what_was_done_before_a_failure_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(PASSES, "half", Half)
    done = scaly_opt("shared.sir", "f.sir", "--pass=half", "--print-rewrites=half", "-q")
    assert done.code == 3
    assert done.err.splitlines()[:3] == [
        f'{HEAD}begin (half) loc("shared.sir":2:3) //----- //',
        "-prog.store prog.add(prog.load %x[0], 0), %x[0] : float64",
        "scaly-opt: error: internal error in pass 'half': KeyError: 3",
    ]
    assert observer() is None


def test_a_change_of_numbers_alone_is_said(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(PASSES, "swap", Swap)
    (workspace / "two.sir").write_text(TWO, encoding="utf-8")
    done = scaly_opt("two.sir", "--pass=swap", "--print-rewrites=swap")
    assert "expr.sub(%1, %0)" in done.out
    assert done.err == f"{HEAD}swap (swap) //----- //\n// its text is the same but for the numbers of values\n"


@pytest.mark.parametrize("name", ["dce", "default", "nothing"])
def test_a_pass_that_is_not_run(name: str) -> None:
    done = scaly_opt("f.sir", "--pass=cse", f"--print-rewrites={name}")
    assert (done.code, done.out) == (2, "")
    assert f"pass '{name}' is not run; these are: cse" in done.err
