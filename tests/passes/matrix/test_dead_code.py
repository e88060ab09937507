"""Dropping what nobody uses keeps every bit of results, and every effect."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings

import scaly_ir as sc
from scaly_ir.dialects.buffer import build
from scaly_ir.graph import Node
from scaly_ir.op import CallEffectKind, Op, registry_scope
from scaly_ir.passes.dce import Dce
from scaly_ir.types import FLOAT64
from tests.counting import calls_of
from tests.passes.matrix.golden_files import functions_of
from tests.passes.matrix.meaning import keeps_meaning
from tests.passes.matrix.programs import modules

dce = Dce().run


@pytest.mark.parametrize("path", functions_of("dce"), ids=lambda path: path.stem)
def test_golden_programs_keep_their_meaning(path: Path) -> None:
    module: Node = sc.parse(path.read_text(encoding="utf-8"))
    assert (keeps_meaning(module, dce) is module) == path.stem.startswith("keep_")


@settings(max_examples=max(200, settings().max_examples))
@given(modules())
def test_keeps_the_meaning_of_random_programs(module: Node) -> None:
    keeps_meaning(module, dce)


@pytest.mark.parametrize("effect", list(CallEffectKind))
def test_the_effect_of_a_scalar_decides(effect: CallEffectKind) -> None:
    with registry_scope():
        op = Op.register("ext.next", "The next number.")
        op.set_signature(["x"])
        op.set_attr("TCallEffectKind", effect)
        op.set_attr("FInferType", lambda call: FLOAT64)
        module: Node = sc.parse("""buffer.func @f(%s: float64) -> (%x: float64) {
  affine.for %i = 0 to 3 step 1 {kind=serial} {
    %a = prog.neg(ext.next(%s)) : float64
  }
  buffer.return %s
}
""")
        statements = build.body_of(dce(module).args[0].args[-1])
        assert (len(statements) == 1) == (effect <= CallEffectKind.ReadState)


def _nest(depth: int) -> Node:
    """Return loops in each other, each with something dead and something that writes."""
    head = "buffer.func @f(%A: memref<9xfloat64>) -> (%X: memref<9xfloat64>) {"
    storage = "%r = buffer.constant(0) : memref<9xfloat64>"
    opened = [
        f"affine.for %i{k} = 0 to 2 step 1 {{kind=serial}} {{\n%a{k} = buffer.read %A[%i{k}] : float64"
        for k in range(depth)
    ]
    closed = [f"buffer.write 1, %r[%i{k}] : float64\n}}" for k in reversed(range(depth))]
    module: Node = sc.parse("\n".join([head, storage, *opened, *closed, "buffer.return %r\n}\n"]))
    return module


def test_deep_nests() -> None:
    assert sc.render(dce(_nest(1000))).count("buffer.read") == 0


def test_work_grows_with_the_text() -> None:
    small, large = _nest(100), _nest(200)
    assert calls_of(lambda: dce(large)) < 2.5 * calls_of(lambda: dce(small))
