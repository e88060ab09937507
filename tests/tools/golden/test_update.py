"""Checks made anew: which files are touched, where checks go, what they look like, and that they pass."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TextIO

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scaly_ir.op import Op
from scaly_ir.text.source import Source, Span
from scaly_ir.tools.golden import commands, matcher
from scaly_ir.tools.golden.check_options import CheckOptions
from scaly_ir.tools.golden.check_order import ConflictError, Output, in_order
from scaly_ir.tools.golden.execute import run
from scaly_ir.tools.golden.functions import units
from scaly_ir.tools.golden.golden_file import BadTestFileError, load
from scaly_ir.tools.golden.llvm import SecondOpinion, find_program
from scaly_ir.tools.golden.run_line import Paths
from scaly_ir.tools.golden.update import NOTE, KeptError, update, write_checks

HEAD = re.compile(r"^x\.sir:(\d+:\d+): error: (.*)$", re.MULTILINE)

Updated = Callable[..., str]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in an empty folder; return it."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def made(folder: Path, text: str | bytes, *, force: bool = False) -> str:
    """Return what becomes of the file `x.sir`, after a look that it passes and that a second run changes nothing."""
    path = folder / "x.sir"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    paths = Paths(path, folder / "x.tmp")
    write_checks(path, "x.sir", paths, folder / "kept", "x.sir::update", force=force)
    program = find_program()
    check = SecondOpinion(program).check if program else matcher.check
    test = load(path, "x.sir")
    for line in test.runs:
        done = run(test, line, paths, check=check)
        assert [command.failure for command in done if command.failure] == [], path.read_text()
    again = update(path, "x.sir", paths, folder / "kept", "x.sir::update")
    assert again.data == path.read_bytes()
    assert again.diff == []
    return path.read_bytes().decode()


def mistake(folder: Path, text: str, *, force: bool = False) -> list[str]:
    """Return the head lines of why a file cannot be updated; it is left as it was."""
    path = folder / "x.sir"
    path.write_text(text)
    with pytest.raises(BadTestFileError) as refused:
        update(path, "x.sir", Paths(path, folder / "x.tmp"), folder / "kept", "x.sir::update", force=force)
    assert path.read_text() == text
    return [": ".join(found) for found in HEAD.findall(str(refused.value))]


def checks(text: str) -> list[str]:
    """Return the directives of a file, without what makes them comments."""
    return [line.strip()[3:] for line in text.splitlines() if re.match(r"\s*// [A-Z0-9]+(-[A-Z]+)?:", line)][1:]


FUNCTION = """\
prog.proc @{name}(%x: memref<8xfloat64>) {{
  prog.store {value}, %x[0] : float64
}}
"""


def _functions(*names: str, value: int = 1) -> str:
    return "".join([FUNCTION.format(name=name, value=value) for name in names])


# --- where checks go --------------------------------------------------------------------------------------------------


def test_a_block_above_each_function(folder: Path) -> None:
    text = made(folder, "// RUN: scaly-opt %s | filecheck %s\n\n// My words.\n\n" + _functions("f", "g"))
    assert text == (
        f"// RUN: scaly-opt %s | filecheck %s\n{NOTE}\n\n// My words.\n\n"
        "// CHECK-LABEL: prog.proc @f(%x: memref<8xfloat64>) {\n"
        "// CHECK-NEXT:    prog.store 1, %x[0] : float64\n"
        "// CHECK-NEXT:  }\n"
        f"{_functions('f')}"
        "// CHECK-LABEL: prog.proc @g(%x: memref<8xfloat64>) {\n"
        "// CHECK-NEXT:    prog.store 1, %x[0] : float64\n"
        "// CHECK-NEXT:  }\n"
        f"{_functions('g')}"
    )


def test_functions_of_a_module_and_numbered_values(folder: Path) -> None:
    text = made(
        folder,
        "// RUN: scaly-opt %s | filecheck %s\n"
        "expr.module {\n"
        "  expr.func @f(%x: tensor<2xfloat64>) -> (%y: tensor<2xfloat64>) {\n"
        '    %in = expr.input {name="x"} : tensor<2xfloat64>\n'
        "    %a = expr.add(%in, %in) : tensor<2xfloat64>\n"
        "    expr.return %a\n"
        "  }\n"
        "}\n",
    )
    assert checks(text)[1:] == [
        "CHECK-LABEL: expr.func @f(%x: tensor<2xfloat64>) -> (%y: tensor<2xfloat64>) {",
        'CHECK-NEXT:    %[[V0:[0-9]+]] = expr.input {lowering="auto", name="x"} : tensor<2xfloat64>',
        "CHECK-NEXT:    %[[V1:[0-9]+]] = expr.add(%[[V0]], %[[V0]]) : tensor<2xfloat64>",
        "CHECK-NEXT:    expr.return %[[V1]]",
        "CHECK-NEXT:  }",
    ]
    assert "\n  // CHECK-LABEL: expr.func" in text


@pytest.mark.parametrize("order", ["fgh", "hgf", "ghf", "fh", "h", "fgxh", "xfgh", "fghx", "hxf"])
def test_the_order_of_the_output_is_kept(folder: Path, order: str) -> None:
    (folder / "out").write_text(_functions(*order))
    text = made(folder, "// RUN: cat out | filecheck %s\n" + _functions(*"fgh"))
    assert re.findall(r"LABEL: prog.proc @(\w)", text) == list(order)
    if order == "fgh":
        assert re.findall(r"proc @(\w)", text) == list("ffgghh")


def test_functions_of_one_name_in_parts_of_a_file(folder: Path) -> None:
    parts = f"{_functions('f')}// -----\n{_functions('f')}"
    text = made(folder, f"// RUN: scaly-opt %s --split-input-file | filecheck %s\n{parts}")
    assert re.findall(r"(LABEL)|(^prog.proc)|(-----)", text, re.MULTILINE) == [
        ("LABEL", "", ""),
        ("", "prog.proc", ""),
        ("", "", "-----"),
        ("LABEL", "", ""),
        ("", "prog.proc", ""),
    ]


def test_text_without_functions_is_checked_line_by_line(folder: Path) -> None:
    (folder / "out").write_text("\n\none\n\n  two\n\n\nthree\n\n")
    text = made(folder, "// RUN: cat out | filecheck %s\n\nprog.store 1, %x[0] : float64\n")
    assert checks(text)[1:] == [
        "CHECK:      one",
        "CHECK-EMPTY:",
        "CHECK-NEXT:   two",
        "CHECK-EMPTY:",
        "CHECK-EMPTY:",
        "CHECK-NEXT: three",
    ]
    assert text.startswith(f"// RUN: cat out | filecheck %s\n{NOTE}\n// CHECK:      one\n")


def test_text_around_functions_is_checked_too(folder: Path) -> None:
    (folder / "out").write_text(f"first\n\nprog.module {{\n{_functions('f')}}}\nlast\n")
    text = made(folder, "// RUN: cat out | filecheck %s\n" + _functions("f"))
    assert checks(text)[1:] == [
        "CHECK: first",
        "CHECK-LABEL: prog.proc @f(%x: memref<8xfloat64>) {",
        "CHECK-NEXT:    prog.store 1, %x[0] : float64",
        "CHECK-NEXT:  }",
        "CHECK: last",
    ]


def test_text_before_a_function_stands_above_it(folder: Path) -> None:
    (folder / "out").write_text(f"{_functions('f')}between\n{_functions('g')}")
    text = made(folder, "// RUN: cat out | filecheck %s\n" + _functions("f", "g"))
    assert "}\n// CHECK: between\n// CHECK-LABEL: prog.proc @g(" in text


def test_a_header_over_several_lines_and_a_call(folder: Path) -> None:
    file = (
        "// RUN: scaly-opt %s | filecheck %s\n"
        "prog.module {\nprog.proc @f(\n    %x: memref<8xfloat64>,\n    %y: memref<8xfloat64>)\n"
        "{\n}\n"
        "prog.proc @g(\n    %x: memref<8xfloat64>, %y: memref<8xfloat64>) {\n"
        "  prog.call @f(%x, %y)\n"
        "  prog.for %i = 0 to 8 step 1 {kind=global} {\n  }\n}\n}\n"
    )
    text = made(folder, file)
    assert re.findall(r"LABEL: prog.proc @(\w)", text) == ["f", "g"]
    assert "// CHECK-NEXT:    }\n// CHECK-NEXT:  }\nprog.proc @g(\n" in text


# --- what checks look like --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "check"),
    [
        ("[[1, 2], [3]]", r"{{\[\[}}1, 2], [3]]"),
        ("a[[[x", r"a{{\[\[\[}}x"),
        ("{{a}}", r"{{\{\{}}a}}"),
        ("{[[1]]}", r"{{\{\[\[}}1]]}"),
        ("{{}}", r"{{\{\{[}][}]}}"),
        ("%0 = f(%1, %0, %10)", "%[[V0:[0-9]+]] = f(%[[V1:[0-9]+]], %[[V0]], %[[V2:[0-9]+]])"),
        ("[%0]", "[%[[V0:[0-9]+]]]"),
        ("[[%0]]", r"{{\[\[}}%[[V0:[0-9]+]]]]"),
        ("%x %t0 %0x %1.2", "%x %t0 %0x %1.2"),
        ("CHECK: a CHECK-NEXT: b", "CHECK{{:}} a CHECK-NEXT{{:}} b"),
        ("// RUN: a", "// RUN{{:}} a"),
        (".* (a|b) \\d $ ^", ".* (a|b) \\d $ ^"),
    ],
)
def test_one_line(folder: Path, line: str, check: str) -> None:
    (folder / "out").write_text(f"{line}\n")
    assert checks(made(folder, "// RUN: cat out | filecheck %s\n"))[1:] == [f"CHECK: {check}"]


def test_names_of_numbers_begin_anew_in_each_function(folder: Path) -> None:
    body = "  %{0} = f\n  g(%{0})\n}}\n"
    (folder / "out").write_text(f"expr.region @f {{\n{body.format(0)}expr.region @g(%7: t) {{\n{body.format(7)}")
    assert checks(made(folder, "// RUN: cat out | filecheck %s\n"))[1:] == [
        "CHECK-LABEL: expr.region @f {",
        "CHECK-NEXT:    %[[V0:[0-9]+]] = f",
        "CHECK-NEXT:    g(%[[V0]])",
        "CHECK-NEXT:  }",
        "CHECK-LABEL: expr.region @g(",
        "CHECK-SAME:  %[[V0:[0-9]+]]: t) {",
        "CHECK-NEXT:    %[[V0]] = f",
        "CHECK-NEXT:    g(%[[V0]])",
        "CHECK-NEXT:  }",
    ]


@pytest.mark.parametrize("options", ["--strict-whitespace", "--match-full-lines", "--enable-var-scope"])
@pytest.mark.parametrize("more", ["", "--match-full-lines --strict-whitespace"])
def test_options_of_the_matcher(folder: Path, options: str, more: str) -> None:
    (folder / "out").write_text("  two  blanks\n\n\ttab\n %0 %0\nend\nexpr.region @g(%0) {\n}\n" + _functions("f"))
    made(folder, f"// RUN: cat out | filecheck %s {options} {more}\n")


def test_other_places_and_line_numbers(folder: Path) -> None:
    file = "// RUN: not scaly-opt %s 2>&1 | filecheck %s\n\nprog.proc @f(%x: memref<8xfloat64>) {\n"
    file += "  prog.store 1, %x[9] : float64\n}\n"
    text = made(folder, file)
    assert folder.as_posix() not in text
    assert checks(text)[1] == (
        "CHECK:      {{.*}}x.sir:[[# @LINE + 4]]:20: error: 'prog.store': index 9 of %x is outside [0, 8) "
        "[index-static-bounds]"
    )
    # More lines before it change nothing in the checks.
    assert made(folder, text.replace("\n\n", "\n\n// More\n// words.\n")) == text.replace(
        "\n\n", "\n\n// More\n// words.\n"
    )


def test_a_line_that_does_not_stay_has_no_number(folder: Path) -> None:
    (folder / "say").write_text(f"{folder.as_posix()}/x.sir:3: a\n{folder.as_posix()}/x.sir:99: b\n")
    file = f"// RUN: cat say | filecheck %s\n{NOTE}\n// CHECK: old\n"
    path = folder / "x.sir"
    path.write_text(file)
    new = update(path, "x.sir", Paths(path), folder, "x.sir::update")
    assert checks(new.data.decode())[1:] == [
        "CHECK:      {{.*}}x.sir:{{[0-9]+}}: a",
        "CHECK-NEXT: {{.*}}x.sir:{{[0-9]+}}: b",
    ]


def test_a_message_that_shows_the_first_line_of_a_function(folder: Path) -> None:
    function = _functions("f")
    (folder / "out").write_text(f"x: warning: w\n{function.splitlines()[0]}\n^\n{function}{_functions('g')}")
    assert checks(made(folder, "// RUN: cat out | filecheck %s\n"))[1:6] == [
        "CHECK:      x: warning: w",
        "CHECK-NEXT: prog.proc @f(%x: memref<8xfloat64>) {",
        "CHECK-NEXT: ^",
        "CHECK:      prog.proc @f(%x: memref<8xfloat64>) {",
        "CHECK-NEXT:   prog.store 1, %x[0] : float64",
    ]


def test_numbers_of_lines_that_are_not_known_as_such(folder: Path) -> None:
    line = "// RUN: not scaly-opt - --stdin-name=kernel.sir < %s 2>&1 | filecheck %s\n"
    text = made(folder, f"{line}prog.proc @f(%x: memref<8xfloat64>) {{\n  prog.store 1, %x[9] : float64\n}}\n")
    assert "// CHECK:      kernel.sir:7:20: error: " in text


def test_what_a_line_registers_is_gone_for_the_next(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def tool(argv: Sequence[str], stdin: TextIO, stdout: TextIO, stderr: TextIO) -> int:
        Op.register("golden_update.twice")
        stdout.write(f"{os.getcwd() == str(folder)}\n")
        os.environ["GOLDEN_UPDATE"] = os.environ.get("GOLDEN_UPDATE", "") + "x"
        stdout.write(os.environ["GOLDEN_UPDATE"])
        return 0

    monkeypatch.setitem(commands._BUILT_IN, "tool", tool)
    path = folder / "x.sir"
    path.write_text("// RUN: tool | filecheck %s\n" * 2)
    monkeypatch.chdir(folder.parent)
    new = update(path, "x.sir", Paths(path), folder, "x.sir::update")
    assert checks(new.data.decode())[2:] == ["CHECK:      True", "CHECK-NEXT: x"]


def test_lines_are_run_until_nothing_changes(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs: list[None] = []

    def tool(argv: Sequence[str], stdin: TextIO, stdout: TextIO, stderr: TextIO) -> int:
        runs.append(None)
        stdout.write("a\n")
        return 0

    monkeypatch.setitem(commands._BUILT_IN, "tool", tool)
    path = folder / "x.sir"
    path.write_text("// RUN: tool | filecheck %s\n")
    first = write_checks(path, "x.sir", Paths(path), folder, "x.sir::update")
    assert (len(runs), first.data) == (2, path.read_bytes())
    again = write_checks(path, "x.sir", Paths(path), folder, "x.sir::update")
    assert (len(runs), again.diff) == (3, [])


def test_the_temporary_path(folder: Path) -> None:
    text = made(folder, "// RUN: not cat %t 2>&1 | filecheck %s\n")
    assert checks(text)[1:] == ["CHECK: cat: error: cannot read '{{.*}}': No such file or directory"]


# --- prefixes ---------------------------------------------------------------------------------------------------------

TWO = "// RUN: cat a | filecheck %s --check-prefixes=CHECK,A\n// RUN: cat b | filecheck %s --check-prefixes=CHECK,B\n"


def test_equal_output_shares_a_prefix(folder: Path) -> None:
    (folder / "a").write_text(_functions("f") + _functions("g", value=1) + _functions("h"))
    (folder / "b").write_text(_functions("f") + _functions("g", value=2) + _functions("h"))
    text = made(folder, TWO + _functions(*"fgh"))
    assert re.findall(r"(\w+)-LABEL: prog.proc @(\w)", text) == [
        ("CHECK", "f"),
        ("A", "g"),
        ("B", "g"),
        ("CHECK", "h"),
    ]


def test_a_function_that_one_run_lacks(folder: Path) -> None:
    (folder / "a").write_text(_functions("f", "g"))
    (folder / "b").write_text(_functions("f") + _functions("h", value=2))
    text = made(folder, TWO + _functions(*"fgh"))
    assert re.findall(r"(\w+)-LABEL: prog.proc @(\w)", text) == [("CHECK", "f"), ("A", "g"), ("B", "h")]


def test_a_shared_prefix_is_not_used_twice() -> None:
    span = Span(Source("x", ""), 0, 0)
    outputs = [
        Output(span, "run1", CheckOptions("x", prefixes), tuple(units(_functions("f"))))
        for prefixes in (("A", "B"), ("B", "A"), ("B",))
    ]
    assert [check.prefix for _, check in in_order(outputs[:2], {})] == ["A"]
    with pytest.raises(ConflictError):  # B alone is not enough for the third, since A is taken by two of B's users
        in_order(outputs, {})


def test_a_prefix_that_is_not_needed(folder: Path) -> None:
    for name in "ab":
        (folder / name).write_text(_functions("f"))
    assert mistake(folder, TWO + _functions("f")) == [
        "1:30: the prefix 'A' is not needed: another one covers all of the output"
    ]


def test_one_prefix_for_equal_output(folder: Path) -> None:
    text = made(folder, "// RUN: scaly-opt %s | filecheck %s\n" * 2 + _functions("f"))
    assert len(checks(text)) == 5


def test_prefixes_that_do_not_suffice(folder: Path) -> None:
    (folder / "a").write_text(_functions("f"))
    (folder / "b").write_text(_functions("f", value=2))
    one = "// RUN: cat a | filecheck %s\n// RUN: cat b | filecheck %s\n"
    assert mistake(folder, one + _functions("f")) == [
        "2:17: run1 and run2 print different text for @f, and the prefix 'CHECK' is for both; "
        "give run2 one of its own, as --check-prefixes=CHECK,CHECK2"
    ]
    (folder / "b").write_text(_functions("g", "f"))
    (folder / "a").write_text(_functions("f", "g"))
    (mistaken,) = mistake(folder, one + _functions("f", "g"))
    assert "RUN lines print the same in another order, so the prefix 'CHECK' cannot be for both" in mistaken


# --- which files are touched ------------------------------------------------------------------------------------------


def test_a_block_is_made_anew_where_it_is_marked(folder: Path) -> None:
    text = made(folder, "// RUN: scaly-opt %s | filecheck %s\n" + _functions("f"))
    changed = text.replace("\n  prog.store 1", "\n  // Mine.\n  prog.store 3")
    assert made(folder, changed) == changed.replace("    prog.store 1", "    prog.store 3")
    assert made(folder, text.replace("// CHECK-NEXT:    prog.store 1, %x[0] : float64\n", "")) == text


def test_checks_that_somebody_wrote_are_kept(folder: Path) -> None:
    text = "// RUN: scaly-opt %s | filecheck %s\n// CHECK: prog.store\n" + _functions("f")
    path = folder / "x.sir"
    path.write_text(text)
    with pytest.raises(KeptError, match="its checks do not come from scaly-check"):
        update(path, "x.sir", Paths(path), folder, "x.sir::update")
    assert "// CHECK: prog.store\n" not in made(folder, text, force=True)


def test_what_is_forced_must_be_possible(folder: Path) -> None:
    text = "// RUN: scaly-opt %s | filecheck %s\n" + _functions("f").replace("{\n", "{ // CHECK: f\n")
    assert mistake(folder, text, force=True) == [
        "2:42: this directive stands behind code, so it cannot be made anew; put it on a line of its own"
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("// RUN: scaly-opt %s | filecheck %s\n// CHECK-NXET: a\n", "2:4: unknown directive 'CHECK-NXET'"),
        ("// RUN: scaly-opt %s ; cat\n", "1:22: ';' is not supported"),
        ("// RUN: cat %s | filecheck %s --ignore-case\n", "1:31: option '--ignore-case' of LLVM's FileCheck"),
        ("// REQUIRES: ccc\n// RUN: cat %s | filecheck %s\n", "1:14: unknown feature 'ccc'"),
        ("func @f\n", "1:1: no RUN line says how to test this file; write one first"),
        ("", "1:1: no RUN line says how to test this file; write one first"),
        ("// RUN: cat nope | filecheck %s\n", "1:9: 'cat' exited with 1, expected 0"),
        ("// RUN: echo -n '' | filecheck %s\n", "1:22: there is no output to check; --allow-empty would accept that"),
    ],
)
def test_mistakes(folder: Path, text: str, message: str) -> None:
    (mistaken,) = mistake(folder, text)
    assert mistaken.startswith(message)


def test_nothing_to_check(folder: Path) -> None:
    path = folder / "x.sir"
    path.write_text("// RUN: scaly-opt %s\n")
    with pytest.raises(KeptError, match="no RUN line checks what comes out"):
        update(path, "x.sir", Paths(path), folder, "x.sir::update")


def test_no_output_where_that_is_right(folder: Path) -> None:
    text = made(folder, "// RUN: scaly-opt %s | filecheck %s --allow-empty\n")
    assert checks(text)[1:] == ["CHECK-NOT: {{.}}"]


def test_checks_behind_one_another_and_negated_ones(folder: Path) -> None:
    (folder / "out").write_text("a\n")
    (folder / "never").write_text("CHECK: b\n")
    line = "// RUN: cat out | filecheck %s && cat out | not filecheck never && cat %s | filecheck %s --check-prefix=B\n"
    path = folder / "x.sir"
    path.write_text(line)
    text = made(folder, line.replace("cat %s | filecheck %s --check-prefix=B", "cat out | filecheck %s"))
    assert checks(text)[1:] == ["CHECK: a"]


def test_line_ends_and_the_mark_at_the_start_stay(folder: Path) -> None:
    file = "// RUN: scaly-opt %s | filecheck %s\n" + _functions("f")
    text = made(folder, b"\xef\xbb\xbf" + file.replace("\n", "\r\n").encode())
    assert text.startswith("\ufeff// RUN")
    assert text.count("\r\n") == text.count("\n") == 8
    text = made(folder, file.removesuffix("\n"))
    assert text.endswith("\n}")


def test_a_run_line_that_goes_on(folder: Path) -> None:
    text = made(folder, "// RUN: scaly-opt %s \\\n// RUN:   | filecheck %s\n" + _functions("f"))
    assert text.startswith(f"// RUN: scaly-opt %s \\\n// RUN:   | filecheck %s\n{NOTE}\n")


# --- expected diagnostics ---------------------------------------------------------------------------------------------

VERIFY = "// RUN: scaly-opt %s --verify-diagnostics\n"
WRONG = "prog.proc @f(%x: memref<8xfloat64>) {\n  prog.store 1, %x[8] : float64\n  prog.store 1, %x[9] : float64\n}\n"
OUTSIDE = "{{'prog.store': index %d of %%x is outside [0, 8) [index-static-bounds]}}"


def test_diagnostics_are_expected_above_their_line(folder: Path) -> None:
    text = made(folder, VERIFY + WRONG)
    assert text.splitlines()[1:] == [
        NOTE,
        "prog.proc @f(%x: memref<8xfloat64>) {",
        f"  // expected-error@+1 {OUTSIDE % 8}",
        "  prog.store 1, %x[8] : float64",
        f"  // expected-error@+1 {OUTSIDE % 9}",
        "  prog.store 1, %x[9] : float64",
        "}",
    ]


def test_what_is_met_stays_and_follows_its_line(folder: Path) -> None:
    first = "  prog.store 1, %x[8] : float64\n"
    kept = (
        f"{VERIFY}{NOTE}\n// expected-error@+4 {{{{index 9}}}}\n// expected-error-re@+10 {{{{in{{{{.*}}}}x}}}}\n"
        + WRONG.replace(first, first.replace("\n", " // expected-error {{gone}} expected-warning {{gone}} and words\n"))
    )
    text = made(folder, kept)
    assert text.splitlines()[2:] == [
        "// expected-error@+4 {{index 9}}",
        "prog.proc @f(%x: memref<8xfloat64>) {",
        f"  // expected-error@+1 {OUTSIDE % 8}",
        "  prog.store 1, %x[8] : float64 //   and words",
        "  prog.store 1, %x[9] : float64",
        "}",
    ]


def test_what_is_met_follows_its_line_over_new_comments(folder: Path) -> None:
    text = made(folder, f"{VERIFY}{NOTE}\n// expected-error@+3 {{{{index 9}}}}\n{WRONG}")
    assert "// expected-error@+4 {{index 9}}\n" in text
    text = made(folder, f"{VERIFY}{NOTE}\n{WRONG}// expected-error@-3 {{{{index 8}}}}\n")
    assert "// expected-error@-4 {{index 8}}\n" in text


def test_where_only_expected_diagnostics_count_no_more_are_expected(folder: Path) -> None:
    line = "// RUN: scaly-opt %s --verify-diagnostics=only-expected\n"
    assert made(folder, line + WRONG) == f"{line}{NOTE}\n{WRONG}"
    expected = f"{line}{NOTE}\n// expected-error@+2 {{{{gone}}}}\n{WRONG}"
    assert made(folder, expected) == f"{line}{NOTE}\n{WRONG}"


def test_expectations_that_are_gone_leave_no_line(folder: Path) -> None:
    text = made(folder, VERIFY + WRONG)
    right = text.replace("%x[8]", "%x[1]").replace("%x[9]", "%x[2]")
    assert made(folder, right) == VERIFY + NOTE + "\n" + WRONG.replace("[8]", "[1]").replace("[9]", "[2]")
    beside = right.replace(f"  // expected-error@+1 {OUTSIDE % 8}\n", "").replace(
        "[1] : float64", "[1] : float64 // expected-error {{x}}"
    )
    assert "float64\n" in made(folder, beside)


def test_diagnostics_without_a_place_and_notes(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def tool(argv: Sequence[str], stdin: TextIO, stdout: TextIO, stderr: TextIO) -> int:
        if "--verify-diagnostics" in argv:
            return 0
        line = Path(argv[0]).read_text().split("\n").index("x") + 1
        places = f"{argv[0]}:{line}:1: note: a note\nx\n^\n{argv[0]}:99:1: error: far }}}}\n"
        stderr.write("tool: error: nowhere {{\n" + places)
        return 1

    monkeypatch.setitem(commands._BUILT_IN, "tool", tool)
    line = "// RUN: tool %s --verify-diagnostics\n"
    assert made(folder, f"{line}\nx\n").splitlines() == [
        line.strip(),
        NOTE,
        "// expected-error@unknown {{nowhere }}",
        "// expected-error@unknown {{far }}",
        "",
        "x",
    ]
    text = made(folder, f"{line}{NOTE}\n// expected-note@+1 {{{{other}}}}\nx\n")
    assert "// expected-note@+1 {{a note}}\nx\n" in text


def test_both_kinds_in_one_file(folder: Path) -> None:
    text = made(folder, f"{VERIFY}// RUN: not scaly-opt %s 2>&1 | filecheck %s\n{WRONG}")
    assert "[[# @LINE + 9]]" in text
    assert f"  // expected-error@+1 {OUTSIDE % 9}\n" in text


def test_expectations_that_somebody_wrote_are_kept(folder: Path) -> None:
    path = folder / "x.sir"
    path.write_text(VERIFY + "// expected-error@+1 {{old}}\n" + WRONG)
    with pytest.raises(KeptError):
        update(path, "x.sir", Paths(path), folder, "x.sir::update")
    assert "old" not in made(folder, path.read_text(), force=True)


# --- listings ---------------------------------------------------------------------------------------------------------

TESTDATA = Path(__file__).resolve().parents[3] / "testdata"
LISTINGS = sorted([path for path in TESTDATA.rglob("*.sir") if {"plugins", "Inputs"}.isdisjoint(path.parts)])


@pytest.mark.parametrize(
    "listing",
    LISTINGS if os.environ.get("SCALY_IR_FULL_TESTS") else LISTINGS[::80],
    ids=lambda path: path.relative_to(TESTDATA).as_posix(),
)
def test_checks_of_our_own_tests_can_be_made_anew(folder: Path, listing: Path) -> None:
    text = listing.read_text(encoding="utf-8")
    if any([word in text for word in ("REQUIRES", "%S", "load-plugin")]):
        pytest.skip("needs more than the file")
    path = folder / "x.sir"
    path.write_text(text, encoding="utf-8")
    try:
        update(path, "x.sir", Paths(path, folder / "x.tmp"), folder, "x.sir::update", force=True)
    except KeptError:
        pytest.skip("nothing to check")
    made(folder, text, force=True)


# --- whatever comes out -----------------------------------------------------------------------------------------------

_words = st.sampled_from(
    [
        *(
            "[",
            "]",
            "{",
            "}",
            "[[",
            "]]",
            "{{",
            "}}",
            "%0",
            "%1",
            "%12",
            "%x",
            " ",
            "  ",
            "\t",
            "a",
            "CHECK:",
            "B:",
            "CHECK",
        ),
        *(
            "RUN:",
            "-NEXT:",
            ":",
            "-",
            "@f(",
            "prog.proc @f(",
            ") {",
            "\\",
            "$",
            "^",
            "(",
            "*",
            ".",
            "x.sir:3:4",
            "漢",
            '"',
        ),
    ]
)
_lines = st.lists(st.lists(_words, max_size=6).map("".join), min_size=1, max_size=6)
_functions_too = st.sampled_from(["prog.proc @f(%x) {", "}", "expr.region @g {", "prog.module {", "  %3 = a(%3)", ""])


@given(
    outputs=st.lists(st.lists(_lines.map("\n".join) | _functions_too, min_size=1, max_size=5), min_size=1, max_size=2),
    options=st.sampled_from(["", " --match-full-lines", " --strict-whitespace", " --enable-var-scope"]),
    inside=st.booleans(),
)
@settings(
    max_examples=max(40, settings().max_examples // 4),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_checks_of_any_output_pass(folder: Path, outputs: list[list[str]], options: str, inside: bool) -> None:
    lines = ""
    for number, output in enumerate(outputs):
        text = "\n".join(output)
        if not text.strip():
            text = "x"
        (folder / f"out{number}").write_text(f"{text}\n", encoding="utf-8")
        lines += f"// RUN: cat out{number} | filecheck %s --check-prefixes=P{number}{options}\n"
    made(folder, lines + (_functions("f", "g") if inside else ""))


def test_functions_of_buffers_are_checked_one_by_one(folder: Path) -> None:
    text = made(
        folder,
        "// RUN: scaly-opt %s --pass=lower_matrix_high_level_map_reduce | filecheck %s\n\n"
        "buffer.func @f(%A: memref<6xint32>) -> (%n: int32) {\n"
        "  %0 = matrix.sum(%A) : int32\n"
        "  buffer.return %0\n"
        "}\n\n"
        'buffer.func @"no results"() -> () {\n'
        "  buffer.return\n"
        "}\n",
    )
    assert checks(text)[1:] == [
        "CHECK-LABEL: buffer.func @f(%A: memref<6xint32>) -> (%n: int32) {",
        "CHECK-NEXT:    %[[V0:[0-9]+]] = matrix.map_reduce(%A) init(0) {indices={{\\[\\[}}1]]} : memref<1xint32> {",
        "CHECK-NEXT:    ^comb(%acc: int32, %a: int32):",
        "CHECK-NEXT:      matrix.yield prog.add(%acc, %a)",
        "CHECK-NEXT:    }",
        "CHECK-NEXT:    %[[V1:[0-9]+]] = buffer.read %[[V0]][] : int32",
        "CHECK-NEXT:    buffer.return %[[V1]]",
        "CHECK-NEXT:  }",
        'CHECK-LABEL: buffer.func @"no results"() -> () {',
        "CHECK-NEXT:    buffer.return",
        "CHECK-NEXT:  }",
    ]
    assert text.index('// CHECK-LABEL: buffer.func @"no') > text.index("buffer.return %0")
