"""The part of a module that belongs to one function: it and what it calls, with the places of their statements."""

from __future__ import annotations

from collections.abc import Sequence

from scaly_ir.dialects.expr import ops as expr_ops
from scaly_ir.dialects.expr.functions import body_of, in_order, make_module
from scaly_ir.dialects.prog import build, ops
from scaly_ir.errors import TranslateError
from scaly_ir.graph import Node
from scaly_ir.text.diagnostics import did_you_mean
from scaly_ir.text.locations import Locations
from scaly_ir.text.spelling import spell_name


def part_of(root: Node, locations: Locations, name: str) -> tuple[Node, Locations]:
    """Return a module with the function or procedure `name` as its last one and what it calls before it.

    `TranslateError` when there is none of that name, or the root is no module of `expr` or `prog`.
    """
    if root.op not in (ops.PROGRAM, expr_ops.MODULE):
        raise TranslateError("a function can be taken out of a file of functions or procedures alone")
    functions = {function.attrs["name"]: function for function in root.args}
    if name not in functions:
        known = [f"@{spell_name(known)}" for known in functions]
        shown, what = f"@{spell_name(name)}", "procedure" if root.op is ops.PROGRAM else "function"
        raise TranslateError(f"there is no {what} {shown}{did_you_mean(shown, known, quote='')}")
    bare = bool(root.attrs.get("bare"))
    if root.op is ops.PROGRAM:
        part = _procedures(root, name)
        module = build.program(part, lanes=root.attrs.get("lanes"), bare=bare)
    else:
        part = in_order([functions[name]])
        module = make_module(part, bare=bare)
    return module, _places(root, locations, part, bare=bare)


def _procedures(root: Node, name: str) -> list[Node]:
    """Return a procedure and all that it calls, in the order of the module."""
    wanted = {name}
    part = []
    for proc in reversed(root.args):  # callers come after their callees
        if proc.attrs["name"] in wanted:
            wanted |= {node.attrs["callee"] for node in build.statements_in(proc) if node.op is ops.CALL}
            part.append(proc)
    part.reverse()
    return part


def _places(root: Node, locations: Locations, part: Sequence[Node], *, bare: bool) -> Locations:
    """Return the places of the head of a module and of some of its functions, in the order of `part`."""
    kept = [] if bare else [0]
    number = len(kept)
    numbers = {}
    for function in root.args:
        count = 1 + (len(body_of(function)) if root.op is expr_ops.MODULE else len([*build.statements_in(function)]))
        numbers[function] = range(number, number + count)
        number += count
    for function in part:
        kept.extend(numbers[function])
    starts, ends = [[values[at] for at in kept] for values in (locations.starts, locations.ends)]
    return Locations(locations.source, starts, ends, locations.in_tokens, locations.spans_of)
