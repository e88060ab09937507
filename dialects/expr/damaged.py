"""What verification may look at in a text with mistakes, so that one mistake gives one error.

Operations are built only from what has no mistake, so all that were built are checked, and functions that were. What
is found on a line with a mistake may follow from that and is left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from scaly_ir.attributes import NO_ATTRS
from scaly_ir.dialect import verify_parsed
from scaly_ir.dialects.expr import ops
from scaly_ir.dialects.expr.assembler import Built
from scaly_ir.dialects.expr.places import Text, locations
from scaly_ir.graph import intern_node
from scaly_ir.text.diagnostics import Diagnostic
from scaly_ir.text.source import Source


def verify_damaged(source: Source, built: Iterable[Built], mistakes: Sequence[Diagnostic]) -> list[Diagnostic]:
    """Return the mistakes in what could be built of a text, besides those that are known."""
    lines = {each.span.position()[0] for each in mistakes if each.span is not None}
    found: dict[int, Diagnostic] = {}
    for text in _texts(built):
        for each in verify_parsed(text.root, locations(source, text.root, None, [text])):
            if each.span is not None and each.span.here.position()[0] not in lines:
                found.setdefault(each.span.here.start, each)
    return list(found.values())


def _texts(built: Iterable[Built]) -> Iterator[Text]:
    """Yield functions, and the operations of each function, region or fragment as a fragment."""
    for body in built:
        starts, ends = [start for start, _ in body.places], [end for _, end in body.places]
        if body.root is not None and body.root.op is ops.FUNC:
            yield Text(body.root, body.at, body.nodes, starts, ends)
        operations = tuple(dict.fromkeys([node for node in body.nodes if node.op not in ops.CONTAINERS]))
        if operations:
            fragment = intern_node(ops.RETURN, operations, NO_ATTRS, None)
            yield Text(fragment, body.at, body.nodes, starts, ends)
