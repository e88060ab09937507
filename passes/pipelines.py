"""The named pipelines: `default`, from what somebody wrote to a program worth compiling, `O0`, which only lowers, and
`matrix_to_prog`, from matrices to a program.

Owns which passes they consist of, and in which order; that they may be named like passes is the pass manager's doing.
Source: lowering specification 2.1.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final, Literal

from scaly_ir.pass_manager import Pass, Pipeline, load_pass
from scaly_ir.passes import PASSES

IMPROVEMENTS: Final = (
    "hoist_invariant",
    "scalarize",
    "fold_tiles",
    "fuse_ranges",  # takes away the last calls of procedures that are then pruned
    "prune_procedures",
    "combine_scatter_sums",
    "fuse_elementwise",
    "fold_arith",
    "unroll_unit_loops",
    "fold_arith_after_unroll",
)
"""What `default` runs after `lower`, whatever its options are."""

MATRIX: Final = (
    "lower_matrix_high_level_map_reduce",
    "lower_matrix_medium_level",
    "lower_aff",
    "lower_affine_to_prog",
)
"""What takes functions of matrices to programs, step by step."""

STORAGE: Final = ("pack_workspace", "coalesce_stores")
"""What comes behind all that changes which buffers there are."""


@dataclass(frozen=True)
class Unoptimized(Pipeline):
    """Lowers and does nothing else; a `prog` module stays as it is."""

    name: ClassVar[str] = "O0"
    summary: ClassVar[str] = "pipeline: lower alone"
    dialects: ClassVar[frozenset[str]] = frozenset({"expr", "prog"})

    def steps(self) -> Sequence[Pass]:
        """Return `lower`."""
        return _passes(["lower"])


@dataclass(frozen=True)
class Default(Pipeline):
    """Lowers, and improves the program; a `prog` module is only improved."""

    name: ClassVar[str] = "default"
    summary: ClassVar[str] = "pipeline: lower, then improve the program"
    dialects: ClassVar[frozenset[str]] = frozenset({"expr", "prog"})

    delinearize: bool = False
    """Whether flat loops that divide their variable become nests."""
    interchange: bool = False
    """Whether sums of rows of elements run side by side."""
    reciprocal: bool = False
    """Whether divisions by one value become multiplications, which rounds differently."""
    lanes: Literal["auto", 1, 2, 4, 8] = 1
    """How many elements an operation works on at a time."""

    def steps(self) -> Sequence[Pass]:
        """Return `lower` and the passes on programs."""
        wanted = [
            *(["delinearize_loops"] if self.delinearize else []),
            *(["interchange_reductions"] if self.interchange else []),
            *(["hoist_reciprocals"] if self.reciprocal else []),
        ]
        before = _passes(["lower", *IMPROVEMENTS, *wanted])
        if self.lanes == 1:
            return [*before, *_passes([*STORAGE, "prepare_scalar"])]
        # Scalars are named before there are lanes, whose indices that would take apart.
        widening = load_pass(PASSES, "widen_ranges")(lanes=self.lanes)  # type: ignore[call-arg]
        return [*before, *_passes(["prepare_scalar"]), widening, *_passes(STORAGE)]


@dataclass(frozen=True)
class MatrixToProg(Pipeline):
    """Lowers functions of matrices, buffers and loops to procedures; `default` goes on from there."""

    name: ClassVar[str] = "matrix_to_prog"
    summary: ClassVar[str] = "pipeline: from matrix operations to a program"
    dialects: ClassVar[frozenset[str]] = frozenset({"matrix", "buffer", "affine"})

    def steps(self) -> Sequence[Pass]:
        """Return the four passes that lower one level each."""
        return _passes(MATRIX)


def _passes(names: Iterable[str]) -> list[Pass]:
    return [load_pass(PASSES, name)() for name in names]
