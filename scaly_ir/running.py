"""How functions of a dialect are run: what a dialect hands over to the tools and to `sc.run`.

A dialect names its `Runner` in the field `runner` of `Dialect`. From it tools learn what a function takes and gives,
how it is evaluated, and how a program of `prog` is made of it, which is what is compiled.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

from scaly_ir.dialect import Dialect, dialect_of
from scaly_ir.graph import Node
from scaly_ir.sparsity import SparsityPattern
from scaly_ir.text.locations import Part
from scaly_ir.types import DType

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]


class Port(NamedTuple):
    """What a function takes or gives: an array of a dtype and a shape, which is empty for a scalar."""

    name: str
    dtype: DType
    shape: tuple[int, ...]
    kind: str
    """The word that the type of such an array begins with: ``tensor`` or ``memref``."""
    place: tuple[Node | None, Part] = (None, "name")
    """Where it stands: a node in the head of the function, or None for the function, and which part of that."""
    pattern: SparsityPattern | None = None
    """Where it may have entries that are not zero, if not everywhere."""
    is_scalar: bool = False
    """Whether text gives it the dtype alone as its type."""


class Signature(NamedTuple):
    """What a function takes and what it gives, each in order."""

    inputs: Sequence[Port]
    results: Sequence[Port]


class Shown(NamedTuple):
    """A value that an operation or statement gave: what text calls it, empty for the result of the operation."""

    target: str
    value: Any
    """A number or an array."""
    dtype: DType


class Observer(NamedTuple):
    """What somebody wants to see of a run."""

    step: Callable[[str, str, Iterable[Shown]], None] | None = None
    """Is told the name of the function, the text of an operation or statement, and what it gave."""
    finite: bool = False
    """Whether the first operation that gives a NaN or an infinity ends the run, with an `EvaluationError`."""


Evaluate = Callable[[Node, Node, "Sequence[Array]", Observer | None], "list[Array]"]


def _alone(module: Node, function: Node) -> Node:
    return module.replace(args=(function,))


@dataclass(frozen=True, slots=True)
class Runner:
    """How the functions of a dialect are run: those are the operands of its modules, and have a ``name``."""

    signature: Callable[[Node], Signature]
    """What a function takes and gives."""
    evaluate: Evaluate
    """Computes the results of a function of a module for arrays of exactly the types of its inputs."""
    passes: str | None = None
    """The pipeline that makes a program of `prog` of a module, ready for translation; None when there is none.

    It is empty for `prog` itself. The program's last procedure is that of the last function, which is the one that is
    run, and has its inputs and results as parameters.
    """
    part: Callable[[Node, Node], Node] = _alone
    """Returns a module of a function, as its last one, and of what it needs, in the order of the module."""
    run: Callable[..., dict[str, Array]] | None = None
    """What `sc.run` does with a module, inputs by name and the name of a function, if that takes such modules."""


def not_finite(value: Array) -> str:
    """Return which element of an array is the first NaN or infinity, and where; nothing when there is none."""
    import numpy

    if value.dtype.kind != "f":
        return ""
    bad = numpy.argwhere(~numpy.isfinite(value))
    if not len(bad):
        return ""
    at = [int(index) for index in bad[0]]
    number = float(value[tuple(at)])
    return f"{'a NaN' if number != number else number}{f' at {at}' if at else ''}"


def runner_of(root: Node) -> Runner | None:
    """Return how the functions of a module are run; None for what is no module, and where nobody can run them."""
    return loaded(dialect_of(root)) if root.op.get_attr("TModule", False) else None


def loaded(dialect: Dialect) -> Runner | None:
    """Return the runner of a dialect, loaded; None when it has none."""
    if not dialect.runner:
        return None
    module, _, name = dialect.runner.partition(":")
    found: Runner = getattr(import_module(module), name)
    return found
