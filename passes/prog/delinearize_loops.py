"""Split a flat loop whose indices divide its variable into one loop per coordinate, so that nothing is divided.

The trips keep their order, so that ordered sums keep their values. What an index is, is found by evaluating it for all
trips, not by looking at how it is written. Source: lowering specification 3.10.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from typing import ClassVar, Final, NamedTuple

import numpy as np

from scaly_ir.counters import count
from scaly_ir.dialects.prog import build, ops
from scaly_ir.dialects.prog.affine import affine, trip_count
from scaly_ir.dialects.prog.build import body_of
from scaly_ir.graph import Node, postorder, toposort
from scaly_ir.graph.observe import report_derived
from scaly_ir.graph.rewrite import Mode, substitute
from scaly_ir.op import CallEffectKind
from scaly_ir.pass_manager import Pass
from scaly_ir.passes.prog.faults import with_sound_procedures
from scaly_ir.passes.prog.index_values import Array, index_values, loop_arrays
from scaly_ir.passes.prog.names import fresh_names, taken_names
from scaly_ir.passes.prog.references import effect

_KINDS: Final = ("global", "reduce")

_FAR: Final = 1 << 61
"""Values further from 0 than that are no indices, and their differences could overflow."""


@dataclass(frozen=True)
class DelinearizeLoops(Pass):
    """Splits loops into nests in which all indices are affine."""

    name: ClassVar[str] = "delinearize_loops"
    summary: ClassVar[str] = "split flat loops whose indices divide the variable into one loop per coordinate"
    dialects: ClassVar[frozenset[str]] = frozenset({"prog"})
    counters: ClassVar[Mapping[str, str]] = {"split": "loops that became nests"}

    def run(self, root: Node) -> Node:
        """Split the loops of each procedure; one in which that would show a fault of code that never runs stays."""
        return with_sound_procedures(root, [_delinearized(procedure) for procedure in root.args])


def _delinearized(procedure: Node) -> Node:
    nests: dict[Node, Node] = {}
    taken: set[str] | None = None
    for loop in toposort(procedure, gate=lambda node: node.op in (ops.PROC, ops.FOR)):
        split = _split(loop) if loop.op is ops.FOR else None
        if split is not None:
            taken = taken_names(procedure) if taken is None else taken
            count("split")
            nest = nests[loop] = _nest(loop, split, fresh_names(taken, f"{loop.args[0].attrs['name']}_"))
            report_derived(loop, nest)
    return substitute(procedure, nests, mode=Mode.ONCE)


# --- which loops are split, and how ----------------------------------------------------------------------------------


class _Form(NamedTuple):
    """An index piece: a constant plus a coefficient for each coordinate, outermost first."""

    base: int
    coefficients: tuple[int, ...]


class _Split(NamedTuple):
    """The extents of a nest, outermost first, and what each index piece is in it."""

    extents: list[int]
    forms: dict[Node, _Form]


def _split(loop: Node) -> _Split | None:
    """Return how a loop is split, or None when it stays."""
    domain, *body = loop.args
    start, trips = domain.args[0], trip_count(domain)
    if domain.attrs["kind"] not in _KINDS or trips is None or trips < 2 or start.attrs.get("value") != 0:
        return None
    if not all([statement.op in (ops.STORE, ops.STORE_PAIR, ops.ASSIGN) for statement in body]):
        return None
    pieces = _pieces(domain.attrs["name"], body)
    arrays = loop_arrays([domain])
    if arrays is None or pieces is None or all([affine(piece) is not None for piece in pieces]):
        return None
    values = {}
    for piece in pieces:
        found = index_values(piece, arrays, {})
        if found is None or found.min() < -_FAR or found.max() > _FAR:
            return None
        values[piece] = np.broadcast_to(found, trips)
    return _factored(values, trips)


def _pieces(variable: str, body: Sequence[Node]) -> list[Node] | None:
    """Return the largest parts of indices in which the variable is all that varies.

    None when the variable is used elsewhere too, where no form of its coordinates could take its place.
    """
    uses: dict[Node, _Use] = {}
    for node in postorder(*body):
        uses[node] = _use(node, variable, [uses[operand] for operand in node.args])
    if any([uses[operand].outside for statement in body for operand in statement.args]):
        return None
    found: dict[Node, None] = {}
    seen: set[Node] = set()
    pending = [node for node in uses if node.op is ops.VIEW]
    while pending:
        node = pending.pop()
        if not uses[node].any or node in seen:
            continue
        seen.add(node)
        if uses[node].alone:
            found[node] = None
        else:
            pending.extend(node.args)
    return list(found)


class _Use(NamedTuple):
    """How a scalar or view uses a variable."""

    any: bool
    alone: bool
    """Whether nothing else in it varies."""
    outside: bool
    """Whether that is outside of an index."""


def _use(node: Node, variable: str, below: Sequence[_Use]) -> _Use:
    if node.op is ops.VAR:
        own = bool(node.attrs["name"] == variable)
        return _Use(own, own, own)
    computed = ops.is_scalar(node.op) and node.op is not ops.LOAD and effect(node.op) <= CallEffectKind.Pure
    return _Use(
        any=any([use.any for use in below]),
        alone=computed and all([use.alone for use in below]),
        outside=node.op is not ops.VIEW and any([use.outside for use in below]),
    )


# --- the coordinates --------------------------------------------------------------------------------------------------


def _factored(pieces: Mapping[Node, Array], trips: int) -> _Split | None:
    """Return the nest in which all pieces are affine, or None when there is none of more than one loop.

    From the outside inwards: the trips fall into the shortest blocks that differ from one to the next by the same
    constant, which is the coefficient of the coordinate that counts blocks; the first block is then split in turn.
    """
    extents: list[int] = []
    coefficients: dict[Node, list[int]] = {piece: [] for piece in pieces}
    length = trips
    while length > 1:
        block = next((block for block in _divisors(length) if _is_regular(pieces.values(), length, block)), None)
        if block is None:
            return None
        extents.append(length // block)
        for piece, values in pieces.items():
            coefficients[piece].append(int(values[block]) - int(values[0]))
        length = block
    if len(extents) < 2:
        return None
    forms = {piece: _Form(int(values[0]), tuple(coefficients[piece])) for piece, values in pieces.items()}
    return _Split(extents, forms)


def _divisors(length: int) -> Iterator[int]:
    """Yield the divisors of a length but itself, in order."""
    small = [number for number in range(1, math.isqrt(length) + 1) if length % number == 0]
    yield from small
    yield from [length // number for number in reversed(small) if number > 1 and number * number != length]


def _is_regular(pieces: Iterable[Array], length: int, block: int) -> bool:
    """Tell whether consecutive blocks of the first `length` values differ by one constant, in each piece."""
    for values in pieces:
        steps = values[block:length] - values[: length - block]
        if (steps != steps[0]).any():
            return False
    return True


# --- the nest ---------------------------------------------------------------------------------------------------------


def _nest(loop: Node, split: _Split, names: Iterator[str]) -> Node:
    """Return the loops that take the place of one."""
    domain = loop.args[0]
    domains = [build.range_(next(names), 0, extent, 1, domain.attrs["kind"]) for extent in split.extents]
    coordinates = [build.var(domain.attrs["name"]) for domain in domains]
    indices = {piece: _index(form, coordinates) for piece, form in split.forms.items()}
    body = body_of(substitute(build.block(body_of(loop)), indices, mode=Mode.ONCE))
    for level in reversed(domains):
        body = (build.for_(level, body),)
    return body[0]


def _index(form: _Form, coordinates: Sequence[Node]) -> Node:
    """Return an affine index, its constant first."""
    terms = [build.index(form.base)] if form.base else []
    for coefficient, coordinate in zip(form.coefficients, coordinates, strict=True):
        if coefficient:
            scaled = build.apply("mul", build.index(coefficient), coordinate)
            terms.append(coordinate if coefficient == 1 else scaled)
    return reduce(partial(build.apply, "add"), terms) if terms else build.index(0)
