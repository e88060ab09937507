"""Nodes: immutable, hash-consed and held weakly, so that equal structure is the same object.

A node is ``(op, args, attrs, type)``. Building an equal one returns the existing object; hence ``==`` and ``hash`` are
those of object identity, and a node is a fine dictionary key. Where a node came from in a file is no part of it. This
module knows no dialect. Source of the rules: graph specification A1 and A2.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Hashable, Iterable, Mapping
from threading import RLock
from typing import Any, Final, NoReturn

from scaly_ir.attributes import NO_ATTRS, Attrs, AttrValue, Referable
from scaly_ir.graph.expression import Expression
from scaly_ir.graph.observe import report_rebuilt
from scaly_ir.op import Op

_KEEP: Final = object()


class _Draft(Expression, Referable):
    """A node under construction: the same layout, still writable.

    A node is filled in as a draft and becomes a `Node` by a change of class just before it is published, or an instance
    of the subclass without further fields that its type names (`node_class`). That costs less than going round the
    write protection for each field, and nobody else ever sees a draft.
    """

    __slots__ = ("__weakref__", "args", "attrs", "op", "type")

    op: Op
    args: tuple[Node, ...]
    attrs: Attrs
    type: Any


class Node(_Draft):
    """One operation, statement, declaration or scalar.

    `op` is the operator, `args` the operands in order, `attrs` a read-only mapping and `type` the result type (None for
    what has no result). Fields cannot be set or deleted.
    """

    __slots__ = ()

    def __new__(
        cls,
        op: Op,
        args: Iterable[Node] = (),
        attrs: Mapping[str, AttrValue] | None = None,
        type: Any = None,
    ) -> Node:
        """Return the one node with these fields; `TypeError` for an operand or attribute value that is none."""
        frozen = attrs if isinstance(attrs, Attrs) else Attrs(attrs) if attrs else NO_ATTRS
        operands = tuple(args)
        for operand in operands:
            if not isinstance(operand, Node):
                raise TypeError(f"an operand of '{op.name}' is no node but a '{operand.__class__.__name__}'")
        return intern_node(op, operands, frozen, type)

    @property
    def ty(self) -> Any:
        """The result type: another name of `type`, for registered rules."""
        return self.type

    @property
    def reference_name(self) -> str:
        """The name under which the text of another node's attribute refers to this one."""
        return str(self.attrs.get("name", ""))

    @property
    def dtype(self) -> Any:
        """The element type: that of `type`, or `type` itself when it is an element type."""
        return getattr(self.type, "dtype", self.type)

    def replace(self, *, op: Any = _KEEP, args: Any = _KEEP, attrs: Any = _KEEP, type: Any = _KEEP) -> Node:
        """Return this node with the given fields exchanged; the node itself when nothing changes."""
        made = Node(
            self.op if op is _KEEP else op,
            self.args if args is _KEEP else args,
            self.attrs if attrs is _KEEP else attrs,
            self.type if type is _KEEP else type,
        )
        report_rebuilt(self, made)
        return made

    def with_attrs(self, **changes: AttrValue) -> Node:
        """Return this node with attributes set, or removed where the new value is None."""
        merged = {key: value for key, value in {**self.attrs, **changes}.items() if changes.get(key, _KEEP) is not None}
        return self.replace(attrs=merged)

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        raise AttributeError(f"a node is immutable: cannot set '{name}'")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"a node is immutable: cannot delete '{name}'")

    def __bool__(self) -> NoReturn:
        raise TypeError("a node has no truth value; compare nodes with 'is'")

    def __copy__(self) -> Node:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Node:
        return self

    def __reduce__(self) -> tuple[Callable[[bytes], Node], tuple[bytes]]:
        from scaly_ir.graph.serialize import dumps, loads  # imports this module

        return loads, (dumps(self),)

    def __repr__(self) -> str:
        label = self.attrs.get("name", self.attrs.get("target"))
        named = "" if label is None else f" {label}"
        typed = "" if self.type is None else f" : {self.type}"
        return f"<{self.op.name}{named} ({len(self.args)} operands){typed}>"


class _Entry(weakref.ref["Node"]):
    """A weak reference that knows its place in the table."""

    __slots__ = ("key",)

    key: Hashable


# The key holds operand identities, not operands, so an entry keeps nothing alive: while a node lives its operands do,
# and their identities cannot be taken by others. Looking up and taking a free place are single dictionary operations
# and need no lock; replacing a dead entry and removing one do.
_TABLE: Final[dict[Hashable, _Entry]] = {}
_LOCK: Final = RLock()


def _forget(entry: _Entry) -> None:
    # May run inside the critical section of its own thread (a collection can start at any allocation), and after the
    # place was taken by a new node: hence the re-entrant lock and the check.
    with _LOCK:
        if _TABLE.get(entry.key) is entry:
            del _TABLE[entry.key]


def intern_node(op: Op, args: tuple[Node, ...], attrs: Attrs, type: Any) -> Node:
    """Return the one node with these fields; the unchecked constructor that parsers and rewriters use.

    The type takes part by identity, as types are interned.
    """
    key: Hashable
    if not args:
        key = (op, id(type), attrs.key)
    elif len(args) == 2:
        first, second = args
        key = (op, id(type), attrs.key, id(first), id(second))
    elif len(args) == 1:
        key = (op, id(type), attrs.key, id(args[0]))
    else:
        key = (op, id(type), attrs.key, *map(id, args))
    entry = _TABLE.get(key)
    if entry is not None:
        known = entry()
        if known is not None:
            return known
    draft = _Draft()
    draft.op = op
    draft.args = args
    draft.attrs = attrs
    draft.type = type
    draft.__class__ = getattr(type, "node_class", None) or Node
    node: Node = draft  # type: ignore[assignment]
    entry = _Entry(node, _forget)
    entry.key = key
    # One atomic step: keys compare without running Python code. Of two threads that build the same, one gets the place.
    holder = _TABLE.setdefault(key, entry)
    return node if holder is entry else _contended(key, entry, node)


def _contended(key: Hashable, entry: _Entry, node: Node) -> Node:
    """Settle who keeps a place that was taken: a live holder, else the new node."""
    with _LOCK:
        holder = _TABLE.get(key)
        known = None if holder is None else holder()
        if known is not None:
            return known
        _TABLE[key] = entry
        return node


def live_nodes() -> int:
    """Return how many distinct nodes are alive in this process."""
    return len(_TABLE)
