"""The passes of scaly-ir: IR to IR, one module each, grouped by the dialect they start from.

A pass finds what it works on through operator attributes; it never lists operator names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from scaly_ir.pass_manager import Pass

PASSES: Final[dict[str, str | type[Pass]]] = {
    "O0": "scaly_ir.passes.pipelines:Unoptimized",
    "canonicalize": "scaly_ir.passes.canonicalize:Canonicalize",
    "coalesce_stores": "scaly_ir.passes.prog.coalesce_stores:CoalesceStores",
    "combine_scatter_sums": "scaly_ir.passes.prog.combine_scatter_sums:CombineScatterSums",
    "cse": "scaly_ir.passes.cse:Cse",
    "dce": "scaly_ir.passes.dce:Dce",
    "default": "scaly_ir.passes.pipelines:Default",
    "delinearize_loops": "scaly_ir.passes.prog.delinearize_loops:DelinearizeLoops",
    "fold_arith": "scaly_ir.passes.prog.fold_arith:FoldArith",
    "fold_arith_after_unroll": "scaly_ir.passes.prog.fold_arith:FoldArithAfterUnroll",
    "fold_tiles": "scaly_ir.passes.prog.fold_tiles:FoldTiles",
    "fuse_elementwise": "scaly_ir.passes.prog.fuse_elementwise:FuseElementwise",
    "fuse_ranges": "scaly_ir.passes.prog.fuse_ranges.fusion:FuseRanges",
    "hoist_invariant": "scaly_ir.passes.prog.hoist_invariant:HoistInvariant",
    "hoist_reciprocals": "scaly_ir.passes.prog.hoist_reciprocals:HoistReciprocals",
    "inline": "scaly_ir.passes.expr.inline:Inline",
    "interchange_reductions": "scaly_ir.passes.prog.interchange_reductions:InterchangeReductions",
    "legalize": "scaly_ir.passes.legalize:Legalize",
    "lower": "scaly_ir.passes.expr.lowering.driver:Lower",
    "lower_aff": "scaly_ir.passes.matrix.lower_aff:LowerAff",
    "lower_affine_to_prog": "scaly_ir.passes.matrix.lower_affine_to_prog:LowerAffineToProg",
    "lower_intrinsics": "scaly_ir.passes.legalize:LowerIntrinsics",
    "lower_matrix_high_level_map_reduce": (
        "scaly_ir.passes.matrix.lower_matrix_high_level_map_reduce:LowerMatrixHighLevelMapReduce"
    ),
    "lower_matrix_medium_level": "scaly_ir.passes.matrix.lower_matrix_medium_level:LowerMatrixMediumLevel",
    "matrix_to_prog": "scaly_ir.passes.pipelines:MatrixToProg",
    "normalize_matrix": "scaly_ir.passes.matrix.normalize_matrix:NormalizeMatrix",
    "pack_workspace": "scaly_ir.passes.prog.pack_workspace:PackWorkspace",
    "prepare_scalar": "scaly_ir.passes.prog.prepare_scalar:PrepareScalar",
    "print_stats": "scaly_ir.passes.expr.print_stats:PrintStats",
    "prune_procedures": "scaly_ir.passes.prog.prune_procedures:PruneProcedures",
    "scalarize": "scaly_ir.passes.prog.scalarize:Scalarize",
    "simplify": "scaly_ir.passes.expr.simplification:Simplify",
    "simplify_cse": "scaly_ir.passes.expr.simplification:SimplifyCse",
    "unroll_loops": "scaly_ir.passes.expr.unroll_loops:UnrollLoops",
    "unroll_unit_loops": "scaly_ir.passes.prog.unroll_unit_loops:UnrollUnitLoops",
    "widen_ranges": "scaly_ir.passes.prog.widen_ranges:WidenRanges",
}
"""Where each pass, or pipeline, is: ``module:class`` by name. Plug-ins add classes (`scaly_ir.plugins`)."""
