"""The three checkers: each raises for operations of its own dialect, as a Python exception says it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import scaly_ir as sc
from scaly_ir.dialects.matrix.spec import verify_affine, verify_buffer, verify_matrix
from scaly_ir.errors import VerifyError
from scaly_ir.graph import Node

CHECKERS = {"matrix": verify_matrix, "buffer": verify_buffer, "affine": verify_affine}


def module(line: str) -> Node:
    found: Node = sc.parse(f"buffer.func @f(%A: memref<2x3xfloat64>) -> () {{\n{line}\nbuffer.return\n}}\n")
    return found


@pytest.mark.parametrize(
    ("dialect", "line", "message"),
    [
        (
            "matrix",
            "%0 = matrix.prod(%A, %A) : memref<2x3xfloat64>",
            "verify_matrix: node %0 op=prod failed rule 'prod-inner': PROD inner extents 3 != 2",
        ),
        (
            "buffer",
            "buffer.write 1.0, %A[0, 0] : float64",
            "verify_buffer: node #0 op=write failed rule 'write-readonly': WRITE target %A is a parameter",
        ),
        (
            "affine",
            "affine.for %i = 0 to 2 step 0 {\n}",
            "verify_affine: node #0 op=for failed rule 'for-step': FOR step 0 is not positive",
        ),
    ],
)
def test_each_checker_raises_for_its_own_dialect(dialect: str, line: str, message: str) -> None:
    root = module(line)
    for name, verify in CHECKERS.items():
        check: Callable[[Node], None] = verify
        if name != dialect:
            check(root)
            continue
        with pytest.raises(VerifyError) as caught:
            check(root)
        assert str(caught.value) == message
    with pytest.raises(VerifyError) as caught:
        sc.verify(root)
    assert str(caught.value) == message
