"""From the bodies of a file to its root: which function depends on which, and the places of operations in the text.

Functions may stand in any order as long as their calls form no circle. Source: expression specification 4.4.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from scaly_ir.dialects.expr import ops
from scaly_ir.dialects.expr.assembler import Body, Built, Reports, build_body
from scaly_ir.dialects.expr.functions import make_module
from scaly_ir.dialects.expr.values import At
from scaly_ir.graph import Node
from scaly_ir.text.spelling import spell_name


def build_root(bodies: Sequence[Body], *, module: bool, reports: Reports) -> tuple[Node | None, list[Built]]:
    """Return the root of a file and what its bodies became; the root is None where there is a mistake."""
    if len(bodies) == 1 and bodies[0].op is not ops.FUNC:
        only = build_body(bodies[0], {}, reports)
        return only.root, [only]
    by_name = _by_name(bodies, reports)
    functions: dict[str, Node | None] = dict.fromkeys(by_name)
    built: dict[str, Built] = {}
    for body in _in_order(by_name, reports):
        made = built[body.name] = build_body(body, functions, reports)
        functions[body.name] = made.root
    known = [function for name in by_name if (function := functions[name]) is not None]
    root = make_module(known, bare=not module) if len(known) == len(bodies) else None
    return root, list(built.values())


def _by_name(bodies: Sequence[Body], reports: Reports) -> dict[str, Body]:
    """Return functions by their names, and complain of two with one name."""
    found: dict[str, Body] = {}
    for body in bodies:
        first = found.setdefault(body.name, body)
        if first is not body:
            message = f"two functions are called '@{spell_name(body.name)}'"
            notes = [reports.note("the first one is here", first.name_at)]
            reports.fail(message, body.name_at, "duplicate-function", notes)
    return found


def _in_order(by_name: Mapping[str, Body], reports: Reports) -> Iterator[Body]:
    """Yield functions, those that they call first, and complain of circles."""
    done: set[str] = set()
    path: dict[str, At] = {}
    """The functions that the current one is called by, each with the place where the next one is named."""
    suspended: list[tuple[Body, Iterator[tuple[str, At]]]] = []
    for start in by_name.values():
        pending = start if start.name not in done else None
        while pending is not None or suspended:
            if pending is not None:
                suspended.append((pending, iter(pending.callees())))
                path[pending.name] = pending.name_at
                pending = None
            body, callees = suspended[-1]
            for name, at in callees:
                if name not in by_name or name in done:
                    continue
                path[body.name] = at
                if name in path:
                    _complain_of_circle(name, path, reports)
                else:
                    pending = by_name[name]
                    break
            else:
                suspended.pop()
                del path[body.name]
                done.add(body.name)
                yield body


def _complain_of_circle(name: str, path: Mapping[str, At], reports: Reports) -> None:
    """Complain of calls that lead from a function back to itself; `path` ends with the one that closes the circle."""
    names = list(path)
    circle = names[names.index(name) :]
    at = path[circle[-1]]
    if len(circle) == 1:
        reports.fail(f"function '@{spell_name(name)}' calls itself", at, "call-cycle")
        return
    shown = " -> ".join([f"'@{spell_name(each)}'" for each in [*circle, name]])
    notes = [reports.note(f"'@{spell_name(each)}' calls the next one here", path[each]) for each in circle[:-1]]
    reports.fail(f"calls form a circle: {shown}", at, "call-cycle", notes)
