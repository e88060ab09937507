"""Two stores are one statement exactly where that changes nothing (lowering specification 3.14)."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import event, given
from hypothesis import strategies as st

import scaly_ir as sc
from scaly_ir.dialects.prog import build, ops
from scaly_ir.graph import Node
from scaly_ir.op import CallEffectKind, Op, registry_scope
from scaly_ir.passes.prog.coalesce_stores import CoalesceStores
from scaly_ir.passes.prog.references import statements
from scaly_ir.types import FLOAT64
from tests.counting import calls_of
from tests.passes.prog.golden_files import programs_of
from tests.passes.prog.meaning import keeps_meaning
from tests.passes.prog.random_scalars import Choose

coalesce = CoalesceStores().run


def _count(module: Node, op: Op) -> int:
    bodies = [statement for procedure in module.args for statement in build.body_of(procedure)]
    return len([node for statement in bodies for node, _ in statements(statement) if node.op is op])


# --- every program ----------------------------------------------------------------------------------------------------


def straight_module(choose: Choose) -> Node:
    """Return a procedure of stores to few elements, by several names, of what few elements hold."""
    x, y, t = build.param("x", 3), build.param("y", 4), build.buffer("t", 4)
    inner = build.alias("a", t, choose(0, 2), 2)
    names = [t, t, inner, y, build.alias("b", y, 1, 3), build.alias("c", inner, 1, 1), x]
    sizes = [4, 4, 2, 4, 3, 1, 3]

    def load() -> Node:
        chosen = choose(0, len(names) - 1)
        return build.load(build.view(names[chosen], choose(0, sizes[chosen] - 1)))

    body = [
        build.for_(
            build.range_("i", 0, 4), [build.store(build.view(buffer, build.var("i")), build.const(2.0, FLOAT64))]
        )
        for buffer in (t, y)
    ]
    inside: list[Node] = []
    for _ in range(choose(3, 12)):
        target = choose(0, len(names) - 2)
        at = choose(0, max(sizes[target] - 2, 0))
        for step in range(min(choose(1, 3), sizes[target] - at)):
            value = build.apply("add", load(), load()) if choose(0, 1) else build.load(build.view(x, step))
            inside.append(build.store(build.view(names[target], at + step), value))
    if choose(0, 1):
        inside = [build.for_(build.range_("k", 0, 2, 1, "serial"), inside)]
    body = [t, inner, names[4], names[5], *body, *inside]
    return build.program([build.proc("f", [x, y], body, {"input_count": 1})])


@given(st.builds(lambda random: straight_module(random.randint), st.randoms(use_true_random=False)))
def test_programs_of_stores_mean_the_same(module: Node) -> None:
    paired = keeps_meaning(module, coalesce)
    assert coalesce(paired) is paired
    assert _count(paired, ops.STORE) + 2 * _count(paired, ops.STORE_PAIR) == _count(module, ops.STORE)
    event(f"pairs: {min(_count(paired, ops.STORE_PAIR), 3)}")


@pytest.mark.parametrize("path", programs_of("coalesce_stores"), ids=lambda path: path.stem)
def test_golden_files(path: Path) -> None:
    module = sc.parse(path.read_text(encoding="utf-8"), path.name)
    paired = keeps_meaning(module, coalesce)
    assert coalesce(paired) is paired
    assert (paired is module) == path.stem.startswith("keep_")


# --- each condition ---------------------------------------------------------------------------------------------------


def _pairs(body: str) -> int:
    """Return how many pairs the pass makes in a body."""
    params = ", ".join([f"%{name}: memref<4xfloat64>" for name in "xyz"])
    module = sc.parse(f"prog.proc @f({params}) {{input_count=1}} {{ {body} }}")
    sc.verify(module)
    paired = coalesce(module)
    sc.verify(paired)
    assert (paired is module) == (_count(paired, ops.STORE_PAIR) == 0)
    return _count(paired, ops.STORE_PAIR)


@pytest.mark.parametrize(
    ("first", "second", "pairs"),
    [
        ("1, %y[0]", "2, %y[1]", 1),
        ("1, %y[2]", "2, %y[3]", 1),
        ("1, %y[1]", "2, %y[0]", 0),
        ("1, %y[0]", "2, %y[2]", 0),
        ("1, %y[0]", "2, %y[0]", 0),
        ("1, %y[0]", "2, %z[1]", 0),
        ("1, %y[prog.sub(1, 1)]", "2, %y[1]", 0),
        ("1, %y[0]", "2, %y[prog.add(0, 1)]", 0),
        ("prog.load %y[1], %y[0]", "2, %y[1]", 1),
        ("1, %y[0]", "prog.load %y[0], %y[1]", 0),
        ("1, %y[0]", "prog.load %y[3], %y[1]", 0),
        ("1, %y[0]", "prog.load %z[0], %y[1]", 1),
        ("1, %y[0]", "prog.load %x[prog.cast(prog.load %y[0], int64)], %y[1]", 0),
        ("1, %y[0]", "prog.select(prog.lt(prog.load %y[0], 0), 1, 2), %y[1]", 0),
    ],
)
def test_two_stores(first: str, second: str, pairs: int) -> None:
    zeros = (
        "prog.for %i = 0 to 4 step 1 {kind=global} { prog.store 0, %y[%i] : float64 prog.store 0, %z[%i] : float64 }"
    )
    assert _pairs(f"{zeros} prog.store {first} : float64 prog.store {second} : float64") == pairs


@pytest.mark.parametrize("buffers", ["yz", "zy"])
def test_one_value_may_read_one_buffer_and_not_another(buffers: str) -> None:
    zeros = "prog.for %i = 0 to 4 step 1 {kind=global} { prog.store 0, %z[%i] : float64 }"
    stores = [f"prog.store {v}, %{b}[{n}] : float64" for b in buffers for n, v in enumerate(["1", "prog.load %z[3]"])]
    assert _pairs(" ".join([zeros, *stores])) == 1


def test_in_code_that_never_runs() -> None:
    stores = "prog.store 1, %y[3] : float64 prog.store 1, %y[4] : float64"
    assert _pairs(f"prog.for %i = 0 to 0 step 1 {{kind=global}} {{ {stores} }}") == 1


@pytest.mark.parametrize(
    ("effect", "pairs"),
    [(None, 0), (CallEffectKind.UpdateState, 0), (CallEffectKind.ReadState, 0), (CallEffectKind.Pure, 1)],
)
def test_operators_that_may_read_anything(effect: CallEffectKind | None, pairs: int) -> None:
    with registry_scope():
        op = Op.register("test.op")
        op.set_signature(("x",))
        op.set_attr("TFixedReturnType", "float64")
        if effect is not None:
            op.set_attr("TCallEffectKind", effect)
        call = "test.op(prog.load %x[0])"
        assert _pairs(f"prog.store 1, %y[0] : float64 prog.store {call}, %y[1] : float64") == pairs
        assert _pairs(f"prog.store {call}, %y[0] : float64 prog.store 1, %y[1] : float64") == 1


# --- large programs ---------------------------------------------------------------------------------------------------


def test_a_nest_of_a_thousand_loops() -> None:
    y = build.param("y", 2)
    body = [build.store(build.view(y, at), build.const(1.0, FLOAT64)) for at in range(2)]
    for level in range(1_000):
        body = [build.for_(build.range_(f"i{level}", 0, 2), body)]
    assert _count(coalesce(build.program([build.proc("f", [y], body)])), ops.STORE_PAIR) == 1


def test_the_work_is_linear_in_the_number_of_stores_and_in_the_graph_of_their_values() -> None:
    """Each value is one more than the one before, so the text is quadratic in their number."""

    def module(count: int) -> Node:
        x, y = build.param("x", 1), build.param("y", count)
        value = build.load(build.view(x, 0))
        body = []
        for number in range(count):
            value = build.apply("add", value, build.const(number, FLOAT64))
            body.append(build.store(build.view(y, number), value))
        return build.program([build.proc("f", [x, y], body, {"input_count": 1})])

    small, large = module(1_000), module(2_000)
    assert _count(coalesce(large), ops.STORE_PAIR) == 1_000
    short, long = calls_of(lambda: coalesce(small)), calls_of(lambda: coalesce(large))
    assert 1.9 < long / short < 2.1
