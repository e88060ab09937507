"""Reading a text with mistakes ends, whatever the grammar of a dialect and what it has for a wrong head are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from scaly_ir.dialects.matrix.language import LANGUAGE
from scaly_ir.dialects.matrix.syntax import Actions
from scaly_ir.text.lalr import Driver
from scaly_ir.text.source import Source

WRONG_HEAD = "buffer.func @f(1) -> () {\n  %0 = buffer.alloc : memref<1xbool>\n  %1 = = 2\n}\n"


def _read(text: str, stub: Sequence[tuple[str, str]]) -> list[str]:
    language = replace(LANGUAGE, stubs={**LANGUAGE.stubs, "FUNC": stub})
    actions = Actions(marking=False)
    actions.driver = Driver(language, Source("x.sir", text), actions)
    actions.driver.run()
    return [diagnostic.message for diagnostic in actions.driver.diagnostics]


@pytest.mark.parametrize("length", range(len(LANGUAGE.stubs["FUNC"])))
def test_a_head_that_does_not_fit_the_grammar(length: int) -> None:
    messages = _read(WRONG_HEAD, LANGUAGE.stubs["FUNC"][:length])
    assert messages[0] == "expected ')' or a name such as '%x' while parsing the parameters of '@f', found '1'"


def test_a_head_that_fits_leaves_the_mistakes_of_its_body() -> None:
    _, *behind = _read(WRONG_HEAD, LANGUAGE.stubs["FUNC"])
    assert len(behind) == 1
    assert behind[0].endswith("found '='")


def test_every_comment_of_another_language_is_dropped() -> None:
    comments = "".join([f"  # comment {number}\n" for number in range(20)])
    text = f"buffer.func @f() -> () {{\n{comments}  %0 = buffer.alloc : memref<1xbool>\n  buffer.return\n}}\n"
    messages = _read(text, LANGUAGE.stubs["FUNC"])
    assert len(messages) == 20
    assert len(set(messages)) == 1
