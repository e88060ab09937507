"""Lowered programs claim independence only where there is some, and give the same for any lane width."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

import scaly_ir as sc
from scaly_ir.dialects.prog.build import params_of

GOLDEN = Path(__file__).parents[3] / "testdata" / "passes" / "lower"
FILES = [path.stem for path in sorted(GOLDEN.glob("*.sir")) if not path.stem.startswith("refuse_")]


@pytest.mark.parametrize("name", FILES)
def test_results_depend_on_no_order_of_global_trips_and_no_width(name: str) -> None:
    root = sc.run_passes(sc.parse((GOLDEN / f"{name}.sir").read_text(encoding="utf-8")), "lower")
    entry = root.args[-1]
    numbers = np.random.default_rng(1)
    inputs = {}
    for param in params_of(entry)[: entry.attrs["input_count"]]:
        size = math.prod(param.attrs["shape"])
        values = numbers.uniform(0, 2, size) if param.type.is_float else np.zeros(size)
        inputs[param.attrs["name"]] = values.astype(str(param.type))
    expected = sc.run(root, inputs)
    for options in ({"shuffle": 1}, {"shuffle": 2}, {"width": 1}, {"width": 3}):
        found = sc.run(root, inputs, **options)  # type: ignore[arg-type]
        assert found.keys() == expected.keys()
        for output, array in found.items():
            assert np.array_equal(array, expected[output], equal_nan=True)


def test_there_are_programs_to_lower() -> None:
    assert len(FILES) > 10
