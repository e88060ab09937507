"""Sum up the elements of a row side by side, where each on its own would take its terms from far apart.

A product of matrices computes one element after another, and its innermost loop steps through a column. With the loop
over the elements innermost, all that the loop reads and writes is contiguous, and C compilers make vectors of it. The
elements hold what a scalar held before, and each gets the same terms in the same order, so that no bit changes. Linear
in the text of the program.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final, NamedTuple

from scaly_ir.attributes import Word
from scaly_ir.counters import count
from scaly_ir.dialects.prog import build, ops
from scaly_ir.dialects.prog.affine import affine, trip_count
from scaly_ir.dialects.prog.build import body_of, buffer_of, with_body
from scaly_ir.graph import Node, postorder
from scaly_ir.graph.rewrite import Mode, substitute
from scaly_ir.op import CallEffectKind
from scaly_ir.pass_manager import Pass
from scaly_ir.passes.prog.nests import rewritten
from scaly_ir.passes.prog.references import effect, roots
from scaly_ir.passes.prog.shapes import is_use

_SIDE_BY_SIDE: Final = frozenset({"global", "reduce", "serial"})
"""The kinds of loops over elements: that their trips are independent is found, whatever the text says."""

_IN_ORDER: Final = frozenset({"reduce", "serial"})
"""The kinds of loops over terms."""

_ELEMENTS: Final = 8
"""Rows of fewer elements stay: a row of two vectors is what pays for the elements being in memory (measured)."""

_TERMS: Final = 32
"""Sums of fewer terms stay: C compilers unroll them, and keep the sums of several elements in registers (measured)."""


@dataclass(frozen=True)
class InterchangeReductions(Pass):
    """Moves loops over elements inside the loops over the terms of each."""

    name: ClassVar[str] = "interchange_reductions"
    summary: ClassVar[str] = "sum up the elements of a row side by side, where that makes accesses contiguous"
    dialects: ClassVar[frozenset[str]] = frozenset({"prog"})
    counters: ClassVar[Mapping[str, str]] = {"interchanged": "loops over elements that became innermost"}

    def run(self, root: Node) -> Node:
        """Interchange the loops of each procedure."""
        return root.replace(args=[_interchanged(procedure) for procedure in root.args])


def _interchanged(procedure: Node) -> Node:
    owners = roots(procedure)

    def loop(node: Node) -> Node | None:
        nest = _nest(node)
        if nest is None or not _is_legal(nest, owners) or not _pays(nest):
            return None
        count("interchanged")
        return build.block(_statements(nest))

    return with_body(procedure, rewritten(body_of(procedure), rule="interchange", loop=loop))


# --- what the nests look like ----------------------------------------------------------------------------------------


class _Nest(NamedTuple):
    """A loop over elements, each of which is summed up, in place or in a scalar that is stored at last.

    In place, all that is stored is stored at the element.
    """

    loop: Node
    terms: Sequence[Node]
    """The domains of the loops over terms, outermost first."""
    place: Node
    """The view of the element."""
    carried: Sequence[str]
    """The scalar, and those that have its value in inner loops; none for sums in place."""
    before: Sequence[Node]
    """What stands before the loops over terms: for a scalar, its declaration; in place, maybe a store."""
    step: Sequence[Node]
    """The innermost body: declarations, and at last the assignment, or store, of the sum with one more term."""
    after: Sequence[Node]
    """What stands behind the loops over terms: for a scalar, a store; in place, a store if there is none before."""


def _nest(loop: Node) -> _Nest | None:
    """Return the parts of a nest, or None for what is no such nest."""
    body = body_of(loop)
    position = next((position for position, statement in enumerate(body) if statement.op is ops.FOR), None)
    if position is None:
        return None
    before, (inner, *after) = body[:position], body[position:]
    if len(before) > 1 or len(after) > 1:
        return None
    carried = [statement.attrs["target"] for statement in before if _declares(statement)]
    ends = after if carried else [*before, *after]
    if not ends or not all([end.op is ops.STORE for end in ends]):
        return None
    place = ends[0].args[0]
    terms, step = _terms(inner, carried)
    if not step or not all([_declares(statement) for statement in step[:-1]]):
        return None
    is_sum = _assigns(step[-1], carried[-1]) if carried else _stores(step[-1], place)
    if not is_sum or not all([_stores(end, place) for end in ends]):
        return None
    return _Nest(loop, terms, place, carried, before, step, after)


def _terms(loop: Node, carried: list[str]) -> tuple[list[Node], Sequence[Node]]:
    """Return the domains of a nest of loops over terms, and the innermost body; scalars in between join `carried`."""
    domains = []
    while True:
        domain, *body = loop.args
        domains.append(domain)
        if len(body) == 1 and body[0].op is ops.FOR:
            loop = body[0]
        elif carried and len(body) == 3 and body[1].op is ops.FOR and _hands_over(body[0], body[2], carried[-1]):
            carried.append(body[0].attrs["target"])
            loop = body[1]
        else:
            return domains, body


def _declares(statement: Node) -> bool:
    return statement.op is ops.ASSIGN and bool(statement.attrs.get("declare", False))


def _assigns(statement: Node, scalar: str) -> bool:
    return statement.op is ops.ASSIGN and not _declares(statement) and bool(statement.attrs["target"] == scalar)


def _stores(statement: Node, place: Node) -> bool:
    return statement.op is ops.STORE and statement.args[0] is place


def _hands_over(first: Node, last: Node, scalar: str) -> bool:
    """Tell whether one statement declares another scalar of the value of this one, and one takes its value back."""
    if not _declares(first) or not _assigns(last, scalar):
        return False
    return is_use(first.args[0], scalar) and is_use(last.args[0], first.attrs["target"])


# --- which of them change --------------------------------------------------------------------------------------------


def _is_legal(nest: _Nest, owners: Mapping[str, str]) -> bool:
    """Tell whether the elements can hold the sums so far, and be summed up side by side.

    Each trip has one element of its own, which nothing but its sum reads; the loops over terms are the same for all. A
    scalar is of the type of the elements.
    """
    domain, place = nest.loop.args[0], nest.place
    if domain.attrs["kind"] not in _SIDE_BY_SIDE or trip_count(domain) is None:
        return False
    if not all([loop.attrs["kind"] in _IN_ORDER and trip_count(loop) is not None for loop in nest.terms]):
        return False
    if _stride(place, domain, nest.carried) != 1:
        return False
    if nest.carried and (nest.before[0].type is not place.type or _variables(nest.step) & {*nest.carried[:-1]}):
        return False
    return not _disturbs(nest, owners)


def _disturbs(nest: _Nest, owners: Mapping[str, str]) -> bool:
    """Tell whether something may read an element that is not its own sum, or the sum where it was in a scalar."""
    target = owners.get(buffer_of(nest.place), buffer_of(nest.place))
    for node in postorder(*nest.before, *nest.step, *nest.after):
        if node.op is ops.LOAD:
            (place,) = node.args
            is_own = place is nest.place and not nest.carried
            if not is_own and owners.get(buffer_of(place), buffer_of(place)) == target:
                return True
        elif ops.is_scalar(node.op) and effect(node.op) > CallEffectKind.Pure:
            return True  # nobody says what it reads, or in which order it is to be called
    return False


def _variables(statements: Sequence[Node]) -> set[str]:
    return {node.attrs["name"] for node in postorder(*statements) if node.op is ops.VAR}


def _pays(nest: _Nest) -> bool:
    """Tell whether the loop over elements is long, and takes its terms from one place or from a row.

    Integers that stand in a row already are summed up fast in any order.
    """
    domain, inner = nest.loop.args[0], nest.terms[-1]
    if (trip_count(domain) or 0) < _ELEMENTS or math.prod([trip_count(loop) or 0 for loop in nest.terms]) < _TERMS:
        return False
    varying = [*nest.carried, *[statement.attrs["target"] for statement in nest.step if _declares(statement)]]
    places = [node.args[0] for node in postorder(*nest.step) if node.op is ops.LOAD]
    if not all([_stride(place, domain, varying) in (0, 1) for place in places]):
        return False
    return nest.place.type.is_float or any([_stride(place, inner, varying) not in (0, 1) for place in places])


def _stride(place: Node, domain: Node, varying: Sequence[str]) -> int | None:
    """Return how far a place moves from one trip of a loop to the next while other loops stay where they are.

    None when that is not known: the index is not affine, or uses one of the variables `varying`.
    """
    form = affine(place.args[0])
    if form is None or form.coefficients.keys() & set(varying):
        return None
    step: int = domain.args[2].attrs["value"]
    return form.coefficients.get(domain.attrs["name"], 0) * step


# --- what they become ------------------------------------------------------------------------------------------------


def _statements(nest: _Nest) -> list[Node]:
    """Return what takes the place of a nest: loops over elements before, in and behind the loops over terms."""
    domain = nest.loop.args[0]
    before, step, after = _in_place(nest)
    inner = build.for_(domain, step)
    for loop in reversed(nest.terms):
        inner = build.for_(loop.with_attrs(kind=Word("serial")), [inner])
    return [
        *[build.for_(domain, [statement]) for statement in before],
        inner,
        *[build.for_(domain, [statement]) for statement in after],
    ]


def _in_place(nest: _Nest) -> tuple[Sequence[Node], Sequence[Node], Sequence[Node]]:
    """Return the statements before, in and behind the loops over terms, with the element in place of a scalar."""
    place, carried = nest.place, nest.carried
    if not carried:
        return nest.before, nest.step, nest.after
    (declaration,), (store,) = nest.before, nest.after
    *declarations, assignment = _with_element(nest.step, carried[-1], place)
    step = [*declarations, build.store(place, assignment.args[0])]
    after = () if is_use(store.args[1], carried[0]) else _with_element([store], carried[0], place)
    return [build.store(place, declaration.args[0])], step, after


def _with_element(statements: Sequence[Node], scalar: str, place: Node) -> tuple[Node, ...]:
    """Return statements that read an element in the place of a scalar."""
    uses = {build.var(scalar, place.type): build.load(place)}
    return body_of(substitute(build.block(statements), uses, mode=Mode.ONCE))
