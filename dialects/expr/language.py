"""The words of `expr` text: keywords, what operations are called, and what to say of common mistakes."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from scaly_ir.dialects.expr.node import ExprOp
from scaly_ir.text.language import ATTRIBUTE_VALUE, Language, Sentence

OPERATIONS: Final = tuple([f"expr.{operation}" for operation in ExprOp])
"""What the grammar takes for operations at once; those that are registered later are read as other names are."""

_OPERATION: Final = frozenset({"OPERATOR", "NAME"})
_ARROWS: Final = "a function has its outputs after '->', as in '-> (%y: tensor<3xfloat64>)'"

LANGUAGE: Final = Language(
    name="expr",
    grammar=(Path(__file__).with_name("assembly.lark"),),
    keywords={
        "expr.module": "MODULE",
        "expr.func": "FUNC",
        "expr.region": "REGION",
        "expr.return": "RETURN",
        "splat": "SPLAT",
    },
    operators=OPERATIONS,
    starters=frozenset({"MODULE", "FUNC", "REGION", "RETURN", "PATTERN"}),
    scalars=_OPERATION,
    outer=frozenset({"MODULE", "FUNC", "REGION"}),
    stubs={
        "MODULE": [("MODULE", "expr.module"), ("LBRACE", "{")],
        "REGION": [("REGION", "expr.region"), ("SYMBOL", "@-"), ("LBRACE", "{")],
        "FUNC": [
            *(("FUNC", "expr.func"), ("SYMBOL", "@-"), ("LPAR", "("), ("RPAR", ")"), ("ARROW", "->")),
            *(("LPAR", "("), ("VALUE", "%-"), ("COLON", ":"), ("TENSOR", "tensor<bool>"), ("RPAR", ")")),
            ("LBRACE", "{"),
        ],
    },
    groups=[
        (ATTRIBUTE_VALUE | {"SPLAT", "VALUE"}, "an attribute value"),
        (_OPERATION, "an operation such as 'expr.add'"),
        (frozenset({"VALUE", "RETURN"}), "an operation"),
    ],
    sentences=[
        Sentence("ARROW", frozenset({"LBRACE", "LATTRS", "COLON"}), f"expected '->' before '{{found}}'; {_ARROWS}"),
        Sentence("VALUE", _OPERATION, "an operand is a name; give '{found}' a line and a name of its own", alone=True),
        Sentence(
            "VALUE", frozenset({"INT", "FLOAT"}), "an operand is a name; write '{found}' as an 'expr.const'", alone=True
        ),
        Sentence("OPERATOR", frozenset({"INT", "FLOAT"}), "write '{found}' as an 'expr.const'"),
        Sentence("COLON", frozenset({"TENSOR"}), "expected ':' before '{found}'"),
        Sentence("EQUAL", _OPERATION, "expected '=' before '{found}'"),
    ],
    hints={
        "gt": "write 'expr.lt' with its operands swapped",
        "greater": "write 'expr.lt' with its operands swapped",
        "ge": "write 'expr.le' with its operands swapped",
        "greater_equal": "write 'expr.le' with its operands swapped",
        "min": "write 'expr.minimum', or 'expr.reduce' with kind=\"min\"",
        "max": "write 'expr.maximum', or 'expr.reduce' with kind=\"max\"",
        "sum": "write 'expr.reduce' with kind=\"add\"",
        "where": "write 'expr.select'",
        "if": "write 'expr.select'",
        "for": "write 'expr.loop'",
        "while": "write 'expr.loop' with a condition",
        "constant": "write 'expr.const'",
        "dot": "write 'expr.matmul'",
        "take": "write 'expr.gather'",
        "floormod": "write 'expr.mod'",
        "proc": "write 'expr.func'",
        "function": "write 'expr.func'",
        "def": "write 'expr.func'",
    },
    after_scalar=frozenset(),
    numbered=True,
    nested=False,
    forms="a file holds one module, only functions, one region or only operations",
)
