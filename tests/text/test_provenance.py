"""Where what passes made comes from, as they tell it: `Provenance`, and the places that follow from it."""

from __future__ import annotations

import pytest

import scaly_ir as sc
from scaly_ir.dialect import dialect_of, parse_source
from scaly_ir.dialects.prog import build, ops
from scaly_ir.graph import Node
from scaly_ir.graph.observe import observe_rewrites, report_derived, report_rebuilt, report_rewrite
from scaly_ir.text.origins import Origins
from scaly_ir.text.provenance import Provenance
from scaly_ir.text.source import Source
from scaly_ir.types import FLOAT64

TEXT = """\
prog.proc @f(%x: memref<4xfloat64>) {
  prog.store 1.5, %x[0] : float64
  prog.store prog.neg(2.5), %x[1] : float64
  prog.for %i = 0 to 4 step 1 {kind=serial} {
    prog.store 3.5, %x[2] : float64 loc(unknown)
  }
}
"""


class _File:
    def __init__(self) -> None:
        parsed = parse_source(Source("x.sir", TEXT))
        assert parsed.root is not None
        self.root = parsed.root
        (self.procedure,) = parsed.root.args
        self.first, self.second, self.loop = build.body_of(self.procedure)
        self.inner = self.loop.args[1]
        operations = list(dialect_of(parsed.root).operations(parsed.root))
        self.provenance = Provenance(operations)
        self._origins = Origins(parsed.locations, operations)

    def lines(self, *nodes: Node) -> list[str]:
        """Return the lines of statements that the procedure consists of after a pass."""
        made = [self.procedure, *nodes]
        finder = self._origins.after(self.provenance, made).finder()
        return [finder(node).removeprefix('loc("x.sir":').partition(":")[0] for node in made][1:]

    def line(self, node: Node) -> str:
        return self.lines(node)[0]


@pytest.fixture
def file() -> _File:
    return _File()


def _new(value: float, element: int = 3) -> Node:
    return build.store(build.view(build.param("x", (4,), FLOAT64), element), build.const(value, FLOAT64))


def test_what_nobody_tells_of_comes_from_the_function(file: _File) -> None:
    assert file.line(_new(8.0)) == "1"


def test_what_is_made_for_an_operation_has_its_place(file: _File) -> None:
    one, two = _new(6.0), _new(7.0)
    with observe_rewrites(file.provenance):
        report_derived(file.second, one)
        report_rewrite("rule", file.loop, two)
    assert (file.line(one), file.line(two), file.line(file.first)) == ("3", "4", "2")


def test_what_is_made_of_that_comes_from_there_too(file: _File) -> None:
    with observe_rewrites(file.provenance):
        report_derived(file.second, _new(6.0))
        report_rebuilt(_new(6.0), _new(7.0))
        report_rewrite("rule", _new(7.0), _new(9.0))
    assert file.line(_new(9.0)) == "3"


def test_what_is_around_says_nothing_of_what_was_told_before(file: _File) -> None:
    with observe_rewrites(file.provenance):
        report_derived(file.second, _new(6.0))
        report_derived(file.procedure, build.for_(build.range_("k", 0, 4), [_new(6.0), _new(7.0)]))
    assert file.lines(_new(6.0), _new(7.0)) == ["3", "1"]


def test_equal_operations_come_from_several_in_order(file: _File) -> None:
    with observe_rewrites(file.provenance):
        report_derived(file.loop, _new(6.0))
        report_derived(file.first, _new(6.0))
    assert file.lines(_new(6.0), _new(6.0)) == ["2", "4"]
    assert file.lines(_new(6.0)) == ["2"], "what was told last"


def test_of_very_many_the_last_ones_are_remembered(file: _File) -> None:
    with observe_rewrites(file.provenance):
        for number in range(500):
            report_derived(file.first, _new(float(number)))
            report_rebuilt(_new(float(number)), _new(1000.0))
        report_derived(file.second, _new(1000.0))
    assert file.provenance.origins(_new(1000.0)) == [file.first, file.second]
    assert file.line(_new(1000.0)) == "3"
    many = Provenance([_new(float(number)) for number in range(500)])
    for number in range(500):
        many.rebuilt(_new(float(number)), _new(1000.0))
    assert many.origins(_new(1000.0)) == [_new(float(number)) for number in range(500)][-64:]


def test_names_that_are_taken_over(file: _File) -> None:
    one, two = _new(6.0), _new(7.0)
    with observe_rewrites(file.provenance):
        report_derived(file.first, one)
        report_derived(file.second, two)
        file.provenance.renamed([(one, two), (two, one)])
    assert file.lines(one, two) == ["3", "2"]


def test_a_body_that_is_made_comes_with_its_loop(file: _File) -> None:
    with observe_rewrites(file.provenance):
        report_derived(file.second, build.for_(build.range_("k", 0, 4), [_new(6.0)]))
    assert file.line(_new(6.0)) == "3"


def test_operations_of_the_file_stay_where_they_are(file: _File) -> None:
    with observe_rewrites(file.provenance):
        report_derived(file.loop, file.first, build.for_(build.range_("k", 0, 4), [file.second]))
        report_derived(file.second, _new(6.0))
    assert (file.line(file.first), file.line(file.second), file.line(_new(6.0))) == ("2", "3", "3")


def test_what_is_made_for_an_operand_comes_from_its_operation(file: _File) -> None:
    negated = file.second.args[1]
    assert negated.op is sc.Op.get("prog.neg")
    with observe_rewrites(file.provenance):
        report_rewrite("rule", negated, build.const(-2.5, FLOAT64))
        report_derived(build.const(-2.5, FLOAT64), _new(-2.5))
    assert file.line(_new(-2.5)) == "3"


def test_a_function_that_becomes_another_says_nothing_of_its_parts(file: _File) -> None:
    changed = build.with_body(file.procedure, [_new(6.0)])
    with observe_rewrites(file.provenance):
        report_rewrite("rule", file.procedure, changed)
        report_derived(file.second, _new(6.0))
    assert file.line(_new(6.0)) == "3"


def test_what_is_unknown_stays_so(file: _File) -> None:
    with observe_rewrites(file.provenance):
        report_derived(file.inner, _new(6.0))
    assert file.lines(file.inner, _new(6.0)) == ["loc(unknown)"] * 2


def test_nodes_tell_when_they_are_replaced_and_bodies_when_they_change(file: _File) -> None:
    with observe_rewrites(file.provenance):
        moved = file.second.replace(args=[file.first.args[0], file.second.args[1]])
        body = build.with_body(file.loop, [moved, _new(6.0)])
    assert (file.line(moved), file.line(body), body.op) == ("3", "4", ops.FOR)
