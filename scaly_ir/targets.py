"""Rewriting calls for a target: the chain of a target's names, and the driver that applies an operator's rules.

The passes `legalize` and `lower_intrinsics` give programs to a `Rewriter`; what is a statement, and where an operand
can be bound to a name, is theirs to know. Source: operator specification A2 and A5 (trees that use an operand twice).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple

from scaly_ir.errors import LegalizeError
from scaly_ir.graph import Node, intern_node
from scaly_ir.graph.observe import observed, observer
from scaly_ir.op import Op

DEFAULT: Final = "default"
INTRINSIC: Final = "FLowerIntrinsic"
LEGALIZE: Final = "FLegalize"

NESTING_LIMIT: Final = 64
"""The most rewrites of one call, each of something that the one before it made."""


def target_chain(target: str) -> tuple[str, ...]:
    """Return a target's names from special to general: ``c-gnu`` gives ``c-gnu``, ``c``, ``default``.

    `ValueError` for a target that is no words joined by ``-``.
    """
    if not all([part.replace("_", "a").isalnum() for part in target.split("-")]):
        raise ValueError(f"'{target}' is no target; expected words joined by '-', as 'c-gnu'")
    parts = target.split("-")
    names = ["-".join(parts[:count]) for count in range(len(parts), 0, -1)]
    return (*names, *(() if names[-1] == DEFAULT else (DEFAULT,)))


def target_attr(op: Op, name: str, target: str) -> Any:
    """Return an attribute's first value along a target's chain (``c.FLegalize``, ``default.FLegalize``), or None."""
    for part in target_chain(target):
        value = op.get_attr(f"{part}.{name}", None)
        if value is not None:
            return value
    return None


class _Rewrite(NamedTuple):
    """What a rule made of a call, and the key of the rule."""

    key: str
    result: Node


class Rewriter:
    """Rewrites calls by the rules that their operators have for one target, until none applies.

    With `intrinsics` both kinds of rules apply: for each name of the chain `FLowerIntrinsic`, then `FLegalize`.
    Without, `FLegalize` alone does, and a call is left alone when the first rule it has is an `FLowerIntrinsic`.

    `bind`, when given, is for dialects whose text is a tree: it receives each operand that a result shows more than
    once and that is more than a leaf, and returns what is to stand for it (a variable, say). What was bound may be out
    of scope elsewhere, so use one rewriter for each statement then; without `bind`, one for a whole program.
    """

    def __init__(self, target: str, *, intrinsics: bool, bind: Callable[[Node], Node] | None = None) -> None:
        kinds = (INTRINSIC, LEGALIZE)
        self._keys = [(kind, f"{name}.{kind}") for name in target_chain(target) for kind in kinds]
        self._intrinsics = intrinsics
        self._bind = bind
        self._done: dict[Node, Node] = {}
        """The finished form of each node met; a finished node is its own."""
        self._rules: dict[Op, list[tuple[str, Callable[[Node], Any]]]] = {}
        self._observer = observer()
        self._rebuilt = observed(_on_operands)

    def rewrite(self, root: Node) -> Node:
        """Return `root` with every call in it rewritten, operands first; `root` itself when no rule applies.

        `LegalizeError` when a rule changes the type or does not converge, `TypeError` when one returns no node; what a
        rule raises is raised. Iterative, and linear in the size of the graph and of what rules make.
        """
        done = self._done
        pending = [_Task(root, 0)]
        being_rewritten: set[Node] = set()
        while pending:
            task = pending[-1]
            if task.result is not None:  # finished meanwhile
                done[task.node] = done[task.settled] = done[task.result]
                being_rewritten.discard(task.settled)
                pending.pop()
                continue
            if task.node in done:
                pending.pop()
                continue
            missing = [operand for operand in task.node.args if operand not in done]
            if missing:
                pending.extend([_Task(operand, task.depth) for operand in reversed(missing)])
                continue
            task.settled = self._with_finished_operands(task.node)
            made = self._apply(task.settled)
            if made is None:
                done[task.node] = done[task.settled] = task.settled
                pending.pop()
                continue
            if task.depth >= NESTING_LIMIT or task.settled in being_rewritten:
                raise LegalizeError(f"{task.settled.op.name}: rule '{made.key}' did not converge")
            being_rewritten.add(task.settled)
            task.result = made.result
            pending.append(_Task(made.result, task.depth + 1))
        return done[root]

    def rewrite_all(self, roots: Iterable[Node]) -> list[Node]:
        """Return several roots rewritten."""
        return [self.rewrite(root) for root in roots]

    def has_rule(self, op: Op) -> bool:
        """Tell whether a call of an operator may be rewritten."""
        return bool(self._rules_of(op))

    def _with_finished_operands(self, node: Node) -> Node:
        operands = tuple([self._done[operand] for operand in node.args])
        return node if operands == node.args else self._rebuilt(node, operands)

    def _rules_of(self, op: Op) -> list[tuple[str, Callable[[Node], Any]]]:
        known = self._rules.get(op)
        if known is None:
            found = [(kind, key, op.get_attr(key, None)) for kind, key in self._keys]
            present = [(kind, key, rule) for kind, key, rule in found if rule is not None]
            if not self._intrinsics:
                left_alone = bool(present) and present[0][0] == INTRINSIC
                present = [] if left_alone else [entry for entry in present if entry[0] == LEGALIZE]
            known = self._rules[op] = [(key, rule) for _, key, rule in present]
        return known

    def _apply(self, call: Node) -> _Rewrite | None:
        """Return what the first rule that does not decline makes of a call, checked; None when there is none."""
        for key, rule in self._rules_of(call.op):
            result = _checked(call, key, rule(call))
            if result is call:
                continue
            if self._bind is not None:
                bound = self._with_bound_operands(call, result)
                if bound is not call:
                    result = _checked(bound, key, rule(bound))
            if self._observer is not None:
                self._observer.rewritten(key, call, (result,))
            return _Rewrite(key, result)
        return None

    def _with_bound_operands(self, call: Node, result: Node) -> Node:
        """Return the call with names in place of the operands that the text of `result` would repeat."""
        assert self._bind is not None
        repeated = repeated_operands(result, call.args)
        if not repeated:
            return call
        names = {operand: self._bind(operand) for operand in call.args if operand in repeated}
        for name in names.values():
            self._done.setdefault(name, name)
        return intern_node(call.op, tuple([names.get(o, o) for o in call.args]), call.attrs, call.type)


def _on_operands(node: Node, operands: Sequence[Node]) -> Node:
    return intern_node(node.op, tuple(operands), node.attrs, node.type)


class _Task:
    """A node to rewrite, and how many rewrites one after another made it.

    `settled` is the node on finished operands; `result` is what a rule made of that, when it waits for that to finish.
    """

    __slots__ = ("depth", "node", "result", "settled")

    def __init__(self, node: Node, depth: int) -> None:
        self.node = node
        self.depth = depth
        self.settled = node
        self.result: Node | None = None


def _checked(call: Node, key: str, result: object) -> Node:
    name = call.op.name
    if not isinstance(result, Node):
        what = "None" if result is None else f"a '{type(result).__name__}'"
        raise TypeError(f"{name}: rule '{key}' returned {what}")
    if result.type is not call.type:
        raise LegalizeError(f"{name}: rule '{key}' returned type {result.type}, expected {call.type}")
    return result


def repeated_operands(result: Node, operands: Iterable[Node]) -> set[Node]:
    """Return the operands that the text of `result` shows more than once; leaves, which cost nothing, left out."""
    wanted = {operand for operand in operands if operand.args}
    shown = {result: 1}
    for node in reversed(list(_inside(result, wanted))):
        count = shown[node]
        for operand in () if node in wanted else node.args:
            shown[operand] = min(shown.get(operand, 0) + count, 2)
    return {operand for operand in wanted if shown.get(operand, 0) > 1}


def _inside(root: Node, borders: set[Node]) -> Iterator[Node]:
    """Yield the nodes below `root`, operands first, without going below the borders."""
    seen: set[Node] = set()
    pending = [(root, False)]
    while pending:
        node, ready = pending.pop()
        if ready:
            yield node
        elif node not in seen:
            seen.add(node)
            pending.append((node, True))
            if node not in borders:
                pending.extend([(operand, False) for operand in node.args])
