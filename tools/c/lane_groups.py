"""Groups of lanes: a serial loop over chunks, and in it a vector loop over the lanes of one.

Owns how they are told from other loops, and what their bodies take from outside. Source: lowering specification 5.7.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from scaly_ir.dialects.prog import build, ops
from scaly_ir.dialects.prog.affine import trip_count
from scaly_ir.dialects.prog.build import body_of, statements_in
from scaly_ir.graph import Node, postorder
from scaly_ir.tools.c.widths import PREFIX
from scaly_ir.types import DType


class LaneGroup(NamedTuple):
    """A loop over groups of lanes that can be a function called for each group.

    `start` and `lane` are the variables of the loops, `width` is the symbol for the number of lanes. `buffers` and
    `scalars` are what the body takes from outside, by name, with their types; `stored` those that it writes.
    """

    start: str
    lane: str
    trips: int
    width: str
    vector: Node
    buffers: dict[str, DType]
    scalars: dict[str, DType]
    stored: frozenset[str]

    @property
    def body(self) -> tuple[Node, ...]:
        """The statements of one lane."""
        return body_of(self.vector)

    @property
    def element(self) -> Node:
        """The number of a lane's trip; lanes behind the last trip repeat it."""
        number = build.apply("add", build.var(self.start), build.var(self.lane))
        return build.apply("minimum", number, build.index(self.trips - 1))


def lane_group(loop: Node) -> LaneGroup | None:
    """Return a loop as groups of lanes; None for any other, and for lanes that call or assign something outside."""
    domain, body = loop.args[0], body_of(loop)
    width = domain.args[2]
    is_chunked = width.op is ops.VAR and width.attrs["name"].startswith(PREFIX) and domain.attrs["kind"] == "serial"
    if not is_chunked or len(body) != 1 or body[0].op is not ops.FOR:
        return None
    start, lane = domain.attrs["name"], body[0].args[0].attrs["name"]
    trips = trip_count(build.range_(start, domain.args[0], domain.args[1]))
    if domain.args[0] is not build.index(0) or not trips:
        return None
    valid = build.apply("minimum", width, build.apply("sub", build.index(trips), build.var(start)))
    if body[0].args[0] is not build.range_(lane, 0, valid, 1, "vector"):
        return None
    return _with_captures(start, lane, trips, width.attrs["name"], body[0])


def _with_captures(start: str, lane: str, trips: int, width: str, vector: Node) -> LaneGroup | None:
    declared = {start, lane}
    buffers: dict[str, DType] = {}
    scalars: dict[str, DType] = {}
    stored: set[str] = set()
    for statement in statements_in(vector):
        if statement.op is ops.CALL or (statement.op is ops.ASSIGN and not _is_declared(statement, declared)):
            return None
        for node in postorder(*_operands(statement)):
            if node.op is ops.VIEW:
                buffers[node.attrs["buffer"]] = node.type
            elif node.op is ops.VAR and node.attrs["name"] not in declared:
                scalars[node.attrs["name"]] = node.type
        if statement.op is ops.FOR:
            declared.add(statement.args[0].attrs["name"])
        elif statement.op is ops.ASSIGN:
            declared.add(statement.attrs["target"])
        else:
            stored.add(statement.args[0].attrs["buffer"])
    taken = {name: kind for name, kind in sorted(scalars.items()) if not name.startswith(ops.RESERVED_PREFIX)}
    return LaneGroup(start, lane, trips, width, vector, dict(sorted(buffers.items())), taken, frozenset(stored))


def _is_declared(assignment: Node, declared: set[str]) -> bool:
    return assignment.attrs.get("declare", False) or assignment.attrs["target"] in declared


def _operands(statement: Node) -> Sequence[Node]:
    return statement.args[0].args if statement.op is ops.FOR else statement.args
