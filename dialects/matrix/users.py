"""Who uses the values of a function: comments for people who read it. Names are resolved as text resolves them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from scaly_ir.dialects.buffer import build, ops
from scaly_ir.dialects.buffer.forms import is_operation, lead_of
from scaly_ir.dialects.buffer.printer import value_name
from scaly_ir.graph import Node, preorder
from scaly_ir.text.form import users_comment

Uses = dict[str, None]


def users_of(root: Node) -> list[str]:
    """Return the comment on the values of each operation, in the order of the text."""
    comments: list[list[tuple[str, Uses]]] = []
    names: dict[str, Uses] = {}

    def bind(bound: Iterable[str], hidden: list[tuple[str, Uses | None]]) -> list[tuple[str, Uses]]:
        made = [(name, Uses()) for name in bound]
        for name, uses in made:
            hidden.append((name, names.get(name)))
            names[name] = uses
        return made

    pending: list[tuple[Iterator[Node], list[tuple[str, Uses | None]]]] = [(iter((root,)), [])]
    while pending:
        nodes, hidden = pending[-1]
        for node in nodes:
            lead = lead_of(node)
            if is_operation(node):
                if node.op is not ops.FUNC:
                    for name in _used(node):
                        if name in names:
                            names[name][_label(node)] = None
                region = build.region_of(node)
                bound = bind(_results(node), hidden)
                inner: list[tuple[str, Uses | None]] = []
                if region is not None:
                    bound = [*bound, *bind(_params(region), inner)]
                comments.append(bound)
                if region is not None:
                    pending.append((iter(region.args[lead_of(region) or 0 :]), inner))
                    break
            elif lead is not None:
                pending.append((iter(node.args[lead:]), []))
                break
        else:
            pending.pop()
            for name, before in reversed(hidden):
                if before is None:
                    names.pop(name, None)
                else:
                    names[name] = before
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
