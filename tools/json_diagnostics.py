"""Diagnostics for editors and other programs: one JSON object to a line. Source: tools specification 2."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from scaly_ir.text.diagnostics import Diagnostic, suggestions_in


def json_line(diagnostic: Diagnostic) -> str:
    """Return a diagnostic with its notes as a line of JSON."""
    return line_of(record(diagnostic))


def line_of(fields: Mapping[str, Any]) -> str:
    """Return an object as a line of JSON."""
    return f"{json.dumps(fields, ensure_ascii=False)}\n"


def record(diagnostic: Diagnostic) -> dict[str, Any]:
    """Return the fields of a diagnostic, its notes within: numbers, text, lists and maps."""
    return {
        **_place(diagnostic),
        "severity": diagnostic.severity,
        "code": diagnostic.code or None,
        "message": diagnostic.message,
        "suggestions": suggestions_in(diagnostic.message),
        "pass": diagnostic.pass_name or None,
        "notes": [record(note) for note in diagnostic.notes],
    }


def _place(diagnostic: Diagnostic) -> dict[str, Any]:
    """Return where something is: lines and columns from 1, in code points; the end is just behind it."""
    keys = ("file", "line", "column", "end_line", "end_column")
    span = diagnostic.span
    if span is None:
        return dict.fromkeys(keys)
    end = span.source.position(max(span.start, span.end))
    return dict(zip(keys, (span.source.name, *span.position(), *end), strict=True))
