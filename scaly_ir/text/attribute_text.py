"""The text of attributes without mistakes, for readers that do without the grammar: ``{key=value, ...}``.

What it does not take it gives up by raising `Unusual` or `ValueError`; it never reports anything. What values mean is
as in ``attribute_actions``.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import Final, NamedTuple

from scaly_ir.attributes import Attrs, AttrValue, named, word_or_constant
from scaly_ir.graph import Node
from scaly_ir.text.spelling import read_float, read_string, read_whole
from scaly_ir.text.terminals import TERMINALS
from scaly_ir.types import DTYPES, FLOAT64, DType

Refer = Callable[[str], Node]
"""Returns the node that a value has the number of, as in ``callee=%3``."""


class Own(NamedTuple):
    """A dialect's own kind of values: how its text begins, what matches all of it, and what reads it.

    There are no groups in the pattern.
    """

    prefix: str
    pattern: str
    read: Callable[[str], AttrValue]


class Unusual(Exception):  # noqa: N818 - not a mistake of anybody's
    """This text is not for a reader without a grammar, or it is cut off."""


NUMBER_WORDS: Final = frozenset({"inf", "nan"})
"""What looks like a word and is a number."""

_DTYPES: Final[dict[str, DType]] = {str(dtype): dtype for dtype in DTYPES}
_LEFT_OUT: Final = frozenset({"slice", "elided", "splat"})
"""The words that begin more than a word, in some dialect."""

_TOKEN: Final = rf"{TERMINALS['STRING']}|[A-Za-z0-9_.+<>%$-]+|[^ \t\n]"
"""Cuts the text of attributes, coarser than `terminals` do: what is no token of the language is refused afterwards."""


@cache
def _tokens(own: Own | None) -> re.Pattern[str]:
    return re.compile(_TOKEN if own is None else rf"(?:{own.pattern})|{_TOKEN}")


_is_key = re.compile(f"{TERMINALS['NAME']}|{TERMINALS['WORD']}").fullmatch
_is_word = re.compile(TERMINALS["WORD"]).fullmatch
_is_integer = re.compile(TERMINALS["INT"]).fullmatch
_is_float = re.compile(TERMINALS["FLOAT"]).fullmatch


_name = re.compile(r'\{(?!(?:inf|nan)=)([A-Za-z_]+)="([A-Za-z_][A-Za-z0-9_]*)"\}').fullmatch


def read_attrs(text: str, refer: Refer | None = None, own: Own | None = None) -> Attrs:
    """Read attributes with their braces, as `read_attributes` does."""
    found = _name(text)  # the commonest there are
    return Attrs(read_attributes(text, refer, own)) if found is None else named(found[1], found[2])


def read_attributes(text: str, refer: Refer | None = None, own: Own | None = None) -> dict[str, AttrValue]:
    """Read attributes with their braces.

    A value is an atom, a slice, one of the dialect's `own` kind, a list of values, or what `refer` takes.
    """
    cut = _tokens(own).findall(text)
    values: dict[str, AttrValue] = {}
    at = 1
    while True:
        key, equals, first = cut[at : at + 3]
        if key[0] == '"':
            key = read_string(key)
        elif not _is_key(key) or key in NUMBER_WORDS:
            raise Unusual
        if key in values or equals != "=":
            raise Unusual
        at += 2
        if first == "[":
            values[key], at = _list(cut, at + 1, own)
        elif refer is not None and first[0] == "%":
            values[key], at = refer(first), at + 1
        else:
            values[key], at = _item(cut, at, own)
        if cut[at] == "}" and len(cut) == at + 1:
            return values
        if cut[at] != ",":
            raise Unusual
        at += 1


def _list(cut: list[str], at: int, own: Own | None) -> tuple[AttrValue, int]:
    """Read a list, which may hold lists, from behind its bracket, and return where it ends."""
    opened: list[list[AttrValue]] = [[]]
    while True:
        if cut[at] == "[":
            opened.append([])
            at += 1
            continue
        if cut[at] != "]" or opened[-1]:
            item, at = _item(cut, at, own)
            opened[-1].append(item)
        while cut[at] == "]":
            whole = tuple(opened.pop())
            at += 1
            if not opened:
                return whole, at
            opened[-1].append(whole)
        if cut[at] != ",":
            raise Unusual
        at += 1


def _item(cut: list[str], at: int, own: Own | None) -> tuple[AttrValue, int]:
    if own is not None and cut[at].startswith(own.prefix):
        return own.read(cut[at]), at + 1
    if cut[at] != "slice":
        return _atom(cut[at]), at + 1
    if [cut[at + 1], *cut[at + 3 : at + 8 : 2]] != ["(", ",", ",", ")"]:
        raise Unusual
    return slice(*map(_atom, cut[at + 2 : at + 7 : 2])), at + 8


def _atom(token: str) -> AttrValue:
    if token[0] == '"':
        return read_string(token)
    if _is_integer(token):
        return read_whole(token)
    if _is_float(token):
        return read_float(token, FLOAT64)
    if not _is_word(token) or token in _LEFT_OUT:
        raise Unusual
    return _DTYPES.get(token) or word_or_constant(token)
