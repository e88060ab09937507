"""A fresh working directory, environment and registry for each item, and what an item did to the first two.

Owns what belongs to the process and not to an item. What a plug-in registers in an item is gone after it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from scaly_ir.plugins import EntryPoint, remembering_installed
from scaly_ir.undo import registry_scope

# What would make a tool behave otherwise on the machine of somebody who has it set.
_REMOVED: Final = ("NO_COLOR", "FORCE_COLOR")
_REMOVED_START: Final = "SCALY_IR_"
_SET: Final = {"TERM": "dumb"}
_INSTALLED: Final[dict[tuple[str, ...], list[EntryPoint]]] = {}
"""What is installed does not change while tests run, and each tool asks for it."""


@contextmanager
def isolated(folder: Path) -> Iterator[list[str]]:
    """Work in `folder` with a neutral environment and put both back; afterwards the list says what was changed."""
    changes: list[str] = []
    folder_before, environment_before = os.getcwd(), dict(os.environ)
    os.chdir(folder)
    for name in environment_before:
        if name in _REMOVED or name.startswith(_REMOVED_START):
            del os.environ[name]
    os.environ.update(_SET)
    folder_given, environment_given = os.getcwd(), dict(os.environ)
    try:
        with registry_scope(), remembering_installed(_INSTALLED):
            yield changes
    finally:
        try:
            moved = os.getcwd() != folder_given
        except FileNotFoundError:  # it went elsewhere and deleted that
            moved = True
        if moved:
            changes.append("changed the working directory of the process")
        environment_left = dict(os.environ)
        if environment_left != environment_given:
            names = sorted(environment_left.items() ^ environment_given.items())
            changes.append(f"changed the environment: {', '.join(dict.fromkeys(name for name, _ in names))}")
        os.chdir(folder_before)
        for name in environment_left.keys() - environment_before.keys():
            del os.environ[name]
        os.environ.update(environment_before)
