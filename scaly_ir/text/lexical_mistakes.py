"""What no text may hold, whatever the dialect: messages about comments, strings, characters and numbers.

Each function returns what to say, or None where there is no such mistake. Names and numbers that are spelled wrong are
among them.
"""

from __future__ import annotations

import re
from typing import Final

from scaly_ir.text.situation import Mistake, Situation
from scaly_ir.text.terminals import foreign_comment


def comment(situation: Situation) -> Mistake | None:
    """Recognise a comment of another language."""
    start = situation.found.start
    if situation.found.kind != "OTHER" or foreign_comment(situation.source.text, start) is None:
        return None
    return Mistake("a comment begins with '//'")


def unclosed_string(situation: Situation) -> Mistake | None:
    """Recognise a string, or a name in quotes, that does not end on its line."""
    found, after = situation.found, situation.lexemes[situation.at + 1 : situation.at + 2]
    if found.kind == "UNCLOSED":
        return Mistake(_UNCLOSED)
    if found.text in ("%", "@") and after and after[0].kind == "UNCLOSED" and after[0].start == found.end:
        return Mistake(_UNCLOSED, (found.start, after[0].end))
    return None


_UNCLOSED: Final = "the string is not closed on its line"


def stray_character(situation: Situation) -> Mistake | None:
    """Recognise a character that begins nothing."""
    found, hints = situation.found, situation.language.hints
    text = found.text
    if text == "->" and text in hints:
        return Mistake(f"unexpected '->'; {hints[text]}")
    if found.kind != "OTHER":
        return None
    after = situation.lexemes[situation.at + 1]
    joined = after.start == found.end
    if text in "%@" and joined and after.text.isalpha():
        return _letters(situation, found.start)
    before = situation.before
    named = before is not None and before.kind in ("VALUE", "SYMBOL") and before.text[-1] != '"'
    if text.isalpha() and before is not None and named and before.end == found.start:
        return _letters(situation, before.start)
    if text in "%@" and after.kind in ("INT", "FLOAT") and joined:
        message = f'a name does not begin with a digit; write {text}"{after.text}" or another name'
        return Mistake(message, (found.start, after.end))
    if text in "%@":
        return Mistake(f"'{text}' is not followed by a name")
    if text in "+-" and after.kind in ("INT", "FLOAT") and not situation.accepted.isdisjoint(("INT", "FLOAT")):
        return Mistake(
            f"expected a number, found '{text}'; write '{text.strip('+')}{after.text}'", (found.start, after.end)
        )
    if text == "\r":
        return Mistake("a carriage return without a line feed after it")
    if not text.isprintable():
        return Mistake(f"unexpected character U+{ord(text):04X}")
    return Mistake(f"unexpected character '{text}'{f'; {hints[text]}' if text in hints else ''}")


def _letters(situation: Situation, start: int) -> Mistake:
    """Return what to say of a bare name, from its sigil at `start` on, with letters that want quotes."""
    sigil, text = situation.source.text[start], situation.source.text
    name = _word_characters.match(text, start + 1)
    assert name is not None
    return Mistake(f'a name with letters beyond a to z stands in quotes: {sigil}"{name[0]}"', (start, name.end()))


_word_characters: Final = re.compile(r"[\w.$-]*")


def number(situation: Situation) -> Mistake | None:
    """Recognise a number that goes on in a way that numbers do not, as ``0x10``."""
    found, before = situation.found, situation.before
    if before is None or before.kind not in ("INT", "FLOAT") or before.end != found.start:
        return None
    if found.kind not in ("WORD", "NAME", "INT", "FLOAT"):
        return None
    return Mistake(f"'{before.text}{found.text}' is no number", (before.start, found.end))
