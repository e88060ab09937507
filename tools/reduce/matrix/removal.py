"""Leaving out functions, statements, what statements bind, results and parameters, and loops around their bodies."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, Final, Literal, NamedTuple

from scaly_ir.dialects.affine import build as affine
from scaly_ir.dialects.affine import ops as affine_ops
from scaly_ir.dialects.buffer import build, ops
from scaly_ir.dialects.buffer.types import INDEX
from scaly_ir.dialects.matrix.ops import CONCAT, MAP_REDUCE, MAP_REDUCE_AFF
from scaly_ir.effects import may_drop
from scaly_ir.graph import Node
from scaly_ir.tools.reduce.matrix.shapes import fitted
from scaly_ir.tools.reduce.matrix.walk import (
    Inner,
    Instead,
    changed,
    functions_of,
    numbered,
    places,
    rewritten,
    used,
    with_functions,
)
from scaly_ir.tools.reduce.prog.scalars import zero
from scaly_ir.types import DType, MemRefType

# --- functions --------------------------------------------------------------------------------------------------------


def functions(root: Node) -> Sequence[int]:
    """Return the numbers of the functions, if there are several."""
    return range(len(root.args)) if root.op is ops.MODULE and len(root.args) > 1 else ()


def without_functions(root: Node, gone: Sequence[int]) -> Node | None:
    """Leave out functions."""
    left_out = set(gone)
    return with_functions([function for at, function in enumerate(root.args) if at not in left_out])


# --- statements -------------------------------------------------------------------------------------------------------


class At(NamedTuple):
    """A place: the number of a function and of a statement in it."""

    function: int
    statement: int


def by_function(edits: Iterable[At]) -> dict[int, set[int]]:
    """Return the numbers of statements by function."""
    found: dict[int, set[int]] = defaultdict(set)
    for at, number in edits:
        found[at].add(number)
    return found


def statements(root: Node) -> list[At]:
    """Return the places of all statements but those that end a region."""
    return [At(at, number) for at, number, statement in places(root) if not build.is_terminator(statement)]


def without_statements(root: Node, edits: Sequence[At]) -> Node | None:
    """Leave out statements, with their regions; what binds a value stays as long as what is left uses it."""
    wanted = by_function(edits)
    return with_functions(
        [
            _without(function, _unneeded(function, wanted[at])) if at in wanted else function
            for at, function in enumerate(functions_of(root))
        ]
    )


def _without(function: Node, gone: set[int]) -> Node:
    return rewritten(function, lambda number, now, before: Instead() if number in gone else now)


def _unneeded(function: Node, wanted: set[int]) -> set[int]:
    """Return which of some statements can go: all but those that bind what those use that stay."""
    listed = list(numbered(function))
    ends = _ends(listed)
    gone: set[int] = set()
    needed: set[str] = set()
    inside: range = range(0)  # the statements in the region of one that goes
    # Last ones first, but a statement before those in its region: whether these go depends on it.
    for number, statement in sorted(listed, key=lambda place: (-ends[place[0]], place[0])):
        if number in inside:
            continue
        if number in wanted and needed.isdisjoint([name for name, _ in build.results_of(statement)]):
            gone.add(number)
            inside = range(number, ends[number] + 1)
        else:
            needed |= used(statement)
    return gone


def _ends(listed: Sequence[tuple[int, Node]]) -> list[int]:
    """Return for each statement the number of the last one in its region, or its own."""
    ends = list(range(len(listed)))
    for number, statement in reversed(listed):
        region = build.region_of(statement)
        if region is not None:
            last = number
            for _ in build.body_of(region):
                last = ends[last + 1]
            ends[number] = last
    return ends


# --- what statements bind ---------------------------------------------------------------------------------------------


class Other(NamedTuple):
    """A statement by its place and the value that stands for what it binds: a zero for None."""

    function: int
    statement: int
    instead: Node | None


def others(root: Node) -> list[Other]:
    """Return for what each statement binds operands, a parameter of its type, and zero."""
    found = []
    for at, function in enumerate(functions_of(root)):
        params = {node.type: _use(node) for node in reversed(build.params_of(function.args[-1]))}
        for number, statement in numbered(function):
            bound = build.results_of(statement)
            if len(bound) == 1:
                found += [Other(at, number, each) for each in _instead(statement, bound[0].type, params)]
            if bound and statement.args:
                found.append(Other(at, number, None))
    return found


def _use(declaration: Node) -> Node:
    return build.value(declaration.attrs["name"], declaration.type)


def _instead(statement: Node, type_: Any, params: dict[Any, Node]) -> Iterable[Node]:
    """Return an operand of a type, a parameter of it, and for a buffer an operand of another shape."""
    operands = build.operands_of(statement)
    values = [each for each in (operands[0].args if statement.op is ops.LET else operands) if build.is_variable(each)]
    wanted = build.value("", type_).type
    same = [each for each in values if each.type is wanted]
    others = [each for each in values if isinstance(type_, MemRefType) and isinstance(each.type, MemRefType)]
    return dict.fromkeys([*same[:1], *([params[type_]] if type_ in params else []), *others[:1]])


def with_others(root: Node, edits: Sequence[Other]) -> Node | None:
    """Put other values in the place of what statements bind, and what follows for shapes; of several, the first.

    What nothing uses any more goes too.
    """
    instead: dict[int, dict[int, Node | None]] = defaultdict(dict)
    for at, number, value in edits:
        instead[at].setdefault(number, value)
    listed = functions_of(root)
    return with_functions(
        [_with_others(each, instead[at]) if at in instead else each for at, each in enumerate(listed)]
    )


def _with_others(function: Node, instead: dict[int, Node | None]) -> Node:
    def change(number: int, now: Node, before: Node) -> Node | Instead:
        if number not in instead:
            return fitted(now, before, {})
        value = instead[number]
        if value is not None:
            return Instead((value,))
        zeros = [_zero(name, type_) for name, type_ in build.results_of(before)]
        return Instead([value for value, _ in zeros], [made for _, made in zeros if made is not None])

    return _swept(rewritten(function, change), function)


def _zero(name: str, type_: Any) -> tuple[Node, Node | None]:
    """Return what stands for a value that is left out, and the statement that makes it."""
    if isinstance(type_, MemRefType):
        return build.value(name, type_), build.statement(ops.CONSTANT, (zero(type_.dtype),), type_, (name,))
    return (affine.index(0) if type_ is INDEX else zero(type_)), None


def _swept(function: Node, before: Node) -> Node:
    """Return a function without what it binds and does not use, as far as it was used before."""
    uses = {name for _, statement in numbered(before) for name in used(statement)}
    wanted = {
        number
        for number, statement in numbered(function)
        if _is_pure(statement) and uses.issuperset([name for name, _ in build.results_of(statement)])
    }
    return _without(function, _unneeded(function, wanted))


def _is_pure(statement: Node) -> bool:
    """Tell whether a statement is there for what it binds alone."""
    return may_drop(statement.op.get_attr("TCallEffectKind")) and not build.is_terminator(statement)


# --- results and parameters -------------------------------------------------------------------------------------------


class Port(NamedTuple):
    """A result or a parameter of a function, by its position, and the parameter that takes its place, if one does."""

    function: int
    kind: Literal["result", "parameter"]
    at: int
    instead: int | None = None


def ports(root: Node) -> list[Port]:
    """Return the results and the parameters of functions; a buffer with the first one of its type in its place."""
    found = []
    for number, function in enumerate(functions_of(root)):
        found += [Port(number, "result", at) for at in range(len(build.operands_of(function)))]
        firsts: dict[Any, int] = {}
        for at, param in enumerate(build.params_of(function.args[-1])):
            first = firsts.setdefault(param.type, at)
            if first != at:
                found.append(Port(number, "parameter", at, first))
            found.append(Port(number, "parameter", at))
    return found


def without_ports(root: Node, edits: Sequence[Port]) -> Node | None:
    """Leave out results, and parameters: a scalar is zero, a buffer that is used stays if no other takes its place."""
    found: dict[int, list[Port]] = defaultdict(list)
    for port in edits:
        found[port.function].append(port)
    listed = functions_of(root)
    return with_functions(
        [_without_ports(function, found[at]) if at in found else function for at, function in enumerate(listed)]
    )


def _without_ports(function: Node, edits: Sequence[Port]) -> Node:
    results = {port.at for port in edits if port.kind == "result"}
    region = function.args[-1]
    fewer = function.replace(args=(*_but(build.operands_of(function), results), region))

    def change(number: int, now: Node, before: Node) -> Node:
        return now.replace(args=_but(now.args, results)) if now.op is ops.RETURN else now

    made = rewritten(fewer, change) if results else function
    params = build.params_of(region)
    uses = {name for _, statement in numbered(made) for name in used(statement)}
    values: dict[str, Node] = {}
    gone = set()
    for port in edits:
        if port.kind == "result" or port.at in gone or port.instead in gone:
            continue
        name, type_ = params[port.at].attrs["name"], params[port.at].type
        if port.instead is not None:
            values[name] = _use(params[port.instead])
        elif isinstance(type_, DType):
            values[name] = zero(type_)
        elif name in uses:
            continue
        gone.add(port.at)
    return rewritten(made, lambda number, now, before: now, _but(params, gone), values) if gone else made


def _but(nodes: Sequence[Node], gone: set[int]) -> list[Node]:
    return [node for at, node in enumerate(nodes) if at not in gone]


# --- loops and inputs -------------------------------------------------------------------------------------------------


def loops(root: Node) -> list[At]:
    """Return the places of all loops."""
    return [At(at, number) for at, number, statement in places(root) if statement.op is affine_ops.FOR]


def without_loops(root: Node, edits: Sequence[At]) -> Node | None:
    """Put the first trip of loops in their place."""
    wanted = by_function(edits)

    def change(at: int, number: int, now: Node, before: Node) -> Node | Inner:
        if at not in wanted or number not in wanted[at]:
            return now
        lower, _, *inits = build.operands_of(now)
        names = [param.attrs["name"] for param in build.params_of(now.args[-1])]
        return Inner(None, dict(zip(names, [lower, *inits], strict=True)))

    return changed(root, change)


_PER_INPUT: Final = {CONCAT: "shapes", MAP_REDUCE: "indices", MAP_REDUCE_AFF: "in_maps"}
"""The attribute that has an entry for each input, of operations with any number of them."""


class Input(NamedTuple):
    """An input of a statement, by its position."""

    function: int
    statement: int
    at: int


def inputs(root: Node) -> list[Input]:
    """Return the inputs of operations with any number of them."""
    return [
        Input(at, number, position)
        for at, number, statement in places(root)
        if statement.op in _PER_INPUT
        for position in range(len(statement.attrs[_PER_INPUT[statement.op]]))
    ]


def without_inputs(root: Node, edits: Sequence[Input]) -> Node | None:
    """Leave out inputs; in a combiner, their elements are zero."""
    found: dict[tuple[int, int], set[int]] = defaultdict(set)
    for at, number, position in edits:
        found[at, number].add(position)

    def change(at: int, number: int, now: Node, before: Node) -> Node | Inner:
        gone = found.get((at, number))
        if gone is None:
            return now
        key = _PER_INPUT[now.op]
        made = now.replace(
            args=_but(now.args, gone),
            attrs={**now.attrs, key: tuple([each for at, each in enumerate(now.attrs[key]) if at not in gone])},
        )
        region = build.region_of(now)
        if region is None:
            return made
        elements = build.params_of(region)[1:]
        return Inner(made, {elements[at].attrs["name"]: zero(elements[at].type) for at in gone})

    return changed(root, change)
