"""Pipelines as text: ``name{option=value other=value},func(name)`` to a list of pass names with options, and back.

White space between tokens is free. Values are words, or quoted by ``"..."`` or ``'...'`` or ``{...}``. An anchor says
what the passes in its parentheses run on; none is needed. Every mistake is reported with its place in the text. Source:
tools specification 4.2.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from scaly_ir.errors import PipelineError

_TOKEN: Final = re.compile(
    r"""\s*(?:(?P<word>[^\s,{}=()"']+)|(?P<quoted>"[^"]*"|'[^']*')|(?P<mark>[,{}=()])|(?P<end>\Z)|(?P<bad>["']))"""
)


@dataclass(frozen=True, slots=True)
class Option:
    """One option of a pass as written: ``key=value``, or ``key`` alone for true."""

    key: str
    value: str
    start: int
    end: int
    value_start: int
    value_end: int
    """The value as written, with its quotes; the key where there is none."""


@dataclass(frozen=True, slots=True)
class Item:
    """One pass of a pipeline as written, with its place in the text."""

    name: str
    options: tuple[Option, ...]
    start: int
    end: int
    anchor: str = ""
    """What the innermost anchor around it says: ``module``, ``func``, or nothing."""


_ANCHORS: Final = {"module": "module", "func": "func", "proc": "func"}
"""What an anchor stands for, by the end of its name: ``prog.proc`` is a function."""


def _anchored(name: str) -> str:
    return _ANCHORS.get(name.rpartition(".")[2], "")


class _Tokens:
    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0
        self.taken = 0
        """The end of the token taken last."""
        self.end = 0
        self.advance()

    def advance(self) -> None:
        match = _TOKEN.match(self.text, self.position)
        assert match is not None
        self.taken = self.end
        kind = match.lastgroup or "end"
        self.kind, self.value, (self.start, self.end) = kind, match.group(kind), match.span(kind)
        self.position = self.end

    def fail(self, expected: str) -> PipelineError:
        if self.kind == "bad":
            message = f"this {self.value} is not closed"
            return PipelineError(message, text=self.text, start=self.start, end=self.end)
        found = "the end" if self.kind == "end" else f"'{self.value}'"
        return PipelineError(f"expected {expected}, found {found}", text=self.text, start=self.start, end=self.end)

    def take(self, mark: str) -> bool:
        if self.kind == "mark" and self.value == mark:
            self.advance()
            return True
        return False

    def value_text(self) -> str:
        """Take a value: a word, a quoted text, or what stands between balanced braces."""
        if self.kind == "word":
            value = self.value
        elif self.kind == "quoted":
            value = self.value[1:-1]
        elif self.value == "{":
            depth, at = 0, self.start
            for at in range(self.start, len(self.text)):
                depth += {"{": 1, "}": -1}.get(self.text[at], 0)
                if depth == 0:
                    break
            if depth:
                raise PipelineError("this '{' is not closed", text=self.text, start=self.start, end=self.end)
            value, self.end = self.text[self.end : at], at + 1
            self.position = self.end
        else:
            raise self.fail("a value")
        self.advance()
        # A list without quotes: words joined by commas, where no space stands before what follows.
        while self.kind == "mark" and self.value == "," and self._list_goes_on():
            self.advance()
            if self.kind != "word":
                raise self.fail("a word after ',' in a list")
            value += f",{self.value}"
            self.advance()
        return value

    def _list_goes_on(self) -> bool:
        rest = self.text[self.end : self.end + 1]
        return bool(rest) and rest not in " \t\n,{}=()"


def parse_pipeline(text: str) -> list[Item]:
    """Read a pipeline; `PipelineError` says what is wrong and where."""
    tokens = _Tokens(text)
    items: list[Item] = []
    anchors: list[tuple[str, int, int]] = []
    if tokens.kind == "end":
        return items
    while True:
        if tokens.kind != "word":
            raise tokens.fail("the name of a pass")
        name, start, end = tokens.value, tokens.start, tokens.end
        tokens.advance()
        if _anchored(name) and tokens.take("("):
            anchors.append((_anchored(name), start, end))
            continue
        options = _options(tokens) if tokens.kind == "mark" and tokens.value == "{" else ()
        items.append(Item(name, options, start, end, anchors[-1][0] if anchors else ""))
        closed = False
        while anchors and tokens.take(")"):
            anchors.pop()
            closed = True
        if tokens.kind == "end" and not anchors:
            return items
        if not tokens.take(","):
            if tokens.kind == "end":
                raise PipelineError("this anchor is not closed", text=text, start=anchors[-1][1], end=anchors[-1][2])
            if tokens.value == "(" and not options and not closed:
                message = f"'{name}' is no anchor; expected 'module', 'func' or an operation such as 'prog.proc'"
                raise PipelineError(message, text=text, start=start, end=end)
            raise tokens.fail("','" if options or closed else "',' or '{' after the name of a pass")


_plain_value: Final = re.compile(r"""[^\s,{}=()"']+(,[^\s,{}=()"']+)*""").fullmatch


def spell_item(name: str, options: Mapping[str, Any]) -> str:
    """Return a pass with its options as a pipeline has them, quoted where they have to be."""
    if not options:
        return name
    return f"{name}{{{' '.join([f'{key}={_spelled(value)}' for key, value in options.items()])}}}"


def _spelled(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    text = ",".join(map(str, value)) if isinstance(value, tuple | list) else str(value)
    if _plain_value(text):
        return text
    if '"' not in text:
        return f'"{text}"'
    return f"'{text}'" if "'" not in text else f"{{{text}}}"


def _options(tokens: _Tokens) -> tuple[Option, ...]:
    opening = (tokens.start, tokens.end)
    tokens.advance()
    options: list[Option] = []
    while not tokens.take("}"):
        if tokens.kind == "end":
            raise PipelineError("this '{' is not closed", text=tokens.text, start=opening[0], end=opening[1])
        if tokens.kind != "word":
            raise tokens.fail("the name of an option")
        key, start, end = tokens.value, tokens.start, tokens.end
        tokens.advance()
        value, value_start, value_end = "true", start, end
        if tokens.take("="):
            value_start = tokens.start
            value = tokens.value_text()
            value_end = tokens.taken
        if any([option.key.replace("-", "_") == key.replace("-", "_") for option in options]):
            raise PipelineError(f"option '{key}' is given twice", text=tokens.text, start=start, end=end)
        options.append(Option(key, value, start, end, value_start, value_end))
    return tuple(options)
