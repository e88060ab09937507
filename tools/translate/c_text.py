"""The targets ``c`` and ``header``: the C translator as scaly-translate calls it."""

from __future__ import annotations

from scaly_ir.tools.c import COptions, render_header, render_source
from scaly_ir.tools.translate.targets import Input


def source(given: Input, options: COptions) -> str:
    """Return the C file of a module."""
    return render_source(given.root, options, locations=given.locations)


def header(given: Input, options: COptions) -> str:
    """Return the header of a module."""
    return render_header(given.root, options)
