"""A folder and an environment of its own for each test of a tool."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.tools.running import TEN_LINES, scaly_opt


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in an empty folder, without the variables that change what a tool does; return the folder."""
    monkeypatch.chdir(tmp_path)
    for name in list(os.environ):
        if name in ("NO_COLOR", "FORCE_COLOR") or name.startswith("SCALY_IR_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("TERM", "xterm")
    return tmp_path


@pytest.fixture
def unprivileged(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Work in an empty folder as a user whom permissions stop, even where the tests run as root."""
    if not hasattr(os, "geteuid"):
        pytest.skip("permissions work differently here")
    assert scaly_opt("-o", "/dev/null", stdin=TEN_LINES).code == 0  # loads what that user may not be able to read
    folder = Path(tempfile.mkdtemp(prefix="scaly-ir-"))  # tmp_path is in a folder that is closed to others
    monkeypatch.chdir(folder)
    folder.chmod(0o777)
    root = os.geteuid() == 0
    if root:
        os.seteuid(65534)
    try:
        yield folder
    finally:
        if root:
            os.seteuid(0)
        monkeypatch.undo()
        folder.chmod(0o777)
        shutil.rmtree(folder)
