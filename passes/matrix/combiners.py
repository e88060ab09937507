"""The nest of loops of a map and reduction: loops over the result, loops that reduce, and the combiner in them.

Source: matrix specification 9.2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from scaly_ir.dialects.buffer import build
from scaly_ir.dialects.buffer.substitution import with_values
from scaly_ir.graph import Node
from scaly_ir.passes.matrix.driver import Context

At = Mapping[int, Node]
"""The index operand of each loop, by its number."""
Locate = Callable[[At], Iterable[Node]]
"""Returns the indices of an element, and emits what computes them."""


class Nest(NamedTuple):
    """The loops of a map and reduction, by number, and which elements it is about at a point of them."""

    cells: Mapping[int, int]
    """The loops over the result."""
    terms: Mapping[int, int]
    """The loops that reduce."""
    cell: Locate
    elements: Sequence[Locate]
    """For each input."""


def emit_nest(ctx: Context, statement: Node, result: Node, nest: Nest) -> None:
    """Emit the loops that compute `result`; `statement` has the inputs, the first accumulator and the combiner."""
    *inputs, init, region = statement.args
    accumulator, *elements = build.params_of(region)
    with ctx.loop_nest(nest.cells, "global") as outer:
        with ctx.loop_nest(nest.terms, "reduce", [(accumulator.attrs["name"], init)]) as inner:
            at = {
                **dict(zip(nest.cells, outer.indices, strict=True)),
                **dict(zip(nest.terms, inner.indices, strict=True)),
            }
            values = [
                ctx.read(source, locate(at), element.attrs["name"])
                for source, locate, element in zip(inputs, nest.elements, elements, strict=True)
            ]
            inner.give(_combined(ctx, region, [*inner.carried, *values]))
        (value,) = inner.results
        ctx.write(value, result, nest.cell(at))


def _combined(ctx: Context, region: Node, arguments: Sequence[Node]) -> tuple[Node, ...]:
    """Emit the statements of a combiner for its arguments, and return what it yields."""
    known = dict(zip([param.attrs["name"] for param in build.params_of(region)], arguments, strict=True))
    *bindings, last = build.body_of(region)
    for binding in bindings:
        (scalar,) = binding.args
        (name,) = build.names_of(binding)
        new = ctx.fresh(name)
        ctx.emit(build.let(new, with_values(scalar, known)))
        known[name] = build.value(new, scalar.type)
    return tuple([with_values(value, known) for value in last.args])
