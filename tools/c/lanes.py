"""Groups of lanes as C: a function for each, called for the full groups and once more for what remains.

In dialect ``c`` the function loops over its lanes. In dialect ``gnu`` it computes on vectors where lanes are
independent or add up in order (`vectors.py`), and loops otherwise. Source: lowering specification 5.7.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cached_property
from typing import Final

from scaly_ir.dialects.prog import ops
from scaly_ir.dialects.prog.build import statements_in
from scaly_ir.graph import Node
from scaly_ir.passes.prog.references import roots
from scaly_ir.tools.c.body import INDENT, Body, Unit, loop_head
from scaly_ir.tools.c.errors import CTranslateError
from scaly_ir.tools.c.lane_groups import LaneGroup, lane_group
from scaly_ir.tools.c.literals import int_text
from scaly_ir.tools.c.names import Names, spelled
from scaly_ir.tools.c.ranges import Ranges
from scaly_ir.tools.c.usage import Usage
from scaly_ir.tools.c.vectors import VectorBody, vector_plan

_words: Final = re.compile(r"[A-Za-z0-9_]+").findall


class ProcedureBody(Body):
    """The statements of a procedure, with functions for its lanes in `functions`."""

    @cached_property
    def _roots(self) -> Mapping[str, str]:
        """The owner of the storage behind each buffer."""
        return roots(self._proc)

    def _lanes(self, loop: Node, indent: str) -> bool:
        group = lane_group(loop)
        if group is None:
            return False
        mark = self._mark
        name = self._unit.names.fresh(spelled(f"{self._proc.attrs['name']}_lanes_{len(self.functions) + 1}"))
        function = _LaneFunction(self._unit, self._proc, self._usage, self._ranges, group, name)
        self.functions.append(function.text(self._roots))
        start, trips = self._names.of[group.start], int_text(group.trips)
        width = self._unit.widths[group.width]
        captured = [self._places[buffer] for buffer in group.buffers]
        captured += [self._names.of[scalar] for scalar in group.scalars]
        rest = "".join([f", {argument}" for argument in captured])
        head = f"for (long long {start} = 0; {start} + {width} <= {trips}; {start} += {width})"
        self._add(indent, f"{head} {{", mark)
        self._add(indent + INDENT, f"{name}({start}, {width}{rest});")
        self._add(indent, "}")
        self._add("", f"#if ({trips} % {width}) != 0")
        self._add(indent, f"{name}({trips} - {trips} % {width}, {trips} % {width}{rest});")
        self._add("", "#endif")
        return True


class _LaneFunction:
    """Writes the function of a group of lanes."""

    def __init__(self, unit: Unit, proc: Node, usage: Usage, ranges: Ranges, group: LaneGroup, name: str) -> None:
        self._unit = unit
        self._proc = proc
        self._usage = usage
        self._ranges = ranges
        self._group = group
        self._name = name
        self._names = Names(unit.names)
        outside = [group.start, *group.buffers, *group.scalars]
        self._names.give([(local, usage.names[local]) for local in outside])
        self._valid = self._names.fresh(f"{name}_valid")
        inside = [local for statement in statements_in(group.vector) for local in _declared(statement)]
        self._names.give([(local, False) for local in (group.lane, *inside)])

    def text(self, owners: Mapping[str, str]) -> str:
        """Return the function; `owners` has the owner of the storage behind each buffer of the procedure."""
        group = self._group
        lines = self._vectors(owners) if self._unit.options.dialect == "gnu" else None
        attributes = "" if lines is None else " __attribute__((always_inline))"
        lines = self._loop() if lines is None else lines
        params = {self._names.of[group.start]: "long long", self._valid: "long long"}
        for name, kind in group.buffers.items():
            params[self._places()[name]] = f"{'' if name in group.stored else 'const '}{kind.c_type}*"
        params |= {self._names.of[name]: kind.c_type for name, kind in group.scalars.items()}
        mentioned = set(_words("".join(lines)))
        unused = [f"{INDENT}(void){name};\n" for name in params if name not in mentioned]
        listed = ", ".join([f"{kind} {name}" for name, kind in params.items()])
        return "".join([f"static inline{attributes} void {self._name}({listed}) {{\n", *unused, *lines, "}\n\n"])

    def _places(self) -> Mapping[str, str]:
        return {name: self._names.of[name] for name in self._group.buffers}

    def _loop(self) -> list[str]:
        """Return the lanes one after another."""
        group = self._group
        self._ranges.enter_lanes(group.start, group.lane, group.trips)
        self._unit.number += 1
        body = Body(self._unit, self._proc, self._usage, self._names, self._places(), self._ranges)
        body.write(group.body, INDENT * 2)
        head = loop_head(self._names.of[group.lane], "0", self._valid)
        return [f"{INDENT}{head} {{\n", *body.statements, f"{INDENT}}}\n"]

    def _vectors(self, owners: Mapping[str, str]) -> list[str] | None:
        """Return the lanes side by side, or None where they may not be."""
        plan = vector_plan(self._group, owners)
        if plan is None:
            return None
        self._ranges.enter_lanes(self._group.start, self._group.lane, self._group.trips)
        self._unit.number += 1
        try:
            return VectorBody(self._unit, self._usage, self._names, self._ranges, plan, self._valid).lines()
        except CTranslateError as failure:
            raise plan.of_program(failure) from failure


def _declared(statement: Node) -> list[str]:
    if statement.op is ops.FOR:
        return [statement.args[0].attrs["name"]]
    return [statement.attrs["target"]] if statement.op is ops.ASSIGN else []
