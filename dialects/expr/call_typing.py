"""The types of calls and loops, from the functions that they refer to.

Source: expression specification 2.7, 2.8 and 5 (`call-attrs`, `loop-attrs`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from scaly_ir.dialects.expr import ops
from scaly_ir.dialects.expr.functions import inputs_of, outputs_of
from scaly_ir.dialects.expr.typing import Misuse, Shape, tensor_types
from scaly_ir.graph import Node
from scaly_ir.op import Op
from scaly_ir.tensors import TensorType
from scaly_ir.text.locations import Part
from scaly_ir.types import BOOL, INT64


def function_fault(node: Node) -> str | None:
    """Return what is wrong with a node that is to be a function, in the words that follow what refers to it."""
    if node.op is not ops.FUNC:
        return f"is '{node.op.name}', not a function"
    name, outputs = node.attrs.get("name"), node.attrs.get("output_names")
    if type(name) is not str or not name:
        return "has no name"
    if type(outputs) is not tuple or any([type(output) is not str for output in outputs]):
        return f"'{name}' has no list of output names"
    if not 0 < len(outputs) <= len(node.args):
        return f"'{name}' has {len(outputs)} output names for {len(node.args)} operands"
    for result in outputs_of(node):
        if type(result.type) is not TensorType:
            return f"'{name}' has an output of type {result.type}, not a tensor type"
    formals = inputs_of(node)
    for formal in formals:
        formal_name = formal.attrs.get("name")
        if formal.op is not ops.INPUT or type(formal.type) is not TensorType or type(formal_name) is not str:
            return f"'{name}' has the input '{formal.op.name}' of type {formal.type}, expected a named 'expr.input'"
    for what, names in (("inputs", [formal.attrs["name"] for formal in formals]), ("outputs", outputs)):
        if len(set(names)) != len(names):
            return f"'{name}' has two {what} called '{next(each for each in names if names.count(each) > 1)}'"
    return None


def _check_function(op: Op, key: str, node: Node) -> None:
    fault = function_fault(node)
    if fault is not None:
        raise Misuse("callee-resolved", f"{op.mnemonic.upper()} {key} {fault}", TypeError, part=key)


def call_type(op: Op, args: Sequence[Node], attrs: Mapping[str, Any]) -> TensorType | None:
    """Return the type of one output of a call."""
    types = tensor_types(op, args)
    callee, output = attrs.get("callee"), attrs.get("output")
    if not isinstance(callee, Node):
        return None
    _check_function(op, "callee", callee)
    formals = inputs_of(callee)
    name = callee.attrs["name"]
    if len(types) != len(formals):
        raise Misuse("call-attrs", f"CALL of '{name}' has {len(types)} operands, expected {len(formals)}")
    for position, (formal, given) in enumerate(zip(formals, types, strict=True)):
        _check_formal("call-attrs", f"CALL of '{name}'", formal, given, position)
    results = outputs_of(callee)
    if type(output) is not int or not 0 <= output < len(results):
        plural = "s" if len(results) != 1 else ""
        reason = f"CALL output {output} is out of range: '{name}' has {len(results)} output{plural}"
        raise Misuse("call-attrs", reason, part="output")
    result: TensorType = results[output].type
    return result.but(diff=result.diff and any([type_.diff for type_ in types]))


def _check_formal(
    rule: str, what: str, formal: Node, given: TensorType, position: int, shape: Shape | None = None
) -> None:
    """Check the operand that is passed for an input: `shape` where it is not passed as it is."""
    wanted: TensorType = formal.type
    label = f"'{formal.attrs['name']}'"
    if given.dtype is not wanted.dtype:
        reason = f"{what}: input {label} has dtype {wanted.dtype}, got {given.dtype}"
        raise Misuse(rule, reason, TypeError, f"{reason}; convert it with sc.cast", part=position)
    if (given.shape if shape is None else shape) != wanted.shape:
        raise Misuse(rule, f"{what}: input {label} has shape {wanted.shape}, got {given.shape}", part=position)
    if shape is None and given.pattern is not wanted.pattern:
        raise Misuse(rule, f"{what}: input {label} has type {wanted}, got {given}", TypeError, part=position)


# --- loops ------------------------------------------------------------------------------------------------------------


class LoopParts(NamedTuple):
    """What the operands of a loop, and the inputs and outputs of its body, are."""

    inits: tuple[Node, ...]
    outers: tuple[Node, ...]
    trip: Node | None
    carries: tuple[Node, ...]
    """The inputs of the body that are carried."""
    step: Node | None
    """The input of the body that takes the step number."""
    slices: tuple[Node, ...]
    """The inputs of the body that take parts of the outers."""
    next_carries: tuple[Node, ...]
    stacked: tuple[Node, ...]


def loop_parts(args: Sequence[Node], attrs: Mapping[str, Any]) -> LoopParts:
    """Take a loop apart; `Misuse` when the counts do not agree."""
    count, outers = attrs["n_carry"], len(attrs["starts"])
    body = attrs["callee"]
    formals, results = inputs_of(body), outputs_of(body)
    with_step = 1 if attrs["index"] else 0
    if len(args) not in (count + outers, count + outers + 1):
        _refuse(f"has {len(args)} operands, expected {count + outers} or one more")
    if len(formals) != count + with_step + outers:
        expected = f"{count + with_step + outers}"
        _refuse(f"body '{body.attrs['name']}' has {len(formals)} inputs, expected {expected}", part="callee")
    if len(results) < count:
        _refuse(f"body '{body.attrs['name']}' has {len(results)} outputs for {count} carries", part="callee")
    operands = tuple(args)
    return LoopParts(
        operands[:count],
        operands[count : count + outers],
        operands[-1] if len(operands) > count + outers else None,
        formals[:count],
        formals[count] if with_step else None,
        formals[count + with_step :],
        results[:count],
        results[count:],
    )


def _refuse(reason: str, error: type[Exception] = ValueError, *, part: Part = "") -> None:
    raise Misuse("loop-attrs", f"LOOP {reason}", error, part=part)


def loop_type(op: Op, args: Sequence[Node], attrs: Mapping[str, Any]) -> TensorType | None:
    """Return the type of one result of a loop."""
    types = tensor_types(op, args)
    _check_attributes(attrs)
    for key in ("callee", "cond"):
        if isinstance(attrs.get(key), Node):
            _check_function(op, key, attrs[key])
    if not isinstance(attrs.get("callee"), Node):
        return None
    parts = loop_parts(args, attrs)
    _check_carries(parts)
    _check_outers(parts, attrs)
    _check_condition(parts, attrs)
    if parts.trip is not None and (parts.trip.type.dtype is not INT64 or parts.trip.type.shape != ()):
        _refuse(f"trip has type {parts.trip.type}, expected an int64 scalar", TypeError, part=len(args) - 1)
    result = _result_type(parts, attrs["output"], attrs["length"])
    return result.but(diff=result.diff and any([type_.diff for type_ in types]))


def _is_counts(value: Any) -> bool:
    return type(value) is tuple and all([type(item) is int and item >= 0 for item in value])


def _check_attributes(attrs: Mapping[str, Any]) -> None:
    for key in ("n_carry", "length", "output"):
        if type(attrs.get(key)) is not int or attrs[key] < 0:
            _refuse(f"{key} is {attrs.get(key)!r}, expected an integer of at least 0", part=key)
    for key in ("starts", "strides", "in_place"):
        if not _is_counts(attrs.get(key)):
            _refuse(f"{key} are not integers of at least 0", part=key)
    for key in ("index", "reverse"):
        if type(attrs.get(key)) is not bool:
            _refuse(f"{key} is {attrs.get(key)!r}, expected a bool")
    if len(attrs["starts"]) != len(attrs["strides"]):
        _refuse(f"has {len(attrs['starts'])} starts and {len(attrs['strides'])} strides", part="strides")
    places = list(attrs["in_place"])
    if places != sorted(set(places)) or any([place >= attrs["n_carry"] for place in places]):
        _refuse(f"in_place {places} are not sorted, distinct positions of {attrs['n_carry']} carries", part="in_place")
    if attrs.get("cond") is not None:
        if attrs["reverse"]:
            _refuse("has a condition and runs in reverse", part="reverse")
        if attrs["n_carry"] == 0:
            _refuse("has a condition and no carry", part="cond")


def _check_carries(parts: LoopParts) -> None:
    if parts.step is not None and (parts.step.type.dtype is not INT64 or parts.step.type.shape != ()):
        _refuse(
            f"step input '{parts.step.attrs['name']}' has type {parts.step.type}, expected an int64 scalar", TypeError
        )
    carried = zip(parts.carries, parts.inits, parts.next_carries, strict=True)
    for position, (carry, init, following) in enumerate(carried):
        name, wanted = carry.attrs["name"], carry.type
        part: Part
        for given, what, part in ((following.type, "becomes", "callee"), (init.type, "starts as", position)):
            if (given.shape, given.dtype, given.pattern) != (wanted.shape, wanted.dtype, wanted.pattern):
                _refuse(f"carry '{name}' has type {wanted} and {what} {given}", part=part)


def _check_outers(parts: LoopParts, attrs: Mapping[str, Any]) -> None:
    windows = zip(parts.outers, parts.slices, attrs["starts"], attrs["strides"], strict=True)
    for position, (outer, formal, start, stride) in enumerate(windows):
        given: TensorType = outer.type
        name, size = formal.attrs["name"], formal.type.size
        if given.ndim != 1 or given.pattern is not None:
            _refuse(f"operand for '{name}' has type {given}, expected one axis", part=len(parts.inits) + position)
        if formal.type.pattern is not None:
            _refuse(f"input '{name}' of the body is sparse, but takes a part of a dense operand")
        _check_formal(
            "loop-attrs",
            f"LOOP of '{attrs['callee'].attrs['name']}'",
            formal,
            given,
            len(parts.inits) + position,
            formal.type.shape,
        )
        last = start + (attrs["length"] - 1) * stride + size
        if attrs["length"] and last > given.shape[0]:
            _refuse(
                f"window of '{name}' ends at {last}, past the {given.shape[0]} entries of its operand", part="length"
            )


def _check_condition(parts: LoopParts, attrs: Mapping[str, Any]) -> None:
    condition = attrs["cond"]
    if not isinstance(condition, Node):
        return
    shared = [formal for formal, stride in zip(parts.slices, attrs["strides"], strict=True) if stride == 0]
    name, formals, results = condition.attrs["name"], inputs_of(condition), outputs_of(condition)
    wanted = [formal.type for formal in (*parts.carries, *shared)]
    if [(f.type.shape, f.type.dtype) for f in formals] != [(w.shape, w.dtype) for w in wanted]:
        listed = ", ".join(map(str, wanted))
        _refuse(f"condition '{name}' does not take the carries and shared operands ({listed})", part="cond")
    if len(results) != 1 or results[0].type.dtype is not BOOL or results[0].type.size != 1:
        _refuse(f"condition '{name}' does not give one bool", part="cond")


def _result_type(parts: LoopParts, output: int, length: int) -> TensorType:
    carries, stacked = len(parts.carries), len(parts.stacked)
    if output < carries:
        final: TensorType = parts.next_carries[output].type
        return final
    if output < carries + stacked:
        entry: TensorType = parts.stacked[output - carries].type
        return TensorType((length * entry.size,), entry.dtype, entry.diff)
    if output == carries + stacked:
        return TensorType((), INT64, diff=False)
    position = output - carries - stacked - 1
    if position >= carries:
        _refuse(f"output {output} is out of range: there are {2 * carries + stacked + 1} results", part="output")
    carry: TensorType = parts.next_carries[position].type
    return TensorType((length * carry.size,), carry.dtype, carry.diff)
