"""scaly-run on functions of a dialect that does not come with the project."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import pytest

import scaly_ir as sc
from scaly_ir.dialect import Dialect
from scaly_ir.dialects.prog import build
from scaly_ir.graph import Node
from scaly_ir.op import Op
from scaly_ir.plugins import PluginRegistry
from scaly_ir.running import Observer, Port, Runner, Shown, Signature
from scaly_ir.text.locations import Locations, Parsed
from scaly_ir.text.source import Source
from scaly_ir.types import INT32
from tests.tools.run_cases import needs_cc, scaly_run

pytestmark = pytest.mark.usefixtures("workspace", "registry")

Array = np.ndarray[Any, Any]

TEXT: Final = "toy.scale @twice 2\ntoy.scale @thrice 3\n"
"""Functions that multiply four integers by a number."""


def read(source: Source) -> Parsed:
    scale, module = Op.get("toy.scale"), Op.get("toy.module")
    found = re.findall(r"toy\.scale @(\w+) (\d+)", source.text)
    functions = [Node(scale, (), {"name": name, "by": int(factor)}) for name, factor in found]
    return Parsed(Node(module, functions), Locations(source, (), (), False, lambda *_: ()))


def signature(function: Node) -> Signature:
    return Signature([Port("x", INT32, (4,), "ints")], [Port("y", INT32, (4,), "ints")])


def evaluate(module: Node, function: Node, values: Sequence[Array], observer: Observer | None = None) -> list[Array]:
    result = values[0] * np.int32(function.attrs["by"])
    if observer is not None and observer.step is not None:
        observer.step(function.attrs["name"], f"scale by {function.attrs['by']}", [Shown("y", result[0], INT32)])
    return [result]


def run(module: Node, inputs: dict[str, Any], name: str | None = None) -> dict[str, Array]:
    chosen = {function.attrs["name"]: function for function in module.args}[name or "thrice"]
    return {"y": evaluate(module, chosen, [np.asarray(inputs["x"])])[0]}


def lower(root: Node) -> Node:
    function = root.args[-1]
    x, y = build.param("x", 4, INT32), build.param("y", 4, INT32)
    at = build.var("i")
    value = build.apply("mul", build.load(build.view(x, at)), build.const(function.attrs["by"], INT32))
    loop = build.for_(build.range_("i", 0, 4), [build.store(build.view(y, at), value)])
    return build.program([build.proc(function.attrs["name"], [x, y], [loop], {"input_count": 1})])


RUNNER: Final = Runner(signature, evaluate, "lower_toy,default", run=run)
EVALUATED: Final = Runner(signature, evaluate)


def register(runner: str) -> None:
    """Add the dialect, its operators and its pass."""
    registry = PluginRegistry()
    for name in ("toy.module", "toy.scale"):
        Op.register(name).set_attr("TModule", name == "toy.module")
    place = f"{__name__}:{runner}" if runner else ""
    registry.add_dialect(Dialect("toy", read, lambda root: TEXT, runner=place))
    registry.add_pass("lower_toy", lower, dialects=["toy"])


def test_the_evaluator() -> None:
    register("RUNNER")
    assert scaly_run("--in", "x=[1,2,3,4]", stdin=TEXT) == (0, "y: ints<4xint32>\n  [3, 6, 9, 12]\n", "")
    assert scaly_run("@twice", "--in", "x=arange", stdin=TEXT).out == "y: ints<4xint32>\n  [0, 2, 4, 6]\n"
    traced = scaly_run("@twice", "--in", "x=arange", "--trace", "--print=none", stdin=TEXT)
    assert traced == (0, "", "in @twice\n  scale by 2\n    y = 0\n")
    assert "expected ints<4xint32>, got ints<2xint32>" in scaly_run("--in", "x=[1,2]", stdin=TEXT).err
    assert "there is no function @twise in the file; did you mean @twice?" in scaly_run("@twise", stdin=TEXT).err
    assert sc.run(sc.parse(TEXT), {"x": [1, 2]}, "twice")["y"].tolist() == [2, 4]


@needs_cc
def test_compiled_code() -> None:
    register("RUNNER")
    assert scaly_run("@twice", "--random=1", "--compare", stdin=TEXT) == (0, "y: ints<4xint32>: equal\n", "")


def test_what_a_dialect_does_not_say() -> None:
    register("EVALUATED")
    done = scaly_run("--random=1", "--engine=c", stdin=TEXT)
    assert (done.code, done.err) == (
        1,
        "scaly-run: error: @thrice cannot be compiled: nobody says how dialect 'toy' is compiled\n",
    )


def test_a_dialect_that_cannot_be_run() -> None:
    register("")
    done = scaly_run("--random=1", stdin=TEXT)
    message = "a function or procedure is run, this file holds functions of 'toy', which nobody runs"
    assert (done.code, done.err) == (1, f"scaly-run: error: {message}\n")
