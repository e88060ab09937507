"""The part of a module that belongs to one function: it and what it calls, with the places of their statements."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from scaly_ir.dialect import dialect_of
from scaly_ir.errors import TranslateError
from scaly_ir.graph import Node
from scaly_ir.running import runner_of
from scaly_ir.text.diagnostics import did_you_mean
from scaly_ir.text.locations import Locations
from scaly_ir.text.spelling import spell_name


def part_of(root: Node, locations: Locations, name: str) -> tuple[Node, Locations]:
    """Return a module with the function or procedure `name` as its last one and what it calls before it.

    `TranslateError` when there is none of that name, or the root is no module of functions that can be run.
    """
    runner = runner_of(root)
    if runner is None:
        raise TranslateError("a function can be taken out of a file of functions or procedures alone")
    functions = {function.attrs["name"]: function for function in root.args}
    if name not in functions:
        known = [f"@{spell_name(known)}" for known in functions]
        shown, what = f"@{spell_name(name)}", "procedure" if root.op.dialect == "prog" else "function"
        raise TranslateError(f"there is no {what} {shown}{did_you_mean(shown, known, quote='')}")
    module = runner.part(root, functions[name])
    return module, _places(root, locations, module.args)


def _places(root: Node, locations: Locations, part: Sequence[Node]) -> Locations:
    """Return the places of the head of a module and of some of its functions, in the order of `part`."""
    operations = [*dialect_of(root).operations(root)]
    functions = set(root.args)
    firsts = [number for number, node in enumerate(operations) if node in functions]
    numbers = {operations[first]: range(first, end) for first, end in pairwise([*firsts, len(operations)])}
    if not firsts:
        return locations  # the dialect does not number its operations
    head = range(firsts[0])  # of the module itself, where its text has one
    kept = [number for places in (head, *[numbers[function] for function in part]) for number in places]
    starts, ends = [[values[at] for at in kept] for values in (locations.starts, locations.ends)]
    return Locations(locations.source, starts, ends, locations.in_tokens, locations.spans_of)
