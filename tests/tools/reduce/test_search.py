"""The search itself, on texts whose parts are letters."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scaly_ir.tools.reduce.search import OutOfTime, Search
from scaly_ir.tools.reduce.state import State, Weight
from tests.tools.reduce.searching import Told, reduced


class Letters:
    """Leaves out letters."""

    name = "letters"

    def edits(self, state: State) -> Sequence[int]:
        return range(len(state.text))

    def apply(self, state: State, edits: Sequence[int]) -> State:
        return State("".join([letter for at, letter in enumerate(state.text) if at not in edits]))


def keeps(wanted: str) -> Callable[[State], bool]:
    """Tell whether the letters of a text are among those of another, in order."""

    def interesting(state: State) -> bool:
        left = iter(state.text)
        return all([letter in left for letter in wanted])

    return interesting


@given(st.text("abc", max_size=60), st.data())
def test_what_is_wanted_and_nothing_else_is_left(text: str, data: st.DataObject) -> None:
    at = sorted(data.draw(st.sets(st.integers(0, max(0, len(text) - 1)), max_size=5)))
    wanted = "".join([text[each] for each in at if each < len(text)])
    jobs = data.draw(st.integers(1, 7))
    one = reduced(State(text), keeps(wanted), steps=[Letters()])
    assert one.best.text == wanted
    more = reduced(State(text), keeps(wanted), steps=[Letters()], jobs=jobs)
    assert (more.best.text, more.candidates) == (wanted, one.candidates)


@given(st.text("abcd", max_size=40), st.integers(0, 1 << 30), st.integers(2, 6))
def test_any_test_gives_the_same_for_any_number_of_jobs(text: str, seed: int, jobs: int) -> None:
    def interesting(state: State) -> bool:
        return hash((state.text.count("a") * 7, len(state.text) * 31, seed)) % 3 != 0

    one = reduced(State(text), interesting, steps=[Letters()])
    more = reduced(State(text), interesting, steps=[Letters()], jobs=jobs)
    assert (more.best.text, more.candidates) == (one.best.text, one.candidates)


def test_few_candidates_for_a_large_text() -> None:
    search = reduced(State("a" * 5000 + "b" + "a" * 5000), keeps("b"), steps=[Letters()])
    assert search.best.text == "b"
    assert search.candidates < 60


@pytest.mark.parametrize("jobs", [1, 3])
def test_so_many_run_at_a_time_and_none_stays(jobs: int) -> None:
    test = Told(keeps("bdb"))
    search = Search(State("abcdabcd" * 4), test, lambda state, step: None, jobs=jobs)
    search.run([Letters()])
    assert search.best.text == "bdb"
    assert test.most == jobs
    assert test.running == 0
    assert (test.stopped > 0) == (jobs > 1)


def test_no_candidate_is_tested_twice() -> None:
    test = Told(keeps("ab"))
    search = Search(State("aabbaabb"), test, lambda state, step: None)
    search.run([Letters(), Letters()])
    texts = [state.text for state in test.started]
    assert len(set(texts)) == len(texts) == search.candidates


def test_improvements_are_told_and_each_is_smaller() -> None:
    seen: list[Weight] = []
    search = Search(State("abcabcabc"), Told(keeps("cc")), lambda state, step: seen.append(state.weight))
    search.run([Letters()])
    assert seen == sorted(set(seen), reverse=True)
    assert seen[-1] == search.best.weight


def test_the_end_of_time_keeps_the_best() -> None:
    def slow(state: State) -> bool:
        time.sleep(0.05)
        return "b" in state.text

    search = Search(State("ab" * 200), Told(slow), lambda state, step: None, deadline=time.monotonic() + 0.2)
    with pytest.raises(OutOfTime):
        search.run([Letters()])
    assert "b" in search.best.text
    assert len(search.best.text) < 400


@pytest.mark.parametrize(
    ("small", "large"),
    [
        ("prog.store 0, %x[0] : float64", "prog.store 1, %x[0] : float64"),
        ("prog.store 1, %x[0] : float64", "prog.store 7, %x[0] : float64"),
        ("prog.store 1, %x[0] : float64", "prog.store -1, %x[0] : float64"),
        ("prog.store 0.0, %x[0] : float64", "prog.store 2.5, %x[0] : float64"),
        ("%x: memref<4x4xfloat64>", "%x: memref<4x8xfloat64>"),
        ("%x: memref<4x4xfloat64>", "%x: memref<8x4xfloat64>"),
        ("%x: memref<1xfloat64>", "%x: memref<2xfloat64>"),
        ("%a = prog.assign 0 : float64", "%a1 = prog.assign 0 : float64"),
        ("}\n}\nprog.sin", "prog.sin\nprog.sin"),
    ],
)
def test_what_counts_as_smaller(small: str, large: str) -> None:
    assert State(small).weight < State(large).weight


def test_single_edits_are_made_where_no_larger_part_goes() -> None:
    def interesting(state: State) -> bool:
        return state.text.count("b") == 100

    assert reduced(State("ab" * 100), interesting, steps=[Letters()]).best.text == "b" * 100


class Letter(Letters):
    """Leaves out one letter."""

    def __init__(self, letter: str) -> None:
        self.letter = letter

    def edits(self, state: State) -> Sequence[int]:
        return [at for at, letter in enumerate(state.text) if letter == self.letter]


def test_steps_are_taken_again_when_a_later_one_made_them_possible() -> None:
    def interesting(state: State) -> bool:
        return all([one in state.text or other not in state.text for one, other in ("ab", "bc", "cd", "de")])

    search = reduced(State("abcde"), interesting, steps=[Letter(letter) for letter in "abcde"])
    assert search.best.text == ""
