"""Argument trees: how a function's arrays are named and grouped in Python.

A tree is an `Arg`, one named array, or a `Group` of trees. Leaves are ordered depth-first. The grouping is a matter of
Python alone: a function's node knows its leaves only. Source: expression specification 3.3.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from scaly_ir.tensors import TensorType, read_shape


@dataclass(frozen=True, slots=True)
class Arg:
    """One array: its name, and its type where that is stated (None: it follows from what is computed or given)."""

    name: str
    type: TensorType | None = None

    @property
    def leaves(self) -> tuple[Arg, ...]:
        """The arrays in it: itself."""
        return (self,)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Group:
    """Several trees, as a tuple; those of equal trees are equal, and trees may be as deep as they like."""

    trees: tuple[Tree, ...]

    @property
    def leaves(self) -> tuple[Arg, ...]:
        """The arrays in it, in order."""
        return tuple(iterate(self))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Group) and tuple(_outline(self)) == tuple(_outline(other))

    def __hash__(self) -> int:
        return hash(tuple(_outline(self)))

    def __repr__(self) -> str:
        shown: str = fold(self, repr, lambda trees: f"group({', '.join(trees)})")
        return shown


Tree = Arg | Group


def _outline(tree: Tree) -> Iterator[Arg | int]:
    """Yield the leaves of a tree, and where a group begins how many trees it holds: what tells trees apart."""
    pending: list[Tree] = [tree]
    while pending:
        part = pending.pop()
        if isinstance(part, Arg):
            yield part
        else:
            yield len(part.trees)
            pending.extend(reversed(part.trees))


def iterate(tree: Tree) -> Iterator[Arg]:
    """Yield the leaves of a tree, depth-first."""
    yield from [part for part in _outline(tree) if isinstance(part, Arg)]


def arg(name: str, shape: Any = ...) -> Arg:
    """Return one named array; `shape` is an int, a tuple, a `TensorType`, or left out when it is inferred."""
    if not isinstance(name, str):
        raise TypeError(f"the name of an argument is a string, got {name!r}")
    if not name:
        raise ValueError("an argument needs a name")
    if shape is ...:
        return Arg(name)
    return Arg(name, shape if isinstance(shape, TensorType) else TensorType(read_shape(shape)))


def group(*trees: Tree) -> Group:
    """Return several trees as one."""
    for tree in trees:
        if not isinstance(tree, Arg | Group):
            raise TypeError(f"a group is made of sc.arg and sc.group, got {tree!r}")
    return Group(tuple(trees))


def flatten(
    tree: Tree,
    values: Any,
    what: str,
    *,
    error: type[Exception] = ValueError,
    is_leaf: Callable[[Any], bool] = lambda value: not isinstance(value, tuple),
) -> list[Any]:
    """Return the leaves of nested tuples that are grouped as `tree` is; `error` when they are not."""
    found = []
    pending: list[tuple[Tree, Any]] = [(tree, values)]
    while pending:
        part, value = pending.pop()
        if isinstance(part, Arg):
            if not is_leaf(value):
                raise error(f"{what}: expected one array for '{part.name}', got a tuple of {len(value)}")
            found.append(value)
            continue
        if not isinstance(value, tuple | list) or len(value) != len(part.trees):
            names = ", ".join([leaf.name for leaf in part.leaves])
            got = f"{len(value)} values" if isinstance(value, tuple | list) else f"one {type(value).__name__}"
            raise error(f"{what}: expected a tuple of {len(part.trees)} for ({names}), got {got}")
        pending.extend(reversed(list(zip(part.trees, value, strict=True))))
    return found


def rebuild(tree: Tree, leaves: Sequence[Any]) -> Any:
    """Return values grouped as `tree` is."""
    remaining = iter(leaves)
    return fold(tree, lambda _: next(remaining))


def fold(tree: Tree, leaf: Callable[[Arg], Any], group: Callable[[list[Any]], Any] = tuple) -> Any:
    """Return what `leaf` gives for each array, in order, put together as `group` does: by default in nested tuples."""
    levels: list[list[Any]] = [[]]
    pending: list[Tree | None] = [tree]
    while pending:
        part = pending.pop()
        if part is None:
            done = group(levels.pop())
            levels[-1].append(done)
        elif isinstance(part, Arg):
            levels[-1].append(leaf(part))
        else:
            levels.append([])
            pending.append(None)
            pending.extend(reversed(part.trees))
    return levels[0][0]


def tree_like(values: Any, names: Callable[[int], str]) -> Tree:
    """Return the tree of nested tuples of results: `names` gives the name of each leaf by its number."""
    count = 0
    levels: list[list[Tree]] = [[]]
    pending: list[Any] = [(False, values)]
    while pending:
        closing, value = pending.pop()
        if closing:
            done = Group(tuple(levels.pop()))
            levels[-1].append(done)
        elif isinstance(value, tuple | list):
            levels.append([])
            pending.append((True, None))
            pending.extend([(False, item) for item in reversed(value)])
        else:
            levels[-1].append(Arg(names(count)))
            count += 1
    return levels[0][0]


def count_leaves(values: Any) -> int:
    """Return how many values nested tuples hold."""
    count = 0
    pending = [values]
    while pending:
        value = pending.pop()
        if isinstance(value, tuple | list):
            pending.extend(value)
        else:
            count += 1
    return count


L = arg
G = group
