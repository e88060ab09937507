"""What passes say, and who hears it."""

from __future__ import annotations

import threading

import pytest

from scaly_ir.remarks import collect_remarks, remark, warn
from scaly_ir.text.diagnostics import Diagnostic


def test_remarks_are_collected_in_order() -> None:
    with collect_remarks() as remarks:
        remark("one")
        warn("two")
    assert remarks == [Diagnostic("remark", "one"), Diagnostic("warning", "two")]


def test_what_nobody_collects_is_lost() -> None:
    remark("before")
    with collect_remarks() as remarks:
        pass
    remark("after")
    assert remarks == []


def test_the_innermost_block_hears_it() -> None:
    with collect_remarks() as outer:
        remark("outer")
        with collect_remarks() as inner:
            remark("inner")
        remark("outer again")
    assert [each.message for each in outer] == ["outer", "outer again"]
    assert [each.message for each in inner] == ["inner"]


def _say_and_fail(said: list[Diagnostic]) -> None:
    with collect_remarks() as remarks:
        remark("inner")
        said.extend(remarks)
        raise KeyError


def test_a_block_that_fails_ends() -> None:
    inner: list[Diagnostic] = []
    with collect_remarks() as outer:
        with pytest.raises(KeyError):
            _say_and_fail(inner)
        remark("outer")
    assert ([each.message for each in outer], [each.message for each in inner]) == (["outer"], ["inner"])


def test_another_thread_is_not_heard() -> None:
    with collect_remarks() as remarks:
        thread = threading.Thread(target=remark, args=("elsewhere",))
        thread.start()
        thread.join()
    assert remarks == []
