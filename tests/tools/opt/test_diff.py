"""What --print-ir-diff shows: changes by function, and no line whose numbers alone changed."""

from __future__ import annotations

from pathlib import Path

import pytest

from scaly_ir.tools.highlight import highlighted
from scaly_ir.tools.opt.diff import unified
from tests.tools.running import CHAIN, FUSED, scaly_opt

BEFORE = "".join([f"  %{n} = expr.add(%{n - 1}, %{n - 1}) : tensor<{n}xfloat64>\n" for n in range(1, 21)])


def test_numbers_alone_are_no_change() -> None:
    renumbered = BEFORE.replace("%", "%1")
    assert renumbered != BEFORE
    assert unified(BEFORE, renumbered, "p") == []


def test_one_operation_less_is_one_line() -> None:
    lines = BEFORE.splitlines(keepends=True)
    kept = [*lines[:9], *[line.replace(f"%{n + 1} ", f"%{n} ") for n, line in enumerate(lines[10:], start=10)]]
    found = unified(BEFORE, "".join(kept), "p")
    assert found[:3] == ["--- before p\n", "+++ after p\n", "@@ -7,7 +7,6 @@\n"]
    assert [line for line in found[3:] if line[0] != " "] == [f"-{lines[9]}"]
    assert found[3:6] == [f" {line}" for line in kept[6:9]]
    assert found[7:] == [f" {line}" for line in kept[9:12]]


def test_hunks_name_the_function() -> None:
    functions = [f"prog.proc @{name}() {{\n" + "".join([f"  {n}\n" for n in range(9)]) + "}\n" for name in "fgh"]
    text = "".join(functions)
    changed = text.replace("@g() {\n  0\n  1\n  2\n  3\n  4", "@g() {\n  0\n  1\n  2\n  3\n  four")
    found = unified(text, changed, "p")
    assert found[2] == "@@ -14,7 +14,7 @@ prog.proc @g\n"
    assert found[6:8] == ["-  4\n", "+  four\n"]


@pytest.mark.parametrize(
    ("old", "new", "function"),
    [
        ("@g() {\n  0\n", "@g() {\n  x\n", "g"),  # the lines before are of f
        ("@g() {\n  0\n", "@g() {\n", "g"),
        ("@g() {\n", "@g(%x) {\n", "g"),
        ("prog.proc @g", "prog.proc @new() {\n}\nprog.proc @g", "f"),  # behind the end of f
        ("@f() {\n", "@f() {\n  x\n", "f"),
        ("  2\n}\n", "  2\n  x\n}\n", "f"),
    ],
)
def test_hunks_name_the_function_of_their_first_change(old: str, new: str, function: str) -> None:
    text = "".join([f"prog.proc @{name}() {{\n  0\n  1\n  2\n}}\n" for name in "fg"])
    head = unified(text, text.replace(old, new, 1), "p")[2]
    assert head.endswith(f"@@ prog.proc @{function}\n")


@pytest.mark.parametrize(
    ("before", "after", "head"),
    [("", "a\nb\n", "@@ -0,0 +1,2 @@\n"), ("a\n", "", "@@ -1 +0,0 @@\n"), ("a\n", "b\n", "@@ -1 +1 @@\n")],
)
def test_ranges_at_the_ends(before: str, after: str, head: str) -> None:
    assert unified(before, after, "p")[2] == head


def test_far_changes_are_hunks_of_their_own() -> None:
    lines = [f"line {n}\n" for n in range(30)]
    changed = list(lines)
    changed[2], changed[10], changed[25] = "x\n", "y\n", "z\n"
    heads = [line for line in unified("".join(lines), "".join(changed), "p") if line.startswith("@@")]
    assert heads == ["@@ -1,6 +1,6 @@\n", "@@ -8,7 +8,7 @@\n", "@@ -23,7 +23,7 @@\n"]
    changed[5] = "w\n"
    heads = [line for line in unified("".join(lines), "".join(changed), "p") if line.startswith("@@")]
    assert heads[:1] == ["@@ -1,14 +1,14 @@\n"]


def test_on_the_command_line(workspace: Path) -> None:
    (workspace / "f.sir").write_text(CHAIN, encoding="utf-8")
    done = scaly_opt("f.sir", "--pass=fuse_elementwise,dce", "--print-ir-diff")
    assert (done.code, done.out) == (0, FUSED)
    changes = [line for line in done.err.splitlines() if line[0] in "-+"]
    assert changes[:2] == ["--- before fuse_elementwise", "+++ after fuse_elementwise"]
    assert [line for line in changes[2:] if line[0] == "+"] == [
        "+      prog.store prog.neg(prog.exp(prog.load %x[%j])), %y[%j] : float64"
    ]
    assert len(changes) == 2 + 1 + 5
    assert "dce" not in done.err  # it changed nothing
    assert (
        "pass 2, dce, changed nothing" in scaly_opt("f.sir", "--pass=fuse_elementwise,dce", "--print-ir-diff", "-v").err
    )


def test_colours(workspace: Path) -> None:
    (workspace / "f.sir").write_text(CHAIN, encoding="utf-8")
    plain = scaly_opt("f.sir", "--pass=fuse_elementwise", "--print-ir-diff")
    coloured = scaly_opt("f.sir", "--pass=fuse_elementwise", "--print-ir-diff", "--color=always")
    assert "\x1b" not in plain.err
    assert "\x1b[32m+      prog.store" in coloured.err
    assert coloured.out == highlighted(plain.out)


def test_one_function(workspace: Path) -> None:
    other = CHAIN.replace("@chain", "@other")
    inside = [line for text in (CHAIN, other) for line in text.splitlines()[1:-1]]
    (workspace / "f.sir").write_text("\n".join(["prog.module {", *inside, "}"]), encoding="utf-8")
    done = scaly_opt("f.sir", "--pass=fuse_elementwise", "--print-ir-func=@other")
    assert "@other" in done.err
    assert "@chain" not in done.err
    assert done.err.startswith("--- before fuse_elementwise")
