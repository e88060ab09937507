"""One mistake in the text of a valid `prog` module gives no error of the verifier, which looks at the rest of it."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import assume, given, note
from hypothesis import strategies as st

import scaly_ir as sc
from scaly_ir.dialect import parse_source, verify_parsed
from scaly_ir.graph import Node
from scaly_ir.text.source import Source
from tests.dialects.prog.generators import programs
from tests.text.forms import with_stray_character


@given(programs(), st.integers(0, 1 << 32))
def test_nothing_follows_from_a_mistake(root: Node, seed: int) -> None:
    assume(root.args and not verify_parsed(root, None))
    text = with_stray_character(sc.render(root), Random(seed))
    note(text)
    parsed = parse_source(Source.from_text(text))
    assert parsed.root is None
    assert [found.message for found in parsed.diagnostics if found.message.endswith(f"[{found.code}]")] == []


HEAD = "prog.proc @f(%x: memref<4xfloat64>, %y: memref<4xfloat64>) {input_count=1} {\n"


@pytest.mark.parametrize(
    ("body", "lines"),
    [
        ("  prog.store 1, %y[0] : float65\n  prog.store %z, %y[4] : float64\n}", [2, 3, 3]),
        ("  %t prog.buffer : memref<1xfloat64, private>\n  prog.store prog.load %t[0], %y[4] : float64\n}", [2, 3]),
        ("  %t = prog.asign 1 : float64\n  prog.store %t, %y[0] : float64\n}", [2]),
        ("  t = prog.assign 1 : float64\n  prog.store %t, %y[0] : float64\n}", [2]),
        ("  prog.for %i = 0 too 9 step 1 {kind=global} {\n    prog.store %i, %y[%i] : int64\n  }\n}", [2, 3]),
        ("  prog.store 1, %y[4] : float64\n  prog.store 1, %z[0] : float64", [3]),  # the brace is missing
        ("  prog.store 1, %y[4] : float64\n}\n}", [4]),  # there is one too many
        ("  prog.call @h() {n_in=0, n_out=0}\n}\nprog.proc @g(x) {\n  prog.store 1, %x[9] : float64\n}", [4]),
        ("  prog.call @g() {n_in=0, n_out=0}\n}\nprog.poc @g() {\n}\n", [4]),
    ],
)
def test_what_could_be_read_is_verified(body: str, lines: list[int]) -> None:
    found = parse_source(Source.from_text(HEAD + body)).diagnostics
    assert [each.span.position()[0] for each in found if each.span is not None] == lines
