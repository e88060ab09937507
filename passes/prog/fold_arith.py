"""Fold constants and identities, what is read from tables, and buffers that hold one number throughout.

Statements are folded in program order, so that a buffer filled with a number is known when the next statement reads it;
another round follows only when a declaration came or went, as that alone can make more known. Linear in the text of the
program for each round. Source: lowering specification 3.8.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Final, NamedTuple

from scaly_ir.dialects.prog import ops
from scaly_ir.dialects.prog.affine import loop_values
from scaly_ir.dialects.prog.build import body_of, statements_in, with_body
from scaly_ir.dialects.prog.context import buffer_size
from scaly_ir.folding import FOLD, Folder
from scaly_ir.graph import Node, postorder
from scaly_ir.graph.matcher import PatternMatcher
from scaly_ir.graph.observe import report_rewrite
from scaly_ir.graph.pattern import Pattern, is_constant
from scaly_ir.graph.rewrite import AfterOperands, AroundOperands, BeforeOperands, graph_rewrite
from scaly_ir.pass_manager import Pass
from scaly_ir.passes.prog.buffer_uses import escaping, without_dead_buffers
from scaly_ir.passes.prog.canonicalization import KEEP_PLACES, scalar_folder
from scaly_ir.passes.prog.faults import with_sound_procedures
from scaly_ir.passes.prog.names import names_for
from scaly_ir.passes.prog.shapes import is_inline_shaped, is_temporary
from scaly_ir.passes.prog.tables import Tables


@dataclass(frozen=True)
class FoldArith(Pass):
    """Folds arithmetic, tables and fills to a fixed point."""

    name: ClassVar[str] = "fold_arith"
    summary: ClassVar[str] = "fold arithmetic, reads of constant tables, and buffers filled with a number"
    dialects: ClassVar[frozenset[str]] = frozenset({"prog"})

    def run(self, root: Node) -> Node:
        """Fold in each procedure; indices and bounds stay where they would show a fault of code that never runs."""
        folder = scalar_folder()

        def folded(procedure: Node, *, keep_places: bool = False) -> Node:
            return _Folding(procedure, folder, keep_places=keep_places).run()

        procedures = [folded(procedure) for procedure in root.args]
        return with_sound_procedures(root, procedures, partial(folded, keep_places=True))


@dataclass(frozen=True)
class FoldArithAfterUnroll(FoldArith):
    """The same pass, where it stands in the pipeline for the second time."""

    name: ClassVar[str] = "fold_arith_after_unroll"
    summary: ClassVar[str] = "fold_arith again, once loops are unrolled"


class _Context(NamedTuple):
    """What the rules are given."""

    fold: Callable[[Node], Node | None]
    tables: Tables


_SCALARS: Final = (
    PatternMatcher([(Pattern(ops.LOAD, name="load"), lambda load, ctx: ctx.tables.read(load), "read")]) + FOLD
)
"""Rules after operands."""

_ENTRIES: Final = BeforeOperands(
    PatternMatcher(
        [
            (Pattern(ops.LOAD, name="load"), lambda load, ctx: ctx.tables.picked(load), "pick"),
            (Pattern(ops.is_shared, name="value"), lambda value, ctx: ctx.tables.composed(value), "compose"),
        ]
    )
)
"""Rules for entries of tables: the largest expression becomes a table."""


class _Folding:
    """The folding of one procedure."""

    def __init__(self, procedure: Node, folder: Folder, *, keep_places: bool) -> None:
        self._procedure = procedure
        self._fold = folder.fold
        self._scalars = AroundOperands(KEEP_PLACES, _SCALARS) if keep_places else AfterOperands(_SCALARS)
        self._names = names_for(procedure, "k")

    def run(self) -> Node:
        """Return the procedure folded, or the procedure itself."""
        procedure = self._procedure
        while True:
            rounded = self._round(procedure)
            folded = without_dead_buffers(rounded)
            kept = _declarations(folded)
            if folded is not rounded:
                _tell_dropped(_declarations(rounded), kept)
            if kept == _declarations(procedure):
                return folded
            procedure = folded

    def _round(self, procedure: Node) -> Node:
        """Fold each statement once, with what is known by then."""
        tables = Tables(_declarations(procedure), self._names)
        context = _Context(self._fold, tables)
        buffers = _sole_stores(procedure)
        body: list[Node] = []
        fills: dict[str, Node] = {}
        for statement in body_of(procedure):
            folded = statement
            if statement.op is not ops.BUFFER:
                folded = graph_rewrite(statement, self._scalars, ctx=context)
                folded = graph_rewrite(folded, _ENTRIES, ctx=context)
            body.append(folded)
            filled = _filled(folded, buffers)
            if filled is not None:
                tables.fill(*filled)
                fills[filled[0].attrs["name"]] = folded
        read = _loaded(body) if fills else set()
        gone = {statement for name, statement in fills.items() if name not in read}
        for statement in fills.values():
            if statement in gone:
                report_rewrite("drop_fill", statement)
        return with_body(procedure, [*tables.made, *[statement for statement in body if statement not in gone]])


def _declarations(procedure: Node) -> list[Node]:
    return [statement for statement in body_of(procedure) if statement.op is ops.BUFFER]


def _tell_dropped(declarations: Iterable[Node], kept: Iterable[Node]) -> None:
    staying = frozenset(kept)
    for declaration in declarations:
        if declaration not in staying:
            report_rewrite("drop_dead_buffer", declaration)


# --- buffers filled with a number -------------------------------------------------------------------------------------


def _sole_stores(procedure: Node) -> dict[str, Node]:
    """Return the temporaries, by name, that nothing but one statement, a store, writes."""
    stores: dict[str, int] = {}
    for node in statements_in(procedure):
        if node.op in (ops.STORE, ops.STORE_PAIR):
            name = node.args[0].attrs["buffer"]
            stores[name] = stores.get(name, 0) + 1
    kept = escaping(procedure)
    declared = {node.attrs["name"]: node for node in _declarations(procedure) if is_temporary(node)}
    return {name: node for name, node in declared.items() if stores.get(name) == 1 and name not in kept}


def _filled(statement: Node, buffers: dict[str, Node]) -> tuple[Node, Node] | None:
    """Return the buffer that a statement fills with a number, and the number; None for any other statement."""
    store = statement.args[1] if is_inline_shaped(statement) else statement
    if store.op is not ops.STORE or not is_constant(store.args[1].op):
        return None
    view, number = store.args
    buffer = buffers.get(view.attrs["buffer"])
    if buffer is None:
        return None
    elements = buffer_size(buffer)
    first = view.args[0].attrs.get("value")
    written = loop_values(statement.args[0]) if store is not statement else range(1) if first == 0 else None
    return (buffer, number) if elements and written == range(elements) else None


def _loaded(body: list[Node]) -> set[str]:
    """Return the buffers that statements load from."""
    return {node.args[0].attrs["buffer"] for node in postorder(*body) if node.op is ops.LOAD}
