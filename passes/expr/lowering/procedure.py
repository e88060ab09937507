"""The procedure that is being written for a function: its names, buffers and statements.

Rules ask it for the buffer of an operand (`value`), for the buffer to fill (`result`), and emit statements. Source:
lowering specification 1.2.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import NamedTuple

from scaly_ir.dialects.expr import ops as expr_ops
from scaly_ir.dialects.prog import build
from scaly_ir.errors import LoweringError
from scaly_ir.graph import Node
from scaly_ir.graph.observe import report_derived
from scaly_ir.tables import Table
from scaly_ir.tensors import TensorType
from scaly_ir.types import DType

Body = Callable[[Node], Sequence[Node]]
"""Makes the statements of a loop from its variable."""


def storage_shape(type_: TensorType) -> tuple[int, ...]:
    """Return the shape of the buffer for a value: a scalar takes one element."""
    return type_.shape or (1,)


class Form(NamedTuple):
    """A form in which a function becomes a procedure: `in_place` are the outputs that are inputs as well."""

    function: Node
    in_place: tuple[int, ...] = ()


class Procedure:
    """One procedure under construction.

    `names` are the names of procedures by form of function. `values` holds the buffer of each operation that has one.
    """

    def __init__(self, function: Node, names: Mapping[Form, str], params: Sequence[Node]) -> None:
        self.function = function
        self.current = function
        """The operation that is being lowered; the function itself, before the first."""
        self.names = names
        self.body: list[Node] = []
        self.values: dict[Node, Node] = {}
        self.targets: dict[Node, Node] = {}
        """The output parameter that an operation is to be written to."""
        self.computed_index = False
        """Whether something is read or written at positions that are not known before the program runs."""
        self.shared: dict[Hashable, Sequence[Node]] = {}
        """The buffers of calls that several operations take results from."""
        self.loops: dict[Hashable, list[Node]] = {}
        """The loop operations, those together that are one loop, by `invocation`."""
        self._tables: dict[Table, Node] = {}
        self._taken = {str(param.attrs["name"]) for param in params}
        self._count = 0

    # --- names and storage --------------------------------------------------------------------------------------------

    def fresh(self, prefix: str) -> str:
        """Return the next name with a number: one counter serves temporaries, aliases and tables."""
        while True:
            name = f"{prefix}{self._count}"
            self._count += 1
            if name not in self._taken:
                self._taken.add(name)
                return name

    def loop_name(self, prefix: str, buffer: Node, part: str = "") -> str:
        """Return the name of a loop that fills a buffer; loops side by side share names, buffers do not."""
        name = wanted = f"{prefix}_{buffer.attrs['name']}{part}"
        number = 2
        while name in self._taken:
            name, number = f"{wanted}_{number}", number + 1
        return name

    def buffer(self, shape: Sequence[int], dtype: DType) -> Node:
        """Declare a temporary and return it."""
        declared = build.buffer(self.fresh("t"), shape, dtype)
        self.emit(declared)
        return declared

    def alias(self, source: Node, offset: int, shape: Sequence[int]) -> Node:
        """Declare a window of a buffer and return it."""
        declared = build.alias(self.fresh("t"), source, offset, shape)
        self.emit(declared)
        return declared

    def table(self, table: Table) -> Node:
        """Declare a table and return it; equal tables are one."""
        known = self._tables.get(table)
        if known is None:
            known = self._tables[table] = build.table(self.fresh("k"), table.values, table.dtype, table.shape)
            self.emit(known)
        return known

    # --- values -------------------------------------------------------------------------------------------------------

    def value(self, node: Node) -> Node:
        """Return the buffer that holds the entries of an operand."""
        if node not in self.values and node.op is expr_ops.CONST:
            table: Table = node.attrs["value"]
            self.values[node] = self.table(Table(table.dtype, storage_shape(node.type), table.data))
        return self.values[node]

    def result(self, node: Node) -> Node:
        """Return the buffer that an operation is to fill: the output it is for, or a new temporary."""
        target = self.targets.get(node)
        if target is None:
            target = self.buffer(storage_shape(node.type), node.type.dtype)
        self.values[node] = target
        return target

    def load(self, node: Node, index: Node) -> Node:
        """Return the entry of an operand at a flat index."""
        return build.load(build.view(self.value(node), index))

    # --- statements ---------------------------------------------------------------------------------------------------

    def emit(self, *statements: Node) -> None:
        """Add statements."""
        report_derived(self.current, *statements)
        self.body.extend(statements)

    def loop(self, prefix: str, buffer: Node, trips: Node | int, body: Body, kind: str = "global") -> Node:
        """Return a loop from 0 with step 1, called after the buffer it is about."""
        name = self.loop_name(prefix, buffer)
        return build.for_(build.range_(name, 0, trips, 1, kind), body(build.var(name)))

    def fill(self, buffer: Node, entry: Callable[[Node], Node], prefix: str = "i", trips: int | None = None) -> None:
        """Emit the loop that stores an expression of the flat index in each element of a buffer."""
        count = math.prod(buffer.attrs["shape"]) if trips is None else trips
        self.emit(self.loop(prefix, buffer, count, lambda at: [build.store(build.view(buffer, at), entry(at))]))

    def copy(self, source: Node, target: Node, trips: int) -> None:
        """Emit the loop that copies the first elements of a buffer, unless they are where they should be."""
        if source is target:
            return
        self.fill(target, lambda at: build.load(build.view(source, at)), "c", trips)

    # --- callees ------------------------------------------------------------------------------------------------------

    def callee(self, node: Node, key: str = "callee", in_place: tuple[int, ...] = ()) -> str:
        """Return the name of the procedure for a function that an operation refers to."""
        function = node.attrs[key]
        if not isinstance(function, Node):
            raise self.refuse(node, f"the function '{function}' is not defined here")
        return self.names[Form(function, in_place)]

    # --- errors -------------------------------------------------------------------------------------------------------

    def refuse(self, node: Node, reason: str) -> LoweringError:
        """Return the error for an operation without a form in `prog`."""
        name = self.function.attrs["name"]
        what = f"@{name}: '{node.op.name}' : {node.type}"
        return LoweringError(f"{what} cannot be lowered: {reason}", node, self.function)
