"""What goes wrong while a program runs: reasons in the words of the IR, and where in the program they arose.

Compiled statements only raise `Fault` with a reason. The statement and the values of the loop variables are found
afterwards, from the line of the compiled source, so that running costs nothing for it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import CodeType, TracebackType
from typing import Any, Final, NamedTuple, NoReturn

from scaly_ir.dialects.prog import ops
from scaly_ir.dialects.prog.context import symbol_name, value_name
from scaly_ir.dialects.prog.printer import render, scalar_text
from scaly_ir.errors import EvaluationError
from scaly_ir.graph import Node
from scaly_ir.text.spelling import spell_name

_SHOWN: Final = 400
"""A statement with a longer text is cut off in messages."""
_PRINTED: Final = 2000
"""A statement of more nodes is not printed at all: its text could be exponentially long."""


class Fault(Exception):  # noqa: N818 - becomes an EvaluationError
    """What a program did that has no meaning; `operation` is what did it in the statement, if that is known."""

    operation: Node | None = None


# --- reasons ----------------------------------------------------------------------------------------------------------


def fault(reason: str) -> NoReturn:
    """Stop for a reason that was known before the run."""
    raise Fault(reason)


def unwritten(name: str, at: int) -> NoReturn:
    """Stop at the read of a poisoned element."""
    raise Fault(f"read of element {at} of {value_name(name)}, which is never written before")


def outside(verb: str, name: str, at: int, size: int) -> NoReturn:
    """Stop at an index that the buffer does not have."""
    raise Fault(f"{verb} of element {at} of {value_name(name)}, which has {counted(size)}")


def counted(size: int) -> str:
    """Return a number of elements in words."""
    return "1 element" if size == 1 else f"{size} elements"


def read_only(name: str) -> NoReturn:
    """Stop at the write to an input or a table."""
    raise Fault(f"write to {value_name(name)}, which is read-only")


def negative(operator: str, x: int, y: int) -> NoReturn:
    """Stop at a division in an index whose operands C and mathematics see differently."""
    raise Fault(f"'{operator}' of {x} by {y} in an index, where operands must not be negative")


def by_zero(operator: str, x: int) -> NoReturn:
    """Stop at a division of integers that has no value."""
    raise Fault(f"'{operator}' of {x} by zero")


def unfit(value: float, dtype: str) -> NoReturn:
    """Stop at the conversion of a float that no integer of the type holds."""
    raise Fault(f"conversion of {value} to {dtype}, which cannot hold it")


def bad_step(name: str, step: int) -> NoReturn:
    """Stop at a loop that does not get ahead."""
    raise Fault(f"step {step} of loop {value_name(name)} is not positive")


def beyond(name: str) -> NoReturn:
    """Stop at a loop variable that no int64 holds, where C has undefined behaviour."""
    raise Fault(f"loop variable {value_name(name)} leaves the range of int64")


def not_finite(operation: Node, value: float) -> NoReturn:
    """Stop at the operation that gave a NaN or an infinity, where somebody wants to know that."""
    found = Fault(f"'{operation.op.name}' gives {'a NaN' if value != value else value}")
    found.operation = operation
    raise found


# --- where ------------------------------------------------------------------------------------------------------------


class Loop(NamedTuple):
    """An enclosing loop: those around it, its variable, and the source of the variable's value."""

    outer: Loop | None
    name: str
    source: str


@dataclass(slots=True)
class Piece:
    """One compiled function: which statement each of its lines came from, in which loops."""

    procedure: str
    first_lines: list[int] = field(default_factory=list)
    sites: list[tuple[Node, Loop | None]] = field(default_factory=list)

    def mark(self, line: int, statement: Node, loop: Loop | None) -> None:
        """Note that a statement's code begins at a line."""
        if self.first_lines and self.first_lines[-1] == line:
            self.sites[-1] = (statement, loop)
        else:
            self.first_lines.append(line)
            self.sites.append((statement, loop))


def located(
    fault: Fault,
    trace: TracebackType | None,
    pieces: Mapping[CodeType, Piece],
    text_of: Callable[[Node], str] | None = None,
) -> EvaluationError:
    """Return a fault as the error that users see; `text_of` writes statements, if they are not those of `prog`."""
    found: tuple[Piece, TracebackType] | None = None
    while trace is not None:
        piece = pieces.get(trace.tb_frame.f_code)
        if piece is not None:
            found = piece, trace
        trace = trace.tb_next
    reason = str(fault)
    if found is None:
        return EvaluationError(reason, reason=reason)
    piece, trace = found
    place = bisect_right(piece.first_lines, trace.tb_lineno) - 1
    if place < 0:
        return EvaluationError(f"{symbol_name(piece.procedure)}: {reason}", reason=reason, procedure=piece.procedure)
    statement, loop = piece.sites[place]
    loops = _values(loop, trace.tb_frame.f_locals)
    message = f"{symbol_name(piece.procedure)}: {reason}\n  in '{(text_of or statement_text)(statement)}'"
    if loops:
        shown = list(loops.items())
        values = ", ".join([f"{value_name(name)} = {value}" for name, value in shown[-20:]])
        message += f"\n  with {'..., ' if len(shown) > 20 else ''}{values}"
    failure = EvaluationError(message, reason=reason, procedure=piece.procedure, statement=statement, loops=loops)
    failure.blamed = () if fault.operation is None else (fault.operation,)
    return failure


def _values(loop: Loop | None, local: Mapping[str, Any]) -> dict[str, int]:
    """Return the values of the variables of the enclosing loops, outermost first."""
    found = []
    while loop is not None:
        name, _, slot = loop.source.partition("[")
        value = local[name][int(slot[:-1])] if slot else local.get(name)
        if value is not None:
            found.append((loop.name, int(value)))
        loop = loop.outer
    return dict(reversed(found))


def statement_text(statement: Node) -> str:
    """Return a statement as it is printed, of a loop only the head; cut off when it is long."""
    if statement.op is ops.FOR:
        return f"prog.for {_cut(statement.args[0])} {{...}}"
    return _cut(statement)


def _cut(node: Node) -> str:
    name = node.attrs.get("name", node.attrs.get("target"))
    short = f"{node.op.name} ..." if name is None else f"%{spell_name(name)} = {node.op.name} ..."
    return cut([node], scalar_text if node.op is ops.RANGE else render, short)


def cut(nodes: Sequence[Node], spell: Callable[[Node], str], short: str) -> str:
    """Return the text of the first node, cut off when it is long; `short` if the nodes are too many to be printed."""
    pending, count = list(nodes), 0
    while pending:
        count += 1
        if count > _PRINTED:
            return short
        pending.extend(pending.pop().args)
    text = spell(nodes[0]).strip()
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
