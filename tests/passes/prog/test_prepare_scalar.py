"""Names for shared and deep scalars change neither values nor when something is read (lowering specification 3.15)."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given

import scaly_ir as sc
from scaly_ir.dialects.prog import build, ops
from scaly_ir.graph import Node, intern_node, postorder
from scaly_ir.op import Op, registry_scope
from scaly_ir.passes.prog.names import c_spelling
from scaly_ir.passes.prog.prepare_scalar import PrepareScalar
from scaly_ir.passes.prog.references import statements
from scaly_ir.types import FLOAT64
from tests.passes.expr.lowering.functions import module_of
from tests.passes.prog.golden_files import programs_of
from tests.passes.prog.meaning import keeps_meaning
from tests.passes.prog.programs import modules
from tests.test_seeds import SEEDS, listings

prepare = PrepareScalar().run


def _check(module: Node, integer: int = 0) -> Node:
    after = keeps_meaning(module, prepare, integer=integer)
    assert prepare(after) is after
    for procedure in after.args:
        _check_statements(procedure)
    return after


def _check_statements(procedure: Node) -> None:
    """Check that no statement repeats anything, that none is deep, and that new names are used once."""
    targets = []
    for root in build.body_of(procedure):
        for statement, _ in statements(root):
            if statement.op in (ops.BUFFER, ops.FOR):
                continue
            values = [operand for operand in statement.args if operand.op is not ops.BUFFER]
            assert not _repeated(values)
            depths = _depths(values)
            assert max([depths[value] for value in values], default=0) <= 32
            if statement.attrs.get("declare") and re.fullmatch(r"v[0-9]+", statement.attrs["target"]):
                targets.append(c_spelling(statement.attrs["target"]))
    assert len(targets) == len(set(targets))


def _repeated(values: list[Node]) -> list[Node]:
    """Return what the text of some values shows more than once, the text of operands that are shared left out."""
    seen: dict[Node, int] = {}
    pending = list(values)
    while pending:
        node = pending.pop()
        seen[node] = seen.get(node, 0) + 1
        if seen[node] == 1 or node.op is ops.VIEW:
            pending.extend(node.args)
    leaves = (ops.CONST_INT, ops.CONST_FLOAT, ops.VAR, ops.VIEW)
    return [node for node, count in seen.items() if count > 1 and node.op not in leaves]


def _depths(values: list[Node]) -> dict[Node, int]:
    depths: dict[Node, int] = {}
    for node in postorder(*values):
        own = node.op not in (ops.CONST_INT, ops.CONST_FLOAT, ops.VAR, ops.VIEW)
        depths[node] = max([depths[operand] for operand in node.args], default=0) + own
    return depths


@given(modules())
def test_programs_mean_the_same(module: Node) -> None:
    renamed = {f"{kind}{number}": f"v{number}" for kind in "xyt" for number in range(3)}  # names to collide with
    text = re.sub(r"%([xyt][0-2])\b", lambda name: f"%{renamed[name[1]]}", sc.render(module))
    _check(module)
    try:
        other = sc.parse(text)
        sc.verify(other)
    except sc.ScalyError:  # two got one name
        return
    _check(other)


@pytest.mark.parametrize("path", programs_of("prepare_scalar"), ids=lambda path: path.stem)
def test_golden_files(path: Path) -> None:
    module = sc.parse(path.read_text(encoding="utf-8"), path.name)
    after = _check(module, integer=3)
    assert (after is module) == path.stem.startswith("keep_")


# --- the listings that the pass makes ---------------------------------------------------------------------------------


@sc.function(sc.G(sc.L("x", 8), sc.L("y", 8)), sc.L("out", ...))
def f(inputs: tuple[sc.Expr, sc.Expr]) -> sc.Expr:
    x, y = inputs
    return (x.sin() + y) * y


@sc.function(sc.L("x", 3), sc.L("y", ...))
def stage(x: sc.Expr) -> sc.Expr:
    return (x.sin() * x).block()


@sc.function(sc.L("xs", 15), sc.L("ys", ...))
def horizon(xs: sc.Expr) -> sc.Expr:
    return sc.vmap(stage, 5, [xs])  # type: ignore[no-any-return]


def _trimmed(text: str) -> str:
    return re.sub(r"(prog\.proc .*\)) \{.*\} \{", r"\1 {", text)


def _prepared(function: sc.Function) -> str:
    return _trimmed(sc.render(sc.run_passes(module_of(function), "fuse_elementwise,prepare_scalar")))


if SEEDS.is_dir():
    LISTINGS = [listing.text for listing in listings(SEEDS / "lowering_page.txt")]

    def test_the_listing_of_fused_loops() -> None:
        assert _prepared(f) in LISTINGS

    def test_the_listing_of_a_stage_that_stays() -> None:
        before_the_caller = _prepared(stage).removesuffix("}\n")
        (listing,) = [text for text in LISTINGS if text.startswith(before_the_caller)]
        assert "prog.call @stage(" in listing
        assert _prepared(horizon).startswith(before_the_caller)


# --- edges ------------------------------------------------------------------------------------------------------------


def _module(*body: Node) -> Node:
    params = [build.param("x", 8), build.param("o", 8)]
    return build.program([build.proc("f", params, body, {"input_count": 1})])


def _load(at: Node | int) -> Node:
    return build.load(build.view("x", at, FLOAT64))


def _store(value: Node, at: Node | int = 0) -> Node:
    return build.store(build.view("o", at, FLOAT64), value)


def test_a_long_chain_is_cut() -> None:
    value = _load(0)
    for number in range(3000):
        value = build.apply("add", value, _load(number % 8))
    after = prepare(_module(_store(value)))
    sc.verify(after)
    _check_statements(after.args[0])


def test_an_index_of_a_store_is_no_deeper_than_a_value_may_be() -> None:
    index = build.var("i")
    for _ in range(32):
        index = build.apply("sub", build.index(7), index)
    kept = _module(build.for_(build.range_("i", 0, 8), [_store(build.const(1, FLOAT64), index)]))
    assert prepare(kept) is kept
    deeper = build.apply("sub", build.index(7), index)
    cut = prepare(_module(build.for_(build.range_("i", 0, 8), [_store(build.const(1, FLOAT64), deeper)])))
    assert [s.op for s in build.body_of(build.body_of(cut.args[0])[0])] == [ops.ASSIGN, ops.STORE]


def test_equal_values_of_a_pair_are_one() -> None:
    sine = build.apply("sin", _load(0))
    after = prepare(_module(build.store_pair(build.view("o", 0, FLOAT64), sine, sine)))
    v0 = build.var("v0", FLOAT64)
    pair = build.store_pair(build.view("o", 0, FLOAT64), v0, v0)
    assert build.body_of(after.args[0]) == (build.assign("v0", sine, declare=True), pair)


def test_what_changes_state_runs_as_often_as_before() -> None:
    with registry_scope():
        op = Op.register("test.next")  # it does not say what it does
        op.set_signature(("x",))
        op.set_attr("TFixedReturnType", "float64")
        call = build.apply("neg", intern_node(op, (_load(0),), _load(0).attrs, FLOAT64))
        module = _module(_store(build.apply("add", call, call)))
        assert prepare(module) is module


def test_deep_nests_and_bare_files() -> None:
    statement = _store(build.apply("mul", _load(0), _load(0)))
    for number in range(1000):
        statement = build.for_(build.range_(f"i{number}", 0, 1), [statement])
    module = _module(statement)
    bare = build.program(module.args, bare=True)
    after = prepare(bare)
    assert after.attrs["bare"]
    assert after.args == prepare(module).args
    sc.verify(after)
