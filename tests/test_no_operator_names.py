"""Passes find operators through attributes, never by a list of their names (operator specification A5)."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from scaly_ir.dialect import dialect_names, load_dialect
from scaly_ir.op import Op

PASSES = Path(__file__).resolve().parents[1] / "passes"


def _operator_names() -> set[str]:
    """Names of all operators but the structural ones, which have a syntax of their own and may be matched by name."""
    for name in dialect_names():
        load_dialect(name)
    return {name for name in Op.list_op_names() if not Op.get(name).get_attr("TStructural")}


def _named(source: str, names: set[str]) -> Iterator[tuple[int, str]]:
    """Yield line and value of each string literal that is an operator's name."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and node.value in names:
            yield node.lineno, node.value


def test_no_pass_names_an_operator() -> None:
    names = _operator_names()
    found = [
        f"{file.relative_to(PASSES)}:{line}: '{name}'"
        for file in sorted(PASSES.rglob("*.py"))
        for line, name in _named(file.read_text(encoding="utf-8"), names)
    ]
    assert not found, "ask for an attribute of the operator instead:\n" + "\n".join(found)


def test_the_test_knows_operators_when_it_sees_them() -> None:
    names = _operator_names()
    assert {"prim.add", "prog.exp", "prim.sigmoid"} <= names
    assert names.isdisjoint({"prog.for", "prog.store", "prim.const"})
    assert list(_named("if op.name in ('prog.add', 'prog.for'):\n    x = f'prim.{name}'", names)) == [(1, "prog.add")]
