"""The standard operator attributes as data: what each holds, its default, what it means.

Attributes are open: any library may set keys of its own on any operator. Only the keys of this table are type-checked
when they are set, and have a default while they are not. A key may carry a target before a point, as ``c.FLegalize``,
where the table says so (`TARGETED`). Source: operator specification A3.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Any, Final, NamedTuple

from scaly_ir.effects import CallEffectKind
from scaly_ir.types import DType, is_type, read_type


class OpAttribute(NamedTuple):
    """What one standard attribute may hold.

    `fits` tests a value, `expects` says in words what it tests for, and `stored` turns a value that fits into what is
    kept (`ValueError` when it does not make sense). `default` is the value while the attribute is not set.
    """

    expects: str
    fits: Callable[[Any], bool]
    doc: str
    default: Any = None
    stored: Callable[[Any], Any] | None = None


def _flag(doc: str) -> OpAttribute:
    return OpAttribute("a bool", lambda value: isinstance(value, bool), doc, default=False)


def _rule(signature: str, doc: str) -> OpAttribute:
    return OpAttribute("a callable", callable, f"`{signature}`: {doc}")


def _text(doc: str) -> OpAttribute:
    return OpAttribute("a string", lambda value: isinstance(value, str), doc)


def _names(doc: str) -> OpAttribute:
    return OpAttribute(
        "a frozenset of strings",
        lambda value: isinstance(value, frozenset) and all([isinstance(name, str) for name in value]),
        doc,
    )


def _is_effect(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= max(CallEffectKind)


def _is_spelling(value: Any) -> bool:
    if isinstance(value, dict):
        return all([isinstance(part, str) for pair in value.items() for part in pair])
    return isinstance(value, str)


_placeholders = re.compile(r"\{(\d+)\}").findall
_placeholders_in = partial(re.compile(r"\{\d+\}").sub, "0")
_is_identifier = re.compile(r"[A-Za-z_][A-Za-z0-9_]*").fullmatch
_no_expression = re.compile(r"[^ -~]|//|/\*|[;#\\\"'`@$]").search
_brackets = re.compile(r"[()\[\]]").findall


def _symbol(value: str) -> str:
    """Check the name of a C function."""
    if not _is_identifier(value):
        raise ValueError(f"{value!r} is no C identifier")
    return value


def _spelling(value: str | dict[str, str]) -> str | dict[DType, str]:
    """Check C text: each operand at most once, since an operand may be any expression and must be evaluated once."""
    if isinstance(value, dict):
        return {DType(dtype): str(_spelling(text)) for dtype, text in value.items()}
    if not _is_identifier(value):
        fault = _template_fault(value)
        if fault:
            raise ValueError(f"C text {value!r} {fault}")
    used = _placeholders(value)
    for place in used:
        if used.count(place) > 1:
            raise ValueError(f"placeholder {{{place}}} is used twice; use FLegalize to repeat an operand")
    return value


def _template_fault(text: str) -> str:
    """Return what keeps a text from being one expression with numbered operands, or an empty string."""
    if not text.strip():
        return "is empty"
    left = _placeholders_in(text)
    if "{" in left or "}" in left:
        return "has a brace that belongs to no operand such as {0}"
    found = _no_expression(left)
    if found is not None:
        return f"has {found[0]!r}, which is no part of an expression"
    closers = {"(": ")", "[": "]"}
    expected: list[str] = []
    for mark in _brackets(left):
        if mark in closers:
            expected.append(closers[mark])
        elif not expected or expected.pop() != mark:
            return f"has a '{mark}' too many"
    return f"lacks a '{expected[-1]}'" if expected else ""


STANDARD: Final[dict[str, OpAttribute]] = {
    "FInferType": _rule("f(call) -> Type", "the result type, from the operands"),
    "TFixedReturnType": OpAttribute(
        "a type or the name of one",
        lambda value: isinstance(value, str) or is_type(value),
        "the result type where it does not depend on the operands; wins over `FInferType`",
        stored=read_type,
    ),
    "TCallEffectKind": OpAttribute(
        "a CallEffectKind",
        _is_effect,
        "the effect class; an operator that does not say is opaque",
        default=int(CallEffectKind.UpdateState),
        stored=int,
    ),
    "FLowerIntrinsic": _rule("f(call) -> Node", "a call as code that the target spells directly"),
    "FLegalize": _rule("f(call) -> Node", "a call in simpler operators"),
    "FLowerOp": _rule("f(ctx, node) -> None", "structural lowering to the dialect, or by the pass, of the prefix"),
    "TVectorizable": _flag("may be applied lane by lane"),
    "TGlobalSymbol": _text("the external function that a call becomes")._replace(stored=_symbol),
    "FRegionGetBodyParams": _rule("f(call) -> list of Var", "makes a region operator; fresh typed body variables"),
    "FRegionValidate": _rule("f(region) -> None", "checks a complete region, and raises"),
    "FVerify": _rule("f(call) -> iterable of (rule, reason)", "further verifier rules; nothing where a call is valid"),
    "TDialects": _names("the dialects whose bodies may contain a call; all when it is not set"),
    "TElementwise": _flag("maps over elements independently of each other"),
    "TCostClass": OpAttribute(
        "'free', 'cheap' or 'expensive'",
        lambda value: isinstance(value, str) and value in ("free", "cheap", "expensive"),
        "what repeating it costs, for passes that would duplicate it",
        default="expensive",
    ),
    "TCommutative": _flag("its two operands may be swapped"),
    "FFold": _rule("f(call, consts) -> Node | None", "algebraic folder; `consts` are the operands' values, or None"),
    "TCSpelling": OpAttribute(
        "C text, or C text by dtype",
        _is_spelling,
        "C text, by the dtype of the result where it depends on that: a function's name, or a template `({0} + {1})`",
        stored=_spelling,
    ),
    "FNumpy": _rule("f(*arrays, **attrs) -> array", "reference semantics"),
    "FPartials": _rule("f(call) -> list of Node | None", "the derivative by each operand; None for zero"),
    "TNoDiff": _flag("the result never carries a derivative"),
    "TScalarOp": _text("on `<dialect>.x`: the operator `prim.x` whose meaning it shares"),
    "TStructural": _flag("has a syntax of its own; matched by name, never by attribute"),
    "FJvp": _rule("f(call, tangents)", "forward derivative rule"),
    "FVjp": _rule("f(call, cotangent)", "reverse derivative rule"),
    "TCollective": _flag("needs other threads; forbids sequential lowering"),
    "TFreshResult": _flag("the result is new storage: drop it if unused, never merge it with an equal one"),
    # The rest is of this project's own making.
    "TExpression": _flag("on a structural operator: its nodes are values, as those of all other operators are"),
    "TConst": _flag("its nodes are constants, with the number in the attribute `value`"),
    "TVariable": _flag("its nodes are uses of a variable, with its name in the attribute `name`"),
    "TCallBody": _flag("its first operand is a body that it calls"),
    "TModule": _flag("its nodes are what passes run on"),
    "FRunPass": _rule("f(root, **options) -> Node", "on a module operator: what the pass of the prefix does"),
    "TScalarTyping": _text("the type rule of a shared scalar operator (`scalar_typing.py`)"),
    "TOperandKinds": _names("the kinds of types that a shared scalar operator accepts"),
    "TCVectorSpelling": OpAttribute(
        "C text",
        lambda value: isinstance(value, str),
        "C text on vectors of doubles, if not lane by lane: a template, or a function of `tools/c/vector_types.py`",
        stored=_spelling,
    ),
    "TCWraps": _flag("integer results wrap: C text goes through the unsigned type unless bounds exclude overflow"),
}
"""By key, without a target."""

TARGETED: Final = frozenset({"FLowerIntrinsic", "FLegalize", "FLowerOp", "FRunPass"})
"""The keys that stand behind a target, dialect or pass: ``c.FLegalize``, ``prog.FLowerOp``, ``cse.FRunPass``."""


def standard(key: str) -> OpAttribute | None:
    """Return the row for a key, which may carry a target; None for a key of somebody else."""
    row = STANDARD.get(key)
    if row is None:
        target, _, last = key.rpartition(".")
        return STANDARD[last] if target and last in TARGETED else None
    return row


def checked(op_name: str, key: str, value: Any) -> Any:
    """Return what to store for a value; `TypeError` when a standard attribute holds something else, `ValueError`."""
    row = standard(key)
    if row is None:
        return value
    if not row.fits(value):
        raise TypeError(f"{op_name}: attribute '{key}' expects {row.expects}, got {_shown(value)}")
    if row.stored is None:
        return value
    try:
        return row.stored(value)
    except ValueError as error:
        raise ValueError(f"{op_name}: attribute '{key}': {error}") from error


def _shown(value: Any) -> str:
    return repr(value) if isinstance(value, (str, int)) else type(value).__name__


def standard_default(key: str) -> Any:
    """Return what an attribute counts as while it is not set; None for a key without a default."""
    row = STANDARD.get(key)
    return None if row is None else row.default
