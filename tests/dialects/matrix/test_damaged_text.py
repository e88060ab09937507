"""Texts whose mistakes once ended the reader, or kept it from ending: they end in located messages."""

from __future__ import annotations

import pytest

from tests.tools.running import scaly_opt

TEXTS = {
    "a name behind what is skipped": "(%a=)affine.for",
    "a carried value behind no loop": "iter(%a = 0)\nbuffer.func @f() -> () {\n  buffer.return\n}\n",
    "a line cut in two": (
        "buffer.func @f(%s: float64) -> (%x: float64) {\n"
        "  %a, %b = affine.for %i = 3 to 4 step 2 iter(%v = %s, %w = 1) {kind=serial} : float64, float64 {\n"
        "    affine.yield prog.add(%v, %w), %v\n"
        "  }\n"
        "to %n step 2 iter(%v = p  buffer.return prog.mul(%a, %a), %b, %1\n"
        "}\n"
    ),
    "a reduction cut in two": (
        "buffer.func @f() -> () {\n  affine.for %i = 0 to 1 step 1 {\n  }r(%2 = %t) {kind=reduce} : int64 {\n  }\n}\n"
    ),
    "a sum of what is not known": (
        "buffer.func @f() -> (%n: int64) {\n"
        "  %4 = affine.apply() {map=affine_map<() -> (1)>} : index\n"
        "  %6 = affine.apply() {map=affine_map<() -> (1)>}index\n"
        "  buffer.return prog.add(%4, prog.add(%4, %6))\n"
        "}\n"
    ),
}


@pytest.mark.parametrize("name", TEXTS)
def test_it_ends_in_messages(name: str) -> None:
    done = scaly_opt("--max-errors=0", stdin=TEXTS[name])
    assert done.code == 1
    assert "internal error" not in done.err
    assert done.err.startswith("<stdin>:")
