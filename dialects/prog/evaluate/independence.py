"""Whether the trips of a loop are independent: no trip touches an element that another one writes.

Decided when the loop is reached, from the numbers at hand: which storages the buffers are windows of, where they begin,
and the bounds of all loops. What cannot be shown counts as dependent.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from scaly_ir.dialects.prog.evaluate.memory import Place, Storage
from scaly_ir.dialects.prog.evaluate.site import Access, Inner, Site


class Numbers(NamedTuple):
    """What is known when a site is reached."""

    places: Mapping[str, Place]
    integers: Mapping[str, int]
    """The variables that are declared outside."""
    chain: Mapping[str, range]
    """The loops of the site, outermost first."""
    span: Callable[[Inner], tuple[int, int] | None]
    """Gives the least and the greatest value of an inner loop's variable, or None when they are not known."""


class _Reach(NamedTuple):
    """The elements of a storage that an access reaches.

    `low` and `high` (included) are those of a trip that all loops of the site start with, `first` and `end` (excluded)
    those of all trips. `strides` is how far each loop of the site moves them, or None when that is not known.
    """

    strides: tuple[int, ...] | None
    low: int
    high: int
    first: int
    end: int
    written: bool


def written_spans(site: Site, numbers: Numbers) -> list[tuple[Storage, int, int]] | None:
    """Return what independent trips write, as spans of storages; None when the trips may depend on each other."""
    by_storage: dict[int, tuple[Storage, list[_Reach]]] = {}
    for access in site.accesses:
        place = numbers.places[access.buffer]
        if access.written and place.read_only:
            return None
        reach = _reach(access, place, numbers)
        by_storage.setdefault(id(place.storage), (place.storage, []))[1].append(reach)
    lengths = [len(values) for values in numbers.chain.values()]
    spans = []
    for storage, reaches in by_storage.values():
        for together in _groups(reaches):
            if any([reach.written for reach in together]):
                if not _apart(together, lengths):
                    return None
                first, end = min([reach.first for reach in together]), max([reach.end for reach in together])
                spans.append((storage, max(first, 0), max(min(end, len(storage.values)), 0)))
    return spans


def _reach(access: Access, place: Place, numbers: Numbers) -> _Reach:
    unknown = _Reach(None, 0, 0, place.offset, place.offset + place.size, access.written)
    if access.form is None:
        return unknown
    low = high = access.form.constant + place.offset
    first = end = 0
    strides = dict.fromkeys(numbers.chain, 0)
    for name, factor in access.form.coefficients.items():
        values = numbers.chain.get(name)
        if values is not None:
            strides[name] = factor * values.step
            ends = (factor * values[0],) * 2
            moved = factor * (values[-1] - values[0])
            first, end = first + min(moved, 0), end + max(moved, 0)
        elif name in access.loops:
            span = numbers.span(access.loops[name])
            if span is None:
                return unknown
            ends = (factor * span[0], factor * span[1])
        else:
            ends = (factor * numbers.integers[name],) * 2
        low += min(ends)
        high += max(ends)
    high += access.length - 1
    return _Reach(tuple(strides.values()), low, high, low + first, high + end + 1, access.written)


def _groups(reaches: list[_Reach]) -> list[list[_Reach]]:
    """Return the accesses in groups that have no element in common."""
    groups: list[list[_Reach]] = []
    end = 0
    for reach in sorted(reaches, key=lambda reach: reach.first):
        if not groups or reach.first >= end:
            groups.append([])
            end = reach.end
        groups[-1].append(reach)
        end = max(end, reach.end)
    return groups


def _apart(reaches: Sequence[_Reach], lengths: Sequence[int]) -> bool:
    """Tell whether the elements of any two trips are apart.

    All accesses must move alike. Of the loops in which two trips differ, the one with the widest stride has to move a
    place further than the others and the extent of a single trip can move it back.
    """
    strides = reaches[0].strides
    if strides is None or any([reach.strides != strides for reach in reaches]):
        return False
    covered = max([reach.high for reach in reaches]) - min([reach.low for reach in reaches])
    for stride, length in sorted([(abs(s), n) for s, n in zip(strides, lengths, strict=True)]):
        if length > 1:
            if stride <= covered:
                return False
            covered += stride * (length - 1)
    return True
