"""Going through a function of buffers and making it anew, statement by statement, with values in place of names.

What passes over such functions share: scopes, names that stay unique when a region is dissolved, and regions around
statements. Nothing recurses, and a walk is linear in the text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from scaly_ir.dialects.affine import ops as affine_ops
from scaly_ir.dialects.buffer import build, ops
from scaly_ir.dialects.buffer.names import Names, numbered
from scaly_ir.dialects.buffer.substitution import with_values
from scaly_ir.dialects.prog import build as prog
from scaly_ir.dialects.prog.affine import count_of
from scaly_ir.graph import Node
from scaly_ir.graph.observe import report_derived


def in_functions(root: Node, change: Callable[[Node], Node]) -> Node:
    """Return a module with each function changed and its values numbered; the module itself if none changes."""
    functions = [numbered(change(function)) for function in root.args]
    return root if list(root.args) == functions else build.module(functions)


class Region:
    """A region that is open: what is left of it, and what it has become so far.

    One that is `dissolved` adds its statements to those of the region around it, and what its terminator gives becomes
    what the statement around it binds.
    """

    __slots__ = ("dissolved", "made", "names", "operands", "owner", "params", "rest", "values")

    def __init__(self, owner: Node, operands: Sequence[Node], around: Region | None = None) -> None:
        region = build.region_of(owner)
        assert region is not None
        self.owner = owner
        self.operands = operands
        self.rest: Iterator[Node] = iter(build.body_of(region))
        self.dissolved = around is not None
        self.made: list[Node] = around.made if around is not None else []
        self.names: list[str] = around.names if around is not None else []
        self.params: list[Node] = []
        self.values: Sequence[Node] = ()


class Rebuilding:
    """One walk through a function; a pass says in `enter` and `place` what becomes of statements."""

    def __init__(self, function: Node) -> None:
        self.function = function
        self.regions: list[Region] = []
        self.current = function
        """The statement that was come to last."""
        self.values: dict[str, Node] = {}
        """What stands for a name of the function as it was, where that is not the name itself."""
        self.names = Names(function)
        self._visible: set[str] = set()

    def run(self) -> Node:
        """Return the function as it becomes."""
        self.open(self.function, build.operands_of(self.function))
        while True:
            region = self.regions[-1]
            for statement in region.rest:
                self.current = statement
                operands = [self.value(operand) for operand in build.operands_of(statement)]
                if build.region_of(statement) is not None:
                    self.enter(statement, operands)
                    if self.regions[-1] is not region:
                        break
                elif region.dissolved and build.is_terminator(statement):
                    region.values = operands
                else:
                    self.place(statement.replace(args=operands))
            else:
                whole = self.close()
                if whole is not None:
                    return whole

    # --- what a pass does ---------------------------------------------------------------------------------------------

    def enter(self, statement: Node, operands: Sequence[Node]) -> None:
        """Come to a statement with a region, which has other operands now: open it, dissolve it, or pass it by."""
        self.open(statement, operands)

    def place(self, statement: Node) -> None:
        """Come to the end of a statement, which is made of other operands now: emit it, or bind its names."""
        self.emit(statement)

    def scalar(self, operand: Node) -> Node:
        """Return what a scalar with other values in it becomes."""
        return operand

    # --- values -------------------------------------------------------------------------------------------------------

    def value(self, operand: Node) -> Node:
        """Return an operand with the values that its names stand for."""
        made = with_values(operand, self.values) if self.values else operand
        return self.scalar(made) if operand.args else made

    def bind(self, name: str, value: Node) -> None:
        """Have a name stand for a value; a scalar that is computed is computed once, and one without a value is 0."""
        if value.op is ops.UNDEF:
            value = prog.const(0, value.type)
        if build.is_variable(value) or build.is_literal(value):
            self.values[name] = value
        else:
            self.emit(build.let(name, value))

    def define(self, name: str, type_: Any) -> str:
        """Bring a name into scope, and return the name that it has from now on."""
        new = self.names.fresh(name) if name in self._visible else name
        self._visible.add(new)
        self.regions[-1].names.append(new)
        if new == name:
            self.values.pop(name, None)
        else:
            self.values[name] = build.value(new, type_)
        return new

    # --- statements ---------------------------------------------------------------------------------------------------

    def emit(self, statement: Node) -> Node:
        """Add a statement to the innermost region; what it binds is in scope from here."""
        bound = build.results_of(statement)
        if bound:
            names = tuple([self.define(name, type_) for name, type_ in bound])
            if names != statement.attrs["results"]:
                statement = statement.with_attrs(results=names)
        report_derived(self.current, statement)
        self.regions[-1].made.append(statement)
        return statement

    def open(self, owner: Node, operands: Sequence[Node]) -> None:
        """Begin the region of a statement or function."""
        region = Region(owner, operands)
        self.regions.append(region)
        declared = build.params_of(owner.args[-1])
        region.params = [build.declaration(self.define(p.attrs["name"], p.type), p.type) for p in declared]

    def dissolve(self, owner: Node, operands: Sequence[Node], arguments: Sequence[Node]) -> None:
        """Begin a region whose statements stand in the region around it, with `arguments` for its parameters."""
        self.regions.append(Region(owner, operands, self.regions[-1]))
        for param, argument in zip(build.params_of(owner.args[-1]), arguments, strict=True):
            self.bind(param.attrs["name"], argument)

    def close(self) -> Node | None:
        """End the innermost region; returns the function when that was its own."""
        region = self.regions.pop()
        self.current = region.owner
        if region.dissolved:
            for binding, value in zip(build.results_of(region.owner), region.values, strict=True):
                self.bind(binding.name, value)
            return None
        self._visible.difference_update(region.names)
        whole = region.owner.replace(args=[*region.operands, build.region(region.params, region.made)])
        if not self.regions:
            return whole
        self.place(whole)
        return None


def trip_count(loop: Node, operands: Sequence[Node]) -> int | None:
    """Return how often a loop with these operands runs; None where its bounds are not literals, or it is no loop."""
    if loop.op is not affine_ops.FOR or not all([build.is_literal(bound) for bound in operands[:2]]):
        return None
    lower, upper = [int(bound.attrs["value"]) for bound in operands[:2]]
    return count_of(range(lower, upper, loop.attrs["step"]))
