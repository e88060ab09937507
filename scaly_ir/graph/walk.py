"""Orders in which a graph is visited, and what a node reaches; everything iterative, each node once.

No function here recurses, so a chain of a million nodes is walked in constant Python stack, and none caches anything
beyond its own call, so a walk that an exception ends leaves no trace. Source of the rules: graph specification A4.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, MutableMapping, Set
from enum import Enum
from itertools import islice
from typing import TypeVar

from scaly_ir.graph.node import Node
from scaly_ir.op import Op

T = TypeVar("T")
Gate = Callable[[Node], bool]


class Calls(Enum):
    """Whether a walk visits the bodies of calls.

    A call is a node whose operator has the attribute `TCallBody`: its first operand is the body. Under `SKIP` a call is
    its other operands alone; a body that is reached by another way as well is still visited on that way.
    """

    ENTER = "enter"
    SKIP = "skip"


def operands_of(node: Node, calls: Calls) -> tuple[Node, ...]:
    """Return the operands that a walk goes on to."""
    if calls is Calls.SKIP and node.op.get_attr("TCallBody", False):
        return node.args[1:]
    return node.args


class NodeSet(Set[Node]):
    """An immutable set of nodes that iterates in the order in which they joined; `==` ignores that order."""

    __slots__ = ("_nodes",)

    def __init__(self, nodes: Iterable[Node] = ()) -> None:
        self._nodes: dict[Node, None] = dict.fromkeys(nodes)

    def __contains__(self, node: object) -> bool:
        return node in self._nodes

    def __iter__(self) -> Iterator[Node]:
        return iter(self._nodes)

    def __len__(self) -> int:
        return len(self._nodes)

    def __hash__(self) -> int:
        return self._hash()

    def __repr__(self) -> str:
        return f"NodeSet({list(self._nodes)})"


def preorder(root: Node) -> Iterator[Node]:
    """Yield each node reachable from `root` once, users before operands, operands left to right."""
    seen: set[Node] = set()
    stack = [root]
    while stack:
        node = stack.pop()
        if node in seen:
            continue
        seen.add(node)
        yield node
        stack.extend(reversed(node.args))


def postorder(*roots: Node) -> list[Node]:
    """Return each node reachable from the roots once, operands before users, operands and roots left to right."""
    return _finished(roots, Calls.ENTER, None)


def references_of(node: Node) -> list[Node]:
    """Return the nodes that attributes of a node refer to, as the function that it calls."""
    return [value for value in node.attrs.values() if isinstance(value, Node)]


def with_references(*roots: Node) -> list[Node]:
    """Return each node that the roots reach through operands and references, each after those that it is made of."""
    return _finished(roots, Calls.ENTER, None, lambda node: (*references_of(node), *node.args))


def toposort(root: Node, *, calls: Calls = Calls.ENTER, gate: Gate | None = None) -> list[Node]:
    """Return `root` and what it reaches, each once and after its operands.

    The order is that in which a depth-first walk, operands left to right, finishes nodes. A node that `gate` refuses is
    left out, and so is what only it reaches; `gate` is asked once for each node. Linear in nodes and operands.
    """
    return _finished((root,), calls, gate)


def _finished(
    roots: tuple[Node, ...], calls: Calls, gate: Gate | None, below: Callable[[Node], tuple[Node, ...]] | None = None
) -> list[Node]:
    """Walk depth-first from the roots and return nodes in the order in which they are finished.

    `below` gives what a node is made of, by default its operands.
    """
    enter = calls is Calls.ENTER
    done: list[Node] = []
    seen: set[Node] = set()
    path: list[Node] = []  # the entered nodes, and for each what the walk was visiting when it came upon it
    suspended: list[Iterator[Node]] = []
    operands = iter(roots)
    while True:
        for node in operands:
            if node in seen:
                continue
            seen.add(node)
            if gate is not None and not gate(node):
                continue
            args = below(node) if below is not None else node.args if enter else operands_of(node, calls)
            if args:
                path.append(node)
                suspended.append(operands)
                operands = iter(args)
                break
            done.append(node)
        else:
            if not path:
                return done
            done.append(path.pop())
            operands = suspended.pop()


def topovisit(root: Node, fn: Callable[[Node], T], cache: MutableMapping[Node, T]) -> T:
    """Apply `fn` to each node that `root` reaches and `cache` lacks, operands first, bodies too; return that of `root`.

    Results are stored in `cache`, where `fn` may read those of operands; what lies below a node in `cache` is not
    visited. When `fn` raises, the cache holds the nodes finished so far, and a later call goes on from there.
    """
    path: list[Node] = []
    suspended: list[Iterator[Node]] = []
    operands = iter((root,))
    while True:
        for node in operands:
            if node not in cache:
                path.append(node)
                suspended.append(operands)
                operands = iter(node.args)
                break
        else:
            if not path:
                return cache[root]
            node = path.pop()
            cache[node] = fn(node)
            operands = suspended.pop()


def backward_slice(root: Node, *, calls: Calls = Calls.ENTER) -> NodeSet:
    """Return what `root` reaches, without `root`, in the order of `toposort`."""
    return NodeSet(toposort(root, calls=calls)[:-1])


def backward_slice_with_self(root: Node, *, calls: Calls = Calls.ENTER) -> NodeSet:
    """Return `root`, followed by its `backward_slice`."""
    order = toposort(root, calls=calls)
    return NodeSet([root, *order[:-1]])


def op_in_backward_slice_with_self(root: Node, ops: Iterable[Op], *, calls: Calls = Calls.ENTER) -> bool:
    """Tell whether `root` or a node it reaches has one of the operators `ops`."""
    wanted = frozenset(ops)
    return any(node.op in wanted for node in _reached(root, calls, None))


def reaches(root: Node, target: Node, *, calls: Calls = Calls.ENTER, gate: Gate | None = None) -> bool:
    """Tell whether `root` is `target`, or a path leads there through nodes that `gate` accepts.

    `target` itself is not asked about; `root` is, unless it is `target`.
    """
    return any(node is target for node in _reached(root, calls, lambda node: node is target or not gate or gate(node)))


def _reached(root: Node, calls: Calls, gate: Gate | None) -> Iterator[Node]:
    """Yield what `root` reaches through accepted nodes, users first, each node once."""
    seen = {root}
    stack = [root]
    while stack:
        node = stack.pop()
        if gate is not None and not gate(node):
            continue
        yield node
        for operand in reversed(operands_of(node, calls)):
            if operand not in seen:
                seen.add(operand)
                stack.append(operand)


def split(root: Node, op: Op) -> list[Node]:
    """Return the operands of the tree of `op` nodes at `root`, left to right; ``[root]`` when it has another operator.

    An operand that occurs twice in the tree is listed twice. The `split_uop` of graph specification A4.
    """
    leaves = []
    stack = [root]
    while stack:
        node = stack.pop()
        if node.op is op:
            stack.extend(reversed(node.args))
        else:
            leaves.append(node)
    return leaves


def in_text_order(
    root: Node, is_operation: Callable[[Node], bool], lead_of: Callable[[Node], int | None]
) -> Iterator[Node]:
    """Yield the operations of a text in the order in which they begin there; equal ones each time.

    `lead_of` gives how many operands come before what is within the braces of a node; None for a node without any.
    """
    pending: list[Iterator[Node]] = [iter((root,))]
    while pending:
        for node in pending[-1]:
            if is_operation(node):
                yield node
            lead = lead_of(node)
            if lead is not None:
                pending.append(islice(node.args, lead, None))
                break
        else:
            pending.pop()
