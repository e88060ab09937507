"""Who uses the values of a function: comments for people who read it. Names are resolved as text resolves them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from scaly_ir.dialects.buffer import build, ops
from scaly_ir.dialects.buffer.forms import is_operation, lead_of
from scaly_ir.dialects.buffer.printer import value_name
from scaly_ir.graph import Node, preorder
from scaly_ir.scopes import Scopes
from scaly_ir.text.form import users_comment

Uses = dict[str, None]


def users_of(root: Node) -> list[str]:
    """Return the comment on the values of each operation, in the order of the text."""
    comments: list[list[tuple[str, Uses]]] = []
    scopes: Scopes[Uses] = Scopes()
    scopes.enter()

    def bind(bound: Iterable[str]) -> list[tuple[str, Uses]]:
        made = [(name, Uses()) for name in bound]
        for name, uses in made:
            scopes.define(name, uses)
        return made

    pending: list[Iterator[Node]] = [iter((root,))]
    while pending:
        for node in pending[-1]:
            if is_operation(node):
                for name in () if node.op is ops.FUNC else _used(node):
                    if name in scopes.names:
                        scopes.names[name][_label(node)] = None
                comments.append(bind(_results(node)))
            lead = lead_of(node)
            if lead is not None:
                scopes.enter()
                if node.op is ops.REGION:
                    comments[-1] += bind(_params(node))
                pending.append(iter(node.args[lead:]))
                break
        else:
            pending.pop()
            scopes.leave()
    return [_comment(declared) for declared in comments]


def _results(node: Node) -> list[str]:
    return [name for name in node.attrs.get("results") or () if type(name) is str]


def _params(region: Node) -> list[str]:
    found = [param.attrs.get("name") for param in region.args[: lead_of(region)]]
    return [name for name in found if type(name) is str]


def _used(node: Node) -> Iterable[str]:
    found = [below.attrs.get("name") for operand in build.operands_of(node) for below in preorder(operand)]
    return dict.fromkeys([name for name in found if type(name) is str])


def _label(node: Node) -> str:
    names = _results(node)
    if names:
        return value_name(names[0])
    if node.op is ops.WRITE and len(node.args) > 1:
        return f"{node.op.name} {value_name(str(node.args[1].attrs.get('name')))}"
    return node.op.name


def _comment(declared: list[tuple[str, Uses]]) -> str:
    if len(declared) < 2:
        return users_comment(declared[0][1]) if declared else ""
    return f"  // {'; '.join([f'{value_name(name)}{users_comment(uses)[4:]}' for name, uses in declared])}"
