"""A cache and an environment of its own for each test of compiled code."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from scaly_ir.tools.jit import functions


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Keep libraries in an empty folder, forget what was compiled and said before; return the folder."""
    for name in list(os.environ):
        if name in ("CC", "CFLAGS") or name.startswith("SCALY_IR_"):
            monkeypatch.delenv(name)
    folder = tmp_path / "cache"
    monkeypatch.setenv("SCALY_IR_CACHE_DIR", str(folder))
    monkeypatch.setattr(functions, "_KNOWN", type(functions._KNOWN)())
    monkeypatch.setattr(functions, "_SHOWN", set())
    return folder
