"""How diagnostics look: places, carets, windows of long lines, colour; and which names count as similar."""

from __future__ import annotations

import re
import time
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scaly_ir.text.diagnostics import LINE_CELLS, Diagnostic, closest, did_you_mean, error, note, render
from scaly_ir.text.source import Source, Span


def shown(text: str, start: int, end: int, *, colour: bool = False) -> list[str]:
    return render(error("message", Span(Source("f.sir", text), start, end)), colour=colour).split("\n")


def cells(text: str) -> int:
    """Return how wide a text is on a terminal; a tab counts one, as it does in both lines."""
    return sum([0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text])


def test_a_range_is_underlined_below_its_line() -> None:
    text = "first\n  prog.store 1, %x[0]\nlast"
    assert shown(text, 19, 20) == ["f.sir:2:14: error: message", "  prog.store 1, %x[0]", "             ^"]
    assert shown(text, 22, 27)[1:] == ["  prog.store 1, %x[0]", "                ^~~~~"]


def test_an_empty_range_has_a_caret() -> None:
    assert shown("abc", 1, 1) == ["f.sir:1:2: error: message", "abc", " ^"]
    assert shown("abc", 3, 3) == ["f.sir:1:4: error: message", "abc", "   ^"]


def test_of_several_lines_the_first_is_marked() -> None:
    assert shown("a bc\nde\nf", 2, 9) == ["f.sir:1:3: error: message", "a bc", "  ^~"]
    assert shown("a\nb", 1, 3) == ["f.sir:1:2: error: message", "a", " ^"]


@pytest.mark.parametrize(("text", "offset", "place"), [("", 0, "1:1"), ("a\n", 2, "2:1"), ("a\n \t\nb", 3, "2:2")])
def test_nothing_is_shown_of_an_empty_line(text: str, offset: int, place: str) -> None:
    assert shown(text, offset, offset) == [f"f.sir:{place}: error: message"]


def test_tabs_stay_so_that_carets_line_up() -> None:
    assert shown("\t\tx = 1", 6, 7)[1:] == ["\t\tx = 1", "\t\t    ^"]


def test_wide_and_combining_characters_count_by_their_cells() -> None:
    assert shown('"日本" x', 5, 6)[1:] == ['"日本" x', "       ^"]
    assert shown('"日本" x', 1, 3)[1:] == ['"日本" x', " ^~~~"]
    assert shown('"e\u0301" x', 5, 6)[1:] == ['"e\u0301" x', "    ^"]
    assert shown("\u0301x", 0, 1)[1:] == ["\u0301x", "^"]


def test_what_a_terminal_would_act_on_is_not_shown() -> None:
    head, line, caret = render(error("m", Span(Source("a\nb\x1b.sir", "x\x1b[31m\x07\ty"), 8, 9))).split("\n")
    assert head == "a\ufffdb\ufffd.sir:1:9: error: m"
    assert line == "x\ufffd[31m\ufffd\ty"
    assert caret == "       \t^"


def test_messages_do_not_act_on_a_terminal_but_may_have_lines() -> None:
    assert render(error("a\x1b[31m\tb\n  c\r")) == "error: a\ufffd[31m\tb\n  c\ufffd"


@given(st.text(st.sampled_from("ab日本é\t\x1b"), min_size=1, max_size=500), st.data())
def test_the_caret_is_below_what_it_marks(line: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(line) - 1))
    rendered = shown(line, start, data.draw(st.integers(start, len(line))))
    if not line.strip():
        assert len(rendered) == 1
        return
    _, excerpt, marks = rendered
    assert re.fullmatch(r"[ \t]*\^~*", marks)
    assert cells(marks) <= cells(excerpt) <= LINE_CELLS + len("......") + 1
    blank = marks.index("^")
    (over,) = [c for at, c in enumerate(excerpt) if cells(excerpt[:at]) == blank]
    assert over == line[start].replace("\x1b", "\ufffd")


@pytest.mark.parametrize("start", [0, 5, 79, 80, 81, 500, 919, 920, 990, 999, 1000])
@pytest.mark.parametrize("letter", ["a", "日"])
def test_of_a_long_line_a_window_is_shown(start: int, letter: str) -> None:
    head, excerpt, marks = shown(letter * 1000, start, start + 5)
    assert head == f"f.sir:1:{start + 1}: error: message"
    assert cells(excerpt) <= LINE_CELLS + 7
    assert excerpt.startswith("...") == (start > LINE_CELLS // 2 // cells(letter))
    assert excerpt.endswith("...") == (
        len(excerpt.strip(".")) + max(0, start - LINE_CELLS // 2 // cells(letter)) < 1000
    )
    assert len(marks) - len(marks.lstrip(" ")) <= cells(excerpt)


def test_a_line_that_fits_is_shown_whole() -> None:
    assert shown("a" * LINE_CELLS, 0, 1)[1] == "a" * LINE_CELLS
    assert shown("日" * (LINE_CELLS // 2), 0, 1)[1] == "日" * (LINE_CELLS // 2)
    assert len(shown("a" * (LINE_CELLS + 1), 0, 1)[1]) == LINE_CELLS + len("...")


def test_a_diagnostic_without_a_place_names_the_tool() -> None:
    assert render(error("no file")) == "error: no file"
    assert render(error("no file"), origin="scaly-opt") == "scaly-opt: error: no file"
    assert render(Diagnostic("warning", "w"), origin="scaly-opt") == "scaly-opt: warning: w"


def test_notes_follow_their_error() -> None:
    source = Source("f.sir", "ab\ncd")
    rendered = render(
        error("message", Span(source, 3, 4), notes=[note("here", Span(source, 0, 2)), note("so")]), origin="t"
    )
    assert rendered.split("\n") == [
        *("f.sir:2:1: error: message", "cd", "^"),
        *("f.sir:1:1: note: here", "ab", "^~"),
        "t: note: so",
    ]


@pytest.mark.parametrize("severity", ["error", "warning", "note", "remark"])
def test_colour_changes_no_letter(severity: str) -> None:
    diagnostic = Diagnostic(severity, "a error: b", Span(Source("error: f.sir", "abc"), 1, 3))  # type: ignore[arg-type]
    plain, coloured = render(diagnostic), render(diagnostic, colour=True)
    assert "\x1b" not in plain
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == plain
    assert re.search(r"\x1b\[[0-9;]+m\^~\x1b\[0m$", coloured)


# --- similar names ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "known", "near"),
    [
        ("prog.ad", ["prog.add", "prog.and", "prog.sub"], ["prog.add", "prog.and"]),
        ("%t2", ["%t1", "%x"], ["%t1"]),
        ("%x", ["%y", "%z"], []),
        ("lane", ["lanes", "plane"], ["lanes", "plane"]),
        ("fuse_elementwsie", ["fuse_elementwise", "fold"], ["fuse_elementwise"]),
        ("exprr.add", ["expr.sub", "prog.add"], []),
        ("", ["a", "bc"], []),
        ("a", [], []),
    ],
)
def test_similar_names(name: str, known: list[str], near: list[str]) -> None:
    assert closest(name, known) == near


def test_suggestions_are_at_most_three_and_read_well() -> None:
    known = ["maximum", "minimum", "maximums", "maximumx"]
    assert did_you_mean("maximumm", known[:1]) == "; did you mean 'maximum'?"
    assert did_you_mean("maximumm", ["maximum", "maximums"]) == "; did you mean 'maximum' or 'maximums'?"
    assert len(closest("maximumm", known)) == 3
    assert did_you_mean("maximumm", known).count("'") == 6
    assert did_you_mean("completely", known) == ""
    assert did_you_mean("%t2", ["%t1"], quote="") == "; did you mean %t1?"


@given(st.text("abc.%", max_size=6), st.lists(st.text("abc.%", max_size=6), max_size=6))
def test_suggestions_come_from_what_is_known(name: str, known: list[str]) -> None:
    near = closest(name, known)
    assert len(near) <= 3
    assert set(near) <= set(known)


def test_long_names_and_many_of_them_take_no_time() -> None:
    start = time.process_time()
    closest("a" * 100_000 + "b", ["a" * 100_000 + "c"] * 10)
    closest("a", ["b" * 100_000] * 1000)
    closest("a", [str(number) for number in range(200_000)])
    assert time.process_time() - start < 2
