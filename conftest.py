"""Plugins that pytest accepts only from the root, and what holds for all tests.

`pytester` runs pytest in the tests of the golden-test plugin. Golden tests are checked by LLVM's FileCheck too where it
is installed; `--scaly-filecheck=none` leaves it out.
"""

import os
import tempfile

import pytest

from scaly_ir.tools.golden.llvm import find_program

pytest_plugins = ["pytester"]

_CACHE = tempfile.TemporaryDirectory(prefix="scaly-ir-tests-")


def pytest_configure(config: pytest.Config) -> None:
    """Keep what tests compile out of the cache of whoever runs them."""
    os.environ["XDG_CACHE_HOME"] = _CACHE.name
    if not config.option.scaly_filecheck:
        config.option.scaly_filecheck = find_program()
