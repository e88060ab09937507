"""What can be left out of modules of `prog`: the kinds of changes, coarse to fine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from scaly_ir.graph import Node
from scaly_ir.graph.rewrite import Mode, substitute
from scaly_ir.tools.reduce.prog import names, numbers, removal, scalars
from scaly_ir.tools.reduce.steps import FUNCTIONS, Kind, optional_attributes, without_attributes


def _attributes(root: Node) -> list[tuple[Node, str]]:
    return list(optional_attributes(root))


def _without_attributes(root: Node, edits: Sequence[tuple[Node, str]]) -> Node:
    return substitute(root, without_attributes(edits), mode=Mode.ONCE)


KINDS: Final = (
    Kind(FUNCTIONS, removal.procedures, removal.without_procedures),
    Kind("operations", removal.statements, removal.without_statements),
    Kind("results", removal.results, removal.without_results),
    Kind("regions", removal.loops, removal.without_loops),
    Kind("operands", scalars.replacements, scalars.replaced),
    Kind("shapes", numbers.extents, numbers.with_extents),
    Kind("shapes", numbers.sizes, numbers.with_smaller),
    Kind("constants", numbers.tables, numbers.with_smaller),
    Kind("constants", numbers.constants, numbers.with_constants),
    Kind("attributes", _attributes, _without_attributes),
    Kind("names", names.long_names, names.renamed),
)
