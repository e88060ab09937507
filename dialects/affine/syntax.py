"""What the rules of ``assembly.lark`` mean: loops and maps."""

from __future__ import annotations

from typing import Any, NamedTuple

from lark import Token

from scaly_ir.attributes import AttrValue
from scaly_ir.dialects.affine import ops
from scaly_ir.dialects.affine.maps import MapError, constant, read_map
from scaly_ir.dialects.buffer import build
from scaly_ir.dialects.buffer.assembler import Operand
from scaly_ir.dialects.buffer.syntax import BufferActions
from scaly_ir.dialects.buffer.types import INDEX
from scaly_ir.graph import Node
from scaly_ir.text.attribute_actions import Given, Range, place_of
from scaly_ir.text.language import Piece
from scaly_ir.text.spelling import LiteralError, read_int
from scaly_ir.types import FLOAT64, INT64, DType


class Carried(NamedTuple):
    """A carried value as read."""

    name: str
    name_at: Range
    init: Operand
    init_at: Range


class _Iter(list[Carried]):
    """The carried values of a loop."""


class _Types(list[DType]):
    """Their types."""


class AffineActions(BufferActions):
    """One method for each rule."""

    def map_value(self, parts: list[Any], at: Range) -> AttrValue:
        """Read a map."""
        try:
            return read_map(str(parts[0]))
        except MapError as error:
            self._fail(str(error), (at[0] + error.start, at[0] + error.end), "affine-map")
            return constant(0)

    def carried(self, parts: list[Any], at: Range) -> Carried:
        """Read a carried value."""
        return Carried(self._read_name(parts[0]), place_of(parts[0]), parts[1].value, place_of(parts[1]))

    def iter(self, parts: list[Any], at: Range) -> _Iter:
        """Read the carried values."""
        return _Iter([part.value for part in parts[1:]])

    def types(self, parts: list[Any], at: Range) -> _Types:
        """Read the types of results."""
        return _Types([self._dtype(part) for part in parts])

    def loop_open(self, parts: list[Any], at: Range) -> None:
        """Begin a loop."""
        names, rest = self._names(parts)
        given = {type(part.value): part for part in rest if isinstance(part, Piece)}
        variable = rest[1]
        lower, upper = [part for part in rest[2:6] if isinstance(part, Piece)][:2]
        step = next(part for part in rest[4:] if isinstance(part, Token) and part.type == "INT")
        carried: list[Carried] = given[_Iter].value if _Iter in given else []
        types: list[DType] = given[_Types].value if _Types in given else []
        attrs = given[Given].value if Given in given else Given({}, {})
        self._check_attrs(ops.FOR, attrs)
        inits = [
            self.assembler.operand(each.init, types[position] if position < len(types) else FLOAT64, each.init_at)
            for position, each in enumerate(carried)
        ]
        args = (self.assembler.index(lower.value), self.assembler.index(upper.value), *inits)
        extra = {"types": tuple(types)} if types else {}
        kind = {"kind": ops.DEFAULT_KIND, "step": self._integer(step), **attrs, **extra}

        def finish(region: Node) -> Node:
            return build.statement(ops.FOR, (*args, region), None, names, kind)

        params = [build.Binding(self._read_name(variable), INDEX)]
        for position, each in enumerate(carried):
            params.append(build.Binding(each.name, types[position] if position < len(types) else inits[position].type))
        declared = self.assembler.open(finish, params, types, *at)
        places: dict[Any, Range] = {0: place_of(lower), 1: place_of(upper), "step": place_of(step), **attrs.places}
        places |= {2 + position: each.init_at for position, each in enumerate(carried)}
        if names:
            places["results"] = names.at
        self._mark_parts(None, places)
        names_at = [place_of(variable), *[each.name_at for each in carried]]
        for number, (node, name_at) in enumerate(zip(declared, names_at, strict=True)):
            self._mark_parts(node, {"": name_at, build.declared_part(number): name_at})

    def loop(self, parts: list[Any], at: Range) -> None:
        """End a loop."""
        self.assembler.close()

    def _integer(self, token: Token) -> int:
        try:
            return read_int(str(token), INT64)
        except LiteralError as error:
            self._fail(str(error), place_of(token), "literal-range")
            return 1
