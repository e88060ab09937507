"""Which values of a function stand at their only use, so that a program needs no variable for them.

An index expression may be computed anywhere. A read may move to its use if that is in the same list of statements and
nothing in between writes the buffer. Source: matrix specification 9.4.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from scaly_ir.dialects.affine.maps import AffineMap, Dim
from scaly_ir.dialects.affine.ops import FOR
from scaly_ir.dialects.buffer import build
from scaly_ir.graph import Node
from scaly_ir.op import CallEffectKind
from scaly_ir.passes.prog.references import occurrences
from scaly_ir.types import MemRefType

_MANY = 2
"""More uses than one are not told apart."""


class _Candidate(NamedTuple):
    """A statement whose value may stand at its use: its number, its list, and the buffers that it reads."""

    number: int
    statements: int
    buffers: tuple[str, ...]


def single_uses(function: Node, key: str) -> frozenset[int]:
    """Return the numbers of the statements whose value stands at its only use.

    Statements are counted from 0 in the order of the text, without those in regions of operations that are no loops.
    Operations are those with the attribute `key`.
    """
    return _Search(key).run(function)


class _Search:
    def __init__(self, key: str) -> None:
        self._key = key
        self._known: dict[str, _Candidate | None] = {}
        self._uses: Counter[int] = Counter()
        self._fixed: set[int] = set()
        """The numbers of statements that must not move to their use."""
        self._written: dict[str, int] = {}
        """By buffer, the number of the last statement that writes it."""

    def run(self, function: Node) -> frozenset[int]:
        region = build.region_of(function)
        assert region is not None
        pending: list[tuple[Iterator[Node], int, Node | None]] = [(iter(build.body_of(region)), -1, None)]
        number = -1
        while pending:
            statements, place, owner = pending[-1]
            for statement in statements:
                number += 1
                self._use(statement, place)
                self._write(statement, number)
                inner = build.region_of(statement)
                if inner is not None and statement.op is FOR:
                    self._forget([param.attrs["name"] for param in build.params_of(inner)])
                    pending.append((iter(build.body_of(inner)), number, statement))
                    break
                if inner is not None:
                    self._enter_opaque(inner, number)
                self._define(statement, number, place)
            else:
                pending.pop()
                if owner is not None:
                    self._forget(build.names_of(owner))
        return frozenset([number for number, uses in self._uses.items() if uses == 1 and number not in self._fixed])

    def _define(self, statement: Node, number: int, place: int) -> None:
        self._forget(build.names_of(statement))
        if not statement.op.has_attr(self._key) or statement.op.get_attr("TCallEffectKind") > CallEffectKind.ReadState:
            return
        results = build.results_of(statement)
        if len(results) == 1 and not isinstance(results[0].type, MemRefType):
            is_pure = statement.op.get_attr("TCallEffectKind") is CallEffectKind.Pure
            buffers = () if is_pure else _buffers(statement)
            self._known[results[0].name] = _Candidate(number, place, buffers)

    def _forget(self, names: Iterable[str]) -> None:
        """Note that names stand for something else from here on."""
        for name in names:
            self._known[name] = None

    def _use(self, statement: Node, place: int) -> None:
        for name, count in _uses(statement):
            candidate = self._known.get(name)
            if candidate is None:
                continue
            self._uses[candidate.number] += count
            is_elsewhere = candidate.statements != place
            if candidate.buffers and (is_elsewhere or self._is_written(candidate)):
                self._fixed.add(candidate.number)

    def _is_written(self, candidate: _Candidate) -> bool:
        return any([self._written.get(buffer, -1) > candidate.number for buffer in candidate.buffers])

    def _write(self, statement: Node, number: int) -> None:
        if statement.op.get_attr("TCallEffectKind") >= CallEffectKind.UpdateState:
            self._written.update(dict.fromkeys(_buffers(statement), number))

    def _enter_opaque(self, region: Node, number: int) -> None:
        """Take everything in a region of which nothing is known for used often and written."""
        for statement in build.statements_in(region):
            self._write(statement, number)
            for name, _ in _uses(statement):
                candidate = self._known.get(name)
                if candidate is not None:
                    self._uses[candidate.number] += _MANY


def _buffers(statement: Node) -> tuple[str, ...]:
    return tuple([arg.attrs["name"] for arg in build.operands_of(statement) if isinstance(arg.type, MemRefType)])


def _uses(statement: Node) -> Iterator[tuple[str, int]]:
    """Yield names in the operands of a statement, and how often each is written there if it is put in its place."""
    operands = build.operands_of(statement)
    map_ = statement.attrs.get("map")
    if isinstance(map_, AffineMap):
        dims = Counter([token.number for result in map_.results for token in result if isinstance(token, Dim)])
        for number, operand in enumerate(operands):
            if build.is_variable(operand):
                yield operand.attrs["name"], max(1, dims[number])
        return
    for operand in operands:
        if build.is_variable(operand):
            yield operand.attrs["name"], 1
        elif operand.args:
            yield from _uses_in(operand)


def _uses_in(scalar: Node) -> Iterator[tuple[str, int]]:
    """Yield the names in a scalar, of which equal parts are one node, and how often each is written."""
    order, counts = occurrences([scalar])
    for node in order:
        if build.is_variable(node):
            yield node.attrs["name"], counts[node]
