"""What is known of the integers at one place of a procedure, for the choice between plain and wrapping arithmetic.

Loop variables lie between their bounds, scalars that keep their first value between its bounds, and what is read from a
table among its numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from scaly_ir.dialects.prog import ops
from scaly_ir.dialects.prog.build import buffer_of
from scaly_ir.graph import Node
from scaly_ir.numeric.bounds import bounds
from scaly_ir.numeric.interval import Interval, covering, full
from scaly_ir.tools.c.usage import Usage
from scaly_ir.tools.c.widths import LANE_COUNTS, WIDTHS
from scaly_ir.types import INT64


class Ranges(Mapping[Any, Interval]):
    """Intervals of variables by name, and of reads from tables by node.

    Names are unique where they are in scope, so one that comes again later just takes the place of the first.
    """

    def __init__(self, usage: Usage) -> None:
        self._reassigned = usage.reassigned
        self._variables: dict[str, Interval] = {}
        self._tables: dict[str, Interval] = {}
        for name, node in usage.declarations.items():
            source = node.attrs.get("alias_of")
            if source in self._tables:
                self._tables[name] = self._tables[source]
            elif "values" in node.attrs and not node.type.is_float:
                self._tables[name] = covering(node.attrs["values"])

    def get(self, key: Any, default: Any = None) -> Any:
        """Return what is known of a variable or node."""
        if isinstance(key, Node):
            return self._tables.get(buffer_of(key.args[0]), default) if key.op is ops.LOAD else default
        if key.startswith(ops.RESERVED_PREFIX):
            return WIDTHS
        return self._variables.get(key, default)

    def __getitem__(self, key: Any) -> Interval:
        found = self.get(key)
        if found is None:
            raise KeyError(key)
        return found  # type: ignore[no-any-return]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._variables)

    def __len__(self) -> int:
        return len(self._variables)

    def may_leave_int64(self, domain: Node) -> bool:
        """Tell whether a loop variable may leave its type after the last trip, which saw it below the loop's end."""
        _, stop, step = domain.args
        cache: dict[Node, Interval] = {}
        return bounds(stop, self, cache).high - 1 + bounds(step, self, cache).high > full(INT64).high

    def enter_loop(self, domain: Node) -> None:
        """Learn the values of a loop variable; the loop may read its end again, so any of its values counts."""
        start, stop, _ = domain.args
        cache: dict[Node, Interval] = {}
        low, high = bounds(start, self, cache).low, bounds(stop, self, cache).high - 1
        self._variables[domain.attrs["name"]] = Interval(low, high)

    def enter_lanes(self, start: str, lane: str, trips: int) -> None:
        """Learn the values of the variables of a group of lanes."""
        self.enter(start, range(trips))
        self.enter(lane, range(LANE_COUNTS[-1]))

    def enter(self, variable: str, values: range) -> None:
        """Learn the values of an integer."""
        self._variables[variable] = Interval(values[0], values[-1])

    def assign(self, target: str, value: Node) -> None:
        """Learn the value of a scalar."""
        if not value.type.is_int:
            return
        if target in self._reassigned:
            self._variables.pop(target, None)
        else:
            self._variables[target] = bounds(value, self)
