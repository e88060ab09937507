"""Carries that a loop updates in place: which bodies can, and how such a body reads and writes one buffer.

The next carry is a chain of scatters at constant positions that begins with the carry. Each writes its positions into
the buffer that the ones before it are in, so nothing may read there what was there before. Source: lowering
specification 1.8.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
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

_NONE: Final = -1
"""The number of the entry at a position that is outside."""


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
        links = {carry, *chain}
        for before, link in zip([carry, *chain], chain, strict=False):
            _check_link(proc, link, before, reached, links)
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


def _check_link(proc: Procedure, link: Node, before: Node, reached: Set[Node], links: Set[Node]) -> None:
    """Check that the values of a scatter read nothing that is not there any more, or that it writes."""
    base, idx, values = link.args
    if values not in reached:
        return
    entries: dict[Node, Array] = {before: _numbered(before)}
    read: list[Array] = []
    for node in toposort(values, gate=lambda node: node in reached and node is not before):
        if node in links:
            raise proc.refuse(link, "its values read what an earlier update in place has overwritten")
        _note_reads(node, entries, read)
    if values in entries:
        read.append(entries[values])
    written = numpy_rules.gather(_numbered(base), idx.attrs["value"].array, **_selection(link))
    if _overlap(read, written):
        raise proc.refuse(link, "its values read entries that it writes, and it is to work in place")


def _numbered(node: Node) -> Array:
    """Return the number of each entry of an array."""
    import numpy

    return numpy.arange(node.type.size).reshape(node.type.shape)


def _selection(node: Node) -> dict[str, Any]:
    """Return the attributes with which a gather selects entries as a gather or scatter does; there is none outside."""
    return {"axis": node.attrs["axis"], "mode": node.attrs["mode"], "fill": _NONE}


def _note_reads(node: Node, entries: dict[Node, Array], read: list[Array]) -> None:
    """Note which entries of the buffer an operation selects, or, if it does anything else with them, that it reads."""
    selected = entries.get(node.args[0])
    if selected is not None and node.op is ops.GATHER and node.args[1].op is ops.CONST:
        entries[node] = numpy_rules.gather(selected, node.args[1].attrs["value"].array, **_selection(node))
    elif selected is not None and node.op in _VIEWS:
        attrs = {key: value for key, value in node.attrs.items() if key != "lowering"}
        entries[node] = node.op.get_attr("FNumpy")(selected, **attrs)
    else:
        read.extend([entries[operand] for operand in node.args if operand in entries])


def _overlap(read: Sequence[Array], written: Array) -> bool:
    """Tell whether an entry is read and written."""
    import numpy

    found = numpy.isin(numpy.concatenate([entries.reshape(-1) for entries in read]), written[written != _NONE])
    return bool(found.any())
