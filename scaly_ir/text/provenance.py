"""For which operations of a program a pass makes others, as it tells an observer of rewrites.

Equal operations are one node, in one function or in several, and what is made on the way may look like what was there
before; so a node may be made for several operations, of which `origins` says those that count in a function.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Sequence, Set
from typing import Final

from scaly_ir.graph import Node
from scaly_ir.graph.observe import Observer

_MOST: Final = 64
"""As many operations are remembered for each node that is made for them, the last ones."""


def function_name(node: Node) -> str | None:
    """Return the name of a function, None for any other node."""
    name = node.attrs.get("name")
    return name if node.type is None and type(name) is str else None


def function_among(blamed: Sequence[Node]) -> str | None:
    """Return the name of the function among nodes that an error blames, the most exact first; None without one."""
    return next(filter(None, map(function_name, reversed(blamed))), None)


class Provenance(Observer):
    """Follows one run of a pass."""

    def __init__(self, operations: Iterable[Node]) -> None:
        """Take note of the operations of the program that the pass is given, in the order of the text."""
        super().__init__()
        listed = list(operations)
        heads = set(listed)
        self._within: dict[Node, Set[Hashable]] = {}
        """The names of the functions that a node of the program is in; None for what is in none."""
        around: Set[Hashable] = frozenset([None])
        for operation in listed:
            if (name := function_name(operation)) is not None:
                around = frozenset([name])  # one object for most nodes of a function
            pending = [operation]
            while pending:
                node = pending.pop()
                known = self._within.get(node)
                if known is None:
                    self._within[node] = around
                elif known.isdisjoint(around):
                    self._within[node] = _with(known, around)
                elif node is not operation:
                    continue
                pending.extend([operand for operand in node.args if operand not in heads])
        self._made: dict[Node, dict[Node, None]] = {}
        """For each node that was made, the nodes of the program that it was made for, the last one last."""

    def origins(self, node: Node, function: Hashable = None) -> list[Node]:
        """Return what a node was made for in the program, or in a function of it, the last one last."""
        made = self._made.get(node, ())
        return [origin for origin in made if function is None or function in self._within[origin]]

    # --- what is told -------------------------------------------------------------------------------------------------

    def rewritten(self, rule: str, before: Node, after: Sequence[Node]) -> None:
        """Follow what a rule made of an operation; a function that became another one says nothing of its parts."""
        super().rewritten(rule, before, after)
        if function_name(before) is None:
            self._derive(before, after)

    def rebuilt(self, before: Node, after: Node) -> None:
        """Follow an operation on other operands."""
        super().rebuilt(before, after)
        self._add(after, self._sources(before))

    def renamed(self, pairs: Sequence[tuple[Node, Node]]) -> None:
        """Follow operations that change their names all at once, and perhaps take those of others."""
        super().renamed(pairs)
        for after, sources in [(after, self._sources(before)) for before, after in pairs]:
            self._add(after, sources)

    def derived(self, before: Node, after: Sequence[Node]) -> None:
        """Follow what was made for an operation, with all that is new in it."""
        super().derived(before, after)
        self._derive(before, after)

    def _derive(self, before: Node, after: Sequence[Node]) -> None:
        sources = self._sources(before)
        for node in after if sources else ():
            pending = [node]
            while pending:
                made = pending.pop()
                if self._are_near(sources, [made]) or (
                    made is not node and self._are_near(sources, self._made.get(made, ()))
                ):
                    continue
                self._add(made, sources)
                pending.extend(made.args)

    def _sources(self, node: Node) -> Collection[Node]:
        """Return the nodes of the program that stand behind a node."""
        made = self._made.get(node, {})
        return [node, *made] if node in self._within else list(made)

    def _are_near(self, sources: Iterable[Node], others: Iterable[Node]) -> bool:
        """Tell whether a node and another one of the program are in one function."""
        found = [self._within.get(other, frozenset()) for other in others]
        return any([not self._within[source].isdisjoint(functions) for source in sources for functions in found])

    def _add(self, node: Node, sources: Iterable[Node]) -> None:
        known = self._made.setdefault(node, {})
        for source in sources:
            known.pop(source, None)
            known[source] = None
        while len(known) > _MOST:
            del known[next(iter(known))]


def _with(functions: Set[Hashable], more: Set[Hashable]) -> Set[Hashable]:
    """Return the union; what is in many functions has a set of its own, which grows in place."""
    if type(functions) is set:
        functions |= more
        return functions
    return {*functions, *more}
