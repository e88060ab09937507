"""Statistics: one remark for each function. Source: expression specification 6.3."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

from scaly_ir.dialects.expr import ops
from scaly_ir.dialects.expr.functions import body_of, in_order, invocation
from scaly_ir.graph import Node
from scaly_ir.pass_manager import Pass
from scaly_ir.remarks import remark
from scaly_ir.text.spelling import spell_name

_MOST: Final = 10**18
"""Nested loops make numbers that nobody can read; beyond this one they are not spelled."""


@dataclass(frozen=True)
class PrintStats(Pass):
    """Remarks for each function how many nodes of each operation it has, and how many floating-point operations.

    What is computed once counts once, also when several results of it are used. A loop counts with all the steps that
    it may take.
    """

    name: ClassVar[str] = "print_stats"
    summary: ClassVar[str] = "count nodes and floating-point operations of each function"
    dialects: ClassVar[frozenset[str]] = frozenset({"expr"})

    def run(self, root: Node) -> Node:
        """Return the module as it is, with a remark for each function, callees first."""
        flops: dict[Node, _Flops] = {}
        for function in in_order(root.args):
            nodes = body_of(function)
            flops[function] = _flops_of(nodes, flops)
            remark(f"@{spell_name(function.attrs['name'])}: {_counted(nodes)}, {flops[function].spelled}")
        return root


@dataclass(frozen=True, slots=True)
class _Flops:
    """How many floating-point operations a function takes; `known` is False where it calls what is not defined."""

    count: int
    known: bool

    @property
    def spelled(self) -> str:
        if self.count >= _MOST:
            return "over 10**18 flops"
        return f"{'' if self.known else 'at least '}{self.count:,} flop{'s' if self.count != 1 else ''}"


def _counted(nodes: Sequence[Node]) -> str:
    """Return how many nodes there are, and of each operation."""
    counts = Counter([node.op.mnemonic if node.op.dialect == "expr" else node.op.name for node in nodes])
    listed = ", ".join([f"{count:,} {name}" for name, count in sorted(counts.items())])
    return f"{len(nodes):,} operation{'s' if len(nodes) != 1 else ''} ({listed})"


def _flops_of(nodes: Sequence[Node], callees: Mapping[Node, _Flops]) -> _Flops:
    count, known = 0, True
    seen = set()
    for node in nodes:
        if node.op not in ops.CALLS:
            count += _own_flops(node)
            continue
        key = invocation(node)
        if key in seen:
            continue
        seen.add(key)
        callee = callees.get(node.attrs["callee"])
        if callee is None:
            known = False
        else:
            known = known and callee.known
            count += callee.count * node.attrs.get("length", 1)
    return _Flops(count, known)


def _own_flops(node: Node) -> int:
    """Return the floating-point operations of one operation on arrays."""
    if not node.dtype.is_float:
        return 0
    size: int = node.type.size
    if node.op is ops.MATMUL:
        contracted: int = node.args[0].type.shape[-1]
        return 2 * contracted * size
    if node.op is ops.REDUCE:
        summed: int = node.args[0].type.size
        return summed if node.attrs["kind"] == "add" else 0
    return size if node.op.get_attr("TScalarTyping", "") == "arith" else 0
