"""scaly-ir: an MLIR-style textual IR toolchain for numerical kernels.

This package is the ground floor, what every dialect is made of; it knows no dialect. `import scaly_ir as sc` also gives
the public functions of the layers above, loaded when they are first used, so importing it costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, Final

__version__ = "0.1.0"

_EXPORTS: Final[dict[str, str]] = {
    name: f"scaly_ir.{module}"
    for module, names in {
        "api": "parse render run run_passes verify",
        "call": "Call Symbol",
        "dialects.expr.build": "cast concat const gather index_add index_set stack sym where",
        "dialects.expr.debug": "format_expr",
        "dialects.expr.decorator": "Template function",
        "dialects.expr.elementwise": (
            "atan2 dtypes equal greater greater_equal isfinite less less_equal logical_and logical_not logical_or "
            "maximum minimum not_equal"
        ),
        "dialects.expr.evaluate": "evaluate",
        "dialects.expr.function": "Function",
        "dialects.expr.library": (
            "argmax argmin diag dot mean norm_1 norm_2 norm_inf ones_like pack scatter segment_sum split sumsqr take "
            "to_dense values vec zeros_like"
        ),
        "dialects.expr.loops": "broadcast fori_loop scan vmap while_loop window",
        "dialects.expr.node": "Expr ExprOp",
        "dialects.expr.printer": "render_expr_assembly",
        "dialects.expr.simplify": "cse cse_many simplify simplify_cse",
        "dialects.expr.trees": "G L arg group",
        "dialects.expr.spec": "spec_expr spec_expr_shared verify_expr",
        "effects": "CallEffectKind side_effect",
        "errors": (
            "CompileError EvaluationError LegalizeError LoweringError NoCompilerError NotCompiledWarning ParseError "
            "PassError PipelineError PluginError ScalyError TranslateError VerifyError"
        ),
        "graph": "Node",
        "graph.expression": "elementwise",
        "namespaces": "T ops tirx",
        "op": "Op OpAttrMap register_op_attr",
        "plugins": "PluginRegistry load_plugins",
        "prim": "prim register_elementwise",
        "signature": "ArgInfo AttrSpec",
        "sparsity": "SparsityPattern",
        "targets": "target_attr",
        "tensors": "TensorType",
        "tools.jit.functions": "compile render_c_header render_c_source",
        "types": "DType MemRefType MissingType StringType",
        "undo": "registry_scope",
    }.items()
    for name in names.split()
}
"""The module that each public name comes from; `prim` is one itself."""

__all__ = ["__version__", *sorted(_EXPORTS)]  # noqa: PLE0604


def __getattr__(name: str) -> Any:
    module = _EXPORTS.get(name)
    if module is None:
        raise AttributeError(f"module 'scaly_ir' has no attribute '{name}'")
    loaded = import_module(module)
    value = globals()[name] = loaded if module == f"{__name__}.{name}" else getattr(loaded, name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_EXPORTS})
