"""What the tests of scaly-run share: running it in this process, and functions to give it."""

from __future__ import annotations

import io
import shutil
from typing import Final

import pytest

from scaly_ir.tools.scaly_run import main
from tests.tools.running import Done, Terminal

needs_cc = pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")

SCALE: Final = """\
expr.func @scale(%x: tensor<3xfloat64 diff>, %k: tensor<float64 diff>) -> (%y: tensor<3xfloat64 diff>) {
  %0 = expr.input {name="x"} : tensor<3xfloat64 diff>
  %1 = expr.input {name="k"} : tensor<float64 diff>
  %2 = expr.mul(%0, %1) : tensor<3xfloat64 diff>
  expr.return %2
}
"""


def same(type_: str) -> str:
    """Return a function that gives back its input."""
    return (
        f"expr.func @same(%x: {type_}) -> (%y: {type_}) {{\n"
        f'  %0 = expr.input {{name="x"}} : {type_}\n'
        f"  expr.return %0\n"
        f"}}\n"
    )


def scaly_run(*argv: str, stdin: str = SCALE, terminal: bool = False) -> Done:
    """Run scaly-run in this process."""
    kind = Terminal if terminal else io.TextIOWrapper
    streams = [kind(io.BytesIO(data), encoding="utf-8", newline="") for data in (stdin.encode(), b"", b"")]
    code = main(list(argv), *streams)
    out, err = [stream.buffer.getvalue().decode() for stream in streams[1:]]  # type: ignore[attr-defined]
    return Done(code, out, err)
