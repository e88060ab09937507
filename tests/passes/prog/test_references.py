"""The shared analysis of the `prog` passes: what statements refer to, and where that changes."""

from __future__ import annotations

import pytest

import scaly_ir as sc
from scaly_ir.dialects.prog import build
from scaly_ir.graph import Node
from scaly_ir.passes.prog.references import (
    MANY,
    NEVER,
    Dependences,
    Effects,
    Read,
    References,
    occurrences,
    references,
    statements,
)
from scaly_ir.types import FLOAT64

HEAD = "prog.proc @f(%x: memref<8xfloat64>, %at: memref<8xint64>, %y: memref<8xfloat64>) {input_count=2} {\n"
INDEX = build.var("i")


def _statement(text: str) -> Node:
    """Return the last statement of a procedure body."""
    return build.body_of(sc.parse(f"{HEAD}{text}\n}}").args[0])[-1]


def _references(text: str, **callees: Effects) -> References:
    return references(_statement(text), callees)


def _dependences(text: str, **callees: Effects) -> Dependences:
    return Dependences(sc.parse(f"{HEAD}{text}\n}}").args[0], callees)


def _read(text: str, buffer: str) -> Read:
    (read,) = _references(text).reads[buffer]
    return read


# --- one statement ----------------------------------------------------------------------------------------------------


def test_a_store_reads_what_its_value_and_its_index_load() -> None:
    found = _references("prog.store prog.load %x[2], %y[prog.load %at[1]] : float64")
    assert set(found.reads) == {"x", "at"}
    assert found.writes == {"y"}
    assert not found.assigned
    assert not found.passed


def test_a_pair_reads_both_values_and_writes_its_buffer() -> None:
    found = _references("prog.store_pair prog.load %x[2], prog.load %x[3], %y[0] : float64")
    assert {read.load.args[0].args[0] for read in found.reads["x"]} == {build.index(2), build.index(3)}
    assert found.writes == {"y"}


def test_an_assignment_writes_no_buffer() -> None:
    found = _references("%v = prog.assign prog.load %x[0] : float64 {declare=True}")
    assert found.assigned == {"v"}
    assert not found.writes


def test_a_declaration_refers_to_nothing() -> None:
    found = _references("%a = prog.buffer : memref<4xfloat64, private> = prog.alias %x offset 2")
    assert found == References()


def test_trips_multiply_and_sibling_loads_are_apart() -> None:
    found = _references("""
        prog.for %i = 0 to 3 step 1 {kind=global} {
          prog.store prog.load %x[%i], %y[%i] : float64
          prog.for %j = 1 to 8 step 2 {kind=reduce} {
            prog.store prog.load %x[%i], %y[%j] : float64
          }
        }""")
    assert [read.trips for read in found.reads["x"]] == [3, 12]


@pytest.mark.parametrize("stop", ["prog.load %at[0]", "%i", "%SCALY_WIDTH_2_2_2_2"])
def test_trips_are_unknown_inside_a_loop_that_is_not_constant(stop: str) -> None:
    read = _read(
        f"""prog.for %i = 0 to 3 step 1 {{kind=global}} {{ prog.for %j = 0 to {stop} step 1 {{kind=global}} {{
          prog.store prog.load %x[%j], %y[%j] : float64 }} }}""",
        "x",
    )
    assert read.trips is None


def test_a_loop_without_trips_reads_nothing_but_counts_its_text() -> None:
    read = _read(
        """prog.for %i = 3 to 3 step 1 {kind=global} {
          prog.store prog.add(prog.load %x[%i], prog.load %x[%i]), %y[%i] : float64 }""",
        "x",
    )
    assert (read.trips, read.occurrences) == (0, 2)


def test_loop_bounds_are_reads_of_their_own_kind() -> None:
    found = _references("""prog.for %i = prog.load %at[prog.load %at[0]] to 8 step 1 {kind=serial} {
          prog.store 1, %y[%i] : float64 }""")
    assert found.bound_reads == {"at"}
    assert not found.reads


def test_what_an_index_holds() -> None:
    text = "prog.store prog.load %x[prog.cast(prog.sqrt(prog.cast(prog.load %at[0], float64)), int64)], %y[0] : float64"
    outer, inner = _read(text, "x"), _read(text, "at")
    assert outer.index == (6, True, True)
    assert inner.index == (1, False, False)
    assert (outer.in_index, inner.in_index) == (False, True)


def test_the_index_of_a_store_is_no_index_of_a_load() -> None:
    assert not _read("prog.store 1, %y[prog.load %at[0]] : float64", "at").in_index


def test_a_load_is_in_an_index_wherever_else_it_stands() -> None:
    text = "prog.store prog.add(prog.cast(prog.load %at[0], float64), prog.load %x[prog.load %at[0]]), %y[0] : float64"
    read = _read(text, "at")
    assert read.in_index
    assert read.occurrences == 2


# --- counting ---------------------------------------------------------------------------------------------------------


def test_occurrences_count_the_text_of_shared_operands() -> None:
    value = build.load(build.view("x", INDEX, FLOAT64))
    for _ in range(3):
        value = build.apply("mul", value, value)
    order, counts = occurrences([value, value])
    assert counts[value] == 2
    assert counts[INDEX] == 16
    assert order.index(value) < order.index(INDEX)


def test_counts_of_an_enormous_text_stay_numbers_of_one_word() -> None:
    value = build.load(build.view("x", INDEX, FLOAT64))
    for _ in range(5000):
        value = build.apply("add", value, value)
    loop = build.for_(build.range_("i", 0, 8), [build.store(build.view("y", INDEX, FLOAT64), value)])
    (read,) = references(loop, {}).reads["x"]
    assert read.occurrences == MANY
    assert read.trips == 8


def test_a_nest_of_a_thousand_loops_is_walked_without_recursion() -> None:
    nest = build.store(build.view("y", 0, FLOAT64), build.load(build.view("x", 0, FLOAT64)))
    for depth in range(1000):
        nest = build.for_(build.range_(f"i{depth}", 0, 2), [nest])
    assert len(list(statements(nest))) == 1001
    assert references(nest, {}).reads["x"][0].trips == 2**1000


# --- calls ------------------------------------------------------------------------------------------------------------

READS_ONLY = Effects(frozenset(), opaque=False)
CALL = "prog.call @g(%x, %y[prog.load %at[0]])"


def test_a_call_with_counts_writes_its_outputs() -> None:
    found = _references(f"{CALL} {{n_in=1, n_out=1}}", g=READS_ONLY)
    assert found.writes == {"y"}
    assert found.passed == {"x", "y"}
    assert set(found.reads) == {"at"}
    assert not found.opaque


def test_a_call_without_counts_writes_all_arguments() -> None:
    assert _references(CALL, g=READS_ONLY).writes == {"x", "y"}


def test_a_call_writes_what_the_callee_writes_whatever_it_says() -> None:
    found = _references(f"{CALL} {{n_in=2, n_out=0}}", g=Effects(frozenset({0}), opaque=False))
    assert found.writes == {"x"}


@pytest.mark.parametrize("callees", [{}, {"g": Effects(frozenset(), opaque=True)}], ids=["unknown", "opaque"])
def test_a_call_of_who_knows_what_is_opaque(callees: dict[str, Effects]) -> None:
    assert _references(f"{CALL} {{n_in=1, n_out=1}}", **callees).opaque


# --- a procedure ------------------------------------------------------------------------------------------------------

ALIASES = """
    %t = prog.buffer : memref<8xfloat64, private>
    %a = prog.buffer : memref<4xfloat64, private> = prog.alias %t offset 2
    %b = prog.buffer : memref<2xfloat64, private> = prog.alias %a offset 2
"""


def test_writes_through_an_alias_of_an_alias_reach_the_owner() -> None:
    found = _dependences(f"{ALIASES} prog.store 1, %b[0] : float64 prog.store 1, %t[0] : float64")
    assert found.root("b") == "t"
    assert found.writers("a") == [3, 4]
    assert found.next_write("a", 2) == 3
    assert found.next_write("t", 3) == 4
    assert found.next_write("b", 4) == NEVER
    assert found.next_write("x", 0) == NEVER


def test_readers_are_listed_by_the_name_they_use() -> None:
    found = _dependences(
        f"{ALIASES} prog.store prog.load %b[0], %y[0] : float64 prog.store prog.load %b[0], %y[0] : float64"
    )
    assert found.readers == {"b": [3, 4]}


def test_what_cannot_be_taken_away() -> None:
    found = _dependences(
        f"""{ALIASES} %n = prog.buffer : memref<1xint64, private>
        prog.call @g(%x, %y[0]) {{n_in=1, n_out=1}}
        prog.for %i = 0 to prog.load %n[0] step 1 {{kind=serial}} {{ }}""",
        g=READS_ONLY,
    )
    assert found.tied == {"t", "a", "x", "y", "n"}


def test_assignments_inside_of_nests_are_found() -> None:
    found = _dependences("""%v = prog.assign 1 : float64 {declare=True}
        prog.store %v, %y[0] : float64
        prog.for %i = 0 to 2 step 1 {kind=serial} { prog.for %j = 0 to 2 step 1 {kind=serial} {
          %v = prog.assign prog.add(%v, 1) : float64
        } }""")
    assert found.next_assignment("v", 0) == 2
    assert found.next_assignment("v", 2) == NEVER
    assert found.next_assignment("i", 0) == NEVER


def test_equal_statements_have_places_of_their_own() -> None:
    found = _dependences(2 * "prog.store prog.load %x[0], %y[0] : float64\n")
    assert found.body[0] is found.body[1]
    assert found.writers("y") == [0, 1]
    assert found.readers["x"] == [0, 1]


def test_effects_are_the_parameters_written_through_any_name_or_call() -> None:
    text = """%a = prog.buffer : memref<4xfloat64, private> = prog.alias %y offset 2
        prog.call @g(%x, %a) {n_in=2, n_out=0}"""
    assert _dependences(text, g=READS_ONLY).effects() == READS_ONLY
    assert _dependences(text, g=Effects(frozenset({1}), opaque=False)).effects() == Effects(
        frozenset({2}), opaque=False
    )
    assert _dependences(text).effects() == Effects(frozenset(), opaque=True)
    assert _dependences("prog.call @g(%x, %y)").next_opaque(-1) == 0
