"""What the parser is in the middle of, told from what it holds: the construct that is not finished."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Any

from lark import Token
from lark.parsers.lalr_interactive_parser import InteractiveParser

from scaly_ir.text.language import ATTRIBUTES, Language
from scaly_ir.text.situation import IN_PARENTHESES, Bracket


def unfinished(
    parser: InteractiveParser, language: Language, accepted: frozenset[str], *, in_attributes: bool
) -> tuple[str, Bracket | None]:
    """Name the innermost construct that is not finished, and return its opening bracket if it has one.

    The name is as " while parsing ...", or empty where there is no such construct. `accepted` are the terminals that
    fit; `in_attributes` tells whether the innermost open brace is that of attributes.
    """
    values = _values_before(parser, accepted)
    closed = 0
    for position in range(len(values) - 1, -1, -1):
        part = values[position]
        if not isinstance(part, Token):
            continue
        if part.type in ("RPAR", "RSQB", "RBRACE", "MORETHAN"):
            closed += 1
            continue
        if closed and part.type in ("LPAR", "LSQB", "LBRACE", "LESSTHAN", ATTRIBUTES):
            closed -= 1
            continue
        before = values[position - 1] if position and isinstance(values[position - 1], Token) else None
        opener = (part.type, part.start_pos or 0, part.end_pos or 0)
        if part.type == "LPAR" and before is not None and before.type == "ARROW":
            return " while parsing outputs", opener
        if part.type == "LPAR" and before is not None and _takes_operands(language, before):
            head = getattr(values[position - 2], "type", "") if position > 1 else ""
            symbol = before.type == "SYMBOL"
            what = ("parameters" if head in language.stubs else "arguments") if symbol else "operands"
            return f" while parsing the {what} of '{before}'", opener
        if part.type == "LPAR":
            return IN_PARENTHESES, opener
        if part.type == "LSQB":
            of_value = before is not None and before.type == "VALUE"
            return f" while parsing {f'the index of {chr(39)}{before}{chr(39)}' if of_value else 'a list'}", opener
        if part.type == "LESSTHAN" and before is not None:
            return f" while parsing '{before}'", opener
        if part.type in (ATTRIBUTES, "LBRACE") and in_attributes:
            return " while parsing attributes", opener
        if "." in part and part.type in language.keywords.values():
            return f" while parsing '{part}'", None
    return "", None


def _takes_operands(language: Language, name: Token) -> bool:
    """Tell whether parentheses behind a token hold what belongs to it."""
    return name.type in ("SYMBOL", "SLICE") or (name.type in language.scalars and name.type != "LOAD")


def _values_before(parser: InteractiveParser, accepted: frozenset[str]) -> Sequence[Any]:
    """Return what the parser holds when something that fits comes next: all that is complete is reduced."""
    fitting = next((terminal for terminal in ("COMMA", "COLON") if terminal in accepted), min(accepted))
    parser = parser.copy(deepcopy_values=False)
    parser.parser_state.parse_conf = copy(parser.parser_state.parse_conf)
    parser.parser_state.parse_conf.callbacks = {}
    parser.feed_token(Token(fitting, ""))
    values: list[Any] = parser.parser_state.value_stack
    return values[:-1]
