"""Tests that say at once whether a state is interesting, and a search that is told what is."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from scaly_ir.graph import Node
from scaly_ir.tools.reduce.interest import Outcome
from scaly_ir.tools.reduce.search import Search
from scaly_ir.tools.reduce.state import State
from scaly_ir.tools.reduce.steps import Step, steps_for


class Told:
    """A test that asks a function; it notes what was started, ended and stopped."""

    def __init__(self, interesting: Callable[[State], bool]) -> None:
        self.interesting = interesting
        self.started: list[State] = []
        self.stopped = 0
        self.running = 0
        self.most = 0

    def start(self, state: State) -> _Asked:
        self.started.append(state)
        self.running += 1
        self.most = max(self.most, self.running)
        return _Asked(self, state)

    def command(self, path: str, passes: Sequence[object]) -> str:
        return f"look {path}"


class _Asked:
    def __init__(self, test: Told, state: State) -> None:
        self._test = test
        self._state = state

    def wait(self, deadline: float | None = None) -> Outcome:
        self._test.running -= 1
        return Outcome(self._test.interesting(self._state), 0)

    def stop(self) -> None:
        self._test.running -= 1
        self._test.stopped += 1


def reduced(
    start: State,
    interesting: Callable[[State], bool],
    *,
    jobs: int = 1,
    allow_invalid: bool = False,
    steps: Sequence[Step] | None = None,
) -> Search:
    """Search for the smallest and return the search."""
    search = Search(start, Told(interesting), lambda state, step: None, jobs=jobs, allow_invalid=allow_invalid)
    search.run(steps_for(start) if steps is None else steps)
    return search


def smallest(root: Node, interesting: Callable[[Node], bool]) -> Node:
    """Return what is left of a module."""

    def is_wanted(state: State) -> bool:
        assert isinstance(state.body, Node)
        return interesting(state.body)

    body = reduced(State(root), is_wanted).best.body
    assert isinstance(body, Node)
    return body
