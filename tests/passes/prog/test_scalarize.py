"""Procedures run at compile time compute what their loops did, and only those that may be are (lowering specification
3.2 and 4).
"""

from __future__ import annotations

import re
import time
from functools import partial, reduce
from pathlib import Path

import pytest
from hypothesis import given

import scaly_ir as sc
from scaly_ir.attributes import NO_ATTRS
from scaly_ir.dialects.prog import build, ops
from scaly_ir.graph import Node, intern_node, postorder
from scaly_ir.op import CallEffectKind, Op, registry_scope
from scaly_ir.passes.prog import budgets
from scaly_ir.passes.prog.scalarize import Scalarize
from scaly_ir.passes.prog.symbolic import SymbolicMachine
from scaly_ir.remarks import collect_remarks
from scaly_ir.types import FLOAT64
from tests.counting import calls_of
from tests.passes.expr.lowering import random_loops
from tests.passes.expr.lowering.functions import module_of
from tests.passes.prog import expandable_programs, programs
from tests.passes.prog.golden_files import programs_of
from tests.passes.prog.meaning import keeps_meaning, same_bits, same_values
from tests.test_seeds import SEEDS, listings

expand = Scalarize().run

MEANINGLESS = (
    "keep_output_read_first",
    "keep_incomplete_output",
    "keep_overlapping_arguments",
    "keep_uninitialized",
    "keep_unknown_callee",
)
"""Golden files that cannot be run."""


def _check(module: Node, *, bits: bool = False) -> Node:
    after = keeps_meaning(module, expand, compare=same_bits if bits else same_values)
    assert expand(after) is after
    for procedure, before in zip(after.args, module.args, strict=True):
        if procedure is not before:
            _check_expanded(procedure, before)
    return after


def _check_expanded(procedure: Node, before: Node) -> None:
    """Check that declarations of what inputs give come first, and one store for each element follows."""
    assert procedure.attrs == {**before.attrs, "scalarized": True}
    assert build.params_of(procedure) == build.params_of(before)
    inputs, outputs = _inputs_and_outputs(procedure)
    body = build.body_of(procedure)
    elements = [(param.attrs["name"], at) for param in outputs for at in range(param.attrs["shape"][0])]
    stores = body[len(body) - len(elements) :]
    assert [(s.args[0].attrs["buffer"], s.args[0].args[0].attrs["value"]) for s in stores] == elements
    assert all([statement.op is ops.ASSIGN and statement.attrs["declare"] for statement in body[: -len(elements)]])
    for node in postorder(*[statement.args[-1] for statement in body]):
        if node.op is ops.VIEW:
            assert node.attrs["buffer"] in inputs
            assert node.args[0].op is ops.CONST_INT


def _inputs_and_outputs(procedure: Node) -> tuple[list[str], tuple[Node, ...]]:
    params, count = build.params_of(procedure), procedure.attrs["input_count"]
    return [param.attrs["name"] for param in params[:count]], params[count:]


@given(expandable_programs.modules())
def test_programs_mean_the_same(module: Node) -> None:
    _check(module)


@given(programs.modules())
def test_what_other_programs_hold_is_left_alone_or_means_the_same(module: Node) -> None:
    keeps_meaning(_eager(module), expand, compare=lambda before, after: None)


@given(random_loops.functions())
def test_lowered_functions_mean_the_same(case: random_loops.Case) -> None:
    module = module_of(case.function)
    keeps_meaning(_eager(module), expand, compare=same_values)


def _eager(module: Node) -> Node:
    """Return a module in which every procedure asks for expansion."""
    return module.replace(args=[p.with_attrs(scalarize_mode="procedure", lowering="scalar") for p in module.args])


@pytest.mark.parametrize("path", programs_of("scalarize"), ids=lambda path: path.stem)
def test_golden_files(path: Path) -> None:
    module = sc.parse(path.read_text(encoding="utf-8"), path.name)
    if path.stem in MEANINGLESS:
        assert expand(module) is module
    elif re.search("budget|work|[0-9]{4}", path.stem):  # they take long to run
        after = expand(module)
        assert expand(after) is after
    else:
        after = _check(module, bits=path.stem == "expand_special_values")
        assert (after is module) == path.stem.startswith("keep_")


# --- the listings that the pass makes ---------------------------------------------------------------------------------


@sc.function(sc.arg("z", 2), sc.arg("u", 1), outputs=sc.arg("znext"))
def model(z: sc.Expr, u: sc.Expr) -> sc.Expr:
    return z + 0.1 * sc.concat([z[1:], u])


@sc.function(sc.arg("z", 2), outputs=sc.arg("cost"))
def terminal(z: sc.Expr) -> sc.Expr:
    return sc.sumsqr(z)


@sc.function(sc.arg("zs", 20), sc.arg("us", 10), outputs=sc.arg("J"))
def stages(zs: sc.Expr, us: sc.Expr) -> sc.Expr:
    znexts = sc.vmap(model, 10)(zs.reshape((10, 2)), us.reshape((10, 1))).vec()
    return terminal(znexts[18:])  # type: ignore[no-any-return]


@sc.function(sc.arg("M", (2, 3)), outputs=sc.arg("s"))
def trace2(M: sc.Expr) -> sc.Expr:
    return M[0, 0] + M[1, 1]


@sc.function(sc.arg("x", 8), outputs=sc.arg("t"))
def f(x: sc.Expr) -> sc.Expr:
    return trace2(x.sin()[2:].reshape((2, 3)))  # type: ignore[no-any-return]


def _callees(text: str) -> list[str]:
    """Return the procedures before the last one, without their workspace, pairs of stores as two."""
    pair = r"prog.store_pair (prog\.add\(.*\)), (prog\.add\(.*\)), %(\w+)\[0\] : float64"
    text = re.sub(pair, r"prog.store \1, %\3[0] : float64\nprog.store \2, %\3[1] : float64", text)
    text = text.replace(", sz_w=0, w_self=0", "")
    return [line.strip() for line in text.rpartition("prog.proc")[0].strip().splitlines()]


if SEEDS.is_dir():
    LISTINGS = [_callees(listing.text) for listing in listings(SEEDS / "ir_reference.txt") if not listing.trimmed]

    @pytest.mark.parametrize("function", [stages, f], ids=["stages", "f"])
    def test_the_listings_of_expanded_callees(function: sc.Function) -> None:
        assert _callees(sc.render(expand(module_of(function)))) in LISTINGS


# --- what lowering asks for -------------------------------------------------------------------------------------------


def _headers(function: sc.Function) -> dict[str, tuple[str, str]]:
    return {p.attrs["name"]: (p.attrs["lowering"], p.attrs["scalarize_mode"]) for p in module_of(function).args}


def _caller(callee: sc.Function) -> sc.Function:
    return sc.Function.from_exprs("caller", [x := sc.sym("x", 3)], [callee(x)], None, ["y"])


@pytest.mark.parametrize(
    ("hint", "mode", "entry"),
    [("auto", "procedure", "disabled"), ("scalar", "procedure", "procedure"), ("block", "disabled", "disabled")],
)
def test_hints_choose_the_mode(hint: str, mode: str, entry: str) -> None:
    x = sc.sym("x", 3)
    y = x.sin() * 2.0
    function = sc.Function.from_exprs(
        "g", [x], [{"auto": y, "scalar": y.scalar(), "block": y.block()}[hint]], None, ["y"]
    )
    assert _headers(_caller(function))["g"] == (hint, mode)
    assert _headers(function)["g"] == (hint, entry)


def test_a_block_hint_wins_over_a_scalar_one() -> None:
    x = sc.sym("x", 3)
    function = sc.Function.from_exprs("g", [x], [x.sin().scalar() * x.cos().block()], None, ["y"])
    assert _headers(function)["g"] == ("block", "disabled")


def test_only_functions_on_float64_may_be_expanded() -> None:
    x = sc.sym("x", 3)
    rounded = sc.cast(sc.cast(x, "int64"), "float64").scalar()
    function = sc.Function.from_exprs("g", [x], [rounded], None, ["y"])
    assert _headers(function)["g"] == ("scalar", "disabled")


# --- values -----------------------------------------------------------------------------------------------------------


def _procedure(body: str, name: str = "g", header: str = 'scalarize_mode="procedure"', sizes: str = "4") -> str:
    params = f"%x: memref<{sizes}xfloat64>, %y: memref<{sizes}xfloat64>"
    return f"prog.proc @{name}({params}) {{input_count=1, {header}}} {{ {body} }}\n"


def _loop(value: str, size: int = 4) -> str:
    return f"prog.for %i = 0 to {size} step 1 {{kind=global}} {{ prog.store {value}, %y[%i] : float64 }}"


ENTRY = 'lowering="scalar", scalarize_mode="procedure"'


def _expanded(body: str, header: str = ENTRY) -> Node:
    module = sc.parse(_procedure(body, header=header))
    sc.verify(module)
    after = expand(module)
    sc.verify(after)
    assert after is not module
    return after


def test_what_no_identity_changes_keeps_every_bit() -> None:
    """A sum in which the order, and the sign of zero, shows."""
    body = """
    %k = prog.buffer : memref<4xfloat64, constant> = dense<[0.1, -0.0, 1e16, 3.0]>
    prog.for %i = 0 to 4 step 1 {kind=global} { prog.store prog.load %x[%i], %y[%i] : float64 }
    prog.for %n = 0 to 12 step 1 {kind=reduce} {
      prog.store prog.add(prog.load %y[prog.mod(%n, 4)], prog.mul(prog.load %k[prog.mod(prog.mul(%n, 3), 4)],
        prog.load %y[prog.mod(prog.add(%n, 1), 4)])), %y[prog.mod(%n, 4)] : float64
    }"""
    module = sc.parse(_procedure(body, header=ENTRY))
    for values in ([0.1, 0.2, 0.3, 0.4], [1e16, 1.0, -1e16, 1.0], [1e300, 1e300, -1e300, 1e-300]):
        keeps_meaning(module, expand, compare=same_bits, inputs={"x": values})


def test_operators_that_nobody_knows_stay_unless_they_change_state() -> None:
    with registry_scope():
        op = Op.register("test.next")
        op.set_signature(("x",))
        op.set_attr("TFixedReturnType", "float64")
        load = build.load(build.view("x", build.var("i"), FLOAT64))
        value = intern_node(op, (load,), NO_ATTRS, FLOAT64)
        loop = build.for_(build.range_("i", 0, 2), [build.store(build.view("y", build.var("i"), FLOAT64), value)])
        header = {"input_count": 1, "scalarize_mode": "procedure", "lowering": "scalar"}
        module = build.program([build.proc("g", [build.param("x", 2), build.param("y", 2)], [loop], header)])
        assert expand(module) is module
        op.set_attr("TCallEffectKind", CallEffectKind.ReadState)
        assert expand(module) is module
        op.set_attr("TCallEffectKind", CallEffectKind.Pure, override=True)
        assert sum([node.op is op for node in postorder(expand(module))]) == 2


def test_results_of_identities_are_folded_on() -> None:
    """``x - -x`` is ``x + x``, which is ``2 * x``."""
    body = _loop("prog.sub(prog.load %x[%i], prog.neg(prog.load %x[%i]))")
    assert "prog.mul(2, prog.load %x[3])" in sc.render(_expanded(body))


def test_reading_a_table_of_indices_by_another_name_is_not_known() -> None:
    body = f"""
    %k = prog.buffer : memref<4xint64, constant> = dense<[3, 2, 1, 0]>
    %a = prog.buffer : memref<4xint64, private> = prog.alias %k offset 0
    {_loop("prog.load %x[prog.load %a[%i]]")}"""
    module = sc.parse(
        _procedure(body.replace("4xint64, constant> = prog.alias", "4xint64, private> = prog.alias"), header=ENTRY)
    )
    sc.verify(module)
    assert expand(module) is module


def test_one_index_in_loops_of_one_variable_with_other_trips() -> None:
    """An index is a node of its own, whatever loop it stands in, and in whatever procedure."""
    body = """
    prog.for %i = 0 to 2 step 1 {kind=global} { prog.store prog.load %x[%i], %y[%i] : float64 }
    prog.for %i = 2 to 4 step 1 {kind=global} { prog.store prog.neg(prog.load %x[%i]), %y[%i] : float64 }"""
    text = sc.render(_expanded(body))
    assert "prog.load %x[1], %y[1]" in text
    assert "prog.neg(prog.load %x[2]), %y[2]" in text


def test_tables_of_one_name_in_two_procedures() -> None:
    bodies = [
        f"%k = prog.buffer : memref<4xint64, constant> = dense<[{values}]> {_loop('prog.load %x[prog.load %k[%i]]')}"
        for values in ("3, 2, 1, 0", "1, 0, 2, 3")
    ]
    module = _program(_procedure(bodies[0]), _procedure(bodies[1], "f", ENTRY))
    first, second = sc.render(expand(module)).split("@f")
    assert "prog.load %x[3], %y[0]" in first
    assert "prog.load %x[1], %y[0]" in second


# --- what has no meaning ----------------------------------------------------------------------------------------------


INLINE = 'scalarize_mode="inline"'
CALLEES = [
    _procedure(_loop("prog.add(prog.load %y[%i], prog.load %x[%i])"), "accumulate", INLINE),
    _procedure(_loop("prog.load %x[%i]"), "copy", INLINE),
    _procedure(f"{_loop('1')} {_loop('prog.load %x[%i]')}", "write_first", INLINE),
    _procedure(f"{_loop('1')} {_loop('2').replace('%y', '%z')}", "twice", INLINE).replace(
        ") {", ", %z: memref<4xfloat64>) {", 1
    ),
]


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(f"{_loop('1')} prog.call @accumulate(%x, %y)", id="an output is read as it was before the call"),
        pytest.param(
            f"""%t = prog.buffer : memref<6xfloat64, private>
            prog.for %n = 0 to 4 step 1 {{kind=serial}} {{ prog.call @copy(%x, %t[%n]) {{n_in=1, n_out=1}} }}
            {_loop("prog.load %t[%i]")}""",
            id="a window exceeds its buffer",
        ),
        pytest.param(
            f"""%a = prog.buffer : memref<2xfloat64, private> = prog.alias %x offset 1
            {_loop("prog.load %a[prog.mod(%i, 3)]")}""",
            id="an index exceeds its alias, but not what it points into",
        ),
        pytest.param(
            f"""{_loop("1")}
            prog.for %n = 0 to 4 step 1 {{kind=serial}} {{
              prog.store 1, %y[prog.mod(prog.mul(%n, 3), 7)] : float64
            }}""",
            id="an index of a store exceeds the output",
        ),
        pytest.param(
            f"""%t = prog.buffer : memref<8xfloat64, private>
            prog.for %n = 0 to 8 step 1 {{kind=global}} {{ prog.store 2, %t[%n] : float64 }}
            prog.for %n = 2 to 4 step 1 {{kind=serial}} {{ prog.call @write_first(%t, %t[%n]) {{n_in=1, n_out=1}} }}
            {_loop("prog.load %t[%i]")}""",
            id="an output overlaps an input",
        ),
        pytest.param(
            f"""%t = prog.buffer : memref<8xfloat64, private>
            prog.for %n = 3 to 5 step 1 {{kind=serial}} {{ prog.call @twice(%x, %t, %t[%n]) {{n_in=1, n_out=2}} }}
            {_loop("prog.load %t[%i]")}""",
            id="an output overlaps another",
        ),
    ],
)
def test_what_has_no_meaning_is_left_alone(body: str) -> None:
    assert not any(_modes(_program(*CALLEES, _procedure(body, header=ENTRY))))


def test_inputs_of_a_call_may_overlap() -> None:
    params = "%a: memref<3xfloat64>, %b: memref<3xfloat64>, %y: memref<4xfloat64>"
    header = 'input_count=2, scalarize_mode="inline"'
    value = "prog.sub(prog.load %a[prog.minimum(%i, 2)], prog.load %b[prog.div(%i, 2)])"
    callee = f"prog.proc @g({params}) {{{header}}} {{ {_loop(value)} }}"
    module = _program(callee, _procedure("prog.call @g(%x, %x[1], %y) {n_in=2, n_out=1}", "f", ENTRY))
    assert "prog.sub(prog.load %x[0], prog.load %x[1]), %y[0]" in sc.render(_check(module))


def test_other_values_and_what_works_in_place_or_on_a_workspace() -> None:
    plain = _procedure(_loop("1"), header=ENTRY)
    assert _modes(_program(plain)) == [True]
    assert _modes(_program(plain.replace("4xfloat64>, %y", "4xint64>, %y"))) == [False]
    for header, expands in (("in_place=True", False), ("sz_w=4, w_self=4", False), ("sz_w=0, w_self=0", True)):
        assert _modes(_program(plain.replace("input_count=1", f"input_count=1, {header}"))) == [expands]


# --- budgets ----------------------------------------------------------------------------------------------------------


def _modes(module: Node) -> list[bool]:
    return ["scalarized" in procedure.attrs for procedure in expand(module).args]


def _program(*procedures: str) -> Node:
    module = sc.parse("".join(procedures))
    sc.verify(module)
    return module


def _sines(name: str, size: int, header: str = 'scalarize_mode="procedure"') -> str:
    return _procedure(_loop("prog.sin(prog.load %x[%i])", size), name, header, sizes=str(size))


def test_the_fifth_of_five_procedures_is_too_many() -> None:
    """2000 operations and as many stores make 4000 for each of four."""
    procedures = [_sines(f"g{number}", 2000) for number in range(5)]
    assert _modes(_program(*procedures, _sines("f", 1))) == [True] * 4 + [False] * 2


def _with_declarations(size: int) -> str:
    """Return a procedure with five scalars for each element: three operations, a declared load, and a store."""
    value = "prog.add(prog.sin(prog.load %x[%i]), prog.exp(prog.load %x[%i]))"
    return _procedure(_loop(value, size), header=ENTRY, sizes=str(size))


def test_declarations_count_for_the_program() -> None:
    large = _with_declarations(3072)  # 1024 scalars remain
    assert _modes(_program(large, _sines("h", 512), _sines("f", 1))) == [True, True, False]
    assert _modes(_program(large, _sines("h", 513), _sines("f", 1))) == [True, False, False]


def test_what_was_expanded_before_counts_as_it_did_then() -> None:
    after = expand(_program(_with_declarations(3072), _sines("h", 513), _sines("f", 1)))
    assert expand(after) is after
    smaller = after.replace(args=[after.args[0], *_program(_sines("h", 512), _sines("f", 1)).args])
    assert _modes(smaller) == [True, True, False]


def test_requests_take_from_the_budget_what_others_need() -> None:
    asked = [_sines(f"g{number}", 4096, ENTRY) for number in range(3)]
    assert _modes(_program(*asked, _sines("h", 1), _sines("f", 1))) == [True] * 3 + [False] * 2


def test_a_callee_that_is_too_large_keeps_its_caller_from_expansion() -> None:
    call = "prog.call @g(%x, %y) {n_in=1, n_out=1}"
    for size, expands in ((4096, True), (4097, False)):
        caller = _procedure(call, header=ENTRY, name="f", sizes=str(size))
        assert _modes(_program(_sines("g", size), caller)) == [expands, expands]


def test_work_is_weighed_before_anything_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SymbolicMachine, "outputs", lambda self, name: pytest.fail("it was tried"))
    body = "prog.store 1, %y[0] : float64"
    for number in range(40):
        body = f"prog.for %n{number} = 0 to 1000000000 step 1 {{kind=reduce}} {{ {body} }}"
    module = _program(_procedure(body), _sines("f", 1))
    started = time.perf_counter()
    assert expand(module) is module
    assert time.perf_counter() - started < 1


def test_work_grows_from_callee_to_caller() -> None:
    """Each calls the one before twice: 2**60 stores, found in no time."""
    procedures = [_procedure("prog.store 1, %y[0] : float64", "g0", sizes="1")]
    for number in range(1, 60):
        call = f"prog.call @g{number - 1}(%x, %y) {{n_in=1, n_out=1}}"
        procedures.append(_procedure(f"{call} {call}", f"g{number}", sizes="1"))
    assert _modes(_program(*procedures, _sines("f", 1))) == [True] * 14 + [False] * 47


def test_a_deep_chain_of_calls_is_no_deeper_than_loops() -> None:
    procedures = [_sines("g0", 1)]
    for number in range(1, 1500):
        call = f"prog.call @g{number - 1}(%x, %y) {{n_in=1, n_out=1}}"
        procedures.append(_procedure(call, f"g{number}", 'scalarize_mode="inline"', sizes="1"))
    last = _procedure("prog.call @g1499(%x, %y) {n_in=1, n_out=1}", "f", ENTRY, sizes="1")
    assert _modes(_program(*procedures, last))[-1]


def _deep(index: Node) -> Node:
    """Return a module with a nest of 1000 loops around a store, of which the innermost has two trips."""
    nest = build.store(build.view("y", index, FLOAT64), build.const(1, FLOAT64))
    for number in reversed(range(1000)):
        nest = build.for_(build.range_(f"i{number}", 0, 2 if number == 999 else 1), [nest])
    header = {"input_count": 0, "scalarize_mode": "procedure", "lowering": "scalar"}
    module = build.program([build.proc("g", [build.param("y", 2)], [nest], header)])
    sc.verify(module)
    return module


def test_nests_may_be_deeper_than_arrays() -> None:
    assert _modes(_deep(build.var("i999"))) == [True]
    variables = [build.var(f"i{number}") for number in range(1000)]
    module = _deep(reduce(partial(build.apply, "add"), variables))
    assert expand(module) is module


def test_a_request_that_would_take_hours_is_refused() -> None:
    body = "prog.for %n = 0 to 1000000000 step 1 {kind=reduce} { prog.store prog.load %x[0], %y[0] : float64 }"
    module = _program(_procedure(body, header=ENTRY, sizes="1"))
    with collect_remarks() as remarks:
        assert expand(module) is module
    assert [said.message for said in remarks] == ["@g keeps its loops: they run too often to become scalar statements"]


def test_loops_that_do_nothing_take_no_time() -> None:
    body = f"""
    prog.for %m = 0 to 1000000000000 step 1 {{kind=serial}} {{
      prog.for %n = 0 to 1000000000000 step 1 {{kind=serial}} {{ }}
      prog.for %n = 3 to 3 step 1 {{kind=serial}} {{ prog.store prog.load %x[prog.add(%m, %n)], %y[0] : float64 }}
    }}
    {_loop("prog.load %x[%i]")}"""
    started = time.perf_counter()
    _expanded(body)
    assert time.perf_counter() - started < 1


def test_signs_that_move_outward_take_linear_time() -> None:
    """The sign of the first factor moves to the front of the product at each step, over all that is there."""

    def product(size: int) -> int:
        step = "prog.store prog.mul(prog.load %y[0], prog.load %x[%i]), %y[0] : float64"
        loop = f"prog.for %i = 0 to {size} step 1 {{kind=reduce}} {{ {step} }}"
        body = f"prog.store -1, %y[0] : float64 {loop}"
        module = _program(
            _procedure(body, header=ENTRY, sizes=str(size)).replace(f"%y: memref<{size}x", "%y: memref<1x")
        )
        return calls_of(lambda: expand(module))

    product(2)
    assert product(400) < 3 * product(200)


def test_limits_are_those_of_the_document() -> None:
    limits = (budgets.PROCEDURE_OPERATIONS, budgets.PROGRAM_SCALARS, budgets.EXPANSION_WORK, budgets.EXPRESSION_DEPTH)
    assert limits == (4096, 16384, 65536, 32)
