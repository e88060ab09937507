"""The operators of the `buffer` dialect, and how those of `affine` and `matrix` in its functions are declared.

Structural operators (modules, functions, regions, bindings, terminators) have a syntax of their own. All others are
rows: what their operands and results are is data that verifier, reader and printer read. Source: matrix specification
2, 5 and 10.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal

from scaly_ir.attributes import OwnKind
from scaly_ir.dialects.buffer.types import INDEX
from scaly_ir.op import CallEffectKind, Op
from scaly_ir.signature import AttrSpec

Kind = Literal["memref", "scalar", "index", "value"]
"""What an operand is: a buffer, a scalar, an index value or literal, or any of them."""

KINDS: Final = "TArgumentKinds"
"""The attribute with the kinds of an operator's operands; the last one is that of a variadic tail, if there is one."""
NUMERIC: Final = "TNumericOnly"
"""The attribute of operators that take the four numeric element types alone."""
RESULT: Final = "TResultKind"
"""The attribute with what the result of an operator is; without it, the operator has none."""

UNIT: Final = frozenset({"matrix", "buffer", "affine"})
"""The dialects whose operations stand in one function."""

RESULTS: Final = AttrSpec(tuple, default=None, words="names", printed=False)
"""The names that a statement binds: the attribute ``results`` of every operator that has a result."""


def structural(name: str, doc: str, attrs: Mapping[str, AttrSpec], effect: CallEffectKind) -> Op:
    """Register an operator with a syntax of its own."""
    op = Op.register(name, doc)
    op.set_signature(var_args="operands", attrs=attrs)
    op.set_attr("TStructural", True)
    op.set_attr("TCallEffectKind", effect)
    op.set_attr("TDialects", UNIT)
    return op


def declare(
    name: str,
    doc: str,
    operands: Mapping[str, Kind],
    result: Kind | None,
    *,
    attrs: Mapping[str, AttrSpec] | None = None,
    rest: tuple[str, Kind] | None = None,
    effect: CallEffectKind = CallEffectKind.ReadState,
    fresh: bool = False,
    numeric: bool = False,
) -> Op:
    """Register an operation: its operands in order with their kinds, the variadic tail `rest`, and its result.

    `fresh` tells that the result is new storage, `numeric` that elements must be numbers.
    """
    op = Op.register(name, doc)
    bound = {} if result is None else {"results": RESULTS}
    op.set_signature(
        [(operand, _WORDS[kind]) for operand, kind in operands.items()],
        var_args=None if rest is None else (rest[0], _WORDS[rest[1]]),
        attrs={**(attrs or {}), **bound},
    )
    op.set_attr(KINDS, (*operands.values(), *([] if rest is None else [rest[1]])))
    op.set_attr("TCallEffectKind", effect)
    op.set_attr("TDialects", UNIT)
    if result is not None:
        op.set_attr(RESULT, result)
    if result == "index":
        op.set_attr("TFixedReturnType", INDEX)
    if fresh:
        op.set_attr("TFreshResult", True)
    if numeric:
        op.set_attr(NUMERIC, True)
    return op


_WORDS: Final = {"memref": "a buffer", "scalar": "a scalar", "index": "an index", "value": "a buffer or scalar"}

_PURE: Final = CallEffectKind.Pure
_NAME: Final = AttrSpec(str, words="a name", printed=False)
_COUNT: Final = AttrSpec(int, least=0, printed=False)

MODULE: Final = structural("buffer.module", "The functions of a file; the last one is the entry.", {}, _PURE)
FUNC: Final = structural(
    "buffer.func",
    "A function of buffers and scalars: result names, then a region with the parameters.",
    {"name": _NAME},
    CallEffectKind.UpdateState,
)
REGION: Final = structural(
    "buffer.region",
    "Statements that are executed in order, with parameters that are visible in them alone.",
    {"param_count": _COUNT},
    _PURE,
)
LET: Final = structural("buffer.let", "A name for a scalar.", {"results": RESULTS}, _PURE)
UNDEF: Final = structural("buffer.undef", "No particular value; it must not be read.", {}, _PURE)
RETURN: Final = structural(
    "buffer.return", "The end of a function: a value for each result.", {}, CallEffectKind.ReadState
)

MODULE.set_attr("TModule", True)
UNDEF.set_attr("TExpression", True)

TERMINATOR: Final = "TTerminator"
"""The attribute of operators that end a region with values."""
RETURN.set_attr(TERMINATOR, True)

ALLOC: Final = declare(
    "buffer.alloc", "Fresh storage; its contents are not defined.", {}, "memref", effect=_PURE, fresh=True
)
CONSTANT: Final = declare(
    "buffer.constant",
    "Fresh storage with one value in every element.",
    {"v": "scalar"},
    "memref",
    effect=_PURE,
    fresh=True,
)
FILLED: Final = "TFilled"
"""The attribute of operators whose result has their only operand in every element."""
CONSTANT.set_attr(FILLED, True)
READ: Final = declare("buffer.read", "One element of a buffer.", {"A": "memref"}, "scalar", rest=("indices", "index"))
WRITE: Final = declare(
    "buffer.write",
    "Store a value as one element of a buffer, in place.",
    {"v": "scalar", "A": "memref"},
    None,
    rest=("indices", "index"),
    effect=CallEffectKind.UpdateState,
)
SHAPE: Final = declare(
    "buffer.shape",
    "The extent of an axis, as the type has it.",
    {"A": "memref"},
    "index",
    attrs={"axis": AttrSpec(int)},
    effect=_PURE,
)


def list_of(kind: type, words: str) -> AttrSpec:
    """Return the specification of an attribute that is a list; the verifier looks at what is in it."""
    return AttrSpec(tuple, words=f"a list of {words}")


def own(kind: type[OwnKind]) -> AttrSpec:
    """Return the specification of an attribute of a dialect's own kind."""
    return AttrSpec(kind, words=kind.words)
