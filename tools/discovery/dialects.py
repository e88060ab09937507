"""Dialects, and the rules of their verifiers, as ``--list-dialects`` and ``--describe`` show them."""

from __future__ import annotations

from collections.abc import Iterator

from scaly_ir.tools.discovery.operations import dialects, operations
from scaly_ir.tools.discovery.passes import passes_on
from scaly_ir.tools.discovery.table import table


def list_dialects() -> str:
    """Return a line for each dialect."""
    return table([(dialect.name, dialect.summary or "(from a plug-in)") for dialect in dialects()])


def describe_dialect(name: str) -> Iterator[str]:
    """Yield the lines of the description of a dialect."""
    (dialect,) = [dialect for dialect in dialects() if dialect.name == name]
    yield f"{name}: {dialect.summary or '(from a plug-in)'}"
    own = operations(dialect.op_prefix)
    yield f"  dialect of {len(own)} operations, see --list-ops={dialect.op_prefix}"
    yield from ["", "Passes", *[f"  {known}" for known in passes_on(dialect.op_prefix)]]
    rules = dict.fromkeys([(f"  {rule.name}", rule.doc.partition("\n")[0]) for rule in dialect.spec.rules])
    yield from ["", "Rules of the verifier", *table(list(rules)).splitlines()] if rules else []


def rule_names() -> list[str]:
    """Return the names of all rules of all verifiers."""
    return list(dict.fromkeys([rule.name for dialect in dialects() for rule in dialect.spec.rules]))


def describe_rule(name: str) -> Iterator[str]:
    """Yield the lines of the description of a rule."""
    found = [(dialect, rule) for dialect in dialects() for rule in dialect.spec.rules if rule.name == name]
    yield f"{name}: what a verifier checks, and the code of its errors"
    yield from table(list(dict.fromkeys([(f"  {dialect.name}", rule.doc) for dialect, rule in found]))).splitlines()
    checked = {op for dialect, rule in found for op in operations(dialect.op_prefix).values() if rule.applies_to(op)}
    names = [known for known, op in operations().items() if op in checked]
    yield from ["", "Operations", *[f"  {known}" for known in names]]
