"""Sources: decoding, lines, columns and places."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scaly_ir.text.source import DecodeError, Source, Span

LINES = st.lists(st.text("ab\té\u65e5", max_size=5), min_size=1, max_size=6)


@given(LINES)
def test_every_offset_has_its_line_and_column(lines: list[str]) -> None:
    source = Source.from_text("\n".join(lines))
    offset = 0
    for number, line in enumerate(lines, start=1):
        assert source.line_text(number) == line
        for column in range(1, len(line) + 2):
            assert source.position(offset) == (number, column)
            assert Span(source, offset, offset).position() == (number, column)
            offset += 1
    assert offset == len(source.text) + 1


@given(LINES, st.booleans())
def test_line_ends_and_a_mark_in_front_change_no_place(lines: list[str], marked: bool) -> None:
    written = ("\ufeff" if marked else "") + "\r\n".join(lines)
    source = Source.from_text(written)
    assert source.text == "\n".join(lines)
    assert Source.from_bytes(written.encode(), "x").text == source.text


def test_only_one_mark_and_only_whole_line_ends_are_skipped() -> None:
    assert Source.from_text("\ufeff\ufeffa").text == "\ufeffa"
    assert Source.from_text("a\ufeff").text == "a\ufeff"
    assert Source.from_text("a\rb\r\nc\n\rd\r\r\n").text == "a\rb\nc\n\rd\r\n"


def test_separators_that_are_no_line_ends_end_no_line() -> None:
    source = Source.from_text("a\u2028b\x0bc\x0cd\x85e\rf\ng")
    assert source.position(len(source.text)) == (2, 2)
    assert source.line_text(1) == "a\u2028b\x0bc\x0cd\x85e\rf"


@pytest.mark.parametrize(
    ("data", "message", "place"),
    [
        (b"\xff", "byte 0xff is not valid UTF-8", (1, 1)),
        (b"ab\xc3", "byte 0xc3 is not valid UTF-8", (1, 3)),
        (b"a\r\n\xc3\xa9\xe2\x82z", "byte 0xe2 is not valid UTF-8", (2, 2)),
        (b"\xef\xbb\xbfa\x80", "byte 0x80 is not valid UTF-8", (1, 2)),
        (b"\xed\xa0\x80", "byte 0xed is not valid UTF-8", (1, 1)),
        (b"a\r\n" * 3 + b"\xf5", "byte 0xf5 is not valid UTF-8", (4, 1)),
        (b"\r\xff\n", "byte 0xff is not valid UTF-8", (1, 2)),
    ],
)
def test_bytes_that_are_no_text(data: bytes, message: str, place: tuple[int, int]) -> None:
    with pytest.raises(DecodeError) as failure:
        Source.from_bytes(data, "x.sir")
    assert str(failure.value) == message
    assert failure.value.source is not None
    assert failure.value.source.position(failure.value.offset) == place


def test_a_nul_near_the_start_makes_a_file_binary() -> None:
    for data in (b"\0", b"a" * 8191 + b"\0"):
        with pytest.raises(DecodeError, match=r"^'x\.sir' is a binary file$") as failure:
            Source.from_bytes(data, "x.sir")
        assert failure.value.source is None
    assert Source.from_bytes(b"a" * 8192 + b"\0", "x.sir").text.endswith("\0")


@given(st.binary())
def test_any_bytes_are_decoded_or_refused(data: bytes) -> None:
    refused = None
    try:
        source = Source.from_bytes(data, "x")
    except DecodeError as failure:
        refused = failure
    if refused is None:
        assert source.text.encode() == data.removeprefix(b"\xef\xbb\xbf").replace(b"\r\n", b"\n")
    elif refused.source is not None:
        line, column = refused.source.position(refused.offset)
        assert len(refused.source.line_text(line)) >= column
