"""What names stand for where scopes nest: what a scope defines hides what stood outside, until the scope ends."""

from __future__ import annotations

from typing import Generic, TypeVar

T = TypeVar("T")


class Scopes(Generic[T]):
    """The names that are visible, kept up to date by `enter`, `define` and `leave`."""

    __slots__ = ("_hidden", "names")

    def __init__(self, names: dict[str, T] | None = None) -> None:
        self.names: dict[str, T] = {} if names is None else names
        """What each name stands for."""
        self._hidden: list[list[tuple[str, T | None]]] = []
        """For each open scope, what the names that it defines stood for before."""

    @property
    def is_open(self) -> bool:
        """Whether there is a scope."""
        return bool(self._hidden)

    def enter(self) -> None:
        """Begin a scope."""
        self._hidden.append([])

    def define(self, name: str, value: T) -> None:
        """Let a name stand for something until the innermost scope ends."""
        self._hidden[-1].append((name, self.names.get(name)))
        self.names[name] = value

    def leave(self) -> None:
        """End the innermost scope."""
        for name, before in reversed(self._hidden.pop()):
            if before is None:
                self.names.pop(name, None)
            else:
                self.names[name] = before
