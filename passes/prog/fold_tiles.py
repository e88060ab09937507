"""Keep one period of tables that repeat, and read it modulo its length.

Entries are compared by their bits. Linear in the size of the program, up to the divisors of the lengths of tables.
Source: lowering specification 3.3.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Final

from scaly_ir.dialects.prog import build, ops
from scaly_ir.dialects.prog.build import body_of, with_body
from scaly_ir.effects import may_drop
from scaly_ir.graph import Node, postorder
from scaly_ir.graph.matcher import PatternMatcher
from scaly_ir.graph.observe import report_rewrite
from scaly_ir.graph.pattern import Pattern
from scaly_ir.graph.rewrite import AfterOperands, Mode, graph_rewrite
from scaly_ir.pass_manager import Pass
from scaly_ir.passes.prog.buffer_uses import escaping
from scaly_ir.passes.prog.faults import with_sound_procedures
from scaly_ir.passes.prog.references import effect
from scaly_ir.tables import Table


@dataclass(frozen=True)
class FoldTiles(Pass):
    """Folds tables into one tile each."""

    name: ClassVar[str] = "fold_tiles"
    summary: ClassVar[str] = "keep one period of tables that repeat"
    dialects: ClassVar[frozenset[str]] = frozenset({"prog"})

    def run(self, root: Node) -> Node:
        """Fold the tables of each procedure; one in which that would show a fault of code that never runs stays."""
        return with_sound_procedures(root, [_folded(procedure) for procedure in root.args])


def _folded(procedure: Node) -> Node:
    periods = _periods(procedure)
    if not periods:
        return procedure
    body = []
    for statement in body_of(procedure):
        period = periods.get(statement.attrs["name"]) if statement.op is ops.BUFFER else None
        if period is None:
            body.append(graph_rewrite(statement, AfterOperands(_READS), mode=Mode.ONCE, ctx=periods))
            continue
        kept = [] if _is_number(period) else [period]
        report_rewrite("fold_table", statement, *kept)
        body += kept
    return with_body(procedure, body)


# --- which tables repeat ----------------------------------------------------------------------------------------------


def _periods(procedure: Node) -> dict[str, Node]:
    """Return one period of each table that only loads refer to: a shorter table, or the number that all entries are."""
    found = {}
    tables = [node for node in body_of(procedure) if node.op is ops.BUFFER and "values" in node.attrs]
    kept = escaping(procedure) if tables else set()
    evaluated = _read_with_effect(procedure) if tables else set()
    for table in tables:
        name = table.attrs["name"]
        length = None if name in kept else _period(table)
        if length is not None:
            values = table.attrs["values"][:length]
            is_number = length == 1 and _may_stand_alone(values[0]) and name not in evaluated
            period = build.const(values[0], table.type) if is_number else build.table(name, values, table.type)
            found[name] = period
    return found


def _read_with_effect(procedure: Node) -> set[str]:
    """Return the buffers with a load whose index has to be evaluated whatever the table holds."""
    kinds: dict[Node, int] = {}
    found = set()
    for node in postorder(procedure):
        kinds[node] = max([effect(node.op), *[kinds[operand] for operand in node.args]])
        if node.op is ops.LOAD and not may_drop(kinds[node]):
            found.add(node.args[0].attrs["buffer"])
    return found


def _period(table: Node) -> int | None:
    """Return the length of the smallest period of a table, at most half as long, or None when it has none."""
    values = table.attrs["values"]
    count, size = len(values), table.type.size
    if len(table.attrs["shape"]) != 1:
        return None
    bits = Table.of(values, table.type, [count]).data
    for length in range(1, count // 2 + 1):
        if count % length == 0 and bits.startswith(bits[length * size :]):
            return length
    return None


def _may_stand_alone(value: float) -> bool:
    """Tell whether a number may be written where a table was read: negative zero, infinities and NaNs may not."""
    return math.isfinite(value) and not (value == 0 and math.copysign(1.0, value) < 0)


# --- what becomes of loads --------------------------------------------------------------------------------------------


def _is_number(period: Node) -> bool:
    return period.op is not ops.BUFFER


def _read(load: Node, periods: Mapping[str, Node]) -> Node | None:
    """Return what a load reads from a folded table, or None for another load."""
    (view,) = load.args
    period = periods.get(view.attrs["buffer"])
    if period is None or _is_number(period):
        return period
    length = build.index(len(period.attrs["values"]))
    return build.load(build.view(period, build.apply("mod", view.args[0], length)))


_READS: Final = PatternMatcher([(Pattern(ops.LOAD, name="load"), lambda load, ctx: _read(load, ctx), "read")])
