"""Passes tell what they make for which operation: nothing comes from nowhere, or just from the function it is in."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Final

import pytest

import scaly_ir as sc
from scaly_ir.dialect import dialect_of, parse_source
from scaly_ir.errors import ScalyError
from scaly_ir.graph import Node
from scaly_ir.pass_manager import Pass, build_pipeline, run_pipeline
from scaly_ir.passes import PASSES
from scaly_ir.text.locations import Locations
from scaly_ir.text.origins import Origins
from scaly_ir.text.provenance import function_name
from scaly_ir.text.source import Source
from scaly_ir.tools.opt.ir_text import Input

ROOT: Final = Path(__file__).resolve().parents[2]
IMPROVING: Final = (
    "inline,unroll_loops,simplify,canonicalize,cse,dce,normalize_matrix,lower_matrix_high_level_map_reduce,"
    "lower_matrix_medium_level,lower_aff,canonicalize,cse,dce,widen_ranges,delinearize_loops,hoist_reciprocals"
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


def _after(root: Node, locations: Locations, steps: Sequence[Pass]) -> tuple[Node, Origins]:
    """Return what passes make of a program, as far as they take it, and where that comes from."""
    given = Input()
    given.is_followed = True
    given.begin(root, locations)
    for step in steps:
        if root.op.dialect in (step.dialects or ()):
            try:
                root = given.run(root, partial(run_pipeline, root, [step]))
            except ScalyError:
                break
    origins = given.origins(root)
    assert origins is not None
    return root, origins


@pytest.mark.parametrize(
    ("pipeline", "first", "every"),
    [("default", 0, 3), ("default{lanes=4}", 1, 3), ("matrix_to_prog,default", 2, 3), (IMPROVING, 0, 1)],
)
def test_no_operation_comes_from_nowhere(pipeline: str, first: int, every: int) -> None:
    steps = build_pipeline(pipeline, PASSES)
    seen = 0
    for file in _inputs()[first::every]:
        for part in file.read_text(encoding="utf-8").split("\n// -----\n"):
            read = _read(part, file.name)
            if read is None:
                continue
            made, origins = _after(*read, steps)
            function: Node | None = None
            head: str | None = None
            for operation in dialect_of(made).operations(made):
                if function_name(operation) is not None:
                    function, head = operation, origins.place(function_name(operation), operation, {})
                    assert head is not None, f"{file}: {operation}"
                elif (
                    function is not None and "scalarized" not in function.attrs
                ):  # of these all is made for the function
                    place = origins.place(function_name(function), operation, {})
                    assert place not in (None, head), f"{file}: {operation}"
                    seen += 1
    assert seen > 500


def test_what_functions_of_matrices_become_comes_from_their_own_lines() -> None:
    steps = build_pipeline("normalize_matrix,matrix_to_prog,default", PASSES)
    seen = 0
    for file in sorted((ROOT / "testdata" / "matrix").rglob("*.sir")):
        read = _read(file.read_text(encoding="utf-8"), file.name)
        if read is None:
            continue
        root, locations = read
        lines: dict[str | None, list[int]] = {}
        around = None
        for number, operation in enumerate(dialect_of(root).operations(root)):
            around = function_name(operation) or around
            lines.setdefault(around, []).append(locations.statement(number).position()[0])
        made, origins = _after(root, locations, steps)
        for operation in dialect_of(made).operations(made):
            around = function_name(operation) or around
            place = origins.place(around, operation, {})
            if around in lines and place is not None and "loc(" not in locations.source.text:
                assert int(place.split(":")[1]) in lines[around], f"{file}: @{around}: {operation} {place}"
                seen += 1
    assert seen > 200
