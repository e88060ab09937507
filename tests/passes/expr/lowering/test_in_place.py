"""Lowering of loops that update carries in place (lowering specification 1.8)."""

from __future__ import annotations

from collections.abc import Callable
from textwrap import dedent
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import scaly_ir as sc
from scaly_ir.dialects.expr.functions import make_module
from scaly_ir.passes.expr.lowering.driver import lower
from tests.passes.expr.lowering.functions import as_floats, check_function, loop_of, module_of

X, W, N = sc.sym("x", 4), sc.sym("w", 8), sc.sym("n", ())
C, U, K = sc.sym("c", 4), sc.sym("u", 2), sc.sym("k", (), dtype="int64")
VALUES = {"x": [0.5, -2.0, 3.0, 0.25], "w": np.arange(8.0) - 2.5, "n": 3.0}


@sc.function(sc.arg("c", 4), sc.arg("u", 2), outputs=sc.group(sc.arg("next"), sc.arg("y")))
def update(c: sc.Expr, u: sc.Expr) -> tuple[sc.Expr, sc.Expr]:
    first = sc.index_add(c, [0, 2], u)
    return sc.index_set(first, [3], first[0:1] * 2.0), u[0]


def body(next_: Any, *others: Any) -> sc.Function:
    """A body of the carry `c`, the step number `k` and the operand `u`."""
    return sc.Function.from_exprs("body", [C, K, U], [next_, *others])


def results(function: sc.Function, *more: sc.Expr, **attrs: Any) -> list[sc.Expr]:
    """All results of a loop of a body over `x` and `w`, the carry in place."""
    operands = [X, W, *more]
    known = {"n_carry": 1, "length": 5, "in_place": [0], "index": len(function.inputs) == 3, **attrs}
    return [loop_of(function, operands, output=number, **known) for number in range(2 + len(function.outputs))]


def test_the_body_reads_and_writes_its_output_and_the_loop_has_one_slot() -> None:
    f = sc.Function.from_exprs("f", [X, W], [results(update, length=3)[0]], None, ["last"])
    assert sc.render(module_of(f)) == dedent("""\
        prog.module {
          prog.proc @update_inplace(%u: memref<2xfloat64>, %next: memref<4xfloat64>, %y: memref<1xfloat64>) \
{device=host, in_place=True, input_count=1, lowering="auto", scalarize_mode="disabled"} {
            prog.for %i_next = 0 to 2 step 1 {kind=global} {
              prog.store prog.add(prog.load %next[prog.mul(%i_next, 2)], prog.load %u[%i_next]), \
%next[prog.mul(%i_next, 2)] : float64
            }
            %t0 = prog.buffer : memref<1xfloat64, private> = prog.alias %next offset 0
            %k1 = prog.buffer : memref<1xfloat64, constant> = dense<[2.0]>
            %t2 = prog.buffer : memref<1xfloat64, private>
            prog.for %i_t2 = 0 to 1 step 1 {kind=global} {
              prog.store prog.mul(prog.load %t0[0], prog.load %k1[0]), %t2[%i_t2] : float64
            }
            prog.for %i_next = 0 to 1 step 1 {kind=global} {
              prog.store prog.load %t2[0], %next[3] : float64
            }
            prog.for %i_y = 0 to 1 step 1 {kind=global} {
              prog.store prog.load %u[0], %y[%i_y] : float64
            }
          }
          prog.proc @f(%x: memref<4xfloat64>, %w: memref<8xfloat64>, %last: memref<4xfloat64>) \
{device=host, input_count=2, lowering="auto", scalarize_mode="disabled"} {
            %t0 = prog.buffer : memref<4xfloat64, private>
            prog.for %c_t0 = 0 to 4 step 1 {kind=global} {
              prog.store prog.load %x[%c_t0], %t0[%c_t0] : float64
            }
            %t1 = prog.buffer : memref<1xfloat64, private>
            prog.for %it_t0 = 0 to 3 step 1 {kind=serial} {
              prog.call @update_inplace(%w[prog.add(0, prog.mul(1, %it_t0))], %t0, %t1) {n_in=1, n_out=2}
            }
            prog.for %c_last = 0 to 4 step 1 {kind=global} {
              prog.store prog.load %t0[%c_last], %last[%c_last] : float64
            }
          }
        }
        """)
    check_function(f, {name: VALUES[name] for name in ("x", "w")})


@pytest.mark.parametrize("length", [0, 1, 4])
@pytest.mark.parametrize("reverse", [False, True])
def test_all_results_in_both_directions(length: int, reverse: bool) -> None:
    check_function(as_floats("f", [X, W], results(update, length=length, reverse=reverse)), _without("n"))
    numbered = body(sc.index_add(C, [1, 1, 3], sc.concat([U, sc.cast(K, "float64").reshape((1,))])), U, K)
    check_function(as_floats("f", [X, W], results(numbered, length=length, reverse=reverse)), _without("n"))


def _without(name: str) -> dict[str, Any]:
    return {key: value for key, value in VALUES.items() if key != name}


@pytest.mark.parametrize("trip", [-1, 0, 1, 2, 5, 9])
def test_a_loop_that_ends_early(trip: int) -> None:
    ended = results(update, sc.cast(N, "int64"))
    go = sc.Function.from_exprs("go", [C], [sc.less(C[0], -3.5 + trip)], None, ["go"])
    conditional = results(update, cond=go.node)
    check_function(as_floats("f", [X, W, N], [*ended, *conditional]), {**VALUES, "n": float(trip)})


ACCEPTED: dict[str, Callable[[], Any]] = {
    "nothing is updated": lambda: C,
    "a part of the operand": lambda: sc.index_set(C, [1, 3], U),
    "reshapes on the way": lambda: sc.index_add(C.reshape((2, 2)), [0], U.reshape((1, 2)), axis=0).reshape(4),
    "entries that stay": lambda: sc.index_set(C, [0, 1], C[2:] * U),
    "entries that stay, as an alias": lambda: sc.index_set(C, [0, 1], C[2:]),
    "entries of a reshape": lambda: sc.index_set(C, [0, 3], C.reshape((2, 2)).T.reshape(4)[1:3]),
    "gathered entries": lambda: sc.index_set(C, [0, 3], sc.gather(C, [2, 2]) + sc.gather(C, [1, 2])),
    "gathered entries and others": lambda: sc.index_set(C, [0, 2], sc.gather(C, [9, 1], mode="fill", fill=7.0)),
    "a sum of entries that stay": lambda: sc.index_add(C, [0, 0], U * C[1:].sum()),
    "what the link before wrote": lambda: _link(_link(C, 0, 1), 1, 2),
    "no entries": lambda: sc.index_set(C, np.zeros(0, np.int64), C[:0]),
    "writes outside": lambda: sc.index_set(C, [7, 1], U * C[3], mode="fill"),
}

REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "a new array": (lambda: C * 2.0, r"'expr\.mul'.*'c' is to be updated in place, by scatters at constant positions"),
    "another array": (lambda: sc.index_set(sc.concat([U, U]), [0, 1], C[:2]), r"'expr\.concat'.*'c' is to be updated"),
    "a computed position": (lambda: sc.index_set(C, K, U[0], mode="fill"), r"'expr\.scatter'.*'c' is to be updated"),
    "an entry that it writes": (lambda: sc.index_set(C, [0, 1], C[1:3]), "values read entries that it writes"),
    "a sum of all": (lambda: sc.index_set(C, [0, 1], U * C.sum()), "values read entries that it writes"),
    "a gathered entry": (lambda: sc.index_set(C, [2, 1], sc.gather(C, [3, 2])), "values read entries that it writes"),
    "an earlier link": (
        lambda: sc.index_set(_link(C, 0, 1), [3], C[0:1]),
        "an earlier update in place has overwritten",
    ),
    "an earlier link, unharmed": (lambda: sc.index_set(_link(C, 0, 1), [3], C[2:3]), "an earlier update in place"),
    "an earlier link, shared": (lambda: _shared(C[1:2] * 3.0), "an earlier update in place has overwritten"),
}


def _link(before: Any, written: int, read: int) -> Any:
    """An update of one entry by another."""
    return sc.index_set(before, [written], before[read : read + 1] * 2.0)


def _shared(value: Any) -> Any:
    return sc.index_set(sc.index_set(C, [0], value), [2], value)


@pytest.mark.parametrize("case", ACCEPTED)
def test_what_works_in_place(case: str) -> None:
    module = check_function(as_floats("f", [X, W], results(body(ACCEPTED[case](), U))), _without("n"))
    assert module.args[0].attrs["in_place"] is True
    assert "%c_r" not in sc.render(module)


@pytest.mark.parametrize("case", REFUSED)
def test_what_does_not_work_in_place(case: str) -> None:
    make, message = REFUSED[case]
    f = as_floats("f", [X, W], results(body(make(), U)))
    with pytest.raises(sc.LoweringError, match=f"@body: .*{message}") as error:
        lower(make_module([f.node]))
    assert error.value.blamed


@pytest.mark.parametrize("other", [C, C[3], sc.index_set(C, [1, 3], U), U * C[0]])
def test_no_other_output_may_read_what_is_updated(other: sc.Expr) -> None:
    f = as_floats("f", [X, W], results(body(sc.index_set(C, [1, 3], U), other)))
    with pytest.raises(sc.LoweringError, match=r"@body: .*an output reads 'c', which is updated in place"):
        lower(make_module([f.node]))


def test_several_carries_in_place_and_not() -> None:
    a, b, d = sc.sym("a", 4), sc.sym("b", 2), sc.sym("d", 3)
    nexts = [sc.index_set(a, [0, 2], b * 2.0), b + U, sc.index_add(d, [1], d[0:1] * b[1])]
    function = sc.Function.from_exprs("body", [a, b, d, K, U], [*nexts, K], None, ["a", "b", "d", "k"])
    operands = [X, X[:2], X[1:], W]
    for places in ([0, 2], [2], [0], []):
        attrs = {"n_carry": 3, "length": 4, "in_place": places, "index": True, "reverse": True}
        nodes = [loop_of(function, operands, output=number, **attrs) for number in range(8)]
        module = check_function(as_floats("f", [X, W], nodes), _without("n"))
        assert module.args[0].attrs["input_count"] == 5 - len(places)


def test_a_carry_may_not_be_read_by_another_that_is_updated_after_it() -> None:
    a, b = sc.sym("a", 4), sc.sym("b", 4)
    function = sc.Function.from_exprs("body", [a, b], [sc.index_set(a, [0], b[1:2]), sc.index_set(b, [1], a[0:1])])
    nodes = [loop_of(function, [X, X * 2.0], n_carry=2, length=3, in_place=[0, 1])]
    with pytest.raises(sc.LoweringError, match="an output reads 'a'"):
        lower(make_module([as_floats("f", [X], nodes).node]))


def test_forms_of_one_body_have_names_of_their_own() -> None:
    taken = sc.Function.from_exprs("update_inplace", [U], [U * 2.0])
    a, b = sc.sym("a", 4), sc.sym("b", 4)
    two = sc.Function.from_exprs("two", [a, b], [sc.index_set(a, [0], a[1:2]), sc.index_set(b, [1], b[0:1])])
    pairs = [loop_of(two, [X, X], n_carry=2, length=3, in_place=places) for places in ([0], [1], [0, 1], [])]
    nodes = [*results(update)[:2], results(update, in_place=[])[0], taken(W[:2]), update(X, W[:2])[0], *pairs]
    module = check_function(as_floats("f", [X, W], nodes), _without("n"))
    names = [proc.attrs["name"] for proc in module.args]
    assert sorted(names) == sorted(
        ["update", "update_inplace", "update_inplace_2", "two", "two_inplace", "two_inplace_2", "two_inplace_3", "f"]
    )


def test_a_body_that_is_only_used_in_place_has_no_other_form() -> None:
    module = module_of(as_floats("f", [X, W], results(update)))
    assert [proc.attrs["name"] for proc in module.args] == ["update_inplace", "f"]


def test_the_carry_goes_to_a_call_and_into_a_loop_inside() -> None:
    halve = sc.Function.from_exprs("halve", [U], [U * 0.5, U + 1.0])
    add = sc.Function.from_exprs("add", [U, sc.sym("v", 2)], [U + sc.sym("v", 2)])
    inner = loop_of(add, [U, C[2:]], n_carry=1, length=2, strides=[0])
    next_ = sc.index_set(C, [0, 1], halve(C[2:])[0] + inner)
    check_function(as_floats("f", [X, W], results(body(next_, K))), _without("n"))


def test_long_chains_are_checked_at_once() -> None:
    next_: Any = C
    for number in range(3000):
        next_ = _link(next_, number % 4, (number + 1) % 4)
    assert len(lower(make_module([as_floats("f", [X, W], results(body(next_, K))).node])).args) == 2


@st.composite
def chains(draw: Any) -> tuple[sc.Function, bool]:
    """A body of random updates, and whether they work in place."""
    links: list[Any] = [C]
    fits = True
    for _ in range(draw(st.integers(1, 3))):
        before = links[-1]
        written = draw(st.lists(st.integers(0, 3), min_size=1, max_size=2))
        value: Any = U[: len(written)]
        for _ in range(draw(st.integers(0, 2))):
            source = draw(st.sampled_from([before, before, before, *links]))
            read = draw(st.lists(st.integers(0, 3), min_size=len(written), max_size=len(written)))
            shape = draw(st.sampled_from([(4,), (2, 2), (4, 1)]))
            value = value * 0.5 - sc.gather(source.reshape(shape), read)
            fits = fits and source is before and not set(read) & set(written)
        way = draw(st.sampled_from([sc.index_add, sc.index_set]))
        links.append(way(before, written, value))
    return body(links[-1], K), fits


@given(chains(), st.integers(1, 4))
def test_random_updates(case: tuple[sc.Function, bool], length: int) -> None:
    function, fits = case
    f = as_floats("f", [X, W], results(function, length=length))
    if fits:
        check_function(f, _without("n"))
    else:
        with pytest.raises(sc.LoweringError, match="its values read"):
            lower(make_module([f.node]))
