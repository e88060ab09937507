"""Operations, as ``--list-ops`` and ``--describe`` show them: from the tables that the verifier works with."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Final

from scaly_ir.attributes import spell_value
from scaly_ir.dialect import Dialect, dialect_names, load_dialect
from scaly_ir.effects import effect_class
from scaly_ir.manual import Entry, applied
from scaly_ir.op import CallEffectKind, Op
from scaly_ir.op_attributes import standard
from scaly_ir.signature import AttrSpec
from scaly_ir.tools.discovery.table import table

_TRAITS: Final = ("TElementwise", "TVectorizable", "TCommutative", "TConst", "TModule", "TNoDiff", "TFreshResult")
"""Flags that say something of a call."""


def dialects() -> list[Dialect]:
    """Return all dialects, sorted by name."""
    return [load_dialect(name) for name in dialect_names()]


def operations(dialect: str = "") -> dict[str, Op]:
    """Return operators, of all dialects or of one, by their names and those that text has for them, sorted."""
    by_prefix = {known.op_prefix: known for known in dialects()}  # which loads those with operators
    found = {}
    for name in Op.list_op_names():
        op = Op.get(name)
        if dialect in ("", op.dialect):
            names = (name, *entry_of(op, by_prefix.get(op.dialect)).also)
            found.update(dict.fromkeys(names, op))
    return dict(sorted(found.items()))


def operation_dialects() -> list[str]:
    """Return the dialects that operators are of, `prim` included, sorted."""
    return sorted({op.dialect for op in operations().values()})


def entry_of(op: Op, dialect: Dialect | None) -> Entry:
    """Return what the manual of its dialect says of an operator."""
    if dialect is None or not dialect.manual:
        return applied(op)
    module, _, name = dialect.manual.partition(":")
    manual: Callable[[Op], Entry] = getattr(import_module(module), name)
    return manual(op)


def list_operations(dialect: str = "") -> str:
    """Return a line for each operation, of all dialects or of one."""
    return table([(name, _summary(op)) for name, op in operations(dialect).items()])


def _summary(op: Op) -> str:
    return op.doc.strip().partition("\n")[0].rstrip(".") or f"{op.mnemonic} of its operands"


def describe_operation(name: str) -> Iterator[str]:
    """Yield the lines of the description of an operation."""
    op = operations()[name]
    dialect = next((known for known in dialects() if known.op_prefix == op.dialect), None)
    entry = entry_of(op, dialect)
    yield f"{name}: {_summary(op)}"
    yield f"  operation of dialect {op.dialect}"
    yield from ["", "Syntax", *[f"  {line}" for line in entry.syntax]]
    if entry.operands:
        yield from ["", "Operands", *table([(f"  {operand}", doc) for operand, doc in entry.operands]).splitlines()]
    if entry.result:
        yield from ["", "Result", f"  {entry.result}"]
    printed = {key: spec for key, spec in (op.attr_specs or {}).items() if spec.printed}
    if printed:
        yield from ["", "Attributes", *attribute_lines(printed)]
    if entry.regions:
        yield from ["", "Regions", f"  {entry.regions}"]
    yield from ["", "Traits", *table([(f"  {key}", meaning) for key, meaning in _traits(op)]).splitlines()]
    rules = [] if dialect is None else [rule for rule in dialect.spec.rules if rule.applies_to(op)]
    if rules:
        rows = dict.fromkeys([(f"  {rule.name}", rule.doc.partition("\n")[0]) for rule in rules])
        yield from ["", "Rules", *table(list(rows)).splitlines()]
    if entry.example:
        yield from ["", "Example", *[f"  {line}" for line in entry.example.splitlines()]]


def attribute_lines(specs: dict[str, AttrSpec]) -> list[str]:
    """Return a line for each attribute: its name, the values that it takes, and what it is when it is left out."""
    return table([(f"  {key}", spec.words + _when_left_out(spec)) for key, spec in specs.items()]).splitlines()


def _when_left_out(spec: AttrSpec) -> str:
    if spec.required:
        return ""
    return "; may be left out" if spec.default is None else f"; {spell_value(spec.default)} when left out"


def _traits(op: Op) -> Iterator[tuple[str, str]]:
    """Yield what passes ask of an operator."""
    effect, cost = CallEffectKind(op.get_attr("TCallEffectKind")), op.get_attr("TCostClass")
    yield f"TCallEffectKind={effect.name}", _EFFECTS[effect_class(effect)]
    yield f"TCostClass={cost}", "what repeating it costs"
    for key in _TRAITS:
        row = standard(key)
        if row is not None and op.get_attr(key, False):
            yield key, row.doc


_EFFECTS: Final = {
    CallEffectKind.Pure: "computes a value and does nothing else",
    CallEffectKind.ReadState: "reads what others may write",
    CallEffectKind.UpdateState: "writes, or does what nobody knows",
}
