"""Python source made of programs computes what the interpreter computes, by bits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import scaly_ir as sc
from scaly_ir.dialect import parse_source
from scaly_ir.dialects.prog import build
from scaly_ir.errors import TranslateError
from scaly_ir.graph import Node
from scaly_ir.text.locations import Locations
from scaly_ir.text.source import Source
from scaly_ir.tools.c.usage import element_count, input_count
from scaly_ir.tools.translate.python import python_text
from scaly_ir.tools.translate.targets import Input
from scaly_ir.types import FLOAT32, FLOAT64, INT32, INT64
from tests.passes.prog import evaluator
from tests.passes.prog.programs import inputs_of
from tests.tools.c.compiling import assert_same_bits
from tests.tools.c.samples import golden_modules, random_modules
from tests.tools.c.test_scalars import floats, integers

NOWHERE = Locations(Source("", ""), (), (), False, lambda *_: ())


def source_of(module: Node) -> str:
    return python_text(Input(module, NOWHERE, "f.sir"), None)


def compare(module: Node) -> bool:
    """Run a module both ways; tell whether the interpreter gave it a meaning."""
    values = inputs_of(module)
    try:
        expected = evaluator.run(module, values).outputs
    except evaluator.EvaluationError:
        return False
    entry = module.args[-1]
    scope: dict[str, Any] = {}
    exec(compile(source_of(module), "<program>", "exec"), scope)
    arrays = {}
    for position, param in enumerate(build.params_of(entry)):
        name, given = param.attrs["name"], position < input_count(entry) or "input_count" not in entry.attrs
        dtype = "bool" if param.type.kind == "bool" else str(param.type)
        arrays[name] = np.array(values[name] if given else np.full(element_count(param), 77), dtype=dtype)
    function = [value for value in scope.values() if callable(value)][-1]
    function(*arrays.values())
    assert_same_bits({name: arrays[name] for name in expected}, expected, str(entry.attrs["name"]))
    return True


def test_golden_programs() -> None:
    assert all([compare(module) for module in golden_modules().values()])


def test_random_programs() -> None:
    modules = random_modules(60, seed=21)
    assert sum([compare(module) for module in modules.values()]) > 50


@pytest.mark.parametrize("dtype", [INT32, INT64])
def test_random_integers(dtype: Any) -> None:
    assert compare(integers(9, dtype))


@pytest.mark.parametrize("dtype", [FLOAT32, FLOAT64])
def test_operators_on_odd_floats(dtype: Any) -> None:
    assert compare(floats(dtype))


def test_deep_expressions_are_cut() -> None:
    x, y = build.param("x", (1,)), build.param("y", (2,))
    value = build.load(build.view(x, 0))
    for _ in range(150):
        value = build.apply("neg", build.apply("add", value, build.const(1.0, FLOAT64)))
    at = build.apply("mod", build.cast(value, INT64), build.index(1))
    body = [build.store(build.view(y, 1), value), build.store(build.view(y, at), value)]
    assert compare(build.program([build.proc("f", [x, y], body, {"input_count": 1})]))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("%a = prog.assign 1 : float64 {declare=True}\n", "statements without a procedure have no Python form"),
        (
            "prog.proc @f(%x: memref<1xfloat64>) {\n  prog.store prim.sigmoid(prog.load %x[0]), %x[0] : float64\n}\n",
            "no python lowering for operator 'prim.sigmoid'",
        ),
        (
            "prog.proc @f() {\n  prog.call @g()\n}\n",
            "procedure '@g' is not defined in this file",
        ),
    ],
)
def test_what_has_no_python_form(text: str, message: str) -> None:
    parsed = parse_source(Source.from_text(text))
    assert parsed.root is not None
    with pytest.raises(TranslateError) as caught:
        source_of(parsed.root)
    assert str(caught.value) == message


def test_names_of_python_are_avoided() -> None:
    text = "prog.proc @lambda(%np: memref<1xfloat64>, %__x: memref<1xfloat64>, %range: memref<1xfloat64>) {\n}\n"
    assert "def x_lambda(np_2, x__x, range_2, w=None):" in source_of(sc.parse(text))


def test_loops_that_python_cannot_nest() -> None:
    body: list[Node] = []
    for depth in range(19):
        body = [build.for_(build.range_(f"i{depth}", 0, 1), body)]
    module = build.program([build.proc("f", [], body)])
    with pytest.raises(TranslateError, match="loops are nested more than 18 deep"):
        source_of(module)
    compile(source_of(build.program([build.proc("f", [], body[0].args[1:])])), "<program>", "exec")
