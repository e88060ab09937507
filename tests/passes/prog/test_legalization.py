"""Legalization keeps every value and the order of effects, repeats no operand, and takes linear time.

The golden files in `testdata/passes/legalize` and `testdata/passes/lower_intrinsics` show what comes out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from hypothesis import given, settings

import scaly_ir as sc
from scaly_ir.dialects.prog import build, ops
from scaly_ir.graph import Node, intern_node, postorder
from scaly_ir.op import CallEffectKind, Op, registry_scope
from scaly_ir.passes.prog.legalization import legalize, lower_intrinsics
from scaly_ir.types import FLOAT64, INT64
from tests.counting import calls_of
from tests.passes.prog.evaluator import run
from tests.passes.prog.programs import inputs_of, modules

pytestmark = pytest.mark.usefixtures("registry")

Rule = Callable[[Node], Any]


def _op(name: str, rule: Rule | None, numpy: Callable[..., Any] | None = None, *, pure: bool = True) -> Op:
    """Register an operator on one operand."""
    op = Op.register(f"test.{name}")
    op.set_signature(["x"], attrs={})
    op.set_attr("FInferType", lambda call: call.args[0].ty)
    if pure:
        op.set_attr("TCallEffectKind", CallEffectKind.Pure)
    if rule is not None:
        op.set_attr("default.FLegalize", rule)
    if numpy is not None:
        op.set_attr("FNumpy", numpy)
    return op


def _square(call: Node) -> Node:
    (x,) = call.args
    return x * x


def _nested(call: Node) -> Node:
    """Return (x + plus(x)) squared: a rule whose result holds calls with rules, one of which repeats its operand."""
    (x,) = call.args
    squared: Node = sc.Call("test.square", [x + sc.Call("test.plus", [x])])
    return squared


@contextmanager
def _operators() -> Iterator[list[str]]:
    """Register operators with rules, `test.update`, which notes its operand in the list returned, and `test.state`."""
    called: list[str] = []

    def update(x: Any) -> Any:
        called.append(float(x).hex())
        return x + len(called)

    with registry_scope():
        _op("square", _square, lambda x: x * x)
        _op("plus", lambda call: call.args[0] + 1, lambda x: x + 1)
        _op("nested", _nested, lambda x: (x + (x + 1)) * (x + (x + 1)))
        _op("declined", lambda call: call, lambda x: x - 1)
        _op("update", None, update, pure=False)
        state = _op("state", None, lambda x: x + len(called), pure=False)
        state.set_attr("TCallEffectKind", CallEffectKind.ReadState)
        yield called


@pytest.fixture
def log() -> Iterator[list[str]]:
    with _operators() as called:
        yield called


def _run(module: Node, inputs: dict[str, list[float]], log: list[str]) -> tuple[dict[str, bytes], list[str]]:
    """Return the outputs of a module by their bits, and what it did."""
    log.clear()
    outputs = run(module, inputs).outputs
    return {name: values.tobytes() for name, values in outputs.items()}, list(log)


def _check(module: Node, log: list[str], integer: int = 0) -> Node:
    """Legalize a module, check all that must hold, and return the result."""
    sc.verify(module)
    result = legalize(module, target="c")
    sc.verify(result)
    assert legalize(result, target="c") is result
    assert lower_intrinsics(module, target="c-gnu") is result
    reread: Node = sc.parse(sc.render(result))
    assert reread is result
    with_rules = {Op.get(f"test.{name}") for name in ("square", "plus", "nested")}
    assert not {node.op for node in postorder(result)} & with_rules
    inputs = inputs_of(module, integer)
    assert _run(module, inputs, log) == _run(result, inputs, log)
    return result


def _with_operators(module: Node, names: dict[str, str]) -> Node:
    """Return a module with operators of `prog` replaced by operators of the tests."""
    wanted = {Op.get(f"prog.{old}"): Op.get(f"test.{new}") for old, new in names.items()}
    done: dict[Node, Node] = {}
    for node in postorder(module):
        operands = tuple([done[operand] for operand in node.args])
        done[node] = intern_node(wanted.get(node.op, node.op), operands, node.attrs, node.type)
    return done[module]


# --- every program ----------------------------------------------------------------------------------------------------


@settings(max_examples=max(200, settings().max_examples))
@given(modules())
def test_values_are_kept(module: Node) -> None:
    with _operators() as called:
        names = {"sin": "square", "abs": "nested", "neg": "plus", "floor": "declined"}
        _check(_with_operators(module, names), called)


@settings(max_examples=max(200, settings().max_examples))
@given(modules())
def test_effects_are_kept_in_order(module: Node) -> None:
    with _operators() as called:
        names = {"sin": "square", "abs": "nested", "neg": "update", "floor": "state", "exp": "square"}
        _check(_with_operators(module, names), called)


# --- one statement ----------------------------------------------------------------------------------------------------


def _module(body: str) -> Node:
    text = f"""prog.proc @f(%x: memref<4xint64>, %y: memref<4xint64>) {{input_count=1}} {{
        prog.for %i = 0 to 4 step 1 {{kind=global}} {{ prog.store 0, %y[%i] : int64 }}
        {body}
      }}"""
    module: Node = sc.parse(text)
    return module


def _legalized(body: str, log: list[str]) -> list[str]:
    """Return the statements that a body becomes, after the usual checks."""
    result = _check(_module(body), log, integer=2)
    statements = build.body_of(result.args[0])[1:]
    return "".join([sc.render(statement) for statement in statements]).splitlines()


def test_a_binding_stands_directly_before_its_statement_in_its_loop(log: list[str]) -> None:
    body = """prog.store 1, %y[0] : int64
      prog.for %i = 0 to 4 step 1 {kind=global} {
        prog.store 1, %y[1] : int64
        prog.store test.square(prog.load %x[%i]), %y[%i] : int64
      }"""
    assert _legalized(body, log) == [
        "prog.store 1, %y[0] : int64",
        "prog.for %i = 0 to 4 step 1 {kind=global} {",
        "  prog.store 1, %y[1] : int64",
        "  %leg0 = prog.assign prog.load %x[%i] : int64 {declare=True}",
        "  prog.store prog.mul(%leg0, %leg0), %y[%i] : int64",
        "}",
    ]


def test_what_a_result_repeats_in_turn_is_bound_in_order(log: list[str]) -> None:
    assert _legalized("prog.store test.nested(prog.load %x[0]), %y[0] : int64", log) == [
        "%leg0 = prog.assign prog.load %x[0] : int64 {declare=True}",
        "%leg1 = prog.assign prog.add(%leg0, prog.add(%leg0, 1)) : int64 {declare=True}",
        "prog.store prog.mul(%leg1, %leg1), %y[0] : int64",
    ]


def test_equal_loops_get_names_of_their_own(log: list[str]) -> None:
    loop = "prog.for %i = 0 to 4 step 1 {kind=global} { prog.store test.square(prog.load %x[%i]), %y[%i] : int64 } "
    text = "\n".join(_legalized(loop + loop, log))
    assert "%leg0 = " in text
    assert "%leg1 = " in text


def test_an_operand_of_two_calls_is_bound_once(log: list[str]) -> None:
    value = "prog.add(test.square(prog.load %x[0]), test.nested(prog.load %x[0]))"
    text = "\n".join(_legalized(f"prog.store {value}, %y[0] : int64", log))
    assert text.count("prog.load %x[0]") == 1


def test_one_opaque_operand_is_bound_and_evaluated_once(log: list[str]) -> None:
    body = "prog.store test.square(test.update(prog.const(5, int64))), %y[0] : int64"
    assert _legalized(body, log) == [
        "%leg0 = prog.assign test.update(prog.const(5, int64)) : int64 {declare=True}",
        "prog.store prog.mul(%leg0, %leg0), %y[0] : int64",
    ]
    around = body.replace("test.update(prog.const(5, int64))", "prog.add(test.update(prog.const(5, int64)), 1)")
    assert _legalized(around, log) == [
        "%leg0 = prog.assign prog.add(test.update(prog.const(5, int64)), 1) : int64 {declare=True}",
        "prog.store prog.mul(%leg0, %leg0), %y[0] : int64",
    ]


UPDATE = "test.update(prog.load %x[0])"


@pytest.mark.parametrize(
    ("value", "index"),
    [
        (f"prog.add({UPDATE}, test.square(test.state(prog.const(1, int64))))", "0"),
        (f"prog.add(test.square({UPDATE}), test.square({UPDATE}))", "0"),
        (f"prog.add(prog.mul({UPDATE}, test.state(prog.const(1, int64))), test.square({UPDATE}))", "0"),
        (f"test.square({UPDATE})", "prog.minimum(3, test.state(prog.load %x[1]))"),
        (f"test.nested(test.square(prog.sub({UPDATE}, {UPDATE})))", f"prog.floormod({UPDATE}, 4)"),
    ],
)
def test_bindings_pass_no_change_of_state(log: list[str], value: str, index: str) -> None:
    """The check compares what is stored and the order of updates; merging two equal updates would change both."""
    lines = _legalized(f"prog.store {value}, %y[{index}] : int64", log)
    assert len(lines) > 2
    assert [line.split()[0] for line in lines[:-1]] == [f"%leg{number}" for number in range(len(lines) - 1)]


def test_an_opaque_operator_stays_in_place_where_nothing_is_bound(log: list[str]) -> None:
    body = f"prog.store prog.add({UPDATE}, test.plus({UPDATE})), %y[0] : int64"
    assert _legalized(body, log) == [f"prog.store prog.add({UPDATE}, prog.add({UPDATE}, 1)), %y[0] : int64"]


def test_a_call_that_is_opaque_itself_may_vanish(log: list[str]) -> None:
    """What does not say what it does counts by what its rule makes of it: reads alone may be bound in any order."""
    _op("unsaid", _square, lambda x: x * x, pure=False)
    value = "prog.add(test.unsaid(prog.load %x[0]), test.unsaid(prog.load %x[1]))"
    assert _legalized(f"prog.store {value}, %y[0] : int64", log) == [
        "%leg0 = prog.assign prog.load %x[0] : int64 {declare=True}",
        "%leg1 = prog.assign prog.load %x[1] : int64 {declare=True}",
        "prog.store prog.add(prog.mul(%leg0, %leg0), prog.mul(%leg1, %leg1)), %y[0] : int64",
    ]


def test_lane_loops_keep_their_shape(log: list[str]) -> None:
    body = """prog.for %a = 0 to 4 step %SCALY_WIDTH_1_2_3_4 {kind=serial} {
        prog.for %b = 0 to prog.minimum(test.plus(prog.sub(%SCALY_WIDTH_1_2_3_4, 1)), prog.sub(4, %a)) step 1 {kind=vector} {
          prog.store test.square(prog.load %x[prog.add(%a, %b)]), %y[prog.add(%a, %b)] : int64 } }"""  # noqa: E501
    assert any(["{kind=vector}" in line for line in _legalized(body, log)])


# --- bounds -----------------------------------------------------------------------------------------------------------

LOOP = "prog.for %k = {} {{kind=serial}} {{ prog.store 1, %y[0] : int64 }}"


@pytest.mark.parametrize("bounds", ["{} to 9 step 1", "0 to {} step 1", "0 to 9 step {}"])
def test_a_pure_operand_of_a_bound_is_repeated(log: list[str], bounds: str) -> None:
    body = "%n = prog.assign 1 : int64 {declare=True} " + LOOP.format(bounds.format("test.square(prog.add(%n, 1))"))
    lines = _legalized(body, log)
    assert lines[1].startswith("prog.for %k = " + bounds.format("prog.mul(prog.add(%n, 1), prog.add(%n, 1))"))


@pytest.mark.parametrize("operand", ["prog.load %x[0]", "prog.add(test.state(prog.const(1, int64)), 1)", UPDATE])
@pytest.mark.parametrize("bounds", ["{} to 9 step 1", "0 to prog.add(1, {}) step 1", "0 to 9 step {}"])
def test_another_operand_of_a_bound_is_refused(log: list[str], bounds: str, operand: str) -> None:
    module = _module(LOOP.format(bounds.format(f"test.nested({operand})")))
    sc.verify(module)
    with pytest.raises(sc.LegalizeError) as caught:
        legalize(module, target="c")
    message = "test.nested: an operand that is not pure would be evaluated more than once (bounds of loop %k in @f)"
    assert str(caught.value) == message


def test_a_bound_may_hold_what_is_not_pure_once(log: list[str]) -> None:
    lines = _legalized(LOOP.format("0 to test.plus(prog.load %x[1]) step 1"), log)
    assert lines[0] == "prog.for %k = 0 to prog.add(prog.load %x[1], 1) step 1 {kind=serial} {"


# --- rules and targets (operators.md, checks 12 and 13) ---------------------------------------------------------------

USE = "prog.store test.f(prog.load %x[0]), %y[0] : int64"


def _last(module: Node) -> str:
    """Return the text of the last statement."""
    text: str = sc.render(build.body_of(module.args[0])[-1])
    return text.strip()


def test_an_intrinsic_for_one_target_and_a_rule_for_the_others() -> None:
    op = _op("f", lambda call: call.args[0] + 1)
    _op("fast", None)
    op.set_attr("c.FLowerIntrinsic", lambda call: sc.Call("test.fast", call.args))
    module = _module(USE)
    intrinsic, rule = [f"prog.store {value}, %y[0] : int64" for value in ("test.fast({0})", "prog.add({0}, 1)")]
    load = "prog.load %x[0]"
    assert _last(lower_intrinsics(module, target="c-gnu")) == intrinsic.format(load)
    assert _last(lower_intrinsics(module, target="cuda")) == rule.format(load)
    assert _last(legalize(module, target="cuda")) == rule.format(load)
    assert legalize(module, target="c-gnu") is module
    op.reset_attr("default.FLegalize")
    assert _last(lower_intrinsics(module, target="c-gnu")) == intrinsic.format(load)
    assert lower_intrinsics(module, target="cuda") is module


def test_an_intrinsic_is_left_alone_in_bounds_too() -> None:
    _op("f", None).set_attr("c.FLowerIntrinsic", lambda call: call.args[0] + 1)
    _op("g", lambda call: call.args[0] + 2)
    module = _module(LOOP.format("0 to prog.add(test.f(prog.load %x[0]), test.g(prog.load %x[1])) step 1"))
    first, second = "test.f(prog.load %x[0])", "prog.add(prog.load %x[1], 2)"
    assert f"prog.add({first}, {second})" in sc.render(legalize(module, target="c"))
    lowered = sc.render(lower_intrinsics(module, target="c"))
    assert f"prog.add(prog.add(prog.load %x[0], 1), {second})" in lowered


def test_a_binding_is_not_named_like_a_callee(log: list[str]) -> None:
    text = """prog.module {
      prog.proc @leg0(%p: memref<1xint64>) { }
      prog.proc @leg1(%x: memref<4xint64>, %y: memref<1xint64>) {input_count=1} {
        prog.store test.square(prog.load %x[0]), %y[0] : int64
        prog.call @leg0(%y)
      }
    }"""
    assert "%leg2 = prog.assign" in sc.render(_check(sc.parse(text), log))


def test_a_rule_that_returns_its_call_leaves_it_to_the_next() -> None:
    op = _op("f", lambda call: call.args[0] + 1)
    op.set_attr("c.FLegalize", lambda call: call)
    assert _last(legalize(_module(USE), target="c")) == "prog.store prog.add(prog.load %x[0], 1), %y[0] : int64"
    op.reset_attr("default.FLegalize")
    module = _module(USE)
    assert legalize(module, target="c") is module


@pytest.mark.parametrize(
    ("statement", "where"),
    [
        ("prog.store test.f(prog.load %x[0]), %y[0] : int64", "prog.store %y in @f"),
        ("%v = prog.assign test.f(prog.load %x[0]) : int64 {declare=True}", "prog.assign %v in @f"),
        ("prog.call @g(%y[test.f(prog.load %x[0])])", "prog.call @g in @f"),
        (LOOP.format("0 to test.f(prog.load %x[0]) step 1"), "bounds of loop %k in @f"),
    ],
)
def test_a_rule_without_end_is_reported_with_its_statement(statement: str, where: str) -> None:
    _op("f", lambda call: sc.Call(call.op, [call.args[0] + 1]))
    with pytest.raises(sc.LegalizeError) as caught:
        legalize(module := _module(statement), target="c")
    procedure = module.args[0]
    assert caught.value.blamed == (build.body_of(procedure)[-1], procedure)
    assert str(caught.value) == f"test.f: rule 'default.FLegalize' did not converge ({where})"


def test_what_a_rule_must_not_return() -> None:
    op = _op("f", lambda call: None)
    with pytest.raises(TypeError) as caught:
        legalize(_module(USE), target="c")
    assert str(caught.value) == "test.f: rule 'default.FLegalize' returned None"
    op.set_attr("default.FLegalize", lambda call: build.cast(call.args[0], FLOAT64), override=True)
    with pytest.raises(sc.LegalizeError, match=r"returned type float64, expected int64 \(prog.store %y in @f\)"):
        legalize(_module(USE), target="c")


@pytest.mark.parametrize("run_pass", [legalize, lower_intrinsics])
@pytest.mark.parametrize("target", ["", "c--gnu", "c gnu"])
def test_a_bad_target_is_refused_even_where_nothing_has_a_rule(run_pass: Callable[..., Node], target: str) -> None:
    with pytest.raises(sc.PassError) as caught:
        run_pass(build.program([]), target=target)
    assert caught.value.pass_name == run_pass.__name__
    assert f"'{target}' is no target" in str(caught.value)


def test_both_passes_are_found_by_name_and_take_c_where_no_target_is_given() -> None:
    op = _op("f", lambda call: call.args[0] + 1)
    op.set_attr("c.FLegalize", lambda call: call.args[0] + 2)
    for name in ("legalize", "lower_intrinsics"):
        result = sc.run_passes(_module(USE), name)
        assert _last(result) == "prog.store prog.add(prog.load %x[0], 2), %y[0] : int64"
        result = sc.run_passes(_module(USE), f"{name}{{target=cuda}}")
        assert _last(result) == "prog.store prog.add(prog.load %x[0], 1), %y[0] : int64"


def test_what_holds_no_call_with_a_rule_stays_the_same_object(log: list[str]) -> None:
    text = """prog.module {lanes=4} {
      prog.proc @g(%p: memref<1xint64>) { prog.store 1, %p[0] : int64 }
      prog.proc @f(%x: memref<4xint64>, %y: memref<4xint64>) {input_count=1, lowering="scalar"} {
        prog.for %i = 0 to 4 step 1 {kind=global} { prog.store test.declined(prog.load %x[%i]), %y[%i] : int64 }
        prog.store test.square(prog.load %x[0]), %y[0] : int64
      }
    }"""
    module: Node = sc.parse(text)
    result = legalize(module, target="c")
    assert result.attrs is module.attrs
    assert result.args[0] is module.args[0]
    assert result.args[1].attrs is module.args[1].attrs
    assert build.body_of(result.args[1])[0] is build.body_of(module.args[1])[0]


# --- large programs ---------------------------------------------------------------------------------------------------

X, Y = build.view("x", 0, INT64), build.view("y", 0, INT64)


def _procedure(body: list[Node]) -> Node:
    params = [build.param("x", (4,), INT64), build.param("y", (4,), INT64)]
    return build.program([build.proc("f", params, body, {"input_count": 1})])


def _calls(module: Node) -> int:
    return calls_of(lambda: legalize(module, target="c"))


def _growing(count: int, value: Callable[[Node], Node]) -> Node:
    """Return a procedure that stores each prefix of a growing expression."""
    body, total = [], build.load(X)
    for _ in range(count):
        total = value(total)
        body.append(build.store(Y, total))
    return _procedure(body)


def _statements(count: int) -> Node:
    return _procedure([build.store(Y, sc.Call("test.square", [build.load(X) + k])) for k in range(count)])


def _deep(count: int) -> Node:
    value = build.load(X)
    for _ in range(count):
        value = sc.Call("test.square", [value])
    return _procedure([build.store(Y, value)])


MAKERS: list[Callable[[int], Node]] = [
    _statements,
    _deep,
    lambda count: _growing(count, lambda value: sc.Call("test.plus", [value])),
    lambda count: _growing(count, lambda value: value + 1),
]


@pytest.mark.parametrize("make", MAKERS, ids=["statements", "nested", "prefixes", "prefixes without rules"])
def test_the_work_is_linear(log: list[str], make: Callable[[int], Node]) -> None:
    short, long = _calls(make(1_000)), _calls(make(2_000))
    assert 1.9 < long / short < 2.1


def test_a_value_with_a_large_text(log: list[str]) -> None:
    """The text has 2**200 leaves; no operand of a call is repeated, or each only once by name."""
    value = build.load(X)
    for _ in range(200):
        value = sc.Call("test.plus", [value]) + value
    result = legalize(_procedure([build.store(Y, value)]), target="c")
    assert len(build.body_of(result.args[0])) == 1
    value = build.load(X)
    for _ in range(200):
        value = sc.Call("test.square", [value + value])
    result = legalize(_procedure([build.store(Y, value)]), target="c")
    assert len(build.body_of(result.args[0])) == 201


def test_a_thousand_loops(log: list[str]) -> None:
    inside = [build.store(Y, sc.Call("test.square", [build.load(X)]))]
    for depth in range(1000):
        stop = sc.Call("test.square", [build.index(1)])
        inside = [build.for_(build.range_(f"j{depth}", 0, stop), inside)]
    result = legalize(_procedure(inside), target="c")
    sc.verify(result)
    assert sc.render(result).count("prog.mul(1, 1)") == 1000
    assert ops.ASSIGN in {node.op for node in postorder(result)}
