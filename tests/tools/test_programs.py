"""Programs that a tool runs: what they print, and that nothing of them goes on when the tool is ended."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from scaly_ir.tools.programs import run_program
from tests.tools.running import environment, started_with

pytestmark = [
    pytest.mark.usefixtures("workspace"),
    pytest.mark.skipif(os.name != "posix", reason="processes as POSIX has them"),
]


def test_what_a_program_is_given_and_prints() -> None:
    script = "import os, sys; print(sys.stdin.read(), os.getcwd(), os.environ['A'], file=sys.stderr); print(1); exit(3)"
    Path("folder").mkdir()
    command = [sys.executable, "-c", script]
    done = run_program(command, b"text", folder="folder", environment={**os.environ, "A": "b"})
    said = f"text {Path('folder').resolve()} b\n".encode()
    assert (done.returncode, done.stdout, done.stderr) == (3, b"1\n", said)
    done = run_program(["sh", "-c", "echo a; echo b >&2; cat"], b"", merged=True)
    assert (done.returncode, done.stdout) == (0, b"a\nb\n")
    with pytest.raises(FileNotFoundError):
        run_program(["./no-such-program"])


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_a_program_ends_with_the_tool_and_so_does_what_it_started(name: str) -> None:
    mark = f"{os.getpid()}-{name}"
    script = (
        "from scaly_ir.tools.interrupts import end_process\n"
        "from scaly_ir.tools.programs import run_program\n"
        "end_process(lambda: run_program(['sh', '-c', 'sleep 987 & touch begun; sleep 987']).returncode)\n"
    )
    command = [sys.executable, "-c", script]
    with subprocess.Popen(command, stderr=subprocess.PIPE, env=environment(SCALY_MARK=mark)) as process:
        deadline = time.monotonic() + 60
        while not Path("begun").exists() and time.monotonic() < deadline:
            time.sleep(0.02)
        process.send_signal(getattr(signal, name))
        assert process.wait(timeout=30) == 128 + getattr(signal, name)
        assert process.stderr is not None
        assert process.stderr.read() == b""
    assert not started_with(mark)
