"""The operators of the `expr` dialect: one table of structural operators, and the shared scalar operators on tensors.

Each row gives operands and attributes; verifier, reader and printer read them here. Every operation also carries the
hint `lowering`, which is left out where it is ``auto``. Source: expression specification 2.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from scaly_ir.attributes import Referable
from scaly_ir.dialects.expr import numpy_rules
from scaly_ir.op import CallEffectKind, Op
from scaly_ir.prim import declare_elementwise
from scaly_ir.signature import AttrSpec
from scaly_ir.tables import Table
from scaly_ir.tensors import TensorType
from scaly_ir.types import BOOL, FLOAT32, FLOAT64, INT32, INT64

HINTS: Final = ("auto", "scalar", "block")
"""What lowering should do with an operation, weakest first."""

REDUCTIONS: Final = ("add", "max", "min")
COMBINATIONS: Final = ("set", "add")
MODES: Final = ("fill", "promise_in_bounds")

_HINT: Final = {"lowering": AttrSpec(str, default="auto", choices=HINTS)}
_AXIS: Final = AttrSpec(int, least=0)
_INTEGERS: Final = AttrSpec(tuple, words="a list of integers")
_FLAT_OR_AXIS: Final = AttrSpec(int, type(None), words="an axis or 'None'")
_FUNCTION: Final = AttrSpec(Referable, str, words="the name of a function")


class Row(NamedTuple):
    """What a structural operator is: its operands, a variadic tail, and its attributes."""

    operands: tuple[str, ...] = ()
    rest: str = ""
    attrs: dict[str, AttrSpec] = {}  # noqa: RUF012 - never changed
    numpy: Any = None
    doc: str = ""


_ROWS: Final[dict[str, Row]] = {
    "input": Row(attrs={"name": AttrSpec(str, words="a name")}, doc="A named input of the function around it."),
    "const": Row(attrs={"value": AttrSpec(Table)}, doc="A constant array."),
    "reduce": Row(
        ("x",),
        attrs={"axes": _INTEGERS, "kind": AttrSpec(str, choices=REDUCTIONS)},
        numpy=numpy_rules.reduce,
        doc="The sum, in order, or an extremum over some axes, which are dropped.",
    ),
    "reshape": Row(("x",), attrs={"shape": _INTEGERS}, numpy=numpy_rules.reshape, doc="The same entries, row-major."),
    "transpose": Row(("x",), attrs={"axes": _INTEGERS}, numpy=numpy_rules.transpose, doc="The axes in another order."),
    "slice": Row(
        ("x",), attrs={"index": AttrSpec(tuple)}, numpy=numpy_rules.slice_, doc="Basic indexing: one item per axis."
    ),
    "gather": Row(
        ("x", "idx"),
        attrs={
            "axis": _FLAT_OR_AXIS,
            "mode": AttrSpec(str, choices=MODES),
            "fill": AttrSpec(float, int, bool, default=None, words="a number"),
        },
        numpy=numpy_rules.gather,
        doc="Entries of x at computed positions, of all of x flat or along one axis.",
    ),
    "scatter": Row(
        ("base", "idx", "values"),
        attrs={
            "axis": _FLAT_OR_AXIS,
            "combine": AttrSpec(str, choices=COMBINATIONS),
            "mode": AttrSpec(str, choices=MODES),
        },
        numpy=numpy_rules.scatter,
        doc="A copy of base with values written, or added in order, at computed positions.",
    ),
    "stack": Row((), "parts", {"axis": _AXIS}, numpy_rules.stack, "Arrays of one shape along a new axis."),
    "concat": Row((), "parts", {"axis": _AXIS}, numpy_rules.concat, "Arrays end to end along an axis."),
    "matmul": Row(("x", "y"), numpy=numpy_rules.matmul, doc="The matrix product; leading axes broadcast."),
    "call": Row(
        (),
        "operands",
        {"callee": _FUNCTION, "output": AttrSpec(int, least=0)},
        doc="One output of a function applied to the operands.",
    ),
    "loop": Row(
        (),
        "operands",
        {
            "callee": _FUNCTION,
            "cond": AttrSpec(Referable, str, type(None), words="the name of a function or 'None'"),
            "n_carry": AttrSpec(int, least=0),
            "length": AttrSpec(int, least=0),
            "starts": _INTEGERS,
            "strides": _INTEGERS,
            "index": AttrSpec(bool),
            "reverse": AttrSpec(bool),
            "in_place": _INTEGERS,
            "output": AttrSpec(int, least=0),
        },
        doc="One result of a loop that applies a function again and again.",
    ),
}

_CONTAINERS: Final[dict[str, tuple[str, dict[str, AttrSpec]]]] = {
    "module": ("Functions; the last one is the entry.", {"bare": AttrSpec(bool, default=False, choices=(True,))}),
    "func": (
        "A function: its outputs, then its inputs.",
        {"name": AttrSpec(str, words="the name of a function"), "output_names": AttrSpec(tuple)},
    ),
    "region": ("Results with a name.", {"name": AttrSpec(str, words="a name")}),
    "return": ("Results on their own: a fragment.", {}),
}


def _infer(call: Any) -> Any:
    from scaly_ir.dialects.expr.typing import Misuse, infer  # the rules are written for the operators of this module

    try:
        found = infer(call.op, call.args, call.attrs, call.type if isinstance(call.type, TensorType) else None)
        return call.type if found is None else found  # a call of what is not defined has the type that text states
    except Misuse as misuse:
        raise misuse.raised() from None


def _register() -> None:
    for name, row in _ROWS.items():
        op = Op.register(f"expr.{name}", row.doc)
        op.set_signature(row.operands, var_args=row.rest or None, attrs={**row.attrs, **_HINT})
        op.set_attr("TStructural", True)
        op.set_attr("TExpression", True)
        op.set_attr("TCallEffectKind", CallEffectKind.Pure)
        op.set_attr("FInferType", _infer)
        op.set_attr("TCostClass", "free" if not row.operands and not row.rest else "expensive")
        if row.numpy is not None:
            op.set_attr("FNumpy", row.numpy)
    for name, (doc, attrs) in _CONTAINERS.items():
        op = Op.register(f"expr.{name}", doc)
        op.set_signature(var_args="operands", attrs=attrs)
        op.set_attr("TStructural", True)


_register()
OPERATORS: Final = declare_elementwise(
    "expr", renamed={"floormod": "mod", "mod": None}, own={"FInferType": _infer}, attrs=_HINT
)
"""The forms of the shared scalar operators by name, of those that are registered later as well."""

Op.get("expr.div").set_attr("TOperandKinds", frozenset({"float"}), override=True)

INPUT: Final = Op.get("expr.input")
CONST: Final = Op.get("expr.const")
REDUCE: Final = Op.get("expr.reduce")
RESHAPE: Final = Op.get("expr.reshape")
TRANSPOSE: Final = Op.get("expr.transpose")
SLICE: Final = Op.get("expr.slice")
GATHER: Final = Op.get("expr.gather")
SCATTER: Final = Op.get("expr.scatter")
STACK: Final = Op.get("expr.stack")
CONCAT: Final = Op.get("expr.concat")
MATMUL: Final = Op.get("expr.matmul")
CALL: Final = Op.get("expr.call")
LOOP: Final = Op.get("expr.loop")
MODULE: Final = Op.get("expr.module")
FUNC: Final = Op.get("expr.func")
REGION: Final = Op.get("expr.region")
RETURN: Final = Op.get("expr.return")
CAST: Final = Op.get("expr.cast")

CONST.set_attr("TConst", True)
MODULE.set_attr("TModule", True)

CALLS: Final = frozenset({CALL, LOOP})
"""What refers to functions."""

DTYPES: Final = {"bool_": BOOL, "int32": INT32, "int64": INT64, "float32": FLOAT32, "float64": FLOAT64}
"""The element types as `sc.dtypes` names them."""

CONTAINERS: Final = frozenset({MODULE, FUNC, REGION, RETURN})
"""What holds operations or functions and has no type."""
