"""Where a parser stands when it meets something unexpected, what would have fitted, in the user's words, and what is
said of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple, TypeAlias

from scaly_ir.text.diagnostics import Diagnostic, one_of
from scaly_ir.text.language import ATTRIBUTE_KEY, ATTRIBUTE_VALUE, ATTRIBUTES, PUNCTUATION, Language
from scaly_ir.text.source import Source
from scaly_ir.text.terminals import Lexeme

WORDS: Final[dict[str, str]] = {
    **{terminal: f"'{text}'" for text, terminal in PUNCTUATION.items()},
    ATTRIBUTES: "attributes such as '{key=value}'",
    "VALUE": "a name such as '%x'",
    "SYMBOL": "a name such as '@f'",
    "MEMREF": "a type such as 'memref<8xfloat64>'",
    "ARROW": "'->'",
    "TENSOR": "a type such as 'tensor<8xfloat64>'",
    "SPARSE": "a pattern such as 'sparse<rows=[0], cols=[1]>'",
    "PATTERN": "a name such as '#sp0'",
    "STRING": "a string",
    "FLOAT": "a number",
    "INT": "an integer",
    "NAME": "an operation",
    "WORD": "a word",
    "DTYPE": "a dtype such as 'float64'",
    "GENERIC": "a node in quotes such as '\"prog.load\"(...)'",
    "NONE": "'none'",
    "LOC": "'loc'",
    "UNKNOWN": "'unknown'",
    "ELIDED": "'elided'",
    "$END": "the end of the file",
}
IN_PARENTHESES: Final = " while parsing what is in parentheses"
"""The context within parentheses that belong to no name."""

_ORDER: Final = ("COMMA", "RPAR", "RSQB", "MORETHAN", "RBRACE")
"""What is named first among the things expected."""
_MOST: Final = 5
"""As many alternatives are listed."""


Bracket: TypeAlias = tuple[str, int, int]
"""An opening bracket: its terminal and range."""


class Situation(NamedTuple):
    """Where the parser stands when it meets something unexpected."""

    language: Language
    source: Source
    lexemes: Sequence[Lexeme]
    at: int
    """The number of the lexeme that was not expected."""
    kind: str
    """The terminal that it stands for."""
    accepted: frozenset[str]
    """The terminals that would have fitted."""
    context: str
    """What is being parsed, as " while parsing ...", or nothing between statements."""
    opener: Bracket | None
    """The innermost open bracket."""
    blocks: Sequence[int]
    """The numbers of the lexemes that opened the bodies around."""
    closed: int | None
    """The number of the brace that ended a body last."""

    @property
    def found(self) -> Lexeme:
        """The lexeme that was not expected."""
        return self.lexemes[self.at]

    @property
    def before(self) -> Lexeme | None:
        """The lexeme before it."""
        return self.lexemes[self.at - 1] if self.at else None

    @property
    def between(self) -> bool:
        """Whether a statement could have begun here."""
        return self.language.is_between(self.accepted)

    def begins_line(self) -> bool:
        """Tell whether the lexeme is the first one on its line."""
        return self.before is None or "\n" in self.source.text[self.before.end : self.found.start]


class Mistake(NamedTuple):
    """What to say, where it is not the lexeme that was found, further places, and a slug for machines."""

    message: str
    place: tuple[int, int] | None = None
    notes: tuple[Diagnostic, ...] = ()
    code: str = "syntax"


def shown(lexeme: Lexeme, text: str = "") -> str:
    """Return a lexeme, or the `text` in its place, as a message shows it."""
    if lexeme.kind == "END":
        return "the end of the file"
    text = text or lexeme.text
    text = text if len(text) <= 40 else f"{text[:37]}..."
    return text if lexeme.kind == "STRING" else f"'{text}'"


def alternatives(situation: Situation) -> str:
    """Return what was expected, in words: whole groups by their name, the rest one by one."""
    left = set(situation.accepted)
    words = []
    language = situation.language
    groups = (
        *language.groups,
        (language.scalars, "a scalar"),
        (ATTRIBUTE_VALUE, "an attribute value"),
        (ATTRIBUTE_KEY, "an attribute name"),
    )
    for members, name in groups:
        if members and members <= left:
            words.append(name)
            left -= members
    if "FLOAT" in left:
        left.discard("INT")
    spelled = {terminal: f"'{word}'" for word, terminal in language.keywords.items()}
    known = {**spelled, **{own.name: own.words for own in language.terminals}, **WORDS}
    first = [known[terminal] for terminal in _ORDER if terminal in left]
    rest = sorted([known[terminal] for terminal in left.difference(_ORDER)])
    words = [*first, *words, *rest]
    if len(words) > _MOST:
        words = [*words[: _MOST - 1], "something else that fits here"]
    return one_of(words)
