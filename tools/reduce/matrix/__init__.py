"""What can be left out of modules of `buffer`, with operations of `matrix` and `affine`: kinds of changes."""

from __future__ import annotations

from typing import Final

from scaly_ir.tools.reduce.matrix import names, removal, scalars, shapes
from scaly_ir.tools.reduce.steps import ATTRIBUTES, FUNCTIONS, Kind

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
    ATTRIBUTES,
    Kind("names", names.long_names, names.with_names),
)
