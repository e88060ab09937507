"""The operators of the `matrix` dialect. Source: matrix specification 4 and 10."""

from __future__ import annotations

from typing import Final

from scaly_ir.attributes import Word
from scaly_ir.dialects.affine.maps import AffineMap
from scaly_ir.dialects.buffer.ops import TERMINATOR, declare, list_of, own, structural
from scaly_ir.op import CallEffectKind, Op
from scaly_ir.signature import AttrSpec

CONSTANT_MODE: Final = Word("constant")
REPLICATE_MODE: Final = Word("replicate")

INIT: Final = "TInitOperand"
"""The attribute of operators whose last operand before the region stands as ``init(...)``: the first accumulator."""

_SHAPE: Final = list_of(int, "integers")

PROD: Final = declare(
    "matrix.prod",
    "The matrix product: the sums of A[i, x] * B[x, j], x ascending.",
    {"A": "memref", "B": "memref"},
    "memref",
    fresh=True,
    numeric=True,
)
TRANSPOSE: Final = declare(
    "matrix.transpose", "The matrix with rows and columns exchanged.", {"A": "memref"}, "memref", fresh=True
)
SUM: Final = declare(
    "matrix.sum", "The sum of all elements, in row-major order.", {"A": "memref"}, "scalar", numeric=True
)
BROADCAST: Final = declare(
    "matrix.broadcast",
    "The elements of A with axes of extent 1 stretched.",
    {"A": "memref"},
    "memref",
    attrs={"s_in": _SHAPE, "s_out": _SHAPE},
    fresh=True,
)
PAD: Final = declare(
    "matrix.pad",
    "A with elements around it: of one value, or those of the nearest edge.",
    {"A": "memref"},
    "memref",
    rest=("v", "scalar"),
    attrs={
        "s_in": _SHAPE,
        "s_out": _SHAPE,
        "mode": AttrSpec(Word),
        "lo": _SHAPE,
        "hi": _SHAPE,
    },
    fresh=True,
)
CONCAT: Final = declare(
    "matrix.concat",
    "The inputs side by side along an axis.",
    {},
    "memref",
    rest=("inputs", "memref"),
    attrs={"axis": AttrSpec(int), "shapes": list_of(tuple, "lists of integers"), "s_out": _SHAPE},
    fresh=True,
)


def _with_region(op: Op) -> Op:
    op.set_attr(INIT, True)
    return op


MAP_REDUCE: Final = _with_region(
    declare(
        "matrix.map_reduce",
        "For each element of the result, the combination of those inputs whose indices agree.",
        {},
        "memref",
        rest=("inputs", "value"),
        attrs={"indices": list_of(tuple, "lists of integers")},
        fresh=True,
    )
)
MAP_REDUCE_AFF: Final = _with_region(
    declare(
        "matrix.map_reduce_aff",
        "The same with the elements that maps name, over a box of loops.",
        {},
        "memref",
        rest=("inputs", "value"),
        attrs={
            "bounds": _SHAPE,
            "out_map": own(AffineMap),
            "in_maps": list_of(AffineMap, "affine maps"),
        },
        fresh=True,
    )
)
YIELD: Final = structural("matrix.yield", "The end of a combiner: the new accumulator.", {}, CallEffectKind.Pure)
YIELD.set_attr(TERMINATOR, True)
