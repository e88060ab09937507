"""What the text of functions of buffers means: from pieces of syntax to nodes.

Scalars are those of `prog`; here are names, statements and regions. Reports mistakes through `fail` and carries on with
a stand-in; never raises for what a user wrote.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from scaly_ir.attributes import Attrs, AttrValue
from scaly_ir.dialects.buffer import build, ops
from scaly_ir.dialects.buffer.names import numbered
from scaly_ir.dialects.buffer.types import ValueType, scalar_type
from scaly_ir.dialects.prog.blocks import Blocks
from scaly_ir.dialects.prog.scalars import Application, At, Item, Literal, Untyped
from scaly_ir.graph import Node, intern_node
from scaly_ir.op import Op
from scaly_ir.text.diagnostics import did_you_mean
from scaly_ir.types import FLOAT64, INT64, DType, MemRefType


class _Undef:
    """Stands for ``undef``, whose type its context gives."""


UNDEF: Final = _Undef()
Operand = Item | _Undef


class Assembler(Blocks):
    """The state of one reading of functions of buffers; a block is a region."""

    def __init__(
        self,
        fail: Callable[[str, At, str], None],
        mark: Callable[[Node, At, str], None] | None = None,
    ) -> None:
        super().__init__(fail, mark)
        self.functions: list[tuple[int, Node | None]] = []
        """The functions, each with the number of its place; None for one whose end was not read."""
        self._wanted: list[Sequence[ValueType]] = []
        """For each open region, the types of the values that its terminator gives."""

    def define(self, name: str, type_: ValueType) -> None:
        """Bring a name into scope until the innermost region is closed."""
        self._scopes.define(name, build.value(name, type_))

    def add(self, statement: Node, start: int, end: int) -> None:
        """Append a statement to the innermost region, and bring into scope what it binds."""
        self.count(start, end)
        self.include(statement)

    def include(self, statement: Node) -> None:
        """Append a statement whose operations were counted."""
        self.statements.append(statement)
        for name, type_ in build.results_of(statement):
            self.define(name, type_)

    def operand(self, item: Operand, type_: ValueType | None, at: At = None) -> Node:
        """Return an operand where a literal has the element type of `type_`."""
        dtype = scalar_type(type_)
        if isinstance(item, _Undef):
            return build.undef(dtype or FLOAT64)
        if type(item) is Node:
            return item
        if dtype is None:
            dtype = self._undecided("this operation", (item,), at) if isinstance(item, Literal | Untyped) else FLOAT64
        return self.typed(item, dtype)

    def index(self, item: Operand) -> Node:
        """Return an index operand."""
        return self.operand(item, INT64)

    def find(self, name: str, at: At) -> Op | None:
        """Return an operation by its name, or None after a message."""
        try:
            op = Op.get(name)
        except AttributeError:
            self.fail(f"unknown operation '{name}'{did_you_mean(name, _operations())}", at, "unknown-op")
            return None
        structural = op.get_attr("TStructural")
        if structural or not (op.dialect in ops.UNIT or not ops.UNIT.isdisjoint(op.get_attr("TDialects") or ops.UNIT)):
            self.fail(f"operation '{name}' is not allowed in functions of buffers", at, "op-dialect")
            return None
        return op

    def is_scalar(self, op: Op, type_: ValueType | None) -> bool:
        """Tell whether an operator of the registry computes a scalar, so that a statement only names it."""
        return isinstance(type_, DType) and not op.has_attr(ops.KINDS) and op.is_expression and op.allowed_in("prog")

    def let(self, names: Sequence[str], item: Item, dtype: DType, at: At = None) -> Node:
        """Return the statement that names a scalar."""
        scalar = item if type(item) is Node else self.typed(item, dtype)
        if scalar.type is not dtype:
            self.fail(f"the value is {scalar.type}, but the statement says {dtype}", at, "statement-dtype")
        return build.statement(ops.LET, (scalar,), dtype, names[:1])

    def operation(
        self,
        op: Op,
        items: Iterable[Operand],
        type_: ValueType | None,
        names: Sequence[str],
        attrs: Mapping[str, AttrValue],
    ) -> Node:
        """Return a statement of one operation."""
        return build.statement(op, [self.operand(item, type_) for item in items], type_, names, attrs)

    def element(self, name: str, indices: Sequence[Item], dtype: DType, at: At = None) -> list[Node]:
        """Return the operands that name an element: the buffer and its indices."""
        return [self.operand(self.name(name, at), dtype), *[self.index(item) for item in indices]]

    # --- regions ------------------------------------------------------------------------------------------------------

    def open(
        self,
        finish: Callable[[Node], Node],
        params: Sequence[build.Binding],
        wanted: Sequence[ValueType],
        start: int,
        end: int,
    ) -> list[Node]:
        """Begin a region; `finish` makes its statement or function of it, `wanted` are the types its terminator gives.

        Returns the declarations of the parameters.
        """
        declared = [build.declaration(name, type_) for name, type_ in params]
        self.begin(lambda body: finish(build.region(declared, body)), start, end)
        self._wanted.append(wanted)
        for name, type_ in params:
            self.define(name, type_)
        return declared

    def close(self) -> None:
        """End the innermost region: what it defined goes out of scope."""
        self._wanted.pop()
        self.include(self.end())

    def open_func(
        self, name: str, params: Sequence[build.Binding], results: Sequence[build.Binding], start: int, end: int
    ) -> list[Node]:
        """Begin a function; returns the declarations of its results and parameters."""
        outputs = [build.declaration(*result) for result in results]
        number, place = len(self.functions), len(self.starts)
        self.functions.append((place, None))

        def finish(region: Node) -> Node:
            function = numbered(intern_node(ops.FUNC, (*outputs, region), Attrs({"name": name}), None))
            self.functions[number] = place, function
            return function

        return [*outputs, *self.open(finish, params, [result.type for result in results], start, end)]

    def ended(self, op: Op, items: Sequence[Operand]) -> Node:
        """Return the statement that ends a region."""
        wanted = self._wanted[-1] if self._wanted else ()
        types = [*wanted, *[FLOAT64] * (len(items) - len(wanted))]
        return build.statement(op, [self.operand(item, type_) for item, type_ in zip(items, types, strict=False)])

    # --- scalars ------------------------------------------------------------------------------------------------------

    def apply(self, op: Op, items: Sequence[Item], at: At = None) -> Item:
        """Return a shared scalar operator applied to operands, none of which is a buffer."""
        return super().apply(op, items, at) if self._are_scalars(op.name, items, at) else self.unknown(at)

    def cast(self, op: Op, item: Item, dtype: DType, at: At = None) -> Node:
        """Return a conversion of what is no buffer."""
        sound = self._are_scalars(op.name, [item], at)
        return super().cast(op, item if sound else self.unknown(at), dtype, at)

    def registered(self, application: Application, at: At) -> Item:
        """Return an operator from the registry applied to what are no buffers."""
        sound = self._are_scalars(application.name, application.items, at)
        return super().registered(application, at) if sound else self.unknown(at)

    def _are_scalars(self, name: str, items: Sequence[Item], at: At) -> bool:
        for item in items:
            if isinstance(item, Node) and isinstance(item.type, MemRefType):
                self.fail(
                    f"'{name}' works on scalars, found a {item.type}; 'buffer.read' gives an element", at, "scalar"
                )
                return False
        return True

    def finish(self) -> Node:
        """Return the root of what was read."""
        if len(self.statements) == 1 and self.statements[0].op is ops.MODULE:
            return self.statements[0]
        return build.module(self.statements)


def _operations() -> list[str]:
    return [op.name for op in Op.get_attr_map(ops.KINDS)]
