"""The verifier of functions of matrices, loops and buffers."""

from __future__ import annotations

from typing import Final

from scaly_ir.spec import Spec, check_each_node

SPEC: Final = Spec("verify_matrix", (), check_each_node)
