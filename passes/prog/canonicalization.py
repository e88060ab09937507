"""Folding the scalars of `prog`: constants first, then identities, to a fixed point.

Source: lowering specification 2.2.
"""

from __future__ import annotations

from typing import Final, NoReturn

from scaly_ir.dialects.prog import ops
from scaly_ir.folding import FOLD, Folder
from scaly_ir.graph import Node
from scaly_ir.graph.matcher import PatternMatcher
from scaly_ir.graph.pattern import Pattern
from scaly_ir.graph.rewrite import AfterOperands, AroundOperands, BottomUpGate, graph_rewrite
from scaly_ir.identities import IDENTITIES
from scaly_ir.passes.prog.faults import with_sound_procedures


def canonicalize(root: Node) -> Node:
    """Return `root` with every scalar folded, indices and the bounds of loops too; `root` itself if nothing changes."""
    result = graph_rewrite(root, AfterOperands(FOLD), ctx=scalar_folder())
    return with_sound_procedures(root, result.args, _without_places)


def _without_places(procedure: Node) -> Node:
    return graph_rewrite(procedure, AroundOperands(KEEP_PLACES, FOLD), ctx=scalar_folder())


def scalar_folder() -> Folder:
    """Return what folds single scalars of `prog`."""
    return Folder(IDENTITIES, trees=True, constants_first=True)


def _keep() -> NoReturn:
    raise BottomUpGate


KEEP_PLACES: Final = PatternMatcher([(Pattern((ops.VIEW, ops.RANGE)), _keep)])
"""The rule, before operands, that leaves indices and the bounds of loops as they are."""
