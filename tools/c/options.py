"""What the C translator can be asked for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class COptions:
    """The options of the targets ``c`` and ``header`` (lowering specification 5)."""

    dialect: Literal["gnu", "c"] = "gnu"
    """``gnu`` writes lanes and pairs of doubles as vectors; ``c`` is plain C99."""
    typed_buffers: bool = False
    """Whether the header has a function that takes buffers of the struct types."""
    vector_math: bool = False
    """Whether lanes call glibc's vector math library, whose errors are up to 4 ulp; needs dialect ``gnu``."""
    include: str = ""
    """The header that the source includes; empty to have its text in the source."""
    annotate: bool = False
    """Whether each statement is followed by a comment with its place in the program's file."""
    line_directives: bool = False
    """Whether compilers are told the place of each statement in the program's file."""
