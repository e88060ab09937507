"""Which trips of different stages belong together: those that begin to read at the same element.

The trips of a procedure's stages have common numbers. Those of a stage are the values of its loop variable, or count
its trips when it does not step by one; a stage that walks through a buffer like an earlier one does, only from another
element on, takes over the numbers of that one.
"""

from __future__ import annotations

from typing import Final

from scaly_ir.dialects.prog.affine import affine, count_of, loop_values
from scaly_ir.passes.prog.fuse_ranges.places import Unfusible
from scaly_ir.passes.prog.fuse_ranges.stages import Stage

_MOST: Final = 1 << 62


class Alignment:
    """Numbers the trips of stages, which have to come in order."""

    def __init__(self) -> None:
        self._bases: dict[tuple[object, ...], int] = {}
        """Where the first stage that walks through a buffer in some way reads in its trip 0."""

    def trips(self, stage: Stage) -> range:
        """Return the numbers of a stage's trips, in order."""
        values = loop_values(stage.domain)
        assert values
        start, step = (values.start, values.step) if values.step != 1 else (0, 1)
        first = (values.start - start) // step + self._shift(stage, start, step)
        count = count_of(values)
        if not -_MOST < first < first + count < _MOST:
            raise Unfusible("trips have too large numbers")
        return range(first, first + count)

    def _shift(self, stage: Stage, start: int, step: int) -> int:
        """Return how many trips later, in common numbers, a stage begins; trip t has the variable at start + t*step."""
        variable = stage.domain.attrs["name"]
        for begin in stage.inputs:
            form = affine(begin.args[0])
            if form is None or variable not in form.coefficients:
                continue
            factor = form.coefficients[variable]
            stride = factor * step
            base = form.constant + factor * start
            others = tuple(sorted([item for item in form.coefficients.items() if item[0] != variable]))
            key = (begin.attrs["buffer"], stride, base % stride, others)
            return (base - self._bases.setdefault(key, base)) // stride
        return 0
