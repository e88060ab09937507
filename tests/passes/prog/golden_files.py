"""The golden files of a pass that hold programs; those of passes for all dialects lie in one folder."""

from __future__ import annotations

from pathlib import Path

TESTDATA = Path(__file__).resolve().parents[3] / "testdata" / "passes"


def programs_of(name: str) -> list[Path]:
    """Return the golden files of a pass with `prog` text, sorted."""
    found = sorted((TESTDATA / name).glob("*.sir"))
    return [path for path in found if "\nprog." in path.read_text(encoding="utf-8")]
