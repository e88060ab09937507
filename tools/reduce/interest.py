"""What it means to be interesting: a test is started on a state, runs by itself, and tells its outcome."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from scaly_ir.tools.reduce.state import State

if TYPE_CHECKING:
    from scaly_ir.pass_manager import Pass


@dataclass(frozen=True)
class Outcome:
    """What a test found: the exit code of its command, None when it took too long, and what it printed."""

    interesting: bool
    code: int | None
    output: str = ""


class Running(Protocol):
    """A test that runs."""

    def wait(self, deadline: float | None = None) -> Outcome:
        """Wait for its end, for the end of its time, or until `deadline`, by the monotonic clock.

        All it started is gone then.
        """

    def stop(self) -> None:
        """End it."""


class Test(Protocol):
    """A test of states."""

    def start(self, state: State) -> Running:
        """Begin to test a state."""

    def command(self, path: str, passes: Sequence[Pass]) -> str:
        """Return a command for a shell that shows what is interesting about a file."""


class Folder:
    """A folder for the candidates of a run, each in one of its own, all under the name of the input."""

    def __init__(self, root: Path, name: str) -> None:
        self._root = root
        self._name = name
        self._count = 0

    def write(self, state: State) -> Path:
        """Write a candidate and return its path."""
        self._count += 1
        folder = self._root / str(self._count)
        folder.mkdir()
        path = folder / self._name
        path.write_bytes(state.data)
        return path

    @staticmethod
    def remove(path: Path) -> None:
        """Remove a candidate and what its test left beside it."""
        import shutil

        shutil.rmtree(path.parent, ignore_errors=True)


def seconds_until(*deadlines: float | None) -> float | None:
    """Return the time to the first of some points in time, None when there are none."""
    given = [deadline for deadline in deadlines if deadline is not None]
    return max(0.0, min(given) - time.monotonic()) if given else None
