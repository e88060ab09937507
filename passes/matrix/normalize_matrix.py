"""Fold whole-array operations, reads of constants, index expressions and loops that run at most once.

What an operator folds to is its attribute ``FFold`` (`dialects/buffer/folds.py` says what that gets and returns), so
operators of others are folded too. Here is what all folds need: which statement made a buffer, and where two buffers
may become one. Storage is shared only where neither is written to anywhere, and where the types are written alike.
Source: matrix specification 3 and 8.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from scaly_ir.dialects.affine import build as affine
from scaly_ir.dialects.affine.maps import constant
from scaly_ir.dialects.buffer import build, ops
from scaly_ir.dialects.buffer.types import folded, scalar_type
from scaly_ir.dialects.matrix import dialect as _dialect  # noqa: F401 - registers what the operators fold to
from scaly_ir.effects import CallEffectKind, effect_class
from scaly_ir.folding import constant_value
from scaly_ir.graph import Node
from scaly_ir.pass_manager import Pass
from scaly_ir.passes.matrix.rebuilding import Rebuilding, in_functions, trip_count
from scaly_ir.types import MemRefType


@dataclass(frozen=True)
class NormalizeMatrix(Pass):
    """Folds what is known of matrices, buffers, indices and loops; every result keeps its bits."""

    name: ClassVar[str] = "normalize_matrix"
    summary: ClassVar[str] = "fold operations on constant, equal and empty matrices, index maps and short loops"
    dialects: ClassVar[frozenset[str]] = ops.UNIT

    def run(self, root: Node) -> Node:
        """Return the module with each function folded to a fixed point."""
        return in_functions(root, to_fixed_point)


def to_fixed_point(function: Node, walk: type[Folding] | None = None) -> Node:
    """Return a function folded until nothing changes.

    One walk folds all that it can see, so another finds more only where less is written to: where a loop that never
    runs took a write with it, or where two buffers of one name have got names of their own.
    """
    kind = walk or Folding
    while True:
        folding = kind(function)
        result = folding.run()
        if written_names(result) == folding.unstable:
            return result
        function = result


class Folding(Rebuilding):
    """One walk: what a statement folds to depends on those before it, and on what the function writes to."""

    def __init__(self, function: Node) -> None:
        super().__init__(function)
        self._written = written_names(function)
        self.unstable: set[str] = set()
        """The buffers that may be written to, by the names that they have now."""
        self._made_by: dict[str, Node] = {}
        """The statement that made each of the others."""

    # --- scopes -------------------------------------------------------------------------------------------------------

    def define(self, name: str, type_: Any) -> str:
        """Bring a name into scope; note whether it is that of a buffer that may be written to."""
        new = super().define(name, type_)
        self._made_by.pop(new, None)
        if isinstance(type_, MemRefType) and name in self._written:
            self.unstable.add(new)
        return new

    def enter(self, statement: Node, operands: Sequence[Node]) -> None:
        """Leave out a loop without trips (``for-zero``), and the loop around its only one (``for-one``)."""
        trips = trip_count(statement, operands)
        if trips == 0:
            for binding, init in zip(build.results_of(statement), operands[2:], strict=True):
                self.bind(binding.name, init)
        elif trips == 1:
            self.dissolve(statement, operands, [operands[0], *operands[2:]])
        else:
            self.open(statement, operands)

    def place(self, statement: Node) -> None:
        """Fold a statement until it stays, and emit it or bind its name to what it is."""
        if statement.op is ops.LET:
            self.bind(statement.attrs["results"][0], statement.args[0])
            return
        while (made := self._folded(statement)) is not None:
            if made.attrs.get("results") != statement.attrs.get("results"):
                (name,) = statement.attrs["results"]
                self.bind(name, made)
                return
            statement = made
        self._emit_in_bounds(statement)

    # --- folding ------------------------------------------------------------------------------------------------------

    def _folded(self, statement: Node) -> Node | None:
        """Return the statement, or the value of the one that it binds, in place of a statement; None to keep it."""
        fold = statement.op.get_attr("FFold")
        if fold is None:
            return None
        call = statement.replace(args=[self._definition(operand) for operand in statement.args])
        made: Node | None = fold(call, [_constant(operand) for operand in call.args])
        if made is None or made is call:
            return None
        results = statement.attrs.get("results") or ()
        stands_for = made.attrs.get("results") or results
        if build.is_literal(made) or build.is_variable(made) or stands_for != results:
            value = _name_of(made)
            return value if self._may_be(value, statement) else None
        made = made.replace(args=[_name_of(operand) for operand in made.args])
        if results:
            made = made.with_attrs(results=results)
        if made is statement or made.type is not statement.type:
            return None
        return made if self._may_use(made, statement) else None

    def _definition(self, operand: Node) -> Node:
        """Return the statement that made an operand, where that is a buffer nothing writes to."""
        return self._made_by.get(operand.attrs["name"], operand) if build.is_variable(operand) else operand

    def _may_be(self, value: Node, statement: Node) -> bool:
        """Tell whether what a statement binds may be another value: of one type, and no storage that is written to."""
        bound = build.results_of(statement)
        if len(bound) != 1 or not isinstance(statement.type, MemRefType):
            return len(bound) == 1 and value.type is scalar_type(statement.type)
        is_written = bound[0].name in self._written or value.attrs.get("name") in self.unstable
        return value.type is statement.type and not is_written

    def _may_use(self, made: Node, statement: Node) -> bool:
        """Tell whether a statement may read its operands here: those that another read before must be as they were."""
        return all(
            [
                operand in statement.args or operand.attrs["name"] not in self.unstable
                for operand in made.args
                if isinstance(operand.type, MemRefType)
            ]
        )

    # --- emission -----------------------------------------------------------------------------------------------------

    def _emit_in_bounds(self, statement: Node) -> None:
        """Emit a statement with no literal index outside its buffer.

        It was a variable before, in code that may never run; as text it would be a mistake, so it stays computed.
        """
        kinds = statement.op.get_attr(ops.KINDS, ())
        if kinds[-2:] == ("memref", "index"):
            first = len(kinds) - 1
            extents = folded(statement.args[first - 1].type.shape)
            indices = [
                self._computed(index)
                if build.is_literal(index) and index.attrs["value"] not in range(extent)
                else index
                for index, extent in zip(statement.args[first:], extents, strict=True)
            ]
            statement = statement.replace(args=[*statement.args[:first], *indices])
        made = self.emit(statement)
        for binding in build.results_of(made):
            if isinstance(binding.type, MemRefType) and binding.name not in self.unstable:
                self._made_by[binding.name] = made

    def _computed(self, index: Node) -> Node:
        made = self.emit(affine.apply(self.names.fresh(), (), constant(index.attrs["value"])))
        return affine.index(made.attrs["results"][0])


def written_names(function: Node) -> set[str]:
    """Return the names of the buffers that statements of a function may write to."""
    region = build.region_of(function)
    assert region is not None
    return {
        operand.attrs["name"]
        for statement in build.statements_in(region)
        if effect_class(statement.op.get_attr("TCallEffectKind")) is CallEffectKind.UpdateState
        for operand in build.operands_of(statement)
        if build.is_variable(operand) and isinstance(operand.type, MemRefType)
    }


def _constant(operand: Node) -> Any:
    """Return the number that an operand is, or that all elements of a buffer are; None where that is not known."""
    return constant_value(operand.args[0] if operand.op.get_attr(ops.FILLED, False) else operand)


def _name_of(operand: Node) -> Node:
    """Return the name that an operand has in text, where it is given as the statement that made it."""
    results = operand.attrs.get("results")
    return build.value(results[0], operand.type) if results else operand
