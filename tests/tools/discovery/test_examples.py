"""What ``--describe`` shows is so: examples of passes do what they show, and those of operations are valid."""

from __future__ import annotations

import pytest

import scaly_ir as sc
from scaly_ir.dialect import dialect_names, load_dialect
from scaly_ir.graph import postorder
from scaly_ir.op import Op
from scaly_ir.pass_manager import build_pipeline, load_pass, run_pipeline
from scaly_ir.passes import PASSES
from scaly_ir.remarks import collect_remarks
from scaly_ir.tools.discovery.examples import Example, read_example
from scaly_ir.tools.discovery.operations import entry_of


def _example(name: str) -> Example:
    found = read_example(load_pass(PASSES, name), name)
    assert found is not None, f"pass '{name}' has no example: examples/{name}.sir beside its module"
    return found


@pytest.mark.parametrize("name", sorted(PASSES))
def test_a_pass_does_what_its_example_shows(name: str) -> None:
    example = _example(name)
    assert example.caption.endswith(".")
    before = sc.parse(example.before)
    sc.verify(before)
    assert sc.render(before) == example.before
    with collect_remarks() as remarks:
        after = run_pipeline(before, build_pipeline(name, PASSES))
    sc.verify(after)
    said = "".join([f"// remark: {remark.message}\n" for remark in remarks])
    assert said + sc.render(after) == example.after
    assert after is not before or said


@pytest.mark.parametrize("name", sorted(PASSES))
def test_an_example_is_short(name: str) -> None:
    assert len(_example(name).before.splitlines()) <= 22


def _operations() -> list[Op]:
    dialects = [load_dialect(name).op_prefix for name in dialect_names()]
    return [Op.get(name) for name in Op.list_op_names() if Op.get(name).dialect in dialects]


@pytest.mark.parametrize("op", _operations(), ids=lambda op: op.name)
def test_the_example_of_an_operation_is_valid_and_holds_it(op: Op) -> None:
    entry = entry_of(op, load_dialect(op.dialect))
    root = sc.parse(entry.example)
    sc.verify(root)
    assert sc.render(root) == entry.example
    assert op in {node.op for node in postorder(root)}
    assert entry.syntax
