"""The scalar operators that every dialect shares, as one table, and how a dialect takes them over.

``prim.<name>`` carries the meaning; a dialect that declares elementwise operators gets ``<dialect>.<name>`` with the
same attributes and `TScalarOp` pointing back. An operator registered later appears in every such dialect as well.
Source: operator specification A3 (costs, effects) and program specification 1.4 (operands and results).
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from scaly_ir.op import CallEffectKind, Op


class ScalarOp(NamedTuple):
    """One row of the table.

    `typing` names the type rule: ``arith`` (operands and result of one type), ``compare`` (two of one type to bool),
    ``logic`` (bool to bool), ``test`` (one operand to bool), ``select`` and ``cast``. `kinds` are the kinds of operand
    types it accepts.
    """

    typing: str
    kinds: str
    operands: tuple[str, ...]
    cost: str = "cheap"
    commutative: bool = False


_X: Final = ("x",)
_XY: Final = ("x", "y")
_NUMERIC: Final = "int float"

SCALAR_OPS: Final[dict[str, ScalarOp]] = {
    "add": ScalarOp("arith", _NUMERIC, _XY, commutative=True),
    "sub": ScalarOp("arith", _NUMERIC, _XY),
    "mul": ScalarOp("arith", _NUMERIC, _XY, commutative=True),
    "div": ScalarOp("arith", _NUMERIC, _XY),
    "mod": ScalarOp("arith", "int", _XY),
    "floordiv": ScalarOp("arith", "int", _XY),
    "floormod": ScalarOp("arith", "int", _XY),
    "neg": ScalarOp("arith", _NUMERIC, _X),
    "abs": ScalarOp("arith", _NUMERIC, _X),
    **{
        name: ScalarOp("arith", "float", _X, cost="expensive")
        for name in "sin cos tan asin acos atan sinh cosh tanh erf exp log sqrt".split()
    },
    "floor": ScalarOp("arith", "float", _X),
    "ceil": ScalarOp("arith", "float", _X),
    "pow": ScalarOp("arith", "float", _XY, cost="expensive"),
    "atan2": ScalarOp("arith", "float", ("y", "x"), cost="expensive"),
    "minimum": ScalarOp("arith", _NUMERIC, _XY),
    "maximum": ScalarOp("arith", _NUMERIC, _XY),
    "lt": ScalarOp("compare", "bool int float", _XY),
    "le": ScalarOp("compare", "bool int float", _XY),
    "eq": ScalarOp("compare", "bool int float", _XY, commutative=True),
    "ne": ScalarOp("compare", "bool int float", _XY, commutative=True),
    "and": ScalarOp("logic", "bool", _XY, commutative=True),
    "or": ScalarOp("logic", "bool", _XY, commutative=True),
    "not": ScalarOp("logic", "bool", _X),
    "isfinite": ScalarOp("test", "float", _X),
    "select": ScalarOp("select", "bool int float", ("condition", "x", "y")),
    "cast": ScalarOp("cast", "bool int float", _X),
}

_ELEMENTWISE_DIALECTS: Final[list[str]] = []


def _signature_attributes(row: ScalarOp) -> dict[str, Any]:
    return {
        "TScalarTyping": row.typing,
        "TOperandKinds": frozenset(row.kinds.split()),
        "TCallEffectKind": CallEffectKind.Pure,
        "TElementwise": True,
        "TVectorizable": True,
        "TCostClass": row.cost,
        "TCommutative": row.commutative,
    }


def _register(name: str, operands: tuple[str, ...], attributes: dict[str, Any]) -> Op:
    op = Op.register(name)
    op.set_signature(operands, attrs={})
    for key, value in attributes.items():
        op.set_attr(key, value)
    return op


def _register_form(dialect: str, scalar: Op) -> None:
    assert scalar.args_info is not None
    attributes = {**scalar._attributes, "TScalarOp": scalar.name}
    _register(f"{dialect}.{scalar.mnemonic}", tuple([arg.name for arg in scalar.args_info]), attributes)


def declare_elementwise(dialect: str) -> None:
    """Give `dialect` its own form of every shared scalar operator, of those to come as well."""
    _ELEMENTWISE_DIALECTS.append(dialect)
    for name in SCALAR_OPS:
        _register_form(dialect, Op.get(f"prim.{name}"))


for _name, _row in SCALAR_OPS.items():
    _register(f"prim.{_name}", _row.operands, _signature_attributes(_row))
