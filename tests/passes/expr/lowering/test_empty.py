"""Arrays without entries: whatever is done with them, their program computes it and divides by no extent."""

from __future__ import annotations

import numpy as np
import pytest

from scaly_ir.dialects.prog import build
from scaly_ir.graph import postorder
from tests.passes.expr.lowering.empty import functions
from tests.passes.expr.lowering.functions import check_function

FUNCTIONS = functions()


@pytest.mark.parametrize("name", FUNCTIONS)
def test_nothing_is_divided_by_no_entries(name: str) -> None:
    function = FUNCTIONS[name]
    module = check_function(function, {str(each.name): np.ones(each.shape) for each in function.inputs})
    divisors = {node.args[1] for node in postorder(module) if node.op.name in ("prog.div", "prog.mod")}
    assert build.index(0) not in divisors
