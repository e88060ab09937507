"""Folding the scalars of `prog`: constants first, then identities, to a fixed point.

Source: lowering specification 2.2.
"""

from __future__ import annotations

from typing import Final, NoReturn

from scaly_ir.dialects.prog import ops
from scaly_ir.dialects.prog.spec import SPEC
from scaly_ir.folding import FOLD, Folder
from scaly_ir.graph import Node
from scaly_ir.graph.matcher import PatternMatcher
from scaly_ir.graph.pattern import Pattern
from scaly_ir.graph.rewrite import AfterOperands, AroundOperands, BottomUpGate, graph_rewrite
from scaly_ir.identities import IDENTITIES


def canonicalize(root: Node) -> Node:
    """Return `root` with every scalar folded, indices and the bounds of loops too; `root` itself if nothing changes."""
    result = graph_rewrite(root, AfterOperands(FOLD), ctx=scalar_folder())
    if result is root or next(SPEC.check(result), None) is None:
        return result
    # In code that never runs, an index or a step that folds may be out of bounds, which is no fault until it shows.
    return graph_rewrite(root, AroundOperands(KEEP_PLACES, FOLD), ctx=scalar_folder())


def scalar_folder() -> Folder:
    """Return what folds single scalars of `prog`."""
    return Folder(IDENTITIES, trees=True, constants_first=True)


def _keep() -> NoReturn:
    raise BottomUpGate


KEEP_PLACES: Final = PatternMatcher([(Pattern((ops.VIEW, ops.RANGE)), _keep)])
"""The rule, before operands, that leaves indices and the bounds of loops as they are."""
