"""Texts whose mistakes once ended the reader, or kept it from ending: they end in located messages."""

from __future__ import annotations

import pytest

from tests.tools.running import scaly_opt

TEXTS = {
    "a name behind what is skipped": "(%a=)affine.for",
    "a carried value behind no loop": "iter(%a = 0)\nbuffer.func @f() -> () {\n  buffer.return\n}\n",
    "a name behind a comma": ",%w=buffer.write%",
    "a name behind a loop cut off": "{affine.for}(%2=t",
    "a function in one whose brace is missing": (
        "buffer.func @f() -> (%x: memref<2{3xbool>) {\n  buffer.return %x\n}\n"
        "buffer.func @g() -> () {\n  %0 = buffer.alloc : memref<1xbool>\n}\n"
    ),
    "a function behind a head without a name": (
        "buffer.func\nbuffer.func @f() -> () {\n  %0 = buffer.alloc : memref<1xbool>\n}\n"
    ),
    "a sum of what has no type": (
        "buffer.func\n    %6=affine.max(%i)affine.yield prog.add(prog.add(),prog.add(%6,7))}"
    ),
}


@pytest.mark.parametrize("name", TEXTS)
def test_it_ends_in_messages(name: str) -> None:
    done = scaly_opt("--max-errors=0", stdin=TEXTS[name])
    assert done.code == 1
    assert "internal error" not in done.err
    assert done.err.startswith("<stdin>:")
