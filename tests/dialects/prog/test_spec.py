"""The verifier as a whole: its messages, the order it goes in, what it accepts, and that nothing makes it fail.

The rules one by one are in test_rules.py and in the golden files of testdata/diagnostics/prog/verify. Numbers in
brackets are those of program specification 5.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from textwrap import indent
from typing import Any, Final

import pytest

import scaly_ir as sc
from scaly_ir.attributes import Attrs, Word
from scaly_ir.dialect import parse_source, verify_parsed
from scaly_ir.dialects.prog import build, ops
from scaly_ir.dialects.prog.spec import SPEC
from scaly_ir.graph import Node, postorder
from scaly_ir.text.source import Source
from scaly_ir.types import BOOL, DTYPES, FLOAT64, INT32, INT64, MemRefType


def in_proc(*lines: str, params: str = "%x: memref<8xfloat64>, %y: memref<8xfloat64>", attrs: str = "") -> str:
    """A bare procedure with these statements."""
    return f"prog.proc @f({params}) {attrs}{{\n{indent(chr(10).join(lines), '  ')}\n}}\n"


def rules(text: str) -> list[str]:
    """The rules that a text breaks, in order."""
    return [violation.rule for violation in SPEC.check(sc.parse(text))]


def failure(root: Node) -> str:
    with pytest.raises(sc.VerifyError) as caught:
        sc.verify(root)
    return str(caught.value)


# --- messages ---------------------------------------------------------------------------------------------------------

LABELS: Final = [
    ("@f", "proc", "attrs-match-op", "", "{colour=red}", []),
    ("%x", "buffer", "unique-names", "%x: memref<1xint32>, %x: memref<1xint32>", "", []),
    ("%k", "buffer", "table-elided", "", "", ["%k = prog.buffer : memref<4xint32, constant> = dense<elided<4>>"]),
    ("%v", "assign", "uninitialized-scalar", "", "", ["%v = prog.assign 1 : float64"]),
    ("%i", "range", "range-step", "", "", ["prog.for %i = 0 to 4 step 0 {kind=serial} {", "}"]),
    ("%w", "var", "in-scope", "", "", ["%v = prog.assign %w : float64 {declare=True}"]),
    ('%"a b"', "assign", "uninitialized-scalar", "", "", ['%"a b" = prog.assign 1 : float64']),
]


@pytest.mark.parametrize(("label", "op", "rule", "params", "attrs", "lines"), LABELS, ids=[row[0] for row in LABELS])
def test_a_node_is_called_by_its_name(
    label: str, op: str, rule: str, params: str, attrs: str, lines: list[str]
) -> None:
    text = in_proc(*lines, params=params, attrs=f"{attrs} ")
    assert failure(sc.parse(text)).startswith(f"verify_program: node {label} op={op} failed rule '{rule}': ")


def test_a_node_without_a_name_is_called_by_the_number_of_its_statement_in_the_procedure() -> None:
    lines = [
        "%t = prog.buffer : memref<8xfloat64, private>",
        "prog.for %i = 0 to 8 step 1 {kind=serial} {",
        "  prog.store 1, %t[%i] : float64",
        "}",
        "prog.store 1, %x[8] : float64",
    ]
    message = "verify_program: node #3 op=view failed rule 'index-static-bounds': index 8 of %x is outside [0, 8)"
    assert failure(sc.parse(in_proc(*lines))) == message
    before = in_proc("prog.store 1, %x[0] : float64").replace("@f", "@before")
    assert failure(sc.parse(before + in_proc(*lines))) == message
    fragment = "prog.store 1, %x[0] : float64\nprog.call @f(%x) {n_in=1}\n"
    assert failure(sc.parse(fragment)).startswith("verify_program: node #1 op=call failed rule 'call-attrs': ")


def test_an_error_carries_what_its_message_says() -> None:
    root = sc.parse(in_proc("prog.store 1, %x[8] : float64"))
    with pytest.raises(sc.VerifyError) as caught:
        sc.verify(root)
    assert (caught.value.rule, caught.value.reason) == ("index-static-bounds", "index 8 of %x is outside [0, 8)")
    assert caught.value.node is build.view("x", 8, FLOAT64)
    assert isinstance(caught.value, sc.ScalyError)


def test_names_that_need_quotes_are_quoted_and_stay_on_one_line() -> None:
    reason = next(SPEC.check(sc.parse(in_proc(r'prog.store %"a\nb", %x[0] : float64')))).reason
    assert reason == r'name %"a\nb" is not declared here'


def test_violations_come_in_the_order_of_the_text() -> None:
    lines = [
        "%k = prog.buffer : memref<2xfloat64, constant> = dense<[1.0]>",
        "prog.for %i = 0 to 8 step 0 {kind=serial} {",
        "  prog.store %a, %x[0] : float64",
        "}",
        "prog.store %b, %x[9] : float64",
    ]
    text = in_proc(*lines, attrs="{sz_w=1} ") + in_proc("prog.store %c, %x[0] : float64").replace("@f", "@g")
    found = list(SPEC.check(sc.parse(text)))
    expected = [
        "sz-consistent",
        "buffer-values",
        "range-step",
        "in-scope",
        "in-scope",
        "index-static-bounds",
        "in-scope",
    ]
    assert [violation.rule for violation in found] == expected
    assert [violation.place.number for violation in found] == [0, 1, 2, 3, 4, 4, 6]
    assert failure(sc.parse(text)) == str(SPEC.error(found[0]))


def test_what_is_wrong_is_reported_wherever_it_stands() -> None:
    line = "prog.store prog.load %x[9], %y[0] : float64"
    assert rules(in_proc(line, line, "prog.store prog.load %x[9], %y[1] : float64")) == ["index-static-bounds"] * 3


def diagnostics(text: str) -> list[str]:
    parsed = parse_source(Source("x", text))
    assert parsed.root is not None
    return [diagnostic.head() for diagnostic in verify_parsed(parsed.root, parsed.locations)]


def test_of_two_mistakes_at_one_place_one_is_shown() -> None:
    text = in_proc("prog.call @g(%y, %y)", attrs="{input_count=2} ")
    callee = in_proc(attrs="{input_count=1} ").replace("@f", "@g")
    assert rules(callee + text) == ["call-output-writable", "call-overlap"]
    assert diagnostics(callee + text) == [
        "x:5:20: error: 'prog.call': output argument %y of @g is read-only [call-output-writable]"
    ]


def test_a_place_is_found_in_any_layout() -> None:
    text = "prog.proc @f(%x: memref<8xfloat64>)\n{ prog.store // why not\n prog.load\t%x[\n8], %x[0]\n:float64 }"
    assert diagnostics(text) == ["x:4:1: error: 'prog.load': index 8 of %x is outside [0, 8) [index-static-bounds]"]
    unusual = text.replace("{ prog", "{ prog.store prim.sin(prog.load %x[0]), %x[0] : float64 prog")
    assert diagnostics(unusual) == ["x:4:1: error: 'prog.load': index 8 of %x is outside [0, 8) [index-static-bounds]"]


# --- twenty-five checks: those of the verifier ------------------------------------------------------------------------


def test_a_comparison_needs_a_typed_operand() -> None:  # [5]
    params = "%b: memref<1xbool>"
    with pytest.raises(sc.ParseError, match=r"write prog\.const\(<number>, <dtype>\)"):
        sc.parse(in_proc("prog.store prog.lt(1, 2), %b[0] : bool", params=params))
    root = sc.parse(in_proc("prog.store prog.lt(prog.const(1, int32), 2), %b[0] : bool", params=params))
    sc.verify(root)
    assert build.apply("lt", build.const(1, INT32), build.const(2, INT32)) in set(postorder(root))


def test_a_table_has_as_many_values_as_its_shape_and_all_of_them() -> None:  # [10]
    assert rules(in_proc("%k = prog.buffer : memref<3xfloat64, constant> = dense<[1.0, 2.0]>")) == ["buffer-values"]
    assert rules(in_proc("%k = prog.buffer : memref<2xfloat64, constant> = dense<elided<2>>")) == ["table-elided"]
    assert rules(in_proc("%k = prog.buffer : memref<1x2xfloat64, constant> = dense<[1.0, 2.0]>")) == []


def test_an_alias_stays_inside_its_buffer() -> None:  # [11]
    def alias(name: str, of: str, size: int, offset: int) -> str:
        return f"%{name} = prog.buffer : memref<{size}xfloat64, private> = prog.alias %{of} offset {offset}"

    assert rules(in_proc(alias("t", "x", 4, 5))) == ["alias-bounds"]
    assert rules(in_proc(alias("t", "x", 4, 4))) == []
    assert rules(in_proc(alias("t", "x", 4, 4), alias("u", "t", 2, 3))) == ["alias-bounds"]
    assert rules(in_proc(alias("t", "x", 4, 4), alias("u", "t", 2, 2))) == []
    # The offsets of an alias of an alias add up: %u is the elements 6 and 7 of %x.
    callee = in_proc(params="%a: memref<1xfloat64>, %b: memref<2xfloat64>", attrs="{input_count=1} ").replace(
        "@f", "@g"
    )
    for place, expected in ((5, []), (6, ["call-overlap"]), (7, ["call-overlap"])):
        call = in_proc(alias("t", "x", 4, 4), alias("u", "t", 2, 2), f"prog.call @g(%x[{place}], %u)")
        assert rules(callee + call) == expected


def test_an_input_is_not_written_through_an_alias() -> None:  # [12]
    lines = ["%t = prog.buffer : memref<8xfloat64, private>"]
    lines += [
        f"%{name} = prog.buffer : memref<2xfloat64, private> = prog.alias %{of} offset 0" for name, of in ("ax", "bt")
    ]
    write = "prog.store 1, %{}[0] : float64"
    assert rules(in_proc(*lines, write.format("a"), attrs="{input_count=1} ")) == ["store-readonly"]
    assert rules(in_proc(*lines, write.format("a"))) == []
    assert rules(in_proc(*lines, write.format("t"), write.format("b"), attrs="{input_count=1} ")) == []


def test_an_index_is_checked_as_far_as_it_is_known() -> None:  # [13, 14]
    def loop(stop: int, index: str = "prog.add(%i, 1)") -> str:
        store = f"  prog.store 1, %x[{index}] : float64"
        return in_proc(f"prog.for %i = 0 to {stop} step 1 {{kind=serial}} {{", store, "}")

    assert rules(in_proc("prog.store 1, %x[8] : float64")) == ["index-static-bounds"]
    assert rules(in_proc("prog.store 1, %x[7] : float64")) == []
    assert rules(loop(8)) == ["index-static-bounds"]
    assert rules(loop(7)) == []
    assert rules(loop(1, "8")) == ["index-static-bounds"]
    assert rules(loop(0, "8")) == []


PAIR: Final = "%a: memref<2xfloat64>, %b: memref<2xfloat64>"


def calling(call: str, params: str = "%x: memref<4xfloat64>, %y: memref<4xfloat64>") -> str:
    """A module whose second procedure makes a call; the first takes one input and one output of two elements."""
    return (
        f"prog.module {{\nprog.proc @g({PAIR}) {{input_count=1}} {{\n}}\nprog.proc @main({params}) {{\n{call}\n}}\n}}\n"
    )


def test_calls_fit_their_procedures() -> None:  # [15]
    assert rules(calling("prog.call @g(%x, %y)")) == []
    assert rules(calling("prog.call @h(%x, %y)")) == ["known-callee"]
    assert rules(calling("prog.call @g(%x)")) == ["call-arity"]
    assert rules(calling("prog.call @g(%x, %y, %y)")) == ["call-arity"]
    assert rules(calling("prog.call @g(%x, %y) {n_in=2, n_out=0}")) == ["call-arity"]
    assert rules(calling("prog.call @g(%x, %s)", "%x: memref<2xfloat64>, %s: memref<2xfloat32>")) == ["call-dtype"]
    assert rules(calling("prog.call @main(%x, %y)")) == ["callee-order"]
    assert rules(calling("prog.call @g(%x, %y)").replace("@main", "@g")) == ["unique-procedures"]


def test_an_argument_has_the_elements_of_its_parameter() -> None:  # [16]
    assert rules(calling("prog.call @g(%x, %y[3])")) == ["call-bounds"]
    assert rules(calling("prog.call @g(%x[3], %y)")) == ["call-bounds"]
    assert rules(calling("prog.call @g(%x[2], %y[2])")) == []


def test_an_output_shares_nothing_with_another_argument() -> None:  # [17]
    assert rules(calling("prog.call @g(%x, %x)")) == ["call-overlap"]
    assert rules(calling("prog.call @g(%x[0], %x[1])")) == ["call-overlap"]
    assert rules(calling("prog.call @g(%x[0], %x[2])")) == []
    # Where a place is not constant, only a run can tell.
    for_each = "prog.for %i = 0 to 2 step 1 {{kind=serial}} {{\n{}\n}}"
    assert rules(calling(for_each.format("prog.call @g(%x[0], %x[%i])"))) == []


def test_a_conversion_to_bool_is_a_comparison() -> None:  # [18]
    params = "%x: memref<1xfloat64>, %b: memref<1xbool>"
    assert rules(in_proc("prog.store prog.cast(prog.load %x[0], bool), %b[0] : bool", params=params)) == ["cast-types"]
    assert rules(in_proc("prog.store prog.ne(prog.load %x[0], 0), %b[0] : bool", params=params)) == []


# --- what is checked of which root ------------------------------------------------------------------------------------


def test_a_fragment_is_checked_by_the_rules_of_single_nodes() -> None:
    assert (
        rules("prog.store %nowhere, %x[100] : float64\nprog.call @elsewhere(%y)\n%v = prog.assign %w : int32\n") == []
    )
    assert rules("prog.store prog.neg(prog.load %x[prog.load %y[0]]), %z[0] : float64\n") == []
    assert rules("prog.for %i = 0 to 4 step 0 {kind=fast} {\n}\n") == ["range-attrs", "range-step"]
    assert rules("%t = prog.buffer : memref<4xfloat64>\n") == ["buffer-init"]
    assert rules("") == []


def test_bare_procedures_may_call_what_is_elsewhere() -> None:
    bare = in_proc("prog.call @elsewhere(%x)")
    assert rules(bare) == []
    assert rules(f"prog.module {{\n{bare}}}\n") == ["known-callee"]
    # One procedure by itself is no module either.
    (procedure,) = sc.parse(bare).args
    sc.verify(procedure)


def test_a_name_with_a_wrong_declaration_causes_no_further_message() -> None:
    lines = [
        "%a = prog.assign 1 : float64",
        "%a = prog.assign prog.add(%a, 1) : float64",
        "prog.store %a, %x[0] : float64",
    ]
    assert rules(in_proc(*lines)) == ["uninitialized-scalar"]
    lines = [
        "%x = prog.assign 1 : int32 {declare=True}",
        "%x = prog.assign 2 : int64",
        "prog.store 1, %x[99] : float64",
    ]
    assert rules(in_proc(*lines)) == ["unique-names"]
    lines = ["prog.for %x = 0 to 4 step 1 {kind=serial} {", "  %y = prog.assign %x : int64 {declare=True}", "}"]
    assert rules(in_proc(*lines, "prog.store 1, %x[8] : float64")) == [
        *("unique-names", "unique-names"),
        "index-static-bounds",  # outside the loop it is the buffer again
    ]


# --- nothing makes it fail --------------------------------------------------------------------------------------------

WHOLE: Final = """\
prog.module {lanes=2} {
  prog.proc @leaf(%a: memref<2xfloat64>, %b: memref<4xfloat64>) {input_count=1, sz_w=4, w_self=4} {
    %s0 = prog.buffer : memref<4xfloat64, private> = prog.workspace offset 0
    prog.store_pair prog.load %a[0], 1, %s0[2] : float64
    prog.store prog.load %s0[2], %b[3] : float64
  }
  prog.proc @main(%x: memref<4xfloat64>, %y: memref<2x2xfloat64>, %p: memref<1xbool>) {device=host, input_count=1} {
    %k = prog.buffer : memref<2xfloat64, constant> = dense<[0.5, -0.0]>
    %t = prog.buffer : memref<4xfloat64, private>
    %u = prog.buffer : memref<2xfloat64, private> = prog.alias %t offset 2
    %v = prog.assign prog.select(prog.lt(prog.load %x[0], 2), 1, prog.sqrt(prog.load %x[1])) : float64 {declare=True}
    prog.for %i = 0 to 4 step %SCALY_WIDTH_2 {kind=serial} {
      prog.for %j = 0 to prog.minimum(%SCALY_WIDTH_2, prog.sub(4, %i)) step 1 {kind=vector} {
        prog.store prog.mul(%v, prog.cast(prog.add(%i, %j), float64)), %t[prog.add(%i, %j)] : float64
      }
    }
    prog.store prog.and(prog.not(prog.isfinite(%v)), prog.ne(prog.floormod(prog.const(5, int32), 3), 0)), %p[0] : bool
    prog.store prim.sin(%v), %u[0] : float64
    prog.call @leaf(%k, %y) {callee_needs_w=True, n_in=1, n_out=1, w_self=0}
    prog.call @leaf(%t[0], %y[0])
  }
}
"""

WRONG_VALUES: Final[tuple[Any, ...]] = (
    *(
        None,
        True,
        False,
        0,
        1,
        -1,
        10**30,
        10**5000,
        1.5,
        float("nan"),
        "",
        "x",
        "t",
        "leaf",
        "main",
        "SCALY_Q",
        "a\nb",
    ),
    *(Word("x"), Word("global"), Word("constant"), Word("vector"), FLOAT64, slice(0, 1, None), Attrs({"a": 1})),
    *((), (1,), (1.5,), ("a",), (-1,), (10**20,)),
)
WRONG_TYPES: Final[tuple[Any, ...]] = (None, *DTYPES, MemRefType((2,), FLOAT64), "float64", 5)
WRONG_OPERANDS: Final = (
    *(build.index(1), build.const(1, FLOAT64), build.const(1, BOOL), build.var("i"), build.var("x", FLOAT64)),
    *(build.view("x", 0, FLOAT64), build.load(build.view("x", 0, FLOAT64)), build.range_("z", 0, 1)),
    *(build.store(build.view("y", 0, FLOAT64), build.const(1, FLOAT64)), build.for_(build.range_("z", 0, 1), [])),
    *(build.buffer("z", 2), build.param("x", 4), build.block([]), build.program([]), build.proc("z", [], [])),
    *(build.call("leaf", []), *[Node(op) for op in (ops.CONST_INT, ops.VAR, ops.VIEW, ops.FOR, ops.PROC, ops.BUFFER)]),
)


def wrong_nodes(node: Node) -> Iterator[Node]:
    """The nodes that differ from `node` in one attribute, the type or one operand."""
    for key in sorted({*node.attrs, *(node.op.attr_specs or {}), "unknown"}):
        yield node.replace(attrs={name: value for name, value in node.attrs.items() if name != key})
        for value in WRONG_VALUES:
            yield node.replace(attrs={**node.attrs, key: value})
    for wrong in WRONG_TYPES:
        yield node.replace(type=wrong)
    for position in range(len(node.args)):
        before, after = node.args[:position], node.args[position + 1 :]
        yield node.replace(args=before + after)
        yield node.replace(args=(*before, *node.args[position : position + 1] * 2, *after))
        for operand in WRONG_OPERANDS:
            yield node.replace(args=(*before, operand, *after))
    for operand in WRONG_OPERANDS:
        yield node.replace(args=(*node.args, operand))
    yield node.replace(args=node.args[::-1])


def with_changed(root: Node, old: Node, new: Node) -> Node:
    """The program with one node exchanged wherever it stands."""
    done: dict[Node, Node] = {}
    for node in postorder(root):
        args = tuple([done[arg] for arg in node.args])
        done[node] = new if node is old else node if args == node.args else node.replace(args=args)
    return done[root]


def one_of_each(root: Node) -> list[Node]:
    """One node for every operator, or two that have different attributes."""
    found = {(node.op, *node.attrs): node for node in postorder(root)}
    return list(found.values())


@pytest.mark.parametrize("node", one_of_each(sc.parse(WHOLE)), ids=repr)
def test_a_wrong_node_is_a_violation_or_prints_and_reads_back(node: Node) -> None:
    root = sc.parse(WHOLE)
    sc.verify(root)
    for wrong in wrong_nodes(node):
        changed = with_changed(root, node, wrong)
        violations = list(SPEC.check(changed))
        assert all([str(SPEC.error(violation)) and violation.message for violation in violations])
        if not violations:
            assert sc.parse(sc.render(changed)) is changed


def test_a_wrong_fragment_is_no_exception() -> None:
    body = (
        "prog.for %i = 0 to 4 step 1 {kind=serial} {\n  prog.store prog.add(%a, prog.load %b[%i]), %c[0] : float64\n}\n"
    )
    root = sc.parse(f"%b = prog.buffer : memref<4xfloat64, private>\n{body}prog.call @f(%b, %b[1])\n")
    for node in postorder(root):
        for wrong in wrong_nodes(node):
            list(SPEC.check(with_changed(root, node, wrong)))


@contextmanager
def shallow_stack() -> Iterator[None]:
    """Leave Python so few frames that nothing can recurse over a program."""
    depth, frame = 0, sys._getframe()
    while frame is not None:
        depth, frame = depth + 1, frame.f_back  # type: ignore[assignment]
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(depth + 60)
    try:
        yield
    finally:
        sys.setrecursionlimit(limit)


def test_a_deep_nest_is_verified_without_recursion() -> None:
    body: list[Node] = [build.store(build.view("x", 1, FLOAT64), build.const(1, FLOAT64))]
    for depth in range(1000):
        body = [build.for_(build.range_(f"i{depth}", 0, 1), body)]
    root = build.program([build.proc("f", [build.param("x", 1)], body)])
    with shallow_stack():
        (violation,) = SPEC.check(root)
    assert (violation.rule, violation.label) == ("index-static-bounds", "#1000")


def test_a_deep_scalar_is_verified_without_recursion() -> None:
    x = build.param("x", 4)
    value = build.load(build.view(x, 4))
    at = build.index(0)
    for _ in range(3000):
        value = build.apply("add", value, build.const(1, FLOAT64))
        at = build.apply("add", at, build.index(1))
    root = build.program([build.proc("f", [x], [build.store(build.view(x, at), value)])])
    with shallow_stack():
        assert [found.reason for found in SPEC.check(root)] == [
            "index 4 of %x is outside [0, 4)",
            "index 3000 of %x is outside [0, 4)",
        ]


def test_many_statements_are_verified() -> None:
    x = build.param("x", 64)
    one = build.const(1, FLOAT64)
    body = [build.store(build.view(x, position % 64), one) for position in range(100_000)]
    wrong = build.store(build.view(x, 64), one)
    root = build.program([build.proc("f", [x], [*body, wrong])])
    with shallow_stack():
        assert [found.label for found in SPEC.check(root)] == ["#100000"]


def test_shared_scalars_are_checked_once() -> None:
    # Written out, this value has 2 ** 200 leaves.
    value = build.load(build.view("x", 0, FLOAT64))
    for _ in range(200):
        value = build.apply("mul", value, value)
    index = build.index(1)
    for _ in range(200):
        index = build.apply("sub", index, index)
    store = build.store(build.view("x", index, FLOAT64), value)
    sc.verify(build.program([build.proc("f", [build.param("x", 1)], [store])]))
    assert index.type is INT64
