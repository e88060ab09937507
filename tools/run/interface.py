"""What a function in a file takes and gives, the same for functions of `expr` and procedures of `prog`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from scaly_ir.dialect import dialect_of
from scaly_ir.dialects.expr import ops as expr_ops
from scaly_ir.dialects.expr.functions import inputs_of, outputs_of
from scaly_ir.dialects.prog.build import params_of
from scaly_ir.graph import Node
from scaly_ir.sparsity import SparsityPattern
from scaly_ir.tensors import MOST_AXES
from scaly_ir.text.diagnostics import Diagnostic, did_you_mean, error
from scaly_ir.text.locations import Locations, Place
from scaly_ir.text.source import Span
from scaly_ir.text.spelling import spell_name
from scaly_ir.tools.translate.part import part_of
from scaly_ir.types import DType


class RunError(Exception):
    """What is wrong with a function or with what it is given, as diagnostics."""

    def __init__(self, *diagnostics: Diagnostic) -> None:
        super().__init__(diagnostics[0].message)
        self.diagnostics = diagnostics


@dataclass(frozen=True, slots=True)
class Parameter:
    """An input or result: its name, its type in parts, and where it stands."""

    name: str
    dtype: DType
    shape: tuple[int, ...]
    kind: str
    """The word its type begins with: ``tensor`` or ``memref``."""
    span: Span | None = None
    pattern: SparsityPattern | None = None

    @property
    def shown(self) -> str:
        """The name as messages have it."""
        return f"%{spell_name(self.name)}"

    @property
    def bytes(self) -> int:
        """How many bytes its values take."""
        return math.prod(self.shape) * self.dtype.size

    @property
    def type(self) -> str:
        """The type of its values."""
        return type_text(self.kind, self.shape, self.dtype)


def type_text(kind: str, shape: Sequence[int], dtype: object) -> str:
    """Return the type of an array as a file writes it."""
    return f"{kind}<{''.join([f'{extent}x' for extent in shape])}{dtype}>"


@dataclass(frozen=True, slots=True)
class Runnable:
    """A function to run: its node in a module of its dialect, with its inputs and results in order."""

    module: Node
    node: Node
    locations: Locations
    inputs: tuple[Parameter, ...]
    results: tuple[Parameter, ...]

    @property
    def is_expr(self) -> bool:
        """Whether it is a function of `expr`."""
        return self.node.op is expr_ops.FUNC

    @property
    def shown(self) -> str:
        """The name as messages have it."""
        return f"@{spell_name(self.node.attrs['name'])}"

    def span_of(self, node: Node | None, within: str | None = None, inside: Node | None = None) -> Span | None:
        """Return where an operation stands, of the function called `within` if that is given, or an operand of it.

        None for what is not in the file, as what simplification made.
        """
        place = None if node is None else dialect_of(self.module).place_of(self.module, node, within)
        if place is None:
            return None
        if node in self.module.args:
            return self.locations.span(place._replace(part="name"))
        return self.locations.span(place if inside is None else place._replace(node=inside))


def find_function(root: Node, locations: Locations, name: str) -> Runnable:
    """Return the function called `name` of a verified file, or the last one for an empty name; `RunError` else."""
    if not root.op.get_attr("TModule", False) or root.op.dialect not in ("expr", "prog"):
        what = "a function of 'expr' or a procedure of 'prog' is run, this file holds"
        holds = "a fragment" if root.op.dialect in ("expr", "prog") else f"dialect '{root.op.dialect}'"
        raise RunError(error(f"{what} {holds}", code="run"))
    if not root.args:
        raise RunError(error("the file defines no function to run", code="run"))
    chosen = name or str(root.args[-1].attrs["name"])
    named = [function for function in root.args if function.attrs["name"] == chosen]
    if not named:
        known = [f"@{spell_name(function.attrs['name'])}" for function in root.args]
        hint = did_you_mean(f"@{chosen}", known, quote="") or f"; it has {', '.join(known)}"
        raise RunError(error(f"there is no function @{spell_name(chosen)} in the file{hint}", code="run"))
    if root.op is expr_ops.MODULE:
        return _with_arrays(_function(root, named[0], locations))
    part, places = part_of(root, locations, chosen)
    return _with_arrays(_procedure(part, named[0], places))


def _with_arrays(runnable: Runnable) -> Runnable:
    """Return a function whose inputs and results can be arrays; `RunError` for one with more axes than those have."""
    for parameter in (*runnable.inputs, *runnable.results):
        count = len(parameter.shape)
        if count > MOST_AXES:
            message = f"{parameter.shown} of {runnable.shown} has {count} axes; arrays have at most {MOST_AXES}"
            raise RunError(error(message, parameter.span, "run"))
    return runnable


def _head(module: Node, function: Node) -> Place:
    """Return the place of the head of a function."""
    place = dialect_of(module).place_of(module, function)
    assert place is not None
    return place


def _function(module: Node, function: Node, locations: Locations) -> Runnable:
    head = _head(module, function)

    def parameter(name: str, node: Node, part: Node, at: str | int) -> Parameter:
        span = locations.span(head._replace(node=part, part=at))
        return Parameter(name, node.type.dtype, node.type.shape, "tensor", span, node.type.pattern)

    inputs = [parameter(str(node.attrs["name"]), node, node, "") for node in inputs_of(function)]
    pairs = zip(function.attrs["output_names"], outputs_of(function), strict=True)
    results = [parameter(name, node, function, at) for at, (name, node) in enumerate(pairs)]
    return Runnable(module, function, locations, tuple(inputs), tuple(results))


def _procedure(module: Node, procedure: Node, locations: Locations) -> Runnable:
    head = _head(module, procedure)
    params = [
        Parameter(
            node.attrs["name"],
            node.type,
            tuple(node.attrs["shape"]),
            "memref",
            locations.span(head._replace(part=at)),
        )
        for at, node in enumerate(params_of(procedure))
    ]
    count = procedure.attrs.get("input_count")
    inputs, results = (params, params) if count is None else (params[:count], params[count:])
    return Runnable(module, procedure, locations, tuple(inputs), tuple(results))
