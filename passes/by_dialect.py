"""Passes that every dialect has its own way of doing: one name and one set of options for all of them.

A pass lists where the project's dialects do it; a dialect of a third party sets ``<pass>.FRunPass`` on the operator of
its modules. Source: operator specification A5.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from importlib import import_module
from typing import ClassVar

from scaly_ir.graph import Node
from scaly_ir.op import Op
from scaly_ir.pass_manager import Pass


@dataclass(frozen=True)
class DialectPass(Pass):
    """The base of such passes."""

    implementations: ClassVar[dict[str, str]] = {}
    """By dialect, ``module:function``: a function of the root and of the options by keyword."""

    @property
    def dialects(self) -> frozenset[str]:  # type: ignore[override] # a dialect may be added at any time
        """The dialects that have the pass."""
        return frozenset({*self.implementations, *[op.dialect for op in Op.get_attr_map(self._key)]})

    @property
    def _key(self) -> str:
        return f"{self.name}.FRunPass"

    def run(self, root: Node) -> Node:
        """Have the dialect of `root` do it."""
        return self._function(root)(root, **{field.name: getattr(self, field.name) for field in fields(self)})

    def _function(self, root: Node) -> Callable[..., Node]:
        own: Callable[..., Node] | None = root.op.get_attr(self._key, None)
        if own is not None:
            return own
        module, _, name = self.implementations[root.op.dialect].partition(":")
        found: Callable[..., Node] = getattr(import_module(module), name)
        return found
