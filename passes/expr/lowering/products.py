"""Lowering of products. Source: lowering specification 1.5 to 1.8."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from scaly_ir.graph import Node
from scaly_ir.op import Op
from scaly_ir.passes.expr.lowering.procedure import Procedure

RULES: Final[dict[Op, Callable[[Procedure, Node], None]]] = {}
