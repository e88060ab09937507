"""The functions of glibc's vector math library: which there are since when, and how a C file declares and calls them.

Compilers call them of their own accord only with flags that relax arithmetic. Here they stand for the scalar function
of an operator (`TCSpelling`), and where the library, the processor or the width has none, that is applied to each lane.
Their errors are at most 4 units in the last place, so results differ from those of the scalar functions.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple


class Since(NamedTuple):
    """The number of operands of a function, and the minor versions of glibc 2 that first had it, by processor."""

    arity: int
    x86_64: int
    aarch64: int


_BY_VERSIONS: Final = {
    Since(1, 22, 38): "cos exp log sin",
    Since(2, 22, 40): "pow",
    Since(1, 35, 39): "acos asin atan exp10 exp2 expm1 log10 log1p log2 tan",
    Since(1, 35, 40): "acosh asinh atanh cbrt cosh erf erfc sinh tanh",
    Since(2, 35, 40): "atan2 hypot",
}

FUNCTIONS: Final[dict[str, Since]] = {name: since for since, names in _BY_VERSIONS.items() for name in names.split()}
"""By the name of the scalar function; the names in the library are those of the vector ABI, as ``_ZGVbN2v_sin``."""

WIDTHS: Final = (2, 4, 8)
"""How many doubles a function may take at a time."""

_SETUP: Final = """\
/* Functions on 2, 4 and 8 doubles of glibc's vector math library, as far as library and processor have them: their
 * errors are at most 4 ulp. -DSCALY_VECTOR_MATH=0 does without.
 */
#if defined(__GLIBC__) && defined(__x86_64__) && !defined(__ILP32__)
#ifndef SCALY_VECTOR_MATH
#if defined(__AVX512F__)
#define SCALY_VECTOR_MATH 8
#elif defined(__AVX__)
#define SCALY_VECTOR_MATH 4
#else
#define SCALY_VECTOR_MATH 2
#endif
#endif
#define SCALY_SINCE(x86_64, aarch64) (__GLIBC__ > 2 || __GLIBC_MINOR__ >= x86_64)
#define SCALY_MATH_CALL
#define SCALY_MATH_2(name) _ZGVbN2##name
#if defined(__AVX2__)
#define SCALY_MATH_4(name) _ZGVdN4##name
#else
#define SCALY_MATH_4(name) _ZGVcN4##name
#endif
#define SCALY_MATH_8(name) _ZGVeN8##name
#elif defined(__GLIBC__) && defined(__aarch64__)
#ifndef SCALY_VECTOR_MATH
#define SCALY_VECTOR_MATH 2
#endif
#define SCALY_SINCE(x86_64, aarch64) (__GLIBC__ > 2 || __GLIBC_MINOR__ >= aarch64)
#define SCALY_MATH_CALL __attribute__((aarch64_vector_pcs))
#define SCALY_MATH_2(name) _ZGVnN2##name
#else
#undef SCALY_VECTOR_MATH
#define SCALY_VECTOR_MATH 0
#define SCALY_SINCE(x86_64, aarch64) 0
#endif
"""


def declarations(names: Iterable[str]) -> str:
    """Return the declarations of some functions; nothing without any.

    ``SCALY_MATH_sin`` is then the greatest number of doubles that there is a function for, or 0.
    """
    listed = sorted(names)
    return "".join([_SETUP, *_types(), *[_prototypes(name) for name in listed]]) if listed else ""


def _types() -> Iterable[str]:
    for width in WIDTHS:
        kind = f"typedef double scaly_math_{width} __attribute__((vector_size({8 * width})));\n"
        yield f"#if SCALY_VECTOR_MATH >= {width}\n{kind}#endif\n"


def _prototypes(name: str) -> str:
    since = FUNCTIONS[name]
    lines = [
        f"#if SCALY_VECTOR_MATH && SCALY_SINCE({since.x86_64}, {since.aarch64})\n",
        f"#define SCALY_MATH_{name} SCALY_VECTOR_MATH\n",
    ]
    for width in WIDTHS:
        params = ", ".join([f"scaly_math_{width}"] * since.arity)
        prototype = f"SCALY_MATH_CALL scaly_math_{width} {function_name(name, width)}({params});\n"
        lines.append(f"#if SCALY_VECTOR_MATH >= {width}\n{prototype}#endif\n")
    return "".join([*lines, f"#else\n#define SCALY_MATH_{name} 0\n#endif\n"])


def function_name(name: str, width: int) -> str:
    """Return the text of the name of a function on so many doubles."""
    return f"SCALY_MATH_{width}({'v' * FUNCTIONS[name].arity}_{name})"


def body(name: str, width: str, lane_by_lane: str) -> str:
    """Return the body of a function of vectors ``x0``, ``x1`` of `width` lanes, given the one for each lane."""
    operands = ", ".join([f"x{position}" for position in range(FUNCTIONS[name].arity)])
    lines = []
    for position, count in enumerate(WIDTHS):
        lines.append(f"#{'elif' if position else 'if'} {width} == {count} && SCALY_MATH_{name} >= {count}\n")
        lines.append(f"  return {function_name(name, count)}({operands});\n")
    return "".join([*lines, "#else\n", lane_by_lane, "#endif\n"])
