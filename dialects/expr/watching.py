"""The evaluator with somebody who watches: each operation, in which function, and its value."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy

from scaly_ir.dialects.expr.execution import Compute, Plan, Plans, run
from scaly_ir.dialects.expr.functions import body_of
from scaly_ir.dialects.expr.printer import render
from scaly_ir.errors import EvaluationError
from scaly_ir.graph import Node
from scaly_ir.running import Observer, Shown, not_finite
from scaly_ir.text.spelling import spell_name

if TYPE_CHECKING:
    Array = numpy.ndarray[Any, Any]


class _WatchedPlans(Plans):
    """Plans whose steps tell what they computed."""

    def __init__(self, watch: Callable[[Node, Node, Array], None]) -> None:
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


def evaluate_watched(function: Node, values: Sequence[Array], observer: Observer) -> list[Array]:
    """Return the results of a function while somebody watches."""
    plans = _WatchedPlans(_Watch(observer))
    return [numpy.array(result) for result in run(plans, plans.of(function), values)]


class _Watch:
    """Tells of each operation as the canonical listing has it, and looks for what is not finite."""

    def __init__(self, observer: Observer) -> None:
        self._observer = observer
        self._lines: dict[Node, dict[Node, str]] = {}

    def __call__(self, function: Node, node: Node, value: Array) -> None:
        """Look at one."""
        name = function.attrs["name"]
        if self._observer.step is not None:
            self._observer.step(name, self._line(function, node), [Shown("", value, node.type.dtype)])
        bad = not_finite(value) if self._observer.finite else ""
        if bad:
            reason = f"'{node.op.name}' in @{spell_name(name)} gives {bad}"
            raise EvaluationError(reason, reason=reason, procedure=name)

    def _line(self, function: Node, node: Node) -> str:
        known = self._lines.get(function)
        if known is None:
            lines = render(function).splitlines()[1:]
            known = self._lines[function] = dict(zip(body_of(function), [line.strip() for line in lines], strict=False))
        return known[node]
