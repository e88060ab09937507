"""Every page of the documentation does what it says, in an empty folder and an environment of its own; the README too.

What the README shows before it comes to Python are the two commands that set up a clone, and what they print;
`tests/test_quality.py` holds that.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.docs.page import PageError
from tests.docs.runner import run_page

DOCS = Path(__file__).resolve().parents[2] / "docs"

pytestmark = pytest.mark.skipif(os.name == "nt", reason="the pages are written for a POSIX shell")


@pytest.mark.parametrize("page", sorted(DOCS.rglob("*.md")), ids=lambda page: page.relative_to(DOCS).as_posix())
def test_page(page: Path, tmp_path: Path) -> None:
    _check(page, tmp_path)


def test_readme(tmp_path: Path) -> None:
    _check(DOCS.with_name("README.md"), tmp_path, start="## From Python to C")


def _check(page: Path, folder: Path, start: str = "") -> None:
    problem = ""
    try:
        run_page(page, folder, page.relative_to(DOCS.parent).as_posix(), start=start)
    except PageError as failure:
        problem = str(failure)
    if problem:
        pytest.fail(problem, pytrace=False)
