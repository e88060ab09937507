"""The type rules of the shared scalar operators, by the name that an operator has in `TScalarTyping`.

Each rule gives the type of a call from its operands and tells what is wrong with the operands. The rules are those of
`prim.*`; a dialect whose own forms need other words or shapes brings its own. Source: program specification 1.4 for the
types, operator specification B7 for the words.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from scaly_ir.types import BOOL

if TYPE_CHECKING:
    from scaly_ir.graph import Node

Problem = tuple[str, str]
"""The name of a rule and what is wrong."""


def _agree(call: Node, operands: tuple[Node, ...]) -> Iterator[Problem]:
    """Operands have one type, of a kind that the operator accepts."""
    first = operands[0].type
    for other in operands[1:]:
        if other.type is not first:
            yield "bin-dtype", f"operand types {first} and {other.type} differ"
            return
    kinds: frozenset[str] = call.op.get_attr("TOperandKinds")
    kind = getattr(operands[0].dtype, "kind", None)
    if kind not in kinds:
        yield "bin-class", f"{call.op.mnemonic} needs {_in_words(kinds)}, got {first}"


def _in_words(kinds: frozenset[str]) -> str:
    words = [word for kind, word in (("bool", "bools"), ("int", "integers"), ("float", "floats")) if kind in kinds]
    return " or ".join(words)


def _one_type(call: Node) -> Iterator[Problem]:
    return _agree(call, call.args)


def _bools(call: Node) -> Iterator[Problem]:
    for operand in call.args:
        if operand.dtype is not BOOL:
            yield "logic-bool", f"operand has type {operand.type}"


def _choice(call: Node) -> Iterator[Problem]:
    condition, first, second = call.args
    if condition.dtype is not BOOL:
        yield "select-types", f"condition has type {condition.type}"
    if first.type is not second.type:
        yield "select-types", f"branch types {first.type} and {second.type} differ"


def _conversion(call: Node) -> Iterator[Problem]:
    if call.type is BOOL:
        yield "cast-bool", "a conversion to bool is written ne(x, 0)"


class Typing(NamedTuple):
    """One rule: the type of a call (None: it is stated, not derived) and what is wrong with its operands."""

    infer: Callable[[Node], Any] | None
    problems: Callable[[Node], Iterator[Problem]]


def _first_type(call: Node) -> Any:
    return call.args[0].type


def _branch_type(call: Node) -> Any:
    return call.args[1].type


def _truth(call: Node) -> Any:
    return BOOL


TYPINGS: Final[dict[str, Typing]] = {
    "arith": Typing(_first_type, _one_type),
    "compare": Typing(_truth, _one_type),
    "logic": Typing(_truth, _bools),
    "test": Typing(_truth, _one_type),
    "select": Typing(_branch_type, _choice),
    "cast": Typing(None, _conversion),
}
