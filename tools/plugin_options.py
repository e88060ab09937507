"""Which plug-ins a command line asks for: the options --load-plugin and --no-plugins, the same for every tool.

They are looked for before the command line is read as a whole, since plug-ins bring passes that it may name.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Final

from scaly_ir.plugins import load_plugin, load_plugins
from scaly_ir.tools.command_line import Given, Option

PLUGIN_OPTIONS: Final = (
    Option(("load-plugin",), "yes"),
    Option(("no-plugins",)),
)


def load_requested_plugins(argv: Sequence[str]) -> None:
    """Load the installed plug-ins, unless told not to, and those that are named, from the working directory too.

    `PluginError` when one fails, `UsageError` for a name that is not like ``module:function``. Anything else that is
    wrong with the command line is left to who reads it.
    """
    installed = True
    named = []
    left = iter(argv)
    for text in left:
        if text == "--":
            break
        option, equals, value = text.partition("=")
        if option in ("-no-plugins", "--no-plugins"):
            installed = False
        elif option in ("-load-plugin", "--load-plugin"):
            typed, start = text, len(option) + 1
            if not equals:
                value = next(left, "")
                typed = f"{text} {value}"
            if not value.startswith("-") and (value or equals):
                named.append(plugin_named(Given("load-plugin", value, typed, start)))
    if installed:
        load_plugins()
    if named and "" not in sys.path:
        sys.path.append("")  # as an installed command, Python does not look in the working directory
    for target in named:
        load_plugin(target)


def plugin_named(given: Given) -> str:
    """Return the ``module:function`` that the option --load-plugin names; `UsageError` for what is not like that."""
    module, colon, function = given.text.partition(":")
    names = [*module.split("."), *function.split(".")]
    if not colon or not all([name.isidentifier() for name in names]):
        raise given.wrong(f"option '--load-plugin' expects MODULE:FUNCTION, got '{given.text}'")
    return given.text
