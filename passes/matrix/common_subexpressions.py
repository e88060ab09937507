"""Merge statements of functions of buffers that compute the same value as one before them.

A statement counts as the same when it has the same operator, attributes and operands. Fresh storage is never merged.
What reads storage is merged only where nothing may write to it between the two: neither in the text between them, nor
in an earlier trip of a loop that is around the second alone. Scalars that are nested stay nested. Source: operator
specification A5, matrix specification 3.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from scaly_ir.dialects.buffer import build
from scaly_ir.effects import CallEffectKind, effect_class, may_merge, side_effect
from scaly_ir.graph import Node
from scaly_ir.passes.matrix.rebuilding import Rebuilding, in_functions
from scaly_ir.types import MemRefType


def eliminate(root: Node) -> Node:
    """Return a module in which no function computes a value again that it has; the module itself if nothing changes."""
    return in_functions(root, lambda function: _Merging(function).run())


class _Known(NamedTuple):
    """A value that is there: its name, where it was computed, and how many regions were open."""

    name: str
    at: int
    depth: int


_ANY: Final = ""
"""Stands for all updates of state."""
_UNKNOWN: Final = "?"
"""Stands for updates that do not say by an operand of what."""


class _Merging(Rebuilding):
    """One walk that knows what was computed so far, in this region or one around it.

    Statements are counted in the order of the text, the function as 0.
    """

    def __init__(self, function: Node) -> None:
        super().__init__(function)
        self._updates, self._ends = _events(function)
        self._at = 0
        self._open_ends: list[int] = []
        """The last statement of each open region."""
        self._known: dict[Node, _Known] = {}
        self._found: list[list[tuple[Node, _Known | None]]] = []
        """For each open region what was found out in it, and what was known instead before."""

    def open(self, owner: Node, operands: Sequence[Node]) -> None:
        """Begin a region."""
        self._open_ends.append(self._ends[self._at])
        self._found.append([])
        super().open(owner, operands)

    def close(self) -> Node | None:
        """End a region: what was found out in it is not known outside."""
        self._open_ends.pop()
        for key, before in reversed(self._found.pop()):
            if before is None:
                del self._known[key]
            else:
                self._known[key] = before
        return super().close()

    def enter(self, statement: Node, operands: Sequence[Node]) -> None:
        """Count a statement with a region."""
        self._at += 1
        super().enter(statement, operands)

    def place(self, statement: Node) -> None:
        """Emit a statement, unless what it computes is known."""
        if build.region_of(statement) is not None:
            self.emit(statement)
            return
        self._at += 1
        if not _may_be_merged(statement):
            self.emit(statement)
            return
        (name,) = statement.attrs["results"]
        key = statement.with_attrs(results=None)
        known = self._known.get(key)
        if known is not None and may_merge(_effect(statement), updated_between=self._is_updated(statement, known)):
            self.bind(name, build.value(known.name, statement.type))
            return
        made = self.emit(statement).attrs["results"][0]
        self._found[-1].append((key, known))
        self._known[key] = _Known(made, self._at, len(self._open_ends))

    def _is_updated(self, statement: Node, known: _Known) -> bool:
        """Tell whether what a statement reads may be written after the value that is known was computed.

        Where that is outside of a loop around the statement, all of the loop may have run in between.
        """
        end = self._at if known.depth == len(self._open_ends) else self._open_ends[known.depth]
        buffers = _buffers(statement)
        read = [*buffers, _UNKNOWN] if buffers else [_ANY]
        return any([_is_between(self._updates.get(name, ()), known.at, end) for name in read])


def _is_between(places: Sequence[int], start: int, end: int) -> bool:
    """Tell whether one of some places, in ascending order, lies behind `start` and not behind `end`."""
    following = bisect_right(places, start)
    return following < len(places) and places[following] <= end


def _may_be_merged(statement: Node) -> bool:
    """Tell whether a statement binds one value that is no storage of its own."""
    op = statement.op
    return len(statement.attrs.get("results") or ()) == 1 and not op.get_attr("TFreshResult", False)


def _effect(statement: Node) -> CallEffectKind:
    """Return what a statement does, without its region; a structural one does nothing by itself."""
    own = statement.op.get_attr("TCallEffectKind")
    structural = statement.op.get_attr("TStructural", False)
    return max(
        [
            CallEffectKind.Pure if structural else effect_class(own),
            *[side_effect(operand) for operand in build.operands_of(statement)],
        ]
    )


def _buffers(statement: Node) -> list[str]:
    """Return the names of the buffers among the operands of a statement."""
    operands = build.operands_of(statement)
    return [operand.attrs["name"] for operand in operands if isinstance(operand.type, MemRefType)]


def _events(function: Node) -> tuple[dict[str, list[int]], dict[int, int]]:
    """Return where which buffers may be written, and for each statement with a region the last one in it."""
    updates: dict[str, list[int]] = defaultdict(list)
    ends: dict[int, int] = {}
    at = 0
    pending: list[tuple[int, Iterator[Node]]] = [(0, iter(build.body_of(function.args[-1])))]
    while pending:
        start, rest = pending[-1]
        for statement in rest:
            at += 1
            if _effect(statement) is CallEffectKind.UpdateState:
                for name in (_ANY, *(_buffers(statement) or [_UNKNOWN])):
                    updates[name].append(at)
            if build.region_of(statement) is not None:
                pending.append((at, iter(build.body_of(statement.args[-1]))))
                break
        else:
            pending.pop()
            ends[start] = at
    return updates, ends
