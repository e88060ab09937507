"""The words of functions of matrices, loops and buffers, and what to say of common mistakes."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from scaly_ir.dialects.matrix.words import TERMINALS
from scaly_ir.dialects.prog.language import OPERATORS, SCALAR_GRAMMAR
from scaly_ir.text.language import ATTRIBUTE_VALUE, Language, Sentence

_HERE: Final = Path(__file__).parent.parent
_SCALAR: Final = frozenset({"INT", "FLOAT", "VALUE", "OPERATOR", "CAST", "CONST", "NAME", "LPAR"})
_STATEMENT: Final = frozenset({"FOR", "WRITE", "TERMINATOR"})
_TYPE: Final = frozenset({"MEMREF", "DTYPE", "INDEX"})
_RESULTS: Final = "a function has its results after '->', as in '-> (%y: memref<3xfloat64>)'"

LANGUAGE: Final = Language(
    name="matrix",
    grammar=(SCALAR_GRAMMAR, *[_HERE / name / "assembly.lark" for name in ("buffer", "affine", "matrix")]),
    keywords={
        "buffer.func": "FUNC",
        "buffer.alloc": "ALLOC",
        "buffer.read": "READ",
        "buffer.write": "WRITE",
        "affine.for": "FOR",
        "buffer.return": "TERMINATOR",
        "affine.yield": "TERMINATOR",
        "matrix.yield": "TERMINATOR",
        "prog.cast": "CAST",
        "prog.const": "CONST",
        "to": "TO",
        "step": "STEP",
        "iter": "ITER",
        "init": "INITIAL",
        "undef": "UNDEF",
        "index": "INDEX",
    },
    operators=tuple(OPERATORS),
    starters=_STATEMENT | {"FUNC"},
    scalars=_SCALAR,
    outer=frozenset({"FUNC"}),
    binders=frozenset({"affine.for", "(", ","}),
    stubs={
        "FUNC": [
            *(("FUNC", "buffer.func"), ("SYMBOL", "@-"), ("LPAR", "("), ("RPAR", ")"), ("ARROW", "->")),
            *(("LPAR", "("), ("RPAR", ")"), ("LBRACE", "{")),
        ],
        "FOR": [
            *(("FOR", "affine.for"), ("VALUE", "%-"), ("EQUAL", "="), ("INT", "0"), ("TO", "to"), ("INT", "0")),
            *(("STEP", "step"), ("INT", "1"), ("LBRACE", "{")),
        ],
    },
    groups=[
        (ATTRIBUTE_VALUE | {"MAP"}, "an attribute value"),
        (_STATEMENT | {"NAME", "VALUE"}, "a statement"),
        (_TYPE, "a type"),
        (frozenset({"NAME", "ALLOC", "READ", "FOR", "OPERATOR", "CAST", "CONST", "LPAR"}), "an operation"),
        (frozenset({"OPERATOR"}), "an operation on scalars"),
    ],
    sentences=[
        Sentence("ARROW", frozenset({"LBRACE", "LATTRS", "COLON"}), f"expected '->' before '{{found}}'; {_RESULTS}"),
        Sentence("COLON", _TYPE, "expected ':' before '{found}'"),
        Sentence("LSQB", frozenset({"COLON", "COMMA"}), "expected indices in brackets after '{before}'"),
        Sentence(
            "LABEL", frozenset({"VALUE", "NAME", "RBRACE", "TERMINATOR"}), "expected '^comb(...):' before '{found}'"
        ),
    ],
    hints={
        "matmul": "write 'matrix.prod'",
        "load": "write 'buffer.read'",
        "store": "write 'buffer.write'",
        "if": "there are no branches; 'prog.select' chooses between two values",
        "else": "there are no branches; 'prog.select' chooses between two values",
        "while": "the number of trips is known before a loop; write 'affine.for'",
        "return": "write 'buffer.return'",
        "yield": "write 'matrix.yield' or 'affine.yield'",
        "func": "write 'buffer.func'",
        "true": "a bool is written 0 or 1",
        "false": "a bool is written 0 or 1",
    },
    after_scalar=frozenset({"COMMA", "RPAR", "RSQB", "COLON", "TO", "STEP", "RBRACE", "VALUE", "NAME"}),
    numbered=True,
    forms="a file holds functions",
    terminals=TERMINALS,
)
