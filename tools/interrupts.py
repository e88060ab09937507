"""What ends a tool from outside: Ctrl-C, a request to end, a terminal that goes away.

Owns the signals of a process that is the tool's own; whoever calls a tool as a function keeps theirs. The first signal
is raised in the main thread as `Interrupted`, so that what was begun is tidied up; those after it are ignored.
"""

from __future__ import annotations

import _thread
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING, Final, NoReturn

if TYPE_CHECKING:
    from sys import UnraisableHookArgs

SIGNALS: Final = tuple([getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)])
"""The signals that end a tool."""
_SOON: Final = 0.01
"""Seconds until a signal that was lost comes again."""


class Interrupted(KeyboardInterrupt):
    """A signal came; `code` is the exit code for it, as shells have it."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number
        self.code = 128 + number


class _State:
    """What is known of the signals of this process."""

    def __init__(self) -> None:
        self.caught: list[signal.Signals] = []
        """Those that raise; none unless the process is the tool's own."""
        self.main = 0
        """The thread that they are raised in."""
        self.came = False
        """Whether one has come."""
        self.losing = False
        """Whether one that could not be raised is being dealt with."""
        self.insisting = False
        """Whether it comes again and again."""
        self.holding = False
        self.held: Interrupted | None = None
        """The one that waits for the end of `held`."""


_STATE: Final = _State()


def end_process(work: Callable[[], int]) -> NoReturn:
    """Do the work of a process that is a tool's own, and end the process with the exit code that it returns.

    Silently with that of a signal, and with 141 when the reader of its output went away.
    """
    try:
        _catch_signals()
        # Freeing millions of nodes one by one takes longer than all else at the end of a large run.
        os._exit(work())
    except Interrupted as interrupt:
        code = interrupt.code
    except KeyboardInterrupt:
        code = 130
    except BrokenPipeError:
        code = 141
    os._exit(code)


def _catch_signals() -> None:
    """Have signals raise `Interrupted` from now on. Those that are ignored, as under ``nohup``, stay so."""
    for number in SIGNALS:
        if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
            signal.signal(number, _raise)
            _STATE.caught.append(number)
    _STATE.main = _thread.get_ident()
    sys.unraisablehook = _raise_again


def _raise(number: int, _: FrameType | None) -> None:
    if _STATE.came or _STATE.losing:
        return
    _STATE.came = True
    if not _STATE.holding:
        raise Interrupted(number)
    _STATE.held = Interrupted(number)


def _raise_again(lost: UnraisableHookArgs) -> None:
    """Have a signal come again that came where nothing can be raised, as while a node is freed."""
    if not isinstance(lost.exc_value, Interrupted):
        sys.__unraisablehook__(lost)
        return
    _STATE.losing = True  # nor can anything be raised here
    _STATE.came = False
    if not _STATE.insisting:
        _STATE.insisting = True
        _thread.start_new_thread(_insist, (lost.exc_value.number,))
    _STATE.losing = False


def _insist(number: int) -> NoReturn:
    """Send a signal again and again: the first one that can be raised ends the process, and the others are ignored."""
    from time import sleep

    while True:
        sleep(_SOON)
        if hasattr(signal, "pthread_kill"):
            signal.pthread_kill(_STATE.main, number)  # another thread's signal does not wake it
        else:
            signal.raise_signal(number)


@contextmanager
def held() -> Iterator[None]:
    """Keep signals waiting until the end of the context, so that it is done as a whole or not begun.

    As when a process is started, which has to be known to who ends it.
    """
    outer, _STATE.holding = _STATE.holding, True
    try:
        yield
    finally:
        _STATE.holding = outer
        waiting = _STATE.held
        if waiting is not None and not outer:
            _STATE.held = None
            raise waiting


@contextmanager
def ending_at_once() -> Iterator[None]:
    """Let signals end the process at once, while code runs that does not come back to Python to hear of them.

    What has to be tidied up must not be left to the end of the context. Where the process is not the tool's own, and
    outside its main thread, all stays as it is.
    """
    numbers = tuple(_STATE.caught) if _thread.get_ident() == _STATE.main else ()
    for number in numbers:
        signal.signal(number, signal.SIG_DFL)
    try:
        yield
    finally:
        for number in numbers:
            signal.signal(number, _raise)


def end_child_at_once() -> None:
    """Do the same for good, in a process that was forked from the tool's."""
    for number in SIGNALS:
        signal.signal(number, signal.SIG_DFL)
