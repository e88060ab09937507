"""What must hold for loops and maps. Source: matrix specification 7."""

from __future__ import annotations

from typing import Final

from scaly_ir.dialects.affine import ops
from scaly_ir.dialects.affine.build import carried_types, inits_of
from scaly_ir.dialects.affine.maps import DIVISIONS, AffineMap, Dim, Expr, spell, starts_of
from scaly_ir.dialects.buffer import build
from scaly_ir.dialects.buffer.context import Context
from scaly_ir.dialects.buffer.rules import ITEMS, each_of, index_fault, on, title
from scaly_ir.graph import Node
from scaly_ir.op import Op
from scaly_ir.spec import Fault, Faults, Rule
from scaly_ir.text.diagnostics import did_you_mean
from scaly_ir.types import INT64, int_range

ITEMS["a list of affine maps"] = each_of(lambda value: isinstance(value, AffineMap))

_INTEGERS: Final = int_range(INT64)


def for_bound(node: Node, context: Context) -> Faults:
    """The bounds of a loop are index values or integer literals."""
    for position, bound in enumerate(node.args[:2]):
        found = index_fault(bound, context)
        if found is not None:
            yield Fault(f"FOR bound is {found}, expected index", part=position)


def for_step(node: Node) -> Faults:
    """A loop goes upwards."""
    step = node.attrs.get("step")
    if type(step) is int and step < 1:
        yield Fault(f"FOR step {step} is not positive", part="step")


def for_iter(node: Node) -> Faults:
    """A loop has a result for each value that it carries, of its type."""
    if build.region_of(node) is None:
        yield "FOR lacks a body"
        return
    inits, types = inits_of(node), carried_types(node)
    names, params = node.attrs.get("results") or (), build.params_of(node.args[-1])
    counts = [count for count in (len(names), len(types), len(params) - 1) if count != len(inits)]
    if counts:
        yield Fault(f"FOR carries {len(inits)} values and has {counts[0]} results", part="results" if names else "")
        return
    for position, (init, type_, param) in enumerate(zip(inits, types, params[1:], strict=True)):
        if init.type is not type_ or param.type is not type_:
            yield Fault(f"FOR value {position} is {init.type}, expected {type_}", part=2 + position)


def for_yield(node: Node) -> Faults:
    """The body of a loop that carries values ends in an `affine.yield` of as many; that of another has none."""
    if build.region_of(node) is None:
        return
    body, types = build.body_of(node.args[-1]), carried_types(node)
    ends = [each for each in body if build.is_terminator(each)]
    if not types and not ends:
        return
    sound = len(ends) == 1 and body[-1] is ends[0] and ends[0].op is ops.YIELD
    if not sound or len(ends[0].args) != len(types):
        yield f"FOR body must end in affine.yield of {len(types)} values"
        return
    for position, (value, type_) in enumerate(zip(ends[0].args, types, strict=True)):
        if value.type is not type_:
            yield f"FOR value {position} is {value.type}, expected {type_}"


def for_kind(node: Node) -> Faults:
    """The kind of a loop is known, and independent trips carry nothing."""
    kind = node.attrs.get("kind")
    if kind not in ops.FOR_KINDS:
        if isinstance(kind, str):
            yield Fault(f"FOR kind {kind} is unknown{did_you_mean(kind, ops.FOR_KINDS)}", part="kind")
    elif kind == "global" and inits_of(node):
        yield Fault("FOR kind global cannot carry values", part="kind")


def map_expr(node: Node) -> Faults:
    """Maps divide by positive literals, multiply by literals, and use the dimensions they have."""
    for key, value in node.attrs.items():
        for each in value if type(value) is tuple else (value,):
            if isinstance(each, AffineMap):
                fault = next((found for result in each.results if (found := expression_fault(result, each.dims))), None)
                if fault:
                    yield Fault(fault, part=key)


def expression_fault(expr: Expr, dims: int) -> str:
    """Return what is wrong with an expression of a map, or an empty string."""
    starts: list[int] = []
    for at, token in enumerate(expr):
        if isinstance(token, Dim) and token.number >= dims:
            return f"map uses d{token.number}, has {dims} dims"
        if type(token) is int and token not in _INTEGERS:
            return f"map holds {token}, which does not fit int64"
        if token == "*" or token in DIVISIONS:
            starts = starts or starts_of(expr)
            right = expr[starts[at - 1] : at]
            literal = right[0] if len(right) == 1 and type(right[0]) is int else None
            if token == "*" and literal is None:
                return "map multiplies two dims"
            if token in DIVISIONS and (literal is None or literal < 1):
                return f"map divides by {spell(right)}"
    return ""


def map_arity(node: Node) -> Faults:
    """A map takes as many dimensions as there are operands, and has one result, or some to choose from."""
    found = node.attrs.get("map")
    if not isinstance(found, AffineMap):
        return
    if found.dims != len(node.args):
        yield Fault(f"{title(node)} map takes {found.dims} dims, got {len(node.args)} operands", part="map")
    elif node.op is ops.APPLY and len(found.results) != 1:
        yield Fault(f"APPLY map has {len(found.results)} results, expected 1", part="map")
    elif not found.results:
        yield Fault(f"{title(node)} map has no results", part="map")


def _takes_maps(op: Op) -> bool:
    specs = (op.attr_specs or {}).values()
    return any([AffineMap in spec.kinds or spec.words == "a list of affine maps" for spec in specs])


def _has_map(op: Op) -> bool:
    return "map" in (op.attr_specs or {}) and op.dialect == "affine"


RULES: Final = (
    Rule("for-bound", for_bound, on(ops.FOR), context=True),
    Rule("for-step", for_step, on(ops.FOR)),
    Rule("for-iter", for_iter, on(ops.FOR)),
    Rule("for-yield", for_yield, on(ops.FOR)),
    Rule("for-kind", for_kind, on(ops.FOR)),
    Rule("map-expr", map_expr, _takes_maps),
    Rule("map-arity", map_arity, _has_map),
)
