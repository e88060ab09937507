"""What verification may look at in a text with mistakes, so that one mistake gives one error.

A statement with a mistake in it is not checked, and what it declares stands for nothing known; so do names that text
which could not be read seems to define. A procedure whose braces do not match is left out altogether.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from scaly_ir.dialect import verify_parsed
from scaly_ir.dialects.prog import ops
from scaly_ir.dialects.prog.context import Damage
from scaly_ir.dialects.prog.spec import check_damaged
from scaly_ir.graph import Node
from scaly_ir.text.diagnostics import Diagnostic
from scaly_ir.text.locations import Locations
from scaly_ir.text.spelling import LiteralError, read_name
from scaly_ir.text.terminals import Lexeme, scan

_BODIES: Final = frozenset({ops.PROGRAM, ops.PROC, ops.FOR})


def verify_damaged(
    root: Node, numbered: Sequence[Node], locations: Locations, diagnostics: Sequence[Diagnostic]
) -> list[Diagnostic]:
    """Return the mistakes in what could be read of a text, besides those that are known.

    `root` is what was read, `numbered` are its operations as `locations` numbers them.
    """
    mixed = root.op is ops.BLOCK and any([node.op in (ops.PROGRAM, ops.PROC) for node in root.args])
    if mixed or len(numbered) != len(locations.starts):
        return []
    text = locations.source.text
    lexemes = list(scan(text))
    mistakes = sorted([found.span.start for found in diagnostics if found.span is not None])
    left_out = _unbalanced(lexemes)
    wrong, sound, line_end = set(), [], -1
    for number, node in enumerate(numbered):
        start, end = locations.starts[number], locations.ends[number]
        if line_end < end:  # what stands behind a statement on its line may be a part of it
            line_end = text.find("\n", end) % (len(text) + 1)
        at = bisect_right(mistakes, line_end)
        within = at > 0 and mistakes[at - 1] >= start
        replaced = node.op in _BODIES and text[end - 1] not in '{"'
        if within or replaced or bisect_right(left_out, start) % 2:
            wrong.add(number)
        else:
            sound.append((start, end))
    damage = Damage(frozenset(wrong), _lost_names(text, lexemes, sound))
    known = set(mistakes)
    found = verify_parsed(root, locations, check_damaged(root, damage))
    return [each for each in found if each.span is None or each.span.here.start not in known]


def _unbalanced(lexemes: Sequence[Lexeme]) -> list[int]:
    """Return where procedures begin and end in which braces do not match."""
    found: list[int] = []
    begun: int | None = None
    depth = lowest = rest = 0
    for lexeme in lexemes:
        if lexeme.text == ops.PROC.name or lexeme.kind == "END":
            expected = -rest if lexeme.kind == "END" else 0  # a module ends behind its last procedure
            if begun is not None and (depth != expected or lowest < expected):
                found += [begun, lexeme.start]
            if begun is None:
                rest = depth
                if lowest < 0:
                    return [0, lexemes[-1].end + 1]
            begun, depth, lowest = lexeme.start, 0, 0
        depth += {"{": 1, "}": -1}.get(lexeme.text, 0)
        lowest = min(lowest, depth)
    return found


def _lost_names(text: str, lexemes: Sequence[Lexeme], sound: Sequence[tuple[int, int]]) -> frozenset[str]:
    """Return the names that text outside of the `sound` ranges may define, of values and of procedures."""
    found = set()
    read = iter([*sound, (len(text) + 1, len(text) + 1)])
    start, end = next(read)
    before = 0
    leads = True
    """Whether what stands here is the first on its line, or behind an operation that is."""
    heads = False
    """Whether it is in the head of a procedure, in which all names are defined."""
    for lexeme, after in pairwise(lexemes):
        leads = "\n" in text[before : lexeme.start] or (leads and lexeme.kind != "PUNCTUATION")
        before = lexeme.end
        heads = (heads and lexeme.text != "{") or lexeme.text == ops.PROC.name
        while end <= lexeme.start:
            start, end = next(read)
        if lexeme.kind in _NAMES and lexeme.start < start:
            if lexeme.kind == "SYMBOL" or leads or heads or after.text in ("=", ":"):
                found.add(_name(lexeme))
            leads = False
    return frozenset(found)


_NAMES: Final = frozenset({"VALUE", "SYMBOL", "WORD"})


def _name(lexeme: Lexeme) -> str:
    try:
        return lexeme.text if lexeme.kind == "WORD" else read_name(lexeme.text[1:])
    except LiteralError:
        return ""
