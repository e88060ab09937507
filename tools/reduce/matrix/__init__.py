"""What can be left out of modules of `buffer`, with operations of `matrix` and `affine`: kinds of changes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from scaly_ir.graph import Node
from scaly_ir.graph.rewrite import Mode, substitute
from scaly_ir.tools.reduce.matrix import names, removal, scalars, shapes
from scaly_ir.tools.reduce.steps import FUNCTIONS, Kind, optional_attributes, without_attributes


def _attributes(root: Node) -> list[tuple[Node, str]]:
    return list(optional_attributes(root))


def _without_attributes(root: Node, edits: Sequence[tuple[Node, str]]) -> Node:
    return substitute(root, without_attributes(edits), mode=Mode.ONCE)


KINDS: Final = (
    Kind(FUNCTIONS, removal.functions, removal.without_functions),
    Kind("operations", removal.statements, removal.without_statements),
    Kind("results", removal.ports, removal.without_ports),
    Kind("operations", removal.others, removal.with_others),
    Kind("regions", removal.loops, removal.without_loops),
    Kind("operands", removal.inputs, removal.without_inputs),
    Kind("operands", scalars.replacements, scalars.with_replacements),
    Kind("shapes", shapes.extents, shapes.with_extents),
    Kind("shapes", shapes.sizes, shapes.with_sizes),
    Kind("constants", scalars.constants, scalars.with_constants),
    Kind("constants", scalars.attributes, scalars.with_attributes),
    Kind("attributes", _attributes, _without_attributes),
    Kind("names", names.long_names, names.with_names),
)
