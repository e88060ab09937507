"""A strict interpreter of `prog` for tests: small and slow, and it shares no code with the passes.

It follows program specification 4 word for word and refuses whatever that leaves undefined: poisoned elements, as those
of an output are when a call begins unless it works in place, indices outside a buffer, writes to what is read-only,
arguments that overlap, division by zero. It recurses over the program,
so programs must be small. Besides the outputs it counts how often each operator ran, every occurrence in the text on
its own.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, NoReturn

import numpy as np

from scaly_ir.dialects.prog import ops
from scaly_ir.dialects.prog.build import body_of, params_of
from scaly_ir.graph import Node
from scaly_ir.op import Op
from scaly_ir.types import DType, int_range


class EvaluationError(Exception):
    """What a program did that has no meaning."""


class Result(NamedTuple):
    """What came out: the parameters that may be written, by name, and how often each operator ran."""

    outputs: dict[str, np.ndarray[Any, Any]]
    executed: Counter[Op]
    finite: bool
    """Whether nothing that was computed was infinite or no number."""


@dataclass(slots=True)
class Storage:
    """Memory with one owner; an element is poisoned until it is written."""

    values: list[Any]
    defined: list[bool]

    @staticmethod
    def poisoned(size: int) -> Storage:
        return Storage([None] * size, [False] * size)

    @staticmethod
    def of(values: Sequence[Any]) -> Storage:
        return Storage(list(values), [True] * len(values))


class Place(NamedTuple):
    """What the name of a buffer stands for: a window of some storage."""

    name: str
    storage: Storage
    offset: int
    size: int
    dtype: DType
    writable: bool

    def window(self, start: int, size: int, name: str) -> Place:
        """Return a part of this window under another name."""
        if start < 0 or start + size > self.size:
            raise EvaluationError(f"%{name} needs [{start}, {start + size}) of %{self.name} with {self.size} elements")
        return self._replace(name=name, offset=self.offset + start, size=size)

    def poison(self) -> None:
        """Forget what is in this window."""
        self.storage.defined[self.offset : self.offset + self.size] = [False] * self.size

    def overlaps(self, other: Place) -> bool:
        """Tell whether two windows share an element."""
        apart = self.offset + self.size <= other.offset or other.offset + other.size <= self.offset
        return self.storage is other.storage and not apart and self.size > 0 and other.size > 0


@dataclass(slots=True)
class Frame:
    """The names of one running procedure."""

    workspace: Storage
    first: int
    """Where the procedure's own part of the workspace begins."""
    inside: int
    """Where that of its callees begins."""
    places: dict[str, Place] = field(default_factory=dict)
    scalars: dict[str, Any] = field(default_factory=dict)


def run(
    module: Node,
    inputs: Mapping[str, Sequence[float]],
    proc: str | None = None,
    *,
    width: int = 4,
    backwards: bool = False,
) -> Result:
    """Run a procedure, by default the last one.

    `inputs` holds flat values for its inputs, and for its outputs too where nothing says which parameters are inputs.
    `width` is what the lane widths are; with `backwards`, loops of kind ``global`` run their trips from last to first.
    """
    entry = next(p for p in reversed(module.args) if proc is None or p.attrs["name"] == proc)
    machine = _Machine({p.attrs["name"]: p for p in module.args}, width, backwards)
    arguments = []
    for position, param in enumerate(params_of(entry)):
        name, size, writable = param.attrs["name"], math.prod(param.attrs["shape"]), _may_write(entry, position)
        given = "input_count" not in entry.attrs or not writable
        storage = Storage.of(_cells(inputs[name], param.type)) if given else Storage.poisoned(size)
        arguments.append(Place(name, storage, 0, size, param.type, writable))
    workspace = Storage.poisoned(entry.attrs.get("sz_w", 0))
    with np.errstate(all="ignore"):
        machine.procedure(entry, arguments, workspace, 0)
    outputs = {}
    for place in arguments:
        if place.writable:
            if not all(place.storage.defined):
                raise EvaluationError(f"an element of %{place.name} was never written")
            outputs[place.name] = np.array(place.storage.values, dtype=_numpy(place.dtype))
    return Result(outputs, machine.executed, machine.finite)


def _may_write(proc: Node, position: int) -> bool:
    return position >= int(proc.attrs.get("input_count", 0))


def _numpy(dtype: DType) -> np.dtype[Any]:
    return np.dtype(str(dtype))


def _cells(values: Sequence[float], dtype: DType) -> list[Any]:
    return list(np.array(values, dtype=_numpy(dtype)).reshape(-1))


class _Machine:
    def __init__(self, procs: dict[str, Node], width: int, backwards: bool) -> None:
        self.procs = procs
        self.width = width
        self.backwards = backwards
        self.executed: Counter[Op] = Counter()
        self.finite = True

    def procedure(self, proc: Node, arguments: Sequence[Place], workspace: Storage, first: int) -> None:
        frame = Frame(workspace, first, first + proc.attrs.get("w_self", 0))
        frame.places = {place.name: place for place in arguments}
        self.statements(body_of(proc), frame)

    def statements(self, body: Sequence[Node], frame: Frame) -> None:
        before = dict(frame.scalars)
        for statement in body:
            self.statement(statement, frame)
        frame.scalars = {name: frame.scalars[name] for name in before}  # what was declared here goes out of scope

    def statement(self, node: Node, frame: Frame) -> None:
        if node.op is ops.BUFFER:
            self.declaration(node, frame)
        elif node.op is ops.FOR:
            self.loop(node, frame)
        elif node.op is ops.CALL:
            self.call(node, frame)
        elif node.op is ops.ASSIGN:
            name = node.attrs["target"]
            if (name in frame.scalars) == node.attrs.get("declare", False):
                raise EvaluationError(f"%{name} is declared twice or not at all")
            frame.scalars[name] = self.scalar(node.args[0], frame)
        elif node.op in (ops.STORE, ops.STORE_PAIR):
            view, *values = node.args
            at = self.index(view, frame)
            for step, value in enumerate([self.scalar(value, frame) for value in values]):
                self.write(self.place(view, frame), at + step, value)
        else:
            raise EvaluationError(f"{node.op.name} is no statement")

    def declaration(self, node: Node, frame: Frame) -> None:
        attrs, dtype, size = node.attrs, node.type, math.prod(node.attrs["shape"])
        if "alias_of" in attrs:
            place = frame.places[attrs["alias_of"]].window(attrs["alias_offset"], size, attrs["name"])
        elif "workspace_offset" in attrs:
            place = Place(attrs["name"], frame.workspace, frame.first + attrs["workspace_offset"], size, dtype, True)
        elif "values" in attrs:
            place = Place(attrs["name"], Storage.of(_cells(attrs["values"], dtype)), 0, size, dtype, False)
        else:
            place = Place(attrs["name"], Storage.poisoned(size), 0, size, dtype, True)
        frame.places[attrs["name"]] = place

    def loop(self, node: Node, frame: Frame) -> None:
        domain, body = node.args[0], node.args[1:]
        name = domain.attrs["name"]
        if name in frame.scalars:
            raise EvaluationError(f"%{name} is declared twice")
        if self.backwards and domain.attrs["kind"] == "global":
            start, stop, step = [int(self.scalar(bound, frame)) for bound in domain.args]
            for value in reversed(range(start, stop, step)):
                frame.scalars[name] = np.int64(value)
                self.statements(body, frame)
        else:
            frame.scalars[name] = self.scalar(domain.args[0], frame)
            while frame.scalars[name] < self.scalar(domain.args[1], frame):
                self.statements(body, frame)
                step = self.scalar(domain.args[2], frame)
                if step <= 0:
                    raise EvaluationError(f"the step of %{name} is {step}")
                frame.scalars[name] = frame.scalars[name] + step
        frame.scalars.pop(name, None)

    def call(self, node: Node, frame: Frame) -> None:
        callee = self.procs[node.attrs["callee"]]
        arguments = []
        for position, (argument, param) in enumerate(zip(node.args, params_of(callee), strict=True)):
            name = argument.attrs["buffer" if argument.op is ops.VIEW else "name"]
            start = int(self.scalar(argument.args[0], frame, in_index=True)) if argument.op is ops.VIEW else 0
            place = frame.places[name].window(start, math.prod(param.attrs["shape"]), param.attrs["name"])
            arguments.append(place._replace(writable=place.writable and _may_write(callee, position)))
        for output in [place for place in arguments if place.writable]:
            if any([output.overlaps(other) for other in arguments if other is not output]):
                raise EvaluationError(f"an argument of @{callee.attrs['name']} overlaps its output %{output.name}")
            if "input_count" in callee.attrs and not callee.attrs.get("in_place", False):
                output.poison()
        self.procedure(callee, arguments, frame.workspace, frame.inside)

    # --- memory ------------------------------------------------------------------------------------------------------

    def place(self, view: Node, frame: Frame) -> Place:
        name = view.attrs["buffer"]
        if name not in frame.places:
            raise EvaluationError(f"%{name} is not declared")
        return frame.places[name]

    def index(self, view: Node, frame: Frame) -> int:
        return int(self.scalar(view.args[0], frame, in_index=True))

    def write(self, place: Place, at: int, value: Any) -> None:
        if not place.writable:
            raise EvaluationError(f"write to %{place.name}, which is read-only")
        if not 0 <= at < place.size:
            raise EvaluationError(f"write of element {at} of %{place.name} with {place.size}")
        place.storage.values[place.offset + at] = value
        place.storage.defined[place.offset + at] = True

    def read(self, view: Node, frame: Frame) -> Any:
        place, at = self.place(view, frame), self.index(view, frame)
        if not 0 <= at < place.size:
            raise EvaluationError(f"read of element {at} of %{place.name} with {place.size}")
        if not place.storage.defined[place.offset + at]:
            raise EvaluationError(f"read of element {at} of %{place.name} before it is written")
        return place.storage.values[place.offset + at]

    # --- scalars -----------------------------------------------------------------------------------------------------

    def scalar(self, node: Node, frame: Frame, *, in_index: bool = False) -> Any:
        self.executed[node.op] += 1
        if node.op is ops.LOAD:
            return self.read(node.args[0], frame)
        if node.op is ops.VAR:
            name = node.attrs["name"]
            if name.startswith(ops.RESERVED_PREFIX):
                return np.int64(self.width)
            if name not in frame.scalars:
                raise EvaluationError(f"%{name} is not declared")
            return frame.scalars[name]
        kind = _numpy(node.type).type
        if node.op in (ops.CONST_INT, ops.CONST_FLOAT):
            return kind(node.attrs["value"])
        operands = [self.scalar(operand, frame, in_index=in_index) for operand in node.args]
        mnemonic = node.op.mnemonic
        if in_index and mnemonic in ("div", "mod") and min(operands) < 0:
            raise EvaluationError(f"{mnemonic} of a negative number in an index")
        if not node.op.has_attr("TScalarOp"):  # registered by a plug-in: the shared operators are written out below
            return kind(node.op.get_attr("FNumpy")(*operands))
        result = kind(_compute(mnemonic, operands, node.type))
        self.finite &= bool(np.isfinite(result))
        return result


def _compute(name: str, operands: list[Any], result: DType) -> Any:
    """Apply a shared scalar operator to NumPy scalars."""
    if name == "cast":
        return _cast(operands[0], result)
    if name in _LIBM:
        return _LIBM[name](*[np.float64(operand) for operand in operands])
    if result.is_int and name in _INTEGERS:
        return _wrap(_INTEGERS[name](*[int(operand) for operand in operands]), result)
    return PLAIN[name](*operands)


def _cast(operand: Any, result: DType) -> Any:
    if result.is_int and isinstance(operand, np.floating):
        if not math.isfinite(operand) or math.trunc(float(operand)) not in int_range(result):
            raise EvaluationError(f"conversion of {operand} to {result}")
        return math.trunc(float(operand))
    return _wrap(int(operand), result) if result.is_int else operand


def _wrap(value: int, dtype: DType) -> int:
    low = int_range(dtype).start
    return (value - low) % (1 << dtype.bits) + low


def _truncated(x: int, y: int) -> int:
    if y == 0:
        _zero()
    return abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)


def _zero() -> NoReturn:
    raise EvaluationError("integer division by zero")


_LIBM: dict[str, Callable[..., Any]] = {
    **{name: getattr(np, name) for name in "sin cos tan sinh cosh tanh exp log sqrt floor ceil".split()},
    **{f"a{name}": getattr(np, f"arc{name}") for name in "sin cos tan".split()},
    "erf": math.erf,
    # Of scalars NumPy takes the square root where y is 0.5; of arrays it is that of C.
    "pow": lambda x, y: np.power(np.array([x]), np.array([y]))[0],
    "atan2": np.arctan2,
}

_INTEGERS: dict[str, Callable[..., int]] = {
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y,
    "neg": lambda x: -x,
    "abs": abs,
    "div": _truncated,
    "mod": lambda x, y: x - _truncated(x, y) * y,
    "floordiv": lambda x, y: x // y if y else 0,
    "floormod": lambda x, y: x % y if y else 0,
    "minimum": min,
    "maximum": max,
}

PLAIN: dict[str, Callable[..., Any]] = {
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y,
    "div": lambda x, y: x / y,
    "neg": lambda x: -x,
    "abs": abs,
    "minimum": np.fmin,
    "maximum": np.fmax,
    "lt": lambda x, y: x < y,
    "le": lambda x, y: x <= y,
    "eq": lambda x, y: x == y,
    "ne": lambda x, y: x != y,
    "and": lambda x, y: x and y,
    "or": lambda x, y: x or y,
    "not": lambda x: not x,
    "isfinite": np.isfinite,
    "select": lambda condition, x, y: x if condition else y,
}
