"""Orders and digests of nodes that depend on structure alone: the same in every process, whatever was built first.

Nodes are ordered by the name of the operator, the text of the type, the text of the attributes, then operand by
operand, a shorter list first. As those texts tell everything apart, distinct nodes are never equal. An integer
attribute too long to be printed is a `ValueError` in the orders, not in the digests. Source: graph specification A3,
with named attributes in the place of an argument.
"""

from __future__ import annotations

import json
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Hashable, Mapping
from hashlib import sha256
from typing import Any, Final

from scaly_ir.attributes import Attrs, AttrValue, spell_attrs
from scaly_ir.graph.encoding import encode_attrs, encode_type
from scaly_ir.graph.node import Node
from scaly_ir.graph.walk import postorder, references_of, with_references

Label = tuple[str, str, str]


def _label(node: Node) -> Label:
    """Return what orders nodes before their operands do."""
    referred = "".join([f" {key(other)}" for other in references_of(node)])  # names do not tell functions apart
    return (node.op.name, encode_type(node.type) or "", spell_attrs(node.attrs) + referred)


def _compare_labels(x: Node, y: Node) -> int:
    if x.op is y.op and x.type is y.type and x.attrs.key == y.attrs.key:
        return 0
    a, b = _label(x), _label(y)
    return (a > b) - (a < b)


def compare_structure(a: Node, b: Node) -> int:
    """Return a negative number, 0 or a positive one as `a` comes before `b`, is `b`, or comes after.

    Linear in the size of the two graphs: no pair of nodes is compared twice.
    """
    equal: set[tuple[Node, Node]] = set()
    pending: list[tuple[Node, Node] | int] = [(a, b)]
    while pending:
        item = pending.pop()
        if isinstance(item, int):
            return item
        x, y = item
        if x is y or item in equal:
            continue
        order = _compare_labels(x, y)
        if order:
            return order
        equal.add(item)  # an inequality below would end the whole comparison
        if len(x.args) != len(y.args):
            pending.append(len(x.args) - len(y.args))
        pending += [pair for pair in zip(x.args, y.args, strict=False) if pair[0] is not pair[1]][::-1]
    return 0


# --- ranks -----------------------------------------------------------------------------------------------------------

_BLOCK: Final = 512
_GAP: Final = 1 << 32

Place = list[Any]
"""Where a node stands in the order: a list of the number of its block, which the block shares, and a number therein.

Both are renumbered in place, so whatever holds places compares right at any time; and lists and tuples compare without
running Python code.
"""


class _Block:
    """A stretch of the order: sort keys and places side by side."""

    __slots__ = ("keys", "number", "places")

    def __init__(self, number: int, keys: list[tuple[Any, ...]], places: list[Place]) -> None:
        self.number = [number]
        self.keys = keys
        self.places = places
        self.renumber()

    def renumber(self) -> None:
        for position, place in enumerate(self.places):
            place[:] = (self.number, position * _GAP)


def _between(low: int | None, high: int | None) -> int:
    """Return a number between two others, None being no limit; `low` itself when there is none left."""
    if low is None:
        return 0 if high is None else high - _GAP
    return low + _GAP if high is None else (low + high) // 2


class _Order:
    """A sorted list in which places stay comparable while it grows: order maintenance with two levels of numbers."""

    def __init__(self) -> None:
        self.blocks = [_Block(0, [], [])]
        self.starts: list[tuple[Any, ...]] = []
        """The least key of each block but the first."""

    def insert(self, key: tuple[Any, ...]) -> Place:
        """Return the place of a key, a new one where the key is new."""
        at = bisect_right(self.starts, key)
        block = self.blocks[at]
        keys, places = block.keys, block.places
        position = bisect_left(keys, key)
        if position < len(keys) and keys[position] == key:
            return places[position]
        low = places[position - 1][1] if position else None
        high = places[position][1] if position < len(places) else None
        number = _between(low, high)
        place = [block.number, number]
        keys.insert(position, key)
        places.insert(position, place)
        if len(keys) > _BLOCK:
            self._split(at)
        elif number == low:
            block.renumber()
        return place

    def _split(self, at: int) -> None:
        block = self.blocks[at]
        half = len(block.keys) // 2
        number = _between(block.number[0], self.blocks[at + 1].number[0] if at + 1 < len(self.blocks) else None)
        new = _Block(number, block.keys[half:], block.places[half:])
        del block.keys[half:], block.places[half:]
        block.renumber()
        self.blocks.insert(at + 1, new)
        self.starts.insert(at, new.keys[0])
        if number == block.number[0]:
            for position, each in enumerate(self.blocks):
                each.number[0] = position * _GAP


def structure_ranks(root: Node) -> Callable[[Node], int]:
    """Return the ranks of `root` and all it reaches in the order of `compare_structure`, from 0 without gaps.

    The function returned raises `KeyError` for other nodes. Costs O(n log n) comparisons, each of the operands' ranks.
    """
    nodes = postorder(root)
    labels = _label_ranks(nodes)
    order = _Order()
    places: dict[Node, Place] = {}
    for node in nodes:
        label = labels[node.op, id(node.type), node.attrs.key]
        places[node] = order.insert((label, *[places[operand] for operand in node.args]))
    rank = 0
    for block in order.blocks:
        for place in block.places:
            place[:] = (rank,)
            rank += 1
    return {node: place[0] for node, place in places.items()}.__getitem__


def _label_ranks(nodes: list[Node]) -> dict[Hashable, int]:
    """Rank the operators with type and attributes that occur, as `_compare_labels` orders them."""
    examples = {(node.op, id(node.type), node.attrs.key): node for node in nodes}
    labels = {key: _label(node) for key, node in examples.items()}
    ranks = {label: rank for rank, label in enumerate(sorted(set(labels.values())))}
    return {key: ranks[label] for key, label in labels.items()}


# --- digests ---------------------------------------------------------------------------------------------------------


def key(node: Node) -> str:
    """Return the SHA-256 of a node in hexadecimal: over operator name, type, attributes and the digests of operands.

    Stable across processes and hash seeds. Attributes count losslessly: two NaNs of different bits have two keys.
    """
    return key_with(node, lambda _: None)


def key_with(node: Node, fn: Callable[[Node], Mapping[str, AttrValue] | None]) -> str:
    """Return the key `node` would have if each node had the attributes `fn` gives for it, where that is not None.

    `fn` runs once for each node; no node is built. The attributes must be such that no type changes.
    """
    heads: dict[Hashable, bytes] = {}
    digests: dict[Node, bytes] = {}

    def refer(other: Node) -> str:
        return digests[other].hex()

    for each in with_references(node):
        replaced = fn(each)
        attrs = each.attrs if replaced is None else Attrs(replaced)
        head_key = (each.op, id(each.type), attrs.key)
        head = heads.get(head_key)
        if head is None:
            # JSON holds no NUL, and operands are digests of one length, so the parts cannot be confused.
            text = json.dumps([each.op.name, encode_type(each.type), encode_attrs(attrs, refer)])
            head = heads[head_key] = text.encode("ascii") + b"\0"
        digests[each] = sha256(head + b"".join([digests[operand] for operand in each.args])).digest()
    return digests[node].hex()
