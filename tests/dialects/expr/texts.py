"""Other texts of the same program, and texts with a mistake in them: both from tokens and a random source."""

from __future__ import annotations

import json
from random import Random
from typing import Final

from scaly_ir.text.spelling import read_name
from scaly_ir.text.terminals import Lexeme, scan

_SPACES: Final = (" ", " ", "\n", "\t", "   ", "\r\n", "\n\n", ' // a comment: { " %x = 1\n', "//\r\n", "\n//\n\t")

_LISTED: Final = (
    "%|@|-|.|+|<|>|{|}|(|)|[|]|,|:|=|->|\r|/|//|# c|#sp0|#|;|0|1|-1|-0.0|1.|.5|1e9|1e400|00|0x1|9223372036854775808",
    "inf|-inf|nan|-nan|nan<0x7ff8000000000001>|nan<0x7fc00001>|nan<0x1>|\uff11|é|\u2028|\ud800|True|False|None|true",
    "slice|splat|splat<0.0>|splat<True>|splat<1e99>|float64|int32|x|_|a.b|prog.add|prog.store|prim.sin|my.op|return",
    "expr.module|expr.module {|expr.func|expr.region|expr.return|expr.return %0|expr.add|expr.add()|expr.",
    '%x|%"x"|%0|%00|%1|%|%""|@""|%"\\q"|%"-"|%-|@f|@"f"|""|"x"|"|"\\ud800"|{}|{a=1}|{a=1, a=2}|{lowering="auto"}',
    '{lowering="block"}|{lowering=block}|{name="x"}|{value=1}|{callee="f", output=0}|{axes=[0], kind="add"}',
    "{axes=[0,]}|{index=[slice(1, None, 2)]}|{shape=[]}|{inf=1}|{a=--1}|[1, 2]|[[1], [2, 3]]|[]|[[]]|[True]",
    "tensor<float64>|tensor<float64 diff>|tensor<3xfloat64 diff>|tensor<0xbool>|tensor<3xf64>|tensor<>|tensor<|tensor",
    "tensor<2x3xfloat64, sparse<rows=[0], cols=[1]>>|tensor<2x3xfloat64, sparse<rows=[0,0], cols=[1,1]>>",
    "tensor<2x3xfloat64, sparse<#sp0>>|#sp0 = sparse<rows=[0], cols=[1]>|sparse<rows=[0, 0], cols=[1, 1]>",
    "expr.input|expr.const|expr.foo|1 2|] 7|7 [|, |],|,[",
)
_LONG: Final = ("9" * 401, "9" * 4301, "[" * 120)

ODD_TOKENS: Final = (*"|".join(_LISTED).split("|"), *_LONG)
"""What may come out when somebody's hand slips, or means harm."""


def _lexemes(text: str) -> list[Lexeme]:
    return list(scan(text, numbered=True))


def relaid(text: str, random: Random) -> str:
    """Return a text of the same meaning in another layout and with other spellings of names and numbers."""
    written = ["\ufeff"] if random.random() < 0.3 else []
    dense = random.random() < 0.3
    before = "PUNCTUATION"
    renamed: dict[str, str] = {}
    for lexeme in _lexemes(text)[:-1]:
        apart = before != "PUNCTUATION" and lexeme.kind != "PUNCTUATION"
        if apart or not dense or random.random() < 0.1:
            written.append("".join(random.choices(_SPACES, k=random.randint(apart, 2))))
        written.append(_respelled(lexeme, random, renamed))
        before = lexeme.kind
    return "".join([*written, *random.choices(_SPACES, k=random.randint(0, 2))])


def _respelled(lexeme: Lexeme, random: Random, renamed: dict[str, str]) -> str:
    text = lexeme.text
    if lexeme.kind == "VALUE" and text[1:].isdigit():
        return renamed.setdefault(text, random.choice((text, f"%v.{text[1:]}", f'%"value {text[1:]}"')))
    if random.random() < 0.6:
        return text
    if lexeme.kind in ("VALUE", "SYMBOL"):
        return text[0] + json.dumps(read_name(text[1:]), ensure_ascii=random.random() < 0.5)
    if lexeme.kind == "TENSOR":
        return text.replace(", ", random.choice((",", " , ", ",\n"))).replace(" diff", "\t diff")
    if lexeme.kind == "INT" and not text.startswith("-"):
        return f"00{text}"
    if lexeme.kind == "FLOAT" and "n" not in text:
        return random.choice((text, f"{text}0", f"{text}e0", text.removesuffix("0")) if "e" not in text else (text,))
    return text


def mistaken(text: str, random: Random) -> str:
    """Return a text in which something was left out, doubled, swapped or replaced."""
    parts = []
    end = 0
    for lexeme in _lexemes(text):
        parts.append(text[end : lexeme.end])
        end = lexeme.end
    at = random.randrange(len(parts))
    choice = random.randrange(6)
    if choice == 0:
        del parts[at]
    elif choice == 1:
        parts.insert(at, parts[at])
    elif choice == 2:
        parts[at : at + 2] = parts[at : at + 2][::-1]
    elif choice == 3:
        return text[: random.randrange(len(text))]
    else:
        parts[at] = random.choice(("", " ")) + (
            random.choice(ODD_TOKENS) if random.random() < 0.6 else random.choice(parts)
        )
    return "".join(parts)


def mistaken_line(text: str, random: Random) -> str:
    """Return a text in which a line was left out, doubled or moved."""
    lines = text.splitlines(keepends=True)
    at, other = random.randrange(len(lines)), random.randrange(len(lines))
    choice = random.randrange(3)
    line = lines.pop(at)
    if choice:
        lines.insert(other, line)
    if choice == 2:
        lines.insert(at, line)
    return "".join(lines)
