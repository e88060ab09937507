"""What must hold for an operation of `expr`: the rules of expression specification 5, as a table.

What an operation means and refuses is in `typing.py`, once for builders and verifier: the rules here compare the type
that is written with the one that follows, and report what `Misuse` says under its name. How a program is walked, and
what was checked already, is the business of `spec.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any, Final

from scaly_ir.dialects.expr import ops
from scaly_ir.dialects.expr.context import Context
from scaly_ir.dialects.expr.elementwise_typing import kind_rule
from scaly_ir.dialects.expr.typing import Misuse, infer
from scaly_ir.effects import CallEffectKind, effect_class
from scaly_ir.graph import Node
from scaly_ir.op import Op
from scaly_ir.op_rules import op_arity, op_type, op_verify, registered_rules
from scaly_ir.spec import NO_FAULTS, Fault, Faults, Rule, attribute_faults, shown_value
from scaly_ir.tensors import TensorType
from scaly_ir.text.diagnostics import did_you_mean
from scaly_ir.types import INT64, DType, int_range

CONTAINERS: Final = frozenset({ops.MODULE, ops.FUNC, ops.REGION, ops.RETURN})
"""What holds operations and has no result."""

RESULT_RULES: Final = {
    ops.INPUT: "input-has-name",
    ops.CONST: "const-value-present",
    ops.REDUCE: "reduce-shape",
    ops.RESHAPE: "reshape-size",
    ops.TRANSPOSE: "transpose-axes",
    ops.SLICE: "slice-index",
    ops.GATHER: "gather-indices",
    ops.SCATTER: "scatter-indices",
    ops.STACK: "stack-shapes",
    ops.CONCAT: "concat-shapes",
    ops.MATMUL: "matmul-shape",
    ops.CALL: "call-attrs",
    ops.LOOP: "loop-attrs",
}
"""The rule of each structural operation, which a result of the wrong shape or dtype breaks."""

_STRUCTURAL: Final = frozenset(RESULT_RULES) | CONTAINERS
_HINT: Final = "lowering"


def is_registered(op: Op) -> bool:
    """Tell whether an operator is neither one of the dialect nor a form of a shared one."""
    return op not in _STRUCTURAL and op.name not in ops.OPERATORS


def _upper(node: Node) -> str:
    return node.op.mnemonic.upper()


# --- shared rules -----------------------------------------------------------------------------------------------------


def shape_nonnegative(node: Node) -> Sequence[Fault]:
    """Extents are integers of at least 0."""
    if node.type is None or node.op in CONTAINERS:
        return ()
    shape = getattr(node.type, "shape", ())
    if type(shape) is tuple and all([type(extent) is int and extent >= 0 for extent in shape]):
        return ()
    return (Fault(f"{_upper(node)} result has shape {shape}, expected integers of at least 0", part="type"),)


def dtype_is_dtype(node: Node) -> Faults:
    """The type is a tensor type with one of the five element types, and so are those of the operands."""
    if node.op in CONTAINERS:
        return () if node.type is None else (f"{_upper(node)} has type {node.type}, but no result",)
    fault = _dtype_fault(node)
    sound = fault is not None or shape_nonnegative(node) or _pattern_fault(node) or _is_sound_type(node.type)
    if not sound:
        fault = f"{_upper(node)} result has a type that no constructor made"
    return _typed(node, "dtype-is-DType") if fault is None else (Fault(fault, part="type"),)


def _dtype_fault(node: Node) -> str | None:
    if type(node.type) is not TensorType:
        return f"{_upper(node)} result has type {node.type}, not a tensor type"
    dtype = getattr(node.type, "dtype", None)
    return None if type(dtype) is DType else f"{_upper(node)} result has dtype {dtype!r}, not one of the five dtypes"


def has_sound_types(node: Node) -> bool:
    """Tell whether the types of a node and its operands are the ones that stand for their fields, and so live on."""
    return all([_is_sound_type(each.type) for each in (node, *node.args)])


def _is_sound_type(type_: Any) -> bool:
    try:
        return type(type_) is TensorType and type_ is type_.but()
    except (AttributeError, TypeError, ValueError):
        return False


def arity_matches_op(node: Node) -> Faults:
    """There are as many operands as the operation takes."""
    if is_registered(node.op):
        return ()  # rule op-arity
    fault = node.op.count_fault(len(node.args))
    return () if fault is None else (f"{_upper(node)} {fault}",)


def attrs_match_op(node: Node) -> Sequence[Fault]:
    """Attributes are known to the operation, none is missing, and each is of the right kind."""
    if is_registered(node.op):
        return ()  # rule op-arity
    faults = attribute_faults(node)
    if faults:
        faults = [fault for fault in faults if not _own_rule_checks(node, fault)]
    return faults or list(_item_faults(node))


def _own_rule_checks(node: Node, fault: Fault) -> bool:
    """Tell whether the rule of the operation says the same: it knows choices and ranges."""
    key = str(fault.part)
    if not key:
        return node.op in (ops.INPUT, ops.CONST)
    spec = (node.op.attr_specs or {}).get(key)
    value = node.attrs[key]
    if spec is None or key == _HINT or type(value) not in spec.kinds or node.op in CONTAINERS:
        return False
    return type(value) is not int or value in _INTEGERS


_INTEGERS: Final = int_range(INT64)
_LISTS: Final = ("axes", "shape", "starts", "strides", "in_place")


def _item_faults(node: Node) -> Iterator[Fault]:
    """Yield what is wrong with the items of lists, of which the declaration says nothing."""
    if not node.attrs or node.op.name in ops.OPERATORS:
        return
    for key, value in node.attrs.items():
        if key in _LISTS:
            fits, wanted = all([type(item) is int and item in _INTEGERS for item in value]), "a list of integers"
        elif key == "index" and type(value) is tuple:
            fits, wanted = all([_is_index_item(item) for item in value]), "a list of integers and slices"
        elif key == "output_names":
            fits, wanted = all([type(item) is str for item in value]), "a list of names"
        else:
            continue
        if not fits:
            yield Fault(f"attribute '{key}' is {shown_value(value)}, expected {wanted}", part=key)


def _is_index_item(item: Any) -> bool:
    if type(item) is slice:
        return all([bound is None or type(bound) is int for bound in (item.start, item.stop, item.step)])
    return type(item) is int


def sparsity_shape_matches(node: Node) -> Faults:
    """A pattern has the shape of the last two axes, and is the one that the operands give."""
    if node.op in CONTAINERS or _dtype_fault(node) is not None:
        return ()
    fault = _pattern_fault(node)
    return _typed(node, "sparsity-shape-matches") if fault is None else (Fault(fault, part="type"),)


def _pattern_fault(node: Node) -> str | None:
    """Return what is wrong with the shape of a pattern."""
    pattern, shape = node.type.pattern, node.type.shape
    if pattern is None or pattern.shape == shape[-2:]:
        return None
    return f"{_upper(node)} pattern has shape {pattern.shape}, expected {shape[-2:]}"


def diff_flag(node: Node) -> Faults:
    """A result that cannot carry a derivative is not marked ``diff``."""
    return _typed(node, "diff-flag")


# --- the types of operations ------------------------------------------------------------------------------------------


def _typed(node: Node, name: str) -> Faults:
    """Return what is wrong with the type of an operation by the rule called `name`."""
    return [fault for rule, fault in type_faults(node) if rule == name]


def type_faults(node: Node) -> Sequence[tuple[str, Fault]]:
    """Return what is wrong with the type of an operation, each with its rule: what it refuses, or what differs.

    Nothing where the operation is not sound enough to have a type, which rules of their own report.
    """
    op, args = node.op, node.args
    if op in CONTAINERS or is_registered(op) or _dtype_fault(node) is not None or shape_nonnegative(node):
        return ()
    if _pattern_fault(node) is not None:
        return ()
    if op.count_fault(len(args)) is not None or attrs_match_op(node):
        return ()
    for position, operand in enumerate(args):
        if not _is_sound_type(operand.type):
            reason = f"{_upper(node)} operand {position} has type {operand.type}, not a tensor type"
            return (("dtype-is-DType", Fault(reason, part=position)),)
    try:
        inferred = infer(op, args, node.attrs, node.type)
    except Misuse as misuse:
        return ((misuse.rule, Fault(misuse.reason, part=misuse.part)),)
    return () if inferred is None or inferred is node.type else list(_differences(node, inferred))


def _differences(node: Node, wanted: TensorType) -> Iterator[tuple[str, Fault]]:
    written: TensorType = node.type
    if written.shape != wanted.shape:
        yield result_rule(node.op), _differs(node, "shape", written.shape, wanted.shape)
    elif written.pattern is not wanted.pattern:
        reason = f"{_upper(node)} result is {_shown(written.pattern)}, expected {_shown(wanted.pattern)}"
        yield "sparsity-shape-matches", Fault(reason, part="type")
    if written.dtype is not wanted.dtype:
        yield result_rule(node.op), _differs(node, "dtype", written.dtype, wanted.dtype)
    if written.diff and not wanted.diff:
        yield "diff-flag", Fault(f"{_upper(node)} result is marked diff, but carries no derivative", part="type")


def _differs(node: Node, what: str, written: Any, wanted: Any) -> Fault:
    return Fault(f"{_upper(node)} result has {what} {written}, expected {wanted}", part="type")


def _shown(pattern: Any) -> str:
    text = "dense" if pattern is None else str(pattern)
    return text if len(text) <= 60 else f"{text[:57]}..."


def result_rule(op: Op) -> str:
    """Return the rule that a result of the wrong shape or dtype breaks."""
    name = RESULT_RULES.get(op)
    if name is not None:
        return name
    typing = op.get_attr("TScalarTyping")
    return _SCALAR_RULES[typing] if typing != "arith" else _ARITH_RULES[len(op.args_info) > 1]


_SCALAR_RULES: Final = {
    "compare": "compare-types",
    "logic": "logical-types",
    "test": "isfinite-types",
    "select": "select-types",
    "cast": "cast-types",
}
_ARITH_RULES: Final = ("unary-shape-dtype-match", "binary-shape-dtype-match")


# --- functions and what calls them ------------------------------------------------------------------------------------


def callee_resolved(node: Node, context: Context) -> Iterator[Fault]:
    """A callee, and the condition of a loop, is a function that the module holds."""
    for key in ("callee", "cond"):
        value = node.attrs.get(key)
        if type(value) is str and context.complete:
            hint = did_you_mean(value, context.names)
            yield Fault(f"{_upper(node)} {key} '{value}' is not defined in this module{hint}", part=key)
        elif isinstance(value, Node):
            fault = context.function_fault(value)
            if fault is not None:
                yield Fault(f"{_upper(node)} {key} {fault}", part=key)


def function_signature(node: Node, context: Context) -> Iterator[Fault]:
    """A function has named outputs and inputs, and its operations read no other input; a module holds functions."""
    if node.op is ops.MODULE:
        for function in node.args:
            if function.op is not ops.FUNC:
                yield Fault(f"MODULE holds '{function.op.name}', expected functions")
        return
    if node.op is ops.FUNC:
        fault = context.function_fault(node)
        if fault is not None:
            yield Fault(f"FUNC {fault}")
            return
        for operation in islice(context.undeclared(node), 1):
            yield Fault(f"FUNC does not declare input '{operation.attrs.get('name')}' of type {operation.type}")
        return
    for position, result in enumerate(node.args):
        if type(result.type) is not TensorType:
            yield Fault(f"{_upper(node)} result {position} has type {result.type}, not a tensor type")


# --- the table --------------------------------------------------------------------------------------------------------

Applies = Callable[[Op], bool]


def _row(name: str, doc: str, applies: frozenset[Op] | Applies) -> Rule:
    """Return the rule that reports what typing says under its name."""

    def check(node: Node) -> Faults:
        return _typed(node, name)

    check.__doc__ = doc
    return Rule(name, check, applies)


def _form(*typings: str, arity: int = 0, kinds: str = "") -> Applies:
    """Return a test for elementwise operators by their type rule, number of operands, and kinds of operands."""

    def applies(op: Op) -> bool:
        if op.name not in ops.OPERATORS or op.get_attr("TScalarTyping") not in typings:
            return False
        if arity and (len(op.args_info) == 1) != (arity == 1):
            return False
        return not kinds or kind_rule(op.get_attr("TOperandKinds")) == kinds

    return applies


def _kinds(name: str, doc: str) -> Rule:
    return _row(name, doc, _form("arith", kinds=name))


SHARED_RULES: Final = (
    Rule("shape-nonnegative", shape_nonnegative),
    Rule("dtype-is-DType", dtype_is_dtype),
    Rule("arity-matches-op", arity_matches_op),
    Rule("attrs-match-op", attrs_match_op),
    Rule("sparsity-shape-matches", sparsity_shape_matches),
    Rule("diff-flag", diff_flag),
)
"""The rules of all operations, which come first."""

OWN_RULES: Final = (
    _row("input-has-name", "An input has a name.", frozenset({ops.INPUT})),
    _row("const-value-present", "A constant has a value of its shape and dtype.", frozenset({ops.CONST})),
    _row("unary-shape-dtype-match", "A result has the shape and dtype of the operand.", _form("arith", arity=1)),
    _row(
        "binary-shape-dtype-match",
        "Operands have one dtype, which is that of the result, and broadcast to its shape.",
        _form("arith", arity=2),
    ),
    _kinds("float-operands", "Operands are floating."),
    _kinds("integer-operands", "Operands are integers."),
    _kinds("numeric-operands", "Operands are of a kind that the operation accepts: numbers, mostly."),
    _row("compare-types", "Operands have one dtype; the result is bool and of the broadcast shape.", _form("compare")),
    _row("logical-types", "Operands and result are bool and the shape is the broadcast one.", _form("logic")),
    _row("isfinite-types", "The operand is floating, the result bool and of its shape.", _form("test")),
    _row("select-types", "The condition is bool; branches and result have one dtype.", _form("select")),
    _row("cast-types", "A cast keeps the shape; one to bool is written ne(x, 0).", _form("cast")),
    _row("reduce-shape", "Kind and axes of a reduction are valid, and give the result.", frozenset({ops.REDUCE})),
    _row("reshape-size", "A reshape keeps the number of entries.", frozenset({ops.RESHAPE})),
    _row("transpose-axes", "The axes of a transpose are a permutation.", frozenset({ops.TRANSPOSE})),
    _row("slice-index", "A slice has one item for each axis, in range.", frozenset({ops.SLICE})),
    _row("gather-indices", "Index, axis, mode and fill of a gather fit its operand.", frozenset({ops.GATHER})),
    _row("scatter-indices", "Index, axis, mode, combine and values fit the base.", frozenset({ops.SCATTER})),
    _row("stack-shapes", "What is stacked has one shape and dtype.", frozenset({ops.STACK})),
    _row("concat-shapes", "What is concatenated has one dtype, and one shape off the axis.", frozenset({ops.CONCAT})),
    _row("matmul-shape", "The operands of a product contract and broadcast.", frozenset({ops.MATMUL})),
    Rule("function-signature", function_signature, CONTAINERS, context=True),
    Rule("callee-resolved", callee_resolved, ops.CALLS, context=True),
    _row("call-attrs", "Operands fit the inputs of the callee.", frozenset({ops.CALL})),
    _row("loop-attrs", "Operands, body and condition of a loop fit together.", frozenset({ops.LOOP})),
)
"""The rules of single operations, in the order of the specification."""

SOUND_CHECKS: Final = frozenset([rule.check for rule in (*SHARED_RULES, *OWN_RULES) if not rule.context])
"""Checks that see of operands their types alone, but for constant indices: equal kinds of operations pass alike."""


def _without_hint(check: Callable[[Node], Faults]) -> Callable[[Node], Faults]:
    """Return a check of registered operators, which need not declare the hint that every operation may carry."""

    def checked(node: Node) -> Faults:
        hint = node.attrs.get(_HINT)
        declared = node.op.attr_specs or {}
        if type(hint) is str and hint in ops.HINTS and _HINT not in declared:
            node = node.with_attrs(lowering=None)
        return check(node)

    checked.__doc__ = check.__doc__
    return checked


def op_effect(node: Node) -> Iterator[Fault]:
    """An operation does nothing but compute its value: equal ones are one node, and nothing says when each happens."""
    if effect_class(node.op.get_attr("TCallEffectKind")) is not CallEffectKind.Pure:
        does = "has an effect" if node.op.has_attr("TCallEffectKind") else "does not say that it is pure"
        yield Fault(f"{does} (TCallEffectKind), but operations of 'expr' only compute values")


REGISTERED_RULES: Final = (
    *[
        Rule(rule.name, _without_hint(rule.check), rule.ops) if rule.check in (op_arity, op_type, op_verify) else rule
        for rule in registered_rules("expr", is_registered)
    ],
    Rule("op-effect", op_effect, lambda op: op not in _STRUCTURAL),
)
"""The rules of operators that others registered."""

__all__ = ["CONTAINERS", "NO_FAULTS", "OWN_RULES", "REGISTERED_RULES", "SHARED_RULES", "type_faults"]
