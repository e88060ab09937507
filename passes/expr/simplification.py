"""Simplification and merging, function by function, as passes. Source: expression specification 6.3."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from scaly_ir.dialects.expr.functions import outputs_of
from scaly_ir.dialects.expr.simplify import cse_many, simplify_cse_many, simplify_many
from scaly_ir.dialects.expr.substitution import with_outputs
from scaly_ir.graph import Node
from scaly_ir.pass_manager import Pass
from scaly_ir.passes.expr.functions import map_functions


def simplify(root: Node) -> Node:
    """Return a module with identities applied and constants evaluated; `root` itself when nothing changes."""
    return _on_outputs(root, simplify_many)


def merge(root: Node) -> Node:
    """Return a module in which each function computes an operation once, whatever the order of its operands."""
    return _on_outputs(root, cse_many)


def _on_outputs(root: Node, work: Callable[[Sequence[Node]], list[Node]]) -> Node:
    """Return a module with the outputs of each function worked on together."""
    return map_functions(root, lambda function: with_outputs(function, work(outputs_of(function))))


@dataclass(frozen=True)
class Simplify(Pass):
    """Applies the identities of real arithmetic and of array structure, and evaluates constants, to a fixed point."""

    name: ClassVar[str] = "simplify"
    summary: ClassVar[str] = "apply identities and evaluate constants to a fixed point"
    dialects: ClassVar[frozenset[str]] = frozenset({"expr"})

    def run(self, root: Node) -> Node:
        """Return the module with simplified functions."""
        return simplify(root)


@dataclass(frozen=True)
class SimplifyCse(Pass):
    """Simplifies and merges in turns, until nothing changes or four rounds are over."""

    name: ClassVar[str] = "simplify_cse"
    summary: ClassVar[str] = "simplify and merge equal operations in turns"
    dialects: ClassVar[frozenset[str]] = frozenset({"expr"})

    def run(self, root: Node) -> Node:
        """Return the module with simplified functions in which nothing is computed twice."""
        return _on_outputs(root, simplify_cse_many)
