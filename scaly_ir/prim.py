"""The scalar operators that every dialect shares, as one table, and how a dialect takes them over.

``prim.<name>`` carries the meaning; a dialect that declares elementwise operators gets ``<dialect>.<name>`` with the
same attributes and `TScalarOp` pointing back. An operator registered later appears in every such dialect as well.
Sources: operator specification A3 (costs, effects, `prim.sigmoid`), program specification 1.4 (operands and results),
lowering specification 5.6 (C text), expression specification 7.2 (what carries no derivative).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from scaly_ir.numeric import reference
from scaly_ir.numeric.reference import in_double, quiet
from scaly_ir.op import CallEffectKind, Op
from scaly_ir.scalar_typing import TYPINGS
from scaly_ir.signature import AttrSpec
from scaly_ir.types import DTYPES
from scaly_ir.undo import OPEN, RegistryScope, note_undo

if TYPE_CHECKING:
    from scaly_ir.graph import Node


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
    "pow": ScalarOp("arith", "float", _XY, cost="expensive", numpy=in_double(reference.power)),
    "atan2": ScalarOp("arith", "float", ("y", "x"), cost="expensive", numpy=in_double("arctan2")),
    "minimum": ScalarOp("arith", _NUMERIC, _XY, numpy=quiet(reference.minimum)),
    "maximum": ScalarOp("arith", _NUMERIC, _XY, numpy=quiet(reference.maximum)),
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

_DOCS: Final[dict[str, str]] = {
    "add": "x + y",
    "sub": "x - y",
    "mul": "x * y",
    "div": "x / y; integers are rounded toward zero.",
    "mod": "The remainder of div, with the sign of x.",
    "floordiv": "x / y rounded down; 0 for a zero divisor.",
    "floormod": "The remainder of floordiv, with the sign of y; 0 for a zero divisor.",
    "neg": "-x",
    "abs": "x without its sign.",
    "floor": "x rounded down.",
    "ceil": "x rounded up.",
    "pow": "x to the power of y.",
    "atan2": "The angle of the point (x, y).",
    "minimum": "The lesser operand; where one is NaN, the other.",
    "maximum": "The greater operand; where one is NaN, the other.",
    "lt": "x < y",
    "le": "x <= y",
    "eq": "x == y",
    "ne": "x != y",
    "and": "Whether both hold; both are evaluated.",
    "or": "Whether one holds; both are evaluated.",
    "not": "Whether x does not hold.",
    "isfinite": "Whether x is neither infinite nor NaN.",
    "select": "x where the condition holds, else y; both are evaluated.",
    "cast": "x converted to the type of the result.",
}
"""What an operator computes, where its name does not say it."""


def _libm(name: str, arity: int = 1) -> dict[str, str]:
    """Return the C text of a function of the C library; float32 goes through the function of double.

    Without the conversions to double, C++ would take the function of float.
    """
    operands = ", ".join([f"(double){{{position}}}" for position in range(arity)])
    return {"float64": name, "float32": f"((float){name}({operands}))"}


def _helpers(name: str) -> dict[str, str]:
    """Return the names of the helpers that a C file defines for what C has no integer operator for."""
    return {"int32": f"scaly_{name}_i32", "int64": f"scaly_{name}_i64"}


_C_TEXT: Final[dict[str, str | dict[str, str]]] = {
    "add": "({0} + {1})",
    "sub": "({0} - {1})",
    "mul": "({0} * {1})",
    "div": "({0} / {1})",
    "mod": "({0} % {1})",
    "floordiv": _helpers("floordiv"),
    "floormod": _helpers("floormod"),
    "neg": "(-{0})",
    "abs": {**_libm("fabs"), **_helpers("abs")},
    **{name: _libm(name) for name in "sin cos tan asin acos atan sinh cosh tanh erf exp log sqrt floor ceil".split()},
    "pow": _libm("pow", 2),
    "atan2": _libm("atan2", 2),
    "minimum": {**_libm("fmin", 2), **_helpers("min")},
    "maximum": {**_libm("fmax", 2), **_helpers("max")},
    "lt": "({0} < {1})",
    "le": "({0} <= {1})",
    "eq": "({0} == {1})",
    "ne": "({0} != {1})",
    "and": "({0} && {1})",
    "or": "({0} || {1})",
    "not": "(!{0})",
    "isfinite": "(isfinite({0}) != 0)",
    "select": "({0} ? {1} : {2})",
    "cast": {str(dtype): f"(({dtype.c_type}){{0}})" for dtype in DTYPES},
}
"""C text, by the type of the result where it depends on that (`TCSpelling`)."""

_C_VECTOR_TEXT: Final[dict[str, str]] = {
    **{name: str(_C_TEXT[name]) for name in "add sub mul div neg lt le eq ne".split()},
    "and": "({0} & {1})",
    "or": "({0} | {1})",
    "not": "(~{0})",
    **{name: name for name in "abs isfinite select".split()},
}
"""C text on vectors of doubles and of truth values, whose bits are all 0 or all 1 (`TCVectorSpelling`)."""

_WRAPPING: Final = frozenset("add sub mul neg".split())
"""Integer operators whose C text is right only where the result fits (`TCWraps`)."""

_WITHOUT_DERIVATIVE: Final = frozenset("mod floordiv floormod lt le eq ne and or not isfinite".split())


def __getattr__(name: str) -> Any:
    """Give the helpers that `Op.expose` publishes for ``prim.<name>``: this module is that namespace as well."""
    if name.startswith("__"):
        raise AttributeError(name)
    from scaly_ir import namespaces

    return getattr(namespaces.prim, name)


# --- registration -----------------------------------------------------------------------------------------------------


def _scalar_attributes(typing: str, kinds: frozenset[str]) -> dict[str, Any]:
    """Return what every shared scalar operator has."""
    rule = TYPINGS[typing]
    return {
        "TScalarTyping": typing,
        "TOperandKinds": kinds,
        "TCallEffectKind": CallEffectKind.Pure,
        "TElementwise": True,
        "TVectorizable": True,
        "FVerify": rule.problems,
        **({} if rule.infer is None else {"FInferType": rule.infer}),
    }


def _row_attributes(name: str, row: ScalarOp) -> dict[str, Any]:
    attributes = _scalar_attributes(row.typing, frozenset(row.kinds.split()))
    attributes["TCostClass"] = row.cost
    attributes["TCSpelling"] = _C_TEXT[name]
    if name in _C_VECTOR_TEXT:
        attributes["TCVectorSpelling"] = _C_VECTOR_TEXT[name]
    if row.numpy is not None:
        attributes["FNumpy"] = row.numpy
    if row.commutative:
        attributes["TCommutative"] = True
    if name in _WRAPPING:
        attributes["TCWraps"] = True
    if name in _WITHOUT_DERIVATIVE:
        attributes["TNoDiff"] = True
    return attributes


def _register(
    name: str,
    doc: str,
    operands: tuple[str, ...],
    attributes: Mapping[str, Any],
    attrs: Mapping[str, AttrSpec] | None = None,
) -> Op:
    op = Op.register(name, doc)
    op.set_signature(operands, attrs=attrs or {})
    for key, value in attributes.items():
        op.set_attr(key, value)
    return op


# --- forms in dialects ------------------------------------------------------------------------------------------------


class _Forms(NamedTuple):
    """How a dialect takes over the shared operators: their names there, what is its own, and the operators.

    `own` are attributes of the operators, `attrs` attributes that their calls may carry.
    """

    renamed: Mapping[str, str | None]
    own: Mapping[str, Any]
    attrs: Mapping[str, AttrSpec]
    by_name: dict[str, Op]


_DIALECTS: Final[dict[str, _Forms]] = {}
_SHARED: Final[dict[str, Op]] = {}
"""The operators ``prim.<name>`` that dialects take over."""


def declare_elementwise(
    dialect: str,
    *,
    renamed: Mapping[str, str | None] | None = None,
    own: Mapping[str, Any] | None = None,
    attrs: Mapping[str, AttrSpec] | None = None,
) -> Mapping[str, Op]:
    """Give `dialect` its own form of every shared scalar operator, of those to come as well.

    `renamed` gives the names that differ, as ``{"floormod": "mod", "mod": None}``, with None for what the dialect has
    no form of. `own` are attributes in which its forms differ from the shared operators; `FVerify` is not taken over,
    as the dialect's own rules check its forms. Calls of its forms may carry `attrs`. Returns a live mapping from full
    names (``prog.add``) to the forms.
    """
    of_forms = {"TDialects": frozenset({dialect}), **(own or {})}
    forms = _DIALECTS[dialect] = _Forms(renamed or {}, of_forms, attrs or {}, {})
    for scalar in _SHARED.values():
        _take_over(dialect, forms, scalar)
    return forms.by_name


def form(dialect: str, name: str) -> Op:
    """Return the operator that means ``prim.<name>`` in a dialect: its own form, else the shared operator.

    `AttributeError` when there is no such operator, or the dialect has left it out.
    """
    forms = _DIALECTS.get(dialect)
    if forms is None or name not in _SHARED:
        return Op.get(f"prim.{name}")
    return Op.get(f"{dialect}.{forms.renamed.get(name, name)}")


def _take_over(dialect: str, forms: _Forms, scalar: Op) -> None:
    name = forms.renamed.get(scalar.mnemonic, scalar.mnemonic)
    if name is None:
        return
    shared = {key: scalar.get_attr(key) for key in scalar.list_attrs() if key != "FVerify"}
    operands = tuple([operand.name for operand in scalar.args_info])
    own = {**shared, "TScalarOp": scalar.name, **forms.own}
    op = _register(f"{dialect}.{name}", scalar.doc, operands, own, forms.attrs)
    forms.by_name[op.name] = op
    if OPEN:
        note_undo(lambda: forms.by_name.pop(op.name))


def _share(scalar: Op) -> None:
    _SHARED[scalar.mnemonic] = scalar
    if OPEN:
        note_undo(lambda: _SHARED.pop(scalar.mnemonic))
    for dialect, forms in _DIALECTS.items():
        _take_over(dialect, forms, scalar)


def register_elementwise(name: str, arity: int, **attrs: Any) -> Op:
    """Register the scalar operator ``prim.<name>`` and its form in each dialect that declares elementwise operators.

    Operands are called ``x``, ``y``, ``z``, ...; `attrs` are operator attributes, and `doc`. Unless they say otherwise
    the operator is pure, may be applied lane by lane, and takes numbers of one type and gives one of that type. All its
    forms have the same attributes. Returns ``prim.<name>``; raises as `Op.register` and `Op.set_attr` do, and registers
    nothing then.
    """
    if not 1 <= arity <= len(_OPERANDS):
        raise ValueError(f"an elementwise operator has 1 to {len(_OPERANDS)} operands, not {arity}")
    typing = attrs.get("TScalarTyping", "arith")
    given = {**_scalar_attributes(typing, attrs.get("TOperandKinds", frozenset(_NUMERIC.split()))), **attrs}
    with RegistryScope(keep_on_success=True):
        scalar = _register(f"prim.{name}", given.pop("doc", ""), tuple(_OPERANDS[:arity]), given)
        _share(scalar)
    return scalar


_OPERANDS: Final = "xyzuvw"


# --- prim.sigmoid -----------------------------------------------------------------------------------------------------


def _sigmoid_numpy(x: Any) -> Any:
    import numpy

    one = numpy.asarray(x).dtype.type(1)  # a plain 1 would widen a scalar of float32
    return one / (one + numpy.exp(-x))


def _sigmoid_legal(call: Node) -> Node:
    from scaly_ir.graph.expression import elementwise

    (x,) = call.args
    return 1 / (1 + elementwise("exp", -x))


def _sigmoid_partials(call: Node) -> list[Node | None]:
    return [call * (1 - call)]


def _register_sigmoid() -> None:
    """Register an operator without forms in dialects: what they make of it is up to `default.FLegalize`."""
    op = Op.register("prim.sigmoid", "1 / (1 + exp(-x))")
    op.set_signature([("x", "The input value.")], attrs={})
    attributes = {
        **_scalar_attributes("arith", frozenset({"float"})),
        "TCostClass": "expensive",
        "FNumpy": quiet(_sigmoid_numpy),
        "default.FLegalize": _sigmoid_legal,
        "FPartials": _sigmoid_partials,
    }
    for key, value in attributes.items():
        op.set_attr(key, value)


# --- constants and calls of functions ---------------------------------------------------------------------------------


def _register_core() -> None:
    """Register what `Call` makes of Python values and of function symbols; dialects have such nodes of their own."""
    const = Op.register("prim.const", "A constant.")
    const.set_signature(attrs={"value": AttrSpec(int, float, str, printed=False)})
    call = Op.register("prim.call", "A call of a function by its name.")
    call.set_signature(var_args="operands", attrs={"callee": AttrSpec(str, printed=False)})
    for op in (const, call):
        op.set_attr("TStructural", True)
        op.set_attr("TExpression", True)
        op.set_attr("TDialects", frozenset())
    const.set_attr("TConst", True)
    const.set_attr("TCallEffectKind", CallEffectKind.Pure)
    const.set_attr("TCostClass", "free")
    call.set_attr("TCallEffectKind", CallEffectKind.UpdateState)


for _name, _row in SCALAR_OPS.items():
    _share(_register(f"prim.{_name}", _DOCS.get(_name, f"{_name} x"), _row.operands, _row_attributes(_name, _row)))
_register_sigmoid()
_register_core()
