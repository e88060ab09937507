"""Reductions along axes, sums of products by a string, and windows: against NumPy, and through every phase."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import scaly_ir as sc
from scaly_ir.dialects.matrix.evaluate import evaluate_function
from scaly_ir.dialects.matrix.windows import SpecError, read_subscripts, seed
from scaly_ir.types import DType

PHASES = (
    "",
    "lower_matrix_high_level_map_reduce",
    "lower_matrix_high_level_map_reduce,lower_matrix_medium_level,lower_aff",
)
DTYPES = st.sampled_from(["int32", "int64", "float32", "float64"])
Array = np.ndarray[Any, Any]


def memref(shape: Sequence[int], dtype: str) -> str:
    return f"memref<{''.join([f'{extent}x' for extent in shape])}{dtype}>"


def result(operation: str, inputs: Sequence[Array], shape: Sequence[int], dtype: str) -> Array:
    """Return what an operation on ``%a0, %a1, ...`` computes, which is the same by bits after every phase."""
    params = ", ".join([f"%a{number}: {memref(each.shape, dtype)}" for number, each in enumerate(inputs)])
    type_ = memref(shape, dtype)
    text = f"buffer.func @f({params}) -> (%y: {type_}) {{\n  %0 = {operation} : {type_}\n  buffer.return %0\n}}\n"
    module = sc.parse(text)
    assert sc.render(module) == text
    found = []
    for passes in PHASES:
        lowered = sc.run_passes(module, passes) if passes else module
        sc.verify(lowered)
        assert sc.parse(sc.render(lowered)) is lowered
        (value,) = evaluate_function(lowered.args[-1], list(inputs))
        found.append(np.asarray(value))
    for each in found:
        assert (each.shape, str(each.dtype)) == (tuple(shape), dtype)
        assert each.tobytes() == found[0].tobytes()
    return found[0]


def numbers(shape: Sequence[int], dtype: str, draw: Any) -> Array:
    """Return small whole numbers, on which every order of additions gives the same."""
    count = int(np.prod(shape, dtype=int))
    values = draw(st.lists(st.integers(-4, 4), min_size=count, max_size=count))
    return np.array(values, dtype).reshape(shape)


def extents(most: int = 3) -> st.SearchStrategy[list[int]]:
    return st.lists(st.integers(0, 4), max_size=most)


@given(st.data(), DTYPES, extents(), st.sampled_from(["add", "mul", "max", "min"]))
def test_reductions_along_axes(data: Any, dtype: str, shape: list[int], kind: str) -> None:
    axes = sorted(data.draw(st.sets(st.sampled_from(range(len(shape))))) if shape else [])
    x = numbers(shape, dtype, data.draw)
    kept = [extent for axis, extent in enumerate(shape) if axis not in axes]
    got = result(f"matrix.reduce(%a0) {{axes={axes}, kind={kind}}}", [x], kept, dtype)
    fold = {"add": np.add, "mul": np.multiply, "max": np.maximum, "min": np.minimum}[kind]
    wanted = fold.reduce(x, axis=tuple(axes), dtype=dtype, initial=seed(kind, DType(dtype))) if axes else x
    assert np.array_equal(got, np.asarray(wanted, dtype))


@given(st.data(), DTYPES)
def test_sums_of_products(data: Any, dtype: str) -> None:
    rows = data.draw(st.lists(st.text("abcd", max_size=3), min_size=1, max_size=3))
    size = {letter: data.draw(st.integers(0, 3)) for letter in "abcd"}
    letters = sorted(set("".join(rows)))
    out = "".join(data.draw(st.permutations(letters)))[: data.draw(st.integers(0, len(letters)))]
    spec = ",".join(rows) + data.draw(st.sampled_from([f"->{out}", ""]))
    inputs = [numbers([size[letter] for letter in row], dtype, data.draw) for row in rows]
    wanted = np.asarray(np.einsum(spec, *inputs), dtype)
    names = ", ".join([f"%a{number}" for number in range(len(rows))])
    got = result(f'matrix.einsum({names}) {{spec="{spec}"}}', inputs, wanted.shape, dtype)
    assert np.array_equal(got, wanted)


@st.composite
def windows(draw: Any) -> dict[str, list[int]]:
    """Draw an axis each: extent, widths, window, stride and dilation that fit."""
    rows = []
    for _ in range(draw(st.integers(0, 2))):
        window, stride, dilation = [draw(st.integers(1, 2)) for _ in range(3)]
        low, high = [draw(st.integers(0, 2)) for _ in range(2)]
        reach = dilation * (window - 1) + 1
        rows.append((draw(st.integers(max(0, reach - low - high), 4)), low, high, window, stride, dilation))
    keys = ("extent", "lo", "hi", "window", "stride", "dilation")
    return dict(zip(keys, [list(row) for row in zip(*rows, strict=True)] or [[]] * 6, strict=True))


def positions(axes: dict[str, list[int]]) -> list[int]:
    """Return how many positions a window has along each axis."""
    rows = zip(*[axes[key] for key in ("extent", "lo", "hi", "window", "stride", "dilation")], strict=True)
    return [(low + n + high - (gap * (window - 1) + 1)) // step + 1 for n, low, high, window, step, gap in rows]


def inside(axes: dict[str, list[int]], at: Sequence[int]) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Yield, for a window at a position, its offsets and the element of the input there, where there is one."""
    for offset in np.ndindex(*axes["window"]):
        moves = zip(at, offset, axes["stride"], axes["dilation"], axes["lo"], strict=True)
        element = tuple([p * step + o * gap - low for p, o, step, gap, low in moves])
        if all([0 <= e < n for e, n in zip(element, axes["extent"], strict=True)]):
            yield offset, element


def attributes(axes: dict[str, list[int]], *keys: str) -> str:
    return ", ".join([f"{key}={axes[key]}" for key in sorted(keys)])


@given(st.data(), DTYPES, windows(), st.tuples(*[st.integers(0, 2)] * 3))
def test_convolutions(data: Any, dtype: str, axes: dict[str, list[int]], sizes: tuple[int, int, int]) -> None:
    batch, channels, features = sizes
    x = numbers([batch, channels, *axes["extent"]], dtype, data.draw)
    w = numbers([features, channels, *axes["window"]], dtype, data.draw)
    shape = [batch, features, *positions(axes)]
    attrs = attributes(axes, "dilation", "hi", "lo", "stride")
    got = result(f"matrix.conv(%a0, %a1) {{{attrs}}}", [x, w], shape, dtype)
    for n, f, *at in np.ndindex(*shape):
        terms = [x[(n, c, *e)] * w[(f, c, *o)] for c in range(channels) for o, e in inside(axes, at)]
        assert got[(n, f, *at)] == sum(terms)


@given(st.data(), DTYPES, windows(), extents(2), st.sampled_from(["add", "mul", "max", "min", "mean"]))
def test_pools(data: Any, dtype: str, axes: dict[str, list[int]], kept: list[int], kind: str) -> None:
    if kind == "mean" and "int" in dtype:
        kind = "add"
    x = numbers([*kept, *axes["extent"]], dtype, data.draw)
    shape = [*kept, *positions(axes)]
    listed = attributes(axes, "dilation", "hi") + f", kind={kind}, " + attributes(axes, "lo", "stride", "window")
    got = result(f"matrix.pool(%a0) {{{listed}}}", [x], shape, dtype)
    for place in np.ndindex(*shape):
        lead, at = place[: len(kept)], place[len(kept) :]
        values = np.array([x[(*lead, *element)] for _, element in inside(axes, at)], dtype)
        count = np.array(np.prod(axes["window"], dtype=int), dtype)
        wanted = {
            "add": values.sum(dtype=dtype),
            "mean": values.sum(dtype=dtype) / count,
            "mul": values.prod(dtype=dtype),
            "max": max([seed("max", DType(dtype)), *values]),
            "min": min([seed("min", DType(dtype)), *values]),
        }
        assert got[place] == wanted[kind]


def test_a_sum_of_no_products_keeps_the_sign_of_zero() -> None:
    got = result('matrix.einsum(%a0) {spec="ij->ji"}', [np.array([[-0.0, 1.0]])], (2, 1), "float64")
    assert np.signbit(got[0, 0])


def test_a_largest_element_is_one_of_those_that_are_numbers() -> None:
    got = result("matrix.reduce(%a0) {axes=[0], kind=max}", [np.array([np.nan, -1.0])], (), "float64")
    assert got == -1.0


@pytest.mark.parametrize(
    ("text", "inputs", "output", "indices"),
    [
        ("ij,jk->ik", ("ij", "jk"), "ik", [[0, 2], [2, 1]]),
        ("ij, jk -> ik", ("ij", "jk"), "ik", [[0, 2], [2, 1]]),
        ("ba", ("ba",), "ab", [[1, 0]]),
        ("ii", ("ii",), "", [[0, 0]]),
        (",a->a", ("", "a"), "a", [[], [0]]),
        ("kij,k->", ("kij", "k"), "", [[0, 1, 2], [0]]),
    ],
)
def test_strings_of_indices(text: str, inputs: tuple[str, ...], output: str, indices: list[list[int]]) -> None:
    read = read_subscripts(text)
    assert (read.inputs, read.output, read.indices) == (inputs, output, indices)


@pytest.mark.parametrize("text", ["ij->k", "ij->ii", "i.j", "...i->i", "ij->i->j", "é->é"])
def test_strings_that_name_no_indices(text: str) -> None:
    with pytest.raises(SpecError):
        read_subscripts(text)
