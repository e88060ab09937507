"""What whole-array operations fold to: the attribute ``FFold`` of the operators, as `buffer/folds.py` describes it.

No identity of real numbers is used: sums are computed in their order and rounded at each step, literals are compared
bit by bit. Source: matrix specification 8.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import repeat
from typing import Any, Final

from scaly_ir.dialects.affine.simplify import simplified_map
from scaly_ir.dialects.buffer import build
from scaly_ir.dialects.buffer.folds import fill_of, filled
from scaly_ir.dialects.buffer.ops import UNDEF
from scaly_ir.dialects.matrix import ops
from scaly_ir.dialects.prog import build as prog
from scaly_ir.graph import Node
from scaly_ir.numeric.machine import Value, truncate
from scaly_ir.op import Op
from scaly_ir.types import DType

TERMS: Final = 65536
"""The most terms of a sum that is computed here."""

Consts = Sequence[Any]


def _sum(term: Value, count: int, dtype: DType) -> Node | None:
    """Return ``((0 + term) + term) ...`` as a literal; None for a long sum, and for NaNs, whose bits hosts choose."""
    if count > TERMS:
        return None
    total = truncate(0, dtype)
    for value in repeat(term, count):
        total = truncate(total + value, dtype)
    return None if total != total else prog.const(total, dtype)


def _fold_prod(call: Node, consts: Consts) -> Node | None:
    """``prod-empty`` and ``prod-constants``."""
    dtype, terms = call.type.dtype, call.args[0].type.shape[1]
    if terms == 0:
        return filled(call, prog.const(0, dtype))
    if consts[0] is None or consts[1] is None:
        return None
    total = _sum(truncate(consts[0] * consts[1], dtype), terms, dtype)
    return None if total is None else filled(call, total)


def _fold_sum(call: Node, consts: Consts) -> Node | None:
    """``sum-constant``."""
    return None if consts[0] is None else _sum(consts[0], math.prod(call.args[0].type.shape), call.type)


def _fold_transpose(call: Node, consts: Consts) -> Node | None:
    """``transpose-constant`` and ``transpose-twice``."""
    (operand,) = call.args
    if consts[0] is not None:
        return filled(call, fill_of(operand))
    return operand.args[0] if operand.op is call.op else None


def _fold_broadcast(call: Node, consts: Consts) -> Node | None:
    """``broadcast-same``, ``broadcast-constant`` and ``broadcast-twice``."""
    (operand,) = call.args
    if consts[0] is not None:
        return filled(call, fill_of(operand))
    if call.attrs["s_in"] == call.attrs["s_out"] and operand.type is call.type:
        return operand
    if operand.op is call.op and operand.attrs["s_out"] == call.attrs["s_in"]:
        return call.with_attrs(s_in=operand.attrs["s_in"]).replace(args=operand.args)
    return None


def _fold_pad(call: Node, consts: Consts) -> Node | None:
    """``pad-constant`` and ``pad-zero``."""
    operand = call.args[0]
    if consts[0] is not None and (call.attrs["mode"] != ops.CONSTANT_MODE or fill_of(operand) is call.args[1]):
        return filled(call, fill_of(operand))
    return operand if operand.type is call.type else None  # any width makes an extent larger


def _fold_concat(call: Node, consts: Consts) -> Node | None:
    """``concat-one`` and ``concat-empty``."""
    if len(call.args) == 1:
        return call.args[0]
    axis, shapes = call.attrs["axis"], call.attrs["shapes"]
    kept = [position for position, shape in enumerate(shapes) if shape[axis] != 0] or [0]
    if len(kept) == len(shapes):
        return None
    attrs = {**call.attrs, "shapes": tuple([shapes[position] for position in kept])}
    return call.replace(args=[call.args[position] for position in kept], attrs=attrs)


def _fold_map_reduce(call: Node, consts: Consts) -> Node | None:
    """``mr-keep``, ``mr-copy`` and ``mr-renumber``."""
    *inputs, init, region = call.args
    rank, indices = len(call.type.shape), call.attrs["indices"]
    accumulator, *elements = [param.attrs["name"] for param in build.params_of(region)]
    yielded = _yielded(region)
    if yielded == accumulator and init.op is not UNDEF:
        return filled(call, init)
    if indices == (tuple(range(rank)),) and yielded == elements[0]:
        return inputs[0]
    reduction = sorted({number for tuple_ in indices for number in tuple_ if number >= rank})
    dense = {number: rank + position for position, number in enumerate(reduction)}
    renumbered = tuple([tuple([dense.get(number, number) for number in tuple_]) for tuple_ in indices])
    return None if renumbered == indices else call.with_attrs(indices=renumbered)


def _yielded(region: Node) -> str | None:
    """Return the name that a combiner yields; None for any other scalar."""
    (value,) = build.body_of(region)[-1].args
    return value.attrs["name"] if build.is_variable(value) else None


def _fold_map_reduce_aff(call: Node, consts: Consts) -> Node | None:
    """``affine-fold`` of its maps."""
    return call.with_attrs(
        out_map=simplified_map(call.attrs["out_map"]),
        in_maps=tuple([simplified_map(map_) for map_ in call.attrs["in_maps"]]),
    )


FOLDS: Final[dict[Op, Callable[[Node, Consts], Node | None]]] = {
    ops.PROD: _fold_prod,
    ops.SUM: _fold_sum,
    ops.TRANSPOSE: _fold_transpose,
    ops.BROADCAST: _fold_broadcast,
    ops.PAD: _fold_pad,
    ops.CONCAT: _fold_concat,
    ops.MAP_REDUCE: _fold_map_reduce,
    ops.MAP_REDUCE_AFF: _fold_map_reduce_aff,
}

for _op, _function in FOLDS.items():
    _op.set_attr("FFold", _function)
