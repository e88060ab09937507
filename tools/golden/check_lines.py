"""CHECK directives made from output: what is literal, what is a capture, and what has to be escaped.

Owns the spelling of generated directives. They use nothing that LLVM's FileCheck rejects.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from scaly_ir.tools.golden.check_options import CheckOptions
from scaly_ir.tools.golden.edited_lines import Line, Part, Reference
from scaly_ir.tools.golden.functions import NUMBERED, Unit

_OPENING: Final = re.compile(r"[\[{]*(?:\[\[|\{\{)[\[{]*\}*")
"""Brackets that would begin a capture or a regular expression, with what might be taken for the end of one."""
_ESCAPED: Final = {"[": "\\[", "{": "\\{", "}": "[}]"}


@dataclass(frozen=True, slots=True)
class Places:
    """Say what in an output is not the same on another machine, or in another layout of the file.

    `file` is the path of the test as tools show it, `temporary` that of `%t`; `lines` are the lines that stay in
    the file, by their number when the output was made.
    """

    file: str
    temporary: str
    lines: Mapping[int, Line]


@dataclass(frozen=True, slots=True)
class Spelling:
    """Turn lines of output into directives."""

    places: Places
    words: tuple[str, ...]
    """All prefixes of the file, which may not be found a second time in a line."""

    def directives(self, unit: Unit, prefix: str, options: CheckOptions) -> Iterator[list[Part]]:
        """Yield the directives of a unit, each as a comment; `options` are those of the `filecheck` command."""
        known: dict[str, int] = {}
        # Half a line is no label where full lines are matched.
        label = unit.label if unit.label == unit.lines[0].strip() or not options.match_full_lines else ""
        longest = "-LABEL" if label else "-NEXT" if len(unit.lines) > 1 else ""
        width = len(f"// {prefix}{longest}: ")
        indent = len(unit.lines[0]) - len(unit.lines[0].lstrip())
        kind = "-LABEL" if label else ""
        for line in unit.lines:
            if line and not line.strip():
                kind = ""  # blanks alone are no empty line, and no text that can be looked for
                continue
            shown = line[indent:].rstrip() if not line[:indent].strip() else line.strip()
            start = f"// {prefix}{kind}:".ljust(width)
            if options.strict_whitespace:
                shown = line if options.match_full_lines else line.strip()
                start = f"// {prefix}{kind}:" + " " * (not options.match_full_lines)
            if line and kind == "-LABEL" and shown.strip() != label:
                yield [start, *self._parts(label, known)]
                rest = shown.strip().removeprefix(label)
                yield [f"// {prefix}-SAME:".ljust(width), *self._parts(rest.lstrip(), known)]
            elif line:
                yield [start, *self._parts(shown, known)]
            elif kind:
                yield [f"// {prefix}-EMPTY:"]
            kind = "-NEXT" if line or kind else ""

    def _parts(self, text: str, known: dict[str, int]) -> list[Part]:
        """Return the text of a directive that matches a line; `known` are the numbered values seen before."""
        out: list[Part] = []
        at = 0
        for match in self._pattern().finditer(text):
            out.append(text[at : match.start()])
            out += self._special(match, known)
            at = match.end()
        return [*out, text[at:]]

    def _pattern(self) -> re.Pattern[str]:
        # A bracket before something special would run into its own brackets.
        paths = "|".join([re.escape(path) for path in (self.places.temporary, self.places.file) if path])
        words = "|".join([re.escape(word) for word in (*self.words, "RUN", "COM")])
        return re.compile(
            rf"(?P<lead>[\[{{]*)(?P<path>{paths})(?P<line>\"?:(?P<number>[0-9]+))?"
            rf"|(?P<value>{NUMBERED.pattern})|(?P<opening>{_OPENING.pattern})|(?P<word>(?<![\w-])(?:{words})[\w{{}}-]*:)"
        )

    def _special(self, match: re.Match[str], known: dict[str, int]) -> list[Part]:
        if match["value"]:
            number = match["value"][1:]
            if number in known:
                return [f"%[[V{known[number]}]]"]
            known[number] = len(known)
            return [f"%[[V{known[number]}:[0-9]+]]"]
        if match["opening"]:
            return ["{{" + "".join([_ESCAPED[char] for char in match["opening"]]) + "}}"]
        if match["word"]:
            return [match["word"][:-1] + "{{:}}"]
        lead = "{{" + "".join([_ESCAPED[char] for char in match["lead"]])
        name = "" if match["path"] == self.places.temporary else match["path"].rpartition("/")[2]
        parts: list[Part] = [f"{lead}.*}}}}{name}"]
        if match["line"]:
            parts += [match["line"].rstrip("0123456789"), *self._line(int(match["number"]))]
        return parts

    def _line(self, number: int) -> Sequence[Part]:
        target = self.places.lines.get(number)
        return ["{{[0-9]+}}"] if target is None else [Reference(target, _line_expression)]


def _line_expression(distance: int) -> str:
    return f"[[# @LINE {'+' if distance > 0 else '-'} {abs(distance)}]]" if distance else "[[# @LINE]]"
