"""Plugins that pytest accepts only from the root: `pytester` runs pytest in the tests of the golden-test plugin."""

pytest_plugins = ["pytester"]
