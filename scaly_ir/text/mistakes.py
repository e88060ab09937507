"""Messages about text that does not parse, in the user's words.

A `Situation` says where the parser stands and what it found; `explain` returns the diagnostic. The commonest mistakes
have a sentence of their own; for the rest it is what was expected and what was found.
"""

from __future__ import annotations

import re
from typing import Final

from scaly_ir.text import lexical_mistakes
from scaly_ir.text.diagnostics import Diagnostic, did_you_mean, error, note
from scaly_ir.text.language import ATTRIBUTES, Language
from scaly_ir.text.situation import IN_PARENTHESES, WORDS, Mistake, Situation, alternatives, shown
from scaly_ir.text.source import Span
from scaly_ir.text.terminals import Lexeme
from scaly_ir.types import FOREIGN_NAMES, unknown_dtype

_CLOSERS: Final = {"LPAR": "RPAR", "LSQB": "RSQB", "LESSTHAN": "MORETHAN", "LBRACE": "RBRACE", ATTRIBUTES: "RBRACE"}


def explain(situation: Situation) -> Diagnostic:
    """Return the diagnostic for an unexpected lexeme."""
    found = situation.found
    for recognise in _RECOGNISED:
        mistake = recognise(situation)
        if mistake is not None:
            break
    else:
        mistake = _expected(situation)
    place = mistake.place or (found.start, found.end)
    return error(mistake.message, Span(situation.source, *place), mistake.code, mistake.notes)


# --- between statements -----------------------------------------------------------------------------------------------


def _block(situation: Situation) -> Mistake | None:
    """Recognise a closing brace that is missing, or one too many."""
    kind, accepted = situation.kind, situation.accepted
    if kind == "RBRACE" and accepted <= {"$END", *situation.language.outer}:
        return Mistake(_TOO_MANY)
    if accepted == {"$END"}:
        return Mistake(f"expected the end of the file, found {shown(situation.found)}; {situation.language.forms}")
    if not situation.between:
        return None
    if kind == "RBRACE" and not situation.blocks:
        return Mistake(_TOO_MANY)
    within = [opened for opened in situation.blocks if kind in ("$END", _head(situation, opened))]
    if "RBRACE" not in accepted or kind in accepted or not within:
        return None
    opened = situation.lexemes[_unclosed_block(situation, within[0])]
    notes = (note("the block opened here is not closed", Span(situation.source, opened.start, opened.end)),)
    place = None
    if kind == "$END" and situation.before is not None:
        place = (situation.before.end, situation.before.end)
    return Mistake(f"expected '}}', found {shown(situation.found)}", place, notes)


_TOO_MANY: Final = "this '}' closes nothing"


def _head(situation: Situation, opened: int) -> str:
    """Return the terminal that began the statement whose body an opening brace begins."""
    keywords, stubs = situation.language.keywords, situation.language.stubs
    while opened and keywords.get(situation.lexemes[opened].text) not in stubs:
        opened -= 1
    return keywords.get(situation.lexemes[opened].text, "")


def _unclosed_block(situation: Situation, start: int) -> int:
    """Return the brace, from `start` on, that is most likely the one to close: by indentation, else the innermost."""
    pending: list[int] = []
    for at in range(start, situation.at):
        lexeme = situation.lexemes[at]
        if lexeme.text == "{":
            pending.append(at)
        elif lexeme.text == "}" and pending:
            opened = pending.pop()
            if _indentation(situation, lexeme) < _indentation(situation, situation.lexemes[opened]):
                return opened
    return situation.blocks[-1]


def _indentation(situation: Situation, lexeme: Lexeme) -> int:
    text = situation.source.text
    start = text.rfind("\n", 0, lexeme.start) + 1
    line = text[start : lexeme.start + 1]
    return len(line) - len(line.lstrip())


def _bare_attributes(situation: Situation) -> Mistake | None:
    """Recognise attributes without their braces."""
    found = situation.found
    if found.kind != "WORD" or ATTRIBUTES not in situation.accepted or situation.begins_line():
        return None
    if situation.lexemes[situation.at + 1].text != "=":
        return None
    return Mistake(f"attributes stand in braces, as in '{{{found.text}=...}}'")


def _no_statement(situation: Situation) -> Mistake | None:
    """Recognise a word that begins no statement here."""
    language, found, kind = situation.language, situation.found, situation.kind
    if not situation.between or found.kind not in ("WORD", "NAME"):
        return None
    after = situation.lexemes[situation.at + 1]
    dotted = found.text if "." in found.text else f"{language.name}.{found.text}"
    if kind in language.starters:
        if situation.blocks:
            return None
        return Mistake(f"expected {alternatives(situation)}, found '{found.text}'; {language.forms}")
    if after.text == "=" and found.kind == "WORD":
        return Mistake(f"expected a name with '%', found '{found.text}'; did you mean '%{found.text}'?")
    operations = language.operations()
    if language.keywords.get(dotted) in ("BUFFER", "ASSIGN") or (dotted in operations and not language.nested):
        return Mistake(f"expected a name before '{found.text}', as in '%x = {dotted}'")
    if dotted in operations:
        return Mistake(
            f"'{dotted}' is a scalar, not a statement; give it a name: '%x = {language.name}.assign {dotted}...'"
        )
    known = [word for word, terminal in language.keywords.items() if terminal in language.starters]
    hint = language.hints.get(found.text.rpartition(".")[2])
    what = "statement" if language.nested else "operation"
    known += [] if language.nested else operations
    near = f"; {hint}" if hint else language.own_name(dotted, known) or did_you_mean(dotted, known)
    message = f"unknown {what} '{found.text}'{near}"
    return Mistake(message, code="unknown-op")


# --- within a statement -----------------------------------------------------------------------------------------------


def _type(situation: Situation) -> Mistake | None:
    """Recognise a type that is none."""
    found, accepted = situation.found, situation.accepted
    if accepted == {"MEMREF"}:
        text, end = _angles(situation)
        if text.startswith("memref"):
            return Mistake(
                f"malformed type '{text}'; write it as in 'memref<2x4xfloat64, private>'", (found.start, end)
            )
        element, *others = FOREIGN_NAMES.get(text, (text,))
        one = element in situation.language.dtypes and not others
        hint = f"; a scalar is 'memref<1x{element}>'" if one else ""
        return Mistake(f"expected {WORDS['MEMREF']}, found {shown(found, text)}{hint}", (found.start, end))
    if accepted == {"TENSOR"}:
        text, end = _angles(situation)
        if text.startswith("tensor"):
            return Mistake(f"malformed type '{text}'; write it as in 'tensor<2x4xfloat64 diff>'", (found.start, end))
        return Mistake(f"expected {WORDS['TENSOR']}, found {shown(found, text)}", (found.start, end))
    if accepted != {"DTYPE"}:
        return None
    if found.kind not in ("WORD", "NAME"):
        return None
    return Mistake(unknown_dtype(found.text), code="unknown-type")


def _angles(situation: Situation) -> tuple[str, int]:
    """Return the text of a lexeme with what stands in angle brackets behind it, and where that ends."""
    found = situation.found
    text = situation.source.text
    match = _angles_pattern.match(text, found.start) if found.kind == "WORD" else None
    return (match[0].rstrip(), found.start + len(match[0].rstrip())) if match else (found.text, found.end)


_angles_pattern: Final = re.compile(r"[A-Za-z_]\w*[ \t]*<[^<>\n{}()]*>?")


def _sigil(situation: Situation) -> Mistake | None:
    """Recognise a name without its ``%`` or ``@``."""
    found, accepted = situation.found, situation.accepted
    if found.text in situation.language.dtypes:
        return None
    if "SYMBOL" in accepted and found.kind in ("WORD", "NAME", "VALUE"):
        bare = found.text.removeprefix("%")
        return Mistake(f"expected a name with '@', found '{found.text}'; did you mean '@{bare}'?")
    if "VALUE" in accepted and "OPERATOR" not in accepted and found.kind in ("WORD", "SYMBOL"):
        if not situation.language.nested and situation.lexemes[situation.at + 1].text == "(":
            return Mistake(f"an operand is a name; give '{found.text}' a line and a name of its own")
        bare = found.text.removeprefix("@")
        return Mistake(f"expected a name with '%', found '{found.text}'; did you mean '%{bare}'?")
    return None


def _scalar(situation: Situation) -> Mistake | None:
    """Recognise a word where a scalar is expected."""
    found, language = situation.found, situation.language
    if "OPERATOR" not in situation.accepted or found.kind not in ("WORD", "NAME"):
        return None
    applied = situation.lexemes[situation.at + 1].text == "("
    return Mistake(unknown_scalar(language, found.text, applied=applied), code="unknown-op" if applied else "syntax")


def unknown_scalar(language: Language, text: str, *, applied: bool) -> str:
    """Return the message for a word that is no scalar: an unknown operation when it is `applied`, or a bare word."""
    hint = language.hints.get(text.rpartition(".")[2])
    dotted = text if "." in text else f"{language.name}.{text}"
    operations = language.operations()
    if applied or "." in text or dotted in operations or not language.nested:
        near = f"; {hint}" if hint else language.own_name(text, operations) or did_you_mean(dotted, operations)
        return f"unknown operation '{text}'{near}"
    return f"expected a scalar, found '{text}'; {hint or f'did you mean {chr(39)}%{text}{chr(39)}?'}"


def _unknown_definition(situation: Situation) -> Mistake | None:
    """Recognise an operation that defines nothing, where the name that it is to define stands before it."""
    found, language = situation.found, situation.language
    fitting = [word for word, terminal in language.keywords.items() if terminal in situation.accepted and "." in word]
    if len(fitting) < len(situation.accepted) or situation.between or situation.kind != "NAME":
        return None
    if situation.lexemes[situation.at + 1].text == "(":
        return Mistake(f"expected '{language.name}.assign' before '{found.text}'")
    near = language.own_name(found.text, fitting) or did_you_mean(found.text, fitting)
    return Mistake(
        f"unknown operation '{found.text}'{near or f'; expected {alternatives(situation)}'}", code="unknown-op"
    )


def _parentheses(situation: Situation) -> Mistake | None:
    """Recognise parentheses around a scalar that does not want them."""
    before, opener = situation.before, situation.opener
    if opener is None or opener[0] != "LPAR" or situation.context != IN_PARENTHESES or before is None:
        return None
    if "NAME" not in situation.accepted and not (situation.accepted == {"LPAR"} and before.kind == "NAME"):
        return None
    return Mistake("a scalar stands without parentheses around it", opener[1:])


def _sentence(situation: Situation) -> Mistake | None:
    """Look the situation up in the dialect's table."""
    before = situation.before
    for sentence in situation.language.sentences:
        fits = sentence.wanted in situation.accepted and not (sentence.alone and len(situation.accepted) > 1)
        if fits and situation.kind in sentence.found:
            words = {"found": situation.found.text, "before": "" if before is None else before.text}
            return Mistake(sentence.text.format(**words))
    return None


def _infix(situation: Situation) -> Mistake | None:
    """Recognise an operator behind a scalar that is complete."""
    found, before, accepted = situation.found, situation.before, situation.accepted
    if before is None or situation.begins_line() or accepted.isdisjoint(situation.language.after_scalar):
        return None
    if before.kind not in ("INT", "FLOAT", "VALUE") and before.text not in (")", "]"):
        return None
    if {"COMMA", "RSQB"} <= accepted or not accepted.isdisjoint(_NO_INFIX):
        return None
    text = situation.source.text
    operator = next((sign for sign in situation.language.infix if text.startswith(sign, found.start)), "")
    signed = found.kind in ("INT", "FLOAT") and not (situation.opener is not None and "COMMA" in accepted)
    if not operator or not (found.kind in ("OTHER", "ANGLE") or found.text == "=" or signed):
        return None
    place = (found.start, found.start + len(operator))
    return Mistake(f"there are no infix operators; write {situation.language.infix[operator]}", place)


_NO_INFIX: Final = frozenset({"OPERATOR", "LSQB", "EQUAL", "LBRACE", "RBRACE", "MORETHAN"})
"""Where one of these fits, what stands before is no scalar that is complete."""


def _read(situation: Situation) -> Mistake | None:
    """Recognise ``%x[i]`` used as a value."""
    before = situation.before
    if (
        not situation.language.nested
        or situation.found.text != "["
        or before is None
        or before.kind != "VALUE"
        or situation.between
    ):
        return None
    if "LSQB" in situation.accepted or "EQUAL" in situation.accepted:
        return None
    end = situation.found.end
    load = f"{situation.language.name}.load"
    return Mistake(f"a place in a buffer is read by '{load}': write '{load} {before.text}[...]'", (before.start, end))


_RECOGNISED: Final = (
    lexical_mistakes.unclosed_string,
    lexical_mistakes.comment,
    _infix,
    lexical_mistakes.stray_character,
    lexical_mistakes.number,
    _block,
    _parentheses,
    _unknown_definition,
    _sentence,
    _bare_attributes,
    _no_statement,
    _type,
    _sigil,
    _scalar,
    _read,
)
"""The mistakes with a sentence of their own, in the order they are tried."""


# --- what was expected ------------------------------------------------------------------------------------------------


def _expected(situation: Situation) -> Mistake:
    """Say what was expected and what was found."""
    found, before, accepted = situation.found, situation.before, situation.accepted
    expected = "': <type>'" if accepted == {"COLON"} else alternatives(situation)
    ends = found.kind == "END" or found.text == "}" or situation.kind in situation.language.starters
    ends = ends or (found.kind == "VALUE" and situation.lexemes[situation.at + 1].text == "=")
    cut_off = not situation.between and before is not None and ends and situation.begins_line()
    place = (before.end, before.end) if before is not None and cut_off else None
    what = "the end of the line" if cut_off and found.kind != "END" else shown(found)
    message = f"expected {expected}{situation.context}, found {what}{_near(situation)}"
    return Mistake(message, place, _opened(situation) or _ended(situation))


def _near(situation: Situation) -> str:
    """Return the end of a message that suggests a keyword that fits, or an empty string."""
    if situation.found.kind not in ("WORD", "NAME"):
        return ""
    language, text = situation.language, situation.found.text
    fitting = [word for word, terminal in language.keywords.items() if terminal in situation.accepted]
    dotted = [word for word in fitting if "." in word and "." not in text]
    return did_you_mean(text, fitting) or did_you_mean(f"{language.name}.{text}", dotted)


_ELEMENTS: Final = frozenset({"VALUE", "INT", "FLOAT", "STRING", "WORD", "NAME"})
"""What the elements of a list begin with."""


def _opened(situation: Situation) -> tuple[Diagnostic, ...]:
    """Return the note on the bracket that is not closed, unless it is a comma that is missing."""
    if situation.opener is None or _CLOSERS[situation.opener[0]] not in situation.accepted:
        return ()
    if not _ELEMENTS.isdisjoint(situation.accepted):
        return ()
    if situation.found.kind in _ELEMENTS and "COMMA" in situation.accepted and not situation.begins_line():
        return ()
    _, start, end = situation.opener
    bracket = situation.source.text[start:end]
    return (note(f"to match this '{bracket}'", Span(situation.source, start, end)),)


def _ended(situation: Situation) -> tuple[Diagnostic, ...]:
    """Return the note on where the body before ended, for a statement that may stand in a body only."""
    begins = situation.kind in situation.language.starters or situation.kind == "VALUE"
    if not begins or situation.closed is None or not situation.between or situation.kind in situation.accepted:
        return ()
    brace = situation.lexemes[situation.closed]
    return (note("the body before it ends here", Span(situation.source, brace.start, brace.end)),)
