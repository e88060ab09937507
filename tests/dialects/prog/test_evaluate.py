"""The evaluator, rule by rule: memory, statements, parameters, and what each error says (specification 4)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

import scaly_ir as sc
from scaly_ir.dialects.prog import build
from scaly_ir.graph import Node
from scaly_ir.op import Op
from scaly_ir.types import FLOAT64, INT64

X8: Mapping[str, Any] = {"x": np.arange(8.0)}


def proc(
    body: str, params: str = "%x: memref<8xfloat64>, %y: memref<8xfloat64>", header: str = "input_count=1"
) -> Node:
    """Return a module of one procedure `f`."""
    attrs = f" {{{header}}}" if header else ""
    return sc.parse(f"prog.module {{ prog.proc @f({params}){attrs} {{ {body} }} }}")


def refusal(module: Node, inputs: Mapping[str, Any] = X8, **options: Any) -> sc.EvaluationError:
    """Return the error that running ends with."""
    with pytest.raises(sc.EvaluationError) as caught:
        sc.run(module, inputs, **options)
    return caught.value


ONES = "prog.for %o = 0 to 8 step 1 {kind=global} { prog.store 1, %y[%o] : float64 }"
"""Writes every element of the output."""


# --- memory -----------------------------------------------------------------------------------------------------------


def test_an_error_says_where_and_why() -> None:
    error = refusal(
        proc(
            """%t0 = prog.buffer : memref<8xfloat64, private>
            prog.for %j = 0 to 2 step 1 {kind=serial} { prog.for %i = 0 to 8 step 1 {kind=serial} {
              prog.store prog.load %x[%i], %t0[prog.mul(%i, %j)] : float64
              prog.store prog.load %t0[prog.mul(4, %j)], %y[%i] : float64 } }"""
        )
    )
    assert str(error) == (
        "@f: read of element 4 of %t0, which is never written before\n"
        "  in 'prog.store prog.load %t0[prog.mul(4, %j)], %y[%i] : float64'\n"
        "  with %j = 1, %i = 0"
    )
    assert (error.procedure, error.loops) == ("f", {"j": 1, "i": 0})
    assert error.reason == "read of element 4 of %t0, which is never written before"
    assert error.statement is not None
    assert error.statement.op.name == "prog.store"
    assert isinstance(error, sc.ScalyError)
    assert isinstance(error, ValueError)


def test_an_error_in_the_head_of_a_loop_shows_the_head() -> None:
    error = refusal(
        proc(
            """%n = prog.buffer : memref<1xint64, private>
            prog.for %i = 0 to prog.load %n[0] step 1 {kind=serial} { prog.store 1, %y[%i] : float64 }"""
        )
    )
    assert "read of element 0 of %n, which is never written before" in str(error)
    assert "in 'prog.for %i = 0 to prog.load %n[0] step 1 {kind=serial} {...}'" in str(error)


def test_a_long_statement_is_cut_off_and_an_enormous_one_not_printed() -> None:
    value = build.load(build.view("x", 9, FLOAT64))
    for _ in range(60):
        value = build.apply("mul", value, build.load(build.view("x", 0, FLOAT64)))
    big = value
    for _ in range(60):
        big = build.apply("mul", big, big)
    params = [build.param("x", 8), build.param("y", 8)]
    texts = []
    for number in (value, big):
        body = [build.store(build.view("y", 0, FLOAT64), number)]
        texts.append(str(refusal(build.program([build.proc("f", params, body, {"input_count": 1})]))))
    assert "..." in texts[0]
    assert max(map(len, texts)) < 700
    assert "in 'prog.store ...'" in texts[1]


@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        ("prog.store prog.load %x[8], %y[0] : float64", "read of element 8 of %x, which has 8 elements"),
        ("prog.store prog.load %x[-1], %y[0] : float64", "read of element -1 of %x, which has 8 elements"),
        ("prog.store 1, %y[8] : float64", "write of element 8 of %y, which has 8 elements"),
        ("prog.store 1, %y[-1] : float64", "write of element -1 of %y, which has 8 elements"),
        ("prog.store_pair 1, 2, %y[7] : float64", "write of element 8 of %y, which has 8 elements"),
        ("prog.store prog.load %a[2], %y[0] : float64", "read of element 2 of %a, which has 2 elements"),
        ("prog.store prog.load %one[1], %y[0] : float64", "read of element 1 of %one, which has 1 element"),
        ("prog.store prog.load %t[1], %y[0] : float64", "read of element 1 of %t, which is never written before"),
        ("prog.store 1, %x[0] : float64", "write to %x, which is read-only"),
        ("prog.store 1, %a[0] : float64", "write to %a, which is read-only"),
        ("prog.store 1, %k[0] : float64", "write to %k, which is read-only"),
        ("prog.store prog.load %z[0], %y[0] : float64", "%z is not declared here"),
        ("prog.store %z, %y[0] : float64", "%z is not declared here"),
        ("prog.store %t, %y[0] : float64", "%t is a buffer and is used as a scalar"),
        ("%v = prog.assign 1 : float64", "%v is not declared here"),
        ("%v = prog.assign 1 : float64 {declare=True} %v = prog.assign 1 : float64 {declare=True}", "declared twice"),
        ("%t = prog.assign 1 : float64 {declare=True}", "name %t is declared twice"),
        ("prog.for %t = 0 to 1 step 1 {kind=serial} { }", "name %t is declared twice"),
        ("prog.for %i = 0 to %z step 1 {kind=serial} { }", "%z is not declared here"),
        (
            "prog.for %i = 0 to 1 step 1 {kind=serial} { %i = prog.assign 1 : int64 }",
            "assignment to %i, which is a loop variable",
        ),
        ("prog.store 1, %n[0] : float64", "value dtype float64 differs from buffer dtype int64"),
        (
            "prog.for %i = 0 to 1 step 1 {kind=serial} { %u = prog.buffer : memref<2xfloat64, private> }",
            "buffer %u is declared inside a loop",
        ),
        (
            "%u = prog.buffer : memref<2xfloat64, private> = prog.alias %t offset 3",
            "%u needs [3, 5) of %t, which has 4 elements",
        ),
        (
            "%u = prog.buffer : memref<2xfloat64, private> = prog.workspace offset 3",
            "%u needs [3, 5) of the workspace, but the run has a workspace of 4",
        ),
        ("prog.call @g(%x)", "call of @g, which is not defined before this procedure"),
        ("prog.call @f(%x, %y)", "call of @f, which is not defined before this procedure"),
        ("prog.store prog.load %x[prog.div(-4, 2)], %y[0] : float64", "'div' of -4 by 2 in an index"),
        ("prog.store prog.load %x[prog.mod(4, -3)], %y[0] : float64", "'mod' of 4 by -3 in an index"),
        ("prog.store 1, %y[prog.div(4, prog.load %n[0])] : float64", "'div' of 4 by zero"),
        ("prog.store 1, %y[prog.mod(4, prog.load %n[0])] : float64", "'mod' of 4 by zero"),
        ("%q = prog.assign prog.div(4, prog.load %n[0]) : int64 {declare=True}", "'div' of 4 by zero"),
        (
            "prog.for %i = 0 to 2 step prog.load %n[0] {kind=serial} { }",
            "step 0 of loop %i is not positive",
        ),
        (
            "%s = prog.assign -1 : int64 {declare=True} prog.for %i = 0 to 2 step %s {kind=serial} { }",
            "step -1 of loop %i is not positive",
        ),
        (
            "prog.for %i = 9223372036854775806 to 9223372036854775807 step 2 {kind=serial} { }",
            "loop variable %i leaves the range of int64",
        ),
        ("prog.store prog.load %x[prog.cast(prog.load %k[1], int64)], %y[0] : float64", "conversion of nan to int64"),
        ("%q = prog.assign prog.cast(3e9, int32) : int32 {declare=True}", "conversion of 3000000000.0 to int32"),
    ],
)
def test_what_has_no_meaning_is_refused(statement: str, reason: str) -> None:
    statement = statement.replace("cast(3e9,", "cast(prog.const(3e9, float64),")
    module = proc(
        f"""%t = prog.buffer : memref<4xfloat64, private>
        %a = prog.buffer : memref<2xfloat64, private> = prog.alias %x offset 3
        %k = prog.buffer : memref<2xfloat64, constant> = dense<[1.0, nan]>
        %one = prog.buffer : memref<1xfloat64, constant> = dense<[1.0]>
        %n = prog.buffer : memref<1xint64, private>
        prog.store 0, %n[0] : int64
        prog.store 1, %t[0] : float64
        {ONES} {statement}""",
        header="input_count=1, sz_w=4",
    )
    error = refusal(module)
    assert reason in error.reason
    assert error.procedure == "f"
    assert error.statement is not None


def test_types_of_names_are_checked() -> None:
    """The parser takes the type of a name from its declaration, so that only code gets this wrong."""
    params = [build.param("x", 8), build.param("y", 8)]
    declare = build.assign("v", build.const(1, FLOAT64), declare=True)
    one = build.const(1, FLOAT64)
    for statement, reason in (
        (build.store(build.view("y", build.var("v"), FLOAT64), one), "variable %v has dtype float64, used as int64"),
        (build.assign("v", build.index(1)), "variable %v has dtype float64, used as int64"),
        (
            build.assign("w", build.load(build.view("x", 0, INT64)), declare=True),
            "view dtype int64 differs from buffer %x dtype float64",
        ),
    ):
        module = build.program([build.proc("f", params, [declare, statement], {"input_count": 1})])
        assert refusal(module).reason == reason


def test_the_procedure_of_an_error_is_the_right_one_of_two_that_are_alike() -> None:
    body = (
        "(%x: memref<1xfloat64>, %y: memref<1xfloat64>) {input_count=1} { prog.store prog.load %x[1], %y[0] : float64 }"
    )
    module = sc.parse(f"prog.module {{ prog.proc @f{body} prog.proc @g{body} }}")
    for name in ("f", "g"):
        assert str(refusal(module, {"x": [1]}, proc=name)).startswith(f"@{name}: read of element 1 of %x")


def test_any_name_will_do() -> None:
    names = ["a\0b", "\ud800", "'", '"', "\\n", "{x}", "é\n", "def"]
    params = [build.param(name, 1) for name in names]
    loops = [
        build.for_(build.range_(f"{name}i", 0, 1), [build.store(build.view(name, 1, FLOAT64), build.const(0, FLOAT64))])
        for name in names
    ]
    for name, loop in zip(names, loops, strict=True):
        module = build.program([build.proc(name, params, [loop], {"input_count": 0})])
        error = refusal(module, {})
        assert error.reason.startswith("write of element 1 of %")
        assert error.loops == {f"{name}i": 0}


@pytest.mark.parametrize("shape", ["1000000000000000", "2000000000x1000000000"])
def test_more_memory_than_there_is(shape: str) -> None:
    size = math.prod(map(int, shape.split("x")))
    reason = f"needs {size} elements of float64, for which there is no memory"
    assert reason in refusal(proc(f"%t = prog.buffer : memref<{shape}xfloat64, private> {ONES}")).reason
    assert reason in refusal(proc("", f"%x: memref<8xfloat64>, %y: memref<{shape}xfloat64>")).reason
    assert reason in refusal(proc(ONES, header=f"input_count=1, sz_w={size}")).reason


def test_what_is_not_executed_is_not_refused() -> None:
    module = proc(
        f"""{ONES} prog.for %i = 3 to 3 step 1 {{kind=serial}} {{
          prog.store prog.load %z[9], %y[%v] : float64 prog.store 1, %x[99] : float64 prog.call @nobody(%x) }}
        prog.for %i = 0 to 0 step 1 {{kind=serial}} {{ prog.store prog.load %x[prog.add(%i, 8)], %y[0] : float64 }}"""
    )
    assert sc.run(module, X8)["y"].tolist() == [1.0] * 8


def test_an_alias_reads_and_writes_its_owner() -> None:
    module = proc(
        f"""%t = prog.buffer : memref<8xfloat64, private>
        %a = prog.buffer : memref<5xfloat64, private> = prog.alias %t offset 2
        %b = prog.buffer : memref<2xfloat64, private> = prog.alias %a offset 3
        {ONES} prog.store 7, %b[1] : float64
        prog.store prog.load %t[6], %y[0] : float64 prog.store prog.load %a[4], %y[1] : float64"""
    )
    assert sc.run(module, X8)["y"][:2].tolist() == [7.0, 7.0]


def test_a_procedure_gets_new_poison_each_time() -> None:
    module = sc.parse(
        """prog.module {
          prog.proc @g(%n: memref<1xint64>, %y: memref<1xfloat64>) {input_count=1} {
            %t = prog.buffer : memref<1xfloat64, private>
            prog.for %i = 0 to prog.load %n[0] step 1 {kind=serial} { prog.store 5, %t[0] : float64 }
            prog.store prog.load %t[0], %y[0] : float64
          }
          prog.proc @f(%n: memref<2xint64>, %y: memref<1xfloat64>) {input_count=1} {
            prog.for %i = 0 to 2 step 1 {kind=serial} { prog.call @g(%n[%i], %y) {n_in=1, n_out=1} }
          } }"""
    )
    assert sc.run(module, {"n": [3, 1]})["y"] == [5.0]
    error = refusal(module, {"n": [3, 0]})
    assert error.reason == "read of element 0 of %t, which is never written before"
    assert error.procedure == "g"


def test_the_workspace_of_a_callee_begins_behind_the_callers() -> None:
    module = sc.parse(
        """prog.module {
          prog.proc @g(%y: memref<2xfloat64>) {input_count=0, sz_w=2, w_self=2} {
            %s = prog.buffer : memref<2xfloat64, private> = prog.workspace offset 0
            prog.store_pair 3, 4, %s[0] : float64
            prog.store_pair prog.load %s[0], prog.load %s[1], %y[0] : float64
          }
          prog.proc @f(%y: memref<2xfloat64>, %z: memref<3xfloat64>) {input_count=0, sz_w=5, w_self=3} {
            %s = prog.buffer : memref<3xfloat64, private> = prog.workspace offset 0
            prog.for %i = 0 to 3 step 1 {kind=serial} { prog.store 1, %s[%i] : float64 }
            prog.call @g(%y) {n_in=0, n_out=1, w_self=3}
            prog.for %i = 0 to 3 step 1 {kind=serial} { prog.store prog.load %s[%i], %z[%i] : float64 }
          } }"""
    )
    found = sc.run(module, {})
    assert found["y"].tolist() == [3.0, 4.0]
    assert found["z"].tolist() == [1.0] * 3
    assert sc.run(module, {}, "g")["y"].tolist() == [3.0, 4.0]


# --- statements -------------------------------------------------------------------------------------------------------


def test_a_pair_computes_both_values_before_it_writes() -> None:
    module = proc(f"{ONES} prog.store_pair 7, prog.add(prog.load %y[0], 1), %y[0] : float64")
    assert sc.run(module, X8)["y"][:2].tolist() == [7.0, 2.0]


def test_bounds_of_loops_are_read_again_before_each_trip() -> None:
    module = proc(
        f"""%n = prog.buffer : memref<2xint64, private> prog.store 8, %n[0] : int64 prog.store 1, %n[1] : int64
        {ONES} prog.for %i = 0 to prog.load %n[0] step prog.load %n[1] {{kind=serial}} {{
          prog.store 9, %y[%i] : float64
          prog.store prog.add(prog.load %n[1], prog.load %n[1]), %n[1] : int64
        }}
        prog.for %i = 6 to prog.load %n[0] step 1 {{kind=serial}} {{
          prog.store 5, %y[%i] : float64 prog.store 0, %n[0] : int64 }}"""
    )
    assert sc.run(module, X8)["y"].tolist() == [9.0, 1.0, 9.0, 1.0, 1.0, 1.0, 5.0, 1.0]


def test_bounds_of_loops_follow_scalars_that_the_body_assigns() -> None:
    module = proc(
        f"""{ONES} %n = prog.assign 2 : int64 {{declare=True}} %seen = prog.assign 0 : int64 {{declare=True}}
        prog.for %i = 0 to %n step 1 {{kind=serial}} {{
          %n = prog.assign prog.minimum(prog.add(%n, 1), 6) : int64
          %seen = prog.assign prog.add(%seen, 1) : int64 }}
        prog.store prog.cast(%seen, float64), %y[0] : float64"""
    )
    assert sc.run(module, X8)["y"][0] == 6.0


def test_a_zero_step_of_a_loop_without_trips_does_no_harm() -> None:
    module = proc(
        f"""%s = prog.assign 0 : int64 {{declare=True}} {ONES}
        prog.for %i = 3 to 3 step %s {{kind=serial}} {{ }} prog.for %i = 3 to -3 step %s {{kind=global}} {{ }}"""
    )
    assert sc.run(module, X8)["y"][0] == 1.0
    assert sc.run(module, X8, shuffle=1)["y"][0] == 1.0


def test_names_may_be_used_again_out_of_scope() -> None:
    module = proc(
        """prog.for %i = 0 to 8 step 1 {kind=serial} { %v = prog.assign prog.load %x[%i] : float64 {declare=True}
          prog.store %v, %y[%i] : float64 }
        %v = prog.assign 3 : int64 {declare=True}
        prog.for %i = 0 to %v step 1 {kind=unroll} { prog.store 0, %y[%i] : float64 }"""
    )
    assert sc.run(module, X8)["y"].tolist() == [0.0, 0.0, 0.0, 3.0, 4.0, 5.0, 6.0, 7.0]


LANES = """
prog.module {lanes=2} {
  prog.proc @scale(%p: memref<6xfloat64>, %q: memref<6xfloat64>) {device=host, input_count=1, lowering="auto", sz_w=0} {
    %k0 = prog.buffer : memref<2xfloat64, constant> = dense<[0.5, -0.0]>
    %t1 = prog.buffer : memref<2xfloat64, private> = prog.alias %p offset 4
    prog.for %i_q_start = 0 to 6 step %SCALY_WIDTH_2_2_2_2 {kind=serial} {
      prog.for %i = 0 to prog.minimum(%SCALY_WIDTH_2_2_2_2, prog.sub(6, %i_q_start)) step 1 {kind=vector} {
        prog.store prog.mul(prog.load %p[prog.minimum(prog.add(%i_q_start, %i), 5)], prog.load %k0[0]),
          %q[prog.minimum(prog.add(%i_q_start, %i), 5)] : float64
      }
    }
    %v0 = prog.assign prog.load %t1[0] : float64 {declare=True}
    prog.store_pair prog.add(%v0, 1), prog.add(%v0, 2), %q[4] : float64
  }
}"""


@pytest.mark.parametrize("width", [1, 2, 3, 4, 8])
def test_results_do_not_depend_on_the_lane_width(width: int) -> None:
    found = sc.run(sc.parse(LANES), {"p": [1, 2, 3, 4, 5, 6]}, width=width)
    assert found["q"].tolist() == [0.5, 1.0, 1.5, 2.0, 6.0, 7.0]


@pytest.mark.parametrize("width", [0, -1, True, 1.0])
def test_a_width_is_a_positive_integer(width: Any) -> None:
    assert "expected a positive integer" in refusal(sc.parse(LANES), {"p": [0] * 6}, width=width).reason


CALLS = """
prog.module {{
  prog.proc @g(%a: memref<2xfloat64>, %b: memref<2xfloat64>) {{{header}}} {{
    prog.store_pair prog.load %a[0], prog.load %a[1], %b[0] : float64
  }}
  prog.proc @f(%n: memref<2xint64>, %y: memref<8xfloat64>) {{input_count=1}} {{
    {ones} prog.call @g({arguments}) }}
}}"""


@pytest.mark.parametrize(
    ("arguments", "at", "reason"),
    [
        ("%y[prog.load %n[0]], %y[prog.load %n[1]]", [0, 2], ""),
        ("%y[prog.load %n[0]], %y[prog.load %n[1]]", [3, 4], "output %b of @g overlaps the argument for %a"),
        ("%y[prog.load %n[0]], %y[prog.load %n[1]]", [4, 4], "output %b of @g overlaps the argument for %a"),
        ("%y, %y", [0, 0], "output %b of @g overlaps the argument for %a of the same call"),
        ("%y[prog.load %n[0]], %y[prog.load %n[1]]", [7, 0], "%a needs [7, 9) of %y, which has 8 elements"),
        ("%y[prog.load %n[0]], %y[prog.load %n[1]]", [0, -1], "%b needs [-1, 1) of %y, which has 8 elements"),
        ("%n, %y", [0, 0], "argument of @g is int64, parameter %a is float64"),
        ("%y", [0, 0], "@g takes 2 arguments, the call passes 1"),
        ("%q, %y", [0, 0], "%q is not declared here"),
    ],
)
@pytest.mark.parametrize("header", ["input_count=1", 'hoisted_from="h"'])
def test_arguments_of_calls(arguments: str, at: list[int], reason: str, header: str) -> None:
    arguments = arguments.replace("%q", "%q[0]")
    module = sc.parse(CALLS.format(header=header, ones=ONES, arguments=arguments))
    if reason:
        found = refusal(module, {"n": at}).reason
        assert reason.replace("output %b", "output %a") in found.replace("output %b", "output %a").replace(
            "argument for %b", "argument for %a"
        )
    else:
        assert sc.run(module, {"n": at})["y"].tolist() == [1.0] * 8


def test_what_a_caller_may_not_write_its_callee_may_not_either() -> None:
    module = sc.parse(
        """prog.module {
          prog.proc @g(%a: memref<2xfloat64>) { prog.store 1, %a[0] : float64 }
          prog.proc @f(%x: memref<2xfloat64>, %y: memref<1xfloat64>) {input_count=1} { prog.call @g(%x) } }"""
    )
    error = refusal(module, {"x": [0, 0]})
    assert (error.reason, error.procedure) == ("write to %a, which is read-only", "g")


def test_nodes_that_are_wrong_by_themselves_are_found_before_the_run() -> None:
    value = Node(Op.get("prog.add"), (build.const(1, FLOAT64), build.const(1, INT64)), {}, FLOAT64)
    wrong = build.program([build.proc("f", [build.param("y", 1)], [build.store(build.view("y", 0, FLOAT64), value)])])
    with pytest.raises(sc.VerifyError, match="operands float64, int64 and result float64 differ"):
        sc.run(wrong, {"y": [0]})
