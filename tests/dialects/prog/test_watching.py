"""Who watches a run of the `prog` evaluator sees each statement; who does not changes nothing."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import scaly_ir as sc
from scaly_ir.dialects.prog import build
from scaly_ir.dialects.prog.evaluate.watching import Watch
from scaly_ir.errors import EvaluationError
from scaly_ir.graph import Node
from tests.passes.prog.programs import inputs_of, module


class Seen:
    def __init__(self) -> None:
        self.told: list[tuple[str, str, tuple[Any, ...]]] = []

    def __call__(self, procedure: str, statement: Node, values: tuple[Any, ...]) -> None:
        self.told.append((procedure, statement.op.name, values))


def test_each_statement_is_told_in_order() -> None:
    text = (
        "prog.module {\n"
        "  prog.proc @one(%y: memref<2xfloat64>) {input_count=0} {\n"
        "    prog.store_pair 1, 2, %y[0] : float64\n"
        "  }\n"
        "  prog.proc @f(%n: memref<1xint64>, %y: memref<2xfloat64>) {input_count=1} {\n"
        "    %k = prog.assign 5 : int64 {declare=True}\n"
        "    prog.for %i = 0 to prog.load %n[0] step %k {kind=serial} {\n"
        "      prog.call @one(%y)\n"
        "    }\n"
        "  }\n"
        "}\n"
    )
    seen = Seen()
    results = sc.run(sc.parse(text), {"n": [6]}, watch=Watch(seen))
    trip = [("f", "prog.call", ()), ("one", "prog.store_pair", (0, 1.0, 2.0))]
    loops = [("f", "prog.for", (0,)), *trip, ("f", "prog.for", (5,)), *trip]
    assert seen.told == [("f", "prog.assign", (5,)), *loops]
    assert results["y"].tolist() == [1.0, 2.0]


@pytest.mark.parametrize("depth", [3, 40])  # deep nests are several functions
def test_loops_that_could_be_evaluated_at_once_are_told_trip_by_trip(depth: int) -> None:
    y = build.param("y", (64,))
    x = build.param("x", (64,))
    value = build.apply("div", build.const(1.0, y.type), build.load(build.view(x, build.var("i"))))
    body: list[Node] = [build.store(build.view(y, build.var("i")), value)]
    body = [build.for_(build.range_("i", 0, 64), body)]
    for level in range(depth):
        body = [build.for_(build.range_(f"j{level}", 0, 1), body)]
    program = build.program([build.proc("f", [x, y], body, {"input_count": 1})])
    sc.verify(program)
    seen = Seen()
    numbers = np.arange(64.0)
    results = sc.run(program, {"x": numbers}, watch=Watch(seen))
    stores = [values for _, op, values in seen.told if op == "prog.store"]
    assert stores == list(enumerate(results["y"].tolist()))
    with pytest.raises(EvaluationError, match=r"^@f: 'prog.div' gives inf\n(.*\n)*.*%i = 0") as caught:
        sc.run(program, {"x": numbers}, watch=Watch(finite=True))
    assert caught.value.blamed == (value,)
    assert caught.value.statement is not None
    assert (caught.value.statement.op.name, caught.value.loops["i"]) == ("prog.store", 0)


def _outcome(program: Node, watch: Watch | None) -> dict[str, bytes] | str:
    try:
        return {name: array.tobytes() for name, array in sc.run(program, inputs_of(program), watch=watch).items()}
    except EvaluationError as failure:
        return str(failure)


def test_watching_changes_no_result() -> None:
    source = random.Random(7)
    for _ in range(20):
        program = module(source.randint)
        assert _outcome(program, Watch(Seen())) == _outcome(program, None)
