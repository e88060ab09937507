"""Reading text with a Lark grammar: one LALR driver for every dialect, with messages for people and recovery.

The driver feeds tokens to Lark's parser itself, so that a word's meaning follows from its place (``to`` is a keyword
only where the grammar wants one), reports a mistake in the words of the user, and goes on at the next statement. What
the rules mean is the dialect's: each reduction calls the method of its `actions` that has the rule's name.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from threading import RLock
from typing import Any, Final, NamedTuple

from lark import Lark, Token, UnexpectedToken
from lark.lexer import Lexer
from lark.parsers.lalr_interactive_parser import InteractiveParser

from scaly_ir.text.diagnostics import Diagnostic, did_you_mean, error, note
from scaly_ir.text.source import Source, Span
from scaly_ir.text.terminals import TERMINALS, Lexeme, scan

_PUNCTUATION: Final = {
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
_SHARED: Final = ("VALUE", "SYMBOL", "MEMREF", "STRING", "FLOAT", "INT", "NAME", "WORD")

_WORDS: Final[dict[str, str]] = {
    **{terminal: f"'{text}'" for text, terminal in _PUNCTUATION.items()},
    "VALUE": "a name such as '%x'",
    "SYMBOL": "a name such as '@f'",
    "MEMREF": "a type such as 'memref<8xfloat64>'",
    "STRING": "a string",
    "FLOAT": "a number",
    "INT": "an integer",
    "NAME": "an operation",
    "WORD": "a word",
    "DTYPE": "a dtype",
    "$END": "the end of the file",
}
_ATTRIBUTE_VALUE: Final = frozenset({"INT", "FLOAT", "STRING", "WORD", "DTYPE", "LSQB", "LBRACE", "SLICE"})
_ATTRIBUTE_KEY: Final = frozenset({"WORD", "NAME", "STRING"})

MAX_ERRORS: Final = 1000
"""Reading stops after that many mistakes in one text."""


class Piece(NamedTuple):
    """What a reduction produced and the range of text it came from."""

    value: Any
    start: int
    end: int


@dataclass(frozen=True)
class Language:
    """What the driver needs to know of a dialect's text.

    `starters` are the terminals that begin a statement, besides a name that is defined; `stubs` give, for a terminal
    that begins a statement with a body, the tokens of a head without mistakes, used in place of a wrong one (``{name}``
    stands for what the user called it).
    """

    name: str
    grammar: Path
    keywords: Mapping[str, str]
    operators: tuple[str, ...]
    """The scalar operators that the terminal ``OPERATOR`` stands for."""
    dtypes: tuple[str, ...]
    starters: frozenset[str]
    stubs: Mapping[str, Sequence[tuple[str, str]]]
    groups: Sequence[tuple[frozenset[str], str]]
    binders: frozenset[str]
    """The keywords after which ``%name =`` is part of a head, not a statement of its own."""

    def operations(self) -> list[str]:
        """Return what may stand where a scalar is expected, for suggestions."""
        dotted = [word for word in self.keywords if "." in word and self.keywords[word] not in self.starters]
        return [*self.operators, *dotted]


class _NoLexer(Lexer):
    """The driver cuts the text itself; Lark's own lexers are never built."""

    def __init__(self, lexer_conf: Any) -> None:
        pass

    def lex(self, lexer_state: Any, parser_state: Any) -> Any:
        return iter(())


class _Dispatch:
    """Hands each reduction to the current actions, with its pieces and range."""

    actions: Any = None

    def __getattr__(self, rule: str) -> Callable[[list[Any]], Piece]:
        if rule.startswith("_") or rule.isupper():
            raise AttributeError(rule)

        def reduce(children: list[Any]) -> Piece:
            if not children:
                return Piece(None, 0, 0)
            start, end = _start(children[0]), _end(children[-1])
            parts = [child for child in children if not (isinstance(child, Token) and child.type in _SILENT)]
            return Piece(getattr(self.actions, rule)(parts, (start, end)), start, end)

        return reduce


_SILENT: Final = frozenset(_PUNCTUATION.values())


def _start(part: Token | Piece) -> int:
    return (part.start_pos or 0) if isinstance(part, Token) else part.start


def _end(part: Token | Piece) -> int:
    return (part.end_pos or 0) if isinstance(part, Token) else part.end


@cache
def grammar_text(path: Path, operators: tuple[str, ...], dtypes: tuple[str, ...]) -> str:
    """Return the complete grammar of a dialect: its own rules, those of attributes, and the shared terminals."""
    common = Path(__file__).with_name("common.lark").read_text(encoding="utf-8")
    # Lark compiles terminals with its own copy of the rules for widths, which knows no possessive quantifiers.
    terminals = [f"{name}: /{TERMINALS[name].replace('*+', '*').replace('/', chr(92) + '/')}/" for name in _SHARED]
    for name, words in (("OPERATOR", operators), ("DTYPE", dtypes)):
        terminals.append(f"{name}: {' | '.join([json.dumps(word) for word in words])}")
    return "\n".join([path.read_text(encoding="utf-8"), common, *terminals, ""])


@cache
def _lark(path: Path, operators: tuple[str, ...], dtypes: tuple[str, ...]) -> tuple[Lark, _Dispatch]:
    dispatch = _Dispatch()
    parser = Lark(
        grammar_text(path, operators, dtypes),
        parser="lalr",
        lexer=_NoLexer,
        transformer=dispatch,
        keep_all_tokens=True,
        maybe_placeholders=False,
    )
    return parser, dispatch


_LOCK: Final = RLock()


class Driver:
    """One reading of a source with a grammar."""

    def __init__(self, language: Language, source: Source, actions: Any) -> None:
        self._language = language
        self._source = source
        self._actions = actions
        self._lexemes = list(scan(source.text))
        self._at = 0
        self._parser: InteractiveParser
        self._mark = 0
        self._mark_at = 0
        self._special = {
            **language.keywords,
            **dict.fromkeys(language.operators, "OPERATOR"),
            **dict.fromkeys(language.dtypes, "DTYPE"),
            "slice": "SLICE",
        }
        self._braces: list[tuple[int, bool]] = []
        """The open braces: where each stands, and whether it opens a body (not attributes)."""
        self._places: set[int] = set()
        self.diagnostics: list[Diagnostic] = []

    # --- mistakes -----------------------------------------------------------------------------------------------------

    def fail(self, message: str, at: tuple[int, int], code: str, notes: Sequence[Diagnostic] = ()) -> None:
        """Record a mistake; the second one at a place is dropped."""
        if at[0] not in self._places:
            self._places.add(at[0])
            self.diagnostics.append(error(message, Span(self._source, *at), code, notes))

    def _fail_at(self, message: str, lexeme: Lexeme, code: str = "syntax", notes: Sequence[Diagnostic] = ()) -> None:
        self.fail(message, (lexeme.start, lexeme.end), code, notes)

    # --- the loop -----------------------------------------------------------------------------------------------------

    def run(self) -> None:
        """Read the whole text; mistakes are in `diagnostics` afterwards, in source order."""
        with _LOCK:
            lark, dispatch = _lark(self._language.grammar, self._language.operators, self._language.dtypes)
            previous, dispatch.actions = dispatch.actions, self._actions
            try:
                self._parser = lark.parse_interactive()
                while len(self.diagnostics) < MAX_ERRORS and self._step():
                    pass
            finally:
                dispatch.actions = previous
        self.diagnostics.sort(key=lambda diagnostic: diagnostic.span.start if diagnostic.span else 0)

    def _step(self) -> bool:
        lexeme = self._lexemes[self._at]
        kind = self._kind(lexeme)
        if not self._feed(kind, lexeme):
            return self._recover(lexeme, kind)
        if kind == "$END":
            return False
        stack = self._parser.parser_state.state_stack
        if kind in self._language.starters or self._defines(self._at):
            self._mark, self._mark_at = len(stack) - 1, self._at
        elif kind == "LBRACE":
            self._braces.append((self._at, self._is_body(self._at)))
        elif kind == "RBRACE":
            self._braces.pop()
        self._at += 1
        return True

    def _feed(self, kind: str, lexeme: Lexeme) -> bool:
        try:
            self._parser.feed_token(Token(kind, lexeme.text, lexeme.start, end_pos=lexeme.end))
        except UnexpectedToken:
            return False
        return True

    def _kind(self, lexeme: Lexeme) -> str:
        """Return the terminal a lexeme stands for here: the most special one that the grammar takes at this point."""
        if lexeme.kind == "PUNCTUATION" or lexeme.kind == "ANGLE":
            return _PUNCTUATION[lexeme.text]
        if lexeme.kind == "END":
            return "$END"
        if lexeme.kind not in ("WORD", "NAME"):
            return lexeme.kind
        choices = self._parser.choices()
        special = self._special.get(lexeme.text)
        if special in choices or lexeme.kind not in choices:
            return special or lexeme.kind
        return lexeme.kind

    def _defines(self, at: int) -> bool:
        """Tell whether the name at `at` begins a statement that defines it."""
        if self._lexemes[at].kind != "VALUE" or self._lexemes[at + 1].text != "=":
            return False
        return at == 0 or self._lexemes[at - 1].text not in self._language.binders

    def _at_boundary(self) -> bool:
        return not self._language.starters.isdisjoint(self._parser.accepts())

    def _is_body(self, at: int) -> bool:
        """Tell the ``{`` of a body from that of attributes: a key and ``=`` follow the latter."""
        after = self._lexemes[at + 1 : at + 3]
        return not (len(after) == 2 and after[1].text == "=" and after[0].kind in _ATTRIBUTE_KEY)

    # --- recovery -----------------------------------------------------------------------------------------------------

    def _recover(self, lexeme: Lexeme, kind: str) -> bool:
        """Report an unexpected token and bring the parser to where it can go on; False to stop."""
        accepted = self._parser.accepts()
        boundary = not self._language.starters.isdisjoint(accepted)
        self._report(lexeme, kind, accepted, boundary)
        if kind == "$END":
            return False
        if boundary:
            return self._recover_between(kind, accepted)
        head = self._lexemes[self._mark_at]
        head_kind = self._language.keywords.get(head.text, "")
        if self._mark == 0 or self._mark > len(self._parser.parser_state.state_stack):
            self._at += 1
            self._skip()
            return True
        state = self._parser.parser_state
        del state.state_stack[self._mark :]
        del state.value_stack[self._mark - 1 :]
        while self._braces and self._braces[-1][0] > self._mark_at:
            self._braces.pop()
        self._at = max(self._at, self._mark_at + 1)
        if head_kind in self._language.stubs:
            return self._recover_head(head_kind)
        self._skip()
        return True

    def _recover_between(self, kind: str, accepted: set[str]) -> bool:
        """Go on after something that is no statement here."""
        if kind in self._language.starters and "RBRACE" in accepted:
            # A procedure inside a procedure: the closing brace is missing.
            place = self._lexemes[self._at].start
            while kind not in self._parser.accepts() and self._braces:
                self._feed("RBRACE", Lexeme("PUNCTUATION", "}", place, place))
                self._braces.pop()
            if kind in self._parser.accepts():
                return True
        if kind in self._language.starters:
            return False  # a file of another form: what follows would only repeat the message
        self._at += 1
        self._skip()
        return True

    def _recover_head(self, kind: str) -> bool:
        """Put a head without mistakes in place of a wrong one, so that its body is still read."""
        while True:
            lexeme = self._lexemes[self._at]
            if lexeme.kind == "END" or lexeme.text == "}":
                return True
            if lexeme.text == "{" and self._is_body(self._at):
                break
            if self._begins_statement(self._at):
                self._at -= 1
                break
            self._at += 1
            if lexeme.text == "{":
                self._skip_attributes()
        name = next(
            (lex.text for lex in self._lexemes[self._mark_at : self._at] if lex.kind in ("VALUE", "SYMBOL")), None
        )
        place = self._lexemes[self._mark_at]
        for terminal, text in self._language.stubs[kind]:
            if terminal in ("VALUE", "SYMBOL") and name is not None and name[0] == text[0]:
                text = name
            self._feed(terminal, Lexeme(terminal, text, place.start, place.end))
        self._braces.append((self._at, True))
        self._at += 1
        return True

    def _begins_statement(self, at: int) -> bool:
        lexeme = self._lexemes[at]
        return self._defines(at) or self._language.keywords.get(lexeme.text) in self._language.starters

    def _skip(self) -> None:
        """Skip to the next statement, closing brace of a body, or the end."""
        while True:
            lexeme = self._lexemes[self._at]
            if lexeme.kind == "END" or lexeme.text == "}" or self._begins_statement(self._at):
                return
            self._at += 1
            if lexeme.text == "{":
                self._skip_attributes()

    def _skip_attributes(self) -> None:
        """Skip to behind the ``}`` that matches an opening brace, or to the next statement if there is none."""
        depth = 1
        while depth and self._lexemes[self._at].kind != "END" and not self._begins_statement(self._at):
            depth += {"{": 1, "}": -1}.get(self._lexemes[self._at].text, 0)
            self._at += 1

    # --- messages -----------------------------------------------------------------------------------------------------

    def _report(self, lexeme: Lexeme, kind: str, accepted: set[str], boundary: bool) -> None:
        message = self._special_message(lexeme, kind, accepted)
        if message is not None:
            self._fail_at(message, lexeme)
            return
        expected = _alternatives(accepted, self._language.groups)
        context = "" if boundary else self._context()
        notes = []
        unclosed = boundary and self._braces and (kind == "$END" or kind in self._language.starters)
        if unclosed and "RBRACE" in accepted:
            opened = self._lexemes[self._braces[-1][0]]
            notes.append(note("the block opened here is not closed", Span(self._source, opened.start, opened.end)))
            expected = "'}'"
        self._fail_at(f"expected {expected}{context}, found {_found(lexeme)}", lexeme, notes=notes)

    def _special_message(self, lexeme: Lexeme, kind: str, accepted: set[str]) -> str | None:
        """Return the sentence for one of the commonest mistakes, or None."""
        text = lexeme.text
        language = self._language
        if kind == "UNCLOSED":
            return "the string is not closed on its line"
        if kind == "OTHER":
            return self._stray_character(text)
        if "DTYPE" in accepted and "LBRACE" not in accepted and lexeme.kind in ("WORD", "NAME", "MEMREF"):
            return f"unknown dtype '{text}'{did_you_mean(text, language.dtypes)}"
        if accepted == {"VALUE"} and lexeme.kind == "WORD":
            return f"expected a name with '%', found '{text}'; did you mean '%{text}'?"
        if accepted == {"SYMBOL"} and lexeme.kind in ("WORD", "NAME", "VALUE"):
            return f"expected a name with '@', found '{text}'; did you mean '@{text.lstrip('%')}'?"
        if accepted == {"MEMREF"}:
            return f"expected a type such as 'memref<8xfloat64>', found {_found(lexeme)}"
        if "OPERATOR" in accepted and lexeme.kind == "WORD":
            dotted = f"{language.name}.{text}"
            return f"unknown operation '{text}'{did_you_mean(dotted, language.operations())}"
        if accepted == {"COLON"}:
            return f"expected ': <type>' at the end of {self._statement_name()}, found {_found(lexeme)}"
        if kind == "NAME" and not language.starters.isdisjoint(accepted):
            known = [word for word, terminal in language.keywords.items() if terminal in language.starters]
            return f"unknown statement '{text}'{did_you_mean(text, known)}"
        return None

    def _stray_character(self, text: str) -> str:
        after = self._lexemes[self._at + 1]
        if text in "%@" and after.kind in ("INT", "FLOAT") and after.start == self._lexemes[self._at].end:
            return f'a name does not begin with a digit; write {text}"{after.text}" or another name'
        if text in "%@":
            return f"'{text}' is not followed by a name"
        if text == "\r":
            return "a carriage return without a line feed after it"
        shown = f"'{text}'" if text.isprintable() else f"U+{ord(text):04X}"
        return f"unexpected character {shown}"

    def _statement_name(self) -> str:
        for lexeme in self._lexemes[self._mark_at : self._at]:
            if lexeme.kind == "NAME":
                return f"'{lexeme.text}'"
        return "the statement"

    def _context(self) -> str:
        """Name the innermost construct that is not finished."""
        values = self._parser.parser_state.value_stack
        for position in range(len(values) - 1, -1, -1):
            part = values[position]
            if not isinstance(part, Token):
                continue
            before = values[position - 1] if position and isinstance(values[position - 1], Token) else None
            if part.type == "LPAR" and before is not None:
                what = {"PROC": "parameters", "SYMBOL": "arguments"}.get(before.type, "operands")
                if before.type == "SYMBOL" and position > 1 and getattr(values[position - 2], "type", "") == "PROC":
                    what = "parameters"
                return f" while parsing the {what} of '{before}'"
            if part.type == "LSQB":
                return (
                    f" while parsing the index of '{before}'"
                    if before is not None and before.type == "VALUE"
                    else (" while parsing a list")
                )
            if part.type == "LBRACE" and self._braces and not self._braces[-1][1]:
                return " while parsing attributes"
            if part.type in self._language.keywords.values() and "." in part:
                return f" while parsing '{part}'"
        return ""


def _found(lexeme: Lexeme) -> str:
    if lexeme.kind == "END":
        return "the end of the file"
    text = lexeme.text if len(lexeme.text) <= 40 else f"{lexeme.text[:37]}..."
    return text if lexeme.kind == "STRING" else f"'{text}'"


def _alternatives(accepted: set[str], groups: Sequence[tuple[frozenset[str], str]]) -> str:
    """Return what was expected, in words: whole groups by their name, the rest one by one."""
    left = set(accepted)
    words = []
    for members, name in (*groups, (_ATTRIBUTE_VALUE, "an attribute value"), (_ATTRIBUTE_KEY, "an attribute name")):
        if members <= left:
            words.append(name)
            left -= members
    if "FLOAT" in left:
        left.discard("INT")
    words.extend(sorted([_WORDS.get(terminal, f"'{terminal.lower()}'") for terminal in left]))
    if len(words) > 5:
        words = [*words[:4], "something else that fits here"]
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"
