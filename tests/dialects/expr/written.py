"""Graphs written as Python text, for tables of what simplification makes of them, and of what it keeps."""

from __future__ import annotations

import inspect
from typing import Any, Final

import numpy as np
import pytest

import scaly_ir as sc
from scaly_ir.dialects.expr import ops
from scaly_ir.dialects.expr.build import make
from scaly_ir.graph import Node

INF: Final = float("inf")
NAN: Final = float("nan")

GRAPHS: Final[dict[str, Any]] = {
    "sc": sc,
    "np": np,
    "INF": INF,
    "NAN": NAN,
    "make": make,
    "ops": ops,
    **{name: sc.sym(name, 3) for name in "xy"},
    **{name: sc.sym(name, 3, dtype="int64") for name in "nk"},
    **{name: sc.sym(name, 3, dtype="bool_") for name in "bc"},
    "f": sc.sym("f", 3, dtype="float32"),
    "h": sc.sym("h", 3, dtype="int32"),
    "s": sc.sym("s"),
    "w": sc.sym("w", 5),
    **{name: sc.sym(name, (4, 3)) for name in "AB"},
    "C": sc.sym("C", (3, 4)),
    "T": sc.sym("T", (2, 3, 4)),
    "U": sc.sym("U", (2, 4, 4)),
    "idx": sc.sym("idx", 2, dtype="int64"),
}


def full(number: float, shape: Any, dtype: str = "float64") -> Any:
    """Return a constant of one number."""
    return sc.const(np.full(shape, number, "bool" if dtype == "bool_" else dtype))


def written(text: str) -> Any:
    """Return the graph that some Python text builds."""
    return eval(text, {**GRAPHS, "full": full})


def rows(table: str) -> pytest.MarkDecorator:
    """Return the rows ``before -> after`` of a table, as parameters."""
    pairs = [tuple(map(str.strip, line.split("->"))) for line in inspect.cleandoc(table).splitlines() if line.strip()]
    return pytest.mark.parametrize(("before", "after"), pairs)


def lines(table: str) -> pytest.MarkDecorator:
    """Return the lines of a table, as parameters."""
    return pytest.mark.parametrize("text", [line for line in inspect.cleandoc(table).splitlines() if line.strip()])


def kept(node: Node) -> None:
    """Check that simplification leaves a graph as it is."""
    assert sc.simplify(node) is node
