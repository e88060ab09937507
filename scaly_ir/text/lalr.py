"""Reading text with a Lark grammar: one LALR driver for every dialect, which goes on after a mistake.

The driver feeds tokens to Lark's parser itself, so that a word's meaning follows from its place (``to`` is a keyword
only where the grammar wants one). What is wrong with a text `mistakes` puts into words; the driver then goes on at the
next statement. What the rules mean is the dialect's: each reduction calls the method of its `actions` that has the
rule's name.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from threading import RLock
from typing import Any, Final

from lark import Token, UnexpectedToken
from lark.parsers.lalr_interactive_parser import InteractiveParser

from scaly_ir.text.diagnostics import Diagnostic, closest, error, note
from scaly_ir.text.language import ATTRIBUTE_KEY, ATTRIBUTES, PUNCTUATION, UNMENTIONED, Language
from scaly_ir.text.mistakes import explain
from scaly_ir.text.situation import Situation
from scaly_ir.text.source import Source, Span
from scaly_ir.text.terminals import Lexeme, foreign_comment
from scaly_ir.text.unfinished import unfinished

MAX_ERRORS: Final = 1000
"""Reading stops after that many mistakes in one text."""

_GO_ON: Final = frozenset("([<,:=")
"""Behind these a line goes on with the next one."""

_MOST_TRIES: Final = 3
"""As many times the driver mends what it has read before it gives up the lexeme that does not fit: the bodies around it
are closed, a head is put in place of a wrong one, and what then fits there is another statement."""

_LOCK: Final = RLock()


class Driver:
    """One reading of a source with a grammar."""

    def __init__(self, language: Language, source: Source, actions: Any) -> None:
        self._language = language
        self._source = source
        self._actions = actions
        self._lexemes = language.lexemes(source.text)
        self._at = 0
        self._parser: InteractiveParser
        self._mark = 1
        """The height of the parser's stack before the current statement."""
        self._mark_at = 0
        """Where the current statement begins."""
        self._special = language.special()
        self._braces: list[tuple[int, bool]] = []
        """The open braces: where each stands, and whether it opens a body (not attributes)."""
        self._closed: int | None = None
        """The brace that ended a body last."""
        self._failed: Lexeme | None = None
        """The lexeme that did not fit last, `_tries` times in a row."""
        self._tries = 0
        self._places: set[int] = set()
        self.diagnostics: list[Diagnostic] = []

    def fail(self, message: str, at: tuple[int, int], code: str, notes: Sequence[Diagnostic] = ()) -> None:
        """Record a mistake; the second one at a place is dropped."""
        self._record(error(message, Span(self._source, *at), code, notes))

    def note(self, message: str, at: tuple[int, int]) -> Diagnostic:
        """Return a note about a range of the text."""
        return note(message, Span(self._source, *at))

    def _record(self, diagnostic: Diagnostic) -> None:
        assert diagnostic.span is not None
        if diagnostic.span.start not in self._places and len(self.diagnostics) < MAX_ERRORS:
            self._places.add(diagnostic.span.start)
            self.diagnostics.append(diagnostic)

    # --- the loop -----------------------------------------------------------------------------------------------------

    def run(self) -> None:
        """Read the whole text; mistakes are in `diagnostics` afterwards, in source order."""
        with _LOCK:
            lark, dispatch = self._language.parser()
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
        starts = kind in self._language.starters
        named = starts and self._at > 0 and self._lexemes[self._at - 1].text == "="
        begins = (starts and not named) or (self._may_open(lexeme) and self._opens(kind))
        if not self._feed(kind, lexeme):
            self._tries = self._tries + 1 if lexeme is self._failed else 1
            self._failed = lexeme
            goes_on = self._recover(lexeme, kind)
            if self._lexemes[self._at] is lexeme and self._tries == _MOST_TRIES:
                self._at += 1  # whatever the grammar and the stubs of a dialect are, reading ends
            return goes_on
        if kind == "$END":
            return False
        if begins or (kind == "VALUE" and self._is_target()):
            self._mark, self._mark_at = len(self._parser.parser_state.state_stack) - 1, self._at
        elif named:
            self._mark_at = self._at  # behind the names that it binds
        elif lexeme.text == "{":
            within = bool(self._braces) and not self._braces[-1][1]
            self._braces.append((self._at, kind == "LBRACE" and not within))
        elif kind == "RBRACE" and self._braces.pop()[1]:
            self._closed = self._at
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
        if lexeme.text == "{":
            return ATTRIBUTES if ATTRIBUTES in self._parser.choices() and not self._is_body(self._at) else "LBRACE"
        if lexeme.kind == "PUNCTUATION" or lexeme.kind == "ANGLE":
            return PUNCTUATION[lexeme.text]
        if lexeme.kind == "END":
            return "$END"
        if lexeme.kind == "STRING" and self._is_applied(self._at) and "GENERIC" in self._parser.choices():
            return "GENERIC"
        if lexeme.kind not in ("WORD", "NAME"):
            return lexeme.kind
        choices = self._parser.choices()
        special = self._special.get(lexeme.text, "")
        if special in choices or lexeme.kind not in choices:
            return special or lexeme.kind
        # What begins a statement elsewhere is no operation here that merely has a name.
        elsewhere = special in self._language.starters and self._language.is_between(choices.keys())
        return special if elsewhere else lexeme.kind

    def _may_open(self, lexeme: Lexeme) -> bool:
        """Tell whether it takes the grammar to know whether a lexeme begins a statement: not `_is_target`."""
        bound = self._at > 0 and self._lexemes[self._at - 1].text in self._language.binders
        return lexeme.kind in ("NAME", "STRING") or (lexeme.kind == "VALUE" and bound)

    def _opens(self, kind: str) -> bool:
        """Tell whether a terminal begins a statement here, where a body might end, as those that always do."""
        choices = self._parser.choices()
        if not self._language.is_between(choices.keys()):
            return False
        action = choices.get(kind, (None,))[0]
        return any([choices[starter][0] is action for starter in self._language.starters if starter in choices])

    def _is_applied(self, at: int) -> bool:
        return self._lexemes[at + 1].text == "("

    def _is_target(self) -> bool:
        """Tell whether the name just read is the one that a statement defines."""
        return "EQUAL" in self._parser.choices() and self._lexemes[self._at - 1].text not in self._language.binders

    def _is_body(self, at: int) -> bool:
        """Tell the ``{`` of a body from that of attributes: a key and ``=`` follow the latter, or nearly so."""
        key, equals, value = (self._lexemes[at + 1 : at + 4] + self._lexemes[-1:] * 3)[:3]
        if key.kind not in ATTRIBUTE_KEY:
            return key.text not in ("=", ",")
        if equals.text == "=":
            return "." in value.text and value.text in self._special  # a statement without the % of its name
        return key.kind == "NAME" or not self._same_line(at, at + 1)

    def _same_line(self, first: int, second: int) -> bool:
        return "\n" not in self._source.text[self._lexemes[first].end : self._lexemes[second].start]

    # --- recovery -----------------------------------------------------------------------------------------------------

    def _recover(self, lexeme: Lexeme, kind: str) -> bool:
        """Report an unexpected token and bring the parser to where it can go on; False to stop."""
        every = frozenset(self._parser.accepts())
        accepted = every - UNMENTIONED or every
        between = self._language.is_between(accepted)
        blocks = [at for at, body in self._braces if body]
        context, opener = "", None
        if not between:
            in_attributes = bool(self._braces) and not self._braces[-1][1]
            context, opener = unfinished(self._parser, self._language, accepted, in_attributes=in_attributes)
        self._record(
            explain(
                Situation(
                    self._language,
                    self._source,
                    self._lexemes,
                    self._at,
                    kind,
                    accepted,
                    context,
                    opener,
                    blocks,
                    self._closed,
                )
            )
        )
        if kind == "$END" or accepted == {"$END"}:
            return False
        if lexeme.kind == "OTHER" and self._drop_comment(lexeme.start):
            return True
        if between:
            return self._recover_between(lexeme, kind, accepted)
        state = self._parser.parser_state
        del state.state_stack[self._mark :]
        del state.value_stack[self._mark - 1 :]
        self._leave_attributes()
        self._at = max(self._at, self._mark_at + 1)
        self._skip_bare_attributes()
        head = self._language.keywords.get(self._lexemes[self._mark_at].text, "")
        if head in self._language.stubs and head in self._parser.accepts():
            self._replace_head(head)
        else:
            # What stands within a line ends no statement or block, whatever it is: it is part of the mistake.
            if self._lexemes[self._at] is lexeme and self._within_line():
                self._skip_one()
            self._skip()
        return True

    def _drop_comment(self, start: int) -> bool:
        """Drop a comment of another language, which then does no further harm; False when none begins at `start`."""
        end = foreign_comment(self._source.text, start)
        if end is None:
            return False
        behind = self._at
        while self._lexemes[behind].start < end:
            behind += 1
        del self._lexemes[self._at : behind]
        return True

    def _within_line(self) -> bool:
        return self._same_line(self._at - 1, self._at) and self._same_line(self._at, self._at + 1)

    def _recover_between(self, lexeme: Lexeme, kind: str, accepted: frozenset[str]) -> bool:
        """Go on after something that is no statement here."""
        if kind in self._language.starters:
            if not any([body for _, body in self._braces]):
                return False  # a file of another form: what follows would only repeat the message
            if kind in self._language.outer and "RBRACE" in accepted:
                self._close_blocks(kind)
                if kind in self._parser.accepts():
                    return True
                return bool(self._braces)
        begins = kind in self._language.starters or (kind == "VALUE" and self._lexemes[self._at + 1].text == "=")
        if begins and not accepted.isdisjoint(self._language.outer):
            return self._skip_to_outer()  # a body has ended too early: which brace is wrong is not clear
        if lexeme.text == "{" and self._lexemes[self._at - 1].text == "{":
            return self._drop_brace()
        if lexeme.text == "{" and self._lexemes[self._at + 1].text == "{":
            self._at += 1
            return self._drop_brace()
        meant = self._meant(lexeme)
        heads = meant in self._language.stubs and meant in accepted
        if heads and (lexeme.kind == "NAME" or self._opens_body(self._at)):
            self._mark_at = self._at
            self._at += 1
            self._replace_head(meant)
        else:
            first = self._at
            self._skip_bare_attributes()
            if self._lexemes[self._at] is lexeme:
                self._skip_one()
            self._skip(foreign=lexeme.kind == "WORD")
            if lexeme.kind == "WORD":
                self._note_skipped(first)
        return True

    def _note_skipped(self, first: int) -> None:
        """Add to the mistake at a word of no statement that further lines like it were skipped with it."""
        lines = [at for at in range(first + 1, self._at) if not self._same_line(at - 1, at)]
        mistake = self.diagnostics[-1]
        if not lines or mistake.span is None or mistake.span.start != self._lexemes[first].start:
            return
        start, end = self._lexemes[lines[0]].start, self._lexemes[lines[0]].end
        what = "this line is" if len(lines) == 1 else f"{len(lines)} lines from here on are"
        skipped = note(f"{what} skipped with it", Span(self._source, start, end))
        self.diagnostics[-1] = replace(mistake, notes=(*mistake.notes, skipped))

    def _opens_body(self, at: int) -> bool:
        """Tell whether the line of a lexeme opens a body, as the head does that it may have been meant to be."""
        while self._lexemes[at].kind != "END" and not (self._lexemes[at].text == "{" and self._is_body(at)):
            if not self._same_line(at, at + 1):
                return False
            at += 1
        return self._lexemes[at].kind != "END"

    def _skip_to_outer(self) -> bool:
        """Skip to the next statement that no body holds; False when there is none."""
        while self._lexemes[self._at].kind != "END":
            if self._language.keywords.get(self._lexemes[self._at].text) in self._language.outer:
                return True
            self._at += 1
        return False

    def _drop_brace(self) -> bool:
        """Go on behind a brace that is doubled, before a body or before attributes."""
        if self._is_body(self._at):
            self._at += 1
            return True
        self._skip_one()
        if self._lexemes[self._at].text == "{":
            self._at += 1
        return True

    def _close_blocks(self, kind: str) -> None:
        """Close the bodies that must have ended where a statement of `kind` begins."""
        place = self._lexemes[self._at].start
        while self._braces and kind not in self._parser.accepts():
            self._feed("RBRACE", Lexeme("PUNCTUATION", "}", place, place))
            self._braces.pop()

    def _meant(self, lexeme: Lexeme) -> str:
        """Return the terminal of the statement that a word was probably meant to begin."""
        language = self._language
        name = lexeme.text if "." in lexeme.text else f"{language.name}.{lexeme.text}"
        near = closest(name, [word for word, terminal in language.keywords.items() if terminal in language.starters])
        return language.keywords[near[0]] if near else ""

    def _leave_attributes(self) -> None:
        """Skip the rest of attributes that hold a mistake."""
        depth = 0
        while self._braces and self._braces[-1][0] > self._mark_at:
            self._braces.pop()
            depth += 1
        while depth:
            lexeme = self._lexemes[self._at]
            if lexeme.kind == "END" or (lexeme.text == "{" and self._is_body(self._at)):
                return
            if self._begins_statement(self._at) and not self._same_line(self._at - 1, self._at):
                return
            depth += {"{": 1, "}": -1}.get(lexeme.text, 0)
            self._at += 1

    def _replace_head(self, head: str) -> None:
        """Put a head without mistakes in place of a wrong one, so that its body is still read."""
        opened = self._find_body()
        if opened is None:
            return
        named = self._lexemes[self._mark_at : self._at]
        name = next((lexeme.text for lexeme in named if lexeme.kind in ("VALUE", "SYMBOL")), None)
        place = self._lexemes[self._mark_at]
        for terminal, text in self._language.stubs[head]:
            if terminal in ("VALUE", "SYMBOL") and name is not None and name[0] == text[0]:
                text = name
            self._feed(terminal, Lexeme(terminal, text, place.start, place.end))
        self._braces.append((opened, True))

    def _find_body(self) -> int | None:
        """Skip to the first token of the body of a wrong head; return where the body opens, or None if it has none."""
        while True:
            lexeme = self._lexemes[self._at]
            if lexeme.text == "{" and self._is_body(self._at):
                self._at += 1
                return self._at - 1
            if self._begins_statement(self._at) and not self._same_line(self._at - 1, self._at):
                return self._at - 1  # its brace is missing
            if lexeme.text == "}" and self._lexemes[self._at + 1].text != "{":
                own = self._column(self._at) == self._column(self._mark_at)
                return self._at - 1 if own else None
            if lexeme.kind == "END":
                return None
            self._skip_one()

    def _column(self, at: int) -> int:
        return self._source.position(self._lexemes[at].start)[1]

    def _sets_something(self, at: int) -> bool:
        """Tell whether a line begins at a lexeme that sets a variable or an element, as other languages do."""
        lexeme, before, after = self._lexemes[at], self._lexemes[at - 1], self._lexemes[at + 1 : at + 2]
        if lexeme.kind not in ("VALUE", "WORD") or before.text in _GO_ON or self._same_line(at - 1, at):
            return False
        return bool(after) and after[0].text in ("=", "[")

    def _begins_statement(self, at: int) -> bool:
        """Tell whether a statement begins at a lexeme, with a mistake in its first word or not."""
        lexeme, language = self._lexemes[at], self._language
        if language.keywords.get(lexeme.text) in language.starters:
            return True
        if lexeme.kind == "STRING" and self._is_applied(at):
            return self._column(at) <= self._column(self._mark_at)  # else it is within another
        if lexeme.kind not in ("VALUE", "WORD", "NAME"):
            return False
        after = self._lexemes[at + 1]
        within = at > 0 and self._same_line(at - 1, at)
        if lexeme.kind == "VALUE":
            before = self._lexemes[at - 1]
            bound = before.text in language.binders if not within else before.kind in ("NAME", "WORD")
            return after.text == "=" and not (bound and before.text not in language.dtypes)
        if within or (at and self._lexemes[at - 1].text in _GO_ON):
            return False
        if lexeme.kind == "NAME":
            return True
        dotted = language.keywords.get(f"{language.name}.{lexeme.text}")
        return dotted in language.starters or (after.text == "=" and "." in self._lexemes[at + 2].text)

    def _skip(self, *, foreign: bool = False) -> None:
        """Skip to the next statement, the closing brace of the block or the end; a body on the way is skipped whole.

        A line that sets something is a mistake of its own, but for one that follows a `foreign` line and is as foreign.
        """
        while True:
            lexeme = self._lexemes[self._at]
            if lexeme.kind == "END" or lexeme.text == "}" or self._begins_statement(self._at):
                return
            if self._sets_something(self._at) and not (foreign and lexeme.kind == "WORD"):
                return
            if self._skip_one():
                return

    def _skip_one(self) -> bool:
        """Skip one token, or all that is in the braces which it opens; tell whether that was a body."""
        lexeme, body = self._lexemes[self._at], self._is_body(self._at)
        self._at += 1
        if lexeme.text == "{":
            self._skip_braces(stop_early=not body)
        return lexeme.text == "{" and body

    def _skip_bare_attributes(self) -> None:
        """Skip attributes without their ``{``, which end with a ``}`` in the same line."""
        at = self._at
        if self._lexemes[at].kind != "WORD" or self._lexemes[at + 1].text != "=":
            return
        while self._lexemes[at].kind != "END" and self._same_line(at, at + 1):
            at += 1
            if self._lexemes[at].text in ("{", "}"):
                self._at = at + (self._lexemes[at].text == "}")
                return

    def _skip_braces(self, *, stop_early: bool) -> None:
        """Skip to behind the ``}`` that matches an opening brace; with `stop_early` not beyond the next statement."""
        depth = 1
        while depth and self._lexemes[self._at].kind != "END":
            if stop_early and self._begins_statement(self._at):
                return
            depth += {"{": 1, "}": -1}.get(self._lexemes[self._at].text, 0)
            self._at += 1
