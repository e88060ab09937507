"""Carries that a loop updates in place: which bodies can, and how such a body reads and writes one buffer.

The next carry is a chain of scatters at constant positions that begins with the carry. Each writes its positions into
the buffer that the ones before it are in, so nothing may read there what was there before. Source: lowering
specification 1.8.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from scaly_ir.dialects.expr import numpy_rules, ops
from scaly_ir.dialects.expr.functions import body_of, inputs_of, outputs_of
from scaly_ir.graph import Node, toposort
from scaly_ir.passes.expr.lowering.procedure import Procedure

if TYPE_CHECKING:
    import numpy

    Array = numpy.ndarray[Any, Any]

_VIEWS: Final = frozenset({ops.RESHAPE, ops.SLICE, ops.TRANSPOSE})
"""What selects entries of its operand, as a gather with a constant index does."""


def set_targets(proc: Procedure, function: Node, places: Sequence[int], outputs: Sequence[Node]) -> None:
    """Let carries be read from the buffers of their outputs, and all updates of them be written there.

    `LoweringError` where the function cannot work in place.
    """
    for place in places:
        carry, result = inputs_of(function)[place], outputs_of(function)[place]
        reached = _readers(function, carry)
        chain = _chain(proc, carry, result)
        others = [other for number, other in enumerate(outputs_of(function)) if number != place]
        for other in others:
            if other in reached:
                raise proc.refuse(other, f"an output reads '{carry.attrs['name']}', which is updated in place")
        for before, link in zip([carry, *chain], chain, strict=False):
            _check_link(proc, link, before, reached, {carry, *chain})
        proc.values[carry] = outputs[place]
        proc.targets.update(dict.fromkeys(chain, outputs[place]))


def _readers(function: Node, carry: Node) -> set[Node]:
    """Return the operations that depend on a carry, and the carry."""
    reached = {carry}
    for node in body_of(function):
        if not reached.isdisjoint(node.args):
            reached.add(node)
    return reached


def _chain(proc: Procedure, carry: Node, result: Node) -> list[Node]:
    """Return the scatters between a carry and its next value, the first first; reshapes are looked through."""
    chain = []
    node = result
    while node is not carry:
        if node.op is ops.SCATTER and node.args[1].op is ops.CONST:
            chain.append(node)
        elif node.op is not ops.RESHAPE:
            wanted = f"'{carry.attrs['name']}' is to be updated in place, by scatters at constant positions alone"
            raise proc.refuse(node, wanted)
        node = node.args[0]
    return chain[::-1]


def _check_link(proc: Procedure, link: Node, before: Node, reached: set[Node], links: set[Node]) -> None:
    """Check that the values of a scatter read nothing that is not there any more, or that it writes."""
    import numpy

    values = link.args[2]
    entries: dict[Node, Array] = {before: numpy.arange(before.type.size).reshape(before.type.shape)}
    read = numpy.zeros(before.type.size, bool)
    for node in toposort(values, gate=lambda node: node in reached and node is not before):
        if node in links:
            raise proc.refuse(link, "its values read what an earlier update in place has overwritten")
        _note_reads(node, entries, read)
    _mark(read, entries.get(values))
    if (read & _written(link)).any():
        raise proc.refuse(link, "its values read entries that it writes, and it is to work in place")


def _note_reads(node: Node, entries: dict[Node, Array], read: Array) -> None:
    """Note which entries of the buffer an operation selects, or, if it does anything else with them, that it reads."""
    if node.args[0] in entries and (node.op in _VIEWS or (node.op is ops.GATHER and node.args[1].op is ops.CONST)):
        attrs = {key: value for key, value in node.attrs.items() if key != "lowering"}
        if node.op is ops.GATHER:
            attrs["fill"] = -1  # no entry at all
        others = [operand.attrs["value"].array for operand in node.args[1:]]
        entries[node] = node.op.get_attr("FNumpy")(entries[node.args[0]], *others, **attrs)
    else:
        for operand in node.args:
            _mark(read, entries.get(operand))


def _mark(read: Array, entries: Array | None) -> None:
    if entries is not None:
        read[entries[entries >= 0]] = True


def _written(link: Node) -> Array:
    """Return which entries a scatter writes."""
    import numpy

    base, idx, values = link.args
    marks = numpy.zeros(base.type.shape, bool), idx.attrs["value"].array, numpy.ones(values.type.shape, bool)
    marked = numpy_rules.scatter(*marks, axis=link.attrs["axis"], combine="set", mode=link.attrs["mode"])
    return marked.reshape(-1)
