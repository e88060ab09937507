"""Fusion keeps every value and repeats no expensive work, whatever the program; and it takes linear time.

The golden files in `testdata/passes/fuse_elementwise` show what comes out; here they are run, before and after.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings

import scaly_ir as sc
from scaly_ir.dialects.prog import build, ops
from scaly_ir.graph import Node, postorder
from scaly_ir.op import CallEffectKind, Op, registry_scope
from scaly_ir.passes.prog.fuse_elementwise import GROWTH_LIMIT, FuseElementwise
from scaly_ir.types import FLOAT64
from tests.counting import calls_of
from tests.passes.prog.evaluator import EvaluationError, Result, run
from tests.passes.prog.golden_files import programs_of
from tests.passes.prog.programs import inputs_of, modules

MEANINGLESS = ("keep_self_reading_producer", "keep_unknown_callee")
"""Golden files that cannot be run."""

fuse = FuseElementwise().run


def _expensive(result: Result) -> int:
    """Return how many expensive operators ran."""
    counted = [op for op in result.executed if not op.get_attr("TStructural", False)]
    return sum([result.executed[op] for op in counted if op.get_attr("TCostClass", "expensive") == "expensive"])


def _assert_equal(first: Result, second: Result) -> None:
    """Check that the outputs agree bit for bit."""
    assert first.outputs.keys() == second.outputs.keys()
    for name, values in first.outputs.items():
        assert values.tobytes() == second.outputs[name].tobytes(), f"{values} and {second.outputs[name]}"


def _check(module: Node, integer: int = 0) -> Node:
    """Fuse a module, check all that must hold, and return the result."""
    sc.verify(module)
    fused = fuse(module)
    inputs = inputs_of(module, integer)
    before = run(module, inputs)
    if fused is module:
        return fused
    sc.verify(fused)
    reread: Node = sc.parse(sc.render(fused))
    assert reread is fused
    after = run(fused, inputs)
    _assert_equal(before, after)
    assert _expensive(after) <= _expensive(before)
    try:
        independent = run(module, inputs, backwards=True)
    except EvaluationError:
        return fused
    if all(independent.outputs[name].tobytes() == values.tobytes() for name, values in before.outputs.items()):
        _assert_equal(before, run(fused, inputs, backwards=True))
    return fused


# --- every program ----------------------------------------------------------------------------------------------------


@settings(max_examples=max(300, settings().max_examples))
@given(modules())
def test_fusion_keeps_values_and_repeats_no_expensive_work(module: Node) -> None:
    fused = _check(module)
    if fused is not module:
        _check(fused)  # a buffer whose other reader was fused away may go in a second run


@pytest.mark.parametrize("path", programs_of("fuse_elementwise"), ids=lambda path: path.stem)
def test_golden_files(path: Path) -> None:
    module = sc.parse(path.read_text(encoding="utf-8"), path.name)
    fused = fuse(module) if path.stem in MEANINGLESS else _check(module, integer=1)
    assert (fused is module) == path.stem.startswith("keep_")


# --- operators that do more than compute ------------------------------------------------------------------------------


@pytest.fixture
def log() -> Iterator[list[int]]:
    """Register `test.update`, which adds its operand to this list, and `test.state`, which adds the list's length."""
    called: list[int] = []

    def update(x: int) -> int:
        called.append(int(x))
        return x

    with registry_scope():
        for name, semantics in (("update", update), ("state", lambda x: x + len(called)), ("pure", lambda x: -x)):
            op = Op.register(f"test.{name}")
            op.set_signature(("x",))
            op.set_attr("TFixedReturnType", "int64")
            op.set_attr("FNumpy", semantics)
        for name in ("update", "state"):
            Op.get(f"test.{name}").set_attr("TCostClass", "cheap")  # test.update does not say what it does: opaque
        Op.get("test.state").set_attr("TCallEffectKind", CallEffectKind.ReadState)
        Op.get("test.pure").set_attr("TCallEffectKind", CallEffectKind.Pure)  # but of unknown cost: expensive
        yield called


def _runs_alike(log: list[int], body: str, callee: str = "") -> bool:
    """Check that fusing a body changes neither outputs nor what was done; return whether it fused."""
    text = f"""prog.module {{ {callee}
      prog.proc @f(%x: memref<4xint64>, %y: memref<4xint64>, %z: memref<4xint64>) {{input_count=1}} {{
        %t = prog.buffer : memref<4xint64, private>
        prog.for %i = 0 to 4 step 1 {{kind=global}} {{ prog.store 0, %z[%i] : int64 }}
        {body}
      }}
    }}"""
    module = sc.parse(text)
    sc.verify(module)
    fused = fuse(module)
    sc.verify(fused)
    done = []
    for each in (module, fused):
        log.clear()
        outputs = run(each, {"x": [5, 6, 7, 8]}).outputs
        done.append(({name: list(values) for name, values in outputs.items()}, list(log)))
    assert done[0] == done[1]
    return fused is not module


def _loop(statement: str) -> str:
    return f"prog.for %i = 0 to 4 step 1 {{kind=serial}} {{ {statement} }}\n"


def _fill(value: str) -> str:
    return _loop(f"prog.store {value}, %t[%i] : int64")


USE = _loop("prog.store prog.load %t[%i], %y[%i] : int64")
UPDATE = "prog.store test.update(prog.const(9, int64)), %z[0] : int64\n"


def test_an_opaque_operator_is_never_moved(log: list[int]) -> None:
    assert not _runs_alike(log, _fill("test.update(%i)") + USE)


def test_what_reads_state_is_not_moved_past_an_opaque_operator(log: list[int]) -> None:
    assert not _runs_alike(log, _fill("test.state(%i)") + UPDATE + USE)
    assert not _runs_alike(log, _fill("prog.load %x[%i]") + UPDATE + USE)


def test_what_reads_state_is_moved_where_nothing_changes_it(log: list[int]) -> None:
    assert _runs_alike(log, UPDATE + _fill("test.state(%i)") + "prog.store 3, %z[0] : int64\n" + USE)


def test_what_reads_no_state_is_moved_past_an_opaque_operator(log: list[int]) -> None:
    assert _runs_alike(log, _fill("prog.mul(%i, 2)") + UPDATE + USE)


def test_a_loop_bound_may_be_opaque(log: list[int]) -> None:
    bound = (
        "prog.for %j = 0 to test.update(prog.const(2, int64)) step 1 {kind=serial} { prog.store 1, %z[%j] : int64 }\n"
    )
    assert not _runs_alike(log, _fill("test.state(%i)") + bound + USE)


def test_a_callee_may_be_opaque(log: list[int]) -> None:
    callees = """prog.proc @h(%p: memref<1xint64>) { prog.store test.update(prog.const(1, int64)), %p[0] : int64 }
      prog.proc @g(%p: memref<4xint64>) { prog.call @h(%p[2]) }"""
    assert not _runs_alike(log, _fill("test.state(%i)") + "prog.call @g(%z)\n" + USE, callees)
    pure = callees.replace("test.update", "test.pure")
    assert _runs_alike(log, _fill("test.state(%i)") + "prog.call @g(%z)\n" + USE, pure)


@pytest.mark.parametrize("value", ["7", "%i", "prog.mul(%i, %i)"])
def test_an_opaque_index_is_neither_dropped_nor_repeated(log: list[int], value: str) -> None:
    assert not _runs_alike(log, _fill(value) + _loop("prog.store prog.load %t[test.update(%i)], %y[%i] : int64"))


def test_an_operator_of_unknown_cost_is_expensive(log: list[int]) -> None:
    assert _runs_alike(log, _fill("test.pure(%i)") + USE)
    square = _loop("prog.store prog.mul(prog.load %t[%i], prog.load %t[%i]), %y[%i] : int64")
    assert not _runs_alike(log, _fill("test.pure(%i)") + square)
    assert _runs_alike(log, _fill("test.state(%i)") + square)


# --- large programs ---------------------------------------------------------------------------------------------------


def _module(size: int, values: list[tuple[str, str]]) -> Node:
    """Return a procedure that fills temporaries and an output, each from the one before."""
    x, y = build.param("x", (size,)), build.param("y", (size,))
    index = build.var("i")
    body: list[Node] = []
    last = x
    for name, op in values:
        target = y if name == "y" else build.buffer(name, (size,))
        if name != "y":
            body.append(target)
        read = build.load(build.view(last, index))
        value = build.apply(op, read, read) if op in ("mul", "add") else build.apply(op, read)
        body.append(build.for_(build.range_("i", 0, size), [build.store(build.view(target, index), value)]))
        last = target
    return build.program([build.proc("f", [x, y], body, {"input_count": 1})])


def _chain(length: int) -> Node:
    return _module(4, [*[(f"t{k}", "neg" if k % 2 else "abs") for k in range(length)], ("y", "neg")])


def _calls(module: Node) -> int:
    assert len(build.body_of(fuse(module).args[0])) == 1
    return calls_of(lambda: fuse(module))


def test_the_work_is_linear_in_the_length_of_a_chain() -> None:
    short, long = _calls(_chain(1_000)), _calls(_chain(2_000))
    assert 1.9 < long / short < 2.1


def test_the_work_is_linear_in_the_number_of_producers_of_one_statement() -> None:
    def wide(count: int) -> Node:
        x, y = build.param("x", (4,)), build.param("y", (4,))
        index = build.var("i")
        temporaries = [build.buffer(f"t{k}", (4,)) for k in range(count)]
        body = list(temporaries)
        total = build.load(build.view(x, index))
        for k, temporary in enumerate(temporaries):
            value = build.apply("add", build.load(build.view(x, index)), build.const(k, FLOAT64))
            body.append(build.for_(build.range_("i", 0, 4), [build.store(build.view(temporary, index), value)]))
            total = build.apply("add", total, build.load(build.view(temporary, index)))
        body.append(build.for_(build.range_("i", 0, 4), [build.store(build.view(y, index), total)]))
        return build.program([build.proc("f", [x, y], [*body], {"input_count": 1})])

    short, long = _calls(wide(500)), _calls(wide(1_000))
    assert 1.9 < long / short < 2.1


def _text_size(root: Node) -> int:
    """Return how many nodes the text of a root shows."""
    sizes: dict[Node, int] = {}
    for node in postorder(root):
        sizes[node] = 1 + sum([sizes[operand] for operand in node.args])
    return sizes[root]


@pytest.mark.parametrize("op", ["mul", "add"])
def test_repeated_squares_do_not_explode(op: str) -> None:
    module = _module(2, [*[(f"t{k}", op) for k in range(40)], ("y", "neg")])
    fused = _check(module)
    kept = [node for node in build.body_of(fused.args[0]) if node.op is ops.FOR]
    assert len(kept) < 10
    assert _text_size(fused) <= _text_size(module) + len(kept) * GROWTH_LIMIT


def test_repeated_shifts_do_not_explode() -> None:
    """Each level reads the one before at ``i + i``, so its own index doubles although each buffer is read once."""
    index = build.var("i")
    doubled = build.apply("mod", build.apply("add", index, index), build.index(4))
    x, y = build.param("x", (4,)), build.param("y", (4,))
    body: list[Node] = []
    last = x
    for k in range(40):
        target = y if k == 39 else build.buffer(f"t{k}", (4,))
        body += [] if target is y else [target]
        store = build.store(build.view(target, index), build.load(build.view(last, doubled)))
        body.append(build.for_(build.range_("i", 0, 4), [store]))
        last = target
    module = build.program([build.proc("f", [x, y], body, {"input_count": 1})])
    fused = _check(module)
    assert fused is not module
    assert _text_size(fused) <= _text_size(module) + 20 * GROWTH_LIMIT


def test_shared_operands_are_neither_expanded_nor_repeated() -> None:
    """The text of the producer has 2**60 nodes, its graph 60: it may move as it is, but not twice."""
    x, y, t = build.param("x", (4,)), build.param("y", (4,)), build.buffer("t", (4,))
    index = build.var("i")
    value = build.load(build.view(x, index))
    for _ in range(60):
        value = build.apply("mul", value, value)
    fill = build.for_(build.range_("i", 0, 4), [build.store(build.view(t, index), value)])
    read = build.load(build.view(t, index))
    for used, fuses in ((build.apply("neg", read), True), (build.apply("add", read, read), False)):
        use = build.for_(build.range_("i", 0, 4), [build.store(build.view(y, index), used)])
        module = build.program([build.proc("f", [x, y], [t, fill, use], {"input_count": 1})])
        fused = fuse(module)
        sc.verify(fused)
        assert (fused is not module) == fuses


def test_a_thousand_loops_around_the_consumer() -> None:
    x, y, t = build.param("x", (4,)), build.param("y", (4,)), build.buffer("t", (4,))
    index = build.var("i")
    negated = build.apply("neg", build.load(build.view(x, index)))
    fill = build.for_(build.range_("i", 0, 4), [build.store(build.view(t, index), negated)])
    nest = build.store(build.view(y, index), build.load(build.view(t, index)))
    for depth in range(1000):
        nest = build.for_(build.range_(f"j{depth}", 0, 1), [nest])
    nest = build.for_(build.range_("i", 0, 4), [nest])
    module = build.program([build.proc("f", [x, y], [t, fill, nest], {"input_count": 1})])
    fused = fuse(module)
    sc.verify(fused)
    assert len(build.body_of(fused.args[0])) == 1
    assert sc.render(fused).count("prog.neg(prog.load %x[%i])") == 1


def test_a_deep_expression() -> None:
    x, y, t = build.param("x", (4,)), build.param("y", (4,)), build.buffer("t", (4,))
    index = build.var("i")
    value = read = build.load(build.view(x, index))
    for _ in range(3000):
        value = build.apply("add", value, read)
    fill = build.for_(build.range_("i", 0, 4), [build.store(build.view(t, index), value)])
    total = build.load(build.view(t, index))
    for _ in range(3000):
        total = build.apply("sub", total, read)
    use = build.for_(build.range_("i", 0, 4), [build.store(build.view(y, index), total)])
    fused = fuse(build.program([build.proc("f", [x, y], [t, fill, use], {"input_count": 1})]))
    sc.verify(fused)
    assert len(build.body_of(fused.args[0])) == 1


# --- the pass ---------------------------------------------------------------------------------------------------------


def test_the_pass_is_found_by_name_and_keeps_the_module_around_procedures() -> None:
    procedure = _chain(2).args[0]
    module = build.program([procedure], lanes=4)
    fused = sc.run_passes(module, "fuse_elementwise")
    assert fused.attrs["lanes"] == 4
    assert fused.args[0].attrs is procedure.attrs
    assert build.params_of(fused.args[0]) == build.params_of(procedure)


def test_an_empty_module_is_left_alone() -> None:
    module = build.program([])
    assert fuse(module) is module
