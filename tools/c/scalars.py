"""Scalar expressions of one procedure as C text; iterative, and linear in the size of the text.

Which text an operator has is `spelling.py`'s; decided here is whether integer arithmetic may be written plainly.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from scaly_ir.dialects.prog import ops
from scaly_ir.graph import Node
from scaly_ir.numeric.bounds import bounds, may_wrap
from scaly_ir.numeric.interval import Interval, full
from scaly_ir.numeric.table import scalar_name
from scaly_ir.op import Op
from scaly_ir.targets import INTRINSIC, LEGALIZE, target_attr
from scaly_ir.text.locations import Place
from scaly_ir.text.spelling import spell_name
from scaly_ir.tools.c.errors import CTranslateError
from scaly_ir.tools.c.helpers import HELPERS, helper_name
from scaly_ir.tools.c.literals import float_text, int_text, is_plain_int
from scaly_ir.tools.c.ranges import Ranges
from scaly_ir.tools.c.spelling import Spelling, SpellingError, Template, call_of, guarded, spelling_of, widened
from scaly_ir.types import INT32, INT64, DType

_INT: Final = full(INT32)


class Scalars:
    """Writes the scalars of one procedure.

    `places` gives the C text of each buffer, `variables` that of each variable where nothing else is said; `used`
    receives the helpers that the text calls.
    """

    def __init__(
        self, dialect: str, places: Mapping[str, str], variables: Mapping[str, str], ranges: Ranges, used: set[str]
    ) -> None:
        self._dialect = dialect
        self._places = places
        self._variables = variables
        self._ranges = ranges
        self._used = used
        self._bounds: dict[Node, Interval] = {}
        self._plain_ints: dict[Node, bool] = {}
        self._spellings: dict[tuple[Op, DType, int], Spelling] = {}
        self._number = 0
        self._statement: Node | None = None

    def begin(self, number: int, statement: Node) -> None:
        """Go on to another statement, where other things may be known."""
        self._number, self._statement = number, statement
        if self._bounds:
            self._bounds = {}
        if self._plain_ints:
            self._plain_ints = {}

    def text(self, root: Node, variables: Mapping[str, str] | None = None) -> str:
        """Return the text of a scalar, or of a view as an element; `variables` are those of this one."""
        variables = self._variables if variables is None else variables
        leaf = None if root.args else self._leaf(root, variables)
        if leaf is not None:
            return leaf
        pieces: list[str] = []
        pending: list[str | Node] = [root]
        while pending:
            entry = pending.pop()
            if isinstance(entry, str):
                pieces.append(entry)
                continue
            op = entry.op
            if op is ops.LOAD or op is ops.VIEW:
                view = entry.args[0] if op is ops.LOAD else entry
                place, index = self._places[view.attrs["buffer"]], view.args[0]
                leaf = None if index.args else self._leaf(index, variables)
                if leaf is None:
                    pieces.append(f"{place}[")
                    pending += ["]", index]
                else:
                    pieces.append(f"{place}[{leaf}]")
                continue
            leaf = self._leaf(entry, variables)
            if leaf is None:
                args = entry.args
                pending += [part if isinstance(part, str) else args[part] for part in reversed(self._template(entry))]
            else:
                # Two signs in a row would be another operator.
                negative = leaf[0] == "-" and pieces and pieces[-1][-1:] == "-"
                pieces.append(f"({leaf})" if negative else leaf)
        return "".join(pieces)

    def advance(self, variable: str, domain: Node) -> str:
        """Return how the variable of a loop goes on to the next trip."""
        step = self.text(domain.args[2])
        if self._ranges.may_leave_int64(domain):
            helper = helper_name("next", INT64)
            self._used.add(helper)
            return f"{variable} = {helper}({variable}, {step})"
        return f"++{variable}" if step == "1" else f"{variable} += {step}"

    def _leaf(self, node: Node, variables: Mapping[str, str]) -> str | None:
        op = node.op
        if op is ops.VAR:
            name = node.attrs["name"]
            if name not in variables:  # a reserved symbol: they need no declaration
                raise self.refused(f"symbol '%{spell_name(name)}' is no lane width, so it has no C form", node)
            return variables[name]
        if op is ops.CONST_INT:
            return int_text(node.attrs["value"])
        if op is ops.CONST_FLOAT:
            return float_text(node.attrs["value"], node.type, self._dialect)
        return None

    def _template(self, node: Node) -> Template:
        spelling = self.spelling(node)
        if spelling.function in HELPERS:
            self._used.add(spelling.function)
        if not spelling.inline or node.type.kind != "int":
            return spelling.plain
        if spelling.wrapping is not None and may_wrap(node, self._ranges, self._bounds):
            return spelling.wrapping
        helper = guarded(node.op, node.type)
        if helper and self._may_divide_least(node):
            self._used.add(helper)
            return call_of(helper, 2)
        return widened(spelling.plain, node.type) if self._leaves_int(node) else spelling.plain

    def spelling(self, node: Node) -> Spelling:
        """Return how the operator of a scalar is written; `CTranslateError` when nothing says so."""
        key = (node.op, node.type, len(node.args))
        spelling = self._spellings.get(key)
        if spelling is None:
            try:
                spelling = spelling_of(*key)
            except SpellingError as problem:
                raise self.refused(str(problem), node) from problem
            if spelling is None:
                raise self.refused(f"no c lowering for operator '{node.op.name}'", node, what_helps(node.op))
            self._spellings[key] = spelling
        return spelling

    def refused(self, message: str, node: Node, hint: str = "") -> CTranslateError:
        """Return the error for something in the current statement that has no C form."""
        assert self._statement is not None
        return CTranslateError(message, Place(self._number, self._statement, node), hint)

    def _may_divide_least(self, node: Node) -> bool:
        x, y = [bounds(operand, self._ranges, self._bounds) for operand in node.args]
        return -1 in y and full(node.type).low in x

    # --- what C computes as plain int ---------------------------------------------------------------------------------

    def _leaves_int(self, node: Node) -> bool:
        """Tell whether the operands of int64 arithmetic are ``int`` for C, and its result may not be one."""
        if node.type is not INT64 or not all([self._is_int(operand) for operand in node.args]):
            return False
        found = bounds(node, self._ranges, self._bounds)
        return found.low < _INT.low or found.high > _INT.high

    def _is_int(self, root: Node) -> bool:
        """Tell whether an int64 scalar has type ``int`` for C: it is made of small constants and lane widths."""
        known = self._plain_ints
        pending = [root]
        while pending:
            node = pending[-1]
            if node in known:
                pending.pop()
                continue
            operands = self._int_operands(node)
            if isinstance(operands, bool):
                known[node] = operands
                continue
            missing = [operand for operand in operands if operand not in known]
            if missing:
                pending.extend(missing)
            elif all([known[operand] for operand in operands]):
                found = bounds(node, self._ranges, self._bounds)
                known[node] = _INT.low <= found.low and found.high <= _INT.high
            else:
                known[node] = False
        return known[root]

    def _int_operands(self, node: Node) -> bool | tuple[Node, ...]:
        """Return the operands that decide whether a scalar is an ``int``, or that it is one."""
        op = node.op
        if op is ops.CONST_INT:
            return is_plain_int(node.attrs["value"])
        if op is ops.VAR:
            return bool(node.attrs["name"].startswith(ops.RESERVED_PREFIX))
        if op is ops.LOAD or scalar_name(op) is None or node.type is not INT64:
            return False
        if not self.spelling(node).inline or may_wrap(node, self._ranges, self._bounds):
            return False
        return tuple([operand for operand in node.args if operand.type is INT64])


def what_helps(op: Op, target: str = "c") -> str:
    """Return what to do about an operator without text in a target, or an empty string."""
    if target_attr(op, INTRINSIC, target) is not None:
        return "pass 'lower_intrinsics' rewrites it for this target"
    if target_attr(op, LEGALIZE, target) is not None:
        return "pass 'legalize' rewrites it for this target"
    return ""


class External(NamedTuple):
    """A function that no header declares: the first call of it gives its types."""

    call: Node


def external_functions(nodes: Iterable[Node]) -> dict[str, External]:
    """Return the functions that scalars among some nodes call and that no header declares, by name."""
    found: dict[str, External] = {}
    for node in nodes:
        spelling = None
        if node.op not in ops.ROWS and not node.op.name.startswith("prog."):
            try:
                spelling = spelling_of(node.op, node.type, len(node.args))
            except SpellingError:
                continue  # found again where there is a place to blame
        if spelling is not None and spelling.external:
            found.setdefault(spelling.external, External(node))
    return found
