"""The terminals that functions of matrices, loops and buffers have besides the shared ones: maps, and block labels."""

from __future__ import annotations

from typing import Final

from scaly_ir.text.terminals import Terminal, Terminals

TERMINALS: Final[Terminals] = (
    Terminal("MAP", r"affine_map<(?:->|[^<>])*>", "a map such as 'affine_map<(d0) -> (d0 + 1)>'"),
    Terminal("LABEL", r"\^[A-Za-z_][A-Za-z0-9_]*", "'^comb'"),
)
