"""Verification as data: named rules in a table, checked over a whole graph.

A `Rule` looks at one node, or at one node in its context (scopes, enclosing loops), and says what is wrong with it in
words. A `Spec` holds the rules of a dialect; how to walk a graph of that dialect in program order is the dialect's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from scaly_ir.attributes import spell_value
from scaly_ir.errors import VerifyError
from scaly_ir.graph import Node
from scaly_ir.op import AttrSpec, Op
from scaly_ir.text.diagnostics import did_you_mean


class Note(NamedTuple):
    """A further place that explains a fault: a text, and a node in a statement, numbered in program order."""

    text: str
    statement: int
    statement_node: Node
    node: Node


class Fault(NamedTuple):
    """What a rule found wrong.

    `node` is the node to blame when it is not the one that was checked, and `part` what of it: ``"name"``, the key of an
    attribute, the bound of a loop, or nothing for all of it. `notes` are further places.
    """

    reason: str
    node: Node | None = None
    part: str = ""
    notes: tuple[Note, ...] = ()


Faults = Iterable[str | Fault]

NO_FAULTS: Final[Faults] = ()
"""What a rule returns when nothing is wrong; any other empty iterable does as well."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One named rule.

    `check(node)` yields what is wrong with a node on its own; with `context` it is ``check(node, context)``, where the
    context is what the dialect's walk keeps. `ops` are the operators it applies to, a test for them, or None for all.
    """

    name: str
    check: Callable[..., Faults]
    ops: frozenset[Op] | Callable[[Op], bool] | None = None
    context: bool = False

    def applies_to(self, op: Op) -> bool:
        """Tell whether the rule is about nodes of `op`."""
        if self.ops is None:
            return True
        return self.ops(op) if callable(self.ops) else op in self.ops

    @property
    def doc(self) -> str:
        """What the rule demands, in one sentence."""
        return (self.check.__doc__ or "").strip()


@dataclass(frozen=True, slots=True)
class Violation:
    """One broken rule: the node, what is wrong, and the statement it stands in (numbered in program order from 0).

    `operation` is the name of the operation that the text shows for the node: its own, or that of what it is part of.
    """

    rule: str
    node: Node
    reason: str
    label: str
    operation: str
    statement: int
    statement_node: Node
    part: str = ""
    notes: tuple[Note, ...] = ()


Named = tuple[str, Callable[..., Faults]]
Walk = Callable[["Spec", Node], Iterator[Violation]]


class Spec:
    """The rules of a dialect and the walk that applies them.

    `title` begins the message of a `VerifyError`, as ``verify_program``.
    """

    def __init__(self, title: str, rules: Sequence[Rule], walk: Walk) -> None:
        self.title = title
        self.rules = tuple(rules)
        self._walk = walk
        self._by_op: dict[Op, tuple[list[Named], list[Named]]] = {}

    def rules_of(self, op: Op) -> tuple[list[Named], list[Named]]:
        """Return the rules of `op` for a node alone and those that need its context: each a name and a check."""
        known = self._by_op.get(op)
        if known is None:
            applying = [rule for rule in self.rules if rule.applies_to(op)]
            alone = [(rule.name, rule.check) for rule in applying if not rule.context]
            known = self._by_op[op] = (alone, [(rule.name, rule.check) for rule in applying if rule.context])
        return known

    def check(self, root: Node) -> Iterator[Violation]:
        """Yield every violation in `root`, in program order."""
        return self._walk(self, root)

    def verify(self, root: Node) -> None:
        """Raise `VerifyError` for the first violation in `root`; return quietly when there is none."""
        for violation in self.check(root):
            raise self.error(violation)

    def error(self, violation: Violation) -> VerifyError:
        """Return a violation as an exception."""
        node, rule, reason = violation.node, violation.rule, violation.reason
        message = f"{self.title}: node {violation.label} op={node.op.mnemonic} failed rule '{rule}': {reason}"
        return VerifyError(message, node=node, rule=rule, reason=reason)


_FITTING: set[tuple[Any, ...]] = set()
"""Operators with attribute names and kinds of values that fit, where kinds are all that matters."""


def attribute_faults(node: Node) -> list[Fault]:
    """Return what is wrong with a node's attributes by its operator's declaration: unknown, missing, a wrong kind."""
    attrs, specs = node.attrs, node.op.attr_specs
    if specs is None:
        return []
    shape = (node.op, *attrs, *map(type, attrs.values()))
    if shape in _FITTING:
        return []
    faults = list(_attribute_faults(node, specs))
    if not faults and not any([specs[key].choices or specs[key].words.endswith(_COUNTED) for key in attrs]):
        _FITTING.add(shape)
    return faults


_COUNTED = "at least 0"


def _attribute_faults(node: Node, specs: Mapping[str, AttrSpec]) -> Iterator[Fault]:
    for key, value in node.attrs.items():
        spec = specs.get(key)
        if spec is None:
            hint = did_you_mean(key, [name for name, known in specs.items() if known.printed])
            yield Fault(f"attribute {key} is unknown{hint}", part=key)
        elif type(value) not in spec.kinds or (spec.choices and value not in spec.choices):
            yield Fault(f"attribute {key} is {_shown(value)}, expected {spec.words}", part=key)
        elif spec.words.endswith(_COUNTED) and value < 0:
            yield Fault(f"attribute {key} is {value}, expected {spec.words}", part=key)
    for key, spec in specs.items():
        if spec.required and key not in node.attrs:
            yield Fault(f"attribute {key} is missing", part=key)


def _shown(value: Any) -> str:
    text = spell_value(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def op_arity_faults(node: Node) -> Iterator[str]:
    """Yield what is wrong with the number of operands of a node, by its operator's signature."""
    wanted = node.op.args_info
    if wanted is None:
        return
    count = len(wanted)
    given = len(node.args)
    if node.op.var_args_info is None and given != count:
        yield f"expects {count} argument{'s' if count != 1 else ''}, got {given}"
    elif given < count:
        yield f"expects at least {count} argument{'s' if count != 1 else ''}, got {given}"
