"""What is wrong with a test file before anything runs: mistakes that would make a check pass without checking.

Owns the judgement of a whole file. It reports every mistake, one for each place.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from scaly_ir.text.diagnostics import Diagnostic, closest, did_you_mean, error
from scaly_ir.text.source import Source, Span
from scaly_ir.tools.golden import check_options
from scaly_ir.tools.golden.check_options import CheckOptions, OptionError
from scaly_ir.tools.golden.directives import COMMENT, KINDS, MalformedError, pattern, scan, union, variables
from scaly_ir.tools.golden.run_line import Command, RunLine, Word

# The first word of a comment, what follows it up to a colon, and the colon.
_OPENING: Final = re.compile(r"//+[ \t]*(([A-Za-z][\w-]*)(?:\{[A-Za-z]*\})?)([ \t]*)(:?)[ \t]*(\S*)")
_KEYWORDS: Final = ("RUN", "REQUIRES", "UNSUPPORTED", "XFAIL")
_PROSE: Final = frozenset({*_KEYWORDS, "COM", "NOTE", "TODO", "FIXME", "XXX", "HACK", "BUG", "WARNING", "NB"})
_SUFFIXES: Final = ("", *[f"-{kind}" for kind in KINDS])
_KIND: Final = re.compile(rf"-(?:{'|'.join(KINDS)}|COUNT-\d+)$")
_SHORT: Final = 4  # a prefix with fewer letters is too easily an ordinary word


@dataclass(frozen=True, slots=True)
class Matcher:
    """Hold one `filecheck` of the RUN lines with its options; `own` if the directives are those of the file itself."""

    run: RunLine
    command: Command
    options: CheckOptions
    own: bool


def lint(source: Source, runs: Sequence[RunLine], tools: Iterable[str]) -> list[Diagnostic]:
    """Return what is wrong with the RUN lines as a whole and with the directives; `tools` are commands one may mean."""
    problems: list[Diagnostic] = []
    found = matchers(runs, problems)
    if problems:
        return problems  # the prefixes are not known
    own = [matcher for matcher in found if matcher.own]
    prefixes = union(matcher.options.prefixes for matcher in own)
    problems += _comments(source, prefixes, [*tools, *check_options.NAMES])
    if own:
        problems += _unused(source, own)
        problems += _texts(source, prefixes)
        for matcher in own:
            problems += _order_and_variables(source, matcher.options)
    else:
        problems += _unmatched(source)
    return problems


def matchers(runs: Iterable[RunLine], problems: list[Diagnostic]) -> list[Matcher]:
    """Return the `filecheck` commands of RUN lines; what is wrong with their options is added to `problems`."""
    found: list[Matcher] = []
    for run in runs:
        for command in run.commands():
            if command.name not in check_options.NAMES:
                continue
            try:
                options = check_options.parse([word.text for word in command.words[1:]])
            except OptionError as refused:
                word = command.words[0 if refused.index is None else refused.index + 1]
                problems.append(error(str(refused), word.span, "check-option"))
            else:
                found.append(Matcher(run, command, options, options.check_file == "%s"))
    return found


def _comments(source: Source, prefixes: tuple[str, ...], tools: Sequence[str]) -> Iterator[Diagnostic]:
    """Look at the first word of each comment: is it a keyword or a directive that went wrong?"""
    valid = pattern(prefixes or ("CHECK",))
    offset = 0
    for line in source.text.split("\n"):
        start = line.find("//")
        opening = _OPENING.match(line, start) if start >= 0 else None
        if opening and not COMMENT.match(line, opening.start(1)) and not valid.search(line):
            message = _keyword(opening, tools) or _directive(opening, prefixes)
            if message:
                yield error(
                    message, Span(source, offset + opening.start(1), offset + opening.end(1)), "check-directive"
                )
        offset += len(line) + 1


def _keyword(opening: re.Match[str], tools: Sequence[str]) -> str:
    """Judge a first word that may be meant as RUN or one of its kin; return a message or nothing."""
    word, blank, colon, following = opening[2], opening[3], opening[4], opening[5]
    if word in _KEYWORDS and colon and not blank:
        return ""
    near = closest(word.upper(), _KEYWORDS, most=1)
    if not near:
        return ""
    if near[0] == "RUN":  # prose may say "run the pass"; what a tool follows is meant for us
        return _instead(word, colon, "RUN") if following in tools or following == "not" else ""
    return _instead(word, colon, near[0]) if word.isupper() else ""


def _instead(word: str, colon: str, keyword: str) -> str:
    if word == keyword:
        return f"missing ':' right after '{word}'"
    return f"unknown keyword '{word}{colon}'; did you mean '{keyword}:'?"


def _directive(opening: re.Match[str], prefixes: tuple[str, ...]) -> str:
    """Judge a first word that may be meant as a directive; return a message or nothing."""
    word, colon = opening[1], opening[4] and not opening[3]
    plain = word.partition("{")[0]
    known = prefixes or ("CHECK",)
    kind = _KIND.search(plain)
    prefix = plain[: kind.start()] if kind else plain
    if prefix in known and plain == word.removesuffix("{LITERAL}"):
        # "C code ..." is prose where C is a prefix; "C-NEXT ..." is not.
        return f"missing ':' right after '{word}'" if len(plain) >= _SHORT else ""
    if plain in _PROSE or not (colon or kind):
        return ""
    meant = _meant(word, known)
    if meant:
        return f"unknown directive '{word}'; did you mean '{meant}'?"
    if not kind and not plain.startswith("CHECK") and not (plain.isupper() and len(plain) > 2):
        return ""  # prefixes are in capitals
    if not prefixes:
        return f"no RUN line checks this; add '| filecheck %s --check-prefix={prefix}' to one"
    return f"no RUN line uses the prefix '{prefix}'; they use {', '.join([repr(name) for name in prefixes])}"


def _meant(word: str, prefixes: Sequence[str]) -> str:
    """Return the directive that a word with a mistake is meant to be, or nothing."""
    plain, brace, _ = word.partition("{")
    literal = "{LITERAL}" if brace else ""
    normal = plain.upper().replace("_", "-")
    for name in [f"{prefix}{suffix}" for prefix in prefixes for suffix in _SUFFIXES]:
        if normal == name.upper().replace("_", "-") and len(name) >= _SHORT:
            return name + literal
    for prefix in prefixes:
        if normal.startswith(f"{prefix.upper()}-"):
            suffix = _nearest_suffix(normal[len(prefix) :])
            return f"{prefix}{suffix}{literal}" if suffix else ""
    if sum(map(str.isupper, plain)) * 2 <= sum(map(str.isalpha, plain)):
        return ""  # mostly small letters: prose
    start, dash, end = normal.rpartition("-")
    long = [prefix for prefix in prefixes if len(prefix) >= _SHORT]
    if dash and (near := closest(start, long, most=1)) and (suffix := _nearest_suffix(dash + end)):
        return f"{near[0]}{suffix}{literal}"
    near = closest(normal, long, most=1)
    return near[0] + literal if near else ""


def _nearest_suffix(suffix: str) -> str:
    """Return the suffix that is meant by `-...`, or nothing."""
    counted = re.fullmatch(r"-[A-Z]+-?(\d+)", suffix)
    near = closest(suffix[1:].rstrip("-0123456789"), [*KINDS, "COUNT"], most=1)
    if not near:
        return ""
    return f"-{near[0]}" if near[0] != "COUNT" else f"-COUNT-{counted[1] if counted else 2}"


def _unused(source: Source, used: Iterable[Matcher]) -> Iterator[Diagnostic]:
    for matcher in used:
        present = {directive.prefix for directive in scan(source, matcher.options.prefixes)}
        for prefix in matcher.options.prefixes:
            if prefix not in present:
                message = f"no line of this file has a directive with the prefix '{prefix}'"
                yield error(message, naming_word(matcher.command, prefix).span, "check-prefix")


def naming_word(command: Command, prefix: str) -> Word:
    """Return the word of a `filecheck` command that names a prefix, or the command itself."""
    for word in command.words[1:]:
        if prefix in word.text.rpartition("=")[2].split(","):
            return word
    return command.words[0]


def _unmatched(source: Source) -> Iterator[Diagnostic]:
    for directive in scan(source, ("CHECK",))[:1]:
        message = "no RUN line checks this; add '| filecheck %s' to one"
        yield error(message, directive.span, "check-directive")


def _texts(source: Source, prefixes: tuple[str, ...]) -> Iterator[Diagnostic]:
    """Judge each directive by itself."""
    for directive in scan(source, prefixes):
        if directive.kind == "COUNT" and directive.count == 0:
            yield error(f"{directive.name}: the count must be at least 1", directive.span, "check-directive")
        elif directive.kind == "EMPTY" and directive.argument:
            yield error(f"{directive.name}: takes no text", directive.argument_span, "check-directive")
        elif directive.kind != "EMPTY" and not directive.argument:
            yield error(f"{directive.name}: has no text to look for", directive.span, "check-directive")
        else:
            try:
                found = list(variables(directive))
            except MalformedError as malformed:
                yield malformed.diagnostic
            else:
                if found and directive.kind == "LABEL":
                    yield error(f"{directive.name}: can have no captures", found[0].span, "check-directive")


def _order_and_variables(source: Source, options: CheckOptions) -> Iterator[Diagnostic]:
    """Judge the directives of one `filecheck` in order: what must follow another, what must be captured before."""
    defined = {name for name, _ in options.variables}
    anchored = False
    for directive in scan(source, options.prefixes):
        if directive.kind in ("NEXT", "SAME", "EMPTY") and not anchored:
            message = f"{directive.name}: must follow a directive that matches a line; begin with '{directive.prefix}:'"
            yield error(message, directive.span, "check-directive")
        anchored = anchored or directive.kind != "NOT"
        if directive.kind == "LABEL" and options.enable_var_scope:
            defined = {name for name in defined if name.startswith("$")}
        here: set[str] = set()
        try:
            for variable in variables(directive):
                if variable.defined:
                    here.add(variable.name)
                elif variable.name not in defined and variable.name not in here:
                    hint = did_you_mean(variable.name, sorted(defined | here))
                    yield error(f"'{variable.name}' is not captured before this line{hint}", variable.span, "capture")
        except MalformedError:
            continue  # _texts tells
        if directive.kind != "NOT":  # what must not match captures nothing
            defined |= here
