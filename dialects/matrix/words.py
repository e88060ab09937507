"""The terminals that functions of matrices, loops and buffers have besides the shared ones: maps, and block labels."""

from __future__ import annotations

from typing import Final

from scaly_ir.text.terminals import Terminals

TERMINALS: Final[Terminals] = (
    ("MAP", r"affine_map<(?:->|[^<>])*>"),
    ("LABEL", r"\^[A-Za-z_][A-Za-z0-9_]*"),
)
