"""The words of `prog` text: keywords, what statements and scalars begin with, and what to say of common mistakes."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from scaly_ir.dialects.prog import ops
from scaly_ir.prim import SCALAR_OPS
from scaly_ir.text.language import Language, Sentence

OPERATORS: Final = {f"prog.{name}": ops.OPERATORS[f"prog.{name}"] for name in SCALAR_OPS if name != "cast"}
"""The scalar operators that the grammar knows; those that are registered later are read as other names are."""

_KEYWORDS: Final = {
    "prog.module": "MODULE",
    "prog.proc": "PROC",
    "prog.for": "FOR",
    "prog.buffer": "BUFFER",
    "prog.alias": "ALIAS",
    "prog.workspace": "WORKSPACE",
    "prog.store": "STORE",
    "prog.store_pair": "STORE_PAIR",
    "prog.assign": "ASSIGN",
    "prog.call": "CALL",
    "prog.load": "LOAD",
    "prog.cast": "CAST",
    "prog.const": "CONST",
    "to": "TO",
    "step": "STEP",
    "offset": "OFFSET",
    "dense": "DENSE",
    "elided": "ELIDED",
}

_STATEMENT: Final = frozenset({"FOR", "STORE", "STORE_PAIR", "CALL", "VALUE"})
_SCALAR: Final = frozenset({"INT", "FLOAT", "VALUE", "LOAD", "OPERATOR", "CAST", "CONST", "NAME", "LPAR"})

_SIGNS: Final = (
    ("**", "pow"),
    ("<=", "le"),
    ("==", "eq"),
    ("!=", "ne"),
    ("&&", "and"),
    ("||", "or"),
    ("+", "add"),
    ("-", "sub"),
    ("*", "mul"),
    ("/", "div"),
    ("%", "mod"),
    ("<", "lt"),
    ("&", "and"),
    ("|", "or"),
)

_NO_BRANCH: Final = "there are no branches; 'prog.select' chooses between two values"
_NO_WHILE: Final = "the number of trips is known before a loop; write 'prog.for'"
_NO_RESULT: Final = "a procedure gives no value; what it writes are its last parameters"

SCALAR_GRAMMAR: Final = Path(__file__).with_name("scalars.lark")
"""The rules of scalars, which other dialects share."""

LANGUAGE: Final = Language(
    name="prog",
    grammar=(SCALAR_GRAMMAR, Path(__file__).with_name("assembly.lark")),
    keywords=_KEYWORDS,
    operators=tuple(OPERATORS),
    starters=frozenset({"MODULE", "PROC", "FOR", "STORE", "STORE_PAIR", "CALL"}),
    scalars=_SCALAR,
    outer=frozenset({"MODULE", "PROC"}),
    binders=frozenset({"prog.for"}),
    stubs={
        "MODULE": [("MODULE", "prog.module"), ("LBRACE", "{")],
        "PROC": [("PROC", "prog.proc"), ("SYMBOL", "@-"), ("LPAR", "("), ("RPAR", ")"), ("LBRACE", "{")],
        "FOR": [
            *(("FOR", "prog.for"), ("VALUE", "%-"), ("EQUAL", "="), ("INT", "0"), ("TO", "to"), ("INT", "0")),
            *(("STEP", "step"), ("INT", "1"), ("LATTRS", "{"), ("WORD", "kind"), ("EQUAL", "=")),
            *(("WORD", "serial"), ("RBRACE", "}"), ("LBRACE", "{")),
        ],
    },
    groups=[
        (_STATEMENT, "a statement"),
        (frozenset({"ALIAS", "WORKSPACE", "DENSE"}), "'prog.alias', 'prog.workspace' or 'dense'"),
    ],
    sentences=[
        Sentence(
            "LATTRS", frozenset({"LBRACE"}), "expected attributes such as '{{kind=serial}}' before the body", True
        ),
        Sentence("EQUAL", frozenset({"ALIAS", "WORKSPACE", "DENSE"}), "expected '=' before '{found}'"),
        Sentence("COLON", frozenset({"MEMREF", "DTYPE"}), "expected ':' before '{found}'"),
        Sentence("DTYPE", frozenset({"MEMREF"}), "expected a dtype such as 'float64', found '{found}'"),
        Sentence(
            "LSQB", frozenset({"COLON", "COMMA"}), "expected an index in brackets after '{before}', found '{found}'"
        ),
        Sentence("ASSIGN", frozenset({"CALL"}), "'prog.call' gives no value; what it writes are its last arguments"),
        Sentence("ASSIGN", _SCALAR - {"NAME"}, "expected 'prog.assign' before '{found}'"),
    ],
    hints={
        "gt": "write 'prog.lt' with its operands swapped",
        "ge": "write 'prog.le' with its operands swapped",
        "min": "write 'prog.minimum'",
        "max": "write 'prog.maximum'",
        "fabs": "write 'prog.abs'",
        "func": "write 'prog.proc'",
        "function": "write 'prog.proc'",
        "def": "write 'prog.proc'",
        "if": _NO_BRANCH,
        "else": _NO_BRANCH,
        "while": _NO_WHILE,
        "return": _NO_RESULT,
        "->": _NO_RESULT,
        ";": "nothing stands between statements",
        "true": "a bool is written 0 or 1",
        "false": "a bool is written 0 or 1",
        "True": "a bool is written 0 or 1",
        "False": "a bool is written 0 or 1",
    },
    infix={
        ">=": "'prog.le' with its operands swapped",
        **{sign: f"'prog.{name}(..., ...)'" for sign, name in _SIGNS},
        ">": "'prog.lt' with its operands swapped",
    },
    after_scalar=frozenset({"COMMA", "RPAR", "RSQB", "COLON", "TO", "STEP", "LATTRS"}),
)
