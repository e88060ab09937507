"""What the tools say when an operator of a plug-in fails: which operator, how, and where in the file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scaly_ir.op import CallEffectKind
from scaly_ir.prim import register_elementwise
from tests.tools.run_cases import scaly_run
from tests.tools.running import scaly_opt

pytestmark = pytest.mark.usefixtures("workspace", "registry")

PROG = """\
prog.proc @f(%y: memref<1xfloat64>) {input_count=0} {
  prog.for %i = 0 to 1 step 1 {kind=global} {
    prog.store prog.neg(prog.odd(1)), %y[0] : float64
  }
}
"""
EXPR = """\
expr.func @f() -> (%y: tensor<float64>) {
  %0 = expr.const {value=1} : tensor<float64>
  %1 = expr.odd(%0) : tensor<float64>
  %2 = expr.neg(%1) : tensor<float64>
  expr.return %2
}
"""
PLACE = {"prog": (PROG, "3:25"), "expr": (EXPR, "3:3")}


def _broken(x: Any) -> Any:
    raise KeyError(int(x.sum()))


@pytest.mark.parametrize("dialect", ["prog", "expr"])
@pytest.mark.parametrize(
    ("function", "message"),
    [(_broken, "failed: KeyError: 1"), (lambda x: np.zeros((2,)), "gave ")],
)
def test_folding_says_which_operator_fails_and_where(dialect: str, function: Any, message: str) -> None:
    register_elementwise("odd", 1, FNumpy=function, TCallEffectKind=CallEffectKind.Pure)
    text, place = PLACE[dialect]
    done = scaly_opt("--canonicalize", stdin=text)
    assert (done.code, done.out) == (1, "")
    said = f"<stdin>:{place}: error: pass 'canonicalize' failed: FNumpy of '{dialect}.odd' {message}"
    assert done.err.startswith(said)


@pytest.mark.parametrize("dialect", ["prog", "expr"])
def test_a_run_says_which_operator_fails_and_where(dialect: str) -> None:
    register_elementwise("odd", 1, FNumpy=_broken)
    text, place = PLACE[dialect]
    Path("f.sir").write_text(text)
    done = scaly_run("f.sir")
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith(f"f.sir:{place.partition(':')[0]}:")
    assert f"FNumpy of '{dialect}.odd' failed: KeyError: 1\n" in done.err
