"""Legalization of functions of tensors: rules apply as in programs, values are kept, and mistakes have a place.

The golden files `expr_*.sir` of the two passes show what comes out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import scaly_ir as sc
from scaly_ir.dialect import dialect_of
from scaly_ir.dialects.expr import build, ops
from scaly_ir.dialects.expr.functions import body_of, make_function, make_module, outputs_of
from scaly_ir.graph import Node, postorder
from scaly_ir.op import CallEffectKind, Op, registry_scope
from scaly_ir.passes.expr.legalization import legalize, lower_intrinsics
from tests.counting import calls_of
from tests.dialects.expr import graphs, reference

pytestmark = pytest.mark.usefixtures("registry")

X = sc.sym("x", 3)


def _op(name: str, rule: Callable[[Node], Any] | None = None, numpy: Callable[..., Any] | None = None) -> Op:
    """Register an operator on one operand."""
    op = Op.register(f"test.{name}")
    op.set_signature(["x"], attrs={})
    op.set_attr("FInferType", lambda call: call.args[0].ty)
    op.set_attr("TCallEffectKind", CallEffectKind.Pure)
    op.set_attr("TElementwise", True)
    if rule is not None:
        op.set_attr("default.FLegalize", rule)
    if numpy is not None:
        op.set_attr("FNumpy", numpy)
    return op


def _call(name: str, x: Node, **attrs: Any) -> Any:
    return build.make(Op.get(f"test.{name}"), [x], attrs)


def _module(*outputs: Node, name: str = "f") -> Node:
    return make_module([sc.Function.from_exprs(name, [X], list(outputs)).node])  # type: ignore[arg-type]


def _outputs(module: Node) -> tuple[Node, ...]:
    return outputs_of(module.args[-1])


def _square(call: Node) -> Node:
    return call.args[0] * call.args[0]


def test_the_example_of_the_specification() -> None:
    _op("square", _square)
    module = _module(_call("square", X.exp()))
    result = legalize(module, target="c")
    assert _outputs(result) == (X.exp() * X.exp(),)
    sc.verify(result)
    assert legalize(result, target="c") is result


def test_results_of_rules_are_rewritten_in_turn_and_operands_first() -> None:
    _op("square", _square)
    _op("plus", lambda call: call.args[0] + 1.0)
    _op("both", lambda call: _call("square", _call("plus", call.args[0])))
    module = _module(_call("both", _call("plus", X)), _call("plus", X))
    inner = X + 1.0
    assert _outputs(legalize(module, target="c")) == ((inner + 1.0) * (inner + 1.0), inner)


def test_an_intrinsic_is_for_the_other_pass() -> None:
    op = _op("f", lambda call: call.args[0] + 1.0)
    _op("fast")
    op.set_attr("c.FLowerIntrinsic", lambda call: _call("fast", call.args[0]))
    module = _module(_call("f", X))
    assert legalize(module, target="c-gnu") is module
    assert _outputs(lower_intrinsics(module, target="c-gnu")) == (_call("fast", X),)
    assert _outputs(legalize(module, target="cuda")) == _outputs(lower_intrinsics(module, target="cuda")) == (X + 1.0,)


def test_hints_stay_and_an_input_with_one_is_still_that_input() -> None:
    _op("square", _square)
    _op("same", lambda call: call.args[0])
    first, second = _outputs(legalize(_module(_call("square", X).block(), _call("same", X).scalar()), target="c"))
    assert first is (X * X).block()
    assert second is X.reshape((3,)).scalar()


def test_functions_that_are_called_are_rewritten_and_calls_follow() -> None:
    _op("square", _square)
    inner = sc.Function.from_exprs("inner", [X], [_call("square", X)])
    go = sc.Function.from_exprs("go", [X], [_call("square", X).sum() < 9.0])
    outer = sc.Function.from_exprs("outer", [X], [inner(X), sc.while_loop(go, inner, X, max_iter=3)[0]])
    result = legalize(make_module([outer.node]), target="c")
    sc.verify(result)
    assert Op.get("test.square") not in {node.op for function in result.args for node in body_of(function)}
    called = {function.attrs["name"]: function for function in result.args}
    call, loop = _outputs(result)
    assert call.attrs["callee"] is loop.attrs["callee"] is called["inner"]
    assert loop.attrs["cond"] is called["go"]


def test_what_is_not_defined_stays() -> None:
    call = sc.Expr(ops.CALL, [X], X.type, attrs={"callee": "elsewhere", "output": 0})
    _op("square", _square)
    module = make_module([make_function("f", [X], [_call("square", call)], ["y"])], bare=True)
    (found,) = _outputs(legalize(module, target="c"))
    assert found is call * call


@given(data=st.data(), seed=st.integers(0, 2**32 - 1))
def test_values_are_kept(data: st.DataObject, seed: int) -> None:
    maker = graphs.Maker(data.draw)
    plain = [maker.make(maker.any_of(reference.NAMES)) for _ in range(data.draw(st.integers(1, 6)))]
    with registry_scope():
        _op("square", lambda call: call.args[0] * call.args[0], lambda x: x * x)
        _op("twice", lambda call: _call("square", call.args[0]) + call.args[0], lambda x: x * x + x)
        chosen = {node for node in postorder(*plain) if _is_number(node) and data.draw(st.booleans())}
        done: dict[Node, Any] = {}
        for node in postorder(*plain):
            operands = [done[operand] for operand in node.args]
            made = node if tuple(operands) == node.args else build.make(node.op, operands, node.attrs, node.type)
            done[node] = _call(maker.any_of(["square", "twice"]), made) if node in chosen else made
        inputs = [node for node in postorder(*plain) if node.op is ops.INPUT]
        outputs = [done[node] for node in plain]
        module = make_module([make_function("f", inputs, outputs, [f"out{at}" for at in range(len(outputs))])])
        sc.verify(module)
        result = legalize(module, target="c")
        sc.verify(result)
        assert legalize(result, target="c") is result
        if not chosen:
            assert result is module
        rng = np.random.default_rng(seed)
        values = {each.attrs["name"]: graphs.values(rng, str(each.type.dtype), each.type.shape) for each in inputs}
        before, after = [sc.evaluate(list(_outputs(each)), values) for each in (module, result)]
        for one, other in zip(before, after, strict=True):
            assert one.dtype == other.dtype
            np.testing.assert_array_equal(one, other)


def _is_number(node: Node) -> bool:
    """Tell whether a value may be squared; indices and conditions may not."""
    return bool(node.type.dtype.is_float)


# --- mistakes ---------------------------------------------------------------------------------------------------------


def test_a_rule_without_end_is_reported_with_its_operation_and_function() -> None:
    _op("f", lambda call: _call("f", call.args[0] + 1.0))
    at = _call("f", X.sin())
    module = _module(at * 2.0)
    with pytest.raises(sc.LegalizeError) as caught:
        legalize(module, target="c")
    assert str(caught.value) == "test.f: rule 'default.FLegalize' did not converge (in @f)"
    assert caught.value.blamed == (at, module.args[0])
    place = dialect_of(module).place_of(module, at)
    assert place is not None
    assert place.number == 4  # the heads of module and function, the input, its sine


@pytest.mark.parametrize(
    ("rule", "error", "message"),
    [
        (lambda call: None, TypeError, "test.f: rule 'default.FLegalize' returned None"),
        (lambda call: call.args[0].sum(), sc.LegalizeError, "returned type tensor<float64 diff>, expected tensor<3x"),
        (lambda call: sc.cast(call.args[0], "float32"), sc.LegalizeError, "returned type tensor<3xfloat32 diff>"),
    ],
)
def test_what_a_rule_must_not_return(rule: Any, error: type[Exception], message: str) -> None:
    _op("f", rule)
    with pytest.raises(error) as caught:
        legalize(_module(_call("f", X)), target="c")
    assert message in str(caught.value)


@pytest.mark.parametrize("run_pass", [legalize, lower_intrinsics])
def test_a_bad_target_is_refused_even_where_nothing_has_a_rule(run_pass: Callable[..., Node]) -> None:
    with pytest.raises(sc.PassError) as caught:
        run_pass(_module(X), target="c--gnu")
    name = run_pass.__name__
    wanted = f"option 'target' of pass '{name}': 'c--gnu' is no target; expected words joined by '-', as 'c-gnu'"
    assert str(caught.value) == wanted


# --- size -------------------------------------------------------------------------------------------------------------


def _chain(length: int) -> Node:
    x: Any = X
    for _ in range(length):
        x = _call("square", x).sin()
    return _module(x)


def test_long_functions_take_linear_time_and_no_recursion() -> None:
    _op("square", _square)
    short, long = _chain(500), _chain(5000)
    few = calls_of(lambda: legalize(short, target="c"))
    assert calls_of(lambda: legalize(long, target="c")) < 11 * few


def test_a_graph_that_is_shared_is_rewritten_once() -> None:
    _op("square", _square)
    x: Any = X
    for _ in range(200):
        x = _call("square", x) + x
    assert len(body_of(legalize(_module(x), target="c").args[0])) == 401
