"""Whether the trips of a loop may run side by side, as lanes of vectors: proved from the text of the loop alone.

Owns the proof, which the pass that makes lane loops and the translator that writes them as vectors share. Trips are
*independent* when none touches an element that another one writes; in an *ordered sum* each adds one value to the same
element. What cannot be shown counts as dependent. Source: lowering specification 3.12.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import gcd
from typing import Final, Literal, NamedTuple, Self

from scaly_ir.dialects.prog import ops
from scaly_ir.dialects.prog.affine import Affine, affine, count_of, loop_values
from scaly_ir.dialects.prog.build import body_of
from scaly_ir.graph import Node, postorder
from scaly_ir.numeric.table import scalar_name
from scaly_ir.op import CallEffectKind
from scaly_ir.passes.prog.references import effect
from scaly_ir.types import BOOL, FLOAT32, FLOAT64

Kind = Literal["independent", "sum"]

_SAFE: Final = 1 << 62
"""Addresses below that do not wrap, so that arithmetic on whole numbers tells what the program computes."""

_MOST_WINDOWS: Final = 128
"""With more different windows of one buffer than that, these are not compared one by one."""


def lane_kind(body: Sequence[Node], variable: str, values: range, kind: str, roots: Mapping[str, str]) -> Kind | None:
    """Return how the trips of a loop may share vectors, or None when they may not.

    `variable` takes `values`, which are consecutive, and `kind` is what the loop says of itself; `roots` gives the
    owner of the storage behind each alias (`references.roots`).
    """
    if kind == "reduce":
        return "sum" if _is_ordered_sum(body, variable, roots) else None
    if kind != "global":
        return None
    found = _Body.of(body, roots)
    return "independent" if found is not None and found.is_independent(variable, values) else None


def sum_operand(store: Node) -> Node | None:
    """Return what a statement ``acc[c] = acc[c] + e`` adds, in either order of operands, or None for any other."""
    if store.op is not ops.STORE or store.type is not FLOAT64:
        return None
    view, value = store.args
    if scalar_name(value.op) != "add":
        return None
    own = [operand.op is ops.LOAD and operand.args[0] is view for operand in value.args]
    return None if own[0] == own[1] else value.args[own[0]]


def _is_ordered_sum(body: Sequence[Node], variable: str, roots: Mapping[str, str]) -> bool:
    added = sum_operand(body[0]) if len(body) == 1 else None
    if added is None or not _computes_lanes(body[0]):
        return False
    view = body[0].args[0]
    buffer = view.attrs["buffer"]
    if roots.get(buffer, buffer) != buffer or _mentions(view, variable):
        return False
    read = [node.attrs["buffer"] for node in postorder(added) if node.op is ops.VIEW]
    return all([roots.get(name, name) != buffer for name in read])


def _mentions(root: Node, variable: str) -> bool:
    return any([node.op is ops.VAR and node.attrs["name"] == variable for node in postorder(root)])


def index_form(index: Node, scalars: Mapping[str, Affine | None]) -> Affine | None:
    """Return the affine form of an index, with integer scalars expanded, or None.

    `scalars` gives the forms of the scalars that are to be expanded.
    """
    found = affine(index)
    if found is None or scalars.keys().isdisjoint(found.coefficients):
        return found
    constant = found.constant
    coefficients: dict[str, int] = {}
    for name, factor in found.coefficients.items():
        inner = scalars.get(name, Affine(0, {name: 1}))
        if inner is None:
            return None
        constant += factor * inner.constant
        for variable, count in inner.coefficients.items():
            coefficients[variable] = coefficients.get(variable, 0) + factor * count
    return Affine(constant, {name: factor for name, factor in coefficients.items() if factor})


# --- what statements compute ------------------------------------------------------------------------------------------


def _computes_lanes(statement: Node) -> bool:
    """Tell whether a statement computes doubles and truth values, lane by lane and without effects.

    Only indices, and the scalars that these use, may be integers: those are computed one by one.
    """
    if statement.op is ops.ASSIGN and statement.type.is_int and statement.type is not BOOL:
        return _are_indices(statement.args)
    indices = [operand.args[0] for operand in statement.args if operand.op is ops.VIEW]
    pending = [operand for operand in statement.args if operand.op is not ops.VIEW]
    if statement.op is not ops.ASSIGN and statement.type is not FLOAT64:
        return False
    seen: set[Node] = set()
    while pending:
        node = pending.pop()
        if node in seen:
            continue
        seen.add(node)
        if node.type is not FLOAT64 and (node.type is not BOOL or node.op is ops.LOAD):
            return False
        if node.op is ops.LOAD:
            indices.append(node.args[0].args[0])
        elif node.args and not _is_lanewise(node):
            return False
        else:
            pending.extend(node.args)
    return _are_indices(indices)


def _is_lanewise(node: Node) -> bool:
    vectorizable: bool = node.op.get_attr("TVectorizable")
    return vectorizable and effect(node.op) <= CallEffectKind.ReadState


def _are_indices(roots: Iterable[Node]) -> bool:
    return all([node.type is not FLOAT32 and effect(node.op) <= CallEffectKind.ReadState for node in postorder(*roots)])


# --- independent trips ------------------------------------------------------------------------------------------------


class _Access(NamedTuple):
    """A read or write: the owner of the storage, the index over variables, and what those of inner loops are."""

    root: str
    form: Affine | None
    loops: Mapping[str, range]
    written: bool


@dataclass(slots=True)
class _Body:
    """What the body of a loop reads, writes and declares."""

    roots: Mapping[str, str]
    accesses: list[_Access] = field(default_factory=list)
    aliased: set[str] = field(default_factory=set)
    """The owners of storage that is accessed through aliases."""
    scalars: set[str] = field(default_factory=set)
    """The scalars that are declared so far."""
    forms: dict[str, Affine | None] = field(default_factory=dict)
    """The integer scalars so far, over loop variables."""

    @classmethod
    def of(cls, body: Sequence[Node], roots: Mapping[str, str]) -> Self | None:
        """Analyse a body; None if it has statements that lanes cannot run."""
        found = cls(roots)
        for statement, loops in _with_loops(body):
            if loops is None or not found._add(statement, loops):
                return None
        return found

    def _add(self, statement: Node, loops: Mapping[str, range]) -> bool:
        """Add a statement inside some loops; return False if it does not fit."""
        if statement.op not in (ops.ASSIGN, ops.STORE, ops.STORE_PAIR) or not _computes_lanes(statement):
            return False
        reads = [node.args[0] for node in postorder(*statement.args) if node.op is ops.LOAD]
        for view in reads:
            self._access(view, loops, written=False)
        if statement.op is ops.ASSIGN:
            return self._assign(statement)
        view = statement.args[0]
        for offset in range(len(statement.args) - 1):
            self._access(view, loops, written=True, offset=offset)
        return True

    def _assign(self, statement: Node) -> bool:
        target, declares = statement.attrs["target"], statement.attrs.get("declare", False)
        if not declares and target not in self.scalars:
            return False
        is_index = statement.type is not FLOAT64 and statement.type is not BOOL
        if target in self.forms or (is_index and target in self.scalars):
            return False  # an integer with two values has no one form
        self.scalars.add(target)
        if is_index:
            self.forms[target] = index_form(statement.args[0], self.forms)
        return True

    def _access(self, view: Node, loops: Mapping[str, range], *, written: bool, offset: int = 0) -> None:
        name = view.attrs["buffer"]
        root = self.roots.get(name, name)
        if name != root:
            self.aliased.add(root)
        form = index_form(view.args[0], self.forms)
        if form is not None and offset:
            form = form._replace(constant=form.constant + offset)
        inside = {name: loops[name] for name in (form.coefficients if form else ()) if name in loops}
        self.accesses.append(_Access(root, form, inside, written))

    def is_independent(self, variable: str, values: range) -> bool:
        """Tell whether no trip of the loop around this body touches what another one writes."""
        written = {access.root for access in self.accesses if access.written}
        by_root: dict[str, list[_Access]] = {}
        for access in self.accesses:
            if access.root in written:
                by_root.setdefault(access.root, []).append(access)
        if not self.aliased.isdisjoint(written):
            return False
        return all([_are_apart(accesses, variable, values) for accesses in by_root.values()])


def _with_loops(body: Sequence[Node]) -> Iterator[tuple[Node, Mapping[str, range] | None]]:
    """Yield the statements of a body, each with the loops around it; None for a loop that may make no trip.

    The loops are those of the moment.
    """
    loops: dict[str, range] = {}
    pending = [iter(body)]
    while pending:
        for statement in pending[-1]:
            if statement.op is not ops.FOR:
                yield statement, loops
                continue
            domain = statement.args[0]
            values = loop_values(domain)
            if not values:
                yield statement, None
                return
            loops[domain.attrs["name"]] = values
            pending.append(iter(body_of(statement)))
            break
        else:
            pending.pop()
            if pending:
                loops.popitem()


# --- places -----------------------------------------------------------------------------------------------------------


class _Window(NamedTuple):
    """What one trip touches: from `low` to `high`, and of that only what lies a multiple of `step` behind `low`."""

    low: int
    high: int
    step: int

    def meets(self, other: _Window, stride: int, trips: int) -> bool:
        """Tell whether windows of two trips may have an element in common; each trip moves both by `stride`."""
        low, high, step = other.low - self.high, other.high - self.low, gcd(self.step, other.step)
        offset = other.low - self.low
        if stride < 0:
            low, high, offset, stride = -high, -low, -offset, -stride
        # Is stride * distance = offset + multiple of step, in [low, high], for a distance of trips that is not zero?
        first, last = max(-(-low // stride), 1 - trips), min(high // stride, trips - 1)
        common = gcd(stride, step)
        if offset % common:
            return False
        if step == 0:
            return offset // stride != 0 and first <= offset // stride <= last
        period = step // common
        distance = offset // common * pow(stride // common, -1, period) if period > 1 else 0
        nearest = first + (distance - first) % period
        return nearest <= last and (nearest != 0 or period <= last)


class _Reach(NamedTuple):
    """What an access touches: in one trip, and from `first` to `last` in all."""

    stride: int
    window: _Window
    first: int
    last: int


def _are_apart(accesses: Sequence[_Access], variable: str, values: range) -> bool:
    """Tell whether accesses to one buffer never meet in different trips; those that read must be where others write."""
    stored = [access.form for access in accesses if access.written]
    places = {(form.constant, tuple(sorted(form.coefficients.items()))) for form in stored if form is not None}
    outside: dict[str, int] | None = None
    reaches: dict[_Reach, None] = {}
    for access in accesses:
        form = access.form
        if form is None or (form.constant, tuple(sorted(form.coefficients.items()))) not in places:
            return False
        free = {name: f for name, f in form.coefficients.items() if name != variable and name not in access.loops}
        outside = free if outside is None else outside
        reach = _reach(form, access.loops, variable, values)
        if free != outside or reach is None or reach.stride == 0:
            return False
        reaches[reach] = None
    return all([_never_meet(group, count_of(values)) for group in _groups(reaches)])


def _reach(form: Affine, loops: Mapping[str, range], variable: str, values: range) -> _Reach | None:
    """Return what an access touches, variables from outside left out, or None where indices may wrap."""
    low = high = form.constant
    step, size = 0, abs(form.constant)
    for name, factor in form.coefficients.items():
        taken = loops.get(name, values if name == variable else range(1))
        size += abs(factor) * max(abs(taken[0]), abs(taken[-1]))
        if name in loops:
            ends = (factor * taken[0], factor * taken[-1])
            low, high = low + min(ends), high + max(ends)
            step = gcd(step, factor * taken.step) if ends[0] != ends[1] else step
    if size >= _SAFE:
        return None
    stride = form.coefficients.get(variable, 0)
    moved = (stride * values[0], stride * values[-1])
    return _Reach(stride, _Window(low, high, step), low + min(moved), high + max(moved))


def _groups(reaches: Iterable[_Reach]) -> list[list[_Reach]]:
    """Return the reaches in groups that have no element in common."""
    groups: list[list[_Reach]] = []
    end = 0
    for reach in sorted(reaches, key=lambda reach: reach.first):
        if not groups or reach.first > end:
            groups.append([])
            end = reach.last
        groups[-1].append(reach)
        end = max(end, reach.last)
    return groups


def _never_meet(reaches: Sequence[_Reach], trips: int) -> bool:
    """Tell whether no two reaches have an element in common in different trips."""
    stride = reaches[0].stride
    if any([reach.stride != stride for reach in reaches]):
        return False
    windows = list(dict.fromkeys([reach.window for reach in reaches]))
    covered = max([window.high for window in windows]) - min([window.low for window in windows])
    if covered < abs(stride):
        return True
    if len(windows) > _MOST_WINDOWS:
        return False
    pairs = [(x, y) for position, x in enumerate(windows) for y in windows[position:]]
    return not any([x.meets(y, stride, trips) for x, y in pairs])
