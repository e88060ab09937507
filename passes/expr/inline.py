"""Inlining: calls become what they compute. Source: expression specification 4.1 and 6.3."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from scaly_ir.dialects.expr import ops
from scaly_ir.dialects.expr.functions import body_of, inputs_of, invocation, outputs_of
from scaly_ir.dialects.expr.substitution import substitute_inputs, take_hint
from scaly_ir.errors import PassError
from scaly_ir.graph import Node
from scaly_ir.pass_manager import Pass
from scaly_ir.passes.expr.functions import map_functions, map_operations
from scaly_ir.text.spelling import spell_name

MOST: Final = 2_000_000
"""How many operations the calls of one function may become: each level of calls may double what is below."""


@dataclass(frozen=True)
class Inline(Pass):
    """Replaces each call by the callee's output on the operands; the bodies of loops stay functions."""

    name: ClassVar[str] = "inline"
    summary: ClassVar[str] = "replace calls by what the called functions compute"
    dialects: ClassVar[frozenset[str]] = frozenset({"expr"})

    def run(self, root: Node) -> Node:
        """Return the module with every call of a known function inlined; the functions stay.

        `PassError` where a function would become too large.
        """
        return map_functions(root, _inlined)


def _inlined(function: Node) -> Node:
    """Return a function, whose callees are inlined already, without calls."""
    invocations: dict[Any, list[Node]] = {}  # what the callee's outputs are in each
    sizes: dict[Node, int] = {}
    total = 0

    def called(node: Node) -> Node:
        callee = node.attrs["callee"] if node.op is ops.CALL else None
        if not isinstance(callee, Node):
            return node
        key = invocation(node)
        if key not in invocations:
            nonlocal total
            if callee not in sizes:
                sizes[callee] = len(body_of(callee))
            total += sizes[callee]
            if total > MOST:
                name = spell_name(function.attrs["name"])
                raise PassError(f"@{name} would become more than {MOST:,} operations", pass_name="inline")
            invocations[key] = substitute_inputs(outputs_of(callee), _bound(callee, node))
        return take_hint(invocations[key][node.attrs["output"]], node)

    return map_operations(function, called, "inline_call")


def _bound(callee: Node, call: Node) -> Mapping[Node, Node]:
    return dict(zip(inputs_of(callee), call.args, strict=True))
