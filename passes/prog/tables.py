"""The constants a procedure holds in buffers, and what is computed from their entries alone.

Owned here is what a load from a table is, and the making of new tables: integer arithmetic on entries at one index is
the entry, at that index, of one table. Nothing is decided about where a table stands. Source: lowering specification
3.8.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple

import numpy as np

from scaly_ir.dialects.prog import build, ops
from scaly_ir.dialects.prog.context import buffer_size
from scaly_ir.dialects.prog.evaluate.scalars import TRUNCATING
from scaly_ir.effects import may_drop
from scaly_ir.graph import Node
from scaly_ir.graph.observe import report_rewrite
from scaly_ir.graph.rewrite import Mode, substitute
from scaly_ir.graph.walk import topovisit
from scaly_ir.numeric.table import scalar_name
from scaly_ir.passes.prog.index_values import Array, index_values, tables_of
from scaly_ir.passes.prog.references import effect
from scaly_ir.tables import Table

MOST_ENTRIES: Final = 1 << 20
"""No table is made where a procedure would then hold more entries than that."""

LARGEST: Final = 256
"""So many nodes has the text of an expression at most that is computed for all entries."""


class _Constants(NamedTuple):
    """What a buffer holds: entries of a table from `offset` on, or one number throughout."""

    size: int
    values: Any
    offset: int
    number: Node | None
    """What all entries are, when they agree by their bits."""


class _Entries(NamedTuple):
    """Integer arithmetic on entries of tables of one length at one index; without an index, on constants alone."""

    at: Node | None
    length: int
    divides: bool
    """Whether a truncating division is part of it."""
    size: int
    """The number of nodes in its text."""


_NUMBER: Final = _Entries(None, 0, divides=False, size=1)


class Tables:
    """The tables of one procedure, those that are made included; `names` gives the names of these."""

    def __init__(self, declarations: Iterable[Node], names: Iterator[str]) -> None:
        listed = list(declarations)
        self.made: list[Node] = []
        """The declarations of new tables."""
        self._names = names
        self._constants: dict[str, _Constants] = {}
        self._numbers = tables_of(listed)
        self._total = 0
        self._by_content: dict[tuple[object, bytes], Node] = {}
        self._entries: dict[Node, _Entries | None] = {}
        self._effects: dict[Node, int] = {}
        for node in listed:
            self._declare(node)

    def _declare(self, node: Node) -> None:
        name, size = node.attrs["name"], buffer_size(node) or 0
        source = self._constants.get(node.attrs.get("alias_of", ""))
        if source is not None:
            offset = source.offset + node.attrs["alias_offset"]
            self._constants[name] = source._replace(size=size, offset=offset)
        elif "values" in node.attrs:
            values = node.attrs["values"]
            self._total += size
            bits = Table.of(values, node.type, [size]).data
            uniform = size > 0 and bits == bits[: node.type.size] * size
            number = build.const(values[0], node.type) if uniform else None
            self._constants[name] = _Constants(size, values, 0, number)

    def fill(self, buffer: Node, number: Node) -> None:
        """Note that a buffer holds a number throughout."""
        self._constants[buffer.attrs["name"]] = _Constants(buffer_size(buffer) or 0, (), 0, number)

    # --- loads --------------------------------------------------------------------------------------------------------

    def read(self, load: Node) -> Node | None:
        """Return the constant that a load is, or None.

        What is out of range stays: it stands in code that never runs. An index that need not be known must still be
        evaluated if that may do more than read.
        """
        (view,) = load.args
        constants = self._constants.get(view.attrs["buffer"])
        if constants is None:
            return None
        (index,) = view.args
        if index.op is ops.CONST_INT:
            at = index.attrs["value"]
            if not 0 <= at < constants.size:
                return None
            if constants.number is None:
                return build.const(constants.values[constants.offset + at], load.type)
            return constants.number
        return constants.number if self._may_drop(index) else None

    def _may_drop(self, index: Node) -> bool:
        return may_drop(topovisit(index, self._effect, self._effects))

    def _effect(self, node: Node) -> int:
        return max([effect(node.op), *[self._effects[operand] for operand in node.args]])

    # --- entries at one index -----------------------------------------------------------------------------------------

    def composed(self, value: Node) -> Node | None:
        """Return the load that integer arithmetic with a truncating division is, or None when it is none."""
        entries = self._entries_of(value)
        if entries is None or entries.at is None or not entries.divides:
            return None
        found = self._values(value, entries)
        return None if found is None else self._load(found.tolist(), entries.at, value)

    def picked(self, load: Node) -> Node | None:
        """Return the load of a table no larger that gives what a load at an entry of another table does, or None."""
        (view,) = load.args
        source = self._constants.get(view.attrs["buffer"])
        entries = self._entries_of(view.args[0])
        if source is None or source.number is not None or entries is None or entries.at is None:
            return None
        if entries.length > source.size:
            return None
        at = self._values(view.args[0], entries)
        if at is None or at.min() < 0 or at.max() >= source.size:
            return None
        return self._load([source.values[source.offset + entry] for entry in at.tolist()], entries.at, load)

    def _entries_of(self, value: Node) -> _Entries | None:
        found: _Entries | None = topovisit(value, self._summary, self._entries)
        return found

    def _summary(self, node: Node) -> _Entries | None:
        """Return what a node computes from entries, operands being known; None for anything else."""
        if not node.type or not node.type.is_int:
            return None
        if node.op is ops.CONST_INT:
            return _NUMBER
        if node.op is ops.LOAD:
            (view,) = node.args
            (index,) = view.args
            table = self._numbers.get(view.attrs["buffer"])
            if table is None or not table.size or index.op is ops.CONST_INT or not self._may_drop(index):
                return None
            return _Entries(index, table.size, divides=False, size=1)
        below = [self._entries[operand] for operand in node.args] if ops.is_shared(node.op) else [None]
        known = [entries for entries in below if entries is not None]
        read = {(entries.at, entries.length) for entries in known if entries.at is not None}
        if len(known) < len(below) or len(read) > 1:
            return None
        at, length = next(iter(read), (None, 0))
        divides = scalar_name(node.op) in TRUNCATING or any([entries.divides for entries in known])
        return _Entries(at, length, divides, min(1 + sum([entries.size for entries in known]), LARGEST + 1))

    def _values(self, value: Node, entries: _Entries) -> Array | None:
        """Return what arithmetic on entries computes for each; None where that is not defined, or too much."""
        assert entries.at is not None
        if entries.size > LARGEST or entries.length > MOST_ENTRIES:
            return None
        entry = build.var("entry")  # the only variable, as the index is what all others stand in
        found = index_values(
            substitute(value, {entries.at: entry}, mode=Mode.ONCE),
            {"entry": np.arange(entries.length, dtype=np.int64)},
            self._numbers,
        )
        return None if found is None else np.broadcast_to(found, entries.length)

    def _load(self, values: list[Any], index: Node, replaced: Node) -> Node | None:
        """Return a load from a table of `values`, a new one if need be, in the place of a value."""
        key = (replaced.type, Table.of(values, replaced.type, [len(values)]).data)
        table = self._by_content.get(key)
        if table is None:
            if self._total + len(values) > MOST_ENTRIES:
                return None
            table = self._by_content[key] = build.table(next(self._names), values, replaced.type)
            self.made.append(table)
            report_rewrite("make_table", replaced, table)
            self._numbers |= tables_of([table])
            self._declare(table)
        return build.load(build.view(table, index))
