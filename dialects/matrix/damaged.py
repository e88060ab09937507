"""What verification may look at in a text with mistakes, so that one mistake gives one error: functions without any.

Functions do not refer to each other, so one is checked as if it stood alone. It is left out if there is a mistake
anywhere from its head to that of the next function, or at that head, where a missing brace shows.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import pairwise

from scaly_ir.dialect import verify_parsed
from scaly_ir.dialects.buffer import build
from scaly_ir.dialects.buffer.assembler import Assembler
from scaly_ir.dialects.buffer.forms import operations
from scaly_ir.text.diagnostics import Diagnostic
from scaly_ir.text.locations import Locations, SpansOf
from scaly_ir.text.source import Source


def verify_damaged(
    source: Source, assembler: Assembler, mistakes: Sequence[Diagnostic], spans_of: SpansOf
) -> Iterator[Diagnostic]:
    """Yield the mistakes in the functions that could be read, besides those that are known."""
    known = sorted([found.span.start for found in mistakes if found.span is not None])
    starts, ends = assembler.starts, assembler.ends
    for (first, function), (last, _) in pairwise([*assembler.functions, (len(starts), None)]):
        limit = starts[last] if last < len(starts) else len(source.text)
        at = bisect_left(known, starts[first])
        damaged = at < len(known) and known[at] <= limit
        if function is not None and not damaged and len(list(operations(function))) == last - first:
            locations = Locations(source, starts[first:last], ends[first:last], False, spans_of)
            yield from verify_parsed(build.module([function]), locations)
