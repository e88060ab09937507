"""The evaluators with somebody who watches: each operation or statement, in which function, and its value."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy

from scaly_ir.dialects.expr.execution import Compute, Plan, Plans, run
from scaly_ir.dialects.expr.functions import body_of
from scaly_ir.dialects.expr.printer import render
from scaly_ir.dialects.prog import ops as prog_ops
from scaly_ir.dialects.prog.context import value_name
from scaly_ir.dialects.prog.evaluate.faults import statement_text
from scaly_ir.graph import Node
from scaly_ir.text.diagnostics import error
from scaly_ir.text.spelling import spell_name
from scaly_ir.tools.run.interface import RunError, Runnable
from scaly_ir.tools.run.results import MOST_SHOWN, array_lines, number_text
from scaly_ir.types import BOOL, INT64, DType

if TYPE_CHECKING:
    Array = numpy.ndarray[Any, Any]

Watch = Callable[[Node, Node, "Array"], None]


class _WatchedPlans(Plans):
    """Plans whose steps tell what they computed."""

    def __init__(self, watch: Watch) -> None:
        super().__init__()
        self._watch = watch
        self._function: Node | None = None

    def of(self, function: Node) -> Plan:
        """Return the plan of a function."""
        self._function = function
        return super().of(function)

    def _operation(self, node: Node) -> Compute:
        function, compute, watch = self._function, super()._operation(node), self._watch
        assert function is not None

        def watched(*arrays: Array) -> Array:
            value = compute(*arrays)
            watch(function, node, value)
            return value

        return watched


def watched(function: Node, values: Sequence[Array], watch: Watch) -> list[Array]:
    """Return the results of a function; `watch` is called with function, operation and value of each step."""
    plans = _WatchedPlans(watch)
    return [numpy.array(result) for result in run(plans, plans.of(function), values)]


class Trace:
    """Shows each operation as the canonical listing has it, with its value."""

    def __init__(self, say: Callable[[str], None], digits: int | None = None) -> None:
        self._say = say
        self._digits = digits
        self._lines: dict[Node, dict[Node, str]] = {}
        self._last: Node | None = None

    def __call__(self, function: Node, node: Node, value: Array) -> None:
        """Show one."""
        if function is not self._last:
            self._say(f"in @{spell_name(function.attrs['name'])}\n")
            self._last = function
        self._say(f"  {self._line(function, node)}\n")
        for line in _shown(value, node, self._digits):
            self._say(f"    {line}\n")

    def _line(self, function: Node, node: Node) -> str:
        known = self._lines.get(function)
        if known is None:
            lines = render(function).splitlines()[1:]
            known = self._lines[function] = dict(zip(body_of(function), [line.strip() for line in lines], strict=False))
        return known[node]


class ProgramTrace:
    """Shows each statement of a procedure as it is printed, of a loop the head, with what it computed.

    It is told as `watching.StatementWatch` says.
    """

    def __init__(self, say: Callable[[str], None], digits: int | None = None) -> None:
        self._say = say
        self._digits = digits
        self._lines: dict[Node, str] = {}
        self._last = ""

    def __call__(self, procedure: str, statement: Node, values: Sequence[Any]) -> None:
        """Show one."""
        if procedure != self._last:
            self._say(f"in @{spell_name(procedure)}\n")
            self._last = procedure
        if statement not in self._lines:
            self._lines[statement] = statement_text(statement)
        self._say(f"  {self._lines[statement]}\n")
        for target, value, dtype in _written(statement, values):
            number = bool(value) if dtype is BOOL else value
            self._say(f"    {target} = {number_text(number, dtype, self._digits)}\n")


def _written(statement: Node, values: Sequence[Any]) -> Iterator[tuple[str, Any, DType]]:
    """Yield what a statement sets: as the text names it, the value and its type."""
    if statement.op is prog_ops.FOR:
        yield value_name(statement.args[0].attrs["name"]), values[0], INT64
    elif statement.op is prog_ops.ASSIGN:
        yield value_name(statement.attrs["target"]), values[0], statement.type
    elif statement.op is not prog_ops.CALL:
        view = statement.args[0]
        for step, value in enumerate(values[1:]):
            yield f"{value_name(view.attrs['buffer'])}[{values[0] + step}]", value, view.type


def _shown(value: Array, node: Node, digits: int | None) -> list[str]:
    if value.size <= MOST_SHOWN:
        return array_lines(value, node.type.dtype, digits)
    ends = [number_text(entry, node.type.dtype, digits) for entry in (value.reshape(-1)[0], value.reshape(-1)[-1])]
    return [f"{value.size:,} elements, from {ends[0]} to {ends[1]}"]


def check_inputs(runnable: Runnable, values: Sequence[Array]) -> None:
    """Raise `RunError` when an input has an element that is a NaN or an infinity."""
    for parameter, value in zip(runnable.inputs, values, strict=True):
        bad = _first_bad(value)
        if bad:
            message = f"input {parameter.shown} of {runnable.shown} has {bad}"
            raise RunError(error(message, parameter.span, "not-finite"))


def check_operation(runnable: Runnable, function: Node, node: Node, value: Array) -> None:
    """Raise `RunError` when an operation of a function gives such an element."""
    bad = _first_bad(value)
    if bad:
        name = str(function.attrs["name"])
        message = f"'{node.op.name}' in @{spell_name(name)} gives {bad}"
        raise RunError(error(message, runnable.span_of(node, name), "not-finite"))


def _first_bad(value: Array) -> str:
    if value.dtype.kind != "f":
        return ""
    bad = numpy.argwhere(~numpy.isfinite(value))
    if not len(bad):
        return ""
    at = [int(index) for index in bad[0]]
    number = float(value[tuple(at)])
    return f"{'a NaN' if number != number else number}{f' at {at}' if at else ''}"
