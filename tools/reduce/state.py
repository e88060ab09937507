"""What is reduced: IR, or text that need not be any, with the passes that go with it; and how large it is."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final, NamedTuple

from scaly_ir.dialect import dialect_of
from scaly_ir.graph import Node

if TYPE_CHECKING:
    from scaly_ir.pass_manager import Pass


class Weight(NamedTuple):
    """How large a state is, the most important first; each improvement makes it less, so a search ends."""

    operations: int
    passes: int
    tokens: int
    numbers: int
    """What the numbers amount to: 0 counts nothing, 1 one, others by their digits in binary."""
    length: int


@dataclass(frozen=True)
class State:
    """A candidate: the root of a module, or text, and the passes that are run on it."""

    body: Node | str
    passes: tuple[Pass, ...] = ()

    @cached_property
    def text(self) -> str:
        """The text of the file; what bytes were no UTF-8 are surrogates in it."""
        return self.body if isinstance(self.body, str) else dialect_of(self.body).render(self.body)

    @cached_property
    def weight(self) -> Weight:
        """Its size."""
        text = self.text
        numbers = sum(map(_cost, _numbers(text)))
        return Weight(operations(text), len(self.passes), len(_tokens(text)), numbers, len(text))

    def is_valid(self) -> bool:
        """Tell whether the verifier takes it."""
        return isinstance(self.body, Node) and not any(True for _ in dialect_of(self.body).spec.check(self.body))

    @property
    def data(self) -> bytes:
        """The contents of the file."""
        return self.text.encode("utf-8", "surrogateescape")


def operations(text: str) -> int:
    """Return how many operations a text shows: a line each, statements and functions too."""
    return sum([line.strip() not in ("", "}") for line in text.split("\n")])


_tokens: Final = re.compile(r"[\w.$-]+|[^\s\w]").findall
_numbers: Final = re.compile(r"(?<![\w.%@$-])-?\d[\d.]*(?:e[+-]?\d+)?|(?<=\dx)\d+(?=x)").findall


def _cost(number: str) -> int:
    if number.isdigit():
        return int(number).bit_length() if len(number) < 1000 else 4 * len(number)
    return 0 if not number.strip("0.") else 1 + len(number)
