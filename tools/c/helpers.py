"""The integer functions that a C file defines for what C has no operator for; a file has those that it uses."""

from __future__ import annotations

from typing import Final

from scaly_ir.types import INT32, INT64, DType

_BODIES: Final[dict[str, tuple[str, str]]] = {
    "floordiv": (
        "T a, T b",
        """\
  T q;
  if (b == 0) {
    return 0;
  }
  if (b == -1) {
    return (T)(0 - (U)a);
  }
  q = a / b;
  return (a % b != 0 && (a < 0) != (b < 0)) ? q - 1 : q;
""",
    ),
    "floormod": (
        "T a, T b",
        """\
  T r;
  if (b == 0 || b == -1) {
    return 0;
  }
  r = a % b;
  return (r != 0 && (r < 0) != (b < 0)) ? r + b : r;
""",
    ),
    "div": ("T a, T b", "  return b == -1 ? (T)(0 - (U)a) : a / b;\n"),
    "mod": ("T a, T b", "  return b == -1 ? 0 : a % b;\n"),
    "abs": ("T a", "  return a < 0 ? (T)(0 - (U)a) : a;\n"),
    "min": ("T a, T b", "  return a < b ? a : b;\n"),
    "max": ("T a, T b", "  return a < b ? b : a;\n"),
    "next": ("T a, T b", "  return b > 0 && a > (M) - b ? (M) : (T)((U)a + (U)b);\n"),
}
"""Parameters and body by name, with ``T`` for the type, ``U`` for the unsigned one and ``(M)`` for the greatest value.

What is ``next`` to a loop's variable stays at the greatest value when it would leave the type: no end is beyond that.
"""


def helper_name(name: str, dtype: DType) -> str:
    """Return the name of a helper for an integer type."""
    return f"scaly_{name}_i{dtype.bits}"


def _text(name: str, dtype: DType) -> str:
    params, body = [
        part.replace("T ", f"{dtype.c_type} ")
        .replace("(T)", f"({dtype.c_type})")
        .replace("(U)", f"(u{dtype.c_type})")
        .replace("(M)", f"INT{dtype.bits}_MAX")
        for part in _BODIES[name]
    ]
    return f"static inline {dtype.c_type} {helper_name(name, dtype)}({params}) {{\n{body}}}\n"


HELPERS: Final[dict[str, str]] = {
    helper_name(name, dtype): _text(name, dtype) for name in _BODIES for dtype in (INT32, INT64)
}
"""The text of every helper by name, in the order in which a file has them."""
