"""Mistakes in golden tests as files, each with exactly what is said of it: ``NAME.out`` beside ``NAME.sir``."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from scaly_ir.tools.golden.golden_file import BadTestFileError, load

FOLDER: Final = Path(__file__).parents[3] / "testdata" / "diagnostics" / "golden" / "Inputs"


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.sir")), ids=lambda path: path.stem)
def test_a_wrong_test_is_refused(path: Path) -> None:
    with pytest.raises(BadTestFileError) as refused:
        load(path, path.name)
    assert f"{refused.value}\n" == path.with_suffix(".out").read_text(encoding="utf-8")
