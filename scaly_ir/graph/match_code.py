"""Compile patterns to Python functions.

Matching is where a rewrite spends its time, and a function of a few lines, written for one pattern, takes a fraction of
the time that a walk over the pattern would. The lines of a function are the checks in the order in which a reader would
make them; where there is a choice (operands in any order, alternatives) the rest stands in a loop over the choices.
Rules of one shape have one text, which is compiled once: what they compare with is in constants. Source of the rules:
graph specification A5 and A6.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from itertools import permutations
from types import CodeType
from typing import Any, Final, NamedTuple

from scaly_ir.attributes import value_key
from scaly_ir.graph.node import Node
from scaly_ir.graph.pattern import Pattern, Solver

Run = Callable[[Node, Any], Any]
"""A compiled rule: ``run(node, ctx)`` is the first result other than None and the node itself, or None."""

_ABSENT: Final = object()  # stands for an attribute that a node lacks; equal to no value


class Parameter(NamedTuple):
    """A parameter of a rule's function that some capture, the context or a default goes to."""

    name: str
    by_keyword: bool
    default: Any
    """The default, or `NO_DEFAULT`."""


NO_DEFAULT: Final = object()


class Captured(NamedTuple):
    """What a name stands for at a point of the code: a variable, which may hold None unless `certain`."""

    variable: str
    certain: bool


def make_solver(pattern: Pattern) -> Solver:
    """Compile a pattern to the generator that `Pattern.solver` describes."""
    code = _Code()
    known = [code.variable() for _ in pattern.names]
    captured = {name: Captured(variable, False) for name, variable in zip(pattern.names, known, strict=True)}
    code.match(pattern, "n", captured)
    code.once(pattern, captured)
    code.line(f"yield ({_row(pattern, captured)})")
    return code.function(["n", *known], pattern)


def make_run(pattern: Pattern, function: Callable[..., Any], parameters: Sequence[Parameter]) -> Run:
    """Compile a rule for a node whose operator is known to fit."""
    code = _Code()
    captured: dict[str, Captured] = {}
    code.match(pattern, "n", captured, op_is_known=True)
    code.once(pattern, captured)
    code.line(f"r = {code.call(function, parameters, captured)}")
    code.line("if r is not None and r is not n: return r")
    return code.function(["n", "ctx"], pattern)


def every(
    solver: Solver, operands: Sequence[Node], known: tuple[Node | None, ...]
) -> Iterator[tuple[Node | None, ...]]:
    """Yield the ways in which all `operands` match one pattern, with bindings that agree."""
    if not operands:
        yield known
        return
    pending = [solver(operands[0], *known)]
    while pending:
        found = next(pending[-1], None)
        if found is None:
            pending.pop()
        elif len(pending) == len(operands):
            yield found
        else:
            pending.append(solver(operands[len(pending)], *found))


def either(
    solvers: Sequence[tuple[Solver, Sequence[int]]], node: Node, known: tuple[Node | None, ...]
) -> Iterator[tuple[Node | None, ...]]:
    """Yield the ways in which `node` matches one of several patterns.

    Each comes with the places that its names have in `known` and in what is yielded.
    """
    for solver, places in solvers:
        for found in solver(node, *[known[place] for place in places]):
            row = list(known)
            for place, value in zip(places, found, strict=True):
                row[place] = value
            yield tuple(row)


class _Code:
    """The text of one function under construction, and the constants it refers to."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.constants: dict[str, Any] = {}
        self.depth = 1
        self.variables = 0

    def variable(self) -> str:
        self.variables += 1
        return f"n{self.variables}"

    def constant(self, value: Any) -> str:
        name = f"K{len(self.constants)}"
        self.constants[name] = value
        return name

    def line(self, text: str) -> None:
        self.lines.append(f"{'  ' * self.depth}{text}")

    def refuse(self, condition: str) -> None:
        """Give up this way of matching when `condition` holds."""
        self.line(f"if {condition}: {'continue' if self.depth > 1 else 'return'}")

    def loop(self, variables: Sequence[str], choices: str) -> None:
        """Put all that follows into a loop over `choices`, each a tuple of values for `variables`."""
        self.line(f"for {_tuple(variables)} in {choices}:")
        self.depth += 1

    def function(self, parameters: Sequence[str], pattern: Pattern) -> Callable[..., Any]:
        """Compile what was written; `parameters` are those of the function."""
        head = [f"def run({', '.join(parameters)}):"]
        head += ["  tried = ()"] if pattern.choices else []
        namespace = dict(self.constants)
        exec(_compiled("\n".join(head + self.lines)), namespace)
        run: Callable[..., Any] = namespace["run"]
        return run

    # --- what a pattern demands ------------------------------------------------------------------------------------

    def match(self, pattern: Pattern, node: str, captured: dict[str, Captured], op_is_known: bool = False) -> None:
        """Write the checks of `pattern` on the variable `node`, and note in `captured` what names stand for then."""
        if pattern.op is not None and not op_is_known:
            self.refuse(self._differs(f"{node}.op", pattern.op))
        if pattern.type is not None:
            types = pattern.type
            self.refuse(" and ".join([f"{node}.type is not {self.constant(wanted)}" for wanted in types]) or "True")
        for key, wanted in pattern.attrs:
            self._attribute(node, key, wanted)
        if pattern.explicit_reject and not op_is_known:
            self.refuse(f"not {self.constant(pattern.early_reject)}.issubset([a.op for a in {node}.args])")
        if pattern.name is not None:
            self._bind(pattern.name, node, captured)
        if pattern.alternatives:
            self._alternatives(pattern, node, captured)
        if pattern.args is not None:
            self._operands(pattern, pattern.args, node, captured)
        if pattern.each is not None:
            self._each(pattern.each, node, captured)
        if pattern.where is not None:
            self.refuse(f"not {self.constant(pattern.where)}({node})")

    def _differs(self, value: str, wanted: Any) -> str:
        if not isinstance(wanted, frozenset):
            return f"not {self.constant(wanted)}({value})"
        if len(wanted) == 1:
            return f"{value} is not {self.constant(next(iter(wanted)))}"
        return f"{value} not in {self.constant(wanted)}"

    def _attribute(self, node: str, key: str, wanted: Any) -> None:
        absent = self.constant(_ABSENT)
        self.line(f"v = {node}.attrs.get({self.constant(key)}, {absent})")
        if callable(wanted):
            self.refuse(f"v is {absent} or not {self.constant(wanted)}(v)")
            return
        kind = type(wanted)
        # Equal values of one of these kinds are the same value; floats are when they are equal and not zero.
        if kind in (bool, int, str) or (kind is float and wanted and not math.isnan(wanted)):
            differs = f"v != {self.constant(wanted)}"
        else:
            differs = f"{self.constant(value_key)}(v) != {self.constant(value_key(wanted))}"
        self.refuse(f"v.__class__ is not {self.constant(kind)} or {differs}")

    def _bind(self, name: str, node: str, captured: dict[str, Captured]) -> None:
        known = captured.get(name)
        if known is not None:
            maybe = "" if known.certain else f"{known.variable} is not None and "
            self.refuse(f"{maybe}{known.variable} is not {node}")
        captured[name] = Captured(node, True)

    def _operands(
        self, pattern: Pattern, wanted: tuple[Pattern, ...], node: str, captured: dict[str, Captured]
    ) -> None:
        count = len(wanted)
        self.refuse(f"len({node}.args) {'<' if pattern.at_least else '!='} {count}")
        operands = [self.variable() for _ in wanted]
        if pattern.any_order:
            orders = (
                f"({node}.args, {node}.args[::-1])" if count == 2 else f"{self.constant(permutations)}({node}.args)"
            )
            self.loop(operands, orders)
        elif wanted:
            self.line(f"{_tuple(operands)} = {node}.args{f'[:{count}]' if pattern.at_least else ''}")
        for inner, operand in zip(wanted, operands, strict=True):
            self.match(inner, operand, captured)

    def _each(self, wanted: Pattern, node: str, captured: dict[str, Captured]) -> None:
        known = self._known(wanted.names, captured)
        after = [self.variable() for _ in wanted.names]
        self.loop(after, f"{self.constant(every)}({self.constant(wanted.solver)}, {node}.args, {known})")
        for name, variable in zip(wanted.names, after, strict=True):
            certain = name in captured and captured[name].certain
            captured[name] = Captured(variable, certain)

    def _alternatives(self, pattern: Pattern, node: str, captured: dict[str, Captured]) -> None:
        names = tuple(dict.fromkeys([name for choice in pattern.alternatives for name in choice.names]))
        solvers = [(choice.solver, [names.index(name) for name in choice.names]) for choice in pattern.alternatives]
        known = self._known(names, captured)
        after = [self.variable() for _ in names]
        self.loop(after, f"{self.constant(either)}({self.constant(solvers)}, {node}, {known})")
        for name, variable in zip(names, after, strict=True):
            captured[name] = Captured(variable, name in captured and captured[name].certain)

    def _known(self, names: Sequence[str], captured: Mapping[str, Captured]) -> str:
        return _tuple([captured[name].variable if name in captured else "None" for name in names])

    # --- what happens with a match ---------------------------------------------------------------------------------

    def once(self, pattern: Pattern, captured: Mapping[str, Captured]) -> None:
        """Write the check that these captures are new, where there was a choice."""
        if pattern.choices:
            self.line(f"m = ({_row(pattern, captured)})")
            self.refuse("m in tried")
            self.line("tried += (m,)")

    def call(
        self, function: Callable[..., Any], parameters: Sequence[Parameter], captured: Mapping[str, Captured]
    ) -> str:
        """Return the call of a rule's function."""
        passed = []
        for name, by_keyword, default in parameters:
            if name == "ctx":
                value = "ctx"
            elif name not in captured:
                value = self.constant(default)
            else:
                value, certain = captured[name]
                if not certain and default is not NO_DEFAULT:
                    value = f"{value} if {value} is not None else {self.constant(default)}"
            passed.append(f"{name}={value}" if by_keyword else value)
        return f"{self.constant(function)}({', '.join(passed)})"


def _tuple(items: Sequence[str]) -> str:
    return f"({', '.join(items)}{',' if len(items) == 1 else ''})"


def _row(pattern: Pattern, captured: Mapping[str, Captured]) -> str:
    return "".join([f"{captured[name].variable}, " if name in captured else "None, " for name in pattern.names])


@cache
def _compiled(text: str) -> CodeType:
    return compile(text, "<pattern>", "exec")
