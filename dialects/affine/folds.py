"""What index expressions fold to: the attribute ``FFold`` of the operators. Source: matrix specification 8."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

from scaly_ir.dialects.affine import ops
from scaly_ir.dialects.affine.maps import Dim
from scaly_ir.dialects.affine.simplify import number_of, simplify
from scaly_ir.dialects.prog import build as prog
from scaly_ir.graph import Node
from scaly_ir.op import Op


def _fold(call: Node, consts: Sequence[Any], *, choose: Callable[[Sequence[int]], int]) -> Node | None:
    """Fold a map: to a number, to the operand that it is, or to a simpler one. `choose` is the choice of a result."""
    before = call.attrs["map"]
    map_, operands = simplify(before, call.args)
    numbers = [number for result in map_.results if (number := number_of(result)) is not None]
    if numbers and len(numbers) == len(map_.results):
        return prog.index(choose(numbers))
    if map_.results == ((Dim(0),),):
        return operands[0]
    return None if map_ == before else call.with_attrs(map=map_).replace(args=operands)


FOLDS: Final[dict[Op, Callable[..., Node | None]]] = {
    ops.APPLY: partial(_fold, choose=lambda results: results[0]),
    ops.MIN: partial(_fold, choose=min),
    ops.MAX: partial(_fold, choose=max),
}

for _op, _function in FOLDS.items():
    _op.set_attr("FFold", _function)
