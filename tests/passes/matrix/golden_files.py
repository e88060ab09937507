"""The golden files of a pass that hold functions of matrices, loops and buffers."""

from __future__ import annotations

from pathlib import Path

TESTDATA = Path(__file__).resolve().parents[3] / "testdata" / "passes"


def functions_of(name: str) -> list[Path]:
    """Return the golden files of a pass with such functions, sorted."""
    found = sorted((TESTDATA / name).glob("*.sir"))
    return [path for path in found if "\nbuffer.func" in path.read_text(encoding="utf-8")]
