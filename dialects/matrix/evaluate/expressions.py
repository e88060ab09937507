"""Scalars as source: as the evaluator of `prog` has them, with values that must not be read, and with affine maps."""

from __future__ import annotations

from collections.abc import Sequence

from scaly_ir.dialects.buffer import build, ops
from scaly_ir.dialects.matrix.evaluate import faults
from scaly_ir.dialects.matrix.evaluate.scope import Scope
from scaly_ir.dialects.prog.evaluate.expressions import Expressions
from scaly_ir.dialects.prog.evaluate.writer import Writer
from scaly_ir.graph import Node


class Scalars(Expressions):
    """Writes the source of the scalars of one statement, in which some names may stand for ``undef``."""

    def __init__(
        self, writer: Writer, scope: Scope, strict: bool, effectful: frozenset[Node], not_finite: str | None
    ) -> None:
        super().__init__(writer, scope, strict, effectful, not_finite)
        self._undefined = scope.undefined

    def first(self, node: Node) -> str:
        """Return the source of what a carried value or an accumulator is at first, which may be ``undef``."""
        return "None" if node.op is ops.UNDEF else self.value(node)

    def _leaf(self, node: Node) -> str | None:
        if node.op is ops.UNDEF:
            self._writer.line(f"{self._writer.constant(faults.undefined)}()")
            return "None"
        found = super()._leaf(node)
        if build.is_variable(node) and node.attrs["name"] in self._undefined:
            name = node.attrs["name"]
            self._writer.line(f"if {found} is None: {self._writer.constant(faults.undefined)}({name!r})")
        return found


def tuple_of(sources: Sequence[str]) -> str:
    """Return the source of a tuple."""
    return f"({''.join([f'{source}, ' for source in sources])})"
