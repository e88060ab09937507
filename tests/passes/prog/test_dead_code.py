"""Dead code elimination keeps every value and effect, leaves nothing that is unused, and takes linear time.

The golden files in `testdata/passes/dce` show what comes out; here they are run, before and after.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings

import scaly_ir as sc
from scaly_ir.dialects.prog import build, ops
from scaly_ir.effects import may_drop, side_effect
from scaly_ir.graph import Node, preorder
from scaly_ir.op import CallEffectKind, Op, registry_scope
from scaly_ir.passes.prog.dead_code import eliminate
from scaly_ir.types import FLOAT64
from tests.counting import calls_of
from tests.passes.prog.evaluator import run
from tests.passes.prog.golden_files import programs_of
from tests.passes.prog.programs import inputs_of, modules


def _check(module: Node, integer: int = 0) -> Node:
    """Remove dead code from a module, check all that must hold, and return the result."""
    sc.verify(module)
    result = eliminate(module)
    inputs = inputs_of(module, integer)
    before = run(module, inputs).outputs
    if result is not module:
        sc.verify(result)
        reread: Node = sc.parse(sc.render(result))
        assert reread is result
        after = run(result, inputs).outputs
        assert before.keys() == after.keys()
        for name, values in before.items():
            assert values.tobytes() == after[name].tobytes(), f"{values} and {after[name]}"
    assert eliminate(result) is result
    for procedure in result.args:
        _assert_nothing_is_unused(procedure)
    return result


def _assert_nothing_is_unused(procedure: Node) -> None:
    """Check that each buffer and scalar is used and that each loop does something; names are told apart roughly."""
    statements = [node for node in preorder(procedure) if node.op in ops.STATEMENTS]
    used = {node.attrs["name"] for node in preorder(procedure) if node.op is ops.VAR}
    used |= {node.attrs["buffer"] for node in preorder(procedure) if node.op is ops.VIEW}
    for statement in statements:
        if statement.op is ops.CALL:
            used |= {argument.attrs["name"] for argument in statement.args if argument.op is ops.BUFFER}
        elif statement.op is ops.BUFFER and "alias_of" in statement.attrs:
            used.add(statement.attrs["alias_of"])
    kept = {node.attrs["target"] for node in statements if node.op is ops.ASSIGN and not _is_droppable(node.args[0])}
    for statement in statements:
        if statement.op is ops.FOR:
            assert build.body_of(statement) or not _is_droppable(statement.args[0])
        elif statement.op is ops.BUFFER and statement not in build.params_of(procedure):
            assert statement.attrs["name"] in used
        elif statement.op is ops.ASSIGN:
            assert statement.attrs["target"] in used | kept


def _is_droppable(expression: Node) -> bool:
    return may_drop(side_effect(expression))


# --- every program ----------------------------------------------------------------------------------------------------


@settings(max_examples=max(300, settings().max_examples))
@given(modules())
def test_values_are_kept_and_nothing_unused_is_left(module: Node) -> None:
    _check(module)


def _without_stores_to(procedure: Node, kept: int) -> Node:
    """Return a procedure with all but every n-th of its top-level loops left out, so that much of it becomes dead."""
    body = [s for position, s in enumerate(build.body_of(procedure)) if s.op is not ops.FOR or position % kept == 0]
    return build.with_body(procedure, body)


@settings(max_examples=max(100, settings().max_examples))
@given(modules())
def test_what_becomes_dead_when_loops_are_left_out_goes(module: Node) -> None:
    """Such a module reads elements that nobody wrote, so it is not run."""
    sparse = module.replace(args=[_without_stores_to(procedure, 3) for procedure in module.args])
    sc.verify(sparse)
    result = eliminate(sparse)
    sc.verify(result)
    assert eliminate(result) is result
    for procedure in result.args:
        _assert_nothing_is_unused(procedure)


@pytest.mark.parametrize("path", programs_of("dce"), ids=lambda path: path.stem)
def test_golden_files(path: Path) -> None:
    module = sc.parse(path.read_text(encoding="utf-8"), path.name)
    assert (_check(module, integer=1) is module) == path.stem.startswith("keep_")


# --- operators that do more than compute ------------------------------------------------------------------------------


@pytest.fixture
def log() -> Iterator[list[int]]:
    """Register `test.update`, which adds its operand to this list, and `test.state`, which adds the list's length."""
    called: list[int] = []

    def update(x: int) -> int:
        called.append(int(x))
        return x

    with registry_scope():
        for name, semantics in (("update", update), ("state", lambda x: x + len(called))):
            op = Op.register(f"test.{name}")  # test.update does not say what it does: opaque
            op.set_signature(("x",))
            op.set_attr("TFixedReturnType", "int64")
            op.set_attr("FNumpy", semantics)
        Op.get("test.state").set_attr("TCallEffectKind", CallEffectKind.ReadState)
        yield called


def _module(body: str, callee: str = "") -> Node:
    text = f"""prog.module {{ {callee}
      prog.proc @f(%x: memref<4xint64>, %y: memref<4xint64>) {{input_count=1}} {{
        prog.for %i = 0 to 4 step 1 {{kind=global}} {{ prog.store 0, %y[%i] : int64 }}
        {body}
      }}
    }}"""
    module: Node = sc.parse(text)
    return module


def _left(body: str, log: list[int] | None = None, callee: str = "") -> str:
    """Return what is left of a body, blanks apart; check that outputs and what was done are the same."""
    module = _module(body, callee)
    sc.verify(module)
    result = eliminate(module)
    sc.verify(result)
    done = []
    for each in (module, result):
        called = [] if log is None else log
        called.clear()
        outputs = run(each, {"x": [1, 2, 3, 2]}).outputs
        done.append(({name: list(values) for name, values in outputs.items()}, list(called)))
    assert done[0] == done[1]
    assert eliminate(result) is result
    statements = build.body_of(result.args[-1])[1:]
    return " ".join(" ".join([sc.render(statement) for statement in statements]).split())


def _unchanged(body: str, log: list[int] | None = None, callee: str = "") -> bool:
    return _left(body, log, callee) == " ".join(body.split())


STORE = " prog.store %v, %y[0] : int64"


def test_an_opaque_value_is_kept_with_the_declaration_of_its_scalar(log: list[int]) -> None:
    assert _unchanged("%v = prog.assign test.update(prog.load %x[0]) : int64 {declare=True}", log)
    kept = "%v = prog.assign 3 : int64 {declare=True} %v = prog.assign test.update(prog.const(5, int64)) : int64"
    assert _unchanged(kept, log)
    assert _left(kept.replace("%v = prog.assign t", "%v = prog.assign 4 : int64 %v = prog.assign t"), log) == kept


def test_what_the_declaration_of_a_kept_scalar_reads_is_kept(log: list[int]) -> None:
    body = """%u = prog.assign prog.load %x[0] : int64 {declare=True} %v = prog.assign %u : int64 {declare=True}
      prog.for %k = 0 to 3 step 1 {kind=serial} { %v = prog.assign test.update(%k) : int64 }"""
    assert _unchanged(body, log)


def test_an_opaque_operator_counts_wherever_it_stands_in_a_value(log: list[int]) -> None:
    value = "prog.add(prog.load %x[test.update(prog.const(1, int64))], 2)"
    assert _unchanged(f"%v = prog.assign {value} : int64 {{declare=True}}", log)


def test_what_reads_state_is_dropped(log: list[int]) -> None:
    assert _left("%v = prog.assign test.state(prog.load %x[0]) : int64 {declare=True}", log) == ""


@pytest.mark.parametrize("bounds", ["{} to 3 step 1", "0 to {} step 1", "0 to 3 step {}"])
def test_a_loop_with_an_opaque_bound_is_kept_and_emptied(log: list[int], bounds: str) -> None:
    header = f"prog.for %k = {bounds.format('test.update(prog.const(1, int64))')} {{kind=serial}}"
    left = _left(f"{header} {{ %v = prog.assign %k : int64 {{declare=True}} }}", log)
    assert left == f"{header} {{ }}"


def test_what_an_opaque_bound_uses_is_kept(log: list[int]) -> None:
    body = """%v = prog.assign prog.load %x[1] : int64 {declare=True}
      prog.for %j = 0 to 2 step 1 {kind=serial} {
        prog.for %k = 0 to test.update(%v) step 1 {kind=serial} { } }"""
    assert _unchanged(body, log)


def test_a_step_that_is_never_evaluated_keeps_nothing(log: list[int]) -> None:
    body = "prog.for %k = 3 to 3 step test.update(prog.const(1, int64)) {kind=serial} { prog.store 7, %y[0] : int64 }"
    assert _left(body, log) == ""


# --- scalars ----------------------------------------------------------------------------------------------------------


def test_a_scalar_reassigned_in_a_loop_and_read_later_is_kept() -> None:
    body = """%n = prog.assign prog.load %x[1] : int64 {declare=True} %v = prog.assign 1 : int64 {declare=True}
      prog.for %k = 0 to %n step 1 {kind=serial} { %v = prog.assign prog.add(%v, %k) : int64 }"""
    assert _unchanged(body + STORE)
    assert _left(body) == ""


def test_a_scalar_that_only_dead_assigns_read_is_dead() -> None:
    body = """%u = prog.assign 1 : int64 {declare=True} %v = prog.assign %u : int64 {declare=True}
      prog.for %k = 0 to 4 step 1 {kind=serial} {
        %u = prog.assign prog.add(%v, %k) : int64 %v = prog.assign prog.mul(%u, 2) : int64 }"""
    assert _left(body) == ""


def test_a_scalar_that_a_bound_reads_is_needed_while_the_loop_is() -> None:
    loop = """%v = prog.assign 3 : int64 {{declare=True}}
      prog.for %k = 0 to %v step 1 {{kind=serial}} {{ %v = prog.assign prog.sub(%v, 1) : int64 {} }}"""
    assert _left(loop.format("")) == ""
    assert _unchanged(loop.format("prog.store %k, %y[0] : int64"))


def test_one_name_is_needed_in_one_scope_and_not_in_another() -> None:
    live = """prog.for %i = 0 to 4 step 1 {kind=global} {
        %v = prog.assign prog.load %x[%i] : int64 {declare=True} prog.store %v, %y[%i] : int64 }"""
    dead = """prog.for %i = 0 to 2 step 1 {kind=global} {
        %v = prog.assign prog.load %x[%i] : int64 {declare=True} %v = prog.assign prog.add(%v, 1) : int64 }"""
    changed = "prog.for %k = 0 to 1 step 1 {kind=serial} { %v = prog.assign 3 : int64 } "
    inner = live.replace("prog.store", changed + "prog.store")
    for body in (live, inner):
        for text in (body + dead, dead + body, dead + body + dead):
            assert _left(text) == " ".join(body.split())


def test_equal_loops_count_by_their_place() -> None:
    """The two loops are one node, and the second assigns a scalar that is read while the first assigns another."""
    loop = "prog.for %k = 0 to 4 step 1 {kind=serial} { %v = prog.assign prog.load %x[%k] : int64 }"
    first = f"prog.for %j = 0 to 1 step 1 {{kind=serial}} {{ %v = prog.assign 1 : int64 {{declare=True}} {loop} }}"
    second = f"%v = prog.assign 1 : int64 {{declare=True}} {loop} {STORE}"
    assert _left(first + second) == " ".join(second.split())
    assert _left(first.replace("} }", f"}} {STORE} }}") + second.replace(STORE, "")).count("prog.for") == 2


def test_a_scalar_named_like_a_loop_variable_elsewhere() -> None:
    reads = "prog.store prog.add(%v, 1), %y[0] : int64"
    loop = f"prog.for %v = 0 to 4 step 1 {{kind=serial}} {{ {reads} }}"
    assert _unchanged(f"{loop} %v = prog.assign prog.load %x[2] : int64 {{declare=True}} {reads}")
    scoped = f"prog.for %k = 0 to 1 step 1 {{kind=serial}} {{ %v = prog.assign 5 : int64 {{declare=True}} {reads} }}"
    assert _unchanged(f"{scoped} {loop}")
    dead = "prog.for %k = 0 to 1 step 1 {kind=serial} { %v = prog.assign 5 : int64 {declare=True} }"
    assert _left(f"{dead} {loop}") == loop
    assert _left(f"{loop} {dead}") == loop


# --- loops ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("bounds", ["0 to 0 step 1", "4 to 2 step 3", "0 to -1 step prog.load %x[0]"])
def test_a_loop_without_a_trip_goes_with_all_in_it(bounds: str) -> None:
    body = f"""%t = prog.buffer : memref<4xint64, private> %v = prog.assign 1 : int64 {{declare=True}}
      prog.for %j = 0 to 4 step 1 {{kind=global}} {{
        prog.for %k = {bounds} {{kind=global}} {{
          %v = prog.assign prog.load %t[0] : int64 prog.store %v, %y[%k] : int64 prog.call @g(%t)
        }}
      }}"""
    callee = "prog.proc @g(%p: memref<4xint64>) { }"
    assert _left(body, callee=callee) == ""
    left = _left(body + STORE, callee=callee)
    assert left == "%v = prog.assign 1 : int64 {declare=True}" + STORE


@pytest.mark.parametrize("width", [1, 3])
def test_a_lane_loop_goes_whole_or_stays_whole(width: int) -> None:
    lanes = """prog.for %a = 0 to 4 step %SCALY_WIDTH_1_2_3_4 {{kind=serial}} {{
        prog.for %b = 0 to prog.minimum(%SCALY_WIDTH_1_2_3_4, prog.sub(4, %a)) step 1 {{kind=vector}} {{
          %v = prog.assign prog.load %x[prog.add(%a, %b)] : int64 {{declare=True}} {} }} }}"""
    kept = lanes.format("prog.store %v, %y[prog.add(%a, %b)] : int64")
    module = _module(kept + lanes.format(""))
    result = eliminate(module)
    sc.verify(result)
    assert result is _module(kept)
    assert list(run(result, {"x": [1, 2, 3, 4]}, width=width).outputs["y"]) == [1, 2, 3, 4]


def test_a_size_that_is_stated_counts_calls_that_never_run() -> None:
    callee = """prog.proc @g(%p: memref<4xfloat64>) {{sz_w={0}, w_self={0}}} {{ }}
      prog.proc @f(%x: memref<4xfloat64>) {{input_count=0, sz_w={1}, w_self=2}} {{
        prog.for %i = 0 to 0 step 1 {{kind=serial}} {{ prog.store 1, %x[0] : float64 }}
        prog.for %i = 0 to 0 step 1 {{kind=serial}} {{
          prog.for %k = 0 to 1 step 1 {{kind=serial}} {{ prog.call @g(%x) }} }}
      }}"""
    for needed, left in ((0, 0), (3, 1)):
        module = sc.parse("prog.module {" + callee.format(needed, needed + 2) + "}")
        sc.verify(module)
        result = eliminate(module)
        sc.verify(result)
        assert len(build.body_of(result.args[1])) == left
        assert result.args[0] is module.args[0]


# --- buffers ----------------------------------------------------------------------------------------------------------

CHAIN = """%t = prog.buffer : memref<4xint64, private>
  %a = prog.buffer : memref<3xint64, private> = prog.alias %t offset 1
  %b = prog.buffer : memref<2xint64, private> = prog.alias %a offset 1
  %c = prog.buffer : memref<1xint64, private> = prog.alias %a offset 0 """


def test_a_chain_of_aliases_goes_together() -> None:
    assert _left(CHAIN) == ""
    assert _left(CHAIN.replace("%t =", "%x2 =").replace("alias %t", "alias %x")) == ""


def test_what_an_alias_leads_to_is_kept() -> None:
    used = "prog.store 5, %b[1] : int64"
    assert _left(CHAIN + used) == " ".join((CHAIN.partition("%c =")[0] + used).split())
    passed = "prog.call @g(%c)"
    assert "%b" not in _left(CHAIN + passed, callee="prog.proc @g(%p: memref<1xint64>) { }")


def test_a_buffer_that_only_dead_loops_refer_to_goes() -> None:
    buffers = """%t = prog.buffer : memref<2xint64, private>
      %k = prog.buffer : memref<2xint64, constant> = dense<[1, 2]> """
    dead = """prog.for %j = 0 to 0 step 1 {kind=global} { prog.store 1, %t[0] : int64 }
      prog.for %j = 0 to 2 step 1 {kind=global} {
        prog.for %l = 0 to prog.load %k[%j] step 1 {kind=global} {
          %v = prog.assign prog.load %k[%l] : int64 {declare=True} } }"""
    assert _left(buffers + dead) == ""


def test_a_buffer_that_is_only_written_stays() -> None:
    assert _unchanged("%t = prog.buffer : memref<1xint64, private> prog.store 1, %t[0] : int64")


@pytest.mark.parametrize("argument", ["%t", "%t[1]"])
def test_an_argument_is_a_use(argument: str) -> None:
    body = f"""%t = prog.buffer : memref<2xint64, private> %w = prog.buffer : memref<2xint64, private>
      prog.call @g({argument})"""
    left = _left(body, callee="prog.proc @g(%p: memref<1xint64>) { }")
    assert left == " ".join(body.replace("%w = prog.buffer : memref<2xint64, private>", "").split())


def test_the_index_of_an_argument_is_a_use() -> None:
    body = """%t = prog.buffer : memref<4xint64, private> %v = prog.assign prog.load %x[0] : int64 {declare=True}
      prog.call @g(%t[%v])"""
    assert _unchanged(body, callee="prog.proc @g(%p: memref<1xint64>) { }")


# --- what stays the same ----------------------------------------------------------------------------------------------


def test_attributes_and_other_procedures_stay() -> None:
    module = sc.parse("""prog.module {lanes=4} {
      prog.proc @g(%p: memref<4xfloat64>, %unused: memref<2xfloat64>) { prog.store 1, %p[0] : float64 }
      prog.proc @f(%x: memref<4xfloat64>) {input_count=1, lowering="scalar", scalarize_mode="inline"} {
        %t = prog.buffer : memref<2xfloat64, private>
      }
    }""")
    result = sc.run_passes(module, "dce")
    assert result.attrs is module.attrs
    assert result.args[0] is module.args[0]
    assert result.args[1].attrs is module.args[1].attrs
    assert build.body_of(result.args[1]) == ()


def test_an_empty_module_is_left_alone() -> None:
    module = build.program([])
    assert eliminate(module) is module


# --- large programs ---------------------------------------------------------------------------------------------------


def _procedure(body: list[Node]) -> Node:
    return build.program([build.proc("f", [build.param("x", (4,)), build.param("y", (4,))], body, {"input_count": 1})])


def _calls(module: Node) -> int:
    return calls_of(lambda: eliminate(module))


def _chain_of_scalars(length: int, *, used: bool = True) -> Node:
    """Return a procedure in which each scalar adds up all before it, in one growing expression."""
    body = []
    total = build.load(build.view("x", 0, FLOAT64))
    for k in range(length):
        body.append(build.assign(f"v{k}", total, declare=True))
        total = build.apply("add", total, build.var(f"v{k}", FLOAT64))
    if used:
        body.append(build.store(build.view("y", 0, FLOAT64), total))
    return _procedure(body)


def _scalars_in_loops(count: int) -> Node:
    """Return a procedure with many loops that declare the same name, half of them dead."""
    body = []
    for k in range(count):
        index = build.index(k)
        declared = build.assign("v", index, declare=True)
        use = build.store(build.view("y", 0, FLOAT64), build.cast(build.var("v"), FLOAT64))
        body.append(build.for_(build.range_("i", 0, 4), [declared, *([use] if k % 2 else [])]))
    return _procedure(body)


def _aliases(count: int) -> Node:
    body = [build.buffer("a0", (4,))]
    for k in range(1, count):
        body.append(build.alias(f"a{k}", body[-1], 0, (4,)))
    stores = [build.store(build.view(buffer, 0), build.const(1, FLOAT64)) for buffer in reversed(body)]
    return _procedure([*body, *stores])


@pytest.mark.parametrize("make", [_chain_of_scalars, _scalars_in_loops, _aliases])
def test_the_work_is_linear(make: Callable[[int], Node]) -> None:
    short, long = _calls(make(1_000)), _calls(make(2_000))
    assert 1.9 < long / short < 2.1


def test_a_long_chain_of_dead_scalars_goes() -> None:
    assert build.body_of(eliminate(_chain_of_scalars(5_000, used=False)).args[0]) == ()
    used = _chain_of_scalars(5_000)
    assert eliminate(used) is used


def test_a_hundred_thousand_statements() -> None:
    x, y = build.view("x", 0, FLOAT64), build.view("y", 0, FLOAT64)
    body = [build.assign("v", build.load(x), declare=True)]
    for k in range(50_000):
        body.append(build.assign("v", build.apply("add", build.var("v", FLOAT64), build.const(k, FLOAT64))))
        body.append(build.store(y, build.const(k, FLOAT64)))
    result = eliminate(_procedure(body))
    assert len(build.body_of(result.args[0])) == 50_000


@pytest.mark.parametrize("used", [True, False])
def test_a_thousand_loops(used: bool) -> None:
    nest = build.assign("v", build.var("j999"), declare=True)
    inside = [nest, build.store(build.view("y", 0, FLOAT64), build.cast(build.var("v"), FLOAT64))] if used else [nest]
    for depth in reversed(range(1000)):
        inside = [build.for_(build.range_(f"j{depth}", 0, 1), inside)]
    module = _procedure(inside)
    result = eliminate(module)
    sc.verify(result)
    assert result is module if used else build.body_of(result.args[0]) == ()


def test_a_deep_value_and_one_with_a_large_text() -> None:
    value = build.load(build.view("x", 0, FLOAT64))
    for _ in range(3000):
        value = build.apply("mul", value, value)
    body = [build.assign(f"v{k}", value, declare=True) for k in range(100)]
    assert build.body_of(eliminate(_procedure(body)).args[0]) == ()
