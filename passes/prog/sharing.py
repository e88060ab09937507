"""Give names to what an expression uses more than once and to what lies deep in it, so that text stays small and flat.

Program text is a tree: an operand that is shared in the graph is written, and in C computed, once for each use. Owned
here is which scalars get a name and the assignments that define them; where these stand is the caller's business.
Iterative, and linear in the size of the graph. Source: lowering specification 3.2, 3.4 and 3.15.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from scaly_ir.dialects.prog import build, ops
from scaly_ir.graph import Node, intern_node, postorder
from scaly_ir.op import CallEffectKind
from scaly_ir.passes.prog.budgets import EXPRESSION_DEPTH
from scaly_ir.passes.prog.references import effect

_UNNAMED: Final = frozenset({ops.CONST_INT, ops.CONST_FLOAT, ops.VAR, ops.VIEW})
"""What never gets a name; a view is a place, and hands its uses on to its index."""


class Shared(NamedTuple):
    """The definitions of names, each before its uses, and what became of the values."""

    definitions: list[Node]
    values: list[Node]


def share(values: Sequence[Node], names: Iterator[str]) -> Shared:
    """Name what the scalars and views in `values` use more than once, and what reaches `EXPRESSION_DEPTH`.

    Equal scalars are one node, so a value that is listed twice is used twice. The definitions are assignments with
    ``declare``, in the order in which the values need them; `names` gives their targets. Nothing is named when an
    operator below changes state: how often it runs, and when, must stay.
    """
    order = postorder(*values)
    if any([effect(node.op) > CallEffectKind.ReadState for node in order]):
        return Shared([], list(values))
    uses = _uses(order, values)
    roots = {*values, *[index for value in values if value.op is ops.VIEW for index in value.args]}
    definitions: list[Node] = []
    made: dict[Node, Node] = {}
    depths: dict[Node, int] = {}
    for node in order:
        args = tuple([made[operand] for operand in node.args])
        rebuilt = node if args == node.args else intern_node(node.op, args, node.attrs, node.type)
        depth = max([depths[operand] for operand in node.args], default=0) + (node.op not in _UNNAMED)
        if node.op not in _UNNAMED and (uses[node] > 1 or (depth >= EXPRESSION_DEPTH and node not in roots)):
            name = next(names)
            definitions.append(build.assign(name, rebuilt, declare=True))
            rebuilt, depth = build.var(name, node.type), 0
        made[node], depths[node] = rebuilt, depth
    return Shared(definitions, [made[value] for value in values])


def _uses(order: list[Node], values: Iterable[Node]) -> dict[Node, int]:
    """Return how often each node is an operand or a value; an operand of views counts for each use of these."""
    uses = dict.fromkeys(order, 0)
    for value in values:
        uses[value] += 1
    for node in reversed(order):
        for operand in node.args:
            uses[operand] += uses[node] if node.op is ops.VIEW else 1
    return uses
