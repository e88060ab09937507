"""The operators of the `affine` dialect. Source: matrix specification 6."""

from __future__ import annotations

from typing import Final

from scaly_ir.attributes import Word
from scaly_ir.dialects.affine.maps import AffineMap
from scaly_ir.dialects.buffer.ops import RESULTS, TERMINATOR, declare, own, structural
from scaly_ir.op import CallEffectKind, Op
from scaly_ir.signature import AttrSpec

FOR_KINDS: Final = ("global", "reduce", "serial")
DEFAULT_KIND: Final = Word("serial")
"""What a loop is that does not say."""

FOR: Final = structural(
    "affine.for",
    "A counted loop: bounds, carried values, and a region with the loop variable and these.",
    {
        "step": AttrSpec(int, printed=False),
        "kind": AttrSpec(Word, words="a loop kind"),
        "types": AttrSpec(tuple, default=None, words="element types", printed=False),
        "results": RESULTS,
    },
    CallEffectKind.UpdateState,
)
YIELD: Final = structural("affine.yield", "The end of a loop's body: the next carried values.", {}, CallEffectKind.Pure)
YIELD.set_attr(TERMINATOR, True)


def _of_map(name: str, doc: str) -> Op:
    """Register an operation on index values that a map says."""
    attrs = {"map": own(AffineMap)}
    return declare(name, doc, {}, "index", rest=("dims", "index"), attrs=attrs, effect=CallEffectKind.Pure)


APPLY: Final = _of_map("affine.apply", "The result of a map at its operands.")
MIN: Final = _of_map("affine.min", "The smallest of the results of a map.")
MAX: Final = _of_map("affine.max", "The largest of the results of a map.")
