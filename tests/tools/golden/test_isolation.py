"""What an item may not leave behind."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from scaly_ir.tools.golden.isolation import isolated


def test_the_folder_and_a_neutral_environment_are_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("SCALY_IR_TRACEBACK", "1")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("OTHER", "kept")
    before, folder = dict(os.environ), Path.cwd()
    with isolated(tmp_path) as changes:
        assert Path.cwd() == tmp_path
        assert os.environ.keys().isdisjoint({"FORCE_COLOR", "NO_COLOR", "SCALY_IR_TRACEBACK"})
        assert (os.environ["TERM"], os.environ["OTHER"]) == ("dumb", "kept")
    assert changes == []
    assert dict(os.environ) == before
    assert Path.cwd() == folder


def test_changes_are_named_and_undone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "cc")
    monkeypatch.setenv("CI", "1")
    before, folder = dict(os.environ), Path.cwd()
    with isolated(tmp_path) as changes:
        os.environ["CC"] = "gcc"
        os.environ["NEW"] = "1"
        os.environ["NO_COLOR"] = "1"
        del os.environ["CI"]
        os.chdir(tmp_path.parent)
    assert changes == [
        "changed the working directory of the process",
        "changed the environment: CC, CI, NEW, NO_COLOR",
    ]
    assert dict(os.environ) == before
    assert Path.cwd() == folder


@pytest.mark.skipif(os.name == "nt", reason="a folder in use cannot be deleted")
def test_a_deleted_folder_is_left(tmp_path: Path) -> None:
    folder, lost = Path.cwd(), tmp_path / "lost"
    lost.mkdir()
    with isolated(tmp_path) as changes:
        os.chdir(lost)
        lost.rmdir()
    assert changes == ["changed the working directory of the process"]
    assert Path.cwd() == folder


def test_an_exception_passes_and_all_is_undone(tmp_path: Path) -> None:
    before, folder = dict(os.environ), Path.cwd()

    def fail() -> None:
        with isolated(tmp_path):
            os.environ["NEW"] = "1"
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert dict(os.environ) == before
    assert Path.cwd() == folder
