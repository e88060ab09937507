"""What must hold for operations in functions of buffers, whatever their dialect, and for those of `buffer` itself.

What an operator says of its operands (`declare`) is checked for all alike. Messages begin with the operation in
capitals. Source: matrix specification 7.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

from scaly_ir.attributes import AttrValue
from scaly_ir.dialects.buffer import build, ops
from scaly_ir.dialects.buffer.context import Context
from scaly_ir.dialects.buffer.printer import value_name
from scaly_ir.dialects.buffer.types import INDEX, are_compatible, folded
from scaly_ir.graph import Node
from scaly_ir.op import Op
from scaly_ir.spec import Fault, Faults, Rule
from scaly_ir.text.diagnostics import did_you_mean
from scaly_ir.types import BOOL, INT64, DType, MemRefType, int_range


def title(node: Node) -> str:
    """Return how messages call an operation."""
    return node.op.mnemonic.upper()


def is_declared(op: Op) -> bool:
    """Tell whether an operator says of its operands what they are."""
    return op.has_attr(ops.KINDS)


def inputs_of(node: Node) -> tuple[Node, ...]:
    """Return the operands that an operator's declaration is about."""
    return build.operands_of(node)


# --- operands and attributes ------------------------------------------------------------------------------------------


def operand_count(node: Node) -> Faults:
    """An operation has as many operands as its operator takes."""
    given, least = len(inputs_of(node)), len(node.op.args_info)
    variadic = node.op.var_args_info is not None
    if given < least or (given > least and not variadic):
        yield f"{title(node)} takes {'at least ' if variadic else ''}{least} operands, got {given}"


def operand_kind(node: Node) -> Faults:
    """An operand is a buffer where one is wanted, and a scalar where one is wanted."""
    kinds = node.op.get_attr(ops.KINDS)
    for position, operand in enumerate(inputs_of(node)):
        kind = kinds[min(position, len(kinds) - 1)] if kinds else "value"
        is_buffer = isinstance(operand.type, MemRefType)
        if kind == "memref" and not is_buffer:
            yield Fault(f"{title(node)} operand {position} is {operand.type}, expected a memref", part=position)
        elif kind == "scalar" and is_buffer:
            yield Fault(f"{title(node)} operand {position} is {operand.type}, expected a scalar", part=position)
        elif operand.op is ops.UNDEF:
            yield Fault(f"{title(node)} operand {position} is undef, expected a scalar", part=position)


_INTEGERS: Final = int_range(INT64)


def _is_integer(value: AttrValue) -> bool:
    return type(value) is int and value in _INTEGERS


def each_of(test: Callable[[AttrValue], bool]) -> Callable[[AttrValue], bool]:
    """Return the test whether a value is a list of what passes a test."""
    return lambda value: type(value) is tuple and all(map(test, value))


ITEMS: Final[dict[str, Callable[[AttrValue], bool]]] = {
    "a list of integers": each_of(_is_integer),
    "a list of lists of integers": each_of(each_of(_is_integer)),
    "names": each_of(lambda value: type(value) is str and value != ""),
    "element types": each_of(lambda value: isinstance(value, DType)),
    "an integer": _is_integer,
}
"""What an attribute holds, beyond its kind, by the words of its specification; other dialects add theirs."""


def attr_set(node: Node) -> Faults:
    """An operation has the attributes that its operator takes, each of the right kind."""
    specs = node.op.attr_specs or {}
    for key, value in node.attrs.items():
        spec = specs.get(key)
        if spec is None:
            hint = did_you_mean(key, [name for name, known in specs.items() if known.printed])
            yield Fault(f"{title(node)} has no attribute {key}{hint}", part=key)
        elif not spec.fits(value) or not ITEMS.get(spec.words, lambda value: True)(value):
            yield Fault(f"{title(node)} attribute {key} is not {spec.words}", part=key)
    for key, spec in specs.items():
        if spec.required and key not in node.attrs:
            yield f"{title(node)} is missing attribute {key}"


def result_kind(node: Node) -> Faults:
    """An operation has a result where its operator gives one, and the type of that is a buffer or scalar as it says."""
    wanted = node.op.get_attr(ops.RESULT)
    names = node.attrs.get("results") or ()
    if wanted is None:
        return
    words = {"memref": "a memref", "scalar": "a scalar", "index": "index"}[wanted]
    fits = {
        "memref": isinstance(node.type, MemRefType),
        "scalar": isinstance(node.type, DType),
        "index": node.type is INDEX,
    }
    if not fits[wanted]:
        got = "none" if node.type is None else node.type
        yield Fault(f"{title(node)} result is {got}, expected {words}", part="type")
    if type(names) is tuple and len(names) > 1:
        yield f"{title(node)} has 1 result, got {len(names)} names"


def let_operand(node: Node) -> Faults:
    """A name is for one scalar, of the type that the statement says."""
    if len(node.args) != 1:
        yield f"LET takes 1 operands, got {len(node.args)}"


def dtype_kind(node: Node) -> Faults:
    """Operations on numbers take the four numeric element types."""
    for position, operand in enumerate(inputs_of(node)):
        if isinstance(operand.type, MemRefType) and operand.type.dtype is BOOL:
            yield Fault(f"{title(node)} does not accept bool", part=position)
            return


def dtype_mismatch(node: Node) -> Faults:
    """The buffers and scalars of an operation have one element type, its result too."""
    kinds = node.op.get_attr(ops.KINDS)
    types: list[tuple[Any, str | int]] = []
    for position, operand in enumerate(inputs_of(node)):
        if kinds[min(position, len(kinds) - 1)] in ("memref", "scalar"):
            types.append((getattr(operand.type, "dtype", operand.type), position))
    if node.op.get_attr(ops.RESULT) in ("memref", "scalar") or node.op is ops.WRITE:
        types.append((getattr(node.type, "dtype", node.type), "type"))
    for dtype, part in types[1:]:
        if dtype is not types[0][0]:
            yield Fault(f"{title(node)} element types {types[0][0]} and {dtype} differ", part=part)
            return


def result_shape(node: Node) -> Faults:
    """The result has the shape that follows from operands and attributes."""
    infer = node.op.get_attr("FInferType")
    if infer is None or not isinstance(node.type, MemRefType):
        return
    try:
        wanted = infer(node)
    except (ValueError, TypeError, KeyError, IndexError, AttributeError):
        return  # other rules say what is wrong with what it follows from
    if isinstance(wanted, MemRefType) and wanted.shape != node.type.shape:
        yield Fault(f"{title(node)} result shape {listed(node.type.shape)} != {listed(wanted.shape)}", part="type")


def listed(values: Iterable[Any]) -> str:
    """Return a list as attributes print it."""
    return f"[{', '.join(map(str, values))}]"


def size(node: Node) -> Faults:
    """A buffer has no more elements than an index of int64 reaches."""
    for declared in (node, *(build.params_of(node.args[-1]) if build.region_of(node) is not None else ())):
        if isinstance(declared.type, MemRefType) and declared.type.size not in _INTEGERS:
            yield Fault(f"{declared.type} has more elements than an int64 index reaches", declared, "type")


# --- names ------------------------------------------------------------------------------------------------------------


def names(node: Node, context: Context) -> Iterator[Fault]:
    """A name is visible where it is used, with the type that it has there."""
    pending = list(reversed(build.operands_of(node)))
    seen = set()
    while pending:
        value = pending.pop()
        if value in seen:
            continue
        seen.add(value)
        if build.is_variable(value):
            name = value.attrs.get("name")
            known = context.names.get(name) if type(name) is str else None
            if known is None:
                yield Fault(f"{value_name(str(name))} is not visible here{context.similar(str(name))}", value)
            elif known.type is not value.type and not (known.type is INDEX and value.type is INT64):
                notes = ((f"{value_name(str(name))} is defined here", known.place),)
                yield Fault(f"{value_name(str(name))} is {known.type} and is used as {value.type}", value, notes=notes)
        pending.extend(reversed(value.args))


# --- indices ----------------------------------------------------------------------------------------------------------


def first_index(op: Op) -> int | None:
    """Return at which operand the indices of an operation begin; None for one without."""
    kinds = op.get_attr(ops.KINDS) or ()
    return kinds.index("index") if "index" in kinds else None


def index_kind(node: Node, context: Context) -> Faults:
    """An index is an index value or an integer literal."""
    first = first_index(node.op)
    for number, operand in enumerate(node.args[first:]):
        found = index_fault(operand, context)
        if found is not None:
            yield Fault(f"{title(node)} index {number} is {found}, expected index", part=(first or 0) + number)


def index_fault(operand: Node, context: Context) -> str | None:
    """Return what an operand is instead of an index, or None."""
    if build.is_literal(operand) and operand.type is INT64:
        return None
    type_ = context.type_of(operand)
    return None if type_ is INDEX else str(type_)


def index_rank(node: Node) -> Faults:
    """An element has an index for each axis that is not of extent 1."""
    buffer, indices = _element(node)
    if isinstance(buffer.type, MemRefType) and len(indices) != len(folded(buffer.type.shape)):
        reason = f"{title(node)} has {len(indices)} indices, {buffer.type} takes {len(folded(buffer.type.shape))}"
        yield Fault(reason, part=node.args.index(buffer))


def index_bounds(node: Node) -> Faults:
    """A literal index lies within its axis."""
    buffer, indices = _element(node)
    if not isinstance(buffer.type, MemRefType):
        return
    for position, (index, extent) in enumerate(zip(indices, folded(buffer.type.shape), strict=False)):
        value = index.attrs.get("value") if build.is_literal(index) else None
        if type(value) is int and not 0 <= value < extent:
            part = len(node.args) - len(indices) + position
            yield Fault(f"{title(node)} index {value} is outside [0, {extent})", part=part)


def _element(node: Node) -> tuple[Node, tuple[Node, ...]]:
    at = 1 if node.op is ops.WRITE else 0
    return (node.args[at], node.args[at + 1 :]) if len(node.args) > at else (node, ())


def write_readonly(node: Node, context: Context) -> Faults:
    """A parameter of a function is not written."""
    target = node.args[1] if len(node.args) > 1 else node
    known = context.names.get(str(target.attrs.get("name")))
    if known is not None and known.is_parameter:
        notes = ((f"{value_name(target.attrs['name'])} is defined here", known.place),)
        yield Fault(f"WRITE target {value_name(target.attrs['name'])} is a parameter", part=1, notes=notes)


def shape_axis(node: Node) -> Faults:
    """The axis that is asked for exists."""
    axis, type_ = node.attrs.get("axis"), node.args[0].type if node.args else None
    if type(axis) is int and isinstance(type_, MemRefType) and not 0 <= axis < len(type_.shape):
        yield Fault(f"SHAPE axis {axis} is outside [0, {len(type_.shape)})", part="axis")


# --- functions --------------------------------------------------------------------------------------------------------


def boundary(node: Node) -> Faults:
    """A function takes and gives buffers and scalars."""
    region = build.region_of(node)
    params = () if region is None else build.params_of(region)
    for word, declared in (("parameter", params), ("result", build.operands_of(node))):
        for each in declared:
            if not isinstance(each.type, MemRefType | DType):
                name = value_name(str(each.attrs.get("name")))
                yield Fault(f"FUNC {word} {name} is {each.type}, expected a memref or a scalar", each, "type")


def return_last(node: Node) -> Faults:
    """A function ends in a `buffer.return`; nothing else that ends a region stands in its body."""
    body = build.body_of(node.args[-1]) if build.region_of(node) is not None else ()
    if not body or body[-1].op is not ops.RETURN or any([build.is_terminator(each) for each in body[:-1]]):
        yield f"function @{node.attrs.get('name')} must end in one buffer.return"


def return_values(node: Node, context: Context) -> Faults:
    """A function returns a value for each result: a buffer with the same elements, or a scalar of its type."""
    results = context.results
    if len(node.args) != len(results):
        yield f"RETURN has {len(node.args)} values for {len(results)} results"
        return
    for position, (value, result) in enumerate(zip(node.args, results, strict=True)):
        type_ = context.type_of(value)
        scalar = type_ if not isinstance(type_, MemRefType) else None
        fits = scalar is result.type or (scalar is INDEX and result.type is INT64) or are_compatible(type_, result.type)
        if not fits or value.op is ops.UNDEF:
            name = value_name(str(result.attrs.get("name")))
            got = "undef" if value.op is ops.UNDEF else type_
            yield Fault(f"RETURN value {position} is {got}, result {name} is {result.type}", part=position)


def on(*wanted: Op) -> frozenset[Op]:
    """Return the operators that a rule is about."""
    return frozenset(wanted)


_HAS_VALUES: Final = lambda op: is_declared(op) and "value" not in op.get_attr(ops.KINDS)  # noqa: E731

FORM_RULES: Final = (
    Rule("operand-count", operand_count, is_declared),
    Rule("operand-count", let_operand, on(ops.LET)),
    Rule("operand-kind", operand_kind, _HAS_VALUES),
    Rule("attr-set", attr_set, lambda op: op.dialect in ops.UNIT),
    Rule("result-shape", result_kind, is_declared),
)
"""What other rules rely on: they are asked only where these find nothing."""

RULES: Final = (
    Rule("dtype-kind", dtype_kind, lambda op: bool(op.get_attr(ops.NUMERIC))),
    Rule("dtype-mismatch", dtype_mismatch, _HAS_VALUES),
    Rule("buffer-size", size, lambda op: True),
    Rule("index-rank", index_rank, on(ops.READ, ops.WRITE)),
    Rule("index-kind", index_kind, lambda op: first_index(op) is not None, context=True),
    Rule("index-bounds", index_bounds, on(ops.READ, ops.WRITE)),
    Rule("write-readonly", write_readonly, on(ops.WRITE), context=True),
    Rule("shape-axis", shape_axis, on(ops.SHAPE)),
    Rule("operand-kind", boundary, on(ops.FUNC)),
    Rule("return-last", return_last, on(ops.FUNC)),
    Rule("return-values", return_values, on(ops.RETURN), context=True),
)
