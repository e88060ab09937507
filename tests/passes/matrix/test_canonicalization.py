"""Folding scalars and statements together; on integers every bit stays: there the identities hold as they wrap."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings

import scaly_ir as sc
from scaly_ir.graph import Node
from scaly_ir.passes.canonicalize import Canonicalize
from scaly_ir.passes.matrix.normalize_matrix import NormalizeMatrix
from tests.passes.matrix.golden_files import functions_of
from tests.passes.matrix.meaning import keeps_meaning
from tests.passes.matrix.programs import modules

canonicalize = Canonicalize().run


@pytest.mark.parametrize("path", functions_of("canonicalize"), ids=lambda path: path.stem)
def test_golden_programs_keep_their_meaning(path: Path) -> None:
    module: Node = sc.parse(path.read_text(encoding="utf-8"))
    assert keeps_meaning(module, canonicalize) is not module


@settings(max_examples=max(200, settings().max_examples))
@given(modules(("int32", "int64")))
def test_keeps_the_meaning_of_random_programs(module: Node) -> None:
    keeps_meaning(module, canonicalize)


@settings(max_examples=max(100, settings().max_examples))
@given(modules())
def test_leaves_nothing_to_normalize(module: Node) -> None:
    result = canonicalize(module)
    assert NormalizeMatrix().run(result) is result
    assert canonicalize(result) is result
