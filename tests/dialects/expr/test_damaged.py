"""One mistake in the text of a valid `expr` module gives no error of the verifier, which looks at the rest of it."""

from __future__ import annotations

from random import Random

from hypothesis import assume, given, note
from hypothesis import strategies as st

import scaly_ir as sc
from scaly_ir.dialect import parse_source, verify_parsed
from scaly_ir.graph import Node
from scaly_ir.text.source import Source
from tests.dialects.expr.growing import modules
from tests.text.forms import with_stray_character


@given(modules().map(lambda drawn: drawn[0]), st.integers(0, 1 << 32))
def test_nothing_follows_from_a_mistake(root: Node, seed: int) -> None:
    assume(root.args and not verify_parsed(root, None))
    text = with_stray_character(sc.render(root), Random(seed))
    note(text)
    parsed = parse_source(Source.from_text(text))
    assert parsed.root is None
    assert [found.message for found in parsed.diagnostics if found.message.endswith(f"[{found.code}]")] == []
