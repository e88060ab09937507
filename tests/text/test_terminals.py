"""Both ways to cut text into tokens agree, lose nothing, and stay linear on hostile text."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scaly_ir.text.terminals import TERMINALS, foreign_comment, scan, tokens
from tests.dialects.prog.texts import ODD_TOKENS

TEXTS = st.one_of(
    st.text(st.sampled_from('%@"\\ \n\t\r/-.019eEnaif<>x_{}[](),:=é\0')),
    st.lists(st.sampled_from(ODD_TOKENS)).map("".join),
    st.lists(st.sampled_from(ODD_TOKENS)).map(" ".join),
    st.text(st.characters()),
)


@given(TEXTS)
def test_both_cut_alike(text: str) -> None:
    lexemes = list(scan(text))
    assert [lexeme.text for lexeme in lexemes] == tokens(text)
    assert [lexeme.kind for lexeme in lexemes].index("END") == len(lexemes) - 1


@given(TEXTS)
def test_only_space_and_comments_are_skipped(text: str) -> None:
    end = 0
    for lexeme in scan(text):
        assert text[lexeme.start : lexeme.end] == lexeme.text
        assert re.fullmatch(r"(?:[ \t\n]|//[^\n\r]*(?=[\n\r]|\Z))*", text[end : lexeme.start])
        assert re.fullmatch(TERMINALS[lexeme.kind], lexeme.text) or lexeme.kind in ("FLOAT", "END")
        end = lexeme.end
    assert end == len(text)


@given(TEXTS, st.integers(0, 40), st.integers(0, 40))
def test_a_part_is_cut_as_if_it_stood_alone(text: str, start: int, length: int) -> None:
    start = min(start, len(text))
    end = min(start + length, len(text))
    inside = [(lexeme.kind, lexeme.text, lexeme.start - start) for lexeme in scan(text, start, end)]
    alone = [(lexeme.kind, lexeme.text, lexeme.start) for lexeme in scan(text[start:end])]
    assert inside == alone


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("", "END"),
        ("  \n// only this", "END"),
        ('%x @f %"a b" @"\\u0041"', "VALUE SYMBOL VALUE SYMBOL END"),
        ("%0 @1", "OTHER INT OTHER INT END"),
        ("% x", "OTHER WORD END"),
        ('%"x', "OTHER UNCLOSED END"),
        ('"a" "b\n"c"', "STRING UNCLOSED STRING END"),
        ('"a\\', "UNCLOSED END"),
        ("prog.add prog. prog a.b.c", "NAME WORD OTHER WORD NAME END"),
        ("1 -1 1. .5 -.5 1e9 1.5E-3 inf -inf nan", "INT INT FLOAT FLOAT FLOAT FLOAT FLOAT FLOAT FLOAT FLOAT END"),
        ("- -- 1e -nan", "OTHER OTHER OTHER INT WORD OTHER FLOAT END"),
        (
            "infinity inf.x nano nan<0x7f> nan<0x> inf$",
            "WORD NAME WORD FLOAT FLOAT ANGLE INT WORD ANGLE WORD OTHER END",
        ),
        ("memref<4xfloat64> memref<float64> memref<2x3xbool, private>", "MEMREF MEMREF MEMREF END"),
        ("memref<4xfloat64,private> memref<4xx> memref<x>", "MEMREF MEMREF MEMREF END"),
        ("memref< 4xbool>", "WORD ANGLE INT WORD ANGLE END"),
        ("{}()[],:=<>", "PUNCTUATION " * 9 + "ANGLE ANGLE END"),
        ("\r\0é/", "OTHER OTHER OTHER OTHER END"),
        ("a//b\nc", "WORD WORD END"),
        ("// a\rb", "OTHER WORD END"),
    ],
)
def test_kinds_of_tokens(text: str, kinds: str) -> None:
    assert [lexeme.kind for lexeme in scan(text)] == kinds.split()


HOSTILE = (
    *(
        '"',
        "%",
        '%"',
        '"\\',
        '@"',
        "a",
        "a.",
        "1",
        "1.",
        "1e",
        "-",
        "0",
        "nan<0x",
        "nan<0xf",
        "memref<",
        "memref<1x",
        "1x",
    ),
    *(
        "/",
        "//",
        " ",
        "\n",
        "\\",
        '\\"',
        "é",
        "inf",
        "<",
        ".",
        ".1",
        "memref<a,",
        "memref<a, ",
        "memref<a,\t",
        "%a",
        "%é",
    ),
)


@pytest.mark.parametrize("part", HOSTILE)
def test_hostile_text_is_cut_in_linear_time(part: str) -> None:
    for text in (part * 30_000, f"memref<{part * 30_000}", f"nan<0x{part * 30_000}", f'%"{part * 30_000}'):
        start = time.process_time()
        cut = tokens(text)
        assert time.process_time() - start < 5
        assert cut[-1] == ""


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [
        ("# a\nb", 0, 3),
        ("x # a", 2, 5),
        ("#", 0, 1),
        ("/* a */ b", 0, 7),
        ("/* a\n b */ c", 0, 10),
        ("/*/ a\nb", 0, 5),
        ("/* a" + " " * 20_000 + "\n*/", 0, 20_004),
        ("/ * a */", 0, None),
        ("// a", 0, None),
        ("a # b", 0, None),
    ],
)
def test_comments_of_other_languages(text: str, start: int, end: int | None) -> None:
    assert foreign_comment(text, start) == end
