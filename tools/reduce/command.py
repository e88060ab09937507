"""The test that a command makes: a candidate is interesting when the command exits with 0."""

from __future__ import annotations

import os
import shlex
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from scaly_ir.tools.programs import end_group
from scaly_ir.tools.reduce.interest import Folder, Outcome, seconds_until
from scaly_ir.tools.reduce.state import State

if TYPE_CHECKING:
    from scaly_ir.pass_manager import Pass

SHOWN: Final = 16_000
"""How many bytes of output are kept, the last ones."""


class CommandTest:
    """Runs a command of the shell, in which ``{}`` is the path of the candidate, or else follows it.

    The command runs in the working directory and in a process group of its own; `timeout` is in seconds.
    """

    def __init__(self, command: str, folder: Folder, timeout: float | None) -> None:
        self._command = command
        self._folder = folder
        self._timeout = timeout

    def start(self, state: State) -> _RunningCommand:
        """Begin to test a state."""
        path = self._folder.write(state)
        return _RunningCommand(self.command(str(path), ()), path, self._timeout)

    def command(self, path: str, passes: Sequence[Pass]) -> str:
        """Return the command for a file."""
        quoted = shlex.quote(path) if os.name == "posix" else subprocess.list2cmdline([path])
        return self._command.replace("{}", quoted) if "{}" in self._command else f"{self._command} {quoted}"


class _RunningCommand:
    def __init__(self, command: str, path: Path, timeout: float | None) -> None:
        self._path = path
        self._log = path.with_name("output.log")
        self._deadline = None if timeout is None else time.monotonic() + timeout
        with open(self._log, "wb") as log:
            self._process = subprocess.Popen(
                command,
                shell=True,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # so that an interrupt of the tool is not theirs, and all of it can be ended
            )

    def wait(self, deadline: float | None = None) -> Outcome:
        """Wait for the command; one that takes too long is ended and is not interesting."""
        code: int | None
        try:
            code = self._process.wait(seconds_until(self._deadline, deadline))
        except subprocess.TimeoutExpired:
            code = None
        end_group(self._process.pid)  # what the command left behind too
        output = "" if code == 0 else self._output()
        self.stop()
        return Outcome(code == 0, code, output)

    def _output(self) -> str:
        with open(self._log, "rb") as log:
            size = log.seek(0, os.SEEK_END)
            log.seek(max(0, size - SHOWN))
            return log.read().decode("utf-8", "replace").replace(str(self._path), self._path.name)

    def stop(self) -> None:
        """End the command and remove its candidate."""
        if self._process.poll() is None:
            end_group(self._process.pid)
            self._process.kill()
            self._process.wait()
        Folder.remove(self._path)
