"""The scalar operators that every dialect shares, as one table, and how a dialect takes them over.

``prim.<name>`` carries the meaning; a dialect that declares elementwise operators gets ``<dialect>.<name>`` with the
same attributes and `TScalarOp` pointing back. An operator registered later appears in every such dialect as well.
Source: operator specification A3 (costs, effects) and program specification 1.4 (operands and results).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from scaly_ir.numeric import reference
from scaly_ir.numeric.reference import in_double, quiet
from scaly_ir.op import CallEffectKind, Op


class ScalarOp(NamedTuple):
    """One row of the table.

    `typing` names the type rule: ``arith`` (operands and result of one type), ``compare`` (two of one type to bool),
    ``logic`` (bool to bool), ``test`` (one operand to bool), ``select`` and ``cast``. `kinds` are the kinds of operand
    types it accepts. `numpy` is its meaning on arrays (`numeric/reference.py`); a cast has none, since the result type
    is part of it.
    """

    typing: str
    kinds: str
    operands: tuple[str, ...]
    cost: str = "cheap"
    commutative: bool = False
    numpy: Callable[..., Any] | None = None


_X: Final = ("x",)
_XY: Final = ("x", "y")
_NUMERIC: Final = "int float"

SCALAR_OPS: Final[dict[str, ScalarOp]] = {
    "add": ScalarOp("arith", _NUMERIC, _XY, commutative=True, numpy=quiet("add")),
    "sub": ScalarOp("arith", _NUMERIC, _XY, numpy=quiet("subtract")),
    "mul": ScalarOp("arith", _NUMERIC, _XY, commutative=True, numpy=quiet("multiply")),
    "div": ScalarOp("arith", _NUMERIC, _XY, numpy=quiet(reference.divide)),
    "mod": ScalarOp("arith", "int", _XY, numpy=quiet(reference.remainder)),
    "floordiv": ScalarOp("arith", "int", _XY, numpy=quiet("floor_divide")),
    "floormod": ScalarOp("arith", "int", _XY, numpy=quiet("remainder")),
    "neg": ScalarOp("arith", _NUMERIC, _X, numpy=quiet("negative")),
    "abs": ScalarOp("arith", _NUMERIC, _X, numpy=quiet("absolute")),
    **{
        name: ScalarOp("arith", "float", _X, cost="expensive", numpy=in_double(name))
        for name in "sin cos tan sinh cosh tanh exp log sqrt".split()
    },
    **{
        f"a{name}": ScalarOp("arith", "float", _X, cost="expensive", numpy=in_double(f"arc{name}"))
        for name in "sin cos tan".split()
    },
    "erf": ScalarOp("arith", "float", _X, cost="expensive", numpy=in_double(reference.erf)),
    "floor": ScalarOp("arith", "float", _X, numpy=quiet("floor")),
    "ceil": ScalarOp("arith", "float", _X, numpy=quiet("ceil")),
    "pow": ScalarOp("arith", "float", _XY, cost="expensive", numpy=in_double("power")),
    "atan2": ScalarOp("arith", "float", ("y", "x"), cost="expensive", numpy=in_double("arctan2")),
    "minimum": ScalarOp("arith", _NUMERIC, _XY, numpy=quiet("fmin")),
    "maximum": ScalarOp("arith", _NUMERIC, _XY, numpy=quiet("fmax")),
    "lt": ScalarOp("compare", "bool int float", _XY, numpy=quiet("less")),
    "le": ScalarOp("compare", "bool int float", _XY, numpy=quiet("less_equal")),
    "eq": ScalarOp("compare", "bool int float", _XY, commutative=True, numpy=quiet("equal")),
    "ne": ScalarOp("compare", "bool int float", _XY, commutative=True, numpy=quiet("not_equal")),
    "and": ScalarOp("logic", "bool", _XY, commutative=True, numpy=quiet("logical_and")),
    "or": ScalarOp("logic", "bool", _XY, commutative=True, numpy=quiet("logical_or")),
    "not": ScalarOp("logic", "bool", _X, numpy=quiet("logical_not")),
    "isfinite": ScalarOp("test", "float", _X, numpy=quiet("isfinite")),
    "select": ScalarOp("select", "bool int float", ("condition", "x", "y"), numpy=quiet("where")),
    "cast": ScalarOp("cast", "bool int float", _X),
}

_ELEMENTWISE_DIALECTS: Final[list[str]] = []


def _signature_attributes(row: ScalarOp) -> dict[str, Any]:
    return {
        **({} if row.numpy is None else {"FNumpy": row.numpy}),
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
