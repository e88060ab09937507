"""The pass `canonicalize` on `prog`: programs mean the same, and a second run changes nothing."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given

import scaly_ir as sc
from scaly_ir.dialects.prog import build
from scaly_ir.graph import Node
from scaly_ir.passes.prog.canonicalization import canonicalize
from scaly_ir.types import FLOAT64
from tests.passes.prog.evaluator import run
from tests.passes.prog.golden_files import programs_of
from tests.passes.prog.programs import inputs_of, modules


@given(modules())
def test_programs_mean_the_same(module: Node) -> None:
    sc.verify(module)
    folded = canonicalize(module)
    sc.verify(folded)
    assert canonicalize(folded) is folded
    reread: Node = sc.parse(sc.render(folded))
    assert reread is folded
    inputs = inputs_of(module)
    before, after = run(module, inputs), run(folded, inputs)
    for name, values in before.outputs.items():
        # Identities are those of real numbers: where NaN or infinity came out, something else may.
        usual = np.isfinite(values)
        np.testing.assert_allclose(after.outputs[name][usual], values[usual], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("path", programs_of("canonicalize"), ids=lambda path: path.stem)
def test_golden_files_are_left_alone_by_a_second_run(path: Path) -> None:
    folded = canonicalize(sc.parse(path.read_text(encoding="utf-8")))
    assert canonicalize(folded) is folded
    sc.verify(folded)


def test_procedures_without_anything_to_fold_stay_the_same_object() -> None:
    param = build.param("x", 4)
    same = build.proc("g", [param], [build.store(build.view(param, 0), build.load(build.view(param, 1)))])
    zero = build.const(0.0, FLOAT64)
    changed = build.store(build.view(param, 0), build.apply("add", build.load(build.view(param, 1)), zero))
    module = build.program([same, build.proc("f", [param], [changed])])
    folded = canonicalize(module)
    assert folded is not module
    assert folded.args[0] is same
    assert canonicalize(build.program([same])) is build.program([same])


def test_a_nest_of_a_thousand_loops() -> None:
    param = build.param("x", 1)
    body = build.store(
        build.view(param, 0), build.apply("mul", build.load(build.view(param, 0)), build.const(1.0, FLOAT64))
    )
    for level in range(1_000):
        body = build.for_(build.range_(f"i{level}", 0, build.apply("add", build.index(1), build.index(0))), [body])
    folded = canonicalize(build.program([build.proc("f", [param], [body])]))
    loop = folded.args[0].args[-1]
    assert loop.args[0].args[1] is build.index(1)
