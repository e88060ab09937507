"""The rules of the verifier on nodes as code can make them, and all that these are blamed for.

What text can break is also in the golden files of testdata/diagnostics/prog/verify, one for each rule.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from scaly_ir.attributes import Word
from scaly_ir.dialects.prog import build, ops
from scaly_ir.dialects.prog.spec import SPEC
from scaly_ir.graph import Node
from scaly_ir.op import Op
from scaly_ir.text.spelling import float_from_bits
from scaly_ir.types import BOOL, FLOAT32, FLOAT64, INT32, INT64
from scaly_ir.undo import registry_scope

GOLDEN: Final = Path(__file__).parents[3] / "testdata" / "diagnostics" / "prog" / "verify"

PLACE: Final = build.view("x", 0, FLOAT64)
ONE: Final = build.const(1, FLOAT64)
HALF: Final = build.const(0.5, FLOAT32)
TRUE: Final = build.const(1, BOOL)
ZERO: Final = build.index(0)
STORE: Final = build.store(PLACE, ONE)
DOMAIN: Final = build.range_("i", 0, 4)
BUFFER: Final = build.buffer("t", 2)
X: Final = build.param("x", 4)


def scalar(name: str, *operands: Node, dtype: Any = FLOAT64) -> Node:
    return Node(Op.get(f"prog.{name}"), operands, {}, dtype)


def buffer(changes: Mapping[str, Any], dtype: Any = FLOAT64) -> Node:
    """A private buffer of two elements with attributes set, or removed where the new value is None."""
    return BUFFER.with_attrs(**changes).replace(type=dtype)


def table(values: tuple[Any, ...], dtype: Any) -> Node:
    shape = (len(values),)
    return buffer({"values": values, "shape": shape, "address_space": Word("constant")}, dtype)


def leaf(op: Op, value: Any, dtype: Any, *operands: Node) -> Node:
    return Node(op, operands, {"name" if op is ops.VAR else "value": value}, dtype)


def blamed(statement: Node) -> list[str]:
    """Everything that is wrong with a statement on its own, as ``rule: reason``."""
    return [f"{found.rule}: {found.reason}" for found in SPEC.check(Node(ops.BLOCK, (statement,)))]


VALUES: Final[list[tuple[Node, list[str]]]] = [
    # leaves
    (Node(ops.CONST_INT, type=INT64), ["const-int-value: integer constant lacks an int value"]),
    (leaf(ops.CONST_INT, True, INT64), ["const-int-value: integer constant lacks an int value"]),
    (leaf(ops.CONST_INT, 1.0, INT64), ["const-int-value: integer constant lacks an int value"]),
    (
        leaf(ops.CONST_INT, 1, FLOAT64),
        ["const-int-value: integer constant has dtype float64 which is neither integer nor bool"],
    ),
    (leaf(ops.CONST_INT, 1, INT64, ZERO), ["const-int-value: takes no operands, got 1"]),
    (leaf(ops.CONST_INT, 1 << 31, INT32), ["const-range: value 2147483648 does not fit int32"]),
    (leaf(ops.CONST_INT, -(1 << 31), INT32), []),
    (leaf(ops.CONST_INT, 1 << 63, INT64), ["const-range: value 9223372036854775808 does not fit int64"]),
    (leaf(ops.CONST_INT, 2, BOOL), ["const-range: value 2 does not fit bool"]),
    (leaf(ops.CONST_INT, -1, BOOL), ["const-range: value -1 does not fit bool"]),
    (leaf(ops.CONST_INT, 10**5000, INT64), ["const-range: value an integer of 16610 bits does not fit int64"]),
    (Node(ops.CONST_FLOAT, type=FLOAT64), ["const-float-value: float constant lacks a value"]),
    (leaf(ops.CONST_FLOAT, 1, FLOAT64), ["const-float-value: float constant lacks a value"]),
    (leaf(ops.CONST_FLOAT, 1.0, INT64), ["const-float-value: float constant has non-floating dtype int64"]),
    (leaf(ops.CONST_FLOAT, 0.1, FLOAT32), ["const-float-value: value 0.1 is not a float32"]),
    (leaf(ops.CONST_FLOAT, 1e300, FLOAT32), ["const-float-value: value 1e+300 is not a float32"]),
    (
        leaf(ops.CONST_FLOAT, float_from_bits(0x7FF8000000000001), FLOAT32),
        ["const-float-value: value nan<0x7ff8000000000001> is not a float32"],
    ),
    (leaf(ops.CONST_FLOAT, float("nan"), FLOAT32), []),
    (leaf(ops.CONST_FLOAT, float("-inf"), FLOAT32), []),
    (leaf(ops.CONST_FLOAT, 1.0, FLOAT64, ONE), ["const-float-value: takes no operands, got 1"]),
    (Node(ops.VAR, type=INT64), ["var-name: variable lacks a name"]),
    (leaf(ops.VAR, "v", None), ["dtype-is-DType: node dtype is missing, not one of the five dtypes"] * 2),
    (leaf(ops.VAR, "v", "float64"), ["dtype-is-DType: node dtype is float64, not one of the five dtypes"] * 2),
    (leaf(ops.VAR, 3, INT64), ["var-name: variable lacks a name"]),
    (leaf(ops.VAR, "v", INT64, ZERO), ["var-name: takes no operands, got 1"]),
    (Node(ops.LOAD, (), {}, FLOAT64), ["load-takes-view: load needs exactly one view"]),
    (Node(ops.LOAD, (ONE,), {}, FLOAT64), ["load-takes-view: load needs exactly one view"]),
    (Node(ops.LOAD, (PLACE, PLACE), {}, FLOAT64), ["load-takes-view: load needs exactly one view"]),
    (Node(ops.LOAD, (PLACE,), {}, FLOAT32), ["load-takes-view: load has dtype float32, its view float64"]),
    # places
    (build.load(PLACE.replace(args=())), ["view-scalar-args: expected exactly one flat index, got 0"]),
    (build.load(PLACE.replace(args=(ZERO, ZERO))), ["view-scalar-args: expected exactly one flat index, got 2"]),
    (build.load(PLACE.replace(args=(STORE,))), ["view-scalar-args: index 'prog.store' is not a scalar"]),
    (build.load(PLACE.replace(attrs={})), ["view-scalar-args: no buffer name"]),
    (build.load(PLACE.replace(attrs={"buffer": 1})), ["view-scalar-args: no buffer name"]),
    # operators
    (scalar("add", ONE), ["arith-types: 2 operands needed, got 1"]),
    (scalar("neg", ONE, ONE), ["arith-types: 1 operand needed, got 2"]),
    (scalar("neg", STORE), ["arith-types: operand 'prog.store' is not a scalar"]),
    (scalar("neg", PLACE), ["arith-types: operand 'prog.view' is not a scalar"]),
    (scalar("neg", BUFFER), ["arith-types: operand 'prog.buffer' is not a scalar"]),
    (scalar("neg", ONE, dtype=FLOAT32), ["arith-types: operands float64 and result float32 differ"]),
    (scalar("mod", ONE, ONE), ["int-division-types: integer operands required, got float64"]),
    (scalar("lt", ONE, dtype=BOOL), ["compare-types: two operands of one dtype needed, got float64"]),
    (scalar("lt", dtype=BOOL), ["compare-types: two operands of one dtype needed, got none"]),
    (scalar("lt", ONE, ONE), ["compare-types: result must be bool, got float64"]),
    (scalar("eq", PLACE, PLACE, dtype=BOOL), ["compare-types: two operands of one dtype needed, got float64, float64"]),
    (scalar("and", TRUE, dtype=BOOL), ["logical-types: 2 operands needed, got 1"]),
    (
        scalar("not", TRUE, dtype=INT32),
        ["logical-types: bool operands and result needed, got bool and int32"],
    ),
    (
        scalar("isfinite", dtype=BOOL),
        ["isfinite-types: one floating operand and a bool result needed, got none and bool"],
    ),
    (
        scalar("isfinite", ONE),
        ["isfinite-types: one floating operand and a bool result needed, got float64 and float64"],
    ),
    (scalar("select", TRUE, ONE), ["select-types: three operands needed, got 2"]),
    (
        scalar("select", TRUE, ONE, ONE, dtype=FLOAT32),
        ["select-types: branch dtypes float64 and result float32 differ"],
    ),
    (scalar("select", TRUE, ONE, STORE), ["select-types: operand 'prog.store' is not a scalar"]),
    (scalar("cast", dtype=INT32), ["cast-types: one operand needed, got 0"]),
    (scalar("cast", ONE, ONE, dtype=INT32), ["cast-types: one operand needed, got 2"]),
    (scalar("cast", ONE, dtype=BOOL), ["cast-types: cast to bool must be written as a comparison: prog.ne(x, 0)"]),
]

STATEMENTS: Final[list[tuple[Node, list[str]]]] = [
    # types
    (build.for_(DOMAIN, []).replace(type=INT64), ["dtype-is-DType: node dtype is int64, but 'prog.for' has no result"]),
    (
        build.for_(DOMAIN.replace(type=FLOAT64), []),
        ["dtype-is-DType: node dtype is float64, expected int64"],
    ),
    # buffers
    (buffer({"shape": None}), ["buffer-attrs: lacks attribute shape"]),
    (buffer({"address_space": None}), ["buffer-attrs: lacks attribute address_space"]),
    (buffer({"device": None}), ["buffer-attrs: lacks attribute device"]),
    (buffer({"device": Word("gpu")}), ["buffer-attrs: device is not a device"]),
    (buffer({"device": "host"}), ["buffer-attrs: device is not a device"]),
    (
        buffer({"address_space": "private"}),
        ["buffer-attrs: address space \"private\" is unknown; did you mean 'private'?"],
    ),
    (buffer({"shape": (2, -1)}), ["buffer-attrs: a shape holds integers of at least 0"]),
    (buffer({"shape": (2.0,)}), ["buffer-attrs: a shape holds integers of at least 0"]),
    (buffer({"shape": (1 << 40, 1 << 40)}), ["buffer-attrs: a shape of more elements than an int64 index reaches"]),
    (buffer({"shape": 2}), ["attrs-match-op: attribute 'shape' is 2, expected a shape"]),
    (buffer({"name": None}), ["attrs-match-op: attribute 'name' is missing"]),
    (BUFFER.replace(args=(ZERO,)), ["buffer-attrs: takes no operands, got 1"]),
    (
        buffer({"alias_of": "x", "alias_offset": 0, "workspace_offset": 0}),
        ["buffer-init: more than one of table, alias and workspace given"],
    ),
    (
        table((1.0,), FLOAT64).with_attrs(alias_of="x", alias_offset=0),
        ["buffer-init: more than one of table, alias and workspace given"],
    ),
    (buffer({"alias_of": "x"}), ["buffer-init: an alias needs both the buffer and the offset"]),
    (buffer({"alias_offset": 0}), ["buffer-init: an alias needs both the buffer and the offset"]),
    (table((1,), FLOAT64), ["buffer-values: value 1 is not a float64"]),
    (table((1.5,), INT64), ["buffer-values: value 1.5 is not a int64"]),
    (table((0, True), INT64), ["buffer-values: value True is not a int64"]),
    (table((0, 1, 2), BOOL), ["buffer-values: value 2 is not a bool"]),
    (table((0, 1 << 31), INT32), ["buffer-values: value 2147483648 is not a int32"]),
    (table((0.5, 0.1, 0.2), FLOAT32), ["buffer-values: value 0.1 is not a float32"]),
    (table((), FLOAT64), []),
    # statements
    (
        Node(ops.STORE, (ONE, PLACE), {}, FLOAT64),
        ["store-attrs: needs a view and a scalar value, got 'prog.const_float', 'prog.view'"],
    ),
    (Node(ops.STORE, (), {}, FLOAT64), ["store-attrs: needs a view and a scalar value, got nothing"]),
    (
        STORE.replace(type=FLOAT32),
        [
            "store-attrs: value has dtype float64, the store says float32",
            "store-dtype: value dtype float32 differs from buffer dtype float64",
        ],
    ),
    (
        Node(ops.STORE_PAIR, (PLACE, ONE), {}, FLOAT64),
        ["store-pair-attrs: needs a view and two scalars, got 'prog.view', 'prog.const_float'"],
    ),
    (
        Node(ops.STORE_PAIR, (PLACE, ONE, HALF), {}, FLOAT64),
        ["store-pair-attrs: target and values must be float64, got float64, float64, float32"],
    ),
    (build.assign("v", ONE).replace(args=()), ["assign-attrs: needs one scalar value, got nothing"]),
    (build.assign("v", ONE).replace(args=(STORE,)), ["assign-attrs: needs one scalar value, got 'prog.store'"]),
    (
        build.assign("v", ONE).replace(type=FLOAT32),
        ["assign-attrs: value has dtype float64, the assignment says float32"],
    ),
    (build.assign("v", ONE).replace(attrs={}), ["assign-attrs: no target name"]),
    (build.assign("v", ONE).with_attrs(declare=False), ["assign-attrs: 'declare' is left out, not False"]),
    # loops
    (Node(ops.FOR), ["for-body: first operand must be a range"]),
    (Node(ops.FOR, (STORE,)), ["for-body: first operand must be a range"]),
    (Node(ops.FOR, (DOMAIN, ONE)), ["for-body: 'prog.const_float' is not a statement"]),
    (
        build.for_(DOMAIN.replace(args=(ZERO, ZERO)), []),
        ["range-attrs: needs start, stop and step scalars, got 'prog.const_int', 'prog.const_int'"],
    ),
    (
        build.for_(DOMAIN.replace(args=(ZERO, ZERO, STORE)), []),
        ["range-attrs: needs start, stop and step scalars, got 'prog.const_int', 'prog.const_int', 'prog.store'"],
    ),
    (build.for_(DOMAIN.with_attrs(kind=None), []), ["range-attrs: kind is missing"]),
    (build.for_(DOMAIN.with_attrs(kind=7), []), ["range-attrs: kind 7 is unknown"]),
    (build.for_(DOMAIN.with_attrs(name=None), []), ["range-attrs: no name"]),
    # calls
    (build.call("f", [ONE]), ["call-attrs: argument 'prog.const_float' is neither buffer nor view"]),
    (build.call("f", [BUFFER]).with_attrs(callee=None), ["call-attrs: no callee"]),
    (
        build.call("f", [], n_in=-1),
        [
            "attrs-match-op: attribute 'n_in' is -1, expected an integer of at least 0",
            "call-attrs: 'n_in' and 'n_out' are given together or not at all",
        ],
    ),
    (
        build.call("f", [], w_self=10**5000),
        ["attrs-match-op: attribute 'w_self' is an integer of 16610 bits, which does not fit int64"],
    ),
    # what is no statement
    (ONE, ["for-body: 'prog.const_float' is not a statement"]),
    (PLACE, ["for-body: 'prog.view' is not a statement"]),
    (build.block([]), ["for-body: 'prog.block' is not a statement"]),
]

PROCEDURES: Final[list[tuple[Node, list[str]]]] = [
    (
        Node(ops.PROC, (), {"name": "f"}),
        [
            "attrs-match-op: attribute 'param_count' is missing",
            "proc-params: no param count",
        ],
    ),
    (build.proc("f", [X], []).with_attrs(param_count=2), ["proc-params: param count is 2, but there are 1 operands"]),
    (
        build.proc("f", [build.buffer("t", 2)], []),
        ["proc-params: parameter %t is not a plain global buffer"],
    ),
    (
        build.proc("f", [X, build.alias("a b", X, 0, 2, "global")], []),
        ['proc-params: parameter %"a b" is not a plain global buffer'],
    ),
    (build.proc("f", [ONE], []), ["proc-params: parameter 'prog.const_float' is not a plain global buffer"]),
    (build.proc("f", [X], [ONE]), ["proc-params: 'prog.const_float' is not a statement"]),
    (build.proc("f", [], [build.proc("g", [], [])]), ["proc-params: 'prog.proc' is not a statement"]),
    (
        Node(ops.PROGRAM, (build.assign("v", ONE, declare=True),), {"proc_count": 1}),
        ["program-procs: a module holds procedures, got 'prog.assign'"],
    ),
    (Node(ops.PROGRAM, (), {"proc_count": 2}), ["program-procs: attribute 'proc_count' is 2, expected 0"]),
    (
        build.program([], lanes=4, bare=True),
        ["program-procs: attribute 'lanes' belongs to a module, and these procedures stand without one"],
    ),
    # in their context
    (
        build.proc("f", [X], [build.store(build.view("x", 0, FLOAT32), HALF)]),
        ["view-dtype: view dtype float32 differs from buffer %x dtype float64"],
    ),
    (
        build.proc("f", [X], [build.call("g", [build.view("x", 0, FLOAT32)])]),
        ["view-dtype: view dtype float32 differs from buffer %x dtype float64"],
    ),
    (
        build.proc(
            "f", [X], [build.assign("v", ONE, declare=True), build.assign("w", build.var("v", INT32), declare=True)]
        ),
        ["var-dtype: variable %v has dtype float64, used as int32"],
    ),
    (
        build.proc("f", [X], [build.assign("w", build.var("SCALY_WIDTH_2", INT32), declare=True)]),
        ["var-dtype: variable %SCALY_WIDTH_2 has dtype int64, used as int32"],
    ),
    (
        build.proc("f", [X], [build.call("g", [build.param("x", 2)])]),
        ["in-scope: %x is declared differently from what the call passes"],
    ),
    (
        build.proc("f", [X], [build.call("g", [build.var("x", FLOAT64)])]),
        ["in-scope: %x is declared differently from what the call passes"],
    ),
]


def _ids(cases: list[tuple[Node, list[str]]]) -> list[str]:
    return [
        f"{position}-{(expected or ['valid'])[0].partition(':')[0]}" for position, (_, expected) in enumerate(cases)
    ]


@pytest.mark.parametrize(("value", "expected"), VALUES, ids=_ids(VALUES))
def test_values(value: Node, expected: list[str]) -> None:
    assert blamed(Node(ops.ASSIGN, (value,), {"target": "v", "declare": True}, value.type)) == expected


@pytest.mark.parametrize(("statement", "expected"), STATEMENTS, ids=_ids(STATEMENTS))
def test_statements(statement: Node, expected: list[str]) -> None:
    assert blamed(statement) == expected


@pytest.mark.parametrize(("root", "expected"), PROCEDURES, ids=_ids(PROCEDURES))
def test_procedures_and_modules(root: Node, expected: list[str]) -> None:
    assert [f"{found.rule}: {found.reason}" for found in SPEC.check(root)] == expected


def test_a_registered_operator_is_checked_by_its_own_rules() -> None:
    def fails(node: Node) -> Any:
        raise LookupError("no such row")

    with registry_scope():
        op = Op.register("prog_rules_test.odd")
        op.set_signature(["x"])
        op.set_attr("FVerify", lambda node: [("my-rule", "the operand is even")])
        assigned = build.assign("v", Node(op, (ONE,), {}, FLOAT64))
        assert blamed(assigned) == ["op-verify: the operand is even"]
        op.set_attr("FVerify", fails, override=True)
        assert blamed(assigned) == ["op-verify: FVerify raised LookupError: no such row"]


TESTED_HERE: Final = {"op-verify", "op-dialect"}
"""The rules without a golden file: text cannot break them, not even in the generic form."""


def test_every_rule_has_a_golden_file_or_a_test_here() -> None:
    named = {rule.name for rule in SPEC.rules}
    files = {file.stem for file in GOLDEN.glob("*.sir")}
    assert named - files == TESTED_HERE
    assert all([rule.doc.endswith(".") for rule in SPEC.rules])
