"""Merging equal statements keeps every bit, never merges storage, and never moves a read across a write."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings

import scaly_ir as sc
from scaly_ir.graph import Node
from scaly_ir.op import CallEffectKind, Op, registry_scope
from scaly_ir.passes.cse import Cse
from scaly_ir.types import FLOAT64
from tests.counting import calls_of
from tests.passes.matrix.golden_files import functions_of
from tests.passes.matrix.meaning import keeps_meaning
from tests.passes.matrix.programs import modules

cse = Cse().run


@pytest.mark.parametrize("path", functions_of("cse"), ids=lambda path: path.stem)
def test_golden_programs_keep_their_meaning(path: Path) -> None:
    module: Node = sc.parse(path.read_text(encoding="utf-8"))
    assert (keeps_meaning(module, cse) is module) == path.stem.startswith("keep_")


@settings(max_examples=max(200, settings().max_examples))
@given(modules())
def test_keeps_the_meaning_of_random_programs(module: Node) -> None:
    keeps_meaning(module, cse)


@pytest.mark.parametrize(
    ("effect", "between", "merged"),
    [
        (CallEffectKind.Pure, "buffer.write 1, %r[0] : float64", True),
        (CallEffectKind.ReadState, "%n = prog.neg(%s) : float64", True),
        (CallEffectKind.ReadState, "buffer.write 1, %r[0] : float64", False),
        (CallEffectKind.ReadState, "%n = ext.tick(%s) : float64", False),
        (CallEffectKind.UpdateState, "%n = prog.neg(%s) : float64", False),
    ],
)
def test_the_effects_of_scalars_decide(effect: CallEffectKind, between: str, merged: bool) -> None:
    with registry_scope():
        for name, kind in (("ext.next", effect), ("ext.tick", CallEffectKind.UpdateState)):
            op = Op.register(name, "A number.")
            op.set_signature(["x"])
            op.set_attr("TCallEffectKind", kind)
            op.set_attr("FInferType", lambda call: FLOAT64)
        module: Node = sc.parse(f"""buffer.func @f(%s: float64) -> (%x: float64, %X: memref<2xfloat64>) {{
  %r = buffer.constant(0) : memref<2xfloat64>
  %a = ext.next(%s) : float64
  {between}
  %b = ext.next(%s) : float64
  buffer.return prog.add(%a, %b), %r
}}
""")
        assert ("prog.add(%a, %a)" in sc.render(cse(module))) == merged


@pytest.mark.parametrize("update", ["%n = ext.tick(%s) : float64", ""])
def test_an_update_of_unknown_state_may_write_to_buffers(update: str) -> None:
    with registry_scope():
        op = Op.register("ext.tick", "A number.")
        op.set_signature(["x"])
        op.set_attr("FInferType", lambda call: FLOAT64)
        module: Node = sc.parse(f"""buffer.func @f(%A: memref<2xfloat64>, %s: float64) -> (%x: float64) {{
  %a = buffer.read %A[0] : float64
  {update}
  %b = buffer.read %A[0] : float64
  buffer.return prog.add(%a, %b)
}}
""")
        assert ("prog.add(%a, %a)" in sc.render(cse(module))) == (not update)


def _nest(depth: int) -> Node:
    """Return loops in each other that all read the same element, and write another."""
    head = "buffer.func @f(%A: memref<9xfloat64>) -> (%X: memref<9xfloat64>) {"
    storage = "%r = buffer.constant(0) : memref<9xfloat64>"
    opened = [
        f"affine.for %i{k} = 0 to 2 step 1 {{kind=serial}} {{\n%a{k} = buffer.read %A[3] : float64\n"
        f"buffer.write %a{k}, %r[%i{k}] : float64"
        for k in range(depth)
    ]
    module: Node = sc.parse("\n".join([head, storage, *opened, *["}"] * depth, "buffer.return %r\n}\n"]))
    return module


def test_deep_nests() -> None:
    assert sc.render(cse(_nest(1000))).count("buffer.read") == 1


def test_work_grows_with_the_text() -> None:
    small, large = _nest(100), _nest(200)
    assert calls_of(lambda: cse(large)) < 2.5 * calls_of(lambda: cse(small))
