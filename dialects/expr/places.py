"""Where the operations of a read file stand: the order of the text is not always that of the canonical listing.

Places are numbered as the verifier walks and the printer lists: the head of a module, then for each function its head
and its operations in post-order. What the text has besides, the results do not depend on.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from scaly_ir.dialects.expr import ops
from scaly_ir.dialects.expr.functions import body_of, inputs_of
from scaly_ir.graph import Node, postorder
from scaly_ir.text.locations import Locations, Part, Place, first_place
from scaly_ir.text.source import Source
from scaly_ir.text.spelling import read_name
from scaly_ir.text.terminals import Lexeme, scan

Range = tuple[int, int]


class Text(NamedTuple):
    """A function, region or fragment in a text: its head, and its operations with where they start and end."""

    root: Node
    at: Range
    nodes: Sequence[Node]
    starts: Sequence[int]
    ends: Sequence[int]


class _Ranges:
    """The ranges of a root in the order of the listing; found when the first one is asked for."""

    def __init__(self, root: Node, head: Range | None, texts: Sequence[Text]) -> None:
        self._root = root
        self._head = head
        self._texts = {text.root: text for text in texts}
        self._found: list[Range] = []

    def all(self) -> list[Range]:
        """Return all ranges."""
        if not self._found:
            self._found = [(0, 0) if at is None else at for at in self._ranges()]
        return self._found

    def _ranges(self) -> Iterator[Range | None]:
        root = self._root
        if root.op is not ops.MODULE:
            yield from self._body(self._texts[root], postorder(*root.args))
            return
        if self._head is not None:
            yield self._head
        for function in root.args:
            yield from self._body(self._texts[function], body_of(function))

    def _body(self, text: Text, listing: Sequence[Node]) -> Iterator[Range | None]:
        if text.root.op is not ops.RETURN:
            yield text.at
        places: dict[Node, Range] = {}
        for node, start, end in zip(text.nodes, text.starts, text.ends, strict=True):
            places.setdefault(node, (start, end))
        for node in listing:
            yield places.get(node)


class _Side(Sequence[int]):
    """The starts, or the ends, of ranges."""

    def __init__(self, ranges: _Ranges, side: int) -> None:
        self._ranges = ranges
        self._side = side

    def __len__(self) -> int:
        return len(self._ranges.all())

    def __getitem__(self, number: Any) -> Any:
        return self._ranges.all()[number][self._side]


def locations(source: Source, root: Node | None, head: Range | None, texts: Sequence[Text]) -> Locations:
    """Return the places of a root whose functions, or whose operations, stand in `texts`."""
    if root is None:
        return Locations(source, (), (), False, spans_of)
    ranges = _Ranges(root, head, texts)
    return Locations(source, _Side(ranges, 0), _Side(ranges, 1), False, spans_of)


# --- within one operation, or the head of a function ------------------------------------------------------------------


def spans_of(source: Source, statement: Node) -> Iterator[tuple[Node, Part, Range]]:
    """Read the text of an operation, or of a head, again, and yield where the parts of it stand."""
    lexemes = list(scan(source.text, numbered=True))
    first = lexemes[2 if len(lexemes) > 2 and lexemes[0].kind == "VALUE" else 0]
    if first.kind == "STRING" and statement.op in (ops.FUNC, ops.MODULE, ops.REGION):
        yield statement, "", (lexemes[0].start, lexemes[-1].end)
        yield statement, "name", (first.start, first.end)
        return
    if statement.op is ops.FUNC:
        yield from _head_spans(lexemes, statement)
        return
    if statement.op in (ops.MODULE, ops.REGION):
        yield statement, "", (lexemes[0].start, lexemes[-1].end)
        return
    yield statement, "", (lexemes[0].start, lexemes[-1].end)
    yield statement, "result", (lexemes[0].start, lexemes[0].end)
    yield statement, "op", (lexemes[2].start, lexemes[2].end) if len(lexemes) > 2 else (0, 0)
    for part, at in _parts(lexemes):
        yield statement, part, at


def _parts(lexemes: Sequence[Lexeme]) -> Iterator[tuple[Part, Range]]:
    """Yield operands, attributes and type of an operation."""
    depth = operand = 0
    begun: Lexeme | None = None
    previous = lexemes[0]
    for lexeme in lexemes[3:]:
        if lexeme.text in (",", "}") and depth == 1 and begun is not None:
            yield _key(begun), (begun.start, previous.end)
            begun = None
        if lexeme.kind == "PUNCTUATION":
            depth += {"{": 1, "[": 1, "(": 1, "}": -1, "]": -1, ")": -1}.get(lexeme.text, 0)
        elif lexeme.kind == "VALUE" and depth == 1:
            yield operand, (lexeme.start, lexeme.end)
            operand += 1
        elif lexeme.kind == "TENSOR" and not depth:
            yield "type", (lexeme.start, lexeme.end)
        elif depth == 1 and begun is None:
            begun = lexeme
        previous = lexeme


def _key(lexeme: Lexeme) -> str:
    return read_name(lexeme.text)


def _head_spans(lexemes: Sequence[Lexeme], function: Node) -> Iterator[tuple[Node, Part, Range]]:
    """Yield where name, inputs and outputs of a function stand; inputs are nodes of their own as well."""
    inputs = inputs_of(function)
    count = len(function.args) - len(inputs)
    params = [at for at, lexeme in enumerate(lexemes) if lexeme.kind == "VALUE"]
    yield function, "", (lexemes[0].start, lexemes[-1].end)
    for lexeme in lexemes:
        if lexeme.kind == "SYMBOL":
            yield function, "name", (lexeme.start, lexeme.end)
    for number, at in enumerate(params):
        name, type_ = lexemes[at], lexemes[min(at + 2, len(lexemes) - 1)]
        whole = (name.start, type_.end)
        if number >= len(inputs):
            yield function, number - len(inputs), whole
            continue
        yield function, count + number, whole
        parts: Mapping[Part, Range] = {"": whole, "name": (name.start, name.end), "type": (type_.start, type_.end)}
        for part, around in parts.items():
            yield inputs[number], part, around


def place_of(root: Node, node: Node, within: str | None = None) -> Place | None:
    """Return where a function or an operation stands first, in the function called `within` if that is given."""
    return first_place(root, in_order(root), node, within)


def in_order(root: Node) -> Iterator[Node]:
    """Yield what has a number, in the order of the listing."""
    if root.op is not ops.MODULE:
        yield from ([] if root.op is ops.RETURN else [root])
        yield from postorder(*root.args)
        return
    if not root.attrs.get("bare"):
        yield root
    for function in root.args:
        yield function
        yield from body_of(function)
