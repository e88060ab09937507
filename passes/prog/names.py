"""Names that are free in a procedure. Source: program specification 1.2."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import count

from scaly_ir.graph import Node, preorder

_KEYS = ("name", "target", "buffer", "callee", "alias_of")
"""The attributes that hold names."""

_foreign = re.compile(r"[^A-Za-z0-9_]")


def taken_names(procedure: Node) -> set[str]:
    """Return the names in a procedure, those of callees too, as C spells them."""
    return {c_spelling(node.attrs[key]) for node in preorder(procedure) for key in _KEYS if key in node.attrs}


def fresh_names(taken: set[str], prefix: str, first: int = 0) -> Iterator[str]:
    """Yield `prefix` with a number, from `first` on, for each such name that is not taken as C spells it."""
    spelled = c_spelling(prefix)
    return (f"{prefix}{number}" for number in count(first) if f"{spelled}{number}" not in taken)


def names_for(procedure: Node, prefix: str, first: int = 0) -> Iterator[str]:
    """Yield fresh names for a procedure, which is searched for those that are taken when the first is asked for."""
    yield from fresh_names(taken_names(procedure), prefix, first)


def c_spelling(name: object) -> str:
    """Return a name with what C cannot spell as underscores."""
    return _foreign.sub("_", str(name))


class UniqueNames:
    """Gives out names that differ from all taken ones, and from each other, as C spells them."""

    def __init__(self, taken: set[str]) -> None:
        self._taken = taken
        self._next: dict[str, int] = {}
        """The next number to try behind a name that was taken."""

    def __call__(self, name: str) -> str:
        """Return a name, or the name with `_2`, `_3`, ... behind it, and take it."""
        chosen = name
        while c_spelling(chosen) in self._taken:
            number = self._next.get(name, 2)
            self._next[name] = number + 1
            chosen = f"{name}_{number}"
        self._taken.add(c_spelling(chosen))
        return chosen
