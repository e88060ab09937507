"""How much work something is, whatever else the machine does: for tests that hold growth to be linear."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from types import FrameType


def calls_of(work: Callable[[], object]) -> int:
    """Return how many function calls, of Python and of C, some work takes."""
    gc.collect()  # what earlier tests left would be counted when it goes
    count = 0

    def profile(frame: FrameType, event: str, argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(profile)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count
