"""Folding one operation: the operator's own folder, evaluation of constants, and the identities of arithmetic.

What is folded where, and going through a graph, is the business of passes; the identities are a table of their own
(`identities.py`). Sources: operator specification A5, lowering specification 2.2, expression specification 6.1 and 6.2.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from scaly_ir.effects import CallEffectKind, effect_class
from scaly_ir.graph import Node
from scaly_ir.graph.expression import constant_like
from scaly_ir.graph.matcher import PatternMatcher
from scaly_ir.graph.observe import observer
from scaly_ir.graph.pattern import Pattern, is_constant
from scaly_ir.graph.walk import topovisit
from scaly_ir.numeric.evaluate import evaluate_node
from scaly_ir.numeric.machine import NotExact, Value
from scaly_ir.numeric.table import scalar_name
from scaly_ir.op import Op

REPEATABLE: Final = 8
"""The most nodes an expression may have to be written twice where text is a tree."""


class Folder:
    """Folds single operations of one dialect; what it is asked in a row shares its knowledge of effects.

    Whoever observes rewrites when it is made is told which identity was applied, or ``fold`` and the operator.

    With `trees` the text of an expression repeats what is shared, so no identity may repeat an expression that is
    large or expensive. `evaluate` gives the constant for an operation on constants, or None, and raises `NotExact`
    where there is nothing to put in its place; with `constants_first` it is asked before the identities, and an
    operation it has no result for is left alone. `fitted` gives a result as it may take the place of a node, or None
    when it may not; by default it has to be of the same type.
    """

    def __init__(
        self,
        identities: PatternMatcher,
        *,
        trees: bool,
        constants_first: bool,
        evaluate: Callable[[Node], Node | None] | None = None,
        fitted: Callable[[Node, Node], Node | None] | None = None,
    ) -> None:
        self._identities = identities
        self._trees = trees
        self._constants_first = constants_first
        self._evaluate = evaluate or evaluate_scalar
        self._fitted = fitted or _of_one_type
        self._effects: dict[Node, int] = {}
        self._observer = observer()

    def fold(self, node: Node) -> Node | None:
        """Return what takes the place of `node`, a value of the same type, or None."""
        own = node.op.get_attr("FFold")
        if own is not None:
            made: Node | None = own(node, [constant_value(operand) for operand in node.args])
            if made is not None and made is not node:
                if self._observer is not None:
                    self._observer.applied = f"fold {node.op.name}"
                return made
        if self._constants_first and _on_constants(node):
            return self._constant(node)
        simpler = self._identity(node)
        return self._constant(node) if simpler is None else simpler

    def may_repeat(self, value: Node) -> bool:
        """Tell whether an identity may use a value twice."""
        if not self._trees:
            return True
        pending = [value]
        for _ in range(REPEATABLE):  # of its text, in which a shared operand stands more than once
            node = pending.pop()
            if node.op.get_attr("TCostClass") == "expensive":
                return False
            pending.extend(node.args)
            if not pending:
                return True
        return False

    def _constant(self, node: Node) -> Node | None:
        if not _on_constants(node) or effect_class(node.op.get_attr("TCallEffectKind")) is not CallEffectKind.Pure:
            return None
        try:
            made = self._evaluate(node)
        except NotExact:
            return None
        if self._observer is not None:
            self._observer.applied = f"fold {node.op.name}"
        return None if made is None else self._fitted(made, node)

    def _identity(self, node: Node) -> Node | None:
        for run in self._identities.runs(node):
            made: Any = run(node, self)
            if made is None:
                continue
            result = self._fitted(made if isinstance(made, Node) else constant_like(made, node), node)
            if result is not None and result is not node and not self._changes_state(node):
                if self._observer is not None:
                    self._observer.applied = run.__name__
                return result
        return None

    def _changes_state(self, node: Node) -> bool:
        """Tell whether evaluating a node may do more than read: then how often that happens, and when, must stay."""
        return topovisit(node, self._effect, self._effects) > CallEffectKind.ReadState

    def _effect(self, node: Node) -> int:
        own = effect_class(node.op.get_attr("TCallEffectKind"))
        return max([int(own), *[self._effects[operand] for operand in node.args]])


def _of_one_type(result: Node, node: Node) -> Node | None:
    return result if result.type is node.type else None


def constant_value(node: Node) -> Any:
    """Return the value of a constant, None for any other node."""
    return node.attrs.get("value") if is_constant(node.op) else None


def evaluate_scalar(node: Node) -> Node:
    """Return the constant that a scalar operation on constants computes; `NotExact` where that has no exact value."""
    values: list[Value] = [constant_value(operand) for operand in node.args]
    return constant_like(evaluate_node(node, values), node)


def _on_constants(node: Node) -> bool:
    return bool(node.args) and all([is_constant(operand.op) for operand in node.args])


def _folds(op: Op) -> bool:
    return not is_constant(op) and (scalar_name(op) is not None or op.has_attr("FFold") or op.has_attr("FNumpy"))


FOLD: Final = PatternMatcher([(Pattern(_folds, name="node"), lambda node, ctx: ctx.fold(node), "fold")])
"""The rule that folds every operation; the context is a `Folder`."""
