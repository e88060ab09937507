"""The C translator: a verified `prog` module as C source and header (lowering specification 5).

It decides nothing beyond spelling. `unit` puts a file together from `procedures` (functions), `body` (statements),
`scalars` (expressions) and `interface` (the header); `names` owns identifiers, `literals` numbers.
"""

from __future__ import annotations

from scaly_ir.tools.c.errors import CTranslateError
from scaly_ir.tools.c.options import COptions
from scaly_ir.tools.c.unit import render_header, render_source

__all__ = ["COptions", "CTranslateError", "render_header", "render_source"]
