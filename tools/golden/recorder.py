"""The `filecheck` package at work, watched: it matches, this module writes down where.

Owns everything that depends on the package's inside, which is why its version is pinned. Where release 1.0.6 differs
from LLVM's FileCheck in a way that changes a verdict, the difference is mended here and the reason given.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Sequence
from dataclasses import replace

from filecheck.compiler import UNESCAPED_BRACKETS, compile_uops
from filecheck.error import CheckError, ErrorOnMatch, ParseError
from filecheck.finput import FInput, InputRange
from filecheck.matcher import Matcher
from filecheck.ops import RE, Capture, CheckOp, Literal, Subst
from filecheck.options import Options
from filecheck.parser import Parser
from filecheck.preprocess import Preprocessor

from scaly_ir.text.source import Source, Span
from scaly_ir.tools.golden.check_options import CheckOptions
from scaly_ir.tools.golden.directives import Directive, pattern
from scaly_ir.tools.golden.matcher import Mismatch

_Captures = dict[str, tuple[int, Callable[[str], int] | Callable[[str], str]]]
_NO_COMMENT = re.compile(r"(?!)")  # comments are gone before the package sees the text
_BAD_REGEX = "its text is no valid regular expression"
_NO_ARITHMETIC = "numeric expressions are not supported by the 'filecheck' package"
_WORDING = {  # kind of a directive -> what happened, and what the place in the output is
    "CHECK": ("no match {where}", "searched from here"),
    "NEXT": ("no match on the next line", "this line was tried"),
    "SAME": ("no match on the rest of the line", "searched from here"),
    "DAG": ("no match {where}", "the group searches {lines}, from here"),
    "LABEL": ("no such label in the rest of the output", "searched from here"),
    "EMPTY": ("the next line is not empty", "this line was tried"),
    "COUNT": ("found {found} of {count} matches {where}", "searched from here"),
}
_AFTER_LINE = ("NEXT", "EMPTY")


def run(options: CheckOptions, directives: Sequence[Directive], output: Source) -> Mismatch | None:
    """Match all directives, of which there is at least one; return the first that fails."""
    settings = Options(
        match_filename=directives[0].source.name,
        check_prefixes=list(options.prefixes),
        strict_whitespace=options.strict_whitespace,
        enable_var_scope=options.enable_var_scope,
        match_full_lines=options.match_full_lines,
        allow_empty=options.allow_empty,
        variables=dict(options.variables),
    )
    by_line = {directive.line: directive for directive in directives}
    parser = Parser(settings, io.StringIO(_directive_lines(directives)), pattern(options.prefixes), _NO_COMMENT)
    try:
        ops = list(parser)
    except ParseError as refused:
        return _refused(by_line[refused.line_no], refused.message)
    except ValueError as refused:
        name = str(refused).rpartition(" ")[2]
        return _refused(
            by_line[parser.line_no], f"the 'filecheck' package does not know the character class [:{name}:]"
        )
    for op in ops:
        if not _counts_groups(op):
            message = "the 'filecheck' package miscounts the parentheses here; use fewer, or a capture on another line"
            return _refused(by_line[op.source_line], message)
    # The package ends a search one character before the end of the text, so the last line needs its line end.
    text = output.text if output.text.endswith("\n") or not output.text else output.text + "\n"
    return _Recorder(settings, FInput(output.name, text), parser, by_line, output).check(ops)


def _directive_lines(directives: Sequence[Directive]) -> str:
    """Return the text with all lines emptied that have no directive: `directives` decides what is one."""
    lines = directives[0].source.text.split("\n")
    kept = [""] * directives[-1].line
    for directive in directives:
        kept[directive.line - 1] = lines[directive.line - 1]
    return "\n".join(kept)


def _refused(directive: Directive, message: str) -> Mismatch:
    return Mismatch(directive, message[:1].lower() + message[1:])


def _counts_groups(op: CheckOp) -> bool:
    """Tell whether the package finds as many groups in the regular expressions of a directive as there are.

    It finds captures by number and overlooks, for one, the second parenthesis of `((`.
    """
    if not any(isinstance(uop, Capture) for uop in op.uops):
        return True
    for uop in op.uops:
        body = uop.content if isinstance(uop, RE) else uop.pattern if isinstance(uop, Capture) else ""
        try:
            if re.compile(body).groups != len(UNESCAPED_BRACKETS.findall(body)):
                return False
        except re.error:
            return True  # reported where it is matched
    return True


class _Recorder(Matcher):
    """The package's matcher, which also remembers what each directive took."""

    def __init__(
        self, options: Options, text: FInput, parser: Parser, by_line: dict[int, Directive], output: Source
    ) -> None:
        super().__init__(options, text, parser)
        self.by_line = by_line
        self.output = output
        self.matched: list[tuple[int, int]] = []
        self.taken: list[tuple[int, int]] = []  # by the current directive
        self.searched = InputRange(0, 0)  # by the last -NOT

    def check(self, ops: Sequence[CheckOp]) -> Mismatch | None:
        """Run all directives; return the first that fails."""
        labels = Preprocessor(self.opts, self.file, ops)
        try:
            labels.run()  # type: ignore[no-untyped-call]
        except CheckError as failed:
            return self._missing(failed.op, labels.range.start)
        handlers: dict[str, Callable[[CheckOp], None]] = {
            "DAG": self.check_dag,
            "COUNT": self.check_count,
            "NOT": self.enqueue_not,
            "EMPTY": self.check_empty,
            "NEXT": self.match_immediately,
            "LABEL": self.check_label,
            "SAME": self.match_eventually,
            "CHECK": self.match_eventually,
        }
        end = CheckOp("", "END", "", 0, [])
        for op in [*ops, end]:
            self.matched += self.taken
            self.taken = []
            try:
                if op is end:
                    self.file.range.start = max(0, len(self.file.content) - 1)
                else:
                    self._pre_check(op)
                    handlers[op.name](op)
                self._post_check(op)
            except CheckError as failed:
                return self._missing(failed.op, self.file.range.start)
            except ErrorOnMatch as failed:
                return self._excluded(failed.op, failed.match)
            except NotImplementedError:
                return _refused(self.by_line[op.source_line], _NO_ARITHMETIC)
        return None

    def _pre_check(self, op: CheckOp) -> None:
        if op.name in _AFTER_LINE:
            if self.file.is_discontigous():
                self.file.advance_to_last_hole()  # type: ignore[no-untyped-call]
            # The package would assert that there is another line, or that it stands before the next label.
            start = self.file.range.start
            if start and not 0 <= self.file.content.find("\n", start) <= self.file.range.end:
                raise CheckError("the output ends here", op)
        super()._pre_check(op)

    def _post_check(self, op: CheckOp) -> None:
        # After a -NOT the package checks that a whole line was matched, though nothing was.
        if op.name != "NOT":
            super()._post_check(op)

    def match_immediately(self, op: CheckOp) -> None:
        """Match the first occurrence on the next line; the package takes the last, and captures from that."""
        compiled, captures = compile_uops(replace(op, name="CHECK"), self.ctx.live_variables, self.opts)
        line = self._next_line(self.file.range.start)
        match = line and compiled.search(self.file.content, line[0], min(line[1], self.file.range.end))
        if not match:
            raise CheckError("no match", op)
        self.file.move_to(match.end())
        self.capture_results(match, captures, op)

    def check_empty(self, op: CheckOp) -> None:
        """Match an empty line."""
        super().check_empty(op)
        self.taken.append((self.file.range.start, self.file.range.start))

    def check_label(self, op: CheckOp) -> None:
        """Go to the next label; the package reads `--enable-var-scope` and forgets it."""
        super().check_label(op)
        self.taken.append((self.file.range.start - 1, self.file.range.start))
        if self.opts.enable_var_scope:
            live = self.ctx.live_variables
            self.ctx.live_variables = {name: live[name] for name in live if name and name.startswith("$")}

    def check_not(self, op: CheckOp, search_range: InputRange) -> None:
        """Search up to the start of what the current directive took; the package searches to its end."""
        if self.taken:
            search_range = InputRange(search_range.start, min(search_range.end, self.taken[0][0]))
        self.searched = search_range
        super().check_not(op, search_range)

    def capture_results(self, match: re.Match[str], capture: _Captures, op: CheckOp) -> None:
        """Remember the match and its captures."""
        super().capture_results(match, capture, op)
        self.taken.append(match.span())

    def _next_line(self, at: int) -> tuple[int, int] | None:
        """Return the range of the line after the one that `at` is in, or of the first before anything has matched."""
        text = self.file.content
        if at:
            at = text.find("\n", at) + 1
            if at in (0, len(text)):
                return None
        end = text.find("\n", at)
        return at, end if end >= 0 else len(text)

    def _span(self, start: int, end: int) -> Span:
        size = len(self.output.text)
        start = max(0, min(start, size))
        line_end = self.output.text.find("\n", start)
        return Span(self.output, start, max(start, min(end, line_end if line_end >= 0 else size)))

    def _lines(self, start: int, end: int) -> str:
        first = self.output.position(max(0, start))[0]
        last = self.output.position(max(start, min(end, len(self.file.content)) - 1))[0]
        return f"line {first}" if first == last else f"lines {first} to {last}"

    def _missing(self, op: CheckOp, at: int) -> Mismatch:
        """Describe a directive that found no match when the search was at `at`."""
        directive = self.by_line[op.source_line]
        text = self.file.content
        try:
            known = {} if op.name == "LABEL" else self.ctx.live_variables
            compiled, _ = compile_uops(replace(op, name="CHECK"), known, self.opts)
        except CheckError as refused:
            unknown = re.fullmatch(r"Variable (\S+) referenced before assignment", refused.message)
            return _refused(directive, f"'{unknown[1]}' has no value here" if unknown else _BAD_REGEX)
        where = "before the next label" if self.file.range.end < len(text) else "in the rest of the output"
        message, note = _WORDING[op.name]
        message = message.format(where=where, found=len(self.taken), count=directive.count)
        note = note.format(lines=self._lines(at, self.file.range.end))
        start = at
        if op.name == "COUNT" and self.taken:
            start, note = self.taken[-1][0], "the last of them"
        elif op.name in _AFTER_LINE:
            if line := self._next_line(at):
                start = line[0]
            else:
                start, note = text.rfind("\n", 0, at) + 1, "this is the last line"
                message += ": the output ends here"
        taken = self.matched + self.taken
        found = compiled.search(text, start) or compiled.search(text) if op.name != "EMPTY" else None
        return Mismatch(
            directive,
            message,
            place=self._span(start, start),
            place_note=note,
            matched=tuple(taken),
            captured=self._used(op),
            meant=self._span(*found.span()) if found and found.span() not in taken else None,
            wanted="".join([self._text(uop) for uop in op.uops]),
        )

    def _excluded(self, op: CheckOp, match: re.Match[str]) -> Mismatch:
        """Describe a -NOT whose text was found."""
        where = self._lines(self.searched.start, self.searched.end)
        return Mismatch(
            self.by_line[op.source_line],
            "found what must not be there",
            place=self._span(*match.span()),
            place_note=f"found here; searched {where}",
            matched=tuple(self.matched + self.taken),
            captured=self._used(op),
        )

    def _used(self, op: CheckOp) -> tuple[tuple[str, str], ...]:
        live = self.ctx.live_variables
        names = dict.fromkeys([uop.variable for uop in op.uops if isinstance(uop, Subst)])
        return tuple([(name, str(live[name])) for name in names if name in live])

    def _text(self, uop: object) -> str:
        if isinstance(uop, Literal):
            return uop.content
        if isinstance(uop, Subst):
            return str(self.ctx.live_variables.get(uop.variable, ""))
        return ""
