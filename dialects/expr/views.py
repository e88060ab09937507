"""Which window of a flat array each step of a loop reads, found by replaying views on the positions they select.

A chain of `reshape`, `slice` and `transpose` over a value of one axis is *peeled* when step ``i`` of what it selects
begins at ``start + i * stride``: the loop then reads the value itself. Source: expression specification 3.4.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from scaly_ir.dialects.expr import ops
from scaly_ir.graph import Node

if TYPE_CHECKING:
    from scaly_ir.dialects.expr.node import Expr

_VIEWS: Final = frozenset({ops.RESHAPE, ops.SLICE, ops.TRANSPOSE})


class Window(NamedTuple):
    """What an input of a loop's body reads: a flat operand, where step 0 begins, and how far the next step is."""

    outer: Expr
    start: int
    stride: int


def windows_of(x: Expr, steps: int, size: int) -> Window:
    """Return the windows of `size` entries that `steps` steps read one after the other from the entries of `x`.

    Views are peeled off where the windows are evenly spaced; otherwise `x` is flattened by one `reshape`.
    """
    base, chain = _chain(x)
    if chain:
        found = _affine(base, chain, steps, size)
        if found is not None:
            return Window(base, *found)
    flat = x if x.ndim == 1 else x.vec()
    return Window(flat, 0, size)


def broadcast_of(x: Expr, size: int) -> Window:
    """Return the one window that every step reads."""
    base, chain = _chain(x)
    if chain:
        found = _affine(base, chain, 1, size)
        if found is not None:
            return Window(base, found[0], 0)
    return Window(x if x.ndim == 1 else x.vec(), 0, 0)


def _chain(x: Expr) -> tuple[Expr, list[Node]]:
    """Return the value of one axis below the views without hints, and the views from the innermost outwards."""
    chain: list[Node] = []
    node: Any = x
    while node.op in _VIEWS and "lowering" not in node.attrs:
        chain.append(node)
        node = node.args[0]
    while chain and node.ndim != 1:  # a view of more axes than one: keep what is between
        node = chain.pop()
    return node, chain[::-1]


def _affine(base: Expr, chain: list[Node], steps: int, size: int) -> tuple[int, int] | None:
    """Return start and stride of the windows, when entry ``(i, j)`` is at ``start + i * stride + j``."""
    import numpy

    positions = numpy.arange(base.size)
    for view in chain:
        attrs = {key: value for key, value in view.attrs.items() if key != "lowering"}
        positions = view.op.get_attr("FNumpy")(positions, **attrs)
    if positions.size != steps * size:
        return None
    if positions.size == 0:
        return (0, size) if steps <= 1 or size == 0 else None
    table = positions.reshape(steps, size)
    start = int(table[0, 0])
    stride = int(table[1, 0]) - start if steps > 1 else size
    expected = start + numpy.arange(steps)[:, None] * stride + numpy.arange(size)[None, :]
    return (start, stride) if stride >= 0 and bool((table == expected).all()) else None
