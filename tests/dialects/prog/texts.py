"""Other texts of the same program, and texts with a mistake in them: both from tokens and a random source.

Dialects with terminals of their own give the function that cuts their text.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from random import Random
from typing import Final

from scaly_ir.text.spelling import read_name
from scaly_ir.text.terminals import Lexeme, scan

_SPACES: Final = (" ", " ", "\n", "\t", "   ", "\r\n", "\n\n", ' // a comment: { " %x = 1\n', "//\r\n", "\n//\n\t")
_KEYS: Final = frozenset({"WORD", "NAME", "STRING"})

_LISTED: Final = (
    "| |%|@|-|.|+|<|>|{|}|(|)|[|]|,|:|=|\r|\0|\x0b|/|//|/*|// c|#|&|`|'|\\|\n|;",
    "0|1|-1|-0|-0.0|1.|.5|-.5|1e9|1e400|-1e400|1e-400|00|1_0|0x1|1e|+1|--1|9223372036854775808|-9223372036854775808",
    "inf|-inf|nan|-nan|infinity|Infinity|NaN|nan<0x7ff8000000000001>|nan<0x7fc00001>|nan<0x7ff0000000000000>|nan<0x1>",
    "nan<0xfff8000000000000>|nan<|inf<",
    "\uff11|\u00b2|\u0661|\u0663.\u0665|\u00bd|\u2167|é|名|\u00a0|\u2028|\ufeff|\ud800",
    "True|False|None|true|slice|float64|bool|int32|float16|memref|host|serial|vector|x|_|a.b|prog|prog.|prog.foo|my.op",
    "to|step|offset|dense|elided|declare|kind|prog.module|prog.proc|prog.for|prog.buffer|prog.alias|prog.workspace",
    "prog.store|prog.store_pair|prog.assign|prog.call|prog.load|prog.cast|prog.const|prog.add|prog.lt|prog.select|expr.add",
    "prog.add(|prog.add()|prog.neg(1)|prog.lt(1, 2)|prog.const(1, bool)|prog.const(-, float64)|prog.const(2, bool)",
    '%x|%y|%"x"|%"\\"x\\""|%"|%""|@""|%"\\q"|%"\\u12"|%0|%-|%a-b|@f|%SCALY_W|%x[0]|%x[|%"\t"',
    '""|"a"|"|"\\|"\\ud800"|"\\ud83d\\ude42"|"\t"',
    "memref<4xfloat64>|memref<float64>|memref<4xfloat64, private>|memref<4xfloat64,private>|memref<0xbool>|memref<4x>",
    "memref<4xfloat16>|memref<-1xint32>|memref<4xfloat64, wrong>|memref<04xint64>|memref< 4xbool>|memref<4xxfloat64>",
    "memref<9999999999999999999xbool>|memref<\uff11xbool>|memref<|memref<>|memref<4x4xfloat64,\tlocal>",
    "{}|{kind=serial}|{declare=True}|{declare=False}|{declare=1}|{kind=float64}|{kind=slice}|{kind=inf}|{kind=nan}",
    '{kind=\uff11}|{a=1, a=2}|{"a"=1}|{a.b=1}|{a=[1, 2]}|{a={b=1}}|{a=slice(1, 2, 3)}|{a=-1}|{name=1}|{inf=1}',
    '{a=}|{a=1,}|{=1}|{a}|{True=True}|{a="\\q"}|{a="x"}|{a=1.5}|{a=--1}|{a=\u00b2}|{a=%x}',
    "# x %a = prog.add\n|# }|/* a|/* a } */|*/|->|+ 1|- 1|**|==|!=|&&|@é|%é|f64|i1|index|memref<4xf32>|memref<xx>",
    "{declare=true}|{sz_w=99999999999999999999}|func|func.func|return|module|a.b = 1",
    "dense<[]>|dense<[1]>|dense<[1,]>|dense<[,]>|dense<[1 2]>|dense<elided<3>>|dense<elided<-1>>|dense<>",
)
_LONG: Final = ("9" * 30, "-" + "9" * 4300, "9" * 4301, "0" * 4301)

Cut = Callable[[str], Iterable[Lexeme]]

ODD_TOKENS: Final = (*"|".join(_LISTED).split("|"), *_LONG)
"""What may come out when somebody's hand slips, or means harm."""


def pieces(text: str, scan: Cut = scan) -> list[str]:
    """Return the tokens of a text, each with what stands before it; the last one is what follows the last token."""
    cut = []
    end = 0
    for lexeme in scan(text):
        cut.append(text[end : lexeme.end])
        end = lexeme.end
    return cut


# --- other layouts ----------------------------------------------------------------------------------------------------


def relaid(text: str, random: Random, scan: Cut = scan) -> str:
    """Return a text of the same meaning in another layout, other spellings and another order of attributes."""
    lexemes = _shuffled([lexeme for lexeme in scan(text) if lexeme.kind != "END"], random)
    dense = random.random() < 0.3
    written = ["\ufeff"] if random.random() < 0.3 else []
    before = "PUNCTUATION"
    in_table = False
    for lexeme in lexemes:
        apart = before != "PUNCTUATION" and lexeme.kind != "PUNCTUATION"
        if apart or not dense or random.random() < 0.1:
            written.append("".join(random.choices(_SPACES, k=random.randint(apart, 2))))
        in_table = lexeme.text == "dense" or (in_table and lexeme.text != ">")
        written.append(_respelled(lexeme, random, in_table=in_table))
        before = lexeme.kind
    return "".join([*written, *random.choices(_SPACES, k=random.randint(0, 2))])


def _shuffled(lexemes: Sequence[Lexeme], random: Random) -> list[Lexeme]:
    """Return the tokens with the attributes of each statement in another order."""
    shuffled: list[Lexeme] = []
    at = 0
    while at < len(lexemes):
        after = lexemes[at + 1 : at + 3]
        begins = lexemes[at].text == "{" and len(after) == 2 and after[0].kind in _KEYS and after[1].text == "="
        shuffled.append(lexemes[at])
        at += 1
        if not begins:
            continue
        depth = 1
        entries: list[list[Lexeme]] = [[]]
        while depth:
            lexeme = lexemes[at]
            depth += {"{": 1, "[": 1, "(": 1, "}": -1, "]": -1, ")": -1}.get(lexeme.text, 0)
            at += 1
            if depth == 1 and lexeme.text == ",":
                entries.append([])
            elif depth:
                entries[-1].append(lexeme)
        random.shuffle(entries)
        for entry in entries:
            shuffled.extend([*entry, lexeme._replace(kind="PUNCTUATION", text=",")])
        shuffled[-1] = lexeme
    return shuffled


def _respelled(lexeme: Lexeme, random: Random, *, in_table: bool) -> str:
    text = lexeme.text
    if random.random() < 0.6:
        return text
    if lexeme.kind in ("VALUE", "SYMBOL"):
        return text[0] + json.dumps(read_name(text[1:]), ensure_ascii=random.random() < 0.5)
    if lexeme.kind == "INT" and not text.startswith("-"):
        return f"00{text}"
    if lexeme.kind != "FLOAT" or "n" in text:
        return text.replace("abcdef", "ABCDEF")
    choices = [text]
    if "e" not in text:
        choices += [f"{text}0", f"{text}e0", f"{text}E+00"]
    if text.endswith(".0"):
        choices += [text[:-1], text[:-2] if in_table else text]  # elsewhere the number may become an integer
    if "0." in text[:3]:
        choices.append(text.replace("0.", ".", 1) if not text.endswith("0.0") else text)
    return random.choice(choices)


# --- mistakes ---------------------------------------------------------------------------------------------------------


def _delete(parts: list[str], at: int, random: Random) -> list[str]:
    return parts[:at] + parts[at + 1 :]


def _duplicate(parts: list[str], at: int, random: Random) -> list[str]:
    return parts[: at + 1] + parts[at:]


def _swap(parts: list[str], at: int, random: Random) -> list[str]:
    return parts[:at] + parts[at + 1 : at + 2] + parts[at : at + 1] + parts[at + 2 :]


def _replace(parts: list[str], at: int, random: Random) -> list[str]:
    other = random.choice(ODD_TOKENS) if random.random() < 0.7 else random.choice(parts)
    return [*parts[:at], f"{random.choice(('', ' '))}{other}", *parts[at + 1 :]]


def _insert(parts: list[str], at: int, random: Random) -> list[str]:
    return [*parts[:at], f"{random.choice(('', ' '))}{random.choice(ODD_TOKENS)}", *parts[at:]]


def _move(parts: list[str], at: int, random: Random) -> list[str]:
    to = random.randrange(len(parts))
    rest = parts[:at] + parts[at + 1 :]
    return [*rest[:to], parts[at], *rest[to:]]


def _truncate(parts: list[str], at: int, random: Random) -> list[str]:
    return [*parts[:at], parts[at][: random.randint(0, len(parts[at]))]]


def _character(parts: list[str], at: int, random: Random) -> list[str]:
    part = parts[at]
    where = random.randint(0, len(part))
    other = random.choice(ODD_TOKENS)[:1]
    return [*parts[:at], part[:where] + other + part[where + random.randint(0, 1) :], *parts[at + 1 :]]


MISTAKES: Final[Sequence[Callable[[list[str], int, Random], list[str]]]] = (
    *(_delete, _duplicate, _swap, _replace, _replace, _insert, _insert, _move, _truncate, _character),
)


def mistaken(text: str, random: Random, scan: Cut = scan) -> str:
    """Return a text with one mistake, seldom more; it may happen to be right all the same."""
    parts = pieces(text, scan)
    for _ in range(1 + (random.random() < 0.15)):
        parts = random.choice(MISTAKES)(parts, random.randrange(len(parts)), random) or [""]
    return "".join(parts)
