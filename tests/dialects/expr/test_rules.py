"""The verifier: what each rule says, word by word, and that it refuses every operation that NumPy would refuse.

What text can break is also in the golden files of testdata/diagnostics/expr/verify, one for each rule.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scaly_ir.attributes import Word
from scaly_ir.dialects.expr import build, ops
from scaly_ir.dialects.expr.functions import make_function, make_module
from scaly_ir.dialects.expr.ingest import const, make_const
from scaly_ir.dialects.expr.node import Expr
from scaly_ir.dialects.expr.rules import OWN_RULES, SHARED_RULES
from scaly_ir.dialects.expr.spec import SPEC, spec_expr_shared, verify_expr
from scaly_ir.errors import VerifyError
from scaly_ir.graph import Node, postorder
from scaly_ir.op import CallEffectKind, Op
from scaly_ir.prim import register_elementwise
from scaly_ir.sparsity import SparsityPattern
from scaly_ir.spec import Rule, Spec
from scaly_ir.tables import Table
from scaly_ir.tensors import TensorType
from scaly_ir.types import BOOL, DTYPES, FLOAT32, FLOAT64, INT32, INT64
from tests.dialects.expr import reference
from tests.dialects.expr.graphs import graphs, operations

GOLDEN: Final = Path(__file__).parents[3] / "testdata" / "diagnostics" / "expr" / "verify"

X: Final = build.sym("x", 3)
Y: Final = build.sym("y", 3)
M: Final = build.sym("m", (2, 3))
F: Final = build.sym("f", 3, dtype="float32")
N: Final = build.sym("n", 3, dtype="int64")
B: Final = build.sym("b", 3, dtype="bool")
S: Final = build.sym("s")
K: Final = build.sym("k", dtype="int64")
IDX: Final = make_const(Table.from_array(np.array([0, 2])))
FAR: Final = make_const(Table.from_array(np.array([0, 3])))
EYE: Final = SparsityPattern((2, 2), [0, 1], [0, 1])
TOP: Final = SparsityPattern((2, 2), [0, 0], [0, 1])
SPARSE: Final = build.make(ops.INPUT, (), {"name": "a"}, TensorType((2, 2), FLOAT64, True, EYE))
F64X3: Final = TensorType((3,))
SCALAR: Final = TensorType()
BOOLX3: Final = TensorType((3,), BOOL, False)


def node(op: str, args: Any = (), type_: Any = F64X3, /, **attrs: Any) -> Any:
    """An operation made by the constructor that checks nothing."""
    return Expr(op, args, type_, attrs=attrs)


def hacked(**fields: Any) -> TensorType:
    """A type that no constructor makes."""
    made = object.__new__(TensorType)
    for field, value in {"shape": (), "dtype": FLOAT64, "diff": False, "pattern": None, "text": "?", **fields}.items():
        object.__setattr__(made, field, value)
    return made


def function(name: str, inputs: Any, *outputs: Any) -> Node:
    return make_function(name, inputs, outputs, [f"o{number}" for number in range(len(outputs))])


TWICE: Final = function("twice", [X], X * 2, X.sum())
STEP: Final = function("step", [S, X], S + X.sum(), X * S)
GO: Final = function("go", [S], S < 1.0)


def call(*args: Any, type_: Any = F64X3, callee: Any = TWICE, output: Any = 0, **more: Any) -> Any:
    return node("call", args, type_, callee=callee, output=output, **more)


def loop(*args: Any, type_: Any = SCALAR, **changes: Any) -> Any:
    """The final carry of four steps of `STEP` on a window of three entries."""
    attrs = {
        "callee": STEP,
        "cond": None,
        "n_carry": 1,
        "length": 4,
        "starts": [0],
        "strides": [2],
        "index": False,
        "reverse": False,
        "in_place": [],
        "output": 0,
        **changes,
    }
    return node("loop", args or (S, OUTER), type_, **attrs)


OUTER: Final = build.sym("o", 9)


def found(root: Any, spec: Spec = SPEC) -> list[str]:
    """What is wrong with the last operation, as ``rule: reason``."""
    return [f"{each.rule}: {each.reason}" for each in spec.check(root) if each.place.statement is root]


CASES: Final[list[tuple[Any, list[str]]]] = [
    # shared rules
    (
        node("neg", [X], hacked(shape=(-1,))),
        ["shape-nonnegative: NEG result has shape (-1,), expected integers of at least 0"],
    ),
    (node("neg", [X], None), ["dtype-is-DType: NEG result has type None, not a tensor type"]),
    (node("neg", [X], FLOAT64), ["dtype-is-DType: NEG result has type float64, not a tensor type"]),
    (
        node("neg", [X], hacked(shape=(3,), dtype="f8")),
        ["dtype-is-DType: NEG result has dtype 'f8', not one of the five dtypes"],
    ),
    (
        node("neg", [X], hacked(shape=(3,))),
        ["dtype-is-DType: NEG result has a type that no constructor made"],
    ),
    (
        node("add", [X, node("neg", [X], None)]),
        ["dtype-is-DType: ADD operand 1 has type None, not a tensor type"],
    ),
    (node("add", [X]), ["arity-matches-op: ADD expects 2 arguments, got 1"]),
    (node("neg", [X, X]), ["arity-matches-op: NEG expects 1 argument, got 2"]),
    (node("input", [X], name="z"), ["arity-matches-op: INPUT expects 0 arguments, got 1"]),
    (node("neg", [X], axis=0), ["attrs-match-op: attribute 'axis' is unknown"]),
    (
        node("neg", [X], lowering="fast"),
        ['attrs-match-op: attribute \'lowering\' is "fast", expected "auto", "scalar" or "block"'],
    ),
    (node("reduce", [X], kind="add"), ["attrs-match-op: attribute 'axes' is missing"]),
    (node("reduce", [X], axes=0, kind="add"), ["attrs-match-op: attribute 'axes' is 0, expected a list of integers"]),
    (
        node("reduce", [X], axes=[True], kind="add"),
        ["attrs-match-op: attribute 'axes' is [True], expected a list of integers"],
    ),
    (
        node("reduce", [X], axes=[0], kind=Word("add")),
        ['attrs-match-op: attribute \'kind\' is \'add\', expected "add", "max" or "min"; write it in quotes'],
    ),
    (
        node("slice", [X], index=[None]),
        ["attrs-match-op: attribute 'index' is [None], expected a list of integers and slices"],
    ),
    (
        node("slice", [X], index=[slice(0.5, None, None)]),
        ["attrs-match-op: attribute 'index' is [slice(0.5, None, None)], expected a list of integers and slices"],
    ),
    (
        node("neg", [SPARSE], TensorType((2, 2))),
        [
            "sparsity-shape-matches: NEG result is dense, expected sparse<rows=[0, 1], cols=[0, 1]>",
        ],
    ),
    (
        node("neg", [SPARSE], TensorType((2, 2), pattern=TOP)),
        [
            "sparsity-shape-matches: NEG result is sparse<rows=[0, 0], cols=[0, 1]>, "
            "expected sparse<rows=[0, 1], cols=[0, 1]>",
        ],
    ),
    (
        node("neg", [SPARSE], hacked(shape=(2, 3), pattern=EYE)),
        ["sparsity-shape-matches: NEG pattern has shape (2, 2), expected (2, 3)"],
    ),
    (
        node("exp", [SPARSE], TensorType((2, 2))),
        ["sparsity-shape-matches: EXP has a sparse operand"],
    ),
    (
        node("reshape", [SPARSE], TensorType((4,)), shape=[4]),
        ["sparsity-shape-matches: RESHAPE has a sparse operand"],
    ),
    (
        node(
            "scatter",
            [const(np.zeros(4)), IDX, const(np.ones(2))],
            TensorType((4,), diff=False),
            axis=None,
            combine="set",
            mode="fill",
        ),
        [],
    ),
    (
        node(
            "scatter",
            [const(np.zeros((2, 2))), IDX, const(np.ones(2))],
            TensorType((2, 2), diff=False, pattern=EYE),
            axis=None,
            combine="set",
            mode="fill",
        ),
        ["sparsity-shape-matches: SCATTER does not write the entries of its pattern into zeros"],
    ),
    (
        node("lt", [X, Y], TensorType((3,), BOOL, True)),
        ["diff-flag: LT result is marked diff, but carries no derivative"],
    ),
    (node("neg", [X], TensorType((3,), FLOAT64, False)), []),
    (const(1.0).replace(type=TensorType()), ["diff-flag: CONST result is marked diff, but carries no derivative"]),
    (
        node("cast", [F], TensorType((3,), INT64, True)),
        ["diff-flag: CAST result is marked diff, but carries no derivative"],
    ),
    # sources
    (node("input"), ["input-has-name: INPUT has no name"]),
    (node("input", name=""), ["input-has-name: INPUT has no name"]),
    (node("input", name=3), ["attrs-match-op: attribute 'name' is 3, expected a name"]),
    (node("const", (), TensorType((), FLOAT64, False)), ["const-value-present: CONST has no value"]),
    (
        const([1.0, 2.0]).replace(type=TensorType((3,), FLOAT64, False)),
        ["const-value-present: CONST result has shape (3,), expected (2,)"],
    ),
    (
        const(1.0).replace(type=TensorType((), FLOAT32, False)),
        ["const-value-present: CONST result has dtype float32, expected float64"],
    ),
    (
        node("const", (), TensorType((), FLOAT64, False), value="1"),
        ["attrs-match-op: attribute 'value' is \"1\", expected a number or lists of numbers"],
    ),
    # elementwise
    (node("neg", [M]), ["unary-shape-dtype-match: NEG result has shape (3,), expected (2, 3)"]),
    (node("abs", [F]), ["unary-shape-dtype-match: ABS result has dtype float64, expected float32"]),
    (node("add", [X, F]), ["binary-shape-dtype-match: ADD mixed dtypes float64 and float32"]),
    (node("add", [X, build.sym("w", 2)]), ["binary-shape-dtype-match: ADD cannot broadcast shapes (3,) and (2,)"]),
    (node("mul", [X, M]), ["binary-shape-dtype-match: MUL result has shape (3,), expected (2, 3)"]),
    (node("floor", [N], N.type), ["float-operands: FLOOR needs a floating operand, got int64"]),
    (node("div", [N, N], N.type), ["float-operands: DIV needs a floating operand, got int64"]),
    (node("mod", [X, X]), ["integer-operands: MOD needs an integer operand, got float64"]),
    (node("add", [B, B], B.type), ["numeric-operands: ADD needs an integer or floating operand, got bool"]),
    (node("neg", [B], B.type), ["numeric-operands: NEG needs an integer or floating operand, got bool"]),
    (node("lt", [X, N], BOOLX3), ["compare-types: LT mixed dtypes float64 and int64"]),
    (node("lt", [X, Y], F64X3.but(diff=False)), ["compare-types: LT result has dtype float64, expected bool"]),
    (node("eq", [X, M], BOOLX3), ["compare-types: EQ result has shape (3,), expected (2, 3)"]),
    (node("and", [B, X], BOOLX3), ["logical-types: AND needs a bool operand, got float64"]),
    (node("not", [B], TensorType((3,), INT32, False)), ["logical-types: NOT result has dtype int32, expected bool"]),
    (node("isfinite", [N], BOOLX3), ["isfinite-types: ISFINITE needs a floating operand, got int64"]),
    (node("isfinite", [M], BOOLX3), ["isfinite-types: ISFINITE result has shape (3,), expected (2, 3)"]),
    (node("select", [X, X, Y]), ["select-types: SELECT condition has dtype float64, not bool"]),
    (node("select", [B, X, F]), ["select-types: SELECT mixed dtypes float64 and float32"]),
    (node("select", [B, X, M]), ["select-types: SELECT result has shape (3,), expected (2, 3)"]),
    (node("cast", [X], BOOLX3), ["cast-types: CAST to bool must be written as ne(x, 0)"]),
    (node("cast", [M], TensorType((3,), FLOAT32)), ["cast-types: CAST result has shape (3,), expected (2, 3)"]),
    # reductions and shapes
    (
        node("reduce", [X], TensorType(), axes=[0], kind="mean"),
        ['reduce-shape: REDUCE kind "mean" is unknown; expected "add", "max" or "min"'],
    ),
    (
        node("reduce", [M], TensorType(), axes=[1, 0], kind="add"),
        ["reduce-shape: REDUCE axes [1, 0] are not sorted and distinct"],
    ),
    (
        node("reduce", [X], TensorType(), axes=[1], kind="add"),
        ["reduce-shape: REDUCE axes [1] are out of range for shape (3,)"],
    ),
    (node("reduce", [X], axes=[0], kind="add"), ["reduce-shape: REDUCE result has shape (3,), expected ()"]),
    (
        node("reduce", [B], TensorType((), BOOL, False), axes=[0], kind="add"),
        ["reduce-shape: REDUCE add of bool operands"],
    ),
    (
        node("reduce", [build.sym("e", (0, 3))], axes=[0], kind="max"),
        ["reduce-shape: REDUCE max over axes [0] of shape (0, 3) has no entries"],
    ),
    (node("reshape", [X], TensorType((4,)), shape=[4]), ["reshape-size: RESHAPE source size 3 != target size 4"]),
    (node("reshape", [X], shape=[3, 1]), ["reshape-size: RESHAPE result has shape (3,), expected (3, 1)"]),
    (node("reshape", [X], shape=[-1]), ["reshape-size: RESHAPE shape [-1] has a negative extent"]),
    (
        node("transpose", [M], M.type, axes=[0, 0]),
        ["transpose-axes: TRANSPOSE axes [0, 0] are not a permutation of 2 axes"],
    ),
    (
        node("transpose", [M], M.type, axes=[1, 0]),
        ["transpose-axes: TRANSPOSE result has shape (2, 3), expected (3, 2)"],
    ),
    (node("slice", [M], index=[0]), ["slice-index: SLICE has 1 items for 2 axes"]),
    (
        node("slice", [X], TensorType(), index=[3]),
        ["slice-index: SLICE index 3 is out of range for axis 0 with 3 entries"],
    ),
    (node("slice", [X], index=[slice(None, None, 0)]), ["slice-index: SLICE item 0 has step 0"]),
    (node("slice", [X], index=[slice(1, None, None)]), ["slice-index: SLICE result has shape (3,), expected (2,)"]),
    # gather and scatter
    (
        node("gather", [X, X], axis=None, mode="fill", fill=0.0),
        ["gather-indices: GATHER index has dtype float64, not int64"],
    ),
    (
        node("gather", [X, N], axis=1, mode="fill", fill=0.0),
        ["gather-indices: GATHER axis 1 is out of range for 1 axes"],
    ),
    (
        node("gather", [X, N], axis=None, mode="wrap"),
        ['gather-indices: GATHER mode "wrap" is unknown; expected "fill" or "promise_in_bounds"'],
    ),
    (
        node("gather", [X, N], axis=None, mode="fill"),
        ["gather-indices: GATHER has no fill, which its mode 'fill' needs"],
    ),
    (node("gather", [X, N], axis=None, mode="fill", fill=0), ["gather-indices: GATHER fill 0 is no float64"]),
    (
        node("gather", [F, N], F.type, axis=None, mode="fill", fill=0.1),
        ["gather-indices: GATHER fill 0.1 is no float32"],
    ),
    (
        node("gather", [X, N], axis=None, mode="promise_in_bounds", fill=0.0),
        ["gather-indices: GATHER has a fill, but its mode is not 'fill'"],
    ),
    (
        node("gather", [X, FAR], TensorType((2,)), axis=None, mode="promise_in_bounds"),
        ["gather-indices: GATHER index 3 is outside [0, 3)"],
    ),
    (
        node("gather", [X, IDX], axis=None, mode="promise_in_bounds"),
        ["gather-indices: GATHER result has shape (3,), expected (2,)"],
    ),
    (
        node("scatter", [X, N, Y], axis=None, combine="max", mode="fill"),
        ['scatter-indices: SCATTER combine "max" is unknown; expected "set" or "add"'],
    ),
    (
        node("scatter", [X, IDX, Y], axis=None, combine="set", mode="fill"),
        ["scatter-indices: SCATTER values have shape (3,), expected (2,)"],
    ),
    (
        node("scatter", [X, N, F], axis=None, combine="set", mode="fill"),
        ["scatter-indices: SCATTER mixed dtypes float64 and float32"],
    ),
    (
        node("scatter", [X, N, Y], M.type, axis=None, combine="set", mode="fill"),
        ["scatter-indices: SCATTER result has shape (2, 3), expected (3,)"],
    ),
    (
        node("scatter", [B, N, B], B.type, axis=None, combine="add", mode="fill"),
        ["scatter-indices: SCATTER add of bool operands"],
    ),
    # assembly and products
    (node("stack", [], axis=0), ["stack-shapes: STACK has no operand"]),
    (node("stack", [X, M], axis=0), ["stack-shapes: STACK operands have shapes (3,) and (2, 3)"]),
    (node("stack", [X], axis=2), ["stack-shapes: STACK axis 2 is out of range for 2 axes"]),
    (node("stack", [X, F], axis=0), ["stack-shapes: STACK mixed dtypes float64 and float32"]),
    (node("stack", [X], axis=0), ["stack-shapes: STACK result has shape (3,), expected (1, 3)"]),
    (node("concat", [], axis=0), ["concat-shapes: CONCAT has no operand"]),
    (node("concat", [S], axis=0), ["concat-shapes: CONCAT has a scalar operand"]),
    (node("concat", [X], axis=-1), ["concat-shapes: CONCAT axis -1 is out of range for 1 axes"]),
    (node("concat", [M, X], axis=0), ["concat-shapes: CONCAT operands of shapes (2, 3) and (3,) differ off axis 0"]),
    (node("concat", [X, Y], axis=0), ["concat-shapes: CONCAT result has shape (3,), expected (6,)"]),
    (node("matmul", [X, S]), ["matmul-shape: MATMUL operand of rank 0: shapes (3,) and ()"]),
    (node("matmul", [M, M]), ["matmul-shape: MATMUL contraction 3 != 2"]),
    (node("matmul", [M, X]), ["matmul-shape: MATMUL result has shape (3,), expected (2,)"]),
    (node("matmul", [B, B], TensorType((), BOOL, False)), ["matmul-shape: MATMUL of bool operands"]),
    (
        node("matmul", [build.sym("p", (2, 1, 1)), build.sym("q", (3, 1, 1))], TensorType((3, 1, 1))),
        ["matmul-shape: MATMUL cannot broadcast shapes (2,) and (3,)"],
    ),
    # calls
    (call(X), []),
    (call(X, callee=X), ["callee-resolved: CALL callee is 'expr.input', not a function"]),
    (call(X, callee=3), ["attrs-match-op: attribute 'callee' is 3, expected the name of a function"]),
    (call(X, callee="far"), []),
    (
        call(X, callee=Node(ops.FUNC, (X,), {"name": "f"})),
        ["callee-resolved: CALL callee 'f' has no list of output names"],
    ),
    (call(), ["call-attrs: CALL of 'twice' has 0 operands, expected 1"]),
    (call(M), ["call-attrs: CALL of 'twice': input 'x' has shape (3,), got (2, 3)"]),
    (call(N), ["call-attrs: CALL of 'twice': input 'x' has dtype float64, got int64"]),
    (call(X, output=2), ["call-attrs: CALL output 2 is out of range: 'twice' has 2 outputs"]),
    (call(X, output=1), ["call-attrs: CALL result has shape (3,), expected ()"]),
    (call(const(np.ones(3))), ["diff-flag: CALL result is marked diff, but carries no derivative"]),
    (
        call(SPARSE, callee=function("g", [build.sym("a", (2, 2))], build.sym("a", (2, 2))), type_=TensorType((2, 2))),
        [
            "call-attrs: CALL of 'g': input 'a' has type tensor<2x2xfloat64 diff>, "
            "got tensor<2x2xfloat64 diff, sparse<rows=[0, 1], cols=[0, 1]>>"
        ],
    ),
    # loops
    (loop(), []),
    (loop(S, OUTER, K), []),
    (loop(output=1, type_=TensorType((12,))), []),
    (loop(output=2, type_=TensorType((), INT64, False)), []),
    (loop(output=3, type_=TensorType((4,))), []),
    (loop(output=4), ["loop-attrs: LOOP output 4 is out of range: there are 4 results"]),
    (loop(output=1), ["loop-attrs: LOOP result has shape (), expected (12,)"]),
    (loop(S), ["loop-attrs: LOOP has 1 operands, expected 2 or one more"]),
    (
        loop(n_carry=0, starts=[0, 0], strides=[0, 0]),
        ["loop-attrs: LOOP operand for 's' has type tensor<float64 diff>, expected one axis"],
    ),
    (loop(starts=[0, 1]), ["loop-attrs: LOOP has 2 starts and 1 strides"]),
    (loop(starts=[-1]), ["loop-attrs: LOOP starts are not integers of at least 0"]),
    (loop(strides=[-1]), ["loop-attrs: LOOP strides are not integers of at least 0"]),
    (loop(length=-1), ["loop-attrs: LOOP length is -1, expected an integer of at least 0"]),
    (loop(length=5), ["loop-attrs: LOOP window of 'x' ends at 11, past the 9 entries of its operand"]),
    (loop(length=0, starts=[99]), []),
    (loop(index=True), ["loop-attrs: LOOP body 'step' has 2 inputs, expected 3"]),
    (
        loop(callee=function("k", [S, F, OUTER], S), index=True, starts=[0], strides=[0]),
        ["loop-attrs: LOOP step input 'f' has type tensor<3xfloat32 diff>, expected an int64 scalar"],
    ),
    (
        loop(callee=function("k", [S, X], S.reshape(1))),
        ["loop-attrs: LOOP carry 's' has type tensor<float64 diff> and becomes tensor<1xfloat64 diff>"],
    ),
    (loop(X, OUTER), ["loop-attrs: LOOP carry 's' has type tensor<float64 diff> and starts as tensor<3xfloat64 diff>"]),
    (loop(S, M), ["loop-attrs: LOOP operand for 'x' has type tensor<2x3xfloat64 diff>, expected one axis"]),
    (loop(S, N), ["loop-attrs: LOOP of 'step': input 'x' has dtype float64, got int64"]),
    (loop(S, OUTER, S), ["loop-attrs: LOOP trip has type tensor<float64 diff>, expected an int64 scalar"]),
    (loop(cond=GO), []),
    (loop(cond=S), ["callee-resolved: LOOP cond is 'expr.input', not a function"]),
    (loop(cond=GO, reverse=True), ["loop-attrs: LOOP has a condition and runs in reverse"]),
    (
        loop(OUTER, callee=function("k", [X], X), n_carry=0, cond=GO, type_=TensorType((12,))),
        ["loop-attrs: LOOP has a condition and no carry"],
    ),
    (
        loop(cond=function("no", [X], X.sum() < 0.0)),
        ["loop-attrs: LOOP condition 'no' does not take the carries and shared operands (tensor<float64 diff>)"],
    ),
    (loop(cond=function("no", [S], S)), ["loop-attrs: LOOP condition 'no' does not give one bool"]),
    (loop(in_place=[1]), ["loop-attrs: LOOP in_place [1] are not sorted, distinct positions of 1 carries"]),
    (loop(reverse=1), ["attrs-match-op: attribute 'reverse' is 1, expected 'True' or 'False'"]),
    (loop(callee=function("k", [S], S)), ["loop-attrs: LOOP body 'k' has 1 inputs, expected 2"]),
]


@pytest.mark.parametrize(("root", "reasons"), CASES)
def test_every_rule_says_what_is_wrong(root: Any, reasons: list[str]) -> None:
    assert found(root) == reasons
    assert found(root) == reasons  # what was found wrong is not taken for sound the next time


def test_what_was_found_sound_does_not_cover_other_constants() -> None:
    promised = {"axis": None, "mode": "promise_in_bounds"}
    assert found(node("gather", [X, IDX], TensorType((2,)), **promised)) == []
    assert found(node("gather", [X, FAR], TensorType((2,)), **promised)) != []
    rows = {"axis": 0, "mode": "promise_in_bounds", "combine": "set"}
    assert found(node("scatter", [M, const(np.array([1])), build.sym("r", (1, 3))], M.type, **rows)) == []
    assert found(node("scatter", [M, const(np.array([2])), build.sym("r", (1, 3))], M.type, **rows)) != []


def test_no_type_that_may_go_away_is_remembered() -> None:
    spec = Spec("verify_some", [rule for rule in SPEC.rules if rule.name != "dtype-is-DType"], SPEC._walk)
    seen = set()
    for _ in range(50):
        passing, failing = hacked(shape=(3,)), hacked(shape=(3,), pattern=EYE)
        seen.update([id(passing), id(failing)])
        assert found(node("neg", [X], passing), spec) == []
        assert found(node("neg", [X], failing), spec) != []
        del passing, failing
    assert len(seen) < 100  # identities are taken again


def test_every_rule_has_a_case() -> None:
    fired = {reason.partition(":")[0] for _, reasons in CASES for reason in reasons}
    assert {rule.name for rule in (*SHARED_RULES, *OWN_RULES)} - fired == {"function-signature"}  # below
    assert all([rule.doc for rule in SPEC.rules])


def test_a_violation_is_an_exception() -> None:
    root = node("reshape", [X], TensorType((4,)), shape=[4])
    reason = "failed rule 'reshape-size': RESHAPE source size 3 != target size 4"
    for given_root in (root, [X, root], node("neg", [root], TensorType((4,))), function("f", [X], root)):
        with pytest.raises(VerifyError) as caught:
            verify_expr(given_root)
        assert str(caught.value) == f"verify_expr: node %{id(root)} op=reshape {reason}"
        assert (caught.value.node, caught.value.rule) == (root, "reshape-size")
    with pytest.raises(VerifyError, match="verify_expr: node z op=input failed rule 'attrs-match-op'"):
        verify_expr(node("input", name="z", lowering="no"))


def test_what_can_be_verified() -> None:
    class Held:
        node = TWICE

    verify_expr(Held())
    verify_expr([Held(), X])
    verify_expr((X, Y))
    verify_expr([])
    for wrong in (3, "x", [3], None):
        with pytest.raises(TypeError, match="expected an expression"):
            verify_expr(wrong)


def test_the_shared_rules_alone() -> None:
    wrong = node("reshape", [X], TensorType((4,)), shape=[4])
    verify_expr(wrong, spec_expr_shared)
    assert found(node("neg", [X], axis=0), spec_expr_shared) == ["attrs-match-op: attribute 'axis' is unknown"]
    assert [rule.name for rule in spec_expr_shared.rules] == [
        "shape-nonnegative",
        "dtype-is-DType",
        "arity-matches-op",
        "attrs-match-op",
        "sparsity-shape-matches",
        "diff-flag",
    ]


def test_rules_of_users_see_every_operation() -> None:
    seen: list[Node] = []
    spec = Spec("verify_mine", (*SPEC.rules, Rule("seen", lambda each: seen.append(each) or ())), SPEC._walk)  # type: ignore[func-returns-value]
    for _ in range(2):
        verify_expr(X + Y, spec)
    assert seen == [X, Y, X + Y] * 2


# --- functions and modules --------------------------------------------------------------------------------------------


def everything(root: Node) -> list[str]:
    return [f"{each.rule}: {each.reason}" for each in SPEC.check(root)]


def raw_function(args: Any, **attrs: Any) -> Node:
    return Node(ops.FUNC, args, attrs)


@pytest.mark.parametrize(
    ("root", "reasons"),
    [
        (make_module([TWICE, STEP]), []),
        (Node(ops.MODULE, (X,)), ["function-signature: MODULE holds 'expr.input', expected functions"]),
        (Node(ops.MODULE, (), {}, FLOAT64), ["dtype-is-DType: MODULE has type float64, but no result"]),
        (
            Node(ops.MODULE, (), {"bare": False}),
            ["attrs-match-op: attribute 'bare' is False, expected 'True'"],
        ),
        (
            raw_function((X,), name="f"),
            [
                "attrs-match-op: attribute 'output_names' is missing",
                "function-signature: FUNC 'f' has no list of output names",
            ],
        ),
        (
            raw_function((X,), name="f", output_names=[1]),
            [
                "attrs-match-op: attribute 'output_names' is [1], expected a list of names",
                "function-signature: FUNC 'f' has no list of output names",
            ],
        ),
        (
            raw_function((X,), name="", output_names=["o"]),
            ["function-signature: FUNC has no name"],
        ),
        (
            raw_function((X, X), name="f", output_names=[]),
            ["function-signature: FUNC 'f' has 0 output names for 2 operands"],
        ),
        (
            raw_function((X, X * 2), name="f", output_names=["o"]),
            [
                "function-signature: FUNC 'f' has the input 'expr.mul' of type tensor<3xfloat64 diff>, "
                "expected a named 'expr.input'"
            ],
        ),
        (function("f", [X, build.sym("x", 2)], X), ["function-signature: FUNC 'f' has two inputs called 'x'"]),
        (
            make_function("f", [X], [X, X], ["o", "o"]),
            ["function-signature: FUNC 'f' has two outputs called 'o'"],
        ),
        (
            function("f", [X], X + Y),
            ["function-signature: FUNC does not declare input 'y' of type tensor<3xfloat64 diff>"],
        ),
        (
            function("f", [X, node("input", name="z", lowering="no")], X),
            ['attrs-match-op: attribute \'lowering\' is "no", expected "auto", "scalar" or "block"'],
        ),
        (
            Node(ops.RETURN, (TWICE,)),
            ["function-signature: RETURN result 0 has type None, not a tensor type"],
        ),
        (
            make_module([function("f", [X], call(X, callee="fra"))]),
            ["callee-resolved: CALL callee 'fra' is not defined in this module"],
        ),
        (
            make_module([TWICE, function("f", [X], call(X, callee="twic"))]),
            ["callee-resolved: CALL callee 'twic' is not defined in this module; did you mean 'twice'?"],
        ),
        (make_module([function("f", [X], call(X, callee="far"))], bare=True), []),
        (function("f", [X], call(X, callee="far")), []),
        (
            make_module([function("f", [S, OUTER], loop(cond="far"))]),
            ["callee-resolved: LOOP cond 'far' is not defined in this module"],
        ),
        (make_module([function("f", [S, OUTER], loop(cond="far"))], bare=True), []),
    ],
)
def test_functions_and_modules(root: Node, reasons: list[str]) -> None:
    assert [each for each in everything(root) if not each.startswith("dtype-is-DType: FUNC")] == reasons


def test_operations_are_numbered_as_text_lists_them() -> None:
    wrong = node("neg", [M])
    first, second = function("f", [X, Y], X + Y), function("g", [M], wrong, wrong)
    numbers = {}
    for root in (
        make_module([first, second]),
        make_module([first, second], bare=True),
        second,
        Node(ops.REGION, (wrong,), {"name": "r"}),
        Node(ops.RETURN, (X, wrong)),
        wrong,
    ):
        (violation,) = SPEC.check(root)
        assert (violation.place.statement, violation.place.part, violation.operation) == (wrong, "type", "expr.neg")
        numbers[root.op.name, bool(root.attrs.get("bare"))] = violation.place.number
    assert numbers == {
        ("expr.module", False): 7,  # module f %0 %1 %2 g %0 %1
        ("expr.module", True): 6,
        ("expr.func", False): 2,
        ("expr.region", False): 2,
        ("expr.return", False): 2,
        ("expr.neg", False): 1,
    }


def test_an_operation_is_reported_once_for_each_function() -> None:
    wrong = node("neg", [M])
    functions = [function(name, [M], wrong) for name in "fg"]
    assert len(everything(make_module(functions))) == 2
    assert len(everything(Node(ops.RETURN, (wrong, wrong)))) == 1


@pytest.mark.usefixtures("registry")
def test_registered_operators_are_checked_by_what_they_bring() -> None:
    square = Op.register("my_ext.square")
    square.set_signature(["x"], attrs={"k": int})
    square.set_attr("FInferType", lambda each: each.args[0].type)
    square.set_attr("FVerify", lambda each: [("odd", "k is odd")] if each.attrs.get("k", 0) % 2 else [])
    square.set_attr("TCallEffectKind", CallEffectKind.Pure)

    def made(*args: Any, type_: Any = F64X3, **attrs: Any) -> Any:
        return Expr(square, args, type_, attrs=attrs)

    assert found(made(X, k=2)) == []
    assert found(made(X, k=2, lowering="block")) == []
    assert found(made(X, k=2, lowering="fast")) == ["op-arity: unexpected attribute 'lowering'"]
    assert found(made(k=2)) == ["op-arity: expects 1 argument, got 0"]
    assert found(made(X)) == ["op-arity: missing attribute 'k'"]
    assert found(made(X, k=2, type_=M.type)) == [
        "op-type: recorded type tensor<2x3xfloat64 diff> != inferred tensor<3xfloat64 diff>"
    ]
    assert found(made(X, k=3)) == ["op-verify: k is odd"]
    assert found(made(X, k=2, type_=None))[0] == "dtype-is-DType: SQUARE result has type None, not a tensor type"
    square.set_attr("TDialects", frozenset({"prog"}))
    assert found(made(X, k=2)) == ["op-dialect: operation 'my_ext.square' is not allowed in dialect 'expr'"]


@pytest.mark.usefixtures("registry")
def test_operators_with_an_effect_are_refused() -> None:
    draw = Op.register("my_ext.draw")
    draw.set_signature(["x"])
    but = "(TCallEffectKind), but operations of 'expr' only compute values"
    assert found(Expr(draw, [X], F64X3)) == [f"op-effect: does not say that it is pure {but}"]
    for kind in CallEffectKind:
        draw.set_attr("TCallEffectKind", kind, override=True)
        wrong = [] if kind <= CallEffectKind.Pure else [f"op-effect: has an effect {but}"]
        assert found(Expr(draw, [X], F64X3)) == wrong
    register_elementwise("draw", 1, TCallEffectKind=CallEffectKind.ReadState)
    assert found(build.unary("draw", X)) == [f"op-effect: has an effect {but}"]


@pytest.mark.usefixtures("registry")
def test_elementwise_operators_of_others_follow_the_rules_of_their_kind() -> None:
    register_elementwise("hypot", 2, TOperandKinds=frozenset({"float"}))
    register_elementwise("flip", 1, TOperandKinds=frozenset({"bool", "int"}))
    register_elementwise("blend", 3)
    register_elementwise("near", 2, TScalarTyping="compare", TOperandKinds=frozenset({"float"}), TNoDiff=True)
    assert found(node("hypot", [X, M], M.type)) == []
    assert found(node("hypot", [X, M])) == ["binary-shape-dtype-match: HYPOT result has shape (3,), expected (2, 3)"]
    assert found(node("hypot", [N, N], N.type)) == ["float-operands: HYPOT needs a floating operand, got int64"]
    assert found(node("flip", [X])) == ["numeric-operands: FLIP needs a bool or integer operand, got float64"]
    assert found(node("blend", [X, Y, F])) == ["binary-shape-dtype-match: BLEND mixed dtypes float64 and float32"]
    assert found(node("near", [N, N], BOOLX3)) == ["compare-types: NEAR needs a floating operand, got int64"]
    assert found(node("near", [X, X], BOOLX3)) == []


# --- random graphs ----------------------------------------------------------------------------------------------------


@given(graphs())
def test_what_builders_make_is_valid(made: list[Expr]) -> None:
    verify_expr(made)
    for each in postorder(*made):
        assert is_valid(each) or each.op in (ops.INPUT, ops.CONST)


def is_valid(each: Node) -> bool:
    """Tell whether an operation on valid operands is one, by what NumPy makes of arrays of their types."""
    name, type_ = each.op.mnemonic, each.type
    if not isinstance(type_, TensorType) or type_.pattern is not None or type_.text == "?":
        return False
    wanted = reference.ATTRIBUTES.get(name, set())
    given_attrs = set(each.attrs) - ({"lowering"} if each.attrs.get("lowering") in (*ops.HINTS, None) else set())
    if not (wanted <= given_attrs <= wanted | ({"fill"} if name == "gather" else set())):
        return False
    if not all([_right_kind(key, value) for key, value in each.attrs.items()]):
        return False
    if not all([type(operand.type) is TensorType and operand.type.text != "?" for operand in each.args]):
        return False
    if name in reference.ARITY and len(each.args) != reference.ARITY[name]:
        return False
    attrs = dict(each.attrs)
    arrays = [np.zeros(operand.type.shape, str(operand.type.dtype)) for operand in each.args]
    if name in ("gather", "scatter"):
        index = each.args[1]
        if index.op is ops.CONST:
            arrays[1] = index.attrs["value"].array
        elif attrs["mode"] == "promise_in_bounds":  # which of computed positions only a run can tell
            attrs["mode"] = "fill"
            if name == "gather" and "fill" in attrs:
                return False
            if name == "gather":
                attrs["fill"] = {"b": False, "i": 0, "f": 0.0}[reference.KINDS[each.args[0].type.dtype]]
    try:
        result = reference.apply(name, attrs, arrays, str(type_.dtype))
    except (reference.Invalid, ValueError, TypeError, IndexError, ArithmeticError):
        return False
    if (result.shape, str(result.dtype)) != (type_.shape, str(type_.dtype)):
        return False
    diffs, dtypes = [operand.type.diff for operand in each.args], [operand.type.dtype for operand in each.args]
    return not type_.diff or reference.may_differ(name, diffs, dtypes, type_.dtype)


def _right_kind(key: str, value: Any) -> bool:
    if key in ("axes", "shape"):
        return type(value) is tuple and all([type(item) is int for item in value])
    if key == "index":
        return type(value) is tuple and all([_index_item(item) for item in value])
    if key == "axis":
        return value is None or type(value) is int
    return type(value) in ((bool, int, float) if key == "fill" else (str,))


def _index_item(item: Any) -> bool:
    if type(item) is not slice:
        return type(item) is int
    return all([bound is None or type(bound) is int for bound in (item.start, item.stop, item.step)])


OTHERS: Final = (
    *(None, True, False, 0, 1, 2, -1, 10**30, 0.0, 1.5, float("nan"), "", "add", "set", "fill", "promise_in_bounds"),
    *("auto", "block", Word("fill"), FLOAT32, (), (0,), (1,), (0, 0), (0, 1), (1, 0), (True,), (0.0,), (None,), ("x",)),
    *(slice(0, 1, None), (slice(None, None, 0),), (slice(0, True, None),), (slice(None),), (slice(None), slice(None))),
    *({"a": 1}, Table.of([1.0], FLOAT64, ()), X, TWICE),
)
"""Values of attributes: every kind, and those that mean something somewhere."""


def corruptions(each: Node) -> Iterator[Node]:
    """Yield an operation with one field changed, in every way there is."""
    type_: Any = each.type
    shapes = {(*type_.shape, 1), (*type_.shape, 2), type_.shape[1:], type_.shape[:-1], (7,), ()}
    for axis, extent in enumerate(type_.shape):
        shapes.add((*type_.shape[:axis], extent + 1, *type_.shape[axis + 1 :]))
    for shape in shapes:
        yield each.replace(type=type_.but(shape=shape))
    for dtype in DTYPES:
        yield each.replace(type=type_.but(dtype=dtype))
    yield each.replace(type=type_.but(diff=not type_.diff))
    for wrong in (None, FLOAT64, "tensor", 3, hacked(), hacked(shape=(-1,)), hacked(dtype=None), hacked(shape=None)):
        yield each.replace(type=wrong)
    for key in each.attrs:
        yield each.replace(attrs={name: value for name, value in each.attrs.items() if name != key})
    for key in [*each.attrs, "extra", "lowering", "fill", "axis"]:
        for value in OTHERS:
            yield each.replace(attrs={**each.attrs, key: value})
    others = (X, M, F, N, B, S, K, IDX, FAR)
    for position, operand in enumerate(each.args):
        yield each.replace(args=(*each.args[:position], *each.args[position + 1 :]))
        shape = operand.type.shape
        for type_ in (None, FLOAT64, hacked(), hacked(shape=None), hacked(shape=(-1,)), hacked(dtype="f8")):
            yield each.replace(args=(*each.args[:position], operand.replace(type=type_), *each.args[position + 1 :]))
        for other in (*others, *[build.sym("other", shape, dtype=dtype, diff=False) for dtype in DTYPES]):
            yield each.replace(args=(*each.args[:position], other, *each.args[position + 1 :]))
    for other in others:
        yield each.replace(args=(*each.args, other))


@pytest.mark.parametrize("name", reference.NAMES)
def test_what_is_changed_in_one_field_is_refused_unless_numpy_accepts_it(name: str) -> None:
    @settings(max_examples=settings().max_examples // 10)
    @given(operations(name), st.randoms(use_true_random=False))
    def check(made: Expr, random: Any) -> None:
        changed = list(corruptions(made))
        for each in random.sample(changed, min(len(changed), 80)):
            reasons = found(each)
            assert bool(reasons) != is_valid(each), (each.op, each.args, each.attrs, each.type, reasons)

    check()


@pytest.mark.parametrize("root", [call(X), loop(), loop(cond=GO), X, const([1.0, 2.0])])
def test_sources_calls_and_loops_survive_every_change(root: Any) -> None:
    for each in corruptions(root):
        reasons = found(each)
        assert all([reason.partition(":")[2] for reason in reasons])
        for spec in (SPEC, spec_expr_shared):
            list(spec.check(Node(ops.MODULE, (raw_function((each, X), name="f", output_names=["o"]),))))


def test_long_chains_need_no_recursion() -> None:
    e = X
    for _ in range(100_000):
        e = e + X
    verify_expr(e)


def test_nothing_is_kept_alive() -> None:
    from scaly_ir.graph.node import live_nodes

    def once() -> None:
        f = function("gone", [X], X * 3)
        verify_expr(call(X, callee=f) + make_const(Table.from_array(np.full(3, 17.0))))

    once()
    before = live_nodes()
    once()
    assert live_nodes() == before


TESTED_HERE: Final = {"shape-nonnegative", "dtype-is-DType", "op-verify", "op-dialect", "op-effect"}
"""The rules without a golden file: text cannot break them, or only with an operator of a plug-in."""


def test_every_rule_has_a_golden_file_or_a_test_here() -> None:
    assert {rule.name for rule in SPEC.rules} - {file.stem for file in GOLDEN.glob("*.sir")} == TESTED_HERE
