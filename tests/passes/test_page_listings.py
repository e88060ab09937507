"""The listings of the document on lowering come out of the pipeline as they are printed there.

The document stands beside the repository, not in it; without it there is nothing to test here. It trims the attributes
of procedures, so these are left out of what is compared.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest

import scaly_ir as sc
from scaly_ir.dialects.expr.functions import make_module

PAGE: Final = Path(__file__).resolve().parents[3] / "shared" / "seeds" / "lowering_page.txt"

pytestmark = pytest.mark.skipif(not PAGE.exists(), reason="needs the document")

_header: Final = re.compile(r"(prog\.proc @.*?\)) \{.*\} \{$", re.MULTILINE)


def _text(function: sc.Function, pipeline: str = "default") -> str:
    """Return the program of a function, its procedures without attributes."""
    text = sc.render(sc.run_passes(make_module([function.node]), pipeline))
    return _header.sub(r"\1 {", text)


def _chain() -> Any:
    @sc.function(sc.G(sc.L("x", 8), sc.L("y", 8)), sc.L("out", ...))
    def f(inputs: Any) -> Any:
        x, y = inputs
        return (x.sin() + y) * y

    return f


def _horizon(step: Callable[[Any], Any], name: str = "horizon", output: str = "ys") -> Any:
    stage = sc.function(sc.L("x", 3), sc.L("y", ...), name="stage")(step)

    @sc.function(sc.L("xs", 15), sc.L(output, ...), name=name)
    def mapped(xs: Any) -> Any:
        found = sc.vmap(stage, 5, [xs])
        return found[::3] if name == "firsts" else found

    return mapped


def _weighted() -> Any:
    @sc.function(sc.G(sc.L("x", 3), sc.L("w", 9)), sc.L("y", ...))
    def stage(inputs: Any) -> Any:
        x, w = inputs
        return (w.reshape((3, 3)).exp() @ x).sin()

    @sc.function(sc.G(sc.L("xs", 15), sc.L("w", 9)), sc.L("ys", ...))
    def horizon(inputs: Any) -> Any:
        xs, w = inputs
        return sc.vmap(stage, 5, [xs, w])

    return horizon


def _broadcast() -> Any:
    @sc.function(sc.G(sc.L("x", 3), sc.L("y", (4, 3))), sc.L("out", ...))
    def f(inputs: Any) -> Any:
        x, y = inputs
        return x.sin() * y

    return f


def _scaled() -> Any:
    @sc.function(sc.L("x", 12), sc.L("y", ...))
    def scaled(x: Any) -> Any:
        return x * sc.const(np.tile([1.0, 2.0, 3.0], 4))

    return scaled


def _divided() -> Any:
    @sc.function(sc.G(sc.L("x", 4), sc.L("s", ())), sc.L("y", ...))
    def f(inputs: Any) -> Any:
        x, s = inputs
        return x / s

    return f


def _squared_sine(x: Any) -> Any:
    return x.sin() * x


WHOLE: Final = {
    "one loop per operation": (_chain, "lower"),
    "one loop": (_chain, "default"),
    "a stage with a loop of its own": (lambda: _horizon(lambda x: _squared_sine(x).block()), "default"),
    "a stage in the loop over stages": (lambda: _horizon(_squared_sine), "default"),
    "what is used of a stage": (lambda: _horizon(_squared_sine, "firsts", "firsts"), "default"),
    "a broadcast": (_broadcast, "default"),
}


@pytest.mark.parametrize("name", WHOLE)
def test_whole_listings(name: str) -> None:
    make, pipeline = WHOLE[name]
    assert _text(make(), pipeline) in PAGE.read_text(encoding="utf-8")


PARTS: Final = {
    "what stages share": (_weighted, "lower,hoist_invariant", 1, "  ", 7),
    "a table as it is lowered": (_scaled, "lower", 2, "    ", 4),
    "a table that repeats": (_scaled, "lower,fold_tiles", 2, "    ", 4),
    "a reciprocal": (_divided, "default{reciprocal}", 2, "    ", 4),
}
"""Listings that show a part: the function, the pipeline, where the part begins, its indentation and its lines."""


@pytest.mark.parametrize("name", PARTS)
def test_listings_of_parts(name: str) -> None:
    make, pipeline, start, indent, count = PARTS[name]
    lines = _text(make(), pipeline).splitlines()
    if name == "what stages share":
        start = next(at for at, line in enumerate(lines) if "prog.proc @horizon" in line)
    part = "\n".join([line.removeprefix(indent) for line in lines[start : start + count]])
    assert part in PAGE.read_text(encoding="utf-8")


def test_two_products_share_one_slot() -> None:
    @sc.function(sc.G(sc.L("A", (40, 40)), sc.L("B", (40, 40))), sc.L("out", ...))
    def f(inputs: Any) -> Any:
        a, b = inputs
        return (a @ b).sum() + (b @ a).sum()

    source, page = sc.render_c_source(f), PAGE.read_text(encoding="utf-8")
    slots = [line.strip() for line in source.splitlines() if re.match(r"  double\*? s\d", line)]
    assert "\n".join(slots) in page
    assert "#define f_SZ_W 1600\n" in source


def test_a_gradient_of_overlapping_slices_has_one_buffer() -> None:
    """The document's example, its gradient written out."""

    @sc.function(sc.L("x", 6), sc.L("grad_c_x", ...), name="cost_grad_c_x")
    def gradient(x: Any) -> Any:
        first = sc.scatter(x[0:4].cos(), list(range(4)), 6)
        second = sc.scatter(-x[2:6].sin(), list(range(2, 6)), 6)
        return second + first

    lines = _text(gradient).splitlines()
    loops = [line.strip() for line in lines if "prog.for" in line or "prog.store" in line or "%v0" in line]
    assert len([line for line in loops if "prog.for" in line]) == 3
    page = PAGE.read_text(encoding="utf-8")
    renamed = [re.sub(r"%t\d", "%t", line) for line in loops]
    shown = [re.sub(r"%t\d", "%t", line.strip()) for line in page.splitlines()]
    stores = [line for line in renamed if "prog.store" in line and "prog.for" not in line]
    for line in stores:
        assert re.sub(r"%[a-z]+_t\d?", "%i", line) in [re.sub(r"%[a-z]+_t\d?", "%i", known) for known in shown]
