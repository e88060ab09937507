"""What a function in a file takes and gives, the same for all dialects."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from scaly_ir.dialect import dialect_of
from scaly_ir.graph import Node
from scaly_ir.running import Port, Runner, runner_of
from scaly_ir.sparsity import SparsityPattern
from scaly_ir.tensors import MOST_AXES
from scaly_ir.text.diagnostics import Diagnostic, did_you_mean, error
from scaly_ir.text.locations import Locations
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
    is_scalar: bool = False

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
        return str(self.dtype) if self.is_scalar else type_text(self.kind, self.shape, self.dtype)


def type_text(kind: str, shape: Sequence[int], dtype: object) -> str:
    """Return the type of an array as a file writes it."""
    return f"{kind}<{''.join([f'{extent}x' for extent in shape])}{dtype}>"


@dataclass(frozen=True, slots=True)
class Runnable:
    """A function to run: its node in a module of its dialect, with its inputs and results in order.

    The module holds what the function needs, and the function as its last one.
    """

    module: Node
    node: Node
    locations: Locations
    inputs: tuple[Parameter, ...]
    results: tuple[Parameter, ...]
    runner: Runner

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
    runner = runner_of(root)
    if runner is None:
        is_module = root.op.get_attr("TModule", False)
        holds = f"functions of '{root.op.dialect}', which nobody runs" if is_module else "a fragment"
        raise RunError(error(f"a function or procedure is run, this file holds {holds}", code="run"))
    if not root.args:
        raise RunError(error("the file defines no function to run", code="run"))
    chosen = name or str(root.args[-1].attrs["name"])
    named = [function for function in root.args if function.attrs["name"] == chosen]
    if not named:
        known = [f"@{spell_name(function.attrs['name'])}" for function in root.args]
        hint = did_you_mean(f"@{chosen}", known, quote="") or f"; it has {', '.join(known)}"
        raise RunError(error(f"there is no function @{spell_name(chosen)} in the file{hint}", code="run"))
    module, places = part_of(root, locations, chosen)
    return _with_arrays(_runnable(module, named[0], places, runner))


def _with_arrays(runnable: Runnable) -> Runnable:
    """Return a function whose inputs and results can be arrays; `RunError` for one with more axes than those have."""
    for parameter in (*runnable.inputs, *runnable.results):
        count = len(parameter.shape)
        if count > MOST_AXES:
            message = f"{parameter.shown} of {runnable.shown} has {count} axes; arrays have at most {MOST_AXES}"
            raise RunError(error(message, parameter.span, "run"))
    return runnable


def _runnable(module: Node, function: Node, locations: Locations, runner: Runner) -> Runnable:
    head = dialect_of(module).place_of(module, function)

    def parameter(port: Port) -> Parameter:
        node, part = port.place
        at = None if head is None else head._replace(node=function if node is None else node, part=part)
        span = None if at is None else locations.span(at)
        return Parameter(port.name, port.dtype, port.shape, port.kind, span, port.pattern, port.is_scalar)

    inputs, results = [tuple([parameter(port) for port in ports]) for ports in runner.signature(function)]
    return Runnable(module, function, locations, inputs, results, runner)
