"""What a reader has in front of him: an environment with scaly-ir installed, a shell in it, and a Python.

Owns processes and the environment. It knows nothing of pages.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import sysconfig
import time
import venv
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib.metadata import entry_points
from pathlib import Path
from typing import Final

_END: Final = "\x1e"
"""Follows what was printed, before the exit code and the end of the line."""

_PYTHON: Final = f"""\
import contextlib, io, json, sys, traceback
names = {{"__name__": "__main__"}}
for line in sys.stdin:
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        try:
            exec(compile(json.loads(line), "<page>", "single"), names)
        except Exception:
            traceback.print_exc()
    print(said.getvalue(), {_END!r}, 0, sep="", flush=True)
"""


class SessionError(Exception):
    """A session has ended, or does not answer."""


class Session:
    """A process that answers what it is sent with what that prints, and an exit code."""

    def __init__(self, command: Sequence[str], folder: Path, environment: Mapping[str, str], patience: float) -> None:
        self._patience = patience
        self._process = subprocess.Popen(
            command,
            cwd=folder,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )

    def ask(self, text: str) -> tuple[str, int]:
        """Return what the process prints, and an exit code; `SessionError` when it says nothing within its time."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(text.encode())
            self._process.stdin.flush()
        except BrokenPipeError:
            raise SessionError("the session had ended before") from None
        output = self._process.stdout.fileno()
        deadline = time.monotonic() + self._patience
        said = b""
        while not said.endswith(b"\n") or _END.encode() not in said:
            ready, _, _ = select.select([output], [], [], max(0, deadline - time.monotonic()))
            if not ready:
                raise SessionError(f"no end after {self._patience:g} seconds; so far it printed:\n{_text(said)}")
            chunk = os.read(output, 1 << 16)
            if not chunk:
                raise SessionError(f"it ended the session and printed:\n{_text(said)}")
            said += chunk
        printed, _, code = _text(said).rpartition(_END)
        return printed, int(code)

    def close(self) -> None:
        """End the process and all that it started."""
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.communicate()


def _text(said: bytes) -> str:
    return said.decode("utf-8", errors="replace")


class Shell(Session):
    """A shell that is sent commands; what they change, as the folder or a variable, stays."""

    def __init__(self, folder: Path, environment: Mapping[str, str], patience: float = 60) -> None:
        super().__init__(["sh"], folder, environment, patience)

    def ask(self, text: str) -> tuple[str, int]:
        """Run a command."""
        return super().ask(f"{{ {text}\n}} </dev/null\nprintf '\\036%d\\n' $?\n")


class Python(Session):
    """A Python that is sent statements; names stay. A traceback goes where results go."""

    def __init__(self, folder: Path, environment: Mapping[str, str], patience: float = 60) -> None:
        python = os.path.join(environment["PATH"].partition(os.pathsep)[0], "python")
        super().__init__([python, "-c", _PYTHON], folder, environment, patience)

    def ask(self, text: str) -> tuple[str, int]:
        """Run a statement."""
        return super().ask(json.dumps(text) + "\n")


# --- the environment --------------------------------------------------------------------------------------------------

_DROPPED: Final = ("NO_COLOR", "FORCE_COLOR", "PY_COLORS", "CI", "PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")
_DROPPED_STARTS: Final = ("SCALY_IR_", "PYTEST_", "PIP_", "COV_")
_SET: Final = {
    "TERM": "dumb",
    "COLUMNS": "80",
    "LC_ALL": "C.UTF-8",
    # A reader does not have what is for the development of scaly-ir alone, and this one takes a second each time.
    "PYTEST_ADDOPTS": "-p no:hypothesispytest",
    # pip works as it would for a reader, but without a network: what it could fetch is there.
    "PIP_NO_INDEX": "1",
    "PIP_NO_BUILD_ISOLATION": "0",
    "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    "PIP_ROOT_USER_ACTION": "ignore",
    "PIP_CONFIG_FILE": os.devnull,
}


def make_environment(folder: Path) -> dict[str, str]:
    """Make a virtual environment in `folder` that has what the running Python has; return the variables to use it.

    What is installed in it stays in it.
    """
    venv.create(folder, with_pip=False, symlinks=True)
    places = {"base": str(folder), "platbase": str(folder)}
    site = Path(sysconfig.get_path("purelib", "venv", places))
    outer = [path for path in sys.path if os.path.basename(path) in ("site-packages", "dist-packages")]
    lines = [f"import site; site.addsitedir({path!r})\n" for path in outer]
    (site / "outer.pth").write_text("".join(lines), encoding="utf-8")
    scripts = Path(sysconfig.get_path("scripts", "venv", places))
    for entry in entry_points(group="console_scripts"):
        module, _, function = entry.value.partition(":")
        script = scripts / entry.name
        start = f"#!{scripts / 'python'}\nimport sys\nfrom {module} import {function.partition('.')[0]}\n"
        script.write_text(f"{start}sys.exit({function}())\n", encoding="utf-8")
        script.chmod(0o755)
    kept = {
        name: value
        for name, value in os.environ.items()
        if name not in _DROPPED and not name.startswith(_DROPPED_STARTS)
    }
    return kept | _SET | {"PATH": f"{scripts}{os.pathsep}{kept.get('PATH', os.defpath)}", "VIRTUAL_ENV": str(folder)}
