"""Short names, for what has long ones."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from typing import Final

_LETTERS: Final = "abcdefghijklmnopqrstuvwxyz"


def shorter_names(names: Sequence[str], reserved: str = "") -> list[tuple[str, str]]:
    """Return those of some names that can be shorter, each with a name that is not among them.

    What begins with the prefix `reserved`, if that is given, keeps its name.
    """
    taken = set(names)
    fresh = (name for name in map(_short, count()) if name not in taken)
    long = [name for name in dict.fromkeys(names) if len(name) > 1 and not (reserved and name.startswith(reserved))]
    return [(old, new) for old, new in zip(long, fresh, strict=False) if len(new) < len(old)]


def _short(number: int) -> str:
    rounds, letter = divmod(number, len(_LETTERS))
    return _LETTERS[letter] + (str(rounds) if rounds else "")
