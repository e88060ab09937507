"""Split a procedure in two: what depends on given parameters alone, and the rest, which reads the results.

Owns the choice of statements and the two procedures; who calls them is the business of `hoist_invariant`. Source:
lowering specification 3.1.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Set
from dataclasses import dataclass
from typing import NamedTuple

from scaly_ir.dialects.prog import build, ops
from scaly_ir.dialects.prog.build import body_of, params_of
from scaly_ir.graph import Node, preorder
from scaly_ir.graph.observe import report_derived
from scaly_ir.graph.rewrite import Mode, substitute
from scaly_ir.op import CallEffectKind
from scaly_ir.passes.prog.references import Dependences, References, effect, statements


class Split(NamedTuple):
    """A prologue, to be run once, and the body that is left."""

    prologue: Node
    body: Node
    inputs: list[int]
    """The parameters of the procedure that the prologue reads, by position; they are its inputs."""
    exports: list[Node]
    """The declarations of the buffers that it fills: its outputs, and inputs of the body behind those there were."""


def is_pure(procedure: Node, pure: Set[str]) -> bool:
    """Tell whether a procedure changes its arguments and nothing else; `pure` are the procedures that do not either."""
    return all([_is_pure_node(node, pure) for node in preorder(procedure)])


def _is_pure_node(node: Node, pure: Set[str]) -> bool:
    if node.op is ops.CALL:
        return node.attrs["callee"] in pure
    return not ops.is_scalar(node.op) or node.op is ops.LOAD or effect(node.op) <= CallEffectKind.Pure


@dataclass(frozen=True)
class _Selection:
    """The statements of a procedure that move, by position, and the buffers that the others need of them."""

    moved: Set[int]
    exports: list[str]


def split(
    dependences: Dependences, invariant: Set[int], inputs: int, pure: Set[str], names: tuple[str, str]
) -> Split | None:
    """Split a procedure whose parameters at the positions `invariant` are the same on every call, or return None.

    The procedure writes none of these. `inputs` is how many of its parameters a call only reads, and `names` are those
    of prologue and body.
    """
    procedure = dependences.procedure
    selection = _select(dependences, {params_of(procedure)[position].attrs["name"] for position in invariant}, pure)
    if selection is None:
        return None
    declared = {node.attrs["name"]: node for node in dependences.body if node.op is ops.BUFFER}
    exports = [declared[name] for name in selection.exports]
    rest = [at for at, node in enumerate(dependences.body) if node.op is not ops.BUFFER and at not in selection.moved]
    used, prologue = _part(dependences, sorted(selection.moved), exports)
    _, body = _part(dependences, rest, exports)
    params, filled = params_of(procedure), [_as_param(node) for node in exports]
    read = [position for position, param in enumerate(params) if param.attrs["name"] in used]
    made = (
        build.proc(names[0], [*[params[at] for at in read], *filled], prologue, _prologue_header(procedure, len(read))),
        build.proc(names[1], [*params[:inputs], *filled, *params[inputs:]], body, _body_header(procedure, len(filled))),
    )
    report_derived(procedure, *made)
    return Split(*made, read, exports)


# --- what moves -------------------------------------------------------------------------------------------------------


def _select(dependences: Dependences, invariant: Set[str], pure: Set[str]) -> _Selection | None:
    """Return the most statements that may move together, or None when that leaves the others nothing to read.

    A statement stays when it touches what is not known before the loop, and then nothing that it writes is known.
    """
    touched = [_roots(dependences, _touched(found)) for found in dependences.statements]
    written = [_roots(dependences, found.writes) for found in dependences.statements]
    users: defaultdict[str, list[int]] = defaultdict(list)
    unknown = {param.attrs["name"] for param in params_of(dependences.procedure)} - invariant
    moved = set()
    for position, statement in enumerate(dependences.body):
        for root in touched[position]:
            users[root].append(position)
        if _may_move(statement, pure):
            moved.add(position)
        elif statement.op is not ops.BUFFER:
            unknown |= written[position] | _roots(dependences, _passed_to_impure(statement, pure))
    pending = list(unknown)
    while pending:
        for position in users[pending.pop()]:
            if position in moved:
                moved.remove(position)
                pending += written[position] - unknown
                unknown |= written[position]
    exports = _exports(moved, touched, written)
    return _Selection(moved, exports) if exports else None


def _exports(moved: Set[int], touched: list[set[str]], written: list[set[str]]) -> list[str]:
    """Return what moved statements write and others read, sorted; nothing when one of these reads it too early."""
    last_write = {root: position for position in sorted(moved) for root in written[position]}
    found = set()
    for position, roots in enumerate(touched):
        read = roots & last_write.keys() if position not in moved else set()
        if any([position < last_write[root] for root in read]):
            return []
        found |= read
    return sorted(found)


def _may_move(statement: Node, pure: Set[str]) -> bool:
    """Tell whether a statement computes the same before the loop, if what it reads is the same there."""
    if statement.op in (ops.BUFFER, ops.ASSIGN):
        return False
    bound, used = set(), set()
    for node in preorder(statement):
        if not _is_pure_node(node, pure):
            return False
        if node.op is ops.VAR and not node.attrs["name"].startswith(ops.RESERVED_PREFIX):
            used.add(node.attrs["name"])
        elif node.op is ops.RANGE:
            bound.add(node.attrs["name"])
        elif node.op is ops.ASSIGN:
            (bound if node.attrs.get("declare", False) else used).add(node.attrs["target"])
    return used <= bound


def _passed_to_impure(statement: Node, pure: Set[str]) -> Iterable[str]:
    """Return the buffers that a statement passes to calls of which nobody knows what they do."""
    calls = [node for node, _ in statements(statement) if node.op is ops.CALL and node.attrs["callee"] not in pure]
    return {build.buffer_of(argument) for call in calls for argument in call.args}


def _touched(found: References) -> set[str]:
    return {*found.reads, *found.bound_reads, *found.writes, *found.passed}


def _roots(dependences: Dependences, names: Iterable[str]) -> set[str]:
    return {dependences.root(name) for name in names}


# --- the two procedures -----------------------------------------------------------------------------------------------


def _part(dependences: Dependences, positions: list[int], exports: list[Node]) -> tuple[set[str], list[Node]]:
    """Return the names that statements need, and the statements with the declarations of these names before them."""
    wanted = set(positions)
    used: set[str] = set()
    for position in positions:
        used |= _touched(dependences.statements[position])
    for node in reversed(dependences.body):
        if node.op is ops.BUFFER and node.attrs["name"] in used and "alias_of" in node.attrs:
            used.add(node.attrs["alias_of"])
    parameters = {node: _as_param(node) for node in exports}
    kept = []
    for position, node in enumerate(dependences.body):
        declares = node.op is ops.BUFFER
        if (node.attrs["name"] in used and node not in parameters) if declares else position in wanted:
            kept.append(node)
    return used, list(body_of(substitute(build.block(kept), parameters, mode=Mode.ONCE)))


def _as_param(declaration: Node) -> Node:
    return build.param(declaration.attrs["name"], declaration.attrs["shape"], declaration.type)


def _prologue_header(procedure: Node, inputs: int) -> dict[str, object]:
    """Return the header of a prologue: its scalars are expanded where they would be, but never into a loop's caller."""
    header = {key: procedure.attrs[key] for key in ("device", "lowering", "scalarize_mode") if key in procedure.attrs}
    if header.get("scalarize_mode", "disabled") != "disabled" and header.get("lowering") != "scalar":
        header["scalarize_mode"] = "inline"
    return {**header, "input_count": inputs}


def _body_header(procedure: Node, added: int) -> dict[str, object]:
    header = {key: value for key, value in procedure.attrs.items() if key not in ("name", "param_count")}
    if "input_count" in header:
        header["input_count"] += added
    return {**header, "hoisted_from": procedure.attrs["name"]}
