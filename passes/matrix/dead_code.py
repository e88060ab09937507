"""Remove statements of functions of buffers whose results nobody uses and whose effects may be dropped.

What is in use is found from the end of a function to its start, so one walk is enough. A loop stays when it is used or
when something in it has an effect; so does all that its terminator gives. Source: operator specification A5, matrix
specification 3.
"""

from __future__ import annotations

from collections.abc import Iterator

from scaly_ir.dialects.buffer import build
from scaly_ir.effects import may_drop
from scaly_ir.graph import Node, postorder, preorder
from scaly_ir.passes.matrix.rebuilding import in_functions


def eliminate(root: Node) -> Node:
    """Return a module without its dead statements; the module itself when there are none."""
    return in_functions(root, lambda function: _Elimination(function).run())


class _Elimination:
    """The elimination from one function."""

    def __init__(self, function: Node) -> None:
        self.function = function
        self._used: set[str] = set()
        self._with_effects = _with_effects(function)

    def run(self) -> Node:
        """Return the function without dead statements."""
        pending: list[tuple[Node, Iterator[Node], list[Node]]] = [_backwards(self.function)]
        while True:
            owner, rest, kept = pending[-1]
            for statement in rest:
                if not self._is_live(statement):
                    continue
                self._used.difference_update(statement.attrs.get("results") or ())
                if build.region_of(statement) is not None:
                    pending.append(_backwards(statement))
                    break
                self._use(statement)
                kept.append(statement)
            else:
                pending.pop()
                whole = owner.replace(args=[*owner.args[:-1], build.with_body(owner.args[-1], reversed(kept))])
                if not pending:
                    return whole
                self._used.difference_update([param.attrs["name"] for param in build.params_of(owner.args[-1])])
                self._use(owner)
                pending[-1][2].append(whole)

    def _is_live(self, statement: Node) -> bool:
        if statement in self._with_effects or build.is_terminator(statement):
            return True
        return not self._used.isdisjoint(statement.attrs.get("results") or ())

    def _use(self, statement: Node) -> None:
        """Note what a statement uses in its own operands."""
        for operand in build.operands_of(statement):
            self._used.update([node.attrs["name"] for node in preorder(operand) if build.is_variable(node)])


def _backwards(owner: Node) -> tuple[Node, Iterator[Node], list[Node]]:
    return owner, reversed(build.body_of(owner.args[-1])), []


def _with_effects(function: Node) -> set[Node]:
    """Return what does something that may not be dropped, itself or in what it is made of.

    What is structural, as a loop, does nothing by itself.
    """
    found: set[Node] = set()
    for node in postorder(function):
        structural = node.op.get_attr("TStructural", False)
        own = not structural and not may_drop(node.op.get_attr("TCallEffectKind"))
        if own or any([operand in found for operand in node.args]):
            found.add(node)
    return found
