"""Rules, each a pattern and a function, tried in order on single nodes.

A `PatternMatcher` applies its rules to the node it is given and no further; going through a graph is the business of
`scaly_ir.graph.rewrite`. Source of the rules: graph specification A6.
"""

from __future__ import annotations

import inspect
import os.path
from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import cached_property
from types import FunctionType
from typing import Any, Final

from scaly_ir.graph.match_code import NO_DEFAULT, Parameter, Run, make_run
from scaly_ir.graph.node import Node
from scaly_ir.graph.observe import Observer
from scaly_ir.graph.pattern import Pattern

RuleEntry = tuple[Pattern, Callable[..., Any]] | tuple[Pattern, Callable[..., Any], str]
"""A rule as users write it: a pattern, a function and, if the function's own will not do, a name."""

_NAMELESS: Final = "<lambda>"
_INDEXED_OPERANDS: Final = 4  # nodes with more are told apart by which operators occur, not by where


class Rule:
    """A pattern and what to do with a node that matches.

    The function receives captures by parameter name and the context as `ctx`, as far as it has such parameters; with
    ``**rest`` it receives all captures. `ValueError` when the pattern names no operators, or when a parameter without a
    default is never bound.
    """

    def __init__(self, pattern: Pattern, function: Callable[..., Any], name: str = "") -> None:
        self.pattern = pattern
        self.function = function
        self._name = name
        if not pattern.names_ops:
            raise ValueError(f"rule {self}: the pattern {pattern!r} does not say which operators it is for")
        self._parameters = _parameters(function, pattern.names)
        for parameter in self._parameters:
            free = parameter.default is NO_DEFAULT and parameter.name not in ("ctx", *pattern.names)
            if free:
                raise ValueError(f"rule {self}: the pattern {pattern!r} never binds parameter '{parameter.name}'")

    @cached_property
    def run(self) -> Run:
        """The rule as a function of a node whose operator and operands its pattern admits, compiled when first used.

        Its `__name__` is that of the rule, and its `__qualname__` the name for messages.
        """
        run = make_run(self.pattern, self.function, self._parameters)
        run.__name__, run.__qualname__ = self.name, str(self)
        return run

    @property
    def name(self) -> str:
        """The name that was given, else that of the function; one without a name is known by its place."""
        name = self._name or self._function_name.strip("_")
        return self._place if name == _NAMELESS and self._place else name

    def __str__(self) -> str:
        """Return the name for messages: ``'fold' (rules.py:12)``, after the function unless a name was given."""
        if self._name:
            return f"'{self._name}'"
        return f"'{self._function_name}' ({self._place})" if self._place else f"'{self._function_name}'"

    @property
    def _function_name(self) -> str:
        return str(getattr(self.function, "__name__", type(self.function).__name__))

    @property
    def _place(self) -> str:
        code = getattr(inspect.unwrap(self.function), "__code__", None)
        return "" if code is None else f"{os.path.basename(code.co_filename)}:{code.co_firstlineno}"


class _TellingRule(Rule):
    """A rule that tells an observer what it does."""

    def __init__(self, rule: Rule, observer: Observer) -> None:
        self.pattern = rule.pattern
        self.function = rule.function
        self._name = rule._name
        self._rule = rule
        self._observer = observer

    @cached_property
    def run(self) -> Run:
        run, observer, name = self._rule.run, self._observer, self.name

        def telling(node: Node, ctx: Any) -> Any:
            outer, observer.applied = observer.applied, ""
            made = run(node, ctx)
            if isinstance(made, Node):
                observer.rewritten(observer.applied or name, node, (made,))
            observer.applied = outer
            return made

        telling.__qualname__ = run.__qualname__
        return telling


class PatternMatcher:
    """Rules in order, immutable and free to be shared between threads.

    Which rules may apply to a node is looked up by its operator and those of its operands.
    """

    __slots__ = ("_index", "rules")

    rules: tuple[Rule, ...]

    def __init__(self, rules: Iterable[RuleEntry]) -> None:
        self._set([Rule(*entry) for entry in rules])

    def _set(self, rules: Iterable[Rule]) -> None:
        self.rules = tuple(rules)
        # Entries are only added, and each has one possible value, so threads may share it.
        self._index: dict[Hashable, tuple[Run, ...]] = {}

    def __add__(self, other: PatternMatcher) -> PatternMatcher:
        """Return a matcher that tries the rules of this one, then those of `other`."""
        if not isinstance(other, PatternMatcher):
            return NotImplemented
        both = object.__new__(PatternMatcher)
        both._set((*self.rules, *other.rules))
        return both

    def telling(self, observer: Observer) -> PatternMatcher:
        """Return a matcher of the same rules, which tell an observer what they do."""
        known: PatternMatcher | None = observer.matchers.get(self)
        if known is None:
            known = observer.matchers[self] = object.__new__(PatternMatcher)
            known._set([_TellingRule(rule, observer) for rule in self.rules])
        return known

    def rewrite(self, node: Node, ctx: Any = None) -> Any | None:
        """Return the first result of a rule for `node` that is neither None nor the node itself, else None.

        The rules are tried in order, and for each its bindings in order. A result need not be a node.
        """
        for run in self.runs(node):
            result = run(node, ctx)
            if result is not None:
                return result
        return None

    def runs(self, node: Node) -> tuple[Run, ...]:
        """Return the compiled rules that may apply to `node`, in order: what `rewrite` tries."""
        args = node.args
        count = len(args)
        key: Hashable
        if count == 2:
            key = (node.op, args[0].op, args[1].op)
        elif not count:
            key = node.op
        elif count <= _INDEXED_OPERANDS:
            key = (node.op, *[operand.op for operand in args])
        else:
            key = (node.op, frozenset([operand.op for operand in args]))
        found = self._index.get(key)
        return self._select(key, node) if found is None else found

    def _select(self, key: Hashable, node: Node) -> tuple[Run, ...]:
        operands = [operand.op for operand in node.args]
        placed = operands if len(operands) <= _INDEXED_OPERANDS else None
        present = frozenset(operands)
        admitting = [rule.run for rule in self.rules if rule.pattern.admits(node.op, placed, present)]
        return self._index.setdefault(key, tuple(admitting))


def _parameters(function: Callable[..., Any], names: Sequence[str]) -> list[Parameter]:
    """Return what to pass to a rule's function, in order; ``**rest`` becomes one parameter for each further name."""
    if isinstance(function, FunctionType) and not hasattr(function, "__wrapped__"):
        found, takes_rest = _plain_parameters(function)
    else:
        signature = list(inspect.signature(function).parameters.values())
        takes_rest = any([p.kind is p.VAR_KEYWORD for p in signature])
        found = [
            Parameter(p.name, p.kind is p.KEYWORD_ONLY, NO_DEFAULT if p.default is p.empty else p.default)
            for p in signature
            if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
        ]
    if takes_rest:
        listed = {parameter.name for parameter in found}
        found += [Parameter(name, True, NO_DEFAULT) for name in names if name not in listed]
    return found


def _plain_parameters(function: FunctionType) -> tuple[list[Parameter], bool]:
    """Read the parameters of a Python function without `inspect`, which would take a rule table some milliseconds."""
    code = function.__code__
    positional = code.co_varnames[: code.co_argcount]
    defaults = dict(zip(reversed(positional), reversed(function.__defaults__ or ()), strict=False))
    found = [Parameter(name, False, defaults.get(name, NO_DEFAULT)) for name in positional]
    by_keyword = code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]
    given = function.__kwdefaults__ or {}
    found += [Parameter(name, True, given.get(name, NO_DEFAULT)) for name in by_keyword]
    return found, bool(code.co_flags & inspect.CO_VARKEYWORDS)
