"""What is said of an operation beyond what its operator declares: how it is written, and an example.

A dialect gives entries for operations with a syntax of their own; others are written as applications. What a reader of
the text must know besides (attributes, effect, rules) is in the operator and in the verifier's table.
"""

from __future__ import annotations

from typing import Final, NamedTuple

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


def applied(op: Op, noun: str = "value") -> Entry:
    """Return the entry of an operator that is written as an application to its operands, each of which is a `noun`."""
    names = [operand.name for operand in op.args_info]
    operands = tuple([(operand.name, operand.doc or f"a {noun}") for operand in op.args_info])
    if op.var_args_info is not None:
        names.append("...")
        operands = (*operands, (f"{op.var_args_info.name}...", op.var_args_info.doc or "any number of values"))
    return Entry((f"{op.name}({', '.join(names)})",), operands, _result(op, noun))


_RESULTS: Final = {
    "arith": "of the type of the operands",
    "select": "of the type of x and y",
    "cast": "of the type that is given",
}
"""What results, by how an operator is typed; all others give bools."""


def _result(op: Op, noun: str) -> str:
    fixed, typing = op.get_attr("TFixedReturnType"), op.get_attr("TScalarTyping")
    if fixed is not None:
        return f"a {noun} of type {fixed}"
    if typing is None:
        return ""
    if typing in _RESULTS:
        return f"a {noun} {_RESULTS[typing]}"
    return "a bool" if noun == "value" else f"a {noun} of bools"


def sample_types(op: Op) -> tuple[list[str], str]:
    """Return types for the operands of an operator on scalars, and the type that results, for an example."""
    typing, kinds = op.get_attr("TScalarTyping"), op.get_attr("TOperandKinds")
    dtype = "float64" if "float" in kinds else "int64" if "int" in kinds else "bool"
    operands = [dtype] * len(op.args_info)
    if typing == "select":
        operands[0] = "bool"
    return operands, {"arith": dtype, "select": dtype, "cast": "int64"}.get(typing, "bool")
