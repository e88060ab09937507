"""Scalars as source: one assignment to a local variable for each node, operands first, however deep they are.

Shared operands are computed once: nothing is written while a statement's scalars are evaluated. What an operator with
an effect takes part in is computed for each occurrence in the text, as in C.
"""

from __future__ import annotations

from typing import Final

from scaly_ir.dialects.prog import ops
from scaly_ir.dialects.prog.evaluate import scalars
from scaly_ir.dialects.prog.evaluate.scope import Scope
from scaly_ir.dialects.prog.evaluate.writer import Writer
from scaly_ir.effects import CallEffectKind, effect_class
from scaly_ir.graph import Node, postorder, preorder
from scaly_ir.op import Op
from scaly_ir.types import FLOAT32

_LITERALS: Final = frozenset({ops.CONST_INT, ops.CONST_FLOAT})

Key = tuple[Node, bool, int]
"""A scalar, whether it stands in an index, where divisions are stricter, and the number of the occurrence.

Where all occurrences are computed at once, the number is 0.
"""


def effectful(proc: Node) -> frozenset[Node]:
    """Return what has a registered operator with an effect in it, of all that a procedure is made of."""
    found: set[Node] = set()
    if any([_has_effect(op) for op in {node.op for node in preorder(proc)}]):
        for node in postorder(proc):
            if _has_effect(node.op) or any([operand in found for operand in node.args]):
                found.add(node)
    return frozenset(found)


def _has_effect(op: Op) -> bool:
    return op not in ops.ROWS and effect_class(op.get_attr("TCallEffectKind")) is not CallEffectKind.Pure


class Expressions:
    """Writes the source of the scalars of one statement.

    `not_finite` is the source of what is called with a NaN or infinity, and the operation that gave it, if anything is.
    """

    def __init__(
        self, writer: Writer, scope: Scope, strict: bool, effectful: frozenset[Node], not_finite: str | None = None
    ) -> None:
        self._writer = writer
        self._scope = scope
        self._strict = strict
        self._effectful = effectful
        self._not_finite = not_finite
        self._occurrences = 0
        self._sources: dict[Key, str] = {}
        self._uses: dict[Key, int] = {}
        self._free: list[str] = []
        self._temporaries = 0

    def value(self, scalar: Node, *, in_index: bool = False) -> str:
        """Write what a scalar needs and return the source of its value, good to the end of the statement."""
        root = self._key(scalar, in_index)
        sources, uses = self._sources, self._uses
        uses[root] = uses.get(root, 0) + 1
        pending: list[tuple[Key, list[Key] | None]] = [(root, None)]
        while pending:
            key, operands = pending.pop()
            if operands is not None:
                sources[key] = self._computed(key[0], key[1], operands)
            elif key not in sources:
                leaf = self._leaf(key[0])
                if leaf is not None:
                    sources[key] = leaf
                    continue
                operands = self._operands(key[0], key[1])
                pending.append((key, operands))
                for operand in reversed(operands):
                    uses[operand] = uses.get(operand, 0) + 1
                    pending.append((operand, None))
        return sources[root]

    def index(self, view: Node) -> str:
        """Write the index of a view and return its source; whether it is in bounds is not checked."""
        return self.value(view.args[0], in_index=True)

    def check(self, verb: str, view: Node, index: str, *, beyond: int = 0) -> None:
        """Write the check that an index, or the one that comes `beyond` it, is in bounds."""
        name = view.attrs["buffer"]
        size = self._scope.buffer(name, view.type).size
        low, high = self._scope.bounds(view.args[0])[:2]
        at = f"{index} + {beyond}" if beyond else index
        if low + beyond < 0 or high + beyond >= size:
            self._writer.line(f"if not 0 <= {at} < {size}: outside({verb!r}, {name!r}, {at}, {size})")

    def _key(self, scalar: Node, in_index: bool) -> Key:
        if scalar not in self._effectful:
            return scalar, in_index, 0
        self._occurrences += 1
        return scalar, in_index, self._occurrences

    def _operands(self, node: Node, in_index: bool) -> list[Key]:
        """Return the scalars that a scalar is computed from; the index of a load is one."""
        if node.op is ops.LOAD:
            return [self._key(node.args[0].args[0], True)]
        return [self._key(operand, in_index) for operand in node.args]

    def _leaf(self, node: Node) -> str | None:
        """Return the source of a variable or literal, or None for what has to be computed."""
        if node.op is ops.VAR:
            return self._scope.variable(node.attrs["name"], node.type).source
        if node.op in _LITERALS:
            value = node.attrs["value"]
            return self._writer.constant(value) if value != value else repr(value)
        return None

    def _computed(self, node: Node, in_index: bool, operands: list[Key]) -> str:
        if node.op is ops.LOAD:
            text, name = self._load(node, self._sources[operands[0]]), None
        else:
            name = self._writer.meaning(node.op)
            text = self._applied(node, name, in_index, [self._sources[operand] for operand in operands])
        for operand in operands:
            self._release(operand)
        target = self._temporary()
        self._writer.line(f"{target} = {text}")
        if name in scalars.WRAPPING and node.type.is_int and self._scope.may_wrap(node):
            fits = scalars.spell_fits(target, node.type)
            self._writer.line(f"if not {fits}: {target} = wrap_{node.type.bits}({target})")
        if self._not_finite and node.type.is_float and node.op is not ops.LOAD:
            operation = self._writer.constant(node)
            self._writer.line(f"if not isfinite({target}): {self._not_finite}({operation}, {target})")
        return target

    def _temporary(self) -> str:
        if self._free:
            return self._free.pop()
        self._temporaries += 1
        return f"t{self._temporaries}"

    def _release(self, operand: Key) -> None:
        self._uses[operand] -= 1
        source = self._sources[operand]
        if not self._uses[operand] and source[0] == "t":
            del self._sources[operand]  # should it be wanted again it is computed again
            self._free.append(source)

    def _load(self, node: Node, index: str) -> str:
        view = node.args[0]
        name = view.attrs["buffer"]
        buffer = self._scope.buffer(name, view.type)
        number = self._writer.use_buffer(buffer.number)
        self.check("read", view, index)
        if not buffer.filled:
            self._writer.line(f"if not d{number}[{index}]: unwritten({name!r}, {index})")
        return f"b{number}[{index}]"

    def _applied(self, node: Node, name: str | None, in_index: bool, operands: list[str]) -> str:
        dtype = node.type
        if name is None:
            return f"{self._writer.constant(scalars.registered(node))}({', '.join(operands)})"
        if name == "cast":
            return scalars.cast_source(node.args[0].type, dtype, self._strict).format(*operands)
        if name in scalars.ANY:
            return scalars.ANY[name].format(*operands)
        if dtype.is_float:
            text = scalars.FLOATING[name].format(*operands)
            return f"single({text})" if dtype is FLOAT32 and name in scalars.ROUNDED else text
        if name in scalars.TRUNCATING:
            return self._division(name, node, in_index, operands)
        return scalars.INTEGER[name].format(*operands)

    def _division(self, name: str, node: Node, in_index: bool, operands: list[str]) -> str:
        x, y = operands
        least, divisor = self._scope.bounds(node.args[0]).low, self._scope.bounds(node.args[1])
        if 0 in divisor:
            self._writer.line(f"if {y} == 0: by_zero({name!r}, {x})")
        natural = least >= 0 and divisor.low >= 0
        if in_index and not natural:
            self._writer.line(f"if {x} < 0 or {y} < 0: negative({name!r}, {x}, {y})")
        if natural or in_index:
            return f"{x} {'//' if name == 'div' else '%'} {y}"
        return scalars.INTEGER[name].format(x, y)
