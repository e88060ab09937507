"""How operators are written in C: the templates that their attributes `TCSpelling` and `TGlobalSymbol` give."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from scaly_ir.numeric.table import scalar_name
from scaly_ir.op import Op
from scaly_ir.tools.c.helpers import HELPERS, helper_name
from scaly_ir.tools.c.names import INTERFACE
from scaly_ir.tools.c.reserved import KEYWORDS, LIBM
from scaly_ir.types import DType

Template = tuple[str | int, ...]
"""C text with the numbers of operands in it."""

is_identifier: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*").fullmatch
"""Tells whether the C text of an operator is the name of a function, and no template."""

_parts: Final = re.compile(r"\{([0-9]+)\}").split


class Spelling(NamedTuple):
    """One operator on operands of one type.

    `wrapping` is what stands for `plain` where a result may leave its type. `inline` tells that the result has the C
    type of the operands, and is no call.
    """

    plain: Template
    wrapping: Template | None
    function: str
    """The function that is called, or an empty string."""
    inline: bool

    @property
    def external(self) -> str:
        """The function that is called if nothing that a file includes declares it, or an empty string."""
        known = self.function in LIBM or self.function in HELPERS
        return "" if known else self.function


class SpellingError(ValueError):
    """The C text of an operator does not fit it."""


def spelling_of(op: Op, dtype: DType, arity: int) -> Spelling | None:
    """Return how an operator with a result of type `dtype` is written, or None when nothing says so."""
    text = op.get_attr("TCSpelling")
    if isinstance(text, dict):
        text = text.get(dtype)
    text = op.get_attr("TGlobalSymbol") if text is None else text
    if text is None:
        return None
    if is_identifier(text):
        if text in KEYWORDS or text in INTERFACE:
            raise SpellingError(
                f"the C function of operator '{op.name}' is called '{text}', a name with another meaning"
            )
        return Spelling(call_of(text, arity), None, text, inline=False)
    plain = template_of(op, text, arity)
    wrapping = unsigned(plain, dtype) if dtype.is_int and op.get_attr("TCWraps", False) else None
    return Spelling(plain, wrapping, "", inline=scalar_name(op) != "cast")


def template_of(op: Op, text: str, arity: int) -> Template:
    """Return the C text of an operator as a template."""
    plain: Template = tuple([int(part) if at % 2 else part for at, part in enumerate(_parts(text)) if part])
    if any([isinstance(part, int) and part >= arity for part in plain]):
        raise SpellingError(f"the C text of operator '{op.name}' names an operand that there is not: {text}")
    return plain


def call_of(function: str, arity: int) -> Template:
    """Return the call of a function."""
    parts: list[str | int] = [f"{function}("]
    for position in range(arity):
        parts += [", ", position] if position else [position]
    return (*parts, ")")


def unsigned(plain: Template, dtype: DType) -> Template:
    """Return arithmetic on the unsigned numbers of the same size, which wraps."""
    cast = f"(u{dtype.c_type})"
    parts: list[str | int] = [f"(({dtype.c_type})"]
    for part in plain:
        parts += [cast, part] if isinstance(part, int) else [part]
    return (*parts, ")")


def widened(plain: Template, dtype: DType) -> Template:
    """Return arithmetic whose first operand has the type of the result, as operands that are plain ``int`` need it."""
    first = next(position for position, part in enumerate(plain) if isinstance(part, int))
    return (*plain[:first], f"({dtype.c_type})", *plain[first:])


_GUARDED: Final = frozenset({"div", "mod"})


def guarded(op: Op, dtype: DType) -> str:
    """Return the helper that divides also the least number by -1, which C leaves undefined, or an empty string."""
    name = scalar_name(op)
    return helper_name(name, dtype) if name in _GUARDED and dtype.is_int else ""
