"""The fast reader: functions of matrices, loops and buffers without mistakes, straight from the tokens.

It takes what nearly all files consist of, in any layout, and gives up on everything else (mistakes, the generic form,
locations, unusual attribute values) by returning None; the grammar then reads the whole text. It never reports
anything. Meaning is the `Assembler`'s, shared with that reader; a property test holds that both give the same nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, ClassVar, Final, NoReturn

from scaly_ir.attributes import AttrValue, word_or_constant
from scaly_ir.dialects.affine.maps import PREFIX, AffineMap, MapError, read_map
from scaly_ir.dialects.affine.ops import DEFAULT_KIND, FOR
from scaly_ir.dialects.buffer import build, ops
from scaly_ir.dialects.buffer.assembler import UNDEF, Assembler, Operand
from scaly_ir.dialects.buffer.types import INDEX, ValueType, scalar_type
from scaly_ir.dialects.matrix.ops import INIT
from scaly_ir.dialects.matrix.words import TERMINALS
from scaly_ir.dialects.prog.ops import OPERATORS
from scaly_ir.dialects.prog.scalar_reader import ScalarReader, give_up, is_integer
from scaly_ir.dialects.prog.scalars import Item
from scaly_ir.graph import Node
from scaly_ir.op import Op
from scaly_ir.text.attribute_text import NUMBER_WORDS, Unusual
from scaly_ir.text.spelling import read_string, read_whole
from scaly_ir.text.terminals import tokens_and_starts
from scaly_ir.types import DTYPES, FLOAT64, DType, MemRefType

_DTYPES: Final[dict[str, DType]] = {str(dtype): dtype for dtype in DTYPES}
_DEPTH: Final = 8
"""Attribute values that nest deeper are left to the grammar."""


@lru_cache(maxsize=1024)
def _map(token: str) -> AffineMap:
    try:
        return read_map(token)
    except MapError:
        raise Unusual from None


def _unusual() -> NoReturn:
    raise Unusual


class Reader(ScalarReader):
    """One reading."""

    loads: ClassVar[bool] = False
    assembler: Assembler

    def __init__(self, text: str) -> None:
        super().__init__()
        self.assembler = Assembler(give_up)
        self._tokens, self._starts = tokens_and_starts(text, numbered=True, more=TERMINALS)
        self._depth = 0

    def read(self) -> bool:
        """Read the whole text into the assembler; False when the text is not for this reader."""
        try:
            while self._statement():
                pass
        except (Unusual, IndexError, ValueError):
            return False
        return not self._depth

    def _end(self) -> int:
        """Return where the token that was taken last ends."""
        last = self._next - 1
        return self._starts[last] + len(self._tokens[last])

    def _add(self, node: Node, at: int) -> None:
        self.assembler.add(node, self._starts[at], self._end())

    # --- statements ---------------------------------------------------------------------------------------------------

    def _statement(self) -> bool:
        """Read one statement, opening or closing brace; False at the end of the text."""
        at = self._next
        token = self._take()
        if token == "}":
            if not self._depth:
                raise Unusual
            self._depth -= 1
            self.assembler.close()
            return True
        if token == "":
            return False
        if token == "buffer.func":
            if self._depth:
                raise Unusual
            self._func(at)
            return True
        if not self._depth:
            raise Unusual
        names: list[str] = []
        if token[0] == "%":
            self._next -= 1
            names.append(self._sigil("%"))
            while (token := self._take()) == ",":
                names.append(self._sigil("%"))
            if token != "=":
                raise Unusual
            token = self._take()
        handler = _HANDLERS.get(token)
        if handler is not None:
            handler(self, at, names)
        elif token in _TERMINATORS:
            if names:
                raise Unusual
            self._ended(at, Op.get(token))
        elif token in OPERATORS or token == "prog.const":
            self._next -= 1
            item = self._scalar()
            self._add(self.assembler.let(self._one(names), item, self._dtype()), at)
        else:
            self._operation(at, names, token)
        return True

    def _one(self, names: list[str]) -> list[str]:
        if len(names) > 1:
            raise Unusual
        return names

    def _func(self, at: int) -> None:
        name = self._sigil("@")
        params = self._params()
        self._expect("->")
        results = self._params()
        self._expect("{")
        self._depth += 1
        self.assembler.open_func(name, params, results, self._starts[at], self._end())

    def _params(self) -> list[build.Binding]:
        self._expect("(")
        found: list[build.Binding] = []
        if self._tokens[self._next] == ")":
            self._next += 1
            return found
        while True:
            name = self._sigil("%")
            self._expect(":")
            found.append(build.Binding(name, self._type()))
            token = self._take()
            if token == ")":
                return found
            if token != ",":
                raise Unusual

    def _type(self) -> ValueType:
        token = self._tokens[self._next]
        if token.startswith("memref<"):
            return self._memref()
        self._next += 1
        found = INDEX if token == "index" else _DTYPES.get(token)
        if found is None:
            raise Unusual
        return found

    def _memref(self) -> MemRefType:
        found = super()._memref()
        if found.space != "global":
            raise Unusual
        return found

    def _operand(self) -> Operand:
        if self._tokens[self._next] == "undef":
            self._next += 1
            return UNDEF
        return self._scalar()

    def _operands(self) -> list[Operand]:
        """Read operands in parentheses."""
        self._expect("(")
        found: list[Operand] = []
        if self._tokens[self._next] == ")":
            self._next += 1
            return found
        while True:
            found.append(self._operand())
            token = self._take()
            if token == ")":
                return found
            if token != ",":
                raise Unusual

    def _alloc(self, at: int, names: list[str]) -> None:
        self._expect(":")
        self._add(build.statement(ops.ALLOC, (), self._memref(), self._one(names)), at)

    def _element(self) -> tuple[str, list[Item]]:
        name = self._sigil("%")
        self._expect("[")
        indices: list[Item] = []
        if self._tokens[self._next] == "]":
            self._next += 1
            return name, indices
        while True:
            indices.append(self._scalar())
            token = self._take()
            if token == "]":
                return name, indices
            if token != ",":
                raise Unusual

    def _read(self, at: int, names: list[str]) -> None:
        name, indices = self._element()
        dtype = self._dtype()
        args = self.assembler.element(name, indices, dtype)
        self._add(build.statement(ops.READ, args, dtype, self._one(names)), at)

    def _write(self, at: int, names: list[str]) -> None:
        if names:
            raise Unusual
        stored = self._operand()
        self._expect(",")
        name, indices = self._element()
        dtype = self._dtype()
        value = self.assembler.operand(stored, dtype)
        self._add(build.statement(ops.WRITE, (value, *self.assembler.element(name, indices, dtype)), dtype), at)

    def _ended(self, at: int, op: Op) -> None:
        items: list[Operand] = []
        if self._tokens[self._next] != "}":
            items.append(self._operand())
            while self._tokens[self._next] == ",":
                self._next += 1
                items.append(self._operand())
        self._add(self.assembler.ended(op, items), at)

    def _for(self, at: int, names: list[str]) -> None:
        variable = self._sigil("%")
        self._expect("=")
        lower = self._scalar()
        self._expect("to")
        upper = self._scalar()
        self._expect("step")
        step = self._integer()
        carried: list[tuple[str, Operand]] = []
        if self._tokens[self._next] == "iter":
            self._next += 1
            self._expect("(")
            while True:
                name = self._sigil("%")
                self._expect("=")
                carried.append((name, self._operand()))
                token = self._take()
                if token == ")":
                    break
                if token != ",":
                    raise Unusual
        attrs = self._attrs(FOR) if self._attributes_follow() else {}
        types: list[DType] = []
        if self._tokens[self._next] == ":":
            while self._take() in (":", ","):
                types.append(_DTYPES.get(self._take()) or _unusual())
            self._next -= 1
        self._expect("{")
        self._depth += 1
        self._open_for(at, names, (variable, step), (lower, upper), carried, types, attrs)

    def _open_for(
        self,
        at: int,
        names: list[str],
        head: tuple[str, int],
        bounds: tuple[Item, Item],
        carried: Sequence[tuple[str, Operand]],
        types: Sequence[DType],
        attrs: dict[str, AttrValue],
    ) -> None:
        if len(types) != len(carried):
            raise Unusual
        assembler = self.assembler
        inits = [assembler.operand(init, type_) for (_, init), type_ in zip(carried, types, strict=True)]
        args = (*[assembler.index(bound) for bound in bounds], *inits)
        given = {"kind": DEFAULT_KIND, "step": head[1], **attrs, **({"types": tuple(types)} if types else {})}

        def finish(region: Node) -> Node:
            return build.statement(FOR, (*args, region), None, names, given)

        params = [build.Binding(head[0], INDEX)]
        params += [build.Binding(name, type_) for (name, _), type_ in zip(carried, types, strict=True)]
        assembler.open(finish, params, types, self._starts[at], self._end())

    def _operation(self, at: int, names: list[str], token: str) -> None:
        """Read an operation that is written as an application, or the head of one with a combiner."""
        try:
            op = Op.get(token)
        except AttributeError:
            raise Unusual from None
        if not op.has_attr(ops.KINDS) or (names and not op.has_attr(ops.RESULT)):
            raise Unusual
        items = self._operands()
        if self._tokens[self._next] == "init" and op.get_attr(INIT, False):
            self._next += 1
            init = self._operands()
            if len(init) != 1:
                raise Unusual
            items += init
        elif op.get_attr(INIT, False):
            raise Unusual
        attrs = self._attrs(op) if self._attributes_follow() else {}
        type_ = None
        if self._tokens[self._next] == ":":
            self._next += 1
            type_ = self._type()
        names = self._one(names)
        if self._tokens[self._next] == "{":
            self._combiner(at, op, names, [self.assembler.operand(item, type_) for item in items], type_, attrs)
        else:
            if op.get_attr(INIT, False):
                raise Unusual
            self._add(self.assembler.operation(op, items, type_, names, attrs), at)

    def _combiner(
        self, at: int, op: Op, names: list[str], args: list[Node], type_: ValueType | None, attrs: dict[str, AttrValue]
    ) -> None:
        self._expect("{")
        self._expect("^comb")
        params = self._params()
        self._expect(":")
        self._depth += 1

        def finish(region: Node) -> Node:
            return build.statement(op, (*args, region), type_, names, attrs)

        self.assembler.open(finish, params, [scalar_type(type_) or FLOAT64], self._starts[at], self._end())

    def _binary(self, op: Op, items: list[Item]) -> Item:
        if any([isinstance(item, Node) and not isinstance(item.type, DType) for item in items]):
            raise Unusual
        return super()._binary(op, items)

    # --- attributes ---------------------------------------------------------------------------------------------------

    def _attributes_follow(self) -> bool:
        cut, at = self._tokens, self._next
        return cut[at] == "{" and cut[at + 2] == "=" and cut[at + 1][:1] not in ("%", "^")

    def _attrs(self, op: Op) -> dict[str, AttrValue]:
        attrs: dict[str, AttrValue] = {}
        self._expect("{")
        while True:
            key = self._take()
            spec = (op.attr_specs or {}).get(key)
            if key in attrs or not (key.isidentifier() and key.isascii()) or key in NUMBER_WORDS:
                raise Unusual
            if spec is not None and not spec.printed:
                raise Unusual
            self._expect("=")
            attrs[key] = self._value(0)
            token = self._take()
            if token == "}":
                return attrs
            if token != ",":
                raise Unusual

    def _value(self, depth: int) -> AttrValue:
        token = self._take()
        if token == "[":
            if depth >= _DEPTH:
                raise Unusual
            found: list[Any] = []
            if self._tokens[self._next] == "]":
                self._next += 1
                return ()
            while True:
                found.append(self._value(depth + 1))
                token = self._take()
                if token == "]":
                    return tuple(found)
                if token != ",":
                    raise Unusual
        if token.startswith(PREFIX):
            return _map(token)
        if token[:1] == '"':
            return read_string(token)
        if is_integer(token):
            return read_whole(token)
        if token[:1].isalpha() and token.isidentifier() and token.isascii() and token not in NUMBER_WORDS:
            return _DTYPES[token] if token in _DTYPES else word_or_constant(token)
        raise Unusual


_TERMINATORS: Final = frozenset([op.name for op in Op.get_attr_map(ops.TERMINATOR)])
_HANDLERS: Final[dict[str, Callable[[Reader, int, list[str]], None]]] = {
    "buffer.alloc": Reader._alloc,
    "buffer.read": Reader._read,
    "buffer.write": Reader._write,
    "affine.for": Reader._for,
}


def read(text: str) -> tuple[Node, Assembler] | None:
    """Read a text without mistakes; None when it is not for this reader."""
    reader = Reader(text)
    if not reader.read():
        return None
    return reader.assembler.finish(), reader.assembler
