"""TextMate grammars as editors read them: which scopes each character of a line gets.

What a grammar here may use is what this does: `match`, `begin` with `end`, `captures`, `beginCaptures` and `include` of
its own repository. Its regular expressions have to mean the same to Python and to Oniguruma.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

Rule = Mapping[str, Any]


class Grammar:
    """A grammar, read from JSON."""

    def __init__(self, data: Rule) -> None:
        self._repository: Mapping[str, Rule] = data["repository"]
        self._top = _Level(list(self._rules(data["patterns"])))

    def _rules(self, patterns: list[Rule]) -> Iterator[_Rule]:
        for rule in patterns:
            if "include" in rule:
                yield from self._rules([self._repository[rule["include"].removeprefix("#")]])
            elif "match" in rule:
                yield _Rule(re.compile(rule["match"]), rule)
            elif "begin" in rule:
                inner = _Level(list(self._rules(rule.get("patterns", []))))
                yield _Rule(re.compile(rule["begin"]), rule, re.compile(rule["end"]), inner)
            else:
                yield from self._rules(rule["patterns"])

    def scopes(self, line: str) -> list[str]:
        """Return for each character of a line its scopes, innermost last, with blanks between; empty for none.

        No rule of the grammars here goes on behind the end of a line.
        """
        found = [""] * len(line)
        _match(line, 0, len(line), self._top, "", found)
        return found


class _Rule(NamedTuple):
    pattern: re.Pattern[str]
    data: Rule
    end: re.Pattern[str] | None = None
    inner: _Level | None = None


class _Level:
    """The rules that are looked for at one place: the first match counts, and of several there the first rule."""

    def __init__(self, rules: list[_Rule]) -> None:
        self._rules = rules
        named = [f"(?P<rule{number}>{rule.pattern.pattern})" for number, rule in enumerate(rules)]
        self._any = re.compile("|".join(named) or "(?!)")

    def search(self, line: str, at: int, end: int) -> tuple[_Rule, re.Match[str]] | None:
        first = self._any.search(line, at, end)
        if first is None:
            return None
        rule = next(rule for number, rule in enumerate(self._rules) if first[f"rule{number}"] is not None)
        match = rule.pattern.match(line, first.start(), end)
        assert match is not None
        return rule, match


def _match(line: str, at: int, end: int, level: _Level, around: str, found: list[str]) -> None:
    while at < end and (matched := level.search(line, at, end)):
        rule, match = matched
        scope = f"{around} {rule.data.get('name', '')}".strip()
        stop = match.end()
        if rule.end is not None and rule.inner is not None:
            closing = _closing(line, stop, end, rule.end, rule.inner)
            stop = closing.end()
            _mark(found, match.start(), stop, scope)
            _match(line, match.end(), closing.start(), rule.inner, scope, found)
        else:
            _mark(found, match.start(), stop, scope)
        captures = rule.data.get("captures", rule.data.get("beginCaptures", {}))
        for number, capture in captures.items():
            _mark(found, *match.span(int(number)), f"{scope} {capture['name']}".strip())
        if stop == match.start():
            raise ValueError(f"'{rule.pattern.pattern}' matches nothing at all")
        at = stop


def _closing(line: str, at: int, end: int, pattern: re.Pattern[str], inner: _Level) -> re.Match[str]:
    """Return where a rule ends; what its inner rules take does not end it."""
    while True:
        closing = pattern.search(line, at, end)
        assert closing is not None, f"'{pattern.pattern}' may go on behind the line"
        first = inner.search(line, at, end)
        if first is None or first[1].start() >= closing.start():
            return closing
        at = first[1].end()


def _mark(found: list[str], start: int, end: int, scope: str) -> None:
    found[start:end] = [scope] * (end - start)
