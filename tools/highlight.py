"""IR in colour, for terminals: every token in the colour of its class, and not a character changed otherwise.

The classes are comment, operation, symbol, type and constant; the tokens are those of all dialects.
"""

from __future__ import annotations

import re
from typing import Final

from scaly_ir.dialects.matrix.words import TERMINALS as _MORE
from scaly_ir.text.terminals import TERMINALS
from scaly_ir.types import DTYPES

_COLOURS: Final = {
    "comment": "\x1b[90m",
    "operation": "\x1b[36m",
    "symbol": "\x1b[33m",
    "type": "\x1b[32m",
    "constant": "\x1b[35m",
}
_PLAIN: Final = "\x1b[0m"

_OWN: Final = {found[0]: found[1] for found in _MORE}
_TOKENS: Final = {
    "comment": r"//[^\n\r]*",
    "value": rf"{TERMINALS['VALUE']}|%[0-9]+",
    "operation": TERMINALS["NAME"],
    "type": rf"{TERMINALS['MEMREF']}|{TERMINALS['TENSOR']}|{TERMINALS['SPARSE']}|(?:{'|'.join(DTYPES)})(?![\w.])"
    r"|index(?![\w.]|[ \t]*=)",
    "constant": rf"{_OWN['MAP']}|{TERMINALS['FLOAT']}|{TERMINALS['INT']}|{TERMINALS['STRING']}"
    r"|(?:True|False|None)(?!\w)",
    "symbol": rf"{TERMINALS['SYMBOL']}|{_OWN['LABEL']}",
    "word": TERMINALS["WORD"],
}
"""In the order they are tried; classes without a colour stand here so that nothing in them is taken for another."""

_each: Final = re.compile("|".join([f"(?P<{name}>{regex})" for name, regex in _TOKENS.items()]))


def highlighted(text: str) -> str:
    """Return text with the colours of a terminal; colours end on the line they begin on."""
    return _each.sub(_coloured, text)


def _coloured(token: re.Match[str]) -> str:
    colour = _COLOURS.get(token.lastgroup or "")
    return token[0] if colour is None else f"{colour}{token[0]}{_PLAIN}".replace("\n", f"{_PLAIN}\n{colour}")
