"""How many lanes a loop has at most: as many as the registers of a target hold of all that is live at one time.

Source: lowering specification 3.12.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Final

from scaly_ir.dialects.prog import ops
from scaly_ir.dialects.prog.build import body_of
from scaly_ir.graph import Node, postorder

REGISTER_DOUBLES: Final = (16, 32, 64, 256)
"""How many doubles the vector registers of targets hold, in the order of the numbers in a width symbol."""

_WIDTHS: Final = (8, 4, 2, 1)
_OVERCOMMITMENT: Final = 4
"""Live values may fill the registers so many times: part of them waits in memory."""


def width_symbol(body: Sequence[Node], trips: int, fixed: int | None) -> str:
    """Return the symbol for the lanes of a loop with this body; `fixed` is the number asked for, if any."""
    peak = live_peak(body)
    caps = [_cap(peak, trips, fixed, doubles) for doubles in REGISTER_DOUBLES]
    return f"{ops.RESERVED_PREFIX}WIDTH_{'_'.join(map(str, caps))}"


def _cap(peak: int, trips: int, fixed: int | None, doubles: int) -> int:
    most = min(1 << (trips - 1).bit_length(), fixed or _WIDTHS[0])
    fitting = [width for width in _WIDTHS if width <= most and peak * width <= _OVERCOMMITMENT * doubles]
    return fitting[0] if fitting else 1


def live_peak(body: Sequence[Node]) -> int:
    """Return how many floating scalars are live at one statement, at the most; at least 1.

    A scalar lives from the statement that declares it to the last that uses it, or to the end of the outermost loop
    around that use in which it is not declared: the next trip needs it again.
    """
    spans: list[list[int]] = []
    visible: dict[str, tuple[list[int], int]] = {}
    until_end: list[list[list[int]]] = [[]]  # of each open body: the spans that last as long as it
    pending = [iter(body)]
    position = 0
    while pending:
        level = len(pending) - 1
        position += 1
        for node in pending[-1]:
            for name in _used(node):
                if name in visible:
                    span, declared = visible[name]
                    span[1] = position
                    if declared < level:
                        until_end[declared + 1].append(span)
            if node.op is ops.ASSIGN and node.type.is_float and node.attrs.get("declare", False):
                spans.append([position, position])
                visible[node.attrs["target"]] = (spans[-1], level)
            position += 1
            if node.op is ops.FOR:
                pending.append(iter(body_of(node)))
                until_end.append([])
                break
        else:
            pending.pop()
            for span in until_end.pop():
                span[1] = position
    return max(_most_at_once(spans), 1)


def _used(node: Node) -> list[str]:
    if node.op is ops.FOR:
        return []  # its bounds are constants
    names = [operand.attrs["name"] for operand in postorder(*node.args) if operand.op is ops.VAR]
    if node.op is ops.ASSIGN and not node.attrs.get("declare", False):
        names.append(node.attrs["target"])  # one that is assigned again waits for that
    return names


def _most_at_once(spans: Sequence[Sequence[int]]) -> int:
    changes = sorted([(first, 1) for first, _ in spans] + [(last + 1, -1) for _, last in spans])
    return max(accumulate([change for _, change in changes]), default=0)
