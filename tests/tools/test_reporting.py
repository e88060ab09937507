"""Colour, streams, the limit of errors, the summary line, and where a mistake in the command line is."""

from __future__ import annotations

import io
from typing import Any

import pytest

from scaly_ir.text.diagnostics import Diagnostic, error, note
from scaly_ir.text.source import Source, Span
from scaly_ir.tools.command_line import UsageError
from scaly_ir.tools.reporting import Reporter, use_colour, write, write_usage_error
from tests.tools.running import Terminal


def _warning(message: str) -> Diagnostic:
    return Diagnostic("warning", message)


@pytest.mark.parametrize(
    ("choice", "terminal", "environment", "coloured"),
    [
        ("auto", True, {"TERM": "xterm"}, True),
        ("auto", True, {}, True),
        ("auto", True, {"TERM": "dumb"}, False),
        ("auto", False, {"TERM": "xterm"}, False),
        ("auto", True, {"NO_COLOR": "1"}, False),
        ("auto", True, {"NO_COLOR": ""}, True),
        ("auto", False, {"FORCE_COLOR": "1"}, True),
        ("auto", False, {"FORCE_COLOR": "1", "TERM": "dumb"}, True),
        ("auto", False, {"FORCE_COLOR": ""}, False),
        ("auto", True, {"NO_COLOR": "1", "FORCE_COLOR": "1"}, False),
        ("always", False, {"NO_COLOR": "1", "TERM": "dumb"}, True),
        ("never", True, {"FORCE_COLOR": "1"}, False),
    ],
)
def test_when_to_colour(choice: str, terminal: bool, environment: dict[str, str], coloured: bool) -> None:
    stream = Terminal(io.BytesIO()) if terminal else io.StringIO()
    assert use_colour(choice, stream, environment) is coloured


def test_text_is_written_as_utf8_whatever_the_stream_has() -> None:
    data = io.BytesIO()
    stream = io.TextIOWrapper(data, encoding="latin-1", newline="\r\n")
    stream.write("before ")
    write(stream, "naïve \u2192\n\udcff\n")
    assert data.getvalue() == "before naïve \u2192\n".encode() + b"\\udcff\n"


def _reported(*diagnostics: Diagnostic, quiet: bool = False, max_errors: int = 20) -> tuple[str, int]:
    stream = io.StringIO()
    reporter = Reporter("tool", stream, quiet=quiet, max_errors=max_errors)
    reporter.report(diagnostics)
    reporter.summarize()
    return stream.getvalue(), reporter.code


A, B, C = (error(letter) for letter in "abc")


@pytest.mark.parametrize(
    ("diagnostics", "summary"),
    [
        ([], ""),
        ([A], ""),
        ([A, B], "2 errors\n"),
        ([_warning("w")], ""),
        ([A, _warning("w")], "1 error, 1 warning\n"),
        ([_warning("w"), _warning("v")], "2 warnings\n"),
        ([A, note("n")], ""),
        ([A] * 1234, "1,234 errors\n"),
    ],
)
def test_the_summary_line(diagnostics: list[Diagnostic], summary: str) -> None:
    text, _ = _reported(*diagnostics, max_errors=0)
    assert text.endswith(summary)
    assert text.count("\n") == len(diagnostics) + summary.count("\n")


def test_errors_over_the_limit_are_counted() -> None:
    limited = "tool: error: a\ntool: 2 more errors not shown; --max-errors=0 shows all\n3 errors\n"
    assert _reported(A, B, C, max_errors=1)[0] == limited
    assert "tool: 1 more error not shown" in _reported(A, B, C, max_errors=2)[0]
    assert "more" not in _reported(A, B, C, max_errors=3)[0]
    assert "more" not in _reported(A, B, C, max_errors=0)[0]


def test_the_limit_is_about_errors_only() -> None:
    text, _ = _reported(A, _warning("w"), B, max_errors=1)
    assert text.startswith("tool: error: a\ntool: warning: w\ntool: 1 more error not shown")


def test_quiet_leaves_errors() -> None:
    with_note = error("a", notes=[note("where it was")])
    assert _reported(with_note, _warning("w"), B, quiet=True)[0] == "tool: error: a\ntool: error: b\n"
    assert "tool: note: where it was\n" in _reported(with_note)[0]


def test_the_exit_code_is_the_largest() -> None:
    reporter = Reporter("tool", io.StringIO())
    assert reporter.code == 0
    reporter.refuse([A])
    reporter.refuse([A], 3)
    reporter.refuse([A])
    assert reporter.code == 3


def test_colour_is_for_the_head_and_the_caret() -> None:
    stream = io.StringIO()
    span = Span(Source("x.sir", "a bcd"), 2, 5)
    Reporter("tool", stream, colour=True).report([error("no", span)])
    plain = "x.sir:1:3: error: no\na bcd\n  ^~~\n"
    text = stream.getvalue()
    assert text != plain
    assert "\x1b[1;31merror:\x1b[0m" in text
    for code in ("1", "1;31", "1;32", "0"):
        text = text.replace(f"\x1b[{code}m", "")
    assert text == plain


def test_progress_and_tracebacks() -> None:
    stream = io.StringIO()
    reporter = Reporter("tool", stream)
    reporter.say("reading x.sir")
    try:
        raise KeyError("k") from ValueError("v")
    except KeyError as failure:
        reporter.show_traceback(failure)
    lines = stream.getvalue().splitlines()
    assert lines[0] == "tool: reading x.sir"
    assert lines[1] == "ValueError: v"
    assert lines[-1] == "KeyError: 'k'"


def _usage(failure: UsageError) -> str:
    stream = io.StringIO()
    write_usage_error("tool", failure, stream)
    return stream.getvalue()


def test_a_usage_error_points_into_the_command_line() -> None:
    assert _usage(UsageError("no")) == "tool: error: no\n"
    assert _usage(UsageError("no", "--a=bcd", 4, 6)) == "tool: error: no\n  --a=bcd\n      ^~\n"


@pytest.mark.parametrize(
    ("shown", "start", "end", "excerpt"),
    [
        ("--a=x,\n    bad", 11, 14, "      bad\n      ^~~\n"),  # the line the mistake is on
        ("--a=é日,bad", 7, 10, "  --a=é日,bad\n          ^~~\n"),  # a wide character takes two cells
        ("--a=\x1b[1m,bad", 9, 12, "  --a=\ufffd[1m,bad\n           ^~~\n"),
        ("--a=", 4, 4, "  --a=\n      ^\n"),
        ("--a=b", 4, 99, "  --a=b\n      ^\n"),
    ],
)
def test_an_odd_command_line_is_shown_well(shown: str, start: int, end: int, excerpt: str) -> None:
    assert _usage(UsageError("no", shown, start, end)) == f"tool: error: no\n{excerpt}"


def test_an_unbuffered_stream_that_takes_a_part_at_a_time_gets_all() -> None:
    class Slow(io.BytesIO):
        def write(self, data: Any) -> int:
            return super().write(bytes(data)[:3])

    raw = Slow()
    stream = io.TextIOWrapper(raw, encoding="ascii")
    write(stream, "what is longer than three: é\n")
    assert bytes(raw.getvalue()) == "what is longer than three: é\n".encode()
