"""Split independent loops, and ordered sums, into serial chunks of vector lanes.

Owns which loops are split and what stands in their place; that lanes may stand for trips is proved in `lane_loops.py`,
and how many there are at most is worked out in `widths.py`. Source: lowering specification 3.12.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from scaly_ir.dialects.prog import build, ops
from scaly_ir.dialects.prog.affine import count_of, loop_values
from scaly_ir.dialects.prog.build import body_of, with_body
from scaly_ir.graph import Node, postorder
from scaly_ir.graph.rewrite import Mode, substitute
from scaly_ir.pass_manager import Pass
from scaly_ir.passes.prog.lane_loops import lane_kind
from scaly_ir.passes.prog.names import c_spelling, fresh_names, taken_names
from scaly_ir.passes.prog.nests import rewritten
from scaly_ir.passes.prog.references import roots
from scaly_ir.passes.prog.widen_ranges.schedule import scheduled
from scaly_ir.passes.prog.widen_ranges.widths import width_symbol
from scaly_ir.types import FLOAT64


@dataclass(frozen=True)
class WidenRanges(Pass):
    """Splits loops into chunks of as many trips as there are lanes; a fixed number of lanes becomes the module's."""

    name: ClassVar[str] = "widen_ranges"
    summary: ClassVar[str] = "split independent loops and ordered sums into chunks of vector lanes"
    dialects: ClassVar[frozenset[str]] = frozenset({"prog"})

    lanes: Literal["auto", 1, 2, 4, 8] = "auto"
    """How many lanes there are; `auto` leaves that to the C compiler, and 1 splits nothing."""

    def run(self, root: Node) -> Node:
        """Split the loops of each procedure."""
        if self.lanes == 1:
            return root
        fixed = None if self.lanes == "auto" else self.lanes
        procedures = [_Widening(procedure, fixed).widened() for procedure in root.args]
        if all([after is before for after, before in zip(procedures, root.args, strict=True)]):
            return root
        widened = root.replace(args=procedures)
        bare = root.attrs.get("bare", False)  # procedures without a module around them have nowhere to say it
        return widened if fixed is None or bare else widened.with_attrs(lanes=fixed)


class _Widening:
    """Widens the loops of one procedure for a fixed number of lanes, or as many as there are."""

    def __init__(self, procedure: Node, fixed: int | None) -> None:
        self._procedure = procedure
        self._fixed = fixed
        self._roots = roots(procedure)
        self._taken: set[str] = set()
        self._scalars: Iterator[str] = iter(())

    def widened(self) -> Node:
        """Return the procedure with every outermost loop that fits split."""
        procedure = self._procedure
        return with_body(procedure, rewritten(body_of(procedure), rule="widen_loop", loop=self._widened))

    def _widened(self, loop: Node) -> Node | None:
        """Return what a loop becomes, None where loops inside of it may be split; lane loops stay."""
        return loop if loop.args[0].attrs["kind"] == "vector" else self._chunks(loop)

    def _chunks(self, loop: Node) -> Node | None:
        """Return a loop in chunks of lanes, or None when it does not fit."""
        domain, body = loop.args[0], body_of(loop)
        variable, kind, values = domain.attrs["name"], domain.attrs["kind"], loop_values(domain)
        if values is None or values.step != 1 or count_of(values) < 2 * (self._fixed or 1):
            return None
        if lane_kind(body, variable, values, kind, self._roots) is None:
            return None
        trips = count_of(values)
        statements = scheduled(self._without_pairs(body))
        symbol = build.var(width_symbol(statements, trips, self._fixed))
        start, lane = build.var(self._free(f"{variable}_start")), build.var(self._free(f"{variable}_lane"))
        element = build.apply("minimum", build.apply("add", start, lane), build.index(trips - 1))
        if values.start:
            element = build.apply("add", build.index(values.start), element)
        lanes = build.apply("minimum", symbol, build.apply("sub", build.index(trips), start))
        mapping = {build.var(variable): element}
        inside = [substitute(statement, mapping, mode=Mode.ONCE) for statement in statements]
        vector = build.for_(build.range_(lane.attrs["name"], 0, lanes, 1, "vector"), inside)
        return build.for_(build.range_(start.attrs["name"], 0, trips, symbol, "serial"), [vector])

    def _free(self, wanted: str) -> str:
        """Return a name for the variable of a loop: the one wanted, or that with a number when it is taken."""
        if c_spelling(wanted) not in self._names():
            return wanted
        return next(fresh_names(self._names(), f"{wanted}_", 2))

    def _names(self) -> set[str]:
        if not self._taken:
            self._taken = taken_names(self._procedure)
            self._scalars = fresh_names(self._taken, "v")
        return self._taken

    def _without_pairs(self, body: Sequence[Node]) -> list[Node]:
        """Return statements with two stores for each pair; both values are computed before the first is written."""
        return rewritten(body, lambda node: self._two_stores(node) if node.op is ops.STORE_PAIR else [node])

    def _two_stores(self, pair: Node) -> Iterator[Node]:
        view, first, second = pair.args
        behind = build.view(view.attrs["buffer"], build.apply("add", view.args[0], build.index(1)), FLOAT64)
        root = self._roots.get(view.attrs["buffer"], view.attrs["buffer"])
        read = [node.attrs["buffer"] for node in postorder(second) if node.op is ops.VIEW]
        if any([self._roots.get(name, name) == root for name in read]):
            self._names()
            name = next(self._scalars)
            yield build.assign(name, second, declare=True)
            second = build.var(name, FLOAT64)
        yield build.store(view, first)
        yield build.store(behind, second)
