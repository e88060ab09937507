"""The pass `pack_workspace`: programs mean the same on shared slots (lowering specification 3.13)."""

from __future__ import annotations

import math

import pytest
from hypothesis import given

import scaly_ir as sc
from scaly_ir.dialects.prog import build, ops
from scaly_ir.graph import Node
from scaly_ir.passes.prog import pack_workspace
from scaly_ir.passes.prog.pack_workspace import PackWorkspace
from scaly_ir.types import FLOAT64
from tests.passes.prog.evaluator import run
from tests.passes.prog.programs import inputs_of, modules


def _pack(module: Node) -> Node:
    return PackWorkspace().run(module)


def _storage(procedure: Node) -> int:
    """Return how many elements the private buffers of a procedure have."""
    return sum(
        [
            math.prod(node.attrs["shape"])
            for node in build.body_of(procedure)
            if node.op is ops.BUFFER and "values" not in node.attrs and "alias_of" not in node.attrs
        ]
    )


@pytest.mark.parametrize("spill", [pack_workspace.SPILL, 2])
@given(module=modules())
def test_programs_mean_the_same_in_no_more_storage(spill: int, module: Node) -> None:
    sc.verify(module)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pack_workspace, "SPILL", spill)
        packed = _pack(module)
    sc.verify(packed)
    reread: Node = sc.parse(sc.render(packed))
    assert reread is packed
    inputs = inputs_of(module)
    before, after = run(module, inputs), run(packed, inputs)
    assert before.executed == after.executed
    for name, values in before.outputs.items():
        assert values.tobytes() == after.outputs[name].tobytes()
    for procedure, result in zip(module.args, packed.args, strict=True):
        assert _storage(result) <= _storage(procedure)
        assert result.attrs["w_self"] <= result.attrs["sz_w"]


def _product(names: str) -> list[Node]:
    """Return the statements that fill and sum a temporary of 1,600 elements."""
    big, total = tuple(names)
    whole, sum_ = build.buffer(big, (40, 40)), build.buffer(total, 1)
    at = build.var("i")
    add = build.apply("add", build.load(build.view(sum_, 0)), build.load(build.view(whole, at)))
    return [
        whole,
        sum_,
        build.for_(build.range_("i", 0, 1600), [build.store(build.view(whole, at), build.cast(at, FLOAT64))]),
        build.store(build.view(sum_, 0), build.const(0.0, FLOAT64)),
        build.for_(build.range_("i", 0, 1600, 1, "reduce"), [build.store(build.view(sum_, 0), add)]),
    ]


def test_two_products_share_one_slot() -> None:
    output = build.param("out", 1)
    total = build.apply("add", *[build.load(build.view(name, 0, FLOAT64)) for name in ("b", "d")])
    body = [*_product("ab"), *_product("cd"), build.store(build.view(output, 0), total)]
    (packed,) = _pack(build.program([build.proc("f", [output], body, {"input_count": 0})])).args
    assert packed.attrs["sz_w"] == 1600
    declared = [node.attrs["name"] for node in build.body_of(packed) if node.op is ops.BUFFER]
    assert declared == ["s0", "s1", "s2"]


def test_what_contributed_to_an_argument_is_kept_during_the_call() -> None:
    text = """
    prog.module {
      prog.proc @g(%a: memref<2xfloat64>, %b: memref<2xfloat64>) {input_count=1} {
        prog.store prog.load %a[0], %b[0] : float64
        prog.store prog.load %a[1], %b[1] : float64
      }
      prog.proc @f(%x: memref<2xfloat64>, %y: memref<2xfloat64>) {input_count=1} {
        %t0 = prog.buffer : memref<2xfloat64, private>
        %t1 = prog.buffer : memref<2xfloat64, private>
        %t2 = prog.buffer : memref<2xfloat64, private>
        prog.store_pair prog.load %x[0], prog.load %x[1], %t0[0] : float64
        prog.store_pair prog.load %t0[0], prog.load %t0[1], %t1[0] : float64
        prog.call @g(%t1, %t2) {n_in=1, n_out=1}
        prog.store_pair prog.load %t2[0], prog.load %t2[1], %y[0] : float64
      }
    }"""
    packed = _pack(sc.parse(text)).args[1]
    assert [node.attrs["name"] for node in build.body_of(packed) if node.op is ops.BUFFER] == ["s0", "s1", "s2"]


def test_windows_that_are_there_stay() -> None:
    text = """
    prog.proc @f(%x: memref<2000xfloat64>, %y: memref<2000xfloat64>) {input_count=1, sz_w=10, w_self=10} {
      %mine = prog.buffer : memref<10xfloat64, private> = prog.workspace offset 0
      %t0 = prog.buffer : memref<2000xfloat64, private>
      prog.store prog.load %x[0], %mine[0] : float64
      prog.for %i = 0 to 2000 step 1 {kind=global} {
        prog.store prog.load %mine[0], %t0[%i] : float64
      }
      prog.for %i = 0 to 2000 step 1 {kind=global} {
        prog.store prog.load %t0[%i], %y[%i] : float64
      }
    }"""
    packed = _pack(sc.parse(text))
    sc.verify(packed)
    assert packed.args[0].attrs["sz_w"] == 2010
    assert "prog.workspace offset 10" in sc.render(packed)


def test_ten_thousand_buffers() -> None:
    output = build.param("y", 1)
    body: list[Node] = []
    value = build.const(1.0, FLOAT64)
    for number in range(10_000):
        buffer = build.buffer(f"t{number}", 1)
        body += [buffer, build.store(build.view(buffer, 0), value)]
        value = build.load(build.view(buffer, 0))
    body.append(build.store(build.view(output, 0), value))
    (packed,) = _pack(build.program([build.proc("f", [output], body)])).args
    assert _storage(packed) == 2
