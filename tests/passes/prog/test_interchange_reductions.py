"""Sums of a row of elements run side by side and keep every bit."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given

import scaly_ir as sc
from scaly_ir.counters import collect_counts
from scaly_ir.dialects.prog import build
from scaly_ir.graph import Node
from scaly_ir.op import CallEffectKind, Op, registry_scope
from scaly_ir.passes.prog.interchange_reductions import InterchangeReductions
from scaly_ir.types import FLOAT64
from tests.counting import calls_of
from tests.passes.prog.evaluator import run
from tests.passes.prog.golden_files import programs_of
from tests.passes.prog.meaning import keeps_meaning, same_bits
from tests.passes.prog.programs import modules
from tests.passes.prog.reduction_programs import module as random_module
from tests.passes.prog.reduction_programs import reductions, values_of

interchange = InterchangeReductions().run


def _check(module: Node) -> Node:
    after = keeps_meaning(module, interchange, inputs=values_of(module))
    assert interchange(after) is after
    return after


@given(modules())
def test_programs_mean_the_same(module: Node) -> None:
    after = keeps_meaning(module, interchange)
    assert interchange(after) is after


@given(reductions())
def test_reductions_mean_the_same(module: Node) -> None:
    _check(module)


def test_many_random_reductions_are_interchanged() -> None:
    """The test above is about something: about half of what it draws changes."""
    generator = random.Random(0)
    with collect_counts() as counts:
        for _ in range(100):
            interchange(random_module(generator.randint))
    assert 30 <= counts["interchanged"] <= 70


@pytest.mark.parametrize("path", programs_of("interchange_reductions"), ids=lambda path: path.stem)
def test_golden_files(path: Path) -> None:
    module = sc.parse(path.read_text(encoding="utf-8"), path.name)
    after = keeps_meaning(module, interchange, integer=4)
    assert (after is module) == path.stem.startswith("keep_")
    assert interchange(after) is after


COLUMNS = """
prog.proc @f(%B: memref<{extent}x{extent}xfloat64>, %y: memref<{extent}xfloat64>) {{input_count=1}} {{
  prog.for %j = 0 to {elements} step {step} {{kind={elements_kind}}} {{
    {before}
    prog.for %k = {terms} step 1 {{kind={terms_kind}}} {{
      {body}
    }}
    {after}
  }}
}}
"""
PARTS = {
    "extent": 64,
    "elements": 8,
    "step": 1,
    "elements_kind": "global",
    "terms": "0 to 32",
    "terms_kind": "reduce",
    "before": "%s = prog.assign 0 : float64 {declare=True}",
    "body": "%s = prog.assign prog.add(%s, prog.load %B[prog.add(prog.mul(%k, 64), %j)]) : float64",
    "after": "prog.store %s, %y[%j] : float64",
}
IN_PLACE = {
    "before": "prog.store 0, %y[%j] : float64",
    "body": "prog.store prog.add(prog.load %y[%j], prog.load %B[prog.add(prog.mul(%k, 64), %j)]), %y[%j] : float64",
    "after": "",
}


def _interchanges(**parts: object) -> bool:
    module = sc.parse(COLUMNS.format(**{**PARTS, **parts}))
    sc.verify(module)
    return interchange(module) is not module


def test_thresholds() -> None:
    assert _interchanges()
    assert _interchanges(**IN_PLACE)
    assert not _interchanges(elements=7)
    assert not _interchanges(terms="0 to 31")
    assert not _interchanges(elements=16, step=2)
    assert not _interchanges(elements=0)
    assert not _interchanges(terms="0 to 0")


@pytest.mark.parametrize("kind", ["global", "serial", "reduce", "unroll"])
def test_kinds(kind: str) -> None:
    assert _interchanges(elements_kind=kind) == (kind != "unroll")
    assert _interchanges(terms_kind=kind) == (kind in ("serial", "reduce"))


@pytest.mark.parametrize(
    "parts",
    [
        {"before": "", "after": "", "body": "prog.store 1, %y[%k] : float64"},
        {**IN_PLACE, "before": ""},
        {**IN_PLACE, "before": "prog.store 1, %y[0] : float64"},
        {**IN_PLACE, "before": PARTS["before"]},
        {"body": ""},
        {"before": f"%t = prog.assign 0 : float64 {{declare=True}} {PARTS['before']}"},
        {"before": f"prog.store 1, %y[%j] : float64 {PARTS['before']}"},
        {"after": ""},
        {"after": f"{PARTS['after']} prog.store 1, %y[%j] : float64"},
        {"after": "prog.store_pair %s, 0, %y[%j] : float64"},
        {"body": f"%t = prog.assign 0 : float64 {{declare=True}} %t = prog.assign 1 : float64 {PARTS['body']}"},
        {"body": IN_PLACE["body"]},
        {"body": f"{PARTS['body']} {IN_PLACE['body']}"},
        {"body": f"prog.store 1, %y[%j] : float64 {PARTS['body']}"},
        {"body": "%t = prog.assign %s : float64 {declare=True}"},
        {"before": "", "body": "prog.store_pair prog.load %y[%j], 0, %y[%j] : float64", "after": ""},
    ],
)
def test_other_nests_stay(parts: dict[str, object]) -> None:
    assert not _interchanges(**parts)


@pytest.mark.parametrize(
    ("effect", "expected"),
    [
        (None, False),
        (CallEffectKind.UpdateState, False),
        (CallEffectKind.ReadState, False),
        (CallEffectKind.Pure, True),
    ],
)
def test_operators_that_do_more_than_compute(effect: CallEffectKind | None, expected: bool) -> None:
    """Nobody says what they read; and the order in which they are called would change."""
    with registry_scope():
        op = Op.register("test.op")
        op.set_signature(("x",))
        op.set_attr("TFixedReturnType", "float64")
        if effect is not None:
            op.set_attr("TCallEffectKind", effect)
        load = "prog.load %B[prog.add(prog.mul(%k, 64), %j)]"
        assert _interchanges(body=f"%s = prog.assign prog.add(%s, test.op({load})) : float64") == expected
        assert (
            _interchanges(before="%s = prog.assign test.op(prog.const(0.5, float64)) : float64 {declare=True}")
            == expected
        )
        assert _interchanges(after="prog.store test.op(%s), %y[%j] : float64") == expected


def test_what_matrices_become() -> None:
    text = """
buffer.func @f(%A: memref<3x32xfloat64>, %B: memref<32x9xfloat64>) -> (%C: memref<3x9xfloat64>) {
  %0 = matrix.prod(%A, %B) : memref<3x9xfloat64>
  buffer.return %0
}
"""
    module = sc.run_passes(sc.parse(text), "matrix_to_prog,default")
    with collect_counts() as counts:
        after = sc.run_passes(sc.parse(text), "matrix_to_prog,default{interchange}")
    assert counts["interchanged"] == 1
    generator = np.random.default_rng(1)
    inputs = {name: list(generator.normal(size=size)) for name, size in (("A", 96), ("B", 288))}
    same_bits(run(module, inputs), run(after, inputs))


# --- large programs ---------------------------------------------------------------------------------------------------


def _nest_of(depth: int, body: list[Node]) -> list[Node]:
    for level in range(depth):
        body = [build.for_(build.range_(f"k{level}", 0, 32 if level == 0 else 1, 1, "reduce"), body)]
    return body


def test_a_thousand_loops_over_terms() -> None:
    place = build.view("y", build.var("j"), FLOAT64)
    total = build.apply("add", build.load(place), build.load(build.view("x", build.var("j"), FLOAT64)))
    zero = build.store(place, build.const(0, FLOAT64))
    body = [build.for_(build.range_("j", 0, 8), [zero, *_nest_of(1_000, [build.store(place, total)])])]
    for level in range(1_000):
        body = [build.for_(build.range_(f"i{level}", 0, 2), body)]
    params = [build.param("x", 8), build.param("y", 8)]
    with collect_counts() as counts:
        interchange(build.program([build.proc("f", params, body)]))
    assert counts["interchanged"] == 1


def test_the_work_is_linear_in_the_number_of_nests() -> None:
    def module(count: int) -> Node:
        nests = []
        for number in range(count):
            place = build.view("y", build.apply("add", build.var("j"), build.index(number)), FLOAT64)
            total = build.apply("add", build.load(place), build.load(build.view("x", build.var("j"), FLOAT64)))
            zero = build.store(place, build.const(0, FLOAT64))
            nests.append(build.for_(build.range_("j", 0, 8), [zero, *_nest_of(2, [build.store(place, total)])]))
        params = [build.param("x", 8), build.param("y", count + 8)]
        return build.program([build.proc("f", params, nests)])

    small, large = module(200), module(400)
    short, long = calls_of(lambda: interchange(small)), calls_of(lambda: interchange(large))
    assert 1.9 < long / short < 2.1
