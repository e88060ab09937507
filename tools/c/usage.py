"""What the C text of a program depends on besides the statement at hand, found by one walk over each procedure."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from scaly_ir.dialects.prog import ops
from scaly_ir.dialects.prog.build import buffer_of, params_of, statements_in
from scaly_ir.graph import Node


def input_count(proc: Node) -> int:
    """Return how many leading parameters of a procedure are only read; where nothing says so, none are."""
    return int(proc.attrs.get("input_count", 0))


def element_count(buffer: Node) -> int:
    """Return the logical size of a declaration."""
    return math.prod(buffer.attrs["shape"])


@dataclass(slots=True)
class Usage:
    """How a procedure uses its names."""

    names: dict[str, bool] = field(default_factory=dict)
    """Every declared name, parameters first, then in the order of the text; true for that of a table."""
    declarations: dict[str, Node] = field(default_factory=dict)
    """The buffers that are declared in the body, by name."""
    written: set[str] = field(default_factory=set)
    """The buffers that are written, under their own names or through an alias."""
    stored: set[str] = field(default_factory=set)
    """The buffers that are stored into under their own names."""
    read: set[str] = field(default_factory=set)
    """The buffers that are loaded from, aliased or passed on."""
    scalars: set[str] = field(default_factory=set)
    """The variables that are read."""
    reassigned: set[str] = field(default_factory=set)
    """The scalars that are assigned after their declaration."""


def usage_of(proc: Node, procs: Mapping[str, Node]) -> Usage:
    """Return how a procedure uses its names; `procs` are those that it may call."""
    usage = Usage()
    seen: set[Node] = set()
    for param in params_of(proc):
        usage.names[param.attrs["name"]] = False
    for node in statements_in(proc):
        _visit(node, procs, usage)
        _visit_scalars(node, usage, seen)
    for name, declaration in reversed(usage.declarations.items()):  # an alias comes after its source
        source = declaration.attrs.get("alias_of")
        if source is not None:
            usage.read.add(source)
            if name in usage.written:
                usage.written.add(source)
    return usage


def _visit(node: Node, procs: Mapping[str, Node], usage: Usage) -> None:
    """Record what one statement declares and writes."""
    op, attrs = node.op, node.attrs
    if op is ops.BUFFER:
        usage.names[attrs["name"]] = "values" in attrs
        usage.declarations[attrs["name"]] = node
    elif op is ops.FOR:
        usage.names.setdefault(node.args[0].attrs["name"], False)
    elif op is ops.ASSIGN:
        usage.names.setdefault(attrs["target"], False)
        if not attrs.get("declare", False):
            usage.reassigned.add(attrs["target"])
    elif op is ops.CALL:
        callee = procs.get(attrs["callee"])
        inputs = 0 if callee is None else input_count(callee)
        usage.written.update([buffer_of(argument) for argument in node.args[inputs:]])
        usage.read.update([buffer_of(argument) for argument in node.args])
    else:
        usage.written.add(buffer_of(node.args[0]))
        usage.stored.add(buffer_of(node.args[0]))


def _visit_scalars(node: Node, usage: Usage, seen: set[Node]) -> None:
    """Record what the scalars of one statement read; `seen` are those that were visited before."""
    pending = list(node.args[:1] if node.op is ops.FOR else node.args)
    while pending:
        scalar = pending.pop()
        if scalar in seen:
            continue
        seen.add(scalar)
        if scalar.op is ops.LOAD:
            usage.read.add(buffer_of(scalar.args[0]))
        elif scalar.op is ops.VAR:
            usage.scalars.add(scalar.attrs["name"])
        pending.extend(scalar.args)


class Sizes(NamedTuple):
    """The workspace of a procedure in doubles: its own windows, and with those of its callees."""

    own: int
    whole: int


def workspace_sizes(procs: Mapping[str, Node]) -> dict[str, Sizes]:
    """Return the workspace of every procedure, callees before callers; what a header leaves out is worked out."""
    sizes: dict[str, Sizes] = {}
    for name, proc in procs.items():
        own = int(proc.attrs.get("w_self", 0))
        callees = {node.attrs["callee"] for node in statements_in(proc) if node.op is ops.CALL}
        below = max([sizes[callee].whole for callee in callees if callee in sizes], default=0)
        sizes[name] = Sizes(own, int(proc.attrs.get("sz_w", own + below)))
    return sizes
