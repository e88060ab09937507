"""Passes tell what they make for which operation: no operation that they leave comes from nowhere in the file."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

import scaly_ir as sc
from scaly_ir.dialect import dialect_of, parse_source
from scaly_ir.errors import ScalyError
from scaly_ir.graph import Node
from scaly_ir.graph.observe import observe_rewrites
from scaly_ir.pass_manager import build_pipeline, run_pipeline
from scaly_ir.passes import PASSES
from scaly_ir.text.locations import Locations
from scaly_ir.text.origins import Origins, Provenance, function_name
from scaly_ir.text.source import Source

ROOT: Final = Path(__file__).resolve().parents[2]
PIPELINES: Final = (
    "default",
    "default{lanes=4}",
    "matrix_to_prog,default",
    "inline,unroll_loops,simplify,canonicalize,cse,dce,normalize_matrix,lower_matrix_high_level_map_reduce,"
    "lower_matrix_medium_level,lower_aff,canonicalize,cse,dce,widen_ranges,delinearize_loops,hoist_reciprocals",
)


def _inputs() -> list[Path]:
    return sorted([*(ROOT / "testdata" / "passes").rglob("*.sir"), *(ROOT / "testdata" / "matrix").rglob("*.sir")])


def _read(text: str, name: str = "x.sir") -> tuple[Node, Locations] | None:
    parsed = parse_source(Source(name, text))
    if parsed.root is None or not parsed.root.op.get_attr("TModule", False):
        return None
    try:
        sc.verify(parsed.root)
    except ScalyError:
        return None
    return parsed.root, parsed.locations


@pytest.mark.parametrize("pipeline", PIPELINES)
def test_no_operation_comes_from_nowhere(pipeline: str) -> None:
    steps = build_pipeline(pipeline, PASSES)
    seen = 0
    for file in _inputs():
        for part in file.read_text(encoding="utf-8").split("\n// -----\n"):
            read = _read(part, file.name)
            if read is None:
                continue
            root, locations = read
            made = root
            provenance = Provenance(root)
            operations = list(dialect_of(root).operations(root))
            with observe_rewrites(provenance):
                for step in steps:
                    if made.op.dialect not in (step.dialects or ()):
                        continue
                    try:
                        made = run_pipeline(made, [step])
                    except ScalyError:
                        break
            origins = Origins(locations, operations, provenance)
            function: Node | None = None
            for operation in dialect_of(made).operations(made):
                function = operation if function_name(operation) is not None else function
                if function is not None and "scalarized" not in function.attrs:  # of these all is made for the function
                    assert origins.place(function_name(function), operation, {}), f"{file}: {operation}"
                    seen += 1
    assert seen > 1000
