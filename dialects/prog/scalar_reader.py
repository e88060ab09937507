"""The part of the fast reader that reads what stands in a statement: scalars, names, types and numbers.

What it does not take it gives up by raising `Unusual`, or `IndexError` at the end of the tokens.
"""

from __future__ import annotations

import re
from typing import Any, ClassVar, Final, NoReturn

from scaly_ir.attributes import NO_ATTRS
from scaly_ir.dialects.prog import ops
from scaly_ir.dialects.prog.scalars import Item, Literal, Place, Scalars
from scaly_ir.graph import Node, intern_node
from scaly_ir.op import Op
from scaly_ir.text.attribute_text import NUMBER_WORDS, Unusual
from scaly_ir.text.spelling import read_int, read_name
from scaly_ir.types import DTYPES, INT64, DType, MemRefType

_OPERATORS: Final = ops.OPERATORS
_CAST: Final = _OPERATORS["prog.cast"]
_BINARY: Final = frozenset(
    {op for op in _OPERATORS.values() if op.get_attr("TScalarTyping") == "arith" and len(op.args_info) == 2}
)
"""The operators that need no more than two operands of their result's type."""

_DTYPES: Final[dict[str, DType]] = {str(dtype): dtype for dtype in DTYPES}
_NUMBER_START: Final = frozenset("-.0123456789")

is_integer = re.compile(r"-?[0-9]+").fullmatch


def give_up(message: str, at: Any, code: str) -> NoReturn:
    """Leave a mistake to the reader that can put it into words."""
    raise Unusual


def is_number(token: str) -> bool:
    """Tell whether a token begins as numbers do."""
    return token[0] in _NUMBER_START or token in NUMBER_WORDS or token.startswith("nan<")


class ScalarReader:
    """The tokens of a text, the number of the one that is next, and the assembler that what is read goes to."""

    loads: ClassVar[bool] = True
    """Whether scalars may read memory."""

    assembler: Scalars

    def __init__(self) -> None:
        self._tokens: list[str] = []
        self._next = 0
        self._literals: dict[str, Literal] = {}

    def _expect(self, token: str) -> None:
        if self._tokens[self._next] != token:
            raise Unusual
        self._next += 1

    def _take(self) -> str:
        token = self._tokens[self._next]
        self._next += 1
        return token

    def _sigil(self, sigil: str) -> str:
        token = self._take()
        if token[:1] != sigil or len(token) < 2:
            raise Unusual
        return read_name(token[1:])

    def _dtype(self) -> DType:
        self._expect(":")
        dtype = _DTYPES.get(self._take())
        if dtype is None:
            raise Unusual
        return dtype

    def _memref(self) -> MemRefType:
        token = self._take()
        if not token.startswith("memref<"):
            raise Unusual
        return MemRefType.read(token)

    def _integer(self) -> int:
        token = self._take()
        if not is_integer(token):
            raise Unusual
        return read_int(token, INT64)

    def _place(self) -> Place:
        name = self._sigil("%")
        self._expect("[")
        index = self._scalar()
        self._expect("]")
        return self.assembler.place(name, index)

    def _scalar(self) -> Item:
        """Read one scalar; iterative, with a frame for each open operator or load."""
        cut, at = self._tokens, self._next
        assembler = self.assembler
        names, literals, loads = assembler.names, self._literals, assembler.loads
        frames: list[tuple[Op, Any]] = []
        item: Item
        while True:
            token = cut[at]
            at += 1
            if token[0] == "%":
                name = token[1:]
                declared = names.get(name)
                if declared is not None and declared.op is ops.VAR and name[0] != '"':
                    item = declared
                elif len(token) == 1:
                    raise Unusual
                else:
                    item = assembler.name(read_name(name))
            elif token == "prog.load" and self.loads:
                name = cut[at]
                if name[0] != "%" or cut[at + 1] != "[" or len(name) == 1:
                    raise Unusual
                frames.append((ops.LOAD, read_name(name[1:])))
                at += 2
                continue
            elif token in _OPERATORS:
                if cut[at] != "(":
                    raise Unusual
                frames.append((_OPERATORS[token], []))
                at += 1
                continue
            elif token == "prog.const":
                dtype = _DTYPES.get(cut[at + 3])
                if cut[at] != "(" or not is_number(cut[at + 1]) or cut[at + 2] != "," or dtype is None:
                    raise Unusual
                if cut[at + 4] != ")":
                    raise Unusual
                item = assembler.constant(Literal(cut[at + 1]), dtype)
                at += 5
            else:
                known = literals.get(token)
                if known is None:
                    if not is_number(token) or (len(token) == 1 and not token.isdigit()):
                        raise Unusual
                    known = literals[token] = Literal(token)
                item = known
            while frames:
                op, items = frames[-1]
                token = cut[at]
                at += 1
                if op is ops.LOAD:
                    if token != "]":
                        raise Unusual
                    index = item if type(item) is Node else assembler.typed(item, INT64)
                    known_load = loads.get((items, index))
                    declared = names.get(items)
                    if known_load is not None and declared is not None and known_load.type is declared.type:
                        item = known_load
                    else:
                        item = assembler.load(assembler.place(items, index))
                elif op is _CAST:
                    dtype = _DTYPES.get(cut[at])
                    if token != "," or dtype is None or cut[at + 1] != ")":
                        raise Unusual
                    item = assembler.cast(op, item, dtype)
                    at += 2
                else:
                    items.append(item)
                    if token == ",":
                        break
                    if token != ")":
                        raise Unusual
                    item = self._binary(op, items) if op in _BINARY and len(items) == 2 else assembler.apply(op, items)
                frames.pop()
            else:
                self._next = at
                return item

    def _binary(self, op: Op, items: list[Item]) -> Item:
        """Apply an operator on two operands of its result's type: what `Assembler.apply` does, for the common cases."""
        first, second = items
        if type(first) is Node:
            if type(second) is Literal:
                second = self.assembler.constant(second, first.type)
        elif type(first) is Literal and type(second) is Node:
            first = self.assembler.constant(first, second.type)
        if type(first) is Node and type(second) is Node:
            return intern_node(op, (first, second), NO_ATTRS, first.type)
        return self.assembler.apply(op, items)
