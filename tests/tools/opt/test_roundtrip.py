"""--verify-roundtrip: quiet where text holds all that IR is, an error with a diff where it does not."""

from __future__ import annotations

from pathlib import Path

import pytest

import scaly_ir as sc
from scaly_ir.dialects.prog import printer
from scaly_ir.tools.opt.roundtrip import difference
from tests.tools.running import CHAIN, FUSED, scaly_opt


def test_all_is_well(workspace: Path) -> None:
    (workspace / "f.sir").write_text(CHAIN, encoding="utf-8")
    done = scaly_opt("f.sir", "--verify-roundtrip", "--pass=fuse_elementwise")
    assert (done.code, done.out, done.err) == (0, FUSED, "")


def test_a_printer_that_loses_something(monkeypatch: pytest.MonkeyPatch) -> None:
    module = sc.parse(CHAIN)
    monkeypatch.setattr(printer, "spell_float", lambda value, dtype, **options: "3")
    other = sc.parse(CHAIN.replace("prog.exp(prog.load %x[%i])", "2.5"))
    fault = difference(other, "the input")
    assert difference(module, "the input") is None
    assert fault is not None
    assert fault.message == "what is printed of the input reads back as other IR"
    assert [each.message for each in fault.notes] == ["its text is the same"]


def test_a_printer_that_prints_nonsense(monkeypatch: pytest.MonkeyPatch) -> None:
    module = sc.parse(CHAIN)
    monkeypatch.setattr(printer, "spell_name", lambda name: "(")
    fault = difference(module, "the input")
    assert fault is not None
    assert fault.message == "what is printed of the input cannot be read"
    assert fault.notes
