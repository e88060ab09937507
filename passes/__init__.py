"""The passes of scaly-ir: IR to IR, one module each, grouped by the dialect they start from.

A pass finds what it works on through operator attributes; it never lists operator names.
"""

from typing import Final

PASSES: Final[dict[str, str]] = {
    "fuse_elementwise": "scaly_ir.passes.prog.fuse_elementwise:FuseElementwise",
}
"""Where each pass is: ``module:class`` by name."""
