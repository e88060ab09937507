"""Tests without a command: a check runs in a process forked from this one, so it may hang, crash or take memory."""

from __future__ import annotations

import faulthandler
import multiprocessing
import os
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

from scaly_ir.errors import described
from scaly_ir.tools.interrupts import end_child_at_once
from scaly_ir.tools.programs import end_group
from scaly_ir.tools.reduce.interest import Folder, Outcome, seconds_until
from scaly_ir.tools.reduce.state import State

if TYPE_CHECKING:
    from scaly_ir.pass_manager import Pass

_FORKS: Final = "fork" in multiprocessing.get_all_start_methods()


class Check(Protocol):
    """What is looked for in a file, without a command."""

    def load(self) -> None:
        """Import what it needs, once for all that are forked."""

    def run(self, path: str, passes: Sequence[Pass]) -> Outcome:
        """Look for it; whatever is raised counts as not found."""

    def died(self, code: int) -> Outcome:
        """Return the outcome when the process that looked died, with an exit code or the negative of a signal."""

    def command(self, path: str, passes: Sequence[Pass]) -> str:
        """Return a command for a shell that shows it."""


class CheckTest:
    """Runs a check on each candidate in a process of its own, whose output is dropped; `timeout` is in seconds."""

    def __init__(self, check: Check, folder: Folder, timeout: float | None) -> None:
        self._check = check
        self._folder = folder
        self._timeout = timeout
        if _FORKS:
            check.load()
        self._context = multiprocessing.get_context("fork" if _FORKS else "spawn")

    def start(self, state: State) -> _RunningCheck:
        """Begin to test a state."""
        path = self._folder.write(state)
        here, there = self._context.Pipe(duplex=False)
        process = self._context.Process(  # type: ignore[attr-defined]
            target=_look, args=(self._check, str(path), state.passes, there), daemon=True
        )
        process.start()
        there.close()
        return _RunningCheck(self._check, path, process, here, self._timeout)

    def command(self, path: str, passes: Sequence[Pass]) -> str:
        """Return a command that shows what the check looks for."""
        return self._check.command(path, passes)


def _look(check: Check, path: str, passes: Sequence[Pass], result: Connection) -> None:
    """Run a check in the process that was made for it."""
    if os.name == "posix":
        os.setsid()
    faulthandler.disable()
    end_child_at_once()
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(nowhere, stream)
    tempfile.tempdir = os.path.dirname(path)  # what is left there goes with the candidate
    try:
        outcome = check.run(path, passes)
    except OSError as failure:  # as when there is no room for what it writes: that is no outcome
        result.send(failure)
        return
    except Exception as failure:
        outcome = Outcome(False, 3, described(failure))
    result.send(replace(outcome, output=outcome.output.replace(path, os.path.basename(path))))


class _RunningCheck:
    def __init__(
        self,
        check: Check,
        path: Path,
        process: multiprocessing.Process,
        result: Connection,
        timeout: float | None,
    ) -> None:
        self._check = check
        self._path = path
        self._process = process
        self._result = result
        self._deadline = None if timeout is None else time.monotonic() + timeout
        self._stopped = False

    def wait(self, deadline: float | None = None) -> Outcome:
        """Wait for the check; one that takes too long is ended and found nothing.

        `OSError` when the system had no room for it.
        """
        try:
            if not self._result.poll(seconds_until(self._deadline, deadline)):
                return Outcome(False, None)
            outcome: Outcome | OSError = self._result.recv()
        except EOFError:
            self._process.join()
            return self._check.died(self._process.exitcode or 0)
        finally:
            self.stop()
        if isinstance(outcome, OSError):
            raise outcome
        return outcome

    def stop(self) -> None:
        """End the process and remove its candidate."""
        if self._stopped:
            return
        self._stopped = True
        if self._process.pid is not None and self._process.is_alive():
            end_group(self._process.pid)
            self._process.kill()
        self._process.join()
        self._process.close()
        self._result.close()
        Folder.remove(self._path)
