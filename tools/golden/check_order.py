"""Which prefix checks which part of which output, and in which order: RUN lines with equal output share a prefix.

Owns that choice. What a directive looks like is in `check_lines`, where it goes in the file in `update`.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from scaly_ir.text.diagnostics import error
from scaly_ir.text.source import Span
from scaly_ir.tools.golden.check_options import CheckOptions
from scaly_ir.tools.golden.functions import Key, Unit


@dataclass(frozen=True, slots=True)
class Output:
    """Hold what one `filecheck` command has to check; `span` is the place of the command."""

    span: Span
    run: str
    options: CheckOptions
    units: tuple[Unit, ...]


@dataclass(frozen=True, slots=True)
class Checked:
    """Hold one unit and the prefix that checks it; `output` is one of those that have it."""

    unit: Unit
    prefix: str
    output: Output


class ConflictError(Exception):
    """Tell that prefixes do not suffice."""

    def __init__(self, message: str, span: Span) -> None:
        super().__init__(message)
        self.diagnostic = error(message, span, "check-prefix")


def in_order(outputs: Sequence[Output], place_of: Mapping[Key, int]) -> list[tuple[int, Checked]]:
    """Return all checks in the order in which the file has to have them, each with its place.

    `place_of` says where the file has a unit; a check is never before the place of one that comes before it, and what
    the file does not have is where the unit before it is. Raise `ConflictError`.
    """
    chosen = _prefixes(outputs)
    nodes: dict[tuple[Key, str], Checked] = {}
    places: dict[tuple[Key, str], int] = {}
    after: dict[tuple[Key, str], set[tuple[Key, str]]] = {}
    for number, output in enumerate(outputs):
        place, last = 0, None
        for unit in output.units:
            node = (unit.key, chosen[number, unit.key])
            place = place_of.get(unit.key, place)
            nodes.setdefault(node, Checked(unit, node[1], output))
            places.setdefault(node, place)
            after.setdefault(node, set())
            if last is not None:
                after[last].add(node)
            last = node
    return _sorted(nodes, places, after)


def _prefixes(outputs: Sequence[Output]) -> dict[tuple[int, Key], str]:
    """Choose a prefix for each unit of each output: the first that all commands with this prefix can use."""
    texts = [{unit.key: (unit.lines, unit.label) for unit in output.units} for output in outputs]
    users: dict[str, list[int]] = {}
    for number, output in enumerate(outputs):
        for prefix in output.options.prefixes:
            users.setdefault(prefix, []).append(number)
    chosen: dict[tuple[int, Key], str] = {}
    for number, output in enumerate(outputs):
        for unit in output.units:
            if (number, unit.key) in chosen:
                continue
            for prefix in output.options.prefixes:
                others = users[prefix]
                if all(
                    [texts[i].get(unit.key) == texts[number][unit.key] and (i, unit.key) not in chosen for i in others]
                ):
                    chosen.update({(i, unit.key): prefix for i in others})
                    break
            else:
                raise _conflict(outputs, number, unit, users)
    return chosen


def _conflict(outputs: Sequence[Output], number: int, unit: Unit, users: Mapping[str, Sequence[int]]) -> ConflictError:
    output = outputs[number]
    prefix = output.options.prefixes[-1]
    other = next(i for i in users[prefix] if i != number)
    first, second = sorted((number, other))
    what = f"different text for {unit.name}" if unit.name else "different text"
    run, name = outputs[second].run, f"{prefix}{second + 1}"
    return ConflictError(
        f"{outputs[first].run} and {run} print {what}, and the prefix '{prefix}' is for both; "
        f"give {run} one of its own, as --check-prefixes={prefix},{name}",
        outputs[second].span,
    )


def _sorted(
    nodes: Mapping[tuple[Key, str], Checked],
    places: Mapping[tuple[Key, str], int],
    after: Mapping[tuple[Key, str], set[tuple[Key, str]]],
) -> list[tuple[int, Checked]]:
    """Sort so that each output keeps its order, and as the file has it where that leaves a choice."""
    numbers = {node: number for number, node in enumerate(nodes)}
    waiting = dict.fromkeys(nodes, 0)
    for following in after.values():
        for node in following:
            waiting[node] += 1
    ready = [(places[node], numbers[node], node) for node in nodes if not waiting[node]]
    heapq.heapify(ready)
    found: list[tuple[int, Checked]] = []
    place = 0
    while ready:
        own, _, node = heapq.heappop(ready)
        place = max(place, own)
        found.append((place, nodes[node]))
        for follow in sorted(after[node], key=numbers.__getitem__):
            waiting[follow] -= 1
            if not waiting[follow]:
                heapq.heappush(ready, (places[follow], numbers[follow], follow))
    if len(found) < len(nodes):
        stuck = next(nodes[node] for node in nodes if waiting[node])
        message = (
            f"RUN lines print the same in another order, so the prefix '{stuck.prefix}' cannot be for both; "
            "give each one of its own with --check-prefix"
        )
        raise ConflictError(message, stuck.output.span)
    return found
