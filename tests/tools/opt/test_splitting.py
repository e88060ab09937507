"""Parts of a file, each processed on its own, with the lines of the whole."""

from __future__ import annotations

from pathlib import Path

from scaly_ir.text.source import Source
from scaly_ir.tools.opt.splitting import split_source
from tests.tools.running import CHAIN, FUSED, TEN_LINES, scaly_opt

BAD = "prog.proc @f(%x: memref<1xfloat64>) {\n  prog.store 1, %z[0] : float64\n}\n"


def test_parts_keep_their_lines() -> None:
    parts = split_source(Source("f", "a\nb\n// -----  \nc\n// -----\n"))
    assert [(part.text, part.first_line) for part in parts] == [("a\nb\n", 1), ("c\n", 4), ("", 6)]
    assert parts[1].position(0) == (4, 1)
    assert parts[1].line_text(4) == "c"
    assert parts[1].line_span(4).end == 1


def test_all_parts_are_processed(workspace: Path) -> None:
    (workspace / "f.sir").write_text(f"{CHAIN}// -----\n{BAD}// -----\n{TEN_LINES}// -----\n{BAD}", encoding="utf-8")
    done = scaly_opt("f.sir", "--split-input-file", "--pass=fuse_elementwise")
    assert done.code == 1
    assert done.out == f"{FUSED}// -----\n{TEN_LINES}"
    lines = [line for line in done.err.splitlines() if line.startswith("f.sir")]
    first = CHAIN.count("\n") + 3
    second = first + BAD.count("\n") + TEN_LINES.count("\n") + 2
    assert [line.partition(": error")[0] for line in lines] == [f"f.sir:{line}:17" for line in (first, second)]
    assert "    prog.store 1, %z[0]".strip() in done.err


def test_what_is_joined_can_be_split_again(workspace: Path) -> None:
    (workspace / "f.sir").write_text(CHAIN, encoding="utf-8")
    (workspace / "g.sir").write_text(TEN_LINES, encoding="utf-8")
    both = scaly_opt("f.sir", "g.sir").out
    (workspace / "both.sir").write_text(both, encoding="utf-8")
    assert scaly_opt("both.sir", "-split-input-file").out == both


def test_another_marker(workspace: Path) -> None:
    (workspace / "f.sir").write_text(f"{CHAIN}// ===\n{TEN_LINES}", encoding="utf-8")
    done = scaly_opt("f.sir", "--split-input-file=// ===")
    assert done.out == f"{CHAIN}// ===\n{TEN_LINES}"
    assert scaly_opt("--split-input-file=// ===", stdin=done.out).out == done.out  # it can be read back


def test_parts_without_output_leave_no_marker(workspace: Path) -> None:
    text = f"// none\n// -----\n{CHAIN}// -----\n// -----\nprog.nothing\n// -----\n{TEN_LINES}// -----\n"
    (workspace / "f.sir").write_text(text, encoding="utf-8")
    assert scaly_opt("f.sir", "--split-input-file").out == f"{CHAIN}// -----\n{TEN_LINES}"


def test_lines_that_nearly_are_markers(workspace: Path) -> None:
    (workspace / "f.sir").write_text(f"//-----\n// ----\n// -- no\n// ------\n{CHAIN}// -----\n", encoding="utf-8")
    done = scaly_opt("f.sir", "--split-input-file")
    assert done.code == 0
    heads = [line for line in done.err.splitlines() if ": warning: " in line]
    said = "warning: this does not split the file; the marker is '// -----'"
    assert heads == [f"f.sir:{line}:1: {said}" for line in (1, 2, 4)]
    assert scaly_opt("f.sir").err == ""
