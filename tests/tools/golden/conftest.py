"""What the tests of the golden-test plugin share: writing test files and running pytest on them in this process."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from scaly_ir.tools.golden.golden_file import BadTestFileError, GoldenTest, load

PLUGIN = "scaly_ir.tools.golden.plugin"

_HEAD = re.compile(r"^x\.sir:(\d+:\d+): error: (.*)$", re.MULTILINE)

Load = Callable[[str], GoldenTest]
Mistakes = Callable[[str], list[str]]
RunPytest = Callable[..., pytest.RunResult]


@pytest.fixture
def load_text(tmp_path: Path) -> Load:
    """Return a function that loads a text as the test file `x.sir`."""

    def load_it(text: str) -> GoldenTest:
        path = tmp_path / "x.sir"
        path.write_text(text, encoding="utf-8")
        return load(path, "x.sir")

    return load_it


@pytest.fixture
def mistakes(load_text: Load) -> Mistakes:
    """Return a function that gives the head lines of what is wrong with a text, as `line:column: message`."""

    def find(text: str) -> list[str]:
        try:
            load_text(text)
        except BadTestFileError as problem:
            return [": ".join(found) for found in _HEAD.findall(str(problem))]
        return []

    return find


@pytest.fixture
def run_pytest(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> RunPytest:
    """Return a function that writes files, given as path -> text, and runs pytest with the plugin on them."""
    # The plugin may be installed as an entry point as well; loading it twice is an error. The pytest that runs these
    # tests has loaded it before, too late for the one within to rewrite its assertions, of which there are none.
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.delenv("PYTEST_PLUGINS", raising=False)
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)

    def run(files: dict[str, str], *arguments: str) -> pytest.RunResult:
        for name, text in files.items():
            path = pytester.path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        options = ["-p", PLUGIN, "-p", "no:cacheprovider", "-W", "ignore::pytest.PytestAssertRewriteWarning"]
        return pytester.runpytest_inprocess(*options, *arguments)

    return run
