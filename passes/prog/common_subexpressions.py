"""Bind expressions that a `prog` procedure computes more than once to scalars, so that each is computed once.

`value_numbers.py` says what is equal; here it is decided what is bound, where and under which name, and the statements
are rebuilt. Source: operator specification A5.
"""

from __future__ import annotations

from bisect import bisect_right

from scaly_ir.dialects.prog import build, ops
from scaly_ir.dialects.prog.build import body_of, with_body
from scaly_ir.graph import Node, intern_node
from scaly_ir.graph.observe import report_derived
from scaly_ir.passes.prog.names import names_for
from scaly_ir.passes.prog.references import MANY
from scaly_ir.passes.prog.value_numbers import Value, ValueNumbers


def eliminate(root: Node) -> Node:
    """Return a module with the repeated expressions of each procedure bound, or the module itself if there are none."""
    procedures = [_eliminate(procedure) for procedure in root.args]
    unchanged = [after is before for after, before in zip(procedures, root.args, strict=True)]
    return root if all(unchanged) else root.replace(args=procedures)


def _eliminate(procedure: Node) -> Node:
    found = ValueNumbers(procedure)
    repeated = [value for value in found.values if _is_bound(value)]
    return _Rebuilding(found, _name(repeated, procedure)).procedure(procedure) if repeated else procedure


def _is_bound(value: Value) -> bool:
    """Tell whether a value is computed more than once: leaves are not computed at all."""
    return value.pure and value.uses > 1 and value.node.op not in ops.SCALAR_LEAVES


# --- names ------------------------------------------------------------------------------------------------------------


def _name(values: list[Value], procedure: Node) -> dict[Value, str]:
    """Return the values with names: the largest first, then in the order in which the text shows them.

    Where nobody counts the text any more, users come before operands.
    """
    ranked = sorted(values, key=lambda value: (-value.size, value.number if value.size < MANY else -value.number))
    return dict(zip(ranked, names_for(procedure, "cse_v", 1), strict=False))


# --- the new statements -----------------------------------------------------------------------------------------------


class _Rebuilding:
    """Writes a procedure anew with values bound to names."""

    def __init__(self, found: ValueNumbers, names: dict[Value, str]) -> None:
        self.found = found
        self.written: list[Node] = []
        """What stands for each value, by number."""
        self.bindings: dict[int, list[Node]] = {}
        """The bindings before each statement, by its position: operands come before users, as the values do."""
        for value in found.values:
            node = value.node
            if value.operands:
                operands = tuple([self.written[operand.number] for operand in value.operands])
                node = intern_node(node.op, operands, node.attrs, node.type)
            name = names.get(value)
            if name is not None:
                self.bindings.setdefault(_place(value), []).append(build.assign(name, node, declare=True))
                node = build.var(name, node.type)
            self.written.append(node)

    def procedure(self, procedure: Node) -> Node:
        """Return the procedure with its bindings."""
        position = 0
        bodies: list[list[Node]] = [[]]
        loops = [procedure]
        pending = [iter(body_of(procedure))]
        while True:
            for statement in pending[-1]:
                bindings = self.bindings.get(position, ())
                report_derived(statement, *bindings)
                bodies[-1] += bindings
                position += 1
                if statement.op is ops.FOR:
                    loops.append(statement)
                    bodies.append([])
                    pending.append(iter(body_of(statement)))
                    break
                slots = [self.written[value.number] for value in self.found.slots[position - 1]]
                bodies[-1].append(statement.replace(args=slots))
            else:
                pending.pop()
                rebuilt = with_body(loops.pop(), bodies.pop())
                if not loops:
                    return rebuilt
                bodies[-1].append(rebuilt)


def _place(value: Value) -> int:
    """Return the position of the statement before which a value is bound.

    It stands in the innermost list that holds all expressions of that value, and is the first there with one of them.
    """
    positions = value.home.enclosing(value.last).positions
    return positions[bisect_right(positions, value.first) - 1]
