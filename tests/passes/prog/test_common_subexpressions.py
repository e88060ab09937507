"""Binding repeated expressions keeps every value, repeats nothing and leaves nothing repeated; and it is quick.

The golden files in `testdata/passes/cse` show what comes out; here they are run, before and after. What must come out
is worked out once more by brute force, in `bindings.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

import scaly_ir as sc
from scaly_ir.dialects.prog import build, ops
from scaly_ir.dialects.prog.affine import trip_count
from scaly_ir.graph import Node, postorder
from scaly_ir.op import CallEffectKind, Op, registry_scope
from scaly_ir.passes.prog.common_subexpressions import eliminate
from scaly_ir.types import FLOAT64, INT64
from tests.counting import calls_of
from tests.passes.prog.bindings import assert_nothing_repeated, check_bindings
from tests.passes.prog.evaluator import EvaluationError, Result, run
from tests.passes.prog.golden_files import programs_of
from tests.passes.prog.programs import inputs_of, modules
from tests.passes.prog.scalar_programs import scalar_modules

EXAMPLES = settings(max_examples=max(300, settings().max_examples))


def _assert_equal(first: Result, second: Result) -> None:
    """Check that the outputs agree bit for bit.

    Which of two NaNs a sum returns is not defined, and the operands of sums may be swapped, so NaNs count as equal.
    """
    assert first.outputs.keys() == second.outputs.keys()
    for name, values in first.outputs.items():
        assert _bits(values) == _bits(second.outputs[name]), f"{values} and {second.outputs[name]}"


def _bits(values: np.ndarray[Any, Any]) -> bytes:
    return (np.where(np.isnan(values), np.nan, values) if values.dtype.kind == "f" else values).tobytes()


def _check(module: Node, inputs: dict[str, list[float]]) -> Node:
    """Run the pass on a module, check all that must hold, and return the result."""
    sc.verify(module)
    after = eliminate(module)
    sc.verify(after)
    reread: Node = sc.parse(sc.render(after))
    assert reread is after
    assert eliminate(after) is after
    for before, procedure in zip(module.args, after.args, strict=True):
        check_bindings(before, procedure)
        assert_nothing_repeated(procedure)
    try:
        expected = run(module, inputs)
    except EvaluationError:
        return after
    result = run(after, inputs)
    _assert_equal(expected, result)
    if all([(trip_count(loop.args[0]) or 0) > 0 for loop in postorder(module) if loop.op is ops.FOR]):
        more = result.executed - expected.executed  # what moves out of a loop that does not run is computed once more
        assert set(more) <= {ops.VAR, ops.LOAD}
    return after


# --- every program ----------------------------------------------------------------------------------------------------

SCALAR_INPUTS: dict[str, list[float]] = {"n": [3, 2, -1, 5], "x": [0.5, -0.0, 3.0, -1.25], "y": [1.0] * 4, "z": [1] * 4}


@EXAMPLES
@given(modules())
def test_values_are_kept_and_nothing_is_computed_more_often(module: Node) -> None:
    _check(module, inputs_of(module))


@EXAMPLES
@given(scalar_modules())
def test_repeated_scalars_in_loops(module: Node) -> None:
    _check(module, SCALAR_INPUTS)
    _check(module, {**SCALAR_INPUTS, "n": [0, 0, 2, 1]})


@EXAMPLES
@given(scalar_modules(loops=False))
def test_repeated_scalars_in_straight_lines(module: Node) -> None:
    _check(module, SCALAR_INPUTS)


@pytest.mark.parametrize("path", programs_of("cse"), ids=lambda path: path.stem)
def test_golden_files(path: Path) -> None:
    module = sc.parse(path.read_text(encoding="utf-8"), path.name)
    after = _check(module, inputs_of(module, integer=1))
    _check(module, inputs_of(module, integer=0))
    assert (after is module) == path.stem.startswith("keep_")


# --- operators of others ----------------------------------------------------------------------------------------------


@pytest.fixture
def operators() -> Iterator[None]:
    """Register `test.scale`, pure with an attribute, `test.state`, which reads state, and `test.unknown`."""
    with registry_scope():
        for name, attrs in (("scale", {"by": int}), ("state", {}), ("unknown", {})):
            op = Op.register(f"test.{name}")
            op.set_signature(("x",), attrs=attrs)
            op.set_attr("TFixedReturnType", "float64")
        Op.get("test.scale").set_attr("TCallEffectKind", CallEffectKind.Pure)
        Op.get("test.state").set_attr("TCallEffectKind", CallEffectKind.ReadState)
        yield


def _lines(*statements: str) -> Node:
    text = "\n".join(statements)
    module: Node = sc.parse(f"""prog.module {{ prog.proc @f(%x: memref<4xfloat64>, %y: memref<4xfloat64>) {{
        %a = prog.assign prog.load %x[0] : float64 {{declare=True}}
        {text}
    }} }}""")
    sc.verify(module)
    return module


def _bound(module: Node) -> dict[str, str]:
    """Return what the pass binds, by name."""
    text = sc.render(eliminate(module))
    lines = [line.split() for line in text.splitlines() if line.strip().startswith("%cse_v")]
    return {words[0]: " ".join(words[3:-3]) for words in lines}


@pytest.mark.usefixtures("operators")
def test_an_operator_with_other_attributes_is_another_one() -> None:
    two, three = (
        "prog.store (test.scale(%a) {by=2}), %y[0] : float64",
        "prog.store (test.scale(%a) {by=3}), %y[1] : float64",
    )
    assert _bound(_lines(two, three)) == {}
    assert _bound(_lines(two, three, two)) == {"%cse_v1": "(test.scale(%a) {by=2})"}


@pytest.mark.usefixtures("operators")
@pytest.mark.parametrize("name", ["state", "unknown"])
def test_what_does_more_than_compute_stays_but_its_operands_do_not(name: str) -> None:
    line = f"prog.store prog.neg(test.{name}(prog.exp(prog.neg(%a)))), %y[0] : float64"
    module = _lines(line, line)
    assert _bound(module) == {"%cse_v1": "prog.exp(prog.neg(%a))"}
    assert sc.render(eliminate(module)).count(f"prog.neg(test.{name}(%cse_v1))") == 2


@pytest.mark.usefixtures("operators")
def test_what_stays_and_is_repeated_repeats_its_operands() -> None:
    """The operand stands once in the graph of the statement, and twice in its text."""
    opaque = "test.unknown(prog.exp(%a))"
    assert _bound(_lines(f"prog.store prog.add({opaque}, {opaque}), %y[0] : float64")) == {"%cse_v1": "prog.exp(%a)"}


def test_an_operator_that_may_be_swapped_says_so() -> None:
    lines = [f"prog.store prog.mul({x}, {y}), %y[0] : float64" for x, y in (("%a", "2"), ("2", "%a"))]
    assert _bound(_lines(*lines)) == {"%cse_v1": "prog.mul(%a, 2)"}
    with registry_scope():
        Op.get("prog.mul").reset_attr("TCommutative")
        assert _bound(_lines(*lines)) == {}


# --- divisions --------------------------------------------------------------------------------------------------------


def _divided(divisor: str, *, trips: str = "%k", dividend: str = "%p") -> bool:
    """Tell whether a division moves out of two loops, of which the first may not run."""
    loop = f"""prog.for %j = 0 to {trips} step 1 {{kind=serial}} {{
      prog.store prog.div({dividend}, {divisor}), %z[0] : int64
    }}\n"""
    module = sc.parse(f"""prog.module {{ prog.proc @f(%n: memref<2xint64>, %z: memref<1xint64>) {{
        %p = prog.assign prog.load %n[0] : int64 {{declare=True}}
        %k = prog.assign prog.load %n[1] : int64 {{declare=True}}
        prog.for %i = 0 to 4 step 1 {{kind=serial}} {{ {loop} {loop} }}
    }} }}""")
    after = _check(module, {"n": [5, 1], "z": [0]})
    _check(module, {"n": [0, 0], "z": [0]})
    return str(sc.render(after)).count("prog.div(") == 1


@pytest.mark.parametrize(
    "divisor", ["2", "prog.add(%i, 1)", "prog.sub(%i, 4)", "%SCALY_WIDTH_2", "prog.maximum(%p, 1)"]
)
def test_a_division_moves_where_its_divisor_is_never_zero(divisor: str) -> None:
    dividend = "%p" if "sub" not in divisor else "%i"
    assert _divided(divisor, dividend=dividend)


@pytest.mark.parametrize("divisor", ["0", "%p", "%i", "prog.sub(%i, 3)", "prog.floormod(%p, 3)"])
def test_a_division_stays_where_its_divisor_may_be_zero(divisor: str) -> None:
    assert not _divided(divisor, trips="0")


def test_a_division_that_may_leave_its_type_stays() -> None:
    assert not _divided("-1")
    assert _divided("-1", dividend="prog.floormod(%p, 9)")


def test_a_value_is_shared_with_the_loops_behind_the_first_that_runs() -> None:
    """Each loop binds its own division; behind the one that runs for certain, there is just that one."""
    inner = "prog.for %j = 0 to %p step 1 {kind=serial} { prog.store prog.mod(4, %p), %z[1] : int64 }"
    outer = f"""prog.for %i = 0 to %p step 1 {{kind=serial}} {{
      prog.store prog.mod(4, %p), %z[0] : int64
      {inner}
    }}"""
    module = sc.parse(f"""prog.module {{ prog.proc @f(%n: memref<1xint64>, %z: memref<2xint64>) {{
        %p = prog.assign prog.load %n[0] : int64 {{declare=True}}
        {outer} {outer}
        prog.store prog.neg(prog.mod(4, %p)), %z[0] : int64
        {outer}
    }} }}""")
    after = _check(module, {"n": [3], "z": [0, 0]})
    assert sc.render(after).count("prog.mod(") == 3


SCALARS = """%p = prog.assign prog.load %n[0] : int64 {declare=True}
    %q = prog.assign prog.load %n[1] : int64 {declare=True}
    %a = prog.assign prog.load %y[0] : float64 {declare=True}
    %b = prog.assign prog.load %y[1] : float64 {declare=True}"""


def _count(body: str, text: str) -> int:
    """Check what comes out of a procedure where no loop to `p` runs, and return how often it shows a text."""
    module = sc.parse(f"""prog.module {{
      prog.proc @f(%n: memref<2xint64>, %z: memref<4xint64>, %y: memref<2xfloat64>) {{
        {SCALARS}
        {body}
      }}
    }}""")
    after = _check(module, {"n": [0, 0], "z": [0] * 4, "y": [np.nan, 1.0]})
    return str(sc.render(after)).count(text)


def _loop(body: str, name: str = "j", begin: str = "0", end: str = "%p") -> str:
    return f"prog.for %{name} = {begin} to {end} step 1 {{kind=serial}} {{ {body} }}\n"


def test_a_division_with_swapped_operands_in_it_stays_as_well() -> None:
    """The second division is the first one; the third is another one, as the first one did not run for certain."""
    store = "prog.store prog.div(%p, prog.add({}, {})), %z[0] : int64\n"
    swapped = store.format("%q", "%p")
    assert _count(_loop(store.format("%p", "%q") + _loop(swapped, "i")) + _loop(swapped), "prog.div(") == 2


def test_a_bounded_number_that_may_be_nan_is_not_converted_earlier() -> None:
    loop = _loop("prog.store prog.cast(prog.sin(%a), int64), %z[0] : int64")
    assert _count(loop + loop, "prog.cast(") == 2


def test_loop_variables_of_one_name_have_bounds_of_their_own() -> None:
    inner = _loop("prog.store prog.mod(%q, prog.add(%i, 1)), %z[0] : int64")
    for begin, end, divisions in (("0", "4", 2), ("-1", "0", 3), ("%q", "0", 3)):
        assert _count(_loop(inner * 2, "i", "0", "2") + _loop(inner * 2, "i", begin, end), "prog.mod(") == divisions


@pytest.mark.parametrize("first", [True, False])
def test_a_loop_reassigns_what_it_and_the_loops_in_it_do(first: bool) -> None:
    inner = _loop("%a = prog.assign 3 : float64", end="1")
    own = "%b = prog.assign 4 : float64\n"
    use = "prog.store {0}(%a), %y[0] : float64\nprog.store {0}(%b), %y[1] : float64\n"
    body = use.format("prog.exp") + (inner + own if first else own + inner)
    assert _count(use.format("prog.exp") + _loop(body, "i"), "prog.exp(") == 4


# --- large programs ---------------------------------------------------------------------------------------------------

A, B = build.var("a", FLOAT64), build.var("b", FLOAT64)
Y = build.param("y", (4,))
SUM = build.apply("add", A, B)


def _procedure(body: list[Node]) -> Node:
    x = build.param("x", (4,))
    loads = [build.assign(name, build.load(build.view(x, at)), declare=True) for at, name in enumerate("ab")]
    return build.program([build.proc("f", [x, Y], [*loads, *body])])


def _store(value: Node) -> Node:
    return build.store(build.view(Y, 0), value)


def _nest(depth: int) -> Node:
    """Return loops in loops, each with the same sum before and behind the loop in it, and an assignment."""
    inner = _store(SUM)
    for level in range(depth):
        changed = build.assign("b", build.apply("add", SUM, A))
        inner = build.for_(build.range_(f"i{level}", 0, 1), [_store(SUM), inner, _store(SUM), changed])
    return _procedure([_store(SUM), inner])


def _wide(count: int) -> Node:
    shared = SUM
    for _ in range(100):
        shared = build.apply("mul", shared, A)
    values = [build.apply("add", shared, build.const(k, FLOAT64)) for k in range(count)]
    return _procedure([_store(value) for value in values])


def _changing(count: int) -> Node:
    changed = build.assign("a", build.apply("mul", SUM, B))
    return _procedure([_store(SUM), _store(SUM), changed] * count)


def _chain(length: int) -> Node:
    value = A
    for _ in range(length):
        value = build.apply("add", value, B)
    return _procedure([_store(value), _store(value)])


def _divisions(length: int) -> Node:
    index = build.var("i")
    value = index
    for _ in range(length):
        value = build.apply("div", index, build.apply("add", value, build.index(1)))
    store = _store(build.cast(value, FLOAT64))
    return _procedure([build.for_(build.range_("i", 0, 4), [store, store])])


def _calls(module: Node) -> int:
    assert eliminate(module) is not module
    return calls_of(lambda: eliminate(module))


@pytest.mark.parametrize("make", [_nest, _wide, _changing, _chain, _divisions])
def test_the_work_is_linear(make: Callable[[int], Node]) -> None:
    short, long = _calls(make(500)), _calls(make(1_000))
    assert 1.5 < long / short < 2.15


def test_a_thousand_loops() -> None:
    after = eliminate(_nest(1_000))
    sc.verify(after)
    assert eliminate(after) is after


def test_a_chain_of_a_hundred_thousand_nodes() -> None:
    after = eliminate(_chain(100_000))
    assert len([s for s in build.body_of(after.args[0]) if s.op is ops.ASSIGN]) == 3


def test_twenty_thousand_statements() -> None:
    after = eliminate(_wide(20_000))
    assert len([s for s in build.body_of(after.args[0]) if s.op is ops.ASSIGN]) == 3


def test_repeated_squares() -> None:
    """The text has 2**60 nodes; every square is used twice by the next one, so each gets a name."""
    value = A
    for _ in range(60):
        value = build.apply("mul", value, value)
    after = eliminate(_procedure([_store(value)]))
    sc.verify(after)
    assert sc.render(after).count("prog.mul") == 60
    assert "%cse_v1 = prog.assign prog.mul(%cse_v2, %cse_v2)" in sc.render(after)


def test_repeated_squares_of_a_load_stay() -> None:
    value = build.load(build.view(Y, 0))
    for _ in range(60):
        value = build.apply("mul", value, value)
    module = _procedure([_store(value)])
    assert eliminate(module) is module


def test_names_of_texts_that_nobody_can_count_go_from_users_to_operands() -> None:
    value = A
    for _ in range(200):
        value = build.apply("mul", value, value)
    after = eliminate(_procedure([_store(build.apply("neg", value))]))
    text = sc.render(after)
    assert all([f"%cse_v{k} = prog.assign prog.mul(%cse_v{k + 1}, %cse_v{k + 1})" in text for k in range(1, 199)])


# --- the pass ---------------------------------------------------------------------------------------------------------


def test_the_pass_keeps_what_it_does_not_change() -> None:
    idle = build.proc("g", [Y], [_store(build.const(1, FLOAT64))], {"input_count": 0})
    busy = _procedure([_store(SUM), _store(SUM)]).args[0].with_attrs(input_count=1, lowering="scalar")
    module = build.program([idle, busy], lanes=4)
    after = sc.run_passes(module, "cse")
    assert after is not module
    assert after.attrs is module.attrs
    assert after.args[0] is idle
    assert after.args[1].attrs is busy.attrs
    assert build.params_of(after.args[1]) == build.params_of(busy)


def test_an_empty_module_is_left_alone() -> None:
    module = build.program([])
    assert eliminate(module) is module


def test_an_equal_loop_stands_twice() -> None:
    """Both loops are one node, but what they compute was changed in between."""
    loop = build.for_(build.range_("i", 0, 2), [_store(SUM), _store(SUM)])
    changed = build.assign("a", build.const(2, FLOAT64))
    after = _check(_procedure([loop, changed, loop]), {"x": [1, 2, 3, 4], "y": [0] * 4})
    assert sc.render(after).count("prog.add") == 2


def test_integers_of_tables_are_bound() -> None:
    """An operand that is repeated only inside of loads of equal text is bound as well."""
    at = build.apply("mul", build.cast(A, INT64), build.index(2))
    read = build.load(build.view(Y, at))
    after = eliminate(_procedure([_store(build.apply("mul", read, read))]))
    assert "prog.mul(prog.load %y[%cse_v1], prog.load %y[%cse_v1])" in sc.render(after)
