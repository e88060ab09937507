"""What is said of an operation beyond what its operator declares: how it is written, and an example.

A dialect gives entries for operations with a syntax of their own; others are written as applications. What a reader of
the text must know besides (attributes, effect, rules) is in the operator and in the verifier's table.
"""

from __future__ import annotations

from typing import NamedTuple

from scaly_ir.op import Op


class Entry(NamedTuple):
    """One operation.

    In `syntax`, words in capitals stand for what is to be filled in, and ``?`` follows what may be left out. `operands`
    are names with what each is; `regions` says what stands in its braces. `example` is a complete text.
    """

    syntax: tuple[str, ...]
    operands: tuple[tuple[str, str], ...] = ()
    result: str = ""
    regions: str = ""
    example: str = ""
    also: tuple[str, ...] = ()
    """Further names that text has for it; where its operator's name stands in no text, the first is its name."""


def applied(op: Op) -> Entry:
    """Return the entry of an operator that is written as an application to its operands."""
    names = [operand.name for operand in op.args_info]
    operands = tuple([(operand.name, operand.doc or "a value") for operand in op.args_info])
    if op.var_args_info is not None:
        names.append("...")
        operands = (*operands, (f"{op.var_args_info.name}...", op.var_args_info.doc or "any number of values"))
    return Entry((f"{op.name}({', '.join(names)})",), operands, _result(op))


_RESULTS = {
    "arith": "a value of the type of the operands",
    "compare": "a bool",
    "logic": "a bool",
    "test": "a bool",
    "select": "a value of the type of x and y",
    "cast": "a value of the type that is given",
}


def _result(op: Op) -> str:
    fixed = op.get_attr("TFixedReturnType")
    if fixed is not None:
        return f"a value of type {fixed}"
    return _RESULTS.get(op.get_attr("TScalarTyping") or "", "")
