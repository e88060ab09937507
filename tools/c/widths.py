"""The lane widths: which symbols stand for one, and the macros that say how many lanes the target of the compiler has.

Source: lowering specification 5.7.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from scaly_ir.numeric.interval import Interval

PREFIX: Final = "SCALY_WIDTH_"
LANE_COUNTS: Final = (1, 2, 4, 8)
WIDTHS: Final = Interval(LANE_COUNTS[0], LANE_COUNTS[-1])
"""What a width may be."""

_caps: Final = re.compile(rf"{PREFIX}([1-9][0-9]{{0,3}})_([1-9][0-9]{{0,3}})_([1-9][0-9]{{0,3}})_([1-9][0-9]{{0,3}})")

_AUTOMATIC: Final = """\
#ifndef SCALY_LANES
#if defined(__AVX512F__)
#define SCALY_LANES 8
#elif defined(__AVX__) || (defined(__ARM_FEATURE_SVE_BITS) && __ARM_FEATURE_SVE_BITS >= 256)
#define SCALY_LANES 4
#elif defined(__SSE2__) || defined(__aarch64__)
#define SCALY_LANES 2
#else
#define SCALY_LANES 1
#endif
#endif
"""

_COMMON: Final = """\
#if SCALY_LANES != 1 && SCALY_LANES != 2 && SCALY_LANES != 4 && SCALY_LANES != 8
#error "SCALY_LANES must be 1, 2, 4 or 8"
#endif
#ifndef SCALY_REGISTER_SLOTS
#if defined(__AVX512F__)
#define SCALY_REGISTER_SLOTS 256
#elif defined(__AVX__) || defined(__aarch64__)
#define SCALY_REGISTER_SLOTS 64
#elif defined(__SSE2__)
#define SCALY_REGISTER_SLOTS 32
#else
#define SCALY_REGISTER_SLOTS 16
#endif
#endif
#if SCALY_REGISTER_SLOTS >= 256
#define SCALY_CAP(a, b, c, d) d
#elif SCALY_REGISTER_SLOTS >= 64
#define SCALY_CAP(a, b, c, d) c
#elif SCALY_REGISTER_SLOTS >= 32
#define SCALY_CAP(a, b, c, d) b
#else
#define SCALY_CAP(a, b, c, d) a
#endif
#define SCALY_WIDTH(a, b, c, d) (SCALY_CAP(a, b, c, d) < SCALY_LANES ? SCALY_CAP(a, b, c, d) : SCALY_LANES)
"""


def width_macros(macros: Iterable[str], lanes: int | None) -> str:
    """Return the definitions of the width macros a file uses, and of what they are made of; nothing without any.

    `lanes` is a fixed number of lanes; otherwise the compiler's target decides, or ``-DSCALY_LANES=...``. A name
    without four caps stands for the number of lanes.
    """
    names = sorted(macros)
    if not names:
        return ""
    lines = []
    for name in names:
        caps = _caps.fullmatch(name)
        value = "SCALY_LANES" if caps is None else f"SCALY_WIDTH({', '.join(caps.groups())})"
        lines.append(f"#define {name} {value}\n")
    return (_AUTOMATIC if lanes is None else f"#define SCALY_LANES {lanes}\n") + _COMMON + "".join(lines)
