"""What the reader of a dialect's text needs to know of it: grammar, keywords, and the words of its messages.

Builds the Lark parser of a dialect, once. Reading itself is done by `lalr`, messages by `mistakes`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple

from lark import Lark, Token
from lark.lexer import Lexer

from scaly_ir.text.diagnostics import suggested
from scaly_ir.text.terminals import TERMINALS, Lexeme, Terminals, scan
from scaly_ir.types import DTYPES

PUNCTUATION: Final = {
    "(": "LPAR",
    ")": "RPAR",
    "{": "LBRACE",
    "}": "RBRACE",
    "[": "LSQB",
    "]": "RSQB",
    ",": "COMMA",
    ":": "COLON",
    "=": "EQUAL",
    "<": "LESSTHAN",
    ">": "MORETHAN",
}
ATTRIBUTES: Final = "LATTRS"
"""The terminal of a ``{`` that begins attributes; that of a body or of a map is ``LBRACE``."""

ATTRIBUTE_VALUE: Final = frozenset({"INT", "FLOAT", "STRING", "WORD", "DTYPE", "LSQB", "LBRACE", "SLICE", "ELIDED"})
ATTRIBUTE_KEY: Final = frozenset({"WORD", "NAME", "STRING"})

_SHARED: Final = (
    *("VALUE", "SYMBOL", "MEMREF", "TENSOR", "SPARSE", "PATTERN", "STRING", "FLOAT", "INT", "NAME", "WORD", "ARROW"),
)


_SHARED_WORDS: Final = {"slice": "SLICE", "elided": "ELIDED", "loc": "LOC", "unknown": "UNKNOWN", "none": "NONE"}

UNMENTIONED: Final = frozenset({"GENERIC", "LOC"})
"""The terminals of what tools write rather than people: messages do not list them among what was expected."""

IGNORED: Final = object()
"""What the action of a rule returns that means nothing."""


class Sentence(NamedTuple):
    """What to say of a common mistake: where `wanted` fits, one of `found` stands.

    In `text`, ``{found}`` is what stands there and ``{before}`` the token before it. `alone` asks that nothing else
    fits.
    """

    wanted: str
    found: frozenset[str]
    text: str
    alone: bool = False


@dataclass(frozen=True)
class Language:
    """One dialect's text.

    `starters` are the terminals that begin a statement, besides a name that is defined; `stubs` give, for a terminal
    that begins a statement with a body, the tokens of a head without mistakes, used in place of a wrong one (a name in
    them stands for what the user called it).
    """

    name: str
    grammar: tuple[Path, ...]
    """The files of its rules, each of which may use and extend those before it."""
    keywords: Mapping[str, str]
    """The words that have a terminal of their own where the grammar wants that, and the terminal."""
    starters: frozenset[str]
    outer: frozenset[str]
    """Those of the starters that no body of statements holds: one in a body shows that a brace is missing."""
    stubs: Mapping[str, Sequence[tuple[str, str]]] = field(default_factory=dict)
    operators: tuple[str, ...] = ()
    """The scalar operators that the terminal ``OPERATOR`` stands for."""
    dtypes: tuple[str, ...] = tuple(map(str, DTYPES))
    scalars: frozenset[str] = frozenset()
    """The terminals that begin a scalar."""
    binders: frozenset[str] = frozenset()
    """The keywords after which ``%name =`` is part of a head, not a statement of its own."""
    groups: Sequence[tuple[frozenset[str], str]] = ()
    """Sets of terminals that messages name as one."""
    sentences: Sequence[Sentence] = ()
    hints: Mapping[str, str] = field(default_factory=dict)
    """For words of other languages, what to write here."""
    infix: Mapping[str, str] = field(default_factory=dict)
    """For signs that other languages write between two scalars, what to write here; longer ones first."""
    after_scalar: frozenset[str] = frozenset()
    """The terminals that may follow a scalar."""
    numbered: bool = False
    """Whether values may have numbers for names, as ``%0``."""
    nested: bool = True
    """Whether scalars stand within statements; if not, each operation is a statement and has a name."""
    forms: str = "a file holds one module, only procedures or only statements"
    """What a file may hold."""
    terminals: Terminals = ()
    """Terminals of its own, tried before those of every dialect."""

    def lexemes(self, text: str) -> list[Lexeme]:
        """Cut a text of the dialect into tokens."""
        return list(scan(text, numbered=self.numbered, more=self.terminals))

    def parser(self) -> tuple[Lark, Dispatch]:
        """Return the parser of the dialect and what hands its reductions on."""
        return build_parser(self.grammar, self.operators, self.dtypes, self.terminals)

    def is_between(self, accepted: Set[str]) -> bool:
        """Tell whether a statement could begin where some terminals fit.

        Behind the names that an operation binds, what begins a statement may stand as well.
        """
        return not self.starters.isdisjoint(accepted) and not accepted.isdisjoint(("RBRACE", "$END"))

    def operations(self) -> list[str]:
        """Return what may stand where a scalar is expected, for suggestions."""
        dotted = [word for word, terminal in self.keywords.items() if "." in word and terminal in self.scalars]
        return [*self.operators, *dotted]

    def own_name(self, text: str, known: Iterable[str]) -> str:
        """Return ``; did you mean 'expr.add'?`` for ``prog.add``: the name here of what another dialect calls alike."""
        own = f"{self.name}.{text.rpartition('.')[2]}"
        return suggested([own]) if "." in text and own != text and own in known else ""

    def special(self) -> dict[str, str]:
        """Return the terminals that words have besides their general one."""
        return {
            **self.keywords,
            **dict.fromkeys(self.operators, "OPERATOR"),
            **dict.fromkeys(self.dtypes, "DTYPE"),
            **_SHARED_WORDS,
        }


class Piece(NamedTuple):
    """What a reduction produced and the range of text it came from."""

    value: Any
    start: int
    end: int


class _NoLexer(Lexer):
    """The driver cuts the text itself; Lark's own lexers are never built."""

    def __init__(self, lexer_conf: Any) -> None:
        pass

    def lex(self, lexer_state: Any, parser_state: Any) -> Any:
        return iter(())


class Dispatch:
    """Hands each reduction to the current actions, with its pieces and range."""

    actions: Any = None

    def __getattr__(self, rule: str) -> Callable[[list[Any]], Piece]:
        if rule.startswith("_") or rule.isupper():
            raise AttributeError(rule)

        def reduce(children: list[Any]) -> Piece:
            if not children:
                return Piece(None, 0, 0)
            start, end = _start(children[0]), _end(children[-1])
            parts = [child for child in children if not _is_silent(child)]
            return Piece(getattr(self.actions, rule)(parts, (start, end)), start, end)

        return reduce


_SILENT: Final = frozenset({*PUNCTUATION.values(), ATTRIBUTES, "ARROW"})


def _is_silent(part: Token | Piece) -> bool:
    return part.type in _SILENT if isinstance(part, Token) else part.value is IGNORED


def _start(part: Token | Piece) -> int:
    return (part.start_pos or 0) if isinstance(part, Token) else part.start


def _end(part: Token | Piece) -> int:
    return (part.end_pos or 0) if isinstance(part, Token) else part.end


@cache
def grammar_text(
    paths: tuple[Path, ...], operators: tuple[str, ...], dtypes: tuple[str, ...], more: Terminals = ()
) -> str:
    """Return the complete grammar of a dialect: its own rules, those of attributes, and the shared terminals."""
    common = Path(__file__).with_name("common.lark").read_text(encoding="utf-8")
    # Lark compiles terminals with its own copy of the rules for widths, which knows no possessive quantifiers.
    known = {**{name: TERMINALS[name] for name in _SHARED}, **{own.name: own.regex for own in more}}
    terminals = [f"{name}: /{text.replace('*+', '*').replace('/', chr(92) + '/')}/" for name, text in known.items()]
    for name, words in (("OPERATOR", operators), ("DTYPE", dtypes)):
        if words:
            terminals.append(f"{name}: {' | '.join([json.dumps(word) for word in words])}")
    own = [path.read_text(encoding="utf-8") for path in paths]
    return "\n".join([common, *own, *terminals, ""])  # a dialect may extend common rules


@cache
def build_parser(
    paths: tuple[Path, ...], operators: tuple[str, ...], dtypes: tuple[str, ...], more: Terminals
) -> tuple[Lark, Dispatch]:
    """Return the parser for the files of a grammar and what hands its reductions on."""
    dispatch = Dispatch()
    parser = Lark(
        grammar_text(paths, operators, dtypes, more),
        parser="lalr",
        lexer=_NoLexer,
        transformer=dispatch,
        keep_all_tokens=True,
        maybe_placeholders=False,
    )
    return parser, dispatch
