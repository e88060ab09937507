"""What somebody may want to see of a run. What nobody watches costs nothing: it is no part of the compiled source."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from scaly_ir.graph import Node

StatementWatch = Callable[[str, Node, tuple[Any, ...]], None]
"""Is told the procedure, a statement that was executed, and values.

They are of a store the index and what was written from there on, of an assignment the value, of a loop, before each
trip, its variable; of a call, before it is made, there are none. Declarations are not told.
"""


class Watch(NamedTuple):
    """What is watched."""

    statement: StatementWatch | None = None
    """Who is told of each statement, or None."""
    finite: bool = False
    """Whether the first operation that gives a NaN or an infinity ends the run; loads and literals are none."""


NOBODY: Final = Watch()
"""A run that nobody watches."""
