"""Folding for functions of buffers: their scalars as those of `prog`, and all that `normalize_matrix` folds.

Source: lowering specification 2.2, matrix specification 8.
"""

from __future__ import annotations

from scaly_ir.folding import FOLD
from scaly_ir.graph import Node
from scaly_ir.graph.rewrite import AfterOperands, graph_rewrite
from scaly_ir.passes.matrix.normalize_matrix import Folding, to_fixed_point
from scaly_ir.passes.matrix.rebuilding import in_functions
from scaly_ir.passes.prog.canonicalization import scalar_folder


def canonicalize(root: Node) -> Node:
    """Return a module with its scalars and statements folded to a fixed point; the module itself if nothing changes."""
    return in_functions(root, lambda function: to_fixed_point(function, _FoldingScalars))


class _FoldingScalars(Folding):
    """One walk that folds each scalar as soon as it is known what its names stand for."""

    def __init__(self, function: Node) -> None:
        super().__init__(function)
        self._folder = scalar_folder()

    def scalar(self, operand: Node) -> Node:
        """Return a scalar in its simplest form."""
        return graph_rewrite(operand, AfterOperands(FOLD), ctx=self._folder)
