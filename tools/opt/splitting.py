"""Parts of a file that stand between marker lines and are processed each on its own.

Source: tools specification 4.8.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from scaly_ir.text.diagnostics import Diagnostic
from scaly_ir.text.source import Source

MARKER: Final = "// -----"
"""The line between two parts; blanks may follow."""

_nearly: Final = re.compile(r"\s*//\s*-{3,}\s*").fullmatch


def split_source(source: Source, marker: str = MARKER) -> list[Source]:
    """Return the parts of a source; lines keep their numbers."""
    parts: list[Source] = []
    first, start, offset = 1, 0, 0
    for number, line in enumerate(source.text.split("\n"), start=1):
        if line.rstrip() == marker:
            parts.append(Source(source.name, source.text[start:offset], first))
            first, start = number + 1, offset + len(line) + 1
        offset += len(line) + 1
    return [*parts, Source(source.name, source.text[start:], first)]


def near_markers(source: Source, marker: str = MARKER) -> Iterator[Diagnostic]:
    """Yield a warning for each line that looks like the usual marker and is not the one that counts."""
    for number, line in enumerate(source.text.split("\n"), start=source.first_line):
        if _nearly(line) and line.rstrip() != marker:
            yield Diagnostic(
                "warning", f"this does not split the file; the marker is '{marker}'", source.line_span(number), "split"
            )
