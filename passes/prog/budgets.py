"""How large code that loops are expanded into may become. Each limit may be reached.

Source: lowering specification 4.
"""

from __future__ import annotations

from typing import Final

PROCEDURE_OPERATIONS: Final = 4096
"""Distinct operations, after expansion, of a procedure that becomes scalar code."""

PROGRAM_SCALARS: Final = 16384
"""Operations, declarations and stores of all procedures in a program that became scalar code."""

EXPANSION_WORK: Final = 65536
"""Elements and stores that running a procedure takes, before it is tried."""

REQUESTED_WORK: Final = 1 << 22
"""The work beyond which a procedure is not tried on request either, for which no other limit holds."""

EXPRESSION_DEPTH: Final = 32
"""Levels of operators in an expression; a constant, variable or name has depth 0."""
