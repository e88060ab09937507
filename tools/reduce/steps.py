"""The steps of a reduction: each is a kind of change, which knows the single edits there are and applies many at once.

A dialect says by a list of `Kind` what can be left out of its modules; `add_kinds` adds those of another dialect. The
passes that go with a module, and text that need not be IR, are reduced in the same way.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from typing import Any, Final, NamedTuple, Protocol

from scaly_ir.graph import Node
from scaly_ir.graph.rewrite import Mode, substitute
from scaly_ir.graph.walk import preorder
from scaly_ir.tools.reduce.state import State
from scaly_ir.undo import note_undo


class Step(Protocol):
    """A kind of change to a state."""

    @property
    def name(self) -> str:
        """What messages call it."""

    def edits(self, state: State) -> Sequence[Any]:
        """Return the changes there are, in order; those that are made are not among those of the result."""

    def apply(self, state: State, edits: Sequence[Any]) -> State | None:
        """Return the state after some of its edits; None where they go with nothing."""


class Kind(NamedTuple):
    """A kind of change to the modules of one dialect.

    `edits` lists the single changes to a root in the order of its text, and `apply` makes any part of that list at
    once; it returns None where that is no module. What it makes need not be valid, and need not be smaller: the search
    sees to both.
    """

    name: str
    edits: Callable[[Node], Sequence[Any]]
    apply: Callable[[Node, Sequence[Any]], Node | None]


_KINDS: Final[dict[str, str | Sequence[Kind]]] = {
    "expr": "scaly_ir.tools.reduce.expr:KINDS",
    "prog": "scaly_ir.tools.reduce.prog:KINDS",
    "buffer": "scaly_ir.tools.reduce.matrix:KINDS",
}
"""The kinds of changes by dialect, or where they are."""

FUNCTIONS: Final = "functions"
"""The name of the kinds that come before the passes are reduced."""


def add_kinds(dialect: str, kinds: Sequence[Kind]) -> None:
    """Add the kinds of changes to the modules of a dialect, coarse ones first; those named `FUNCTIONS` lead."""
    before = _KINDS.get(dialect)
    _KINDS[dialect] = kinds
    note_undo(lambda: _KINDS.pop(dialect) if before is None else _KINDS.update({dialect: before}))


def kinds_of(root: Node) -> Sequence[Kind]:
    """Return the kinds of changes to a root, none where its dialect brings none."""
    found = _KINDS.get(root.op.dialect, ())
    if isinstance(found, str):
        module, _, name = found.partition(":")
        kinds: Sequence[Kind] = getattr(import_module(module), name)
        return kinds
    return found


def steps_for(state: State) -> list[Step]:
    """Return the steps that reduce a state, coarse to fine."""
    if isinstance(state.body, str):
        return [_Text("lines", _lines), _Text("tokens", _tokens)]
    kinds = kinds_of(state.body)
    if not kinds:
        return [_Passes(), _Lines()]
    leading = sum([kind.name == FUNCTIONS for kind in kinds])
    steps = [_Of(kind) for kind in kinds]
    return [*steps[:leading], _Passes(), *steps[leading:]]


class _Of:
    """A kind of change to modules as a step."""

    def __init__(self, kind: Kind) -> None:
        self.name = kind.name
        self._kind = kind

    def edits(self, state: State) -> Sequence[Any]:
        assert isinstance(state.body, Node)
        return self._kind.edits(state.body)

    def apply(self, state: State, edits: Sequence[Any]) -> State | None:
        assert isinstance(state.body, Node)
        made = self._kind.apply(state.body, edits)
        return None if made is None or made is state.body else State(made, state.passes)


class _Passes:
    """Leaves out passes."""

    name = "passes"

    def edits(self, state: State) -> Sequence[int]:
        return range(len(state.passes))

    def apply(self, state: State, edits: Sequence[int]) -> State:
        gone = set(edits)
        return State(state.body, tuple([step for at, step in enumerate(state.passes) if at not in gone]))


class _Text:
    """Leaves out parts of a text."""

    def __init__(self, name: str, parts: Callable[[str], Sequence[str]]) -> None:
        self.name = name
        self._parts = parts

    def edits(self, state: State) -> Sequence[int]:
        return range(len(self._parts(state.text)))

    def apply(self, state: State, edits: Sequence[int]) -> State:
        gone = set(edits)
        kept = [part for at, part in enumerate(self._parts(state.text)) if at not in gone]
        return State("".join(kept), state.passes)


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


_tokens: Final = re.compile(r"\w+|\s+|.", re.DOTALL).findall


class _Lines:
    """Leaves out lines of the text of a module: all there is for a dialect that says nothing about its modules."""

    name = "lines"

    def edits(self, state: State) -> Sequence[int]:
        return range(len(_lines(state.text)))

    def apply(self, state: State, edits: Sequence[int]) -> State | None:
        from scaly_ir.dialect import parse_source
        from scaly_ir.text.source import Source

        gone = set(edits)
        kept = [line for at, line in enumerate(_lines(state.text)) if at not in gone]
        root = parse_source(Source.from_text("".join(kept))).root
        return None if root is None else State(root, state.passes)


# --- attributes, which are alike everywhere ---------------------------------------------------------------------------


def optional_keys(node: Node) -> list[str]:
    """Return the attributes of a node that may be left out and that text shows."""
    specs = node.op.attr_specs or {}
    return [key for key in node.attrs if key in specs and specs[key].printed and not specs[key].required]


def optional_attributes(root: Node) -> Iterator[tuple[Node, str]]:
    """Yield each attribute that may be left out of a node that a root reaches, with its node."""
    for node in preorder(root):
        for key in optional_keys(node):
            yield node, key


def without_attributes(edits: Sequence[tuple[Node, str]]) -> dict[Node, Node]:
    """Return what nodes become when they lose some of their attributes."""
    changed: dict[Node, Node] = {}
    for node, key in edits:
        changed[node] = changed.get(node, node).with_attrs(**{key: None})
    return changed


def _optional_attributes(root: Node) -> list[tuple[Node, str]]:
    return list(optional_attributes(root))


def _without_attributes(root: Node, edits: Sequence[tuple[Node, str]]) -> Node:
    return substitute(root, without_attributes(edits), mode=Mode.ONCE)


ATTRIBUTES: Final = Kind("attributes", _optional_attributes, _without_attributes)
"""The attributes that may be left out, for dialects whose operations are the nodes that a root reaches."""
