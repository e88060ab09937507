"""Verification as data: named rules in a table, checked over a whole graph.

A `Rule` looks at one node, or at one node in its context (scopes, enclosing loops), and says what is wrong with it in
words. A `Spec` holds the rules of a dialect; how to walk a graph of that dialect in program order is the dialect's.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from scaly_ir.attributes import Word, spell_value
from scaly_ir.errors import VerifyError
from scaly_ir.graph import Node, preorder
from scaly_ir.op import Op
from scaly_ir.signature import AttrSpec
from scaly_ir.text.diagnostics import closest, did_you_mean
from scaly_ir.text.locations import Part, Place
from scaly_ir.text.spelling import spell_name
from scaly_ir.types import INT64, int_range
from scaly_ir.undo import note_undo


class Fault(NamedTuple):
    """What a rule found wrong.

    `node` is the node to blame when it is not the one that was checked, and `part` what of it. `notes` are further
    places and what to say of them.
    """

    reason: str
    node: Node | None = None
    part: Part = ""
    notes: tuple[tuple[str, Place], ...] = ()


Faults = Iterable[str | Fault]

DEFINED_HERE: Final = "{} is defined here"
"""A note whose place is a name, which stands in the text for the braces."""

NO_FAULTS: Final = ()
"""What a rule returns when nothing is wrong; any other empty iterable does as well."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One named rule.

    `check(node)` yields what is wrong with a node on its own; with `context` it is ``check(node, context)``, where the
    context is what the dialect's walk keeps. `ops` are the operators it applies to, a test for them, or None for all.
    `fragments` tells that a rule in context holds without declarations as well.
    """

    name: str
    check: Callable[..., Faults]
    ops: frozenset[Op] | Callable[[Op], bool] | None = None
    context: bool = False
    fragments: bool = False

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
    """One broken rule: the node to blame, what is wrong, and where.

    `label` says which node it is, `operation` which operation of the text it belongs to.
    """

    rule: str
    node: Node
    reason: str
    label: str
    operation: str
    place: Place
    notes: tuple[tuple[str, Place], ...] = ()

    @property
    def message(self) -> str:
        """What a tool says: the operation, what is wrong, and the rule.

        A reason may begin with the operation, in capitals, for whoever reads it alone; here that stands before it.
        """
        named = self.node.op.mnemonic.upper()
        reason = re.sub(rf"^{named} (?!of |to )", "", self.reason)
        return f"'{self.operation}': {reason} [{self.rule}]"


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
        self._by_op: dict[Op, tuple[list[Named], list[Named], list[Named]]] = {}

    def rules_of(self, op: Op) -> tuple[list[Named], list[Named], list[Named]]:
        """Return the rules of `op`, each a name and a check: for a node alone, in context, in a fragment."""
        known = self._by_op.get(op)
        if known is None:
            applying = [rule for rule in (*self.rules, *_GUEST_RULES.get(op.dialect, ())) if rule.applies_to(op)]
            placed = [rule for rule in applying if rule.context]
            known = self._by_op[op] = (
                [(rule.name, rule.check) for rule in applying if not rule.context],
                [(rule.name, rule.check) for rule in placed],
                [(rule.name, rule.check) for rule in placed if rule.fragments],
            )
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


_GUEST_RULES: Final[dict[str, tuple[Rule, ...]]] = {}


def add_guest_rules(prefix: str, rules: tuple[Rule, ...]) -> None:
    """Have every dialect check `rules`, of single nodes, on operators of a dialect without a text of its own."""
    _GUEST_RULES[prefix] = rules
    note_undo(lambda: _GUEST_RULES.pop(prefix))


def check_each_node(spec: Spec, root: Node) -> Iterator[Violation]:
    """Check every node on its own, users before operands: the walk of a dialect that brings rules alone."""
    for number, node in enumerate(preorder(root)):
        for name, check in spec.rules_of(node.op)[0]:
            for fault in check(node):
                reason, blamed, part, notes = Fault(fault) if isinstance(fault, str) else fault
                place = Place(0, root, node if blamed is None else blamed, part)
                yield Violation(name, place.node, reason, f"#{number}", place.node.op.name, place, notes)


NO_SPEC: Final = Spec("verify", (), check_each_node)

_FITTING: set[tuple[Any, ...]] = set()
"""Operators with attribute names and kinds of values that fit, where kinds are all that matters."""


def attribute_faults(node: Node) -> Sequence[Fault]:
    """Return what is wrong with a node's attributes by its operator's declaration: unknown, missing, a wrong kind."""
    attrs, specs = node.attrs, node.op.attr_specs
    if specs is None:
        return ()
    shape = (node.op, *attrs, *map(type, attrs.values()))
    if shape in _FITTING:
        return ()
    faults = list(_attribute_faults(node, specs))
    if not faults and all([specs[key].by_kind and int not in specs[key].kinds for key in attrs]):
        _FITTING.add(shape)
    return faults


_INTEGERS: Final = int_range(INT64)
"""No attribute holds another integer: they count elements and arguments."""


def _attribute_faults(node: Node, specs: Mapping[str, AttrSpec]) -> Iterator[Fault]:
    for key, value in node.attrs.items():
        spec = specs.get(key)
        if spec is None:
            hint = did_you_mean(key, [name for name, known in specs.items() if known.printed])
            yield Fault(f"attribute '{spell_name(key)}' is unknown{hint}", part=key)
        elif type(value) is int and int in spec.kinds and value not in _INTEGERS:
            yield Fault(f"attribute '{key}' is {shown_value(value)}, which does not fit int64", part=key)
        elif not spec.fits(value):
            reason = f"attribute '{key}' is {shown_value(value)}, expected {spec.words}{_meant(value, spec)}"
            yield Fault(reason, part=key)
    for key, spec in specs.items():
        if spec.required and key not in node.attrs and not is_misspelt(node, key):
            yield Fault(f"attribute '{key}' is missing")


def is_misspelt(node: Node, key: str) -> bool:
    """Tell whether an attribute that is missing is there under a name like its own, so that it is one mistake."""
    return any([key in closest(name, [key]) for name in node.attrs if name not in (node.op.attr_specs or {})])


def _meant(value: Any, spec: AttrSpec) -> str:
    """Return the end of a message that suggests one of an attribute's choices, or an empty string."""
    if not isinstance(value, str):
        return ""
    if type(value) in spec.kinds:
        return did_you_mean(value, map(str, spec.choices))
    if value not in spec.choices:
        return "" if spec.choices else spec.hint(value)
    return "; write it without quotes" if type(value) is str else "; write it in quotes"


def shown_value(value: Any) -> str:
    """Return an attribute's value as a message shows it: as it is spelled, cut off when it is long, words in quotes."""
    if type(value) is int and value.bit_length() > 400:
        return f"an integer of {value.bit_length()} bits"
    text = f"'{value}'" if type(value) is Word else spell_value(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
