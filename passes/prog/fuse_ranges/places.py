"""Where the buffers of a procedure lie: an alias is a window of the buffer that owns the storage.

Owns the way from names to owners and offsets, and how the indices that come of it are folded.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from scaly_ir.dialects.prog import build, ops
from scaly_ir.graph import Node, intern_node
from scaly_ir.graph.walk import topovisit
from scaly_ir.passes.prog.canonicalization import scalar_folder


class Unfusible(Exception):  # noqa: N818 - no error: the procedure stays as it is
    """The statements that a fusion would merge do something that it cannot merge; the argument says what."""


@dataclass(frozen=True, slots=True)
class Store:
    """A value that a statement writes into the owner of some storage, once in each trip of the loops around it."""

    loops: tuple[Node, ...]
    """The ranges of the loops, outermost first."""
    root: str
    index: Node
    value: Node


class Places:
    """The storage of a procedure's buffers."""

    def __init__(self, procedure: Node) -> None:
        self.roots: dict[str, Node] = {}
        """The declarations of what owns storage, by name."""
        self._windows: dict[str, tuple[str, int]] = {}
        self._resolved: dict[Node, Node] = {}
        self._folder: Final = scalar_folder()
        for declaration in procedure.args:
            if declaration.op is not ops.BUFFER:
                continue
            name = declaration.attrs["name"]
            source = declaration.attrs.get("alias_of")
            if source is None:
                self.roots[name] = declaration
                self._windows[name] = (name, 0)
            else:
                root, offset = self._windows[source]
                self._windows[name] = (root, offset + declaration.attrs["alias_offset"])

    def resolved(self, node: Node) -> Node:
        """Return a scalar or view with each buffer in it replaced by the owner of its storage."""
        return topovisit(node, self._resolve, self._resolved)

    def argument(self, node: Node) -> Node:
        """Return the place where an argument of a call begins."""
        if node.op is ops.VIEW:
            return self.resolved(node)
        root, offset = self._windows[node.attrs["name"]]
        return build.view(root, offset, node.type)

    def element(self, place: Node, number: int) -> Node:
        """Return the place `number` elements behind another."""
        return build.view(place.attrs["buffer"], self._sum(place.args[0], number), place.type)

    def _resolve(self, node: Node) -> Node:
        done = self._resolved
        if node.op is ops.VIEW:
            root, offset = self._windows[node.attrs["buffer"]]
            index = done[node.args[0]]
            return build.view(root, self._sum(index, offset) if offset else index, node.type)
        return reinterned(node, done)

    def _sum(self, index: Node, number: int) -> Node:
        node = build.apply("add", index, build.index(number))
        while (simpler := self._folder.fold(node)) is not None:
            node = simpler
        return node


def reinterned(node: Node, done: Mapping[Node, Node]) -> Node:
    """Return a node on what its operands became."""
    return intern_node(node.op, tuple([done[operand] for operand in node.args]), node.attrs, node.type)


def replaced(node: Node, done: dict[Node, Node]) -> Node:
    """Return a node with what `done` has replaced; what is rebuilt above that is added to it."""
    return topovisit(node, lambda each: reinterned(each, done), done)


def surface(*values: Node) -> list[Node]:
    """Return each node of some scalars once, without what stands in the places of loads."""
    found: dict[Node, None] = {}
    pending = list(reversed(values))
    while pending:
        node = pending.pop()
        if node not in found:
            found[node] = None
            if node.op is not ops.LOAD:
                pending.extend(reversed(node.args))
    return list(found)
