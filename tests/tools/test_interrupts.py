"""What ends a tool from outside: the exit code of each signal, and that what was begun is tidied up, silently."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from scaly_ir.tools.interrupts import SIGNALS, held
from tests.tools.running import Done, environment

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals as POSIX has them")


def _process(work: str, before: str = "") -> Done:
    """Run a body of a function as the work of a process that is a tool's own."""
    lines = "".join([f"    {line}\n" for line in work.splitlines()])
    script = (
        "import os, signal, sys, time, weakref\n"
        "from scaly_ir.tools.interrupts import end_process, ending_at_once, held\n"
        "def say(text): os.write(1, f'{text} '.encode())\n"
        "def send(name): os.kill(os.getpid(), getattr(signal, name))\n"
        f"{before}\ndef work():\n{lines}    return 0\nend_process(work)\n"
    )
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, capture_output=True, env=environment(), check=False, encoding="utf-8", timeout=60)
    return Done(done.returncode, done.stdout, done.stderr)


@pytest.mark.parametrize(("name", "code"), [("SIGINT", 130), ("SIGTERM", 143), ("SIGHUP", 129)])
def test_each_signal_ends_the_process_silently_with_its_code(name: str, code: int) -> None:
    work = f"try:\n    send('{name}')\n    say('on')\nfinally:\n    say('tidied')"
    assert _process(work) == (code, "tidied ", "")


def test_the_code_of_the_work_and_of_a_reader_that_went_away() -> None:
    assert _process("return 7") == (7, "", "")
    assert _process("raise BrokenPipeError") == (141, "", "")
    assert _process("raise KeyboardInterrupt") == (130, "", "")


def test_signals_while_it_tidies_up_are_ignored() -> None:
    work = "try:\n    send('SIGINT')\nfinally:\n    send('SIGINT')\n    send('SIGTERM')\n    say('tidied')"
    assert _process(work) == (130, "tidied ", "")


def test_what_is_held_is_done_as_a_whole() -> None:
    work = (
        "with held():\n    with held():\n        send('SIGTERM')\n        say('inner')\n    say('outer')\nsay('after')"
    )
    assert _process(work) == (143, "inner outer ", "")


def test_what_tidies_up_may_hold_signals_too() -> None:
    work = "try:\n    send('SIGINT')\nfinally:\n    with held():\n        say('held')\n    say('tidied')"
    assert _process(work) == (130, "held tidied ", "")


def test_a_signal_that_comes_while_something_is_freed_is_raised_after_that() -> None:
    before = "class Thing: pass\nthing = Thing()\nseen = weakref.ref(thing, lambda _: send('SIGINT'))\n"
    work = "global thing\ndel thing\nsay('freed')\ntime.sleep(30)"
    assert _process(work, before) == (130, "freed ", "")


def test_a_signal_that_is_ignored_stays_so() -> None:
    before = "signal.signal(signal.SIGHUP, signal.SIG_IGN)"  # as nohup has it
    assert _process("send('SIGHUP')\nsay('on')", before) == (0, "on ", "")


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_code_that_does_not_come_back_is_ended_at_once(name: str) -> None:
    work = f"with ending_at_once():\n    send('{name}')\n    say('on')"
    assert _process(work) == (-getattr(signal, name), "", "")
    assert _process(f"with ending_at_once(): pass\nsend('{name}')")[0] == 128 + getattr(signal, name)


def test_the_signals_of_whoever_calls_a_tool_as_a_function_are_left_alone() -> None:
    before = [signal.getsignal(number) for number in SIGNALS]
    with held():
        assert [signal.getsignal(number) for number in SIGNALS] == before


# --- how installed commands begin -------------------------------------------------------------------------------------


def test_an_interrupt_while_a_tool_is_loaded_is_silent() -> None:
    script = (
        "import signal, sys\n"
        "class Finder:\n"
        "    def find_spec(self, name, path, target=None):\n"
        "        if name == 'scaly_ir.tools.scaly_opt': signal.raise_signal(signal.SIGINT)\n"
        "sys.meta_path.insert(0, Finder())\n"
        "from scaly_ir.tools.start import scaly_opt\n"
        "scaly_opt()\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, env=environment(), check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, b"", b"")


@pytest.mark.parametrize("tool", ["check", "opt", "reduce", "run", "translate"])
def test_each_command_begins(tool: str) -> None:
    script = f"from scaly_ir.tools.start import scaly_{tool} as run; run()"
    command = [sys.executable, "-c", script, "--version"]
    done = subprocess.run(command, capture_output=True, env=environment(), check=False, encoding="utf-8")
    assert (done.returncode, done.stdout.split()[0], done.stderr) == (0, f"scaly-{tool}", "")
