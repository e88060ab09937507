"""Which lines two texts have in common, in order, for texts of many thousand lines.

The standard library's `difflib` takes quadratic time here, or takes no notice of lines that occur often. Lines that are
unique on both sides are anchors (patience diff); what lies between them is compared by Myers' greedy algorithm, which
takes time linear in the lines and quadratic in the edits, so beyond `MOST_EDITS` what is left counts as rewritten.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from typing import Final, NamedTuple

MOST_EDITS: Final = 2500


class Block(NamedTuple):
    """Lines that are alike: where they begin on either side, and how many."""

    first: int
    second: int
    size: int


class _Gap(NamedTuple):
    """Lines of either side between two blocks."""

    first: range
    second: range


def common_blocks(first: Sequence[str], second: Sequence[str]) -> list[Block]:
    """Return the blocks that two texts have in common, in the order of both, none next to each other."""
    pairs: list[tuple[int, int]] = []
    pending = [(_Gap(range(len(first)), range(len(second))), True)]
    while pending:
        gap, may_have_anchors = pending.pop()
        gap = _trimmed(gap, first, second, pairs)
        if not gap.first or not gap.second:
            continue
        anchors = _anchors(gap, first, second) if may_have_anchors else []
        if anchors:
            pairs += anchors
            pending += [(between, len(between.first) > 1) for between in _between(gap, anchors)]
        else:
            pairs += _greedy(gap, first, second)
    return _blocks(sorted(pairs))


def _trimmed(gap: _Gap, first: Sequence[str], second: Sequence[str], pairs: list[tuple[int, int]]) -> _Gap:
    """Take lines off both ends of a gap that are alike."""
    (start, end), (other, other_end) = (gap.first.start, gap.first.stop), (gap.second.start, gap.second.stop)
    while start < end and other < other_end and first[start] == second[other]:
        pairs.append((start, other))
        start, other = start + 1, other + 1
    while start < end and other < other_end and first[end - 1] == second[other_end - 1]:
        end, other_end = end - 1, other_end - 1
        pairs.append((end, other_end))
    return _Gap(range(start, end), range(other, other_end))


def _anchors(gap: _Gap, first: Sequence[str], second: Sequence[str]) -> list[tuple[int, int]]:
    """Return the longest run of lines, unique on both sides, that come in the same order."""
    counts = Counter([first[at] for at in gap.first])
    others = Counter([second[at] for at in gap.second])
    places = {second[at]: at for at in gap.second}
    unique = [(at, places[first[at]]) for at in gap.first if counts[first[at]] == 1 == others.get(first[at])]
    # The longest rising run: for each length, the place on the other side where the best run so far ends.
    ends: list[int] = []
    last: list[int] = []
    before: list[int] = []
    for number, (_, place) in enumerate(unique):
        length = bisect_left(ends, place)
        ends[length : length + 1] = [place]
        last[length : length + 1] = [number]
        before.append(last[length - 1] if length else -1)
    found = []
    number = last[-1] if last else -1
    while number >= 0:
        found.append(unique[number])
        number = before[number]
    return found[::-1]


def _between(gap: _Gap, anchors: list[tuple[int, int]]) -> list[_Gap]:
    starts = [(gap.first.start, gap.second.start), *[(at + 1, place + 1) for at, place in anchors]]
    ends = [*anchors, (gap.first.stop, gap.second.stop)]
    return [
        _Gap(range(start, end), range(other, other_end))
        for (start, other), (end, other_end) in zip(starts, ends, strict=True)
        if start < end and other < other_end
    ]


def _greedy(gap: _Gap, first: Sequence[str], second: Sequence[str]) -> list[tuple[int, int]]:
    """Return the lines of a gap that the shortest edit keeps, none when it is longer than `MOST_EDITS`.

    A row says for the diagonals that so many edits reach, -edits, -edits + 2, ..., edits, to which line they get. One
    edit leads down (a line of `second` is added) from the diagonal above, or right from the one below.
    """
    lines, others = [first[at] for at in gap.first], [second[at] for at in gap.second]
    height, width = len(lines), len(others)
    rows: list[array[int]] = []
    before: array[int] = array("q")
    for edits in range(min(height + width, MOST_EDITS) + 1):
        row = array("q", bytes(8 * (edits + 1)))
        rows.append(row)
        for number in range(edits + 1):
            if edits == 0:
                at = 0
            elif number == 0 or (number < edits and before[number - 1] < before[number]):
                at = before[number]
            else:
                at = before[number - 1] + 1
            place = at + edits - 2 * number
            while at < height and place < width and lines[at] == others[place]:
                at += 1
                place += 1
            row[number] = at
            if at >= height and place >= width:
                kept = _kept(rows, number)
                return [(gap.first.start + at, gap.second.start + place) for at, place in kept]
        before = row
    return []


def _kept(rows: Sequence[array[int]], number: int) -> list[tuple[int, int]]:
    """Follow the edits back from the end of a diagonal of the last row, and return the lines that they keep."""
    kept = []
    for edits in range(len(rows) - 1, -1, -1):
        end, shift = rows[edits][number], edits - 2 * number
        if edits == 0:
            start = 0
        elif number == 0 or (number < edits and rows[edits - 1][number - 1] < rows[edits - 1][number]):
            start = rows[edits - 1][number]
        else:
            number -= 1
            start = rows[edits - 1][number] + 1
        kept += [(at, at + shift) for at in range(end - 1, start - 1, -1)]
    return kept


def _blocks(pairs: list[tuple[int, int]]) -> list[Block]:
    blocks: list[Block] = []
    for at, place in pairs:
        if blocks and (at, place) == (blocks[-1].first + blocks[-1].size, blocks[-1].second + blocks[-1].size):
            blocks[-1] = blocks[-1]._replace(size=blocks[-1].size + 1)
        else:
            blocks.append(Block(at, place, 1))
    return blocks
