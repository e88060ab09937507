"""Every page of the documentation does what it says, in an empty folder and an environment of its own."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.docs.page import PageError
from tests.docs.runner import run_page

DOCS = Path(__file__).resolve().parents[2] / "docs"


@pytest.mark.skipif(os.name == "nt", reason="the pages are written for a POSIX shell")
@pytest.mark.parametrize("page", sorted(DOCS.rglob("*.md")), ids=lambda page: page.relative_to(DOCS).as_posix())
def test_page(page: Path, tmp_path: Path) -> None:
    problem = ""
    try:
        run_page(page, tmp_path, page.relative_to(DOCS.parent).as_posix())
    except PageError as failure:
        problem = str(failure)
    if problem:
        pytest.fail(problem, pytrace=False)
