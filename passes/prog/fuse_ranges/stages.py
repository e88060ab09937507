"""The stages of a procedure: loops around one call of a procedure that is scalar code, with the callee inlined.

A callee is read once, as the final value of each element that it writes; a stage is then that list with places in the
caller's buffers. Whether a stage may be merged with anything is not decided here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from scaly_ir.dialects.prog import ops
from scaly_ir.dialects.prog.affine import loop_values
from scaly_ir.dialects.prog.build import body_of, params_of
from scaly_ir.graph import Node
from scaly_ir.graph.walk import topovisit
from scaly_ir.op import CallEffectKind
from scaly_ir.passes.prog.fuse_ranges.places import Places, Store, reinterned
from scaly_ir.passes.prog.references import effect
from scaly_ir.passes.prog.shapes import is_mapped_call


class Callee(NamedTuple):
    """A procedure that is scalar code."""

    params: tuple[str, ...]
    values: dict[tuple[str, int], Node]
    """The value of each element that it writes, by parameter and number, in terms of loads of its parameters."""
    reads: frozenset[str]
    stores: int
    """The elements that its text writes, one that is written twice counted twice."""


@dataclass(frozen=True, slots=True)
class Stage:
    """A loop around a call."""

    position: int
    domain: Node
    inputs: tuple[Node, ...]
    """Where the arguments begin that the callee reads."""
    stores: list[Store]
    size: int
    """The stores of the callee's text."""


def callee(procedure: Node) -> Callee | None:
    """Return what a procedure does if it is marked as scalar code and is: assignments, and stores at constant places.

    None also when it needs workspace, or has an operator that does more than compute.
    """
    header = procedure.attrs
    if not header.get("scalarized") or header.get("w_self"):
        return None
    scalars: dict[str, Node] = {}
    done: dict[Node, Node] = {}
    values: dict[tuple[str, int], Node] = {}
    reads: set[str] = set()
    stores = 0

    def inlined(node: Node) -> Node:
        if node.op is ops.VAR:
            return scalars.get(node.attrs["name"], node)  # what is not declared is a width symbol
        if node.op is ops.LOAD:
            reads.add(node.args[0].attrs["buffer"])
        return reinterned(node, done)

    for statement in body_of(procedure):
        if not _is_scalar_code(statement):
            return None
        made = [topovisit(operand, inlined, done) for operand in statement.args]
        if statement.op is ops.ASSIGN:
            scalars[statement.attrs["target"]] = made[0]
            continue
        view, *written = made
        for number, value in enumerate(written, view.args[0].attrs["value"]):
            stores += 1
            values[view.attrs["buffer"], number] = value
    if any([_is_refused(node) for node in done]):
        return None
    return Callee(tuple([param.attrs["name"] for param in params_of(procedure)]), values, frozenset(reads), stores)


def _is_scalar_code(statement: Node) -> bool:
    if statement.op is ops.ASSIGN:
        return bool(statement.attrs.get("declare", False))
    return statement.op in (ops.STORE, ops.STORE_PAIR) and statement.args[0].args[0].op is ops.CONST_INT


def _is_refused(node: Node) -> bool:
    """Tell whether a node of a callee is more than arithmetic on elements at constant places."""
    if node.op is ops.VIEW:
        return node.args[0].op is not ops.CONST_INT
    return node.op is not ops.LOAD and effect(node.op) > CallEffectKind.Pure


def stages(procedure: Node, places: Places, callees: Mapping[str, Callee | None]) -> Iterator[Stage]:
    """Yield the stages of a procedure in order."""
    for position, statement in enumerate(body_of(procedure)):
        if not is_mapped_call(statement):
            continue
        domain, call = statement.args
        called = callees.get(call.attrs["callee"])
        if called is None or domain.attrs["kind"] != "global" or not loop_values(domain):
            continue
        stage = _stage(position, domain, call, called, places)
        if stage is not None:
            yield stage


def _stage(position: int, domain: Node, call: Node, called: Callee, places: Places) -> Stage | None:
    """Return a call with its callee inlined, or None when it reads the storage that it writes."""
    begins = {name: places.argument(argument) for name, argument in zip(called.params, call.args, strict=True)}
    done: dict[Node, Node] = {}

    def placed(node: Node) -> Node:
        if node.op is ops.VIEW:
            return places.element(begins[node.attrs["buffer"]], node.args[0].attrs["value"])
        return reinterned(node, done)

    stores = []
    for (name, number), value in called.values.items():
        where = places.element(begins[name], number)
        stores.append(Store((domain,), where.attrs["buffer"], where.args[0], topovisit(value, placed, done)))
    inputs = tuple([begin for name, begin in begins.items() if name in called.reads])
    read = {begin.attrs["buffer"] for begin in inputs}
    if any([store.root in read for store in stores]):
        return None
    return Stage(position, domain, inputs, stores, called.stores)
