"""The search for the smallest interesting state: each step is taken until it helps no more, and all again until none
does.

A step lists its edits; first all of them are made at once, then halves, quarters and so on down to single ones, the
finest only when no step helps any more by a large part of its edits. Several candidates may be tried at a time, but
what is found is used in the order in which they were made, so the result is that of trying one after the other. Knows
no dialect and no test.
"""

from __future__ import annotations

import hashlib
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple

from scaly_ir.tools.interrupts import held
from scaly_ir.tools.reduce.interest import Running, Test
from scaly_ir.tools.reduce.state import State
from scaly_ir.tools.reduce.steps import Step

_COARSE: Final = 32
"""Into how many parts edits are divided before all steps have been tried."""


class _Cursor(NamedTuple):
    """Where a step stands: how many edits it makes at once, and the first of them."""

    size: int
    at: int


class _Attempt(NamedTuple):
    state: State
    cursor: _Cursor


class OutOfTime(Exception):  # noqa: N818 (it ends a search, and is no error)
    """The time for the whole search is over."""


class Search:
    """Makes `best` smaller; `improved` is told of each better state and the step that found it."""

    def __init__(
        self,
        start: State,
        test: Test,
        improved: Callable[[State, Step], None],
        *,
        jobs: int = 1,
        deadline: float | None = None,
        allow_invalid: bool = False,
    ) -> None:
        self.best = start
        self.candidates = 0
        """How many were tested."""
        self._test = test
        self._improved = improved
        self._jobs = jobs
        self._deadline = deadline
        self._allow_invalid = allow_invalid
        self._tried = {_key(start)}

    def run(self, steps: Sequence[Step]) -> None:
        """Search until no step helps; `OutOfTime` when the time is over before."""
        for parts in (_COARSE, None):
            before = None
            while before is not self.best:
                before = self.best
                for step in steps:
                    self._exhaust(step, parts)

    def _exhaust(self, step: Step, parts: int | None) -> None:
        cursor: _Cursor | None = None
        while True:
            found = self._first_interesting(self._attempts(step, cursor, parts))
            if found is None:
                return
            self.best, cursor = found
            self._improved(self.best, step)

    def _attempts(self, step: Step, cursor: _Cursor | None, parts: int | None) -> Iterator[_Attempt]:
        """Yield what is worth a test, from a cursor on, as long as nothing of it is interesting.

        Edits are made in as few as so many `parts`, or one by one at the end.
        """
        best = self.best
        edits = self._edits(step, best)
        size, at = cursor or (len(edits), 0)
        size = min(size, len(edits))
        least = 1 if parts is None else max(1, len(edits) // parts)
        while size >= least:
            while at < len(edits):
                self._check_time()
                made = self._made(step, best, edits[at : at + size])
                if made is not None and self._is_worth_a_test(made, best):
                    yield _Attempt(made, _Cursor(size, at))
                at += size
            size, at = size // 2, 0

    def _edits(self, step: Step, best: State) -> Sequence[object]:
        try:
            return step.edits(best)
        except Exception:
            if not self._allow_invalid:
                raise
            return ()  # what is no valid module may lack anything

    def _made(self, step: Step, best: State, edits: Sequence[object]) -> State | None:
        try:
            return step.apply(best, edits)
        except Exception:
            if not self._allow_invalid:
                raise
            return None

    def _is_worth_a_test(self, state: State, best: State) -> bool:
        try:
            if state.weight >= best.weight or _key(state) in self._tried:
                return False
            return self._allow_invalid or isinstance(state.body, str) or state.is_valid()
        except Exception:  # printer and verifier rely on each other; what either cannot take is no candidate
            return False

    def _first_interesting(self, attempts: Iterator[_Attempt]) -> _Attempt | None:
        """Return the first interesting attempt, or None; so many are tested at a time as there are jobs."""
        running: deque[tuple[_Attempt, Running]] = deque()
        try:
            while True:
                while len(running) < self._jobs and (attempt := next(attempts, None)) is not None:
                    self._tried.add(_key(attempt.state))
                    with held():
                        running.append((attempt, self._test.start(attempt.state)))
                if not running:
                    return None
                attempt, test = running[0]
                outcome = test.wait(self._deadline)
                if not outcome.interesting:
                    self._check_time()
                running.popleft()
                self.candidates += 1
                if outcome.interesting:
                    return attempt
        finally:
            for attempt, test in running:  # they were tested in the hope that those before them fail
                test.stop()
                self._tried.discard(_key(attempt.state))

    def _check_time(self) -> None:
        if self._deadline is not None and time.monotonic() >= self._deadline:
            raise OutOfTime


def _key(state: State) -> tuple[bytes, tuple[object, ...]]:
    """Return what is the same for equal states; a digest, as thousands of large texts take much memory."""
    return hashlib.blake2b(state.data, digest_size=16).digest(), state.passes
