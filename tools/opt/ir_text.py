"""The text of IR as it is shown while a run goes on: whole, or some functions of it."""

from __future__ import annotations

from dataclasses import dataclass

from scaly_ir.dialect import dialect_of
from scaly_ir.graph import Node


@dataclass(frozen=True)
class IrText:
    """How IR is shown: only the functions of these names, without their ``@``, or all of it when there are none."""

    functions: frozenset[str] = frozenset()

    def __call__(self, root: Node) -> str:
        """Return the text of a root, empty when nothing of it is to be shown; the root need not be valid."""
        if not self.functions:
            return _rendered(root)
        return "".join([_rendered(node) for node in root.args if node.attrs.get("name") in self.functions])


def _rendered(root: Node) -> str:
    try:
        return dialect_of(root).render(root)
    except Exception as failure:  # a printer may rely on what the verifier would have checked
        return f"// this cannot be printed: {type(failure).__name__}: {' '.join(str(failure).split())}\n"
