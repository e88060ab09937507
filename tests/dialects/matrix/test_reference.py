"""What the operators compute, against the formulas of the specification, one element after the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import scaly_ir as sc
from scaly_ir.attributes import Word
from scaly_ir.dialect import load_dialect
from scaly_ir.op import Op
from tests.dialects.matrix.functions import function

Array = np.ndarray[Any, Any]

load_dialect("matrix")


def computed(name: str, *operands: Any, **attrs: Any) -> Array:
    """Return what an operator's `FNumpy` gives."""
    with np.errstate(all="ignore"):
        return np.asarray(Op.get(f"matrix.{name}").get_attr("FNumpy")(*operands, **attrs))


# --- the formulas -----------------------------------------------------------------------------------------------------


def map_reduce(
    xs: Sequence[Array],
    indices: Sequence[Sequence[int]],
    init: Any,
    comb: Callable[..., Any],
    shape: tuple[int, ...],
    dtype: Any,
) -> Array:
    ext = dict(enumerate(shape))
    for x, idx in zip(xs, indices, strict=True):
        ext = dict(zip(idx, x.shape, strict=True)) | ext
    red = sorted([q for q in ext if q >= len(shape)])
    out = np.empty(shape, dtype)
    with np.errstate(all="ignore"):
        for o in np.ndindex(*shape):
            out[o] = init
            for r in np.ndindex(*[ext[q] for q in red]):
                at = dict(enumerate(o)) | dict(zip(red, r, strict=True))
                elements = [x[tuple([at[q] for q in idx])] for x, idx in zip(xs, indices, strict=True)]
                out[o] = comb(out[o], *elements)
    return out


def left_fold(values: Array) -> Any:
    total = values.dtype.type(0)
    with np.errstate(all="ignore"):
        for value in values.ravel():
            total = values.dtype.type(total + value)
    return total


# --- random arrays ----------------------------------------------------------------------------------------------------

DTYPES = ("float32", "float64", "int32", "int64")
shapes = st.lists(st.integers(0, 4), max_size=3)


def numbers(dtype: str) -> st.SearchStrategy[Any]:
    if dtype == "bool":
        return st.booleans()
    if dtype.startswith("int"):
        least = np.iinfo(dtype).min
        return st.one_of(st.integers(-3, 3), st.integers(least, -least - 1))
    floats = st.floats(width=32, allow_nan=False) if dtype == "float32" else st.floats(allow_nan=False)
    return st.one_of(st.sampled_from([0.0, -0.0, 0.5, -2.0, 2.0**60, -(2.0**60)]), floats)


def arrays(shape: Sequence[int], dtype: str) -> st.SearchStrategy[Array]:
    size = int(np.prod(list(shape), dtype=int))
    made = st.lists(numbers(dtype), min_size=size, max_size=size)
    return made.map(lambda values: np.array(values, dtype).reshape(tuple(shape)))


def same(found: Array, expected: Any) -> bool:
    """Tell whether two arrays are the same to the bit, whatever NaN there is."""
    wanted = np.asarray(expected)
    if (found.dtype, found.shape) != (wanted.dtype, wanted.shape):
        return False
    if found.dtype.kind != "f":
        return found.tobytes() == wanted.tobytes()
    nan = np.isnan(found)
    return (
        bool((nan == np.isnan(wanted)).all())
        and np.where(nan, 0, found).tobytes() == np.where(nan, 0, wanted).tobytes()
    )


# --- operators --------------------------------------------------------------------------------------------------------


@given(st.data(), st.sampled_from(DTYPES), st.tuples(*[st.integers(0, 4)] * 3))
def test_prod(data: st.DataObject, dtype: str, extents: tuple[int, int, int]) -> None:
    m, k, n = extents
    left, right = data.draw(arrays((m, k), dtype)), data.draw(arrays((k, n), dtype))
    kind = np.dtype(dtype).type
    expected = map_reduce(
        [left, right], [[0, 2], [2, 1]], kind(0), lambda s, a, b: kind(s + kind(a * b)), (m, n), dtype
    )
    assert same(computed("prod", left, right), expected)


@given(st.data(), st.sampled_from(DTYPES), shapes)
def test_sum(data: st.DataObject, dtype: str, shape: list[int]) -> None:
    values = data.draw(arrays(shape, dtype))
    assert same(computed("sum", values), left_fold(values))


@given(st.data(), st.sampled_from([*DTYPES, "bool"]), st.tuples(st.integers(0, 4), st.integers(0, 4)))
def test_transpose(data: st.DataObject, dtype: str, shape: tuple[int, int]) -> None:
    values = data.draw(arrays(shape, dtype))
    found = computed("transpose", values)
    assert found.tolist() == [[values[i, j] for i in range(shape[0])] for j in range(shape[1])]
    assert not np.shares_memory(found, values)


@given(st.data(), st.sampled_from([*DTYPES, "bool"]), shapes)
def test_broadcast(data: st.DataObject, dtype: str, s_out: list[int]) -> None:
    s_in = [data.draw(st.sampled_from([1, extent])) for extent in s_out]
    values = data.draw(arrays(s_in, dtype))
    found = computed("broadcast", values.reshape([n for n in s_in if n != 1]), s_in=s_in, s_out=s_out)
    assert found.shape == tuple(s_out)
    for at in np.ndindex(*s_out):
        assert found[at] == values[tuple([min(i, n - 1) for i, n in zip(at, s_in, strict=True)])]
    assert not np.shares_memory(found, values)


@given(st.data(), st.sampled_from([*DTYPES, "bool"]), shapes, st.booleans())
def test_pad(data: st.DataObject, dtype: str, s_in: list[int], replicate: bool) -> None:
    widths = st.integers(0, 3)
    lo, hi = [[data.draw(widths) if n or not replicate else 0 for n in s_in] for _ in range(2)]
    s_out = [before + n + after for before, n, after in zip(lo, s_in, hi, strict=True)]
    values, edge = data.draw(arrays(s_in, dtype)), data.draw(arrays((), dtype))
    mode = Word("replicate" if replicate else "constant")
    operands = [values] if replicate else [values, edge[()]]
    found = computed("pad", *operands, s_in=s_in, s_out=s_out, mode=mode, lo=lo, hi=hi)
    assert found.shape == tuple(s_out)
    for at in np.ndindex(*s_out):
        inner = [i - before for i, before in zip(at, lo, strict=True)]
        nearest = tuple([min(max(i, 0), n - 1) for i, n in zip(inner, s_in, strict=True)])
        assert found[at] == (values[nearest] if replicate or list(nearest) == inner else edge)
    assert not np.shares_memory(found, values)


@given(st.data(), st.sampled_from([*DTYPES, "bool"]), shapes.filter(bool))
def test_concat(data: st.DataObject, dtype: str, shape: list[int]) -> None:
    axis = data.draw(st.integers(0, len(shape) - 1))
    extents = data.draw(st.lists(st.integers(0, 3), min_size=1, max_size=3))
    shapes = [[*shape[:axis], extent, *shape[axis + 1 :]] for extent in extents]
    parts = [data.draw(arrays(each, dtype)) for each in shapes]
    s_out = [*shape[:axis], sum(extents), *shape[axis + 1 :]]
    found = computed("concat", *parts, axis=axis, shapes=shapes, s_out=s_out)
    assert found.shape == tuple(s_out)
    offset = 0
    for part in parts:
        for at in np.ndindex(*part.shape):
            assert found[tuple([i + offset * (d == axis) for d, i in enumerate(at)])] == part[at]
        offset += part.shape[axis]
    assert not any([np.shares_memory(found, part) for part in parts])


def test_products_and_sums_are_not_those_of_numpy() -> None:
    big = np.array([[1e16, 1.0, -1e16, 1.0]])  # from the right it is 0
    assert computed("prod", big, np.ones((4, 1))).tolist() == [[1.0]]
    assert computed("sum", big) == 1.0
    halves = np.full((1, 257), 2.0**-24, np.float32)
    halves[0, 0] = 1.0
    assert computed("sum", halves) == 1.0  # each addition is rounded
    assert np.sum(halves) > 1.0


# --- combinations, through text ---------------------------------------------------------------------------------------


def memref(shape: Sequence[int], dtype: str) -> str:
    return f"memref<{''.join([f'{extent}x' for extent in shape])}{dtype}>"


@given(st.data(), st.sampled_from(DTYPES), st.integers(0, 3), st.integers(0, 2))
def test_map_reduce(data: st.DataObject, dtype: str, rank: int, count: int) -> None:
    extents = [data.draw(st.integers(0, 3)) for _ in range(rank + 3)]
    pool = st.lists(st.integers(0, rank + 2), max_size=3)
    indices = [data.draw(pool) for _ in range(count)]
    inputs = [data.draw(arrays([extents[q] for q in idx], dtype)) for idx in indices]
    init = data.draw(arrays((), dtype))
    shape = tuple(extents[:rank])
    kind = np.dtype(dtype).type
    mention = "%acc"
    for at in range(count):
        mention = f"prog.add(prog.mul({mention}, 3), %x{at})"

    def comb(acc: Any, *elements: Any) -> Any:
        for element in elements:
            acc = kind(kind(acc * kind(3)) + element)
        return acc

    params = [f"%{chr(65 + at)}: {memref(each.shape, dtype)}" for at, each in enumerate(inputs)]
    names = [f"%{chr(65 + at)}" for at in range(count)]
    args = ", ".join([f"%acc: {dtype}", *[f"%x{at}: {dtype}" for at in range(count)]])
    head = f"%r = matrix.map_reduce({', '.join(names)}) init(%init) {{indices={indices}}} : {memref(shape, dtype)}"
    body = f"{head} {{\n^comb({args}):\nmatrix.yield {mention}\n}}\nbuffer.return %r"
    module = function(body, ", ".join([*params, f"%init: {dtype}"]), f"%y: {memref(shape, dtype)}")
    given_ = {chr(65 + at): each for at, each in enumerate(inputs)}
    found = sc.run(module, {**given_, "init": init})["y"]
    assert same(found, map_reduce(inputs, indices, init, comb, shape, dtype))


@given(st.data(), st.sampled_from(DTYPES), st.integers(0, 2), st.integers(0, 2))
def test_map_reduce_aff(data: st.DataObject, dtype: str, rank: int, reduced: int) -> None:
    bounds = [data.draw(st.integers(0, 3)) for _ in range(rank + reduced)]
    order = data.draw(st.permutations(range(rank)))
    factors = [data.draw(st.integers(1, 2)) for _ in range(rank)]
    shape = tuple([bounds[p] * factor + 1 for p, factor in zip(order, factors, strict=True)])
    weights = [data.draw(st.integers(-1, 2)) for _ in bounds]
    least = sum([min(w, 0) * max(n - 1, 0) for w, n in zip(weights, bounds, strict=True)])
    extent = sum([abs(w) * max(n - 1, 0) for w, n in zip(weights, bounds, strict=True)]) + 1
    x, init = data.draw(arrays((extent, 2), dtype)), data.draw(arrays((), dtype))
    kind = np.dtype(dtype).type
    with np.errstate(all="ignore"):
        expected = np.full(shape, init, dtype)
        for o in np.ndindex(*bounds[:rank]):
            acc = kind(init)
            for r in np.ndindex(*bounds[rank:]):
                first = sum([w * i for w, i in zip(weights, (*o, *r), strict=True)]) - least
                acc = kind(kind(acc * kind(3)) + x[first, (first + 1) % 2])
            expected[tuple([o[p] * factor + 1 for p, factor in zip(order, factors, strict=True)])] = acc
    dims = ", ".join([f"d{p}" for p in range(len(bounds))])
    linear = " + ".join([*[f"d{p} * {w}" for p, w in enumerate(weights)], str(-least)])
    out = ", ".join([f"d{p} * {factor} + 1" for p, factor in zip(order, factors, strict=True)])
    maps = (
        f"in_maps=[affine_map<({dims}) -> ({linear}, ({linear} + 1) mod 2)>], out_map=affine_map<({dims}) -> ({out})>"
    )
    head = f"%r = matrix.map_reduce_aff(%x) init(%init) {{bounds={bounds}, {maps}}} : {memref(shape, dtype)}"
    body = f"{head} {{\n^comb(%acc: {dtype}, %a: {dtype}):\nmatrix.yield prog.add(prog.mul(%acc, 3), %a)\n}}"
    params = f"%x: {memref((extent, 2), dtype)}, %init: {dtype}"
    module = function(f"{body}\nbuffer.return %r", params, f"%y: {memref(shape, dtype)}")
    assert same(sc.run(module, {"x": x, "init": init})["y"], expected)


def test_an_index_that_an_array_does_not_have() -> None:
    from scaly_ir.dialects.affine.maps import identity

    def last(acc: Array, element: Array) -> Array:
        return element

    with pytest.raises(IndexError, match=r"index 2 is outside \[0, 2\)"):
        computed(
            "map_reduce_aff",
            np.zeros(2),
            0.0,
            bounds=[3],
            out_map=identity(1),
            in_maps=[identity(1)],
            comb=last,
            shape=(3,),
            dtype="float64",
        )
