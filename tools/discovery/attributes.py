"""Attributes of operations, and those of operators, as ``--describe`` shows them."""

from __future__ import annotations

from collections.abc import Iterator

from scaly_ir.op import Op
from scaly_ir.op_attributes import STANDARD
from scaly_ir.signature import AttrSpec
from scaly_ir.tools.discovery.operations import attribute_lines, operations


def _specs() -> Iterator[tuple[str, str, AttrSpec]]:
    """Yield each attribute that text may have: its name, its operation and what it holds."""
    for name, op in operations().items():
        for key, spec in (op.attr_specs or {}).items():
            if spec.printed:
                yield key, name, spec


def attribute_names() -> list[str]:
    """Return the names of all attributes that operations may have."""
    return list(dict.fromkeys([key for key, _, _ in _specs()]))


def describe_attribute(name: str) -> Iterator[str]:
    """Yield the lines of the description of an attribute: what it holds, for each set of operations that have it."""
    yield f"{name}: an attribute of operations"
    holders: dict[str, list[str]] = {}
    for key, operation, spec in _specs():
        if key == name:
            (line,) = attribute_lines({key: spec})
            holders.setdefault(line, []).append(operation)
    for line, names in holders.items():
        yield from ["", line, *[f"      {operation}" for operation in names]]


def operator_attribute_names() -> list[str]:
    """Return the keys that operators have, the standard ones and those of plug-ins."""
    return list(dict.fromkeys([*STANDARD, *Op.list_attr_names()]))


def describe_operator_attribute(key: str) -> Iterator[str]:
    """Yield the lines of the description of what operators declare under a key."""
    row = STANDARD.get(key)
    yield f"{key}: {'an attribute of operators' if row is None else row.doc}"
    if row is not None:
        yield f"  an attribute of operators; holds {row.expects}"
    names = [name for name, op in operations().items() if op.has_attr(key)]
    yield from ["", "Operations", *[f"  {name}" for name in names]]
