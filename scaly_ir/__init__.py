"""scaly-ir: an MLIR-style textual IR toolchain for numerical kernels.

This package is the ground floor, what every dialect is made of; it knows no dialect. `import scaly_ir as sc` also gives
the public functions of the layers above, loaded when they are first used, so importing it costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, Final

__version__ = "0.1.0"

_EXPORTS: Final[dict[str, str]] = {
    **dict.fromkeys(("parse", "render", "run_passes", "verify"), "scaly_ir.api"),
    **dict.fromkeys(("ParseError", "PassError", "PipelineError", "ScalyError", "VerifyError"), "scaly_ir.errors"),
    **dict.fromkeys(("CallEffectKind", "Op"), "scaly_ir.op"),
    **dict.fromkeys(("DType", "MemRefType"), "scaly_ir.types"),
    "Node": "scaly_ir.graph",
}

__all__ = ["__version__", *sorted(_EXPORTS)]  # noqa: PLE0604


def __getattr__(name: str) -> Any:
    module = _EXPORTS.get(name)
    if module is None:
        raise AttributeError(f"module 'scaly_ir' has no attribute '{name}'")
    value = globals()[name] = getattr(import_module(module), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_EXPORTS})
