"""Messages about text: how many there are and where they stand, beyond what the golden tests show."""

from __future__ import annotations

import pytest

import scaly_ir as sc
from scaly_ir.text.diagnostics import Diagnostic
from scaly_ir.text.lalr import MAX_ERRORS


def diagnostics(text: str) -> list[Diagnostic]:
    """Return what is said about a wrong text."""
    with pytest.raises(sc.ParseError) as caught:
        sc.parse(text)
    return list(caught.value.diagnostics)


def test_reading_ends_after_so_many_mistakes_in_one_statement() -> None:
    entries = ", ".join(["1.5"] * (MAX_ERRORS + 7))
    found = diagnostics(f"%k = prog.buffer : memref<4xint32, constant> = dense<[{entries}]>\n")
    assert len(found) == MAX_ERRORS
    assert {diagnostic.message for diagnostic in found} == {"expected an integer of type int32, found '1.5'"}
