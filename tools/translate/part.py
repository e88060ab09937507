"""The part of a module that belongs to one procedure: it and what it calls, with the places of their statements."""

from __future__ import annotations

from scaly_ir.dialects.prog import build, ops
from scaly_ir.errors import TranslateError
from scaly_ir.graph import Node
from scaly_ir.text.diagnostics import did_you_mean
from scaly_ir.text.locations import Locations
from scaly_ir.text.spelling import spell_name


def part_of(root: Node, locations: Locations, name: str) -> tuple[Node, Locations]:
    """Return a `prog` module with the procedure `name` as its last one and what it calls before it.

    `TranslateError` when there is no such procedure, or the root is of another dialect.
    """
    if root.op is not ops.PROGRAM:
        raise TranslateError("one function can be taken out of a module of dialect 'prog' alone")
    procs = {proc.attrs["name"]: proc for proc in root.args}
    if name not in procs:
        known = [f"@{spell_name(known)}" for known in procs]
        shown = f"@{spell_name(name)}"
        raise TranslateError(f"there is no procedure {shown}{did_you_mean(shown, known, quote='')}")
    wanted = {name}
    for proc in reversed(root.args):  # callers come after their callees
        if proc.attrs["name"] in wanted:
            wanted |= {node.attrs["callee"] for node in build.statements_in(proc) if node.op is ops.CALL}
    bare = bool(root.attrs.get("bare"))
    kept = [] if bare else [0]
    number = len(kept)
    part = []
    for proc in root.args:
        count = 1 + sum([1 for _ in build.statements_in(proc)])
        if proc.attrs["name"] in wanted:
            kept.extend(range(number, number + count))
            part.append(proc)
        number += count
    starts, ends = [[values[at] for at in kept] for values in (locations.starts, locations.ends)]
    module = build.program(part, lanes=root.attrs.get("lanes"), bare=bare)
    return module, Locations(locations.source, starts, ends, locations.in_tokens, locations.spans_of)
