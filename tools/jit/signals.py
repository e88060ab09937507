"""What is said of compiled code that a signal ended."""

from __future__ import annotations

import signal
from typing import Final

_MEANINGS: Final = {
    "SIGFPE": "a division of integers by zero, or of the least integer by -1",
    "SIGSEGV": "an address that is not the program's, or too little stack",
    "SIGBUS": "an address that is not the program's",
    "SIGILL": "an instruction that this machine lacks",
    "SIGKILL": "too little memory, or somebody who ended it",
}
"""What signals are about, as far as that can be said."""


def signal_text(number: int) -> str:
    """Return what to say of compiled code whose process a signal ended."""
    try:
        name = signal.Signals(number).name
    except ValueError:
        name = f"number {number}"
    meaning = f" ({_MEANINGS[name]})" if name in _MEANINGS else ""
    return f"the compiled code was killed by signal {name}{meaning}"
