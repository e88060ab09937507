"""Common lines: in order, alike, and as many as there can be where nothing is unique."""

from __future__ import annotations

import random
from functools import cache

from hypothesis import given
from hypothesis import strategies as st

from scaly_ir.tools.opt.line_diff import MOST_EDITS, common_blocks

LINES = st.lists(st.sampled_from("abc"), max_size=12)


def _matched(first: list[str], second: list[str]) -> int:
    """Check what must hold of the blocks; return how many lines they hold."""
    blocks = common_blocks(first, second)
    at = place = -1
    for block in blocks:
        assert block.size > 0
        assert block.first >= at
        assert block.second >= place
        assert (block.first, block.second) != (at, place)  # else it would be one block
        at, place = block.first + block.size, block.second + block.size
        assert first[block.first : at] == second[block.second : place]
    return sum([block.size for block in blocks])


def _longest(first: list[str], second: list[str]) -> int:
    """Return the length of the longest common subsequence."""

    @cache
    def longest(at: int, place: int) -> int:
        if at == len(first) or place == len(second):
            return 0
        if first[at] == second[place]:
            return 1 + longest(at + 1, place + 1)
        return max(longest(at + 1, place), longest(at, place + 1))

    return longest(0, 0)


@given(LINES, LINES)
def test_lines_that_occur_twice_are_matched_as_well_as_they_can_be(first: list[str], second: list[str]) -> None:
    doubled, other = first * 2, second * 2  # so that no line is unique
    if set(first) <= set(second):
        assert _matched(doubled, other) == _longest(doubled, other)
    else:
        _matched(doubled, other)


@given(st.lists(st.sampled_from("abcdefghij"), max_size=20), st.lists(st.sampled_from("abcdefghij"), max_size=20))
def test_blocks_are_alike_and_in_order(first: list[str], second: list[str]) -> None:
    found = _matched(first, second)
    assert found <= _longest(first, second)
    assert (found == len(first)) == (_longest(first, second) == len(first)) or found > 0


@given(LINES)
def test_a_text_is_like_itself(lines: list[str]) -> None:
    assert _matched(lines, lines) == len(lines)


def test_unique_lines_are_anchors() -> None:
    first = ["{", "one", "}", "{", "two", "}", "{", "three", "}"]
    second = ["{", "two", "}", "{", "three", "}"]
    assert _matched(first, second) == 6


def test_long_texts_of_few_lines() -> None:
    chance = random.Random(5)
    first = [chance.choice("abcdef") for _ in range(6000)]
    second = [line for line in first if chance.random() < 0.9]
    assert _matched(first, second) == len(second)


def test_texts_with_nothing_in_common_end_soon() -> None:
    count = MOST_EDITS
    assert common_blocks(["a"] * count, ["b"] * count) == []
