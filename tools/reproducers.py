"""The comments with which a file says how its failure is reproduced; scaly-opt writes them, scaly-reduce keeps them.

Source: tools specification 4.6.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

_HEAD: Final = re.compile(r"//[ \t]*(scaly-reproducer|pipeline|options|failed):[ \t]*(.*?)[ \t]*")
_ANY: Final = re.compile(r"\\\(\d+\\ of\\ \d+\\\)|%\d+|(?:\\ )+")
VERSION: Final = "1"


@dataclass(frozen=True)
class Head:
    """What the head of a file says: the passes to run, further options, and the message of the failure.

    `plugins` are the options that load what the passes are from. A file has them only in its command: it must not load
    code by itself.
    """

    version: str
    pipeline: str = ""
    options: str = ""
    failed: str = ""
    plugins: Sequence[str] = ()

    @property
    def error(self) -> str:
        """The regular expression of the message, in which the numbers of values and of passes may be others."""
        _, found, message = self.failed.partition("error: ")
        if not found:
            return ""
        return _ANY.sub(_looser, re.escape(message))

    @property
    def verify_each(self) -> bool:
        """Whether the module is verified after each pass."""
        return not re.search(r"--no-verify-each|--verify-each=false", self.options)

    def header(self, pipeline: str, path: str) -> str:
        """Return the comments for a file, at `path`, with another pipeline."""
        lines = [("scaly-reproducer", self.version), ("pipeline", pipeline), ("options", self.options)]
        lines += [("failed", self.failed), ("run", self.command(path))]
        return "".join([f"// {key}: {value}\n" for key, value in lines if value])

    def command(self, path: str) -> str:
        """Return the command that runs the file at `path`."""
        return shlex.join(["scaly-opt", *self.plugins, "--run-reproducer", path])


def _looser(found: re.Match[str]) -> str:
    text = found[0]
    if text.startswith("%"):
        return r"%\d+"
    return r"\s+" if text.startswith("\\ ") else r"\(\d+ of \d+\)"


def read_head(text: str, plugins: Sequence[str] = ()) -> Head | None:
    """Return what the comments at the beginning of a file say, None when it is no reproducer; `plugins` are at hand."""
    found: dict[str, str] = {}
    for line in text.removeprefix("\ufeff").splitlines():
        if not line.strip():
            continue
        if not line.startswith("//"):
            break
        match = _HEAD.fullmatch(line)
        if match:
            found.setdefault(match[1], match[2])
    version = found.pop("scaly-reproducer", None)
    return None if version is None else Head(version, plugins=plugins, **found)
