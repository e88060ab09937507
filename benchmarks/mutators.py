"""Ways to break a text: bytes, tokens, lines, numbers, types, names, operations and attributes, one change at a time.

Each takes a text, other texts to splice from and a source of chance, and returns another text. What some of them make
is still valid, so that what comes after the reader has work too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from random import Random

Mutator = Callable[[str, Sequence[str], Random], str]

_TOKEN = re.compile(r'//[^\n]*|"(?:[^"\\\n]|\\.)*"|[%@]?[\w.$-]+|\s+|.', re.DOTALL)
_NUMBER = re.compile(r"(?<![\w.%@$])-?\d+(?:\.\d*)?(?:e[+-]?\d+)?")
_EXTENT = re.compile(r"(?<=[<x])\d+(?=x)")
_TYPE = re.compile(r"(?<![a-z_])(?:float64|float32|int64|int32|bool)\b")
_NAME = re.compile(r'[%@](?:[\w.$-]+|"(?:[^"\\\n]|\\.)*")')
_OPERATION = re.compile(r"(?<![\w.])(?:prog|expr|matrix|buffer|affine)\.[a-z_0-9]+")
_ATTRIBUTE = re.compile(r"[A-Za-z_][\w.]*=(?:\[[^\[\]]*\]|\{[^{}]*\}|[^\s,{}()\[\]]+)")

_HUGE = (
    *("9223372036854775807", "-9223372036854775808", "18446744073709551616", "2147483648", "99999999", "1" * 400),
    *("1e308", "1e-320", "1e999", "-0.0", "nan", "inf", "-inf", "nan<0x7ff8000000000001>", "0x10", "1_0"),
)
_SMALL = ("0", "1", "2", "3", "-1", "-2", "7", "64", "1000", "0.5", "-0.0")
_ODD = (
    *("{", "}", "(", ")", "[", "]", "<", ">", ",", ":", "=", '"', "%", "@", "//", "\\", "\0", "\r", "\t", "\n", "#"),
    *("é", "\u2028", "\ufeff", "\u0661", "->", "None", "True", "slice(0, 1, None)", "dense<[1]>", "splat<0.0>"),
    *("elided<3>", "dense<elided<3>>", "tensor<0xfloat64>", "tensor<float64>", "memref<4xfloat64, private>", "none"),
    *('%"a b"', "@f", "%0", "%x[0]", '"expr.add"', '"prog.add"(', "// -----\n", 'loc("a":1:1)', "float64", "1:2"),
)


def _pick(pattern: re.Pattern[str], text: str, random: Random) -> re.Match[str] | None:
    found = list(pattern.finditer(text))
    return random.choice(found) if found else None


def _replaced(text: str, place: re.Match[str] | None, by: str) -> str:
    return text if place is None else text[: place.start()] + by + text[place.end() :]


def _byte(text: str, _: Sequence[str], random: Random) -> str:
    at = random.randrange(len(text) + 1)
    put = random.choice(("", chr(random.randrange(128)), chr(random.randrange(0x2100)), random.choice(_ODD)))
    return text[:at] + put + text[at + random.randrange(2) :]


def _cut(text: str, _: Sequence[str], random: Random) -> str:
    return text[: random.randrange(len(text) + 1)]


def _token(text: str, others: Sequence[str], random: Random) -> str:
    parts = _TOKEN.findall(text)
    places = [at for at, part in enumerate(parts) if not part.isspace() and not part.startswith("//")]
    if not places:
        return text
    at, other = random.choice(places), random.choice(places)
    match random.randrange(5):
        case 0:
            parts[at] = ""
        case 1:
            parts[at] = f"{parts[at]} {parts[at]}"
        case 2:
            parts[at], parts[other] = parts[other], parts[at]
        case 3:
            parts[at] = random.choice(_ODD)
        case _:
            found = _pick(_TOKEN, random.choice(others), random)
            parts[at] = found[0] if found else ""
    return "".join(parts)


def _lines(text: str, others: Sequence[str], random: Random) -> str:
    lines = text.splitlines(keepends=True)
    if not lines:
        return text
    at, other = random.randrange(len(lines)), random.randrange(len(lines))
    match random.randrange(5):
        case 0:
            del lines[at]
        case 1:
            lines.insert(other, lines[at])
        case 2:
            lines[at], lines[other] = lines[other], lines[at]
        case 3:
            foreign = random.choice(others).splitlines(keepends=True) or [""]
            lines.insert(at, random.choice(foreign))
        case _:
            foreign = random.choice(others).splitlines(keepends=True)
            lines[at:] = foreign[random.randrange(len(foreign) + 1) :]
    return "".join(lines)


def _huge(text: str, _: Sequence[str], random: Random) -> str:
    return _replaced(text, _pick(_NUMBER, text, random), random.choice(_HUGE))


def _small(text: str, _: Sequence[str], random: Random) -> str:
    return _replaced(text, _pick(_NUMBER, text, random), random.choice(_SMALL))


def _all_alike(pattern: re.Pattern[str], choices: Sequence[str]) -> Mutator:
    """Return a mutator that puts another word for one that is there, wherever it stands or at one place."""

    def mutate(text: str, _: Sequence[str], random: Random) -> str:
        place = _pick(pattern, text, random)
        if place is None:
            return text
        by = random.choice(choices)
        if random.randrange(2):
            return _replaced(text, place, by)
        return pattern.sub(lambda found: by if found[0] == place[0] else found[0], text)

    return mutate


def _swap(pattern: re.Pattern[str]) -> Mutator:
    """Return a mutator that puts a word of the text, or of another one, in the place of one of the same kind."""

    def mutate(text: str, others: Sequence[str], random: Random) -> str:
        source = text if random.randrange(3) else random.choice(others)
        by = _pick(pattern, source, random)
        return text if by is None else _replaced(text, _pick(pattern, text, random), by[0])

    return mutate


def _add_attribute(text: str, others: Sequence[str], random: Random) -> str:
    place, by = _pick(_ATTRIBUTE, text, random), _pick(_ATTRIBUTE, random.choice(others), random)
    return text if place is None or by is None else _replaced(text, place, f"{place[0]}, {by[0]}")


MUTATORS: dict[str, Mutator] = {
    "byte": _byte,
    "cut": _cut,
    "token": _token,
    "lines": _lines,
    "huge number": _huge,
    "small number": _small,
    "extent": _all_alike(_EXTENT, ("0", "1", "2", "3", "5", "1000", "99999999", "4294967296")),
    "type": _all_alike(_TYPE, ("float64", "float32", "int64", "int32", "bool")),
    "name": _swap(_NAME),
    "operation": _swap(_OPERATION),
    "attribute": _swap(_ATTRIBUTE),
    "another attribute": _add_attribute,
}


def mutated(text: str, others: Sequence[str], random: Random) -> str:
    """Return a text with some changes, mostly one."""
    for _ in range(random.choice((1, 1, 1, 2, 3))):
        text = random.choice(tuple(MUTATORS.values()))(text, others, random)
    return text


def mutated_word(word: str, words: Sequence[str], random: Random) -> str:
    """Return a word of a command line with a character, a number or a part of another word changed."""
    match random.randrange(4):
        case 0:
            return _byte(word, words, random).replace("\0", "")
        case 1:
            return _huge(word, words, random)
        case 2:
            other = random.choice(words)
            return word[: random.randrange(len(word) + 1)] + other[random.randrange(len(other) + 1) :]
        case _:
            return random.choice(words)
