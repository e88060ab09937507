"""What can be left out of modules of `prog`: the kinds of changes, coarse to fine."""

from __future__ import annotations

from typing import Final

from scaly_ir.tools.reduce.prog import names, numbers, removal, scalars
from scaly_ir.tools.reduce.steps import ATTRIBUTES, FUNCTIONS, Kind

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
    ATTRIBUTES,
    Kind("names", names.long_names, names.renamed),
)
