"""Errors in generic text stand at the line that holds the mistake, however wrong what comes before it is."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from scaly_ir.tools.scaly_opt import main

_COUNTS = st.sampled_from(["param_count=0"] * 3 + ["param_count=-1", "param_count=7", 'param_count="a"', ""])
_DEPTH = 3
_PROG = {
    "program": ('"prog.program"(', ") : none"),
    "block": ('"prog.block"(', ") : none"),
    "proc": ('"prog.proc"(', ') {{name="f{number}", input_count=0, {count}}} : none'),
    "for": (
        '"prog.for"("prog.range"("prog.const_int"() {{value=1}} : int64) {{name="i{number}"}} : int64,',
        '"prog.assign"("prog.var"() {{name="Q{number}"}} : float64) {{target="a{number}"}} : float64) : none',
    ),
}
_MATRIX = {
    "module": ('"buffer.module"(', ") : none"),
    "region": ('"buffer.region"(', ") {{{count}}} : none"),
    "func": ('"buffer.func"("buffer.region"(', ') {{{count}}} : none) {{name="f{number}"}} : none'),
    "loop": ('"affine.for"("buffer.region"(', ") {{{count}}} : none) {{lb=0, step=1, ub=2}} : none"),
}
_PROG_LEAF = '"prog.assign"("prog.var"() {{name="Q{number}"}} : float64) {{target="a{number}", declare=True}} : float64'
_MATRIX_LEAF = '"buffer.let"("prog.var"() {{name="Q{number}"}} : float64) {{results=["a{number}"]}} : float64'


@st.composite
def _texts(draw: st.DrawFn, holders: dict[str, tuple[str, str]], root: str, leaf: str) -> str:
    """Draw functions that hold anything, each statement on a line of its own; a `leaf` uses a name nobody defines."""
    lines: list[str] = []

    def write(kind: str | None, depth: int) -> None:
        given_ = {"number": len(lines), "count": draw(_COUNTS)}
        if kind is None:
            lines.append(leaf.format(**given_))
            return
        head, tail = holders[kind]
        lines.append(head.format(**given_))
        for position in range(count := draw(st.integers(0, 3))):
            write(draw(st.sampled_from([None, None, *holders])) if depth < _DEPTH else None, depth + 1)
            lines[-1] += "," if position < count - 1 or kind == "for" else ""
        lines.append(tail.format(number=len(lines), count=given_["count"]).replace(", }", "}"))

    for _ in range(draw(st.integers(2, 4))):
        write(root, 0)
    return "\n".join(lines) + "\n"


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("places") / "f.sir"


_UNCOUNTED_PROC = """"prog.proc"(
  "prog.assign"("prog.const_float"() {value=1.0} : float64) {target="a", declare=True} : float64,
  "prog.assign"("prog.const_float"() {value=2.0} : float64) {target="b", declare=True} : float64
) {name="f", input_count=0} : none
"prog.proc"(
  "prog.assign"("prog.var"() {name="Q1"} : float64) {target="a", declare=True} : float64,
  "prog.block"(
    "prog.assign"("prog.const_float"() {value=1.0} : float64) {target="b", declare=True} : float64) : none,
  "prog.assign"("prog.var"() {name="Q2"} : float64) {target="c", declare=True} : float64
) {name="g", input_count=0, param_count=0} : none
"""
_UNCOUNTED_FUNC = """"buffer.func"("buffer.region"(
  "buffer.return"() : none) : none) {name="f"} : none
"buffer.func"("buffer.region"(
  "buffer.let"("prog.var"() {name="Q1"} : float64) {results=["a"]} : float64,
  "buffer.region"(
    "buffer.return"() : none) {param_count=0} : none,
  "buffer.let"("prog.var"() {name="Q2"} : float64) {results=["b"]} : float64
) {param_count=0} : none) {name="g"} : none
"""


@example(text=_UNCOUNTED_PROC)
@example(text=_UNCOUNTED_FUNC)
@settings(max_examples=300)
@given(text=_texts(_PROG, "proc", _PROG_LEAF) | _texts(_MATRIX, "func", _MATRIX_LEAF))
def test_an_unknown_name_is_reported_at_its_line(file: Path, text: str) -> None:
    file.write_text(text)
    errors = io.StringIO()
    main([str(file)], io.StringIO(), io.StringIO(), errors)
    lines = text.splitlines()
    assert "internal error" not in errors.getvalue()
    for line, name in re.findall(r":(\d+):\d+: error: .*%(Q\d+) is not", errors.getvalue()):
        assert f'"{name}"' in lines[int(line) - 1]
