"""Collects the lines of compiled functions and turns them into functions.

A procedure is one function, or several: Python allows but so many nested blocks, so that deep nests go on in a function
of their own. A function that calls others which may go as deep is a generator; it yields the call and is resumed when
that has run, so that Python's stack does not grow with the program.
"""

from __future__ import annotations

from collections.abc import Callable
from types import CodeType
from typing import Any, Final

from scaly_ir.dialects.prog.evaluate.faults import Loop, Piece
from scaly_ir.dialects.prog.evaluate.scalars import HELPERS
from scaly_ir.graph import Node
from scaly_ir.numeric.table import scalar_name
from scaly_ir.op import Op


class Function:
    """A compiled function.

    One that `waits` is a generator of calls, each a function and its arguments. One that does not makes calls of its
    own, `depth` of them inside each other.
    """

    __slots__ = ("depth", "run", "waits")

    def __init__(self, run: Callable[..., Any], waits: bool, depth: int) -> None:
        self.run = run
        self.waits = waits
        self.depth = depth


_DEEPEST: Final = 8
"""Calls nest so deep without a way back to whoever runs them."""


class Draft:
    """The lines of a function that is being written."""

    def __init__(self, procedure: str, head: str) -> None:
        self.head = head
        self.lines: list[str] = []
        self.piece = Piece(procedure)
        self.waits = False
        self.depth = 0
        self.indent = 1
        self.blocks = 0
        self.used: dict[int, None] = {}
        """The buffers whose memory is used and was not declared here."""
        self.own: set[int] = set()


class Writer:
    """Writes the functions of one procedure."""

    def __init__(self, procedure: str, functions: dict[CodeType, Piece]) -> None:
        self._procedure: Final = procedure
        self._functions: Final = functions
        self._names: dict[str, Any] = dict(HELPERS)
        self._constants = 0
        self._meanings: dict[Op, str | None] = {}
        self.drafts: list[Draft] = []
        """The functions that are being written, the outermost first."""

    @property
    def draft(self) -> Draft:
        """The function that lines go to."""
        return self.drafts[-1]

    def begin(self, head: str) -> None:
        """Begin a function with the given parameters."""
        self.drafts.append(Draft(self._procedure, head))

    def end(self, prologue: str) -> Function:
        """Finish the innermost function; `prologue` is one line that runs first."""
        draft = self.drafts.pop()
        name = f"piece_{len(self._functions)}"  # code of another name is other code, whatever else it has in common
        text = "\n".join([f"def {name}({draft.head}):", f" {prologue or 'pass'}", *draft.lines, ""])
        code = compile(text, "<prog>", "exec")
        exec(code, self._names)  # made of numbers, of our own names, and of the program's as quoted strings
        function = self._names.pop(name)
        self._functions[function.__code__] = draft.piece
        return Function(function, draft.waits, draft.depth)

    def line(self, text: str) -> None:
        """Write a line."""
        draft = self.drafts[-1]
        draft.lines.append(" " * draft.indent + text)

    def mark(self, statement: Node, loop: Loop | None) -> None:
        """Say which statement the next lines belong to."""
        draft = self.drafts[-1]
        draft.piece.mark(len(draft.lines) + 3, statement, loop)

    def call(self, function: Function, arguments: str) -> None:
        """Write the call of a function."""
        name = self.constant(function.run)
        if function.waits or function.depth >= _DEEPEST:
            self.draft.waits = True
            self.line(f"yield {name}, ({arguments},)")
        else:
            self.draft.depth = max(self.draft.depth, function.depth + 1)
            self.line(f"{name}({arguments})")

    def constant(self, value: Any) -> str:
        """Return a name that stands for a value."""
        self._constants += 1
        name = f"K{self._constants}"
        self._names[name] = value
        return name

    def meaning(self, op: Op) -> str | None:
        """Return which shared scalar operator an operator is, or None for a registered one."""
        if op not in self._meanings:
            self._meanings[op] = scalar_name(op)
        return self._meanings[op]

    def use_buffer(self, number: int) -> int:
        """Note that the memory of a buffer is used here, and return its number."""
        draft = self.drafts[-1]
        if number not in draft.own:
            draft.used[number] = None
        return number
