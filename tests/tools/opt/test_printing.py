"""The forms in which scaly-opt prints: each option alone and all together, in the result, in dumps and in files."""

from __future__ import annotations

from pathlib import Path

import pytest

from scaly_ir.passes import PASSES
from tests.tools.passes import REGISTRY
from tests.tools.running import CHAIN, FUSED, scaly_opt

TABLE = """\
prog.module {
  prog.proc @f(%y: memref<4xfloat64>) {
    %k = prog.buffer : memref<4xfloat64, constant> = dense<[1.0, 2.0, 3.0, 4.0]>
    prog.store prog.load %k[0], %y[0] : float64
  }
}
"""
CONSTANT = """\
expr.func @f() -> (%y: tensor<3xfloat64>) {
  %0 = expr.const {lowering="auto", value=[1.0, 2.0, 3.0]} : tensor<3xfloat64>
  expr.return %0
}
"""
BANNER = "// constants are left out: this text does not verify\n"


@pytest.fixture(autouse=True)
def _files(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, place in REGISTRY.items():
        monkeypatch.setitem(PASSES, name, place)
    for name, text in (("f", CHAIN), ("table", TABLE), ("constant", CONSTANT)):
        (workspace / f"{name}.sir").write_text(text, encoding="utf-8")


@pytest.mark.parametrize("spelling", ["--elide-constants", "--mlir-elide-elementsattrs-if-larger"])
def test_constants_are_left_out_when_they_are_larger(spelling: str) -> None:
    assert scaly_opt("table.sir", f"{spelling}=4").out == TABLE
    done = scaly_opt("table.sir", f"{spelling}=3")
    assert done.out == BANNER + TABLE.replace("[1.0, 2.0, 3.0, 4.0]", "elided<4>")
    done = scaly_opt("constant.sir", f"{spelling}=2")
    assert done.out == BANNER + CONSTANT.replace("[1.0, 2.0, 3.0]", "elided<3>")


@pytest.mark.parametrize("name", ["table", "constant"])
@pytest.mark.parametrize("options", [(), ("--generic",)])
def test_what_was_left_out_is_missed(name: str, options: tuple[str, ...], workspace: Path) -> None:
    text = scaly_opt(f"{name}.sir", "--elide-constants=0", *options).out
    (workspace / "again.sir").write_text(text, encoding="utf-8")
    done = scaly_opt("again.sir")
    assert done.code == 1
    assert "this constant was elided when it was printed" in done.err


def test_a_wrong_number_is_a_usage_error() -> None:
    done = scaly_opt("f.sir", "--elide-constants=many")
    assert done.code == 2
    assert "option '--elide-constants' expects a number of at least 0, got 'many'" in done.err


def test_dumps_leave_constants_out_and_files_do_not(workspace: Path) -> None:
    options = ("--pass=raises", "--elide-constants=1", "--print-ir-tree-dir=tree", "--reproducer=r.sir")
    done = scaly_opt("table.sir", "--print-ir-before-all", *options)
    assert "dense<elided<4>>" in done.err
    for name in ("tree/00_input.sir", "r.sir"):
        assert "elided" not in (workspace / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("spelling", ["--print-locations", "--mlir-print-debuginfo"])
def test_locations(spelling: str) -> None:
    lines = scaly_opt("f.sir", spelling, "--pass=fuse_elementwise").out.splitlines()
    assert lines[0] == 'prog.module loc("f.sir":1:1) {'
    assert lines[1].endswith('{input_count=1} loc("f.sir":2:3) {')
    assert lines[2].endswith('{kind=global} loc("f.sir":7:5) {')
    assert lines[3].endswith(': float64 loc("f.sir":8:7)')  # it stores where that one did
    assert lines[4:] == ["    }", "  }", "}"]


def test_what_a_pass_made_of_nothing_comes_from_nowhere() -> None:
    out = scaly_opt("f.sir", "--print-locations", "--pass=mends").out
    assert out.splitlines()[1].endswith(") loc(unknown) {")


@pytest.mark.parametrize("options", [(), ("--generic",), ("--print-users",), ("--pass=dce",)])
@pytest.mark.parametrize("name", ["f", "table", "constant"])
def test_locations_survive_reading_and_printing(name: str, options: tuple[str, ...], workspace: Path) -> None:
    before = scaly_opt(f"{name}.sir", "--print-locations", *options).out
    (workspace / "again.sir").write_text(before, encoding="utf-8")
    shown = [option for option in options if not option.startswith("--pass")]
    assert scaly_opt("again.sir", "--print-locations", *shown).out == before
    assert f'loc("{name}.sir":1:1)' in before
    # In another form or layout, operations come from the same places.
    plain = scaly_opt("again.sir", "--print-locations").out
    (workspace / "again.sir").write_text(before.replace(" loc(", "\n  loc (").replace(":1)", ": 1 )"), encoding="utf-8")
    assert scaly_opt("again.sir", "--print-locations").out == plain


def test_an_unknown_place_stays_unknown(workspace: Path) -> None:
    (workspace / "u.sir").write_text('prog.call @f() loc(unknown)\nprog.call @f() loc("\\u0061":9:8)\nprog.call @f()\n')
    places = [line.partition(" loc")[2] for line in scaly_opt("u.sir", "--print-locations").out.splitlines()]
    assert places == ["(unknown)", '("a":9:8)', '("u.sir":3:1)']


def test_messages_are_about_the_place_that_the_text_gives(workspace: Path) -> None:
    wrong = 'prog.store %t, %y[0] : float64 loc("f.sir":8:7)\n'
    head = "prog.proc @g(%y: memref<1xfloat64>) {\n"
    (workspace / "wrong.sir").write_text(f"{head}  {wrong}}}\n", encoding="utf-8")
    done = scaly_opt("wrong.sir")
    line = CHAIN.splitlines()[7]
    assert done.err == f"f.sir:8:7: error: 'prog.store': name %t is not declared here [in-scope]\n{line}\n      ^\n"
    for place, shown in (('"gone.sir":8:7', "gone.sir:8:7"), ('"f.sir":800:7', "f.sir:800:7"), ('"":0:0', ":1:1")):
        text = wrong.replace('"f.sir":8:7', place)
        (workspace / "wrong.sir").write_text(f"{head}  {text}}}\n", encoding="utf-8")
        assert scaly_opt("wrong.sir").err == (
            f"{shown}: error: 'prog.store': name %t is not declared here [in-scope]\n"
            f"wrong.sir:2:14: note: it stands here in the text that was read\n  {text}             ^~\n"
        )
    text = wrong.replace('"f.sir":8:7', "unknown")
    (workspace / "wrong.sir").write_text(f"{head}  {text}}}\n", encoding="utf-8")
    assert scaly_opt("wrong.sir").err.startswith("wrong.sir:2:14: error: ")


def test_locations_and_users_are_no_part_of_the_ir(workspace: Path) -> None:
    for options in (("--print-locations",), ("--print-users",), ("--generic",), ("--print-locations", "--generic")):
        (workspace / "again.sir").write_text(scaly_opt("f.sir", *options).out, encoding="utf-8")
        done = scaly_opt("again.sir")
        assert (done.code, done.out, done.err) == (0, CHAIN, "")


def test_users() -> None:
    lines = scaly_opt("f.sir", "--print-users").out.splitlines()
    assert lines[1].endswith("{  // %x users: prog.store %t0; %y users: prog.store %y")
    assert lines[2].endswith("private>  // users: prog.store %t0, prog.store %y")
    assert scaly_opt("constant.sir", "--print-users").out.splitlines()[1].endswith("// users: expr.return")


@pytest.mark.parametrize("spelling", ["--generic", "--mlir-print-op-generic"])
def test_the_generic_form_is_everywhere(spelling: str, workspace: Path) -> None:
    done = scaly_opt("f.sir", spelling, "--pass=fuse_elementwise", "--print-ir-after-all", "--print-ir-tree-dir=tree")
    assert done.out.startswith('"prog.program"(\n  "prog.proc"(\n    "prog.buffer"() {')
    assert done.err.endswith(done.out)
    assert (workspace / "tree" / "01_fuse_elementwise.sir").read_text(encoding="utf-8") == done.out
    (workspace / "again.sir").write_text(done.out, encoding="utf-8")
    assert scaly_opt("again.sir").out == FUSED


def test_all_together() -> None:
    options = ("--generic", "--print-locations", "--print-users", "--elide-constants=3", "--verify-roundtrip")
    done = scaly_opt("table.sir", *options)
    assert done.code == 0
    assert done.out.startswith(BANNER + '"prog.program"(')
    assert 'values=elided<4>} : float64 loc("table.sir":3:5),  // users: prog.store %y\n' in done.out


def test_what_its_printer_does_not_take_is_shown_in_the_generic_form() -> None:
    done = scaly_opt("f.sir", "--pass=mangles", "--print-ir-after-failure")
    assert done.code == 1
    assert '  "prog.store"() : none\n' in done.err
    assert done.err.startswith('// -----// IR Dump After mangles Failed //----- //\n"prog.program"(\n')


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('"prog.stor"() : none', "unknown operation 'prog.stor'; did you mean 'prog.store' or 'prog.store_pair'?"),
        ('"prog.store"("expr.add"() : none) : none', "operation 'expr.add' is not allowed in dialect 'prog'"),
        ('"prog.store"() : flaot64', "expected"),
        ('"prog.store"(%x) : none', "expected"),
        ('"prog.block"() : none', "expected statements in 'prog.block', found none"),
        ('"prog.program"() : none "prog.program"() : none', "a file holds one module"),
        ("prog.store 1, %x[0] : float64 loc(here)", "expected"),
        ('%0 = "expr.func"() : none', "function has no name"),
        ('"expr.region"() {name="r"} : none', "expected results of 'expr.region', found none"),
        ('"expr.return"() : none', "expected results of 'expr.return', found none"),
        ('"expr.const"() : tensor<float64>', "expected a name before '\"expr.const\"'"),
        ('%0 = "expr.const"() : none', "expected a type such as 'tensor<8xfloat64>', found none"),
        ('"expr.module"(%0) : none', "undefined name '%0'"),
        ('"expr.module"() {bare=%0} : none', "attribute 'bare' of 'expr.module' is no function"),
        ('%0 = "expr.call"() {callee=%0} : tensor<float64>', "'%0' is used before it is defined"),
        ('"nobody.op"() : none', "unknown dialect 'nobody'"),
    ],
)
def test_mistakes_are_located(text: str, message: str, workspace: Path) -> None:
    (workspace / "wrong.sir").write_text(text, encoding="utf-8")
    done = scaly_opt("wrong.sir")
    assert done.code == 1
    assert done.err.startswith("wrong.sir:1:")
    assert message in done.err


def test_the_verifier_points_into_generic_text(workspace: Path) -> None:
    text = scaly_opt("f.sir", "--generic").out.replace('"prog.const_int"() {value=4}', '"prog.const_int"() {value=5}')
    (workspace / "wrong.sir").write_text(text, encoding="utf-8")
    done = scaly_opt("wrong.sir")
    assert (done.code, done.out) == (1, "")
    assert "[in-bounds]" in done.err or "bounds" in done.err
