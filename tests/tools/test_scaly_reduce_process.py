"""scaly-reduce as a process: interrupts, and what it leaves behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.tools.running import CHAIN, environment, started_with

pytestmark = [
    pytest.mark.usefixtures("workspace"),
    pytest.mark.skipif(os.name != "posix", reason="signals as POSIX has them"),
]

TOOL = (sys.executable, "-m", "scaly_ir.tools.scaly_reduce")


@pytest.mark.parametrize(("name", "code"), [("SIGINT", 130), ("SIGTERM", 143)])
def test_an_interrupt_keeps_the_best_so_far_and_ends_what_runs(name: str, code: int) -> None:
    Path("x.sir").write_text(CHAIN)
    Path("tmp").mkdir()
    Path("test.sh").write_text(
        # The first candidate that is smaller than the input is taken; the one after it never ends.
        'grep -q prog.neg "$1" || exit 1\n'
        'grep -q prog.exp "$1" && exit 0\n'
        "test -e seen && { touch waiting; sleep 987 & sleep 987; }\n"
        "touch seen\n"
    )
    changes = {"TMPDIR": str(Path("tmp").resolve())}
    command = [*TOOL, "x.sir", "--test=sh test.sh", "--timeout=0", "-j2"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, env=environment(**changes)) as process:
        deadline = time.monotonic() + 60
        while not Path("waiting").exists() and time.monotonic() < deadline:
            time.sleep(0.02)
        process.send_signal(getattr(signal, name))
        assert process.wait(timeout=30) == code
        assert process.stderr is not None
        assert process.stderr.read() == b""
    best = Path("x.reduced.sir").read_text()
    assert "prog.neg" in best
    assert len(best) < len(CHAIN)
    assert os.listdir("tmp") == []
    assert not started_with(changes["TMPDIR"])


def test_help_and_version_load_little() -> None:
    code = (
        "import sys, io\n"
        "from scaly_ir.tools.scaly_reduce import main\n"
        "main(['--help'], sys.stdin, io.StringIO(), sys.stderr)\n"
        "main(['--version'], sys.stdin, io.StringIO(), sys.stderr)\n"
        "heavy = {'numpy', 'lark', 'rich', 'multiprocessing', 'subprocess', 'tempfile', 'scaly_ir.dialect'}\n"
        "print(sorted(heavy & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment(), check=True)
    assert done.stdout == "[]\n"
