"""Examples of what passes do: ``examples/NAME.sir`` beside the module of the pass, shipped with it.

Such a file holds a comment on what there is to see, the IR before, a line ``// -----``, and what scaly-opt makes of it.
"""

from __future__ import annotations

import os
import sys
from typing import Any, NamedTuple

from scaly_ir.text.source import Source
from scaly_ir.tools.opt.splitting import split_source


class Example(NamedTuple):
    """What an example shows, and IR before and after; what a pass remarks stands in comments before the latter."""

    caption: str
    before: str
    after: str


def example_path(cls: type[Any], name: str) -> str:
    """Return where the example of a pass is, if there is one."""
    module = sys.modules[cls.__module__]
    return os.path.join(os.path.dirname(module.__file__ or ""), "examples", f"{name}.sir")


def read_example(cls: type[Any], name: str) -> Example | None:
    """Return the example of a pass, None when it has none."""
    try:
        with open(example_path(cls, name), encoding="utf-8") as file:
            text = file.read()
    except OSError:
        return None
    before, after = [part.text for part in split_source(Source(name, text))]
    comment = before[: before.index("\n\n")]
    caption = " ".join([line.removeprefix("//").strip() for line in comment.splitlines()])
    return Example(caption, before[len(comment) + 2 :], after)


def example_lines(example: Example) -> list[str]:
    """Return an example as a description shows it."""
    before, after = [[f"  {line}" for line in text.splitlines()] for text in (example.before, example.after)]
    return ["", f"Example: {example.caption}", *before, "becomes", *after]
