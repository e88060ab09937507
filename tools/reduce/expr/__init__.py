"""What can be left out of modules of `expr`: the kinds of changes, coarse to fine."""

from __future__ import annotations

from typing import Final

from scaly_ir.tools.reduce.expr import names, numbers, removal
from scaly_ir.tools.reduce.steps import FUNCTIONS, Kind

KINDS: Final = (
    Kind(FUNCTIONS, removal.functions, removal.without_functions),
    Kind("operations", removal.operations, removal.without_operations),
    Kind("results", removal.results, removal.without_results),
    Kind("results", removal.operands, removal.with_operands),
    Kind("regions", removal.calls, removal.without_calls),
    Kind("shapes", numbers.extents, numbers.with_extents),
    Kind("constants", numbers.constants, numbers.with_constants),
    Kind("attributes", removal.attributes, removal.without_attributes),
    Kind("names", names.long_names, names.renamed),
)
