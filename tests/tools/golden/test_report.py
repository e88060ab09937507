"""The parts of a report that depend on the failure."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from scaly_ir.tools.golden import report
from scaly_ir.tools.golden.execute import run
from scaly_ir.tools.golden.golden_file import GoldenTest
from scaly_ir.tools.golden.run_line import Paths

Explain = Callable[[str, str], str]


@pytest.fixture
def explain(load_text: Callable[[str], GoldenTest], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Explain:
    """Return a function that gives the report on directives (separated by `;`) that fail on an output."""
    monkeypatch.chdir(tmp_path)

    def explain_it(directives: str, output: str) -> str:
        (tmp_path / "out").write_text(output, encoding="utf-8")
        lines = "".join([f"// {directive}\n" for directive in directives.split(";")])
        test = load_text(f"// RUN: cat out | filecheck %s\n{lines}")
        done = run(test, test.runs[0], Paths(test.path))
        return report.explain(test, test.runs[0], done, Paths(test.path), tmp_path / "kept", "x.sir::run1")

    return explain_it


def _excerpt(text: str) -> list[str]:
    part = next(part for part in text.split("\n\n") if " lines; '+' matched" in part)
    return part.splitlines()[1:]


def test_five_lines_before_and_after(explain: Explain) -> None:
    output = "".join([f"l{number}\n" for number in range(1, 101)])
    shown = _excerpt(explain("CHECK: l7{{$}};CHECK: l48;CHECK-NEXT: l49;CHECK-NEXT: l51", output))
    assert shown[0] == "    45 | l45"
    assert shown[3:7] == ["  + 48 | l48", "  + 49 | l49", "  > 50 | l50", "    51 | l51"]
    assert shown[-1] == "    55 | l55"


def test_the_last_lines_when_the_output_ends(explain: Explain) -> None:
    text = explain("CHECK: a;CHECK-NEXT: b", "x\na\n")
    assert "error: CHECK-NEXT: no match on the next line: the output ends here\n" in text
    assert _excerpt(text) == ["    1 | x", "  > 2 | a"]


def test_all_lines_of_a_dag_group_are_marked(explain: Explain) -> None:
    assert _excerpt(explain("CHECK-DAG: c;CHECK-DAG: a;CHECK-DAG: d", "a\nb\nc\n")) == [
        "  > 1 | a",
        "  + 2 | b".replace("+", " "),
        "  + 3 | c",
    ]


def test_the_nearest_line_is_suggested_when_nothing_matches(explain: Explain) -> None:
    text = explain("CHECK: func;CHECK-NEXT: expr.sub(%a, %b) : f64", "func\nx\ny\n%0 = expr.sub(%a, %c) : f64\n")
    assert "<run1 output>:4:1: note: possible intended match\n%0 = expr.sub(%a, %c) : f64\n" in text


def test_nothing_is_suggested_that_is_not_near(explain: Explain) -> None:
    assert "possible" not in explain("CHECK: func;CHECK-NEXT: expr.sub(%a, %b)", "func\nx\nreturn nothing\n")
    assert "possible" not in explain("CHECK: a;CHECK: a", "a\n")
    assert "possible" not in explain("CHECK: q;CHECK: abcdefgh", "q\na1b2c3d4e5f6g7h\n")


def test_a_match_before_the_place_is_suggested(explain: Explain) -> None:
    assert "<run1 output>:1:1: note: possible intended match\n" in explain("CHECK: b;CHECK: a", "a\nb\n")


def test_an_empty_output_is_said(explain: Explain) -> None:
    text = explain("CHECK: a", "")
    assert text.startswith(
        "x.sir:1:19: error: filecheck: there is no output to check; --allow-empty would accept that\n"
    )


def test_remarks_of_the_package_are_shown(explain: Explain) -> None:
    assert "filecheck remarked:\n  Warning: Empty pattern capture\n" in explain("CHECK: [[X:b*]]a;CHECK: c", "a\n")


def test_wide_characters_and_long_lines(explain: Explain) -> None:
    text = explain("CHECK: a;CHECK-NOT: 漢y;CHECK: b", "a\n漢字漢y\nb\n")
    assert "漢字漢y\n    ^~~\n" in text
    text = explain("CHECK: a;CHECK-NOT: needle;CHECK: b", "a\n" + "x" * 5000 + "needle" + "y" * 5000 + "\nb\n")
    assert "needle" in text
    assert max(map(len, text.splitlines())) < 400


def test_a_huge_output_is_explained_quickly(explain: Explain) -> None:
    output = "".join([f"%{number} = expr.add(%a, %b)\n" for number in range(30_000)])
    text = explain("CHECK: %20000 =;CHECK-NEXT: expr.sub(%a, %b)", output)
    assert "<run1 output>:20002:1: note: this line was tried" in text


def test_only_the_last_lines_of_standard_error_are_shown(
    load_text: Callable[[str], GoldenTest], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    names = " ".join([f"nope{number}" for number in range(50)])
    test = load_text(f"// RUN: cat {names}\n")
    done = run(test, test.runs[0], Paths(test.path))
    text = report.explain(test, test.runs[0], done, Paths(test.path), tmp_path / "kept", "x.sir::run1")
    assert "'cat' wrote to standard error (the last 20 of 50 lines):" in text
    assert text.count("cannot read") == 20
    assert (tmp_path / "kept" / "stderr.txt").read_text().count("cannot read") == 50
