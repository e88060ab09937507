"""The fast reader: `prog` text without mistakes, straight from the token list.

It takes what nearly all files consist of, in any layout, and gives up on everything else (mistakes, registered
operators, unusual attribute values) by returning None; the grammar in ``assembly.lark`` then reads the whole text. It
never reports anything. Meaning is the `Assembler`'s, shared with that reader; a property test holds that both give the
same nodes.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NoReturn

from scaly_ir.attributes import NO_ATTRS, AttrValue
from scaly_ir.dialects.prog import ops
from scaly_ir.dialects.prog.assembler import DECLARE, KINDS, Assembler, syntax_attrs, word_or_constant
from scaly_ir.dialects.prog.scalars import Item, Literal, Place
from scaly_ir.graph import Node, intern_node
from scaly_ir.op import Op
from scaly_ir.text.spelling import MAX_INTEGER_DIGITS, read_int, read_name, read_string, read_whole
from scaly_ir.text.terminals import tokens
from scaly_ir.types import DTYPES, FLOAT64, INT64, DType, MemRefType

_FIRST_CHUNK: Final = 1 << 17

_DTYPES: Final[dict[str, DType]] = {str(dtype): dtype for dtype in DTYPES}
_OPERATORS: Final = ops.OPERATORS
_NUMBER_START: Final = frozenset("-.0123456789")
_NUMBER_WORDS: Final = frozenset({"inf", "nan"})
_DECLARE: Final = ["{", "declare", "=", "True", "}"]
_KIND: Final = ["{", "kind", "="]


_is_integer = re.compile(r"-?[0-9]+").fullmatch


class _Unusual(Exception):  # noqa: N818 - not a mistake of anybody's
    """This text is not for the fast reader, or it is cut off."""


def _give_up(message: str, at: Any, code: str) -> NoReturn:
    raise _Unusual


def _is_number(token: str) -> bool:
    return token[0] in _NUMBER_START or token in _NUMBER_WORDS or token.startswith("nan<")


class Reader:
    """One reading: the tokens of the current part of the text and the assembler they go to."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._position = 0
        self._chunk = _FIRST_CHUNK
        self._tokens: list[str] = []
        self._next = 0
        self._before = 0
        self._open: list[str] = []
        self._top = ""
        self._literals: dict[str, Literal] = {}
        self.assembler = Assembler(_give_up)

    def read(self) -> bool:
        """Read the whole text into the assembler; False when the text is not for this reader."""
        read_one = self._statement
        while True:
            start, top, opened = self._next, self._top, len(self._open)
            try:
                if read_one():
                    continue
                return not self._open
            except (_Unusual, IndexError, ValueError):
                # The statement that failed handed nothing over yet: it is read again, with more text behind it.
                self._next, self._top = start, top
                del self._open[opened:]
                if not self._refill():
                    return False

    def _refill(self) -> bool:
        """Cut the next part of the text, at the end of a line; False when there is none."""
        text = self._text
        if self._position >= len(text) and self._tokens:
            return False
        end = text.find("\n", self._position + self._chunk)
        last = end < 0
        cut = tokens(text[self._position :] if last else text[self._position : end])
        if not last:
            cut.pop()
        self._position = len(text) if last else end
        self._chunk *= 2 if self._next == 0 else 1  # a statement longer than a part: look further each time
        self._before += self._next
        self._tokens = self._tokens[self._next :] + cut
        self._next = 0
        return True

    # --- statements ---------------------------------------------------------------------------------------------------

    def _statement(self) -> bool:
        """Read one statement, block opening or closing brace; False at the end of the text."""
        cut, at = self._tokens, self._next
        token = cut[at]
        if token[:1] == "%":
            self._check_place("statement")
            if cut[at + 1] != "=" or len(token) == 1:
                raise _Unusual
            self._next = at + 3
            if cut[at + 2] == "prog.assign":
                self._assign(token, at)
            elif cut[at + 2] == "prog.buffer":
                self._buffer(token, at)
            else:
                raise _Unusual
            return True
        if token == "}":
            if not self._open:
                raise _Unusual
            self._next = at + 1
            self._open.pop()
            self.assembler.close()
            return True
        if token == "":
            return False
        handler = _HANDLERS.get(token)
        if handler is None:
            raise _Unusual
        self._next = at + 1
        handler(self, at)
        return True

    def _check_place(self, kind: str) -> None:
        """Give up when a module, procedure or statement stands where it may not."""
        if self._open:
            allowed = "proc" if self._open[-1] == "module" else "statement"
            if kind != allowed:
                raise _Unusual
        elif self._top in ("", kind) and not (kind == "module" == self._top):
            self._top = kind
        else:
            raise _Unusual

    def _expect(self, token: str) -> None:
        if self._tokens[self._next] != token:
            raise _Unusual
        self._next += 1

    def _take(self) -> str:
        token = self._tokens[self._next]
        self._next += 1
        return token

    def _sigil(self, sigil: str) -> str:
        token = self._take()
        if token[:1] != sigil or len(token) < 2:
            raise _Unusual
        return read_name(token[1:])

    def _dtype(self) -> DType:
        self._expect(":")
        dtype = _DTYPES.get(self._take())
        if dtype is None:
            raise _Unusual
        return dtype

    def _memref(self) -> MemRefType:
        token = self._take()
        if not token.startswith("memref<"):
            raise _Unusual
        return MemRefType.read(token)

    def _integer(self) -> int:
        token = self._take()
        if not _is_integer(token):
            raise _Unusual
        return read_int(token, INT64)

    def _assign(self, target: str, at: int) -> None:
        item = self._scalar()
        dtype = self._dtype()
        cut, here = self._tokens, self._next
        attrs: Mapping[str, AttrValue] = {}
        if cut[here] == "{":
            if cut[here : here + 5] == _DECLARE:
                self._next = here + 5
                attrs = DECLARE
            else:
                attrs = self._attrs(ops.ASSIGN)
        name = target[1:]
        statement = self.assembler.assign(read_name(name) if name[0] == '"' else name, item, dtype, attrs)
        self.assembler.add(statement, self._before + at, self._before + self._next)

    def _buffer(self, token: str, at: int) -> None:
        self._expect(":")
        memref = self._memref()
        init: dict[str, AttrValue] = {}
        if self._tokens[self._next] == "=":
            self._next += 1
            init = self._init(self._take(), memref.dtype)
        name = read_name(token[1:])
        self.assembler.add(self.assembler.buffer(name, memref, **init), self._before + at, self._before + self._next)

    def _init(self, kind: str, dtype: DType) -> dict[str, AttrValue]:
        if kind == "prog.alias":
            source = self._sigil("%")
            self._expect("offset")
            return {"alias_of": source, "alias_offset": self._integer()}
        if kind == "prog.workspace":
            self._expect("offset")
            return {"workspace_offset": self._integer()}
        if kind != "dense":
            raise _Unusual
        self._expect("<")
        if self._tokens[self._next] == "elided":
            self._next += 1
            self._expect("<")
            count = self._integer()
            self._expect(">")
            self._expect(">")
            return {"elided": count}
        self._expect("[")
        end = self._tokens.index("]", self._next)
        entries = self._tokens[self._next : end : 2]
        if not all([comma == "," for comma in self._tokens[self._next + 1 : end : 2]]) or entries[-1:] == [","]:
            raise _Unusual
        if entries and (end - self._next) % 2 == 0:
            raise _Unusual
        self._next = end + 1
        self._expect(">")
        return {"values": self._table(entries, dtype)}

    def _table(self, entries: Sequence[str], dtype: DType) -> tuple[float, ...]:
        if dtype is FLOAT64:
            try:
                values = tuple(map(float, entries))
            except ValueError:
                values = (math.inf,)
            short = max(map(len, entries), default=0) <= MAX_INTEGER_DIGITS
            if short and math.isfinite(sum(values)) and "".join(entries).isascii():
                return values
        if not all([_is_number(entry) for entry in entries]):
            raise _Unusual
        return self.assembler.table([Literal(entry) for entry in entries], dtype)

    def _module(self, at: int) -> None:
        self._check_place("module")
        attrs = {} if self._body_follows() else self._attrs(ops.PROGRAM)
        self._begin_body("module")
        self.assembler.open_module(attrs, self._before + at, self._before + self._next)

    def _proc(self, at: int) -> None:
        self._check_place("proc")
        name = self._sigil("@")
        self._expect("(")
        params = []
        if self._tokens[self._next] == ")":
            self._next += 1
        else:
            while True:
                param = self._sigil("%")
                self._expect(":")
                params.append((param, self._memref()))
                token = self._take()
                if token == ")":
                    break
                if token != ",":
                    raise _Unusual
        attrs = {} if self._body_follows() else self._attrs(ops.PROC)
        self._begin_body("proc")
        self.assembler.open_proc(name, params, attrs, self._before + at, self._before + self._next)

    def _body_follows(self) -> bool:
        """Tell a body's ``{`` from that of attributes, whose key is followed by ``=``."""
        cut, at = self._tokens, self._next
        if cut[at] != "{":
            raise _Unusual
        return cut[at + 2] != "=" or cut[at + 1][:1] == "%"

    def _begin_body(self, kind: str) -> None:
        self._expect("{")
        self._open.append(kind)

    def _for(self, at: int) -> None:
        self._check_place("statement")
        name = self._sigil("%")
        self._expect("=")
        start = self._scalar()
        self._expect("to")
        stop = self._scalar()
        self._expect("step")
        step = self._scalar()
        cut, here = self._tokens, self._next
        attrs: Mapping[str, AttrValue]
        if cut[here : here + 3] == _KIND and cut[here + 4] == "}" and cut[here + 3] in KINDS:
            attrs = KINDS[cut[here + 3]]
            self._next = here + 5
        else:
            attrs = self._attrs(ops.RANGE)
        self._begin_body("for")
        self.assembler.open_for(name, (start, stop, step), attrs, self._before + at, self._before + self._next)

    def _store(self, at: int) -> None:
        self._check_place("statement")
        item = self._scalar()
        self._expect(",")
        place = self._place()
        statement = self.assembler.store(item, place, self._dtype())
        self.assembler.add(statement, self._before + at, self._before + self._next)

    def _store_pair(self, at: int) -> None:
        self._check_place("statement")
        first = self._scalar()
        self._expect(",")
        second = self._scalar()
        self._expect(",")
        place = self._place()
        statement = self.assembler.store_pair(first, second, place, self._dtype())
        self.assembler.add(statement, self._before + at, self._before + self._next)

    def _place(self) -> Place:
        name = self._sigil("%")
        self._expect("[")
        index = self._scalar()
        self._expect("]")
        return self.assembler.place(name, index)

    def _call(self, at: int) -> None:
        self._check_place("statement")
        callee = self._sigil("@")
        self._expect("(")
        arguments: list[str | Place] = []
        if self._tokens[self._next] == ")":
            self._next += 1
        else:
            while True:
                whole = self._tokens[self._next + 1] != "["
                arguments.append(self._sigil("%") if whole else self._place())
                token = self._take()
                if token == ")":
                    break
                if token != ",":
                    raise _Unusual
        attrs = self._attrs(ops.CALL) if self._tokens[self._next] == "{" else {}
        statement = self.assembler.call(callee, arguments, attrs)
        self.assembler.add(statement, self._before + at, self._before + self._next)

    def _attrs(self, op: Op) -> dict[str, AttrValue]:
        """Read ``{key=value, ...}`` with simple values."""
        attrs: dict[str, AttrValue] = {}
        self._expect("{")
        while True:
            key, equals, value = self._tokens[self._next : self._next + 3]
            if equals != "=" or key in attrs or not (key.isidentifier() and key.isascii()) or key in _NUMBER_WORDS:
                raise _Unusual
            self._next += 3
            attrs[key] = _simple_value(value)
            token = self._take()
            if token == "}":
                break
            if token != ",":
                raise _Unusual
        if syntax_attrs(op, attrs) is not None:
            raise _Unusual
        return attrs

    # --- scalars ------------------------------------------------------------------------------------------------------

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
                    raise _Unusual
                else:
                    item = assembler.name(read_name(name))
            elif token == "prog.load":
                name = cut[at]
                if name[0] != "%" or cut[at + 1] != "[" or len(name) == 1:
                    raise _Unusual
                frames.append((ops.LOAD, read_name(name[1:])))
                at += 2
                continue
            elif token in _OPERATORS:
                if cut[at] != "(":
                    raise _Unusual
                frames.append((_OPERATORS[token], []))
                at += 1
                continue
            elif token == "prog.const":
                dtype = _DTYPES.get(cut[at + 3])
                if cut[at] != "(" or not _is_number(cut[at + 1]) or cut[at + 2] != "," or dtype is None:
                    raise _Unusual
                if cut[at + 4] != ")":
                    raise _Unusual
                item = assembler.constant(Literal(cut[at + 1]), dtype)
                at += 5
            else:
                known = literals.get(token)
                if known is None:
                    if not _is_number(token) or (len(token) == 1 and not token.isdigit()):
                        raise _Unusual
                    known = literals[token] = Literal(token)
                item = known
            while frames:
                op, items = frames[-1]
                token = cut[at]
                at += 1
                if op is ops.LOAD:
                    if token != "]":
                        raise _Unusual
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
                        raise _Unusual
                    item = assembler.cast(op, item, dtype)
                    at += 2
                else:
                    items.append(item)
                    if token == ",":
                        break
                    if token != ")":
                        raise _Unusual
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


_CAST: Final = _OPERATORS["prog.cast"]
_BINARY: Final = frozenset(
    {op for op in _OPERATORS.values() if op.get_attr("TScalarTyping") == "arith" and len(op.args_info) == 2}
)
"""The operators that need no more than two operands of their result's type."""

_HANDLERS: Final[dict[str, Callable[[Reader, int], None]]] = {
    "prog.module": Reader._module,
    "prog.proc": Reader._proc,
    "prog.for": Reader._for,
    "prog.store": Reader._store,
    "prog.store_pair": Reader._store_pair,
    "prog.call": Reader._call,
}


def _simple_value(token: str) -> AttrValue:
    """Return the attribute value a single token stands for."""
    if token[0] == '"':
        return read_string(token)
    if _is_integer(token):
        return read_whole(token)
    if token[0].isalpha() and token.isidentifier() and token.isascii() and token not in _NUMBER_WORDS:
        return word_or_constant(token)
    raise _Unusual


def read(text: str) -> tuple[Node, Assembler] | None:
    """Read a text without mistakes; None when it is not for this reader."""
    reader = Reader(text)
    if not reader.read():
        return None
    return reader.assembler.finish(), reader.assembler
