"""Counters: how often a pass did what, on the way to a tool that shows it.

A pass declares its counters (`Pass.counters`) and calls `count`; a tool, or a test, runs it inside `collect_counts`.
What is counted where nobody collects is lost.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

_COUNTING: Final[ContextVar[Counter[str] | None]] = ContextVar("_COUNTING", default=None)


def count(name: str, amount: int = 1) -> None:
    """Add to a counter of whoever collects them."""
    counts = _COUNTING.get()
    if counts is not None:
        counts[name] += amount


@contextmanager
def collect_counts() -> Iterator[Counter[str]]:
    """Collect what is counted inside the ``with`` block in the counter it gives; the innermost block counts."""
    counts: Counter[str] = Counter()
    before = _COUNTING.set(counts)
    try:
        yield counts
    finally:
        _COUNTING.reset(before)
