"""C identifiers: how a name of the IR is spelled, and the one allocator of a scope. `reserved.py` has what is taken.

The rule: a character that C does not have becomes ``_``, and what is taken or reserved gets a number, ``x_2``. Exported
symbols never get one; that they are free is for their users to check (`is_reserved`).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from typing import Final

from scaly_ir.tools.c.reserved import is_private, is_reserved

INTERFACE: Final = frozenset("arg res iw w mem double2".split())
"""What the text of every procedure may use."""

_not_c: Final = re.compile(r"[^A-Za-z0-9_]")
_is_generated: Final = re.compile(r"k[0-9]+").fullmatch


def exported(name: str) -> str:
    """Return the identifier of an exported symbol: no more is changed than C demands."""
    text = _not_c.sub("_", name)
    return text if text[:1] and not text[0].isdigit() else f"_{text}"


def spelled(name: str) -> str:
    """Return the identifier that a name would have if nothing else had it."""
    text = re.sub("__+", "_", exported(name))
    if is_private(text):
        text = f"x{text}" if text.startswith("_") else f"x_{text}"
    return text


class Names:
    """The identifiers of one scope inside another; `of` gives the identifier of a name of the IR."""

    def __init__(self, outer: Names | None = None, taken: Collection[str] = ()) -> None:
        self.of: dict[str, str] = {}
        self._outer = outer
        self._taken = set(taken)
        self._next: dict[str, int] = {}

    def is_taken(self, identifier: str) -> bool:
        """Tell whether an identifier has a meaning here or around here."""
        if identifier in self._taken or (self._outer is not None and self._outer.is_taken(identifier)):
            return True
        return is_reserved(identifier) or identifier in INTERFACE

    def take(self, identifier: str) -> None:
        """Keep an identifier from being given away."""
        self._taken.add(identifier)

    def fresh(self, wanted: str) -> str:
        """Return and take a free identifier: the one wanted, or that with a number."""
        found = wanted
        if self.is_taken(found):
            stem = re.sub("__+", "_", wanted).rstrip("_") or "x"
            stem = f"x_{stem.lstrip('_')}" if is_reserved(f"{stem}_2") else stem  # a number would not make it free
            number = self._next.get(stem, 2)
            while self.is_taken(found := f"{stem}_{number}"):
                number += 1
            self._next[stem] = number + 1
        self.take(found)
        return found

    def give(self, names: Iterable[tuple[str, bool]]) -> None:
        """Give each name of the IR its identifier; those that need no change come first, so that they keep theirs.

        Each name comes with whether it is that of a table: ``k0``, ``k1``, ... are meant for those.
        """
        changed = []
        for name, is_table in names:
            if name in self.of:
                continue
            if self.is_taken(name) or spelled(name) != name or (_is_generated(name) and not is_table):
                changed.append(name)
            else:
                self.of[name] = self.fresh(name)
        for name in changed:
            if name not in self.of:
                text = spelled(name)
                self.of[name] = self.fresh(f"{text}_2" if _is_generated(text) else text)
