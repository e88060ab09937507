"""How the evaluator runs graphs: a plan for each function, and frames on a stack of its own.

A plan lists the steps of a graph in order, with slots for values and what each step frees. Calls and loops hand over to
the driver in `run`, which keeps the frames of functions that are being evaluated, so that chains of operations and of
calls may be of any length. Nothing is rewritten. Source: expression specification 2.7 and 2.8.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Hashable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy

from scaly_ir.dialects.expr import ops
from scaly_ir.dialects.expr.call_typing import LoopParts, loop_parts
from scaly_ir.dialects.expr.functions import inputs_of, invocation, outputs_of
from scaly_ir.errors import EvaluationError
from scaly_ir.graph import Node, postorder
from scaly_ir.numeric.evaluate import bad_reference, blaming, failed_reference
from scaly_ir.tensors import MOST_AXES, TensorType

if TYPE_CHECKING:
    Array = numpy.ndarray[Any, Any]
    Results = list[Array]

Compute = Callable[..., "Array"]


class Request(NamedTuple):
    """What a frame waits for: the outputs of a function for some operands."""

    function: Node
    operands: Sequence[Array]


Frame = Generator[Request, "Results", "Results"]


class Step(NamedTuple):
    """One step of a plan: what is computed from which slots, where results go, and what is not needed any more.

    `compute` is a function of arrays for one operation, or a call or loop, of which `targets` takes some results.
    """

    compute: Compute | Invocation
    args: tuple[int, ...]
    targets: tuple[int, ...]
    frees: tuple[int, ...]


class Plan(NamedTuple):
    """How a graph is evaluated: `inputs` and `outputs` are slots; an input that nothing reads has none.

    `nodes` are by slot what is computed there.
    """

    nodes: Sequence[Node]
    inputs: tuple[int | None, ...]
    constants: list[tuple[int, Array]]
    steps: list[Step]
    outputs: tuple[int, ...]


# --- operations -------------------------------------------------------------------------------------------------------


def operation(node: Node) -> Compute:
    """Return what an operation computes, as a function of arrays.

    It raises `EvaluationError` when the `FNumpy` of an operator that is not the dialect's own raises anything but
    `FloatingPointError`, or gives another shape or dtype than the node has. `NotImplementedError` when nobody says what
    the operator computes.
    """
    type_: TensorType = node.type
    compute = _meaning(node)
    dtype, shape, name = numpy.dtype(str(type_.dtype)), type_.shape, node.op.name
    mask = None if type_.pattern is None else type_.pattern.to_mask()
    own = node.op.get_attr("TStructural", False)

    def checked(*arrays: Array) -> Array:
        try:
            result = numpy.asarray(compute(*arrays))
        except Exception as error:
            error.add_note(f"in the evaluation of '{name}' : {type_}")
            if own or isinstance(error, FloatingPointError | MemoryError):
                raise
            raise failed_reference(node, error) from error
        if result.dtype != dtype or result.shape != shape:
            raise bad_reference(node, f"{result.dtype} of shape {result.shape}, expected {type_}")
        # What a pattern leaves out is exactly zero, whatever the arithmetic of zeros gives, as 0 * inf.
        return result if mask is None else numpy.where(mask, result, numpy.zeros((), dtype))

    return checked


def _meaning(node: Node) -> Compute:
    if node.op is ops.CAST:
        target = numpy.dtype(str(node.type.dtype))
        return lambda x: x.astype(target)
    function = node.op.get_attr("FNumpy")
    if function is None:
        raise NotImplementedError(f"operator '{node.op.name}' has no FNumpy, so it cannot be evaluated")
    attrs = {key: value for key, value in node.attrs.items() if key != "lowering"}
    return function if not attrs else lambda *arrays: function(*arrays, **attrs)


# --- plans ------------------------------------------------------------------------------------------------------------


class Plans:
    """The plans of the functions that one evaluation needs, each made once."""

    def __init__(self) -> None:
        self._of: dict[Node, Plan] = {}
        self._operations: dict[Any, Compute] = {}

    def of(self, function: Node) -> Plan:
        """Return the plan of a function."""
        known = self._of.get(function)
        if known is None:
            known = self._of[function] = self.make(outputs_of(function), inputs_of(function))
        return known

    def make(self, roots: Sequence[Node], inputs: Sequence[Node]) -> Plan:
        """Return the plan of a graph with the given results and inputs."""
        order = postorder(*roots)
        slots = {node: slot for slot, node in enumerate(order)}
        steps: list[Step] = []
        constants = []
        groups = _invocations(order)
        for slot, node in enumerate(order):
            _check_array(node)
            if node.op is ops.INPUT:
                continue
            if node.op is ops.CONST:
                constants.append((slot, node.attrs["value"].array))
                continue
            args = tuple([slots[operand] for operand in node.args])
            if node.op not in ops.CALLS:
                steps.append(Step(self._operation(node), args, (slot,), ()))
                continue
            members = groups[invocation(node)]
            if members[0] is node:
                wanted = [member.attrs["output"] for member in members]
                steps.append(Step(Invocation(node, wanted), args, tuple([slots[member] for member in members]), ()))
        outputs = tuple([slots[root] for root in roots])
        return Plan(
            order,
            tuple([slots.get(formal) for formal in inputs]),
            constants,
            _with_frees(steps, frozenset(outputs)),
            outputs,
        )

    def _operation(self, node: Node) -> Compute:
        key = (node.op, node.attrs.key, id(node.type))
        known = self._operations.get(key)
        if known is None:
            known = self._operations[key] = operation(node)
        return known


def _check_array(node: Node) -> None:
    """Refuse a value of a type that no array can have."""
    type_: TensorType = node.type
    if type_.ndim > MOST_AXES:
        raise blaming(node, f"'{node.op.name}' has {type_.ndim} axes; what is evaluated has at most {MOST_AXES}")
    if type_.size * numpy.dtype(str(type_.dtype)).itemsize > sys.maxsize:
        raise no_memory(node)


def no_memory(node: Node) -> EvaluationError:
    """Return the error for an operation whose value, or what it takes to compute that, finds no memory."""
    elements = "1 element" if node.type.size == 1 else f"{node.type.size} elements"
    return blaming(node, f"'{node.op.name}' gives {elements} of {node.type.dtype}, for which there is no memory")


def _with_frees(steps: Sequence[Step], kept: frozenset[int]) -> list[Step]:
    """Return the steps, each with the slots that no later one reads."""
    seen = set(kept)
    made = []
    for step in reversed(steps):
        last = tuple([slot for slot in dict.fromkeys(step.args) if slot not in seen])
        seen.update(last)
        made.append(step._replace(frees=last))
    made.reverse()
    return made


def _invocations(order: Iterable[Node]) -> dict[Hashable, list[Node]]:
    """Return the calls and loops by what they evaluate: nodes that differ in `output` are one invocation."""
    groups: dict[Hashable, list[Node]] = {}
    for node in order:
        if node.op in ops.CALLS:
            groups.setdefault(invocation(node), []).append(node)
    return groups


# --- frames -----------------------------------------------------------------------------------------------------------


def run(plans: Plans, plan: Plan, operands: Sequence[Array]) -> Results:
    """Return the results of a plan for the values of its inputs."""
    frames = [_frame(plan, operands)]
    results: Results | None = None
    with numpy.errstate(all="ignore"):
        while True:
            try:
                request = frames[-1].send(results)  # type: ignore[arg-type]  # None starts a frame
            except StopIteration as finished:
                frames.pop()
                results = finished.value
                if not frames:
                    return finished.value  # type: ignore[no-any-return]
            else:
                frames.append(_frame(plans.of(request.function), request.operands))
                results = None


def _frame(plan: Plan, operands: Sequence[Array]) -> Frame:
    """Evaluate a plan; what it needs of other functions it requests."""
    values: list[Any] = [None] * len(plan.nodes)
    for slot, array in zip(plan.inputs, operands, strict=True):
        if slot is not None:
            values[slot] = array
    del operands
    for slot, array in plan.constants:
        values[slot] = array
    for compute, args, targets, frees in plan.steps:
        given = [values[slot] for slot in args]
        for slot in frees:
            values[slot] = None
        try:
            if isinstance(compute, Invocation):
                results = yield from compute.results(given)
                for slot, result in zip(targets, results, strict=True):
                    values[slot] = result
            else:
                values[targets[0]] = compute(*given)
        except EvaluationError as failure:
            failure.blamed = (plan.nodes[targets[0]],)  # equal operations share what computes them
            raise
        except MemoryError as failure:
            raise no_memory(plan.nodes[targets[0]]) from failure
        del given
    return [values[slot] for slot in plan.outputs]


class Invocation:
    """A call or loop, of which some results are wanted, by number."""

    __slots__ = ("attrs", "callee", "cond", "parts", "wanted")

    def __init__(self, node: Node, wanted: Sequence[int]) -> None:
        self.attrs = node.attrs
        self.callee: Node = _resolved(node, "callee")
        self.wanted = wanted
        self.parts: LoopParts | None = None
        self.cond: Node | None = None
        if node.op is ops.LOOP:
            self.parts = loop_parts(node.args, node.attrs)
            self.cond = None if node.attrs["cond"] is None else _resolved(node, "cond")

    def results(self, operands: Sequence[Array]) -> Frame:
        """Evaluate, and return the results that are wanted."""
        if self.parts is None:
            outputs = yield Request(self.callee, operands)
            return [outputs[number] for number in self.wanted]
        return (yield from self._loop(self.parts, operands))

    def _loop(self, parts: LoopParts, operands: Sequence[Array]) -> Frame:
        """Evaluate a loop, step by step as the specification writes it."""
        attrs = self.attrs
        count, length, reverse = len(parts.carries), attrs["length"], attrs["reverse"]
        carry, outers = list(operands[:count]), operands[count : count + len(parts.outers)]
        bound = length if parts.trip is None else min(max(int(operands[-1]), 0), length)
        stacks = _Stacks(parts, length, self.wanted)
        shared = self._windows(parts, outers, 0, shared=True) if bound and self.cond is not None else []
        steps = 0
        for turn in range(bound):
            k = bound - 1 - turn if reverse else turn
            if self.cond is not None:
                (goes_on,) = yield Request(self.cond, [*carry, *shared])
                if not goes_on.reshape(())[()]:
                    break
            stacks.enter(k, carry)
            number = [numpy.asarray(k, numpy.int64)] if attrs["index"] else []
            outputs = yield Request(self.callee, [*carry, *number, *self._windows(parts, outers, k)])
            carry = outputs[:count]
            stacks.leave(k, outputs[count:])
            steps += 1
        return [stacks.result(number, carry, steps) for number in self.wanted]

    def _windows(self, parts: LoopParts, outers: Sequence[Array], k: int, *, shared: bool = False) -> list[Array]:
        """Return what step `k` reads of the outer operands; of those alone that are the same for all if `shared`."""
        found = []
        windows = zip(outers, parts.slices, self.attrs["starts"], self.attrs["strides"], strict=True)
        for outer, formal, start, stride in windows:
            if not shared or stride == 0:
                first = start + k * stride
                found.append(outer[first : first + formal.type.size].reshape(formal.type.shape))
        return found


class _Stacks:
    """The stacked results of a loop and the trajectories of its carries, as far as they are wanted.

    Results are numbered: final carries, stacked results, the number of steps, trajectories.
    """

    def __init__(self, parts: LoopParts, length: int, wanted: Iterable[int]) -> None:
        self.count = len(parts.carries)
        self.steps_at = self.count + len(parts.stacked)
        self.flat: dict[int, Array] = {}
        """What is wanted, by the number of the result."""
        for number in wanted:
            if self.count <= number < self.steps_at:
                type_ = parts.stacked[number - self.count].type
            elif number > self.steps_at:
                type_ = parts.carries[number - self.steps_at - 1].type
            else:
                continue
            self.flat[number] = numpy.zeros(length * type_.size, str(type_.dtype))

    def enter(self, k: int, carry: Sequence[Array]) -> None:
        """Note the carries that enter step `k`."""
        for number, flat in self.flat.items():
            if number > self.steps_at:
                _write(flat, k, carry[number - self.steps_at - 1])

    def leave(self, k: int, stacked: Sequence[Array]) -> None:
        """Note what step `k` gives."""
        for number, flat in self.flat.items():
            if number < self.steps_at:
                _write(flat, k, stacked[number - self.count])

    def result(self, number: int, carry: Sequence[Array], steps: int) -> Array:
        """Return a result, when all steps are done."""
        if number < self.count:
            return carry[number]
        return numpy.asarray(steps, numpy.int64) if number == self.steps_at else self.flat[number]


def _write(flat: Array, k: int, entry: Array) -> None:
    flat[k * entry.size : (k + 1) * entry.size] = entry.reshape(-1)


def _resolved(node: Node, key: str) -> Node:
    function = node.attrs[key]
    if not isinstance(function, Node):
        raise blaming(node, f"'{node.op.name}' refers to the function '{function}', which is not defined here")
    return function
