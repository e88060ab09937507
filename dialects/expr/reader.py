"""The fast reader: `expr` text as it is printed, with other names and comments on lines of their own at most.

It takes one line for one operation and gives up on everything else (mistakes, other layout, functions before those that
they call) by returning None; the grammar in ``assembly.lark`` then reads the whole text. It never reports anything. A
property test holds that both readers give the same nodes.
"""

from __future__ import annotations

import re
from typing import Any, Final

from scaly_ir.attributes import NO_ATTRS, Attrs, named, value_key
from scaly_ir.dialects.expr import ops
from scaly_ir.dialects.expr.functions import make_function
from scaly_ir.dialects.expr.places import Range, Text
from scaly_ir.dialects.expr.value_reader import read_attributes, read_table
from scaly_ir.graph import Node, intern_node
from scaly_ir.op import Op
from scaly_ir.tensors import Coordinates, TensorType, read_coordinates
from scaly_ir.text.attribute_text import Unusual
from scaly_ir.text.spelling import BARE_NAME, read_name, read_string
from scaly_ir.types import BOOL

_STRING: Final = r'"(?:[^"\\]|\\.)*+"'
_NAME: Final = rf"(?:{BARE_NAME}|{_STRING})"
_TENSOR: Final = r"tensor<[^<>]*(?:<[^<>]*>)?>"

_operation = re.compile(
    r" *(%(?:[0-9]+|[A-Za-z_][A-Za-z0-9_.$-]*)) = ([A-Za-z0-9_.]+)(?:\(([^()]*)\))?(?: (\{.*\}))? : (tensor<.*>)"
).fullmatch
_return = re.compile(r" *expr\.return (%.*)").fullmatch
_function = re.compile(rf" *expr\.func @({_NAME})\((.*)\) -> \((.*)\) \{{").fullmatch
_region = re.compile(rf" *expr\.region @({_NAME}) \{{").fullmatch
_alias = re.compile(r" *(#sp[0-9]+) = (sparse<[^<>]*>)").fullmatch
_param = re.compile(rf"%({_NAME}): ({_TENSOR})(?:, (?!$)|$)").match
_input = re.compile(rf'\{{lowering="(auto|scalar|block)", name=({_STRING})\}}').fullmatch
_const = re.compile(r'\{lowering="(auto|scalar|block)", value=([^"{}=]*)\}').fullmatch

_location = re.compile(rf" loc\((?:unknown|({_STRING}):[0-9]+:[0-9]+)\)( \{{)?").fullmatch

_Pairs = list[tuple[str, TensorType]]


class Reader:
    """One reading, line by line."""

    def __init__(self) -> None:
        self.head: Range | None = None
        self.texts: list[Text] = []
        self.functions: dict[str, Node] = {}
        self._form = ""
        """What the file holds: ``module``, ``functions``, ``region``, ``operations``; nothing before the first line."""
        self._in_module = False
        self._unresolved: set[str] = set()
        self._patterns: dict[str, Coordinates] = {}
        self._types: dict[str, TensorType] = {}
        self._attrs: dict[Any, Attrs] = {}
        self._sources: dict[Any, Node] = {}
        self._ops: dict[str, Op] = {}
        self._body: Op | None = None
        self._name = ""
        self._at: Range = (0, 0)
        self._params: dict[str, TensorType] = {}
        self._outputs: _Pairs = []
        self._formals: dict[str, Node] = {}
        self._start()

    def _start(self) -> None:
        self._names: dict[str, Node] = {}
        self._nodes: list[Node] = []
        self._starts: list[int] = []
        self._ends: list[int] = []
        self._results: tuple[Node, ...] | None = None

    def read(self, text: str) -> Node:
        """Return the root of a text; `Unusual`, `ValueError` or `KeyError` when it is not for this reader."""
        offset = 0
        types, ops_, attributes = self._types, self._ops, self._attrs
        for line in text.split("\n"):
            found = _operation(line)
            end = len(line)
            if found is None:
                bare = _without_location(line)
                found = None if bare is line else _operation(bare)
                if found is None:
                    self._other(bare, offset, end)
                    offset += end + 1
                    continue
                end = len(bare)
            name, mnemonic, operands, attrs, type_text = found.groups()
            if self._body is None:
                self._begin_operations()
            names = self._names
            if name in names or self._results is not None:
                raise Unusual
            type_ = types.get(type_text) or self._type(type_text)
            op = ops_.get(mnemonic) or self._op(mnemonic)
            if operands is None:
                node = self._source(op, attrs, type_)
            elif op is ops.INPUT:
                raise Unusual
            else:
                args = tuple([names[operand] for operand in operands.split(", ")])
                if attrs is None:
                    node = intern_node(op, args, NO_ATTRS, type_)
                else:
                    given = attributes.get((op, attrs)) or self._attributes(op, attrs, type_)
                    node = intern_node(op, args, given, type_)
            names[name] = node
            self._nodes.append(node)
            self._starts.append(offset + found.start(1))
            self._ends.append(offset + end)
            offset += len(line) + 1
        return self._finish(len(text))

    # --- operations ---------------------------------------------------------------------------------------------------

    def _type(self, text: str) -> TensorType:
        type_ = self._types[text] = TensorType.read(text, self._patterns)
        return type_

    def _op(self, name: str) -> Op:
        op = self._ops[name] = operator_named(name)
        return op

    def _attributes(self, op: Op, text: str, type_: TensorType) -> Attrs:
        filled = "fill=" in text
        if op is ops.CONST:
            raise Unusual
        values = read_attributes(text, type_.dtype if filled and op is ops.GATHER else BOOL)
        if values.get("lowering") == "auto":
            del values["lowering"]
        if op in ops.CALLS:
            for key in ("callee", "cond"):
                callee = values.get(key)
                if type(callee) is str:
                    values[key] = self.functions.get(callee, callee)
                    if callee not in self.functions:
                        self._unresolved.add(callee)
        kept = {key: values[key] for key in sorted(values)}  # frozen as they were read
        attrs = Attrs.trusted(kept, tuple([part for key in kept for part in (key, value_key(kept[key]))]))
        if not filled:  # what a number is depends on the dtype
            self._attrs[(op, text)] = attrs
        return attrs

    def _source(self, op: Op, text: str | None, type_: TensorType) -> Node:
        """Return an operation without operands."""
        key = (op, text, type_)
        known = self._sources.get(key)
        if known is not None and op is not ops.INPUT:
            return known
        found = None if text is None else _input(text) if op is ops.INPUT else _const(text)
        if op is ops.INPUT and found is not None:
            return self._read_input(found[1], read_string(found[2]), type_)
        if op is ops.CONST and found is not None:
            values = {} if found[1] == "auto" else {"lowering": found[1]}
            attrs = Attrs({**values, "value": read_table(found[2], type_)})
        elif op in (ops.INPUT, ops.CONST):
            raise Unusual
        else:
            attrs = NO_ATTRS if text is None else self._attributes(op, text, type_)
        node = self._sources[key] = intern_node(op, (), attrs, type_)
        return node

    def _read_input(self, hint: str, name: str, type_: TensorType) -> Node:
        attrs = named("name", name) if hint == "auto" else Attrs({"lowering": hint, "name": name})
        node = intern_node(ops.INPUT, (), attrs, type_)
        if self._body is ops.FUNC and (
            self._params.get(name) is not type_ or self._formals.setdefault(name, node) is not node
        ):
            raise Unusual
        return node

    # --- other lines --------------------------------------------------------------------------------------------------

    def _other(self, line: str, offset: int, end: int) -> None:
        """Read a line that is no operation and has, with its location, a length of `end`."""
        text = line.strip(" ")
        if not text or text.startswith("//"):
            if "\r" in text:
                raise Unusual
            return
        at = (offset + len(line) - len(line.lstrip(" ")), offset + end - len(line) + len(line.rstrip(" ")))
        found = _return(line)
        if found is not None:
            self._return(found[1])
        elif text == "}":
            self._close()
        elif text == "expr.module {":
            if self._form:
                raise Unusual
            self._form, self._in_module, self.head = "module", True, at
        elif (found := _function(line)) is not None:
            self._begin_function(found[1], found[2], found[3], at)
        elif (found := _alias(line)) is not None:
            if not self._in_module or self.functions or self._body is not None or found[1] in self._patterns:
                raise Unusual
            self._patterns[found[1]] = read_coordinates(found[2])
        elif (found := _region(line)) is not None and not self._form:
            self._form, self._body, self._at, self._name = "region", ops.REGION, at, read_name(found[1])
        else:
            raise Unusual

    def _begin_operations(self) -> None:
        if self._form:
            raise Unusual
        self._form, self._body = "operations", ops.RETURN

    def _begin_function(self, name: str, params: str, outputs: str, at: Range) -> None:
        if self._form not in ("", "module", "functions") or self._in_module != (self._form == "module"):
            raise Unusual
        self._form = self._form or "functions"
        if self._body is not None:
            raise Unusual
        self._name, self._at, self._body, self._formals = read_name(name), at, ops.FUNC, {}
        self._outputs = self._pairs(outputs)
        pairs = self._pairs(params)
        self._params = dict(pairs)
        if self._name in self.functions or len(self._params) < len(pairs) or not self._outputs:
            raise Unusual
        if len(dict(self._outputs)) < len(self._outputs):
            raise Unusual
        self._start()

    def _pairs(self, text: str) -> _Pairs:
        pairs = []
        at = 0
        while at < len(text):
            found = _param(text, at)
            if found is None:
                raise Unusual
            pairs.append((read_name(found[1]), self._types.get(found[2]) or self._type(found[2])))
            at = found.end()
        return pairs

    def _return(self, text: str) -> None:
        if self._body is None or self._results is not None:
            raise Unusual
        self._results = tuple([self._names[name] for name in text.split(", ")])

    def _close(self) -> None:
        if self._body is None:
            if not self._in_module:
                raise Unusual
            self._in_module = False
            return
        if self._body is ops.RETURN or self._results is None:
            raise Unusual
        if self._body is ops.REGION:
            self._add(intern_node(ops.REGION, self._results, named("name", self._name), None))
            self._form = "closed"
            return
        if [result.type for result in self._results] != [type_ for _, type_ in self._outputs]:
            raise Unusual
        for name, type_ in self._params.items():
            if name not in self._formals:
                self._formals[name] = intern_node(ops.INPUT, (), named("name", name), type_)
        inputs = [self._formals[name] for name in self._params]
        self.functions[self._name] = make_function(self._name, inputs, self._results, [n for n, _ in self._outputs])
        self._add(self.functions[self._name])

    def _add(self, root: Node) -> None:
        self.texts.append(Text(root, self._at, self._nodes, self._starts, self._ends))
        self._body = None

    def _finish(self, end: int) -> Node:
        if self._body is ops.RETURN and self._results is not None:
            self._add(intern_node(ops.RETURN, self._results, NO_ATTRS, None))
            return self.texts[0].root
        # A callee that is defined further on is for the other reader.
        if self._body is not None or self._in_module or not self._unresolved.isdisjoint(self.functions):
            raise Unusual
        if self._form == "closed":
            return self.texts[0].root
        if self._form not in ("module", "functions"):
            raise Unusual
        attrs = NO_ATTRS if self._form == "module" else Attrs({"bare": True})
        return intern_node(ops.MODULE, tuple(self.functions.values()), attrs, None)


def operator_named(name: str) -> Op:
    """Return the operator of this name that makes operations; `Unusual` when there is none."""
    try:
        op = Op.get(name)
    except AttributeError:
        raise Unusual from None
    foreign = op.dialect != "expr" and op.get_attr("TStructural", False)
    if op in ops.CONTAINERS or foreign or not op.is_expression or not op.allowed_in("expr"):
        raise Unusual
    return op


def _without_location(line: str) -> str:
    """Return a line without the location of the operation, or of the head, on it; the line itself if it has none."""
    at = line.rfind(" loc(")
    found = None if at < 0 or not line.lstrip(" ").startswith(("%", "expr.")) else _location(line[at:])
    if found is None:
        return line
    if found[1] is not None:
        read_string(found[1])
    return line[:at] + (found[2] or "")


def read(text: str) -> tuple[Node, Range | None, list[Text]] | None:
    """Return the root of a text, the head of its module and its bodies; None when the text is not for this reader."""
    reader = Reader()
    try:
        root = reader.read(text)
    except (Unusual, ValueError, KeyError):
        return None
    return root, reader.head, reader.texts
