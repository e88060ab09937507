"""The fast reader: `prog` text without mistakes, straight from the token list.

It takes what nearly all files consist of, in any layout, and gives up on everything else (mistakes, registered
operators, unusual attribute values) by returning None; the grammar in ``assembly.lark`` then reads the whole text. It
never reports anything. Meaning is the `Assembler`'s, shared with that reader; a property test holds that both give the
same nodes. Here are the text and its statements; what stands in a statement is the `ScalarReader`'s.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from scaly_ir.attributes import AttrValue, word_or_constant
from scaly_ir.dialects.prog import ops
from scaly_ir.dialects.prog.assembler import DECLARE, KINDS, Assembler, syntax_attrs
from scaly_ir.dialects.prog.scalar_reader import ScalarReader, give_up, is_integer, is_number
from scaly_ir.dialects.prog.scalars import Literal, Place
from scaly_ir.graph import Node
from scaly_ir.op import Op
from scaly_ir.text.attribute_text import NUMBER_WORDS, Unusual
from scaly_ir.text.spelling import MAX_INTEGER_DIGITS, read_name, read_string, read_whole
from scaly_ir.text.terminals import tokens
from scaly_ir.types import FLOAT64, DType

_FIRST_CHUNK: Final = 1 << 17

_DECLARE: Final = ["{", "declare", "=", "True", "}"]
_KIND: Final = ["{", "kind", "="]


class Reader(ScalarReader):
    """One reading; the tokens are those of the current part of the text."""

    assembler: Assembler

    def __init__(self, text: str) -> None:
        super().__init__()
        self.assembler = Assembler(give_up)
        self._text = text
        self._position = 0
        self._chunk = _FIRST_CHUNK
        self._before = 0
        self._open: list[str] = []
        self._top = ""

    def read(self) -> bool:
        """Read the whole text into the assembler; False when the text is not for this reader."""
        read_one = self._statement
        while True:
            start, top, opened = self._next, self._top, len(self._open)
            try:
                if read_one():
                    continue
                return not self._open
            except (Unusual, IndexError, ValueError):
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
                raise Unusual
            self._next = at + 3
            if cut[at + 2] == "prog.assign":
                self._assign(token, at)
            elif cut[at + 2] == "prog.buffer":
                self._buffer(token, at)
            else:
                raise Unusual
            return True
        if token == "}":
            if not self._open:
                raise Unusual
            self._next = at + 1
            self._open.pop()
            self.assembler.close()
            return True
        if token == "":
            return False
        handler = _HANDLERS.get(token)
        if handler is None:
            if token == "loc" and self._is_behind_statement(at):
                self._next = at
                self._location()
                return True
            raise Unusual
        self._next = at + 1
        handler(self, at)
        return True

    def _is_behind_statement(self, at: int) -> bool:
        """Tell whether the statement before, which has no body and no location, ends at a token."""
        ends = self.assembler.ends
        return bool(ends) and ends[-1] == self._before + at and self._tokens[at - 1] != "{"

    def _location(self) -> None:
        """Skip ``loc("file":line:column)`` or ``loc(unknown)``."""
        cut, at = self._tokens, self._next
        if cut[at + 1] != "(":
            raise Unusual
        if cut[at + 2] == "unknown":
            end = at + 3
        elif cut[at + 2][0] == '"' and cut[at + 3] == ":" == cut[at + 5]:
            if not (is_integer(cut[at + 4]) and is_integer(cut[at + 6])):
                raise Unusual
            read_string(cut[at + 2])
            end = at + 7
        else:
            raise Unusual
        if cut[end] != ")":
            raise Unusual
        self._next = end + 1

    def _check_place(self, kind: str) -> None:
        """Give up when a module, procedure or statement stands where it may not."""
        if self._open:
            allowed = "proc" if self._open[-1] == "module" else "statement"
            if kind != allowed:
                raise Unusual
        elif self._top in ("", kind) and not (kind == "module" == self._top):
            self._top = kind
        else:
            raise Unusual

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
            raise Unusual
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
            raise Unusual
        if entries and (end - self._next) % 2 == 0:
            raise Unusual
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
        if not all([is_number(entry) for entry in entries]):
            raise Unusual
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
                    raise Unusual
        attrs = {} if self._body_follows() else self._attrs(ops.PROC)
        self._begin_body("proc")
        self.assembler.open_proc(name, params, attrs, self._before + at, self._before + self._next)

    def _body_follows(self) -> bool:
        """Tell a body's ``{`` from that of attributes, whose key is followed by ``=``."""
        cut, at = self._tokens, self._next
        if cut[at] == "loc":
            return True
        if cut[at] != "{":
            raise Unusual
        return cut[at + 2] != "=" or cut[at + 1][:1] == "%"

    def _begin_body(self, kind: str) -> None:
        if self._tokens[self._next] == "loc":
            self._location()
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
                    raise Unusual
        attrs = self._attrs(ops.CALL) if self._tokens[self._next] == "{" else {}
        statement = self.assembler.call(callee, arguments, attrs)
        self.assembler.add(statement, self._before + at, self._before + self._next)

    def _attrs(self, op: Op) -> dict[str, AttrValue]:
        """Read ``{key=value, ...}`` with simple values."""
        attrs: dict[str, AttrValue] = {}
        self._expect("{")
        while True:
            key, equals, value = self._tokens[self._next : self._next + 3]
            if equals != "=" or key in attrs or not (key.isidentifier() and key.isascii()) or key in NUMBER_WORDS:
                raise Unusual
            self._next += 3
            attrs[key] = _simple_value(value)
            token = self._take()
            if token == "}":
                break
            if token != ",":
                raise Unusual
        if syntax_attrs(op, attrs) is not None:
            raise Unusual
        return attrs


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
    if is_integer(token):
        return read_whole(token)
    if token[0].isalpha() and token.isidentifier() and token.isascii() and token not in NUMBER_WORDS:
        return word_or_constant(token)
    raise Unusual


def read(text: str) -> tuple[Node, Assembler] | None:
    """Read a text without mistakes; None when it is not for this reader."""
    reader = Reader(text)
    if not reader.read():
        return None
    return reader.assembler.finish(), reader.assembler
