"""A pytest plugin for `scaly-check`: golden tests and nothing else, from the folders that are named or configured.

Owns what differs between `scaly-check` and pytest. It is loaded by name, so that workers of pytest-xdist have it.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from scaly_ir.tools.golden.plugin import ROOTS, configured_roots


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the option that says that paths were given."""
    parser.addoption("--scaly-check-paths", type=int, default=0, help="how many paths scaly-check was given")


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    """Look into the folders that were named, or else into those that the settings name."""
    configured = configured_roots(config)
    if config.option.scaly_check_paths:
        named = [Path(config.invocation_params.dir, argument.partition("::")[0]) for argument in config.args]
        config.stash[ROOTS] = (*configured, *named)
    else:
        found = [root for root in configured if root.is_dir()]
        if not found:
            names = " and ".join([f"'{root.relative_to(config.rootpath)}'" for root in configured])
            raise pytest.UsageError(
                f"no golden tests: there is no folder {names} in {config.rootpath.as_posix()}; name files or folders, "
                "or set scaly_golden_paths in pytest's settings"
            )
        config.args = [str(root) for root in found]


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Take no notice of other tests."""
    return True if collection_path.is_file() and collection_path.suffix != ".sir" else None
