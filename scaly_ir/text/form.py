"""The forms in which IR can be printed beside its canonical text, and how lines get what is added to them.

Every dialect prints the same additions the same way: where an operation comes from, and who uses its values.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from scaly_ir.attributes import AttrValue, spell_key, spell_value
from scaly_ir.graph import Node
from scaly_ir.graph.walk import with_references
from scaly_ir.tables import Table

Locate = Callable[[Node], str]
"""Returns the ``loc(...)`` of an operation; it is asked once for each, in the order in which they are printed."""


@dataclass(frozen=True, slots=True)
class Form:
    """How IR is printed: nothing set is its canonical text."""

    generic: bool = False
    """Every node in one spelling, with all its attributes."""
    elide: int | None = None
    """Tables of more elements are left out; such text does not verify."""
    locate: Locate | None = None
    """What says where an operation comes from."""
    users: bool = False
    """Whether comments name the users of each value."""

    def elides(self, root: Node) -> bool:
        """Tell whether a table of `root`, or of what it refers to, is left out."""
        return self.elide is not None and any(
            [elided_size(key, value, self.elide) for node in with_references(root) for key, value in node.attrs.items()]
        )


CANONICAL = Form()

BRIEF_DEPTH: Final = 3
"""How many levels of operands an operation is shown with where it is shown in brief."""
BRIEF_WIDTH: Final = 6
"""How many operands are then shown at most."""
BRIEF_ENTRIES: Final = 16
"""How many entries of a constant are then shown at most."""
_BRIEF_LENGTH: Final = 60


def shortened(text: str) -> str:
    """Return the text of attributes or of a constant as it is shown in brief, with the bracket at its end."""
    return text if len(text) <= _BRIEF_LENGTH else f"{text[:_BRIEF_LENGTH]}...{text[-1]}"


_CONSTANTS = frozenset({"value", "values"})
"""The attributes that hold the elements of tables and constants, in every dialect."""


def elided_size(key: str, value: AttrValue, most: int) -> int:
    """Return how many elements an attribute has if it is a table of more than `most`, else 0."""
    if key not in _CONSTANTS:
        return 0
    size = math.prod(value.shape) if type(value) is Table else len(value) if type(value) is tuple else 0
    return size if size > most else 0


def spell_shown(attrs: Mapping[str, AttrValue], most: int | None, refer: Callable[[Node], str] | None = None) -> str:
    """Return attributes with a space before them, or nothing; without tables of more than `most` elements.

    `refer` gives what stands for a node.
    """
    spelled = []
    for key in sorted(attrs):
        value = attrs[key]
        size = 0 if most is None else elided_size(key, value, most)
        if size:
            text = f"elided<{size}>"
        elif refer is not None and isinstance(value, Node):
            text = refer(value)
        else:
            text = spell_value(value)
        spelled.append(f"{spell_key(key)}={text}")
    return f" {{{', '.join(spelled)}}}" if spelled else ""


def located(locate: Locate | None, node: Node) -> str:
    """Return what stands behind an operation to say where it comes from."""
    return "" if locate is None else f" {locate(node)}"


def users_comment(users: Collection[str]) -> str:
    """Return the comment behind a value that is used by `users`."""
    return f"  // users: {', '.join(users)}" if users else "  // unused"


def annotated(
    text: str,
    nodes: Iterable[Node],
    locate: Locate | None,
    comments: Iterable[str] | None,
    is_operation: Callable[[str], bool],
) -> str:
    """Return text in which each operation has a line, with locations and comments added to these lines.

    `nodes` are the operations in the order of the lines, `comments` what stands behind each. Text of invalid IR whose
    lines are not those of the operations is returned as it is.
    """
    lines, operations = text.split("\n"), list(nodes)
    behind = [""] * len(operations) if comments is None else comments
    at = [number for number, line in enumerate(lines) if is_operation(line)]
    if len(at) != len(operations):
        return text
    for number, node, comment in zip(at, operations, behind, strict=True):
        brace = " {" if lines[number].endswith(" {") else ""
        lines[number] = f"{lines[number].removesuffix(brace)}{located(locate, node)}{brace}{comment}"
    return "\n".join(lines)
