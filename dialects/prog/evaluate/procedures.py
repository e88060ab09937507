"""Procedures as Python functions: statements in order, loops as loops, calls as requests to whoever runs the function.

A compiled procedure takes its arguments as places, the workspace of the run, and where in it its own part begins.
What is wrong with a statement whatever the inputs is raised when, and only when, it is executed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from random import Random
from types import CodeType
from typing import Final, NamedTuple

import numpy as np

from scaly_ir.dialects.prog import ops
from scaly_ir.dialects.prog.build import body_of, buffer_of, params_of
from scaly_ir.dialects.prog.context import symbol_name, value_name
from scaly_ir.dialects.prog.evaluate import faults, places, scalars
from scaly_ir.dialects.prog.evaluate.expressions import Expressions, effectful
from scaly_ir.dialects.prog.evaluate.faults import Loop, Piece
from scaly_ir.dialects.prog.evaluate.loops import Domain, domain_of, shuffled
from scaly_ir.dialects.prog.evaluate.memory import ELEMENTS, filled
from scaly_ir.dialects.prog.evaluate.scope import Buffer, Misuse, Scope, Variable
from scaly_ir.dialects.prog.evaluate.site import Site, site_of
from scaly_ir.dialects.prog.evaluate.watching import NOBODY, Watch
from scaly_ir.dialects.prog.evaluate.writer import Function, Writer
from scaly_ir.graph import Node, postorder
from scaly_ir.types import INT64

_MOST_BLOCKS: Final = 12
"""Loops nested deeper go on in another function; Python's limit is 20."""
_MOST_LINES: Final = 4000
"""A function of more lines ends after a statement of the procedure's body, and another goes on."""


class Options(NamedTuple):
    """How a program is run."""

    shuffle: Random | None
    """Decides on the order of trips of global loops."""
    width: int
    strict: bool
    at_once: bool
    """Whether loops may be evaluated with arrays."""
    watch: Watch = NOBODY


class Procedure(NamedTuple):
    """A compiled procedure."""

    node: Node
    function: Function
    parameters: list[places.Parameter]


def compile_procedure(
    proc: Node, callees: Mapping[str, Procedure], options: Options, functions: dict[CodeType, Piece]
) -> Procedure:
    """Compile a procedure; `callees` are those it may call, `functions` is told where each line comes from."""
    return _Compiler(proc, callees, options, functions).compile()


class _Open(NamedTuple):
    """A body that is being compiled: what is left of it, and what comes when it ends."""

    statements: Iterator[Node]
    loop: Node | None
    domain: Domain | None
    outer: Loop | None
    levels: int
    """The levels of indentation that end with it."""
    outlined: bool


class _Compiler:
    def __init__(
        self, proc: Node, callees: Mapping[str, Procedure], options: Options, functions: dict[CodeType, Piece]
    ) -> None:
        self.proc = proc
        self.callees = callees
        self.options = options
        self.writer = Writer(proc.attrs["name"], functions)
        self.scope = Scope(options.width)
        self.heights = _heights(proc)
        self.effectful = effectful(proc)
        body = body_of(proc)
        self.split = max([self.heights.get(s, 0) for s in body], default=0) > _MOST_BLOCKS or _is_long(body)
        """Whether there are several functions, so that variables and places are kept in lists that they share."""
        self.variables = 0
        self.buffers = 0

    def compile(self) -> Procedure:
        """Compile the whole procedure."""
        writer, params = self.writer, params_of(self.proc)
        inputs = self.proc.attrs.get("input_count", 0)
        parameters = []
        writer.begin("args, w, first")
        prologue = []
        for position, param in enumerate(params):
            name, size = param.attrs["name"], math.prod(param.attrs["shape"])
            parameters.append(places.Parameter(name, size, param.type, position < inputs))
            read_only = True if position < inputs else None
            number = self.declare_buffer(param, Buffer(self.buffers, param.type, size, read_only, filled=False))
            prologue.append(f"p{number} = args[{position}]; {self.bind(number)}")
        self.body(body_of(self.proc))
        if self.split:
            prologue.insert(0, f"S = [None] * {self.variables}; P = [None] * {self.buffers}")
        return Procedure(self.proc, writer.end("; ".join(prologue)), parameters)

    def bind(self, number: int) -> str:
        """Return the source that makes the memory of a buffer ready for use."""
        text = f"b{number} = p{number}.cells; d{number} = p{number}.defined; r{number} = p{number}.read_only"
        return f"P[{number}] = p{number}; {text}" if self.split else text

    def declare_buffer(self, node: Node, buffer: Buffer) -> int:
        self.scope.declare_buffer(node.attrs["name"], buffer)
        self.buffers += 1
        self.writer.draft.own.add(buffer.number)
        return buffer.number

    def fresh(self) -> str:
        """Return a place for a variable."""
        self.variables += 1
        return f"S[{self.variables - 1}]" if self.split else f"v{self.variables}"

    # --- bodies -------------------------------------------------------------------------------------------------------

    def body(self, statements: tuple[Node, ...]) -> None:
        """Compile the statements of the procedure and all below them."""
        opened = [_Open(iter(statements), None, None, None, 0, outlined=False)]
        while opened:
            body = opened[-1]
            for statement in body.statements:
                if self.split and len(opened) == 1:
                    self.go_on()
                self.writer.mark(statement, self.scope.loop)
                try:
                    inner = self.statement(statement)
                except Misuse as misuse:
                    self.writer.line(f"fault({str(misuse)!r})")
                    continue
                if inner is not None:
                    opened.append(inner)
                    break
            else:
                opened.pop()
                if body.loop is not None:
                    self.close(body)
        if self.split and len(self.writer.drafts) > 1:
            self.leave_function()

    def go_on(self) -> None:
        """Between two statements of the procedure's body, begin another function when this one is long."""
        if len(self.writer.drafts) > 1 and len(self.writer.draft.lines) > _MOST_LINES:
            self.leave_function()
        if len(self.writer.drafts) == 1:
            self.enter_function()

    def enter_function(self) -> None:
        self.writer.begin("S, P, w, first")

    def leave_function(self) -> None:
        used = self.writer.draft.used
        function = self.writer.end("; ".join([f"p{number} = P[{number}]; {self.bind(number)}" for number in used]))
        self.writer.call(function, "S, P, w, first")

    def statement(self, node: Node) -> _Open | None:
        """Compile a statement; of a loop the head, and return its body."""
        op = node.op
        if op is ops.FOR:
            return self.loop(node)
        if op is ops.STORE or op is ops.STORE_PAIR:
            self.store(node)
        elif op is ops.ASSIGN:
            self.assign(node)
        elif op is ops.CALL:
            self.call(node)
        else:
            self.declaration(node)
        return None

    def expressions(self) -> Expressions:
        check = self.writer.constant(faults.not_finite) if self.options.watch.finite else None
        return Expressions(self.writer, self.scope, self.options.strict, self.effectful, check)

    def show(self, statement: Node, *sources: str) -> None:
        """Write that somebody is told of a statement, if anybody wants to know."""
        watch = self.options.watch.statement
        if watch is not None:
            tell = self.writer.constant(partial(watch, self.proc.attrs["name"], statement))
            self.writer.line(f"{tell}(({''.join([f'{source}, ' for source in sources])}))")

    # --- simple statements --------------------------------------------------------------------------------------------

    def store(self, node: Node) -> None:
        view, *values = node.args
        name = view.attrs["buffer"]
        buffer = self.scope.buffer(name, view.type)
        if values[0].type is not buffer.dtype:
            raise Misuse(f"value dtype {values[0].type} differs from buffer dtype {buffer.dtype}")
        expressions = self.expressions()
        index = expressions.index(view)
        sources = [expressions.value(value) for value in values]
        number = self.writer.use_buffer(buffer.number)
        if buffer.read_only is not False:
            self.writer.line(f"if r{number}: read_only({name!r})")
        for step in range(len(sources)):
            expressions.check("write", view, index, beyond=step)
        for step, source in enumerate(sources):
            at = f"{index} + {step}" if step else index
            self.writer.line(f"b{number}[{at}] = {source}; d{number}[{at}] = 1")
        self.show(node, index, *sources)

    def assign(self, node: Node) -> None:
        name = node.attrs["target"]
        source = self.expressions().value(node.args[0])
        if node.attrs.get("declare"):
            variable = Variable(self.fresh(), node.type, is_loop=False)
            self.scope.declare(name, variable)
        else:
            variable = self.scope.variable(name, node.type)
            if variable.is_loop:
                raise Misuse(f"assignment to {value_name(name)}, which is a loop variable")
        self.writer.line(f"{variable.source} = {source}")
        self.show(node, variable.source)

    def declaration(self, node: Node) -> None:
        attrs, dtype, writer = node.attrs, node.type, self.writer
        name, size, number = attrs["name"], math.prod(attrs["shape"]), self.buffers
        if self.scope.loop is not None:
            raise Misuse(f"buffer {value_name(name)} is declared inside a loop")
        read_only: bool | None = False
        if "alias_of" in attrs:
            of = self.scope.buffer(attrs["alias_of"], dtype)
            read_only = of.read_only
            writer.use_buffer(of.number)
            text = f"{writer.constant(places.alias)}(p{of.number}, {name!r}, {attrs['alias_offset']}, {size})"
        elif "workspace_offset" in attrs:
            text = f"{writer.constant(places.workspace)}(w, first, {name!r}, {attrs['workspace_offset']}, {size})"
        elif "values" in attrs:
            read_only = True
            table = filled(name, np.array(attrs["values"], ELEMENTS[dtype]), dtype, read_only=True)
            text = writer.constant(table)
        else:
            text = f"{writer.constant(places.poisoned)}({name!r}, {size}, {writer.constant(dtype)})"
        self.declare_buffer(node, Buffer(number, dtype, size, read_only, "values" in attrs))
        writer.line(f"p{number} = {text}; {self.bind(number)}")

    def call(self, node: Node) -> None:
        callee_name = node.attrs["callee"]
        callee = self.callees.get(callee_name)
        if callee is None:
            raise Misuse(f"call of {symbol_name(callee_name)}, which is not defined before this procedure")
        if len(node.args) != len(callee.parameters):
            takes = f"{symbol_name(callee_name)} takes {len(callee.parameters)} arguments"
            raise Misuse(f"{takes}, the call passes {len(node.args)}")
        expressions = self.expressions()
        numbers, starts = [], []
        for argument, parameter in zip(node.args, callee.parameters, strict=True):
            buffer = self.scope.buffer(buffer_of(argument))
            if buffer.dtype is not parameter.dtype:
                wanted = f"parameter {value_name(parameter.name)} is {parameter.dtype}"
                raise Misuse(f"argument of {symbol_name(callee_name)} is {buffer.dtype}, {wanted}")
            numbers.append(f"p{self.writer.use_buffer(buffer.number)}")
            starts.append(expressions.index(argument) if argument.op is ops.VIEW else "0")
        bind = self.writer.constant(places.Binding(callee_name, callee.parameters))
        self.show(node)
        arguments = f"{bind}(({''.join([f'{n}, ' for n in numbers])}), ({''.join([f'{s}, ' for s in starts])}))"
        self.writer.call(callee.function, f"{arguments}, w, first + {self.proc.attrs.get('w_self', 0)}")

    # --- loops --------------------------------------------------------------------------------------------------------

    def loop(self, node: Node) -> _Open:
        outer, writer = self.scope.loop, self.writer
        self.check_names(node.args[0].args)
        self.scope.check_new(node.args[0].attrs["name"])
        domain = domain_of(node, self.scope, shuffle=self.options.shuffle is not None)
        site = site_of(node, self.heights) if self.options.at_once else None
        outlined = writer.draft.blocks >= _MOST_BLOCKS
        if outlined:
            self.enter_function()
            writer.mark(node, outer)
        levels = writer.draft.indent
        if site is not None:
            self.at_once(site)
        expressions = self.expressions()
        bounds = [expressions.value(bound) for bound in domain.first]
        source = self.fresh()
        loop = Loop(outer, domain.name, source)
        writer.draft.blocks += 1
        if domain.counted:
            span = f"range({', '.join(bounds)})"
            if not domain.sure:
                start, stop, step = bounds
                writer.line(f"if {start} < {stop} and {step} <= 0: bad_step({domain.name!r}, {step})")
                span = f"range({start}, {stop}, {step} if {step} > 0 else 1)"
            if domain.shuffled:
                assert self.options.shuffle is not None
                span = f"{writer.constant(shuffled(self.options.shuffle))}({span})"
            writer.line(f"for {source} in {span}:")
        else:
            writer.line(f"{source} = {bounds[0]}")
            writer.line("while True:")
        writer.draft.indent += 1
        self.scope.open()
        self.scope.declare(domain.name, Variable(source, INT64, is_loop=True))
        if not domain.counted:
            writer.mark(node, loop)
            stop = self.expressions().value(node.args[0].args[1])
            writer.line(f"if {source} >= {stop}: break")
        self.scope.enter(loop, domain.values)
        self.show(node, source)
        if len(node.args) == 1:
            writer.line("pass")
        levels = writer.draft.indent - levels
        return _Open(iter(node.args[1:]), node, domain, outer, levels, outlined)

    def check_names(self, bounds: Sequence[Node]) -> None:
        """Raise `Misuse` before anything is written when bounds use a name that they may not use."""
        for node in postorder(*bounds):
            if node.op is ops.VAR:
                self.scope.variable(node.attrs["name"], node.type)
            elif node.op is ops.VIEW:
                self.scope.buffer(node.attrs["buffer"], node.type)

    def close(self, body: _Open) -> None:
        """Write what comes after the body of a loop."""
        writer, domain = self.writer, body.domain
        assert domain is not None
        assert body.loop is not None
        loop = self.scope.loop
        assert loop is not None
        if not domain.counted:
            writer.mark(body.loop, loop)
            step = self.expressions().value(body.loop.args[0].args[2])
            writer.line(f"if {step} <= 0: bad_step({domain.name!r}, {step})")
            writer.line(f"{loop.source} += {step}")
            writer.line(f"if {loop.source} > {scalars.limits(INT64)[1]}: beyond({domain.name!r})")
        self.scope.leave(body.outer)
        self.scope.close()
        writer.draft.indent -= body.levels
        writer.draft.blocks -= 1
        if body.outlined:
            self.leave_function()

    def at_once(self, site: Site) -> None:
        """Write the attempt to evaluate a loop with arrays; where that may not be done, the loop itself follows."""
        writer = self.writer
        if not site.inner_names.isdisjoint(self.scope.variables):
            return  # declared twice, which the loop will report
        try:
            variables = [self.scope.variable(name, dtype).source for name, dtype in site.outer_variables]
            numbers = [writer.use_buffer(self.scope.buffer(name, dtype).number) for name, dtype in site.buffers]
        except Misuse:
            return
        run = writer.constant(site.runner(self.options.strict))
        arguments = f"({''.join([f'p{n}, ' for n in numbers])}), ({''.join([f'{v}, ' for v in variables])})"
        writer.line(f"if not {run}({arguments}):")
        writer.draft.indent += 1


def _is_long(body: tuple[Node, ...]) -> bool:
    return len(body) > _MOST_LINES // 4


def _heights(proc: Node) -> dict[Node, int]:
    """Return how deep each loop of a procedure nests, itself included."""
    heights: dict[Node, int] = {}
    pending = [(statement, False) for statement in body_of(proc) if statement.op is ops.FOR]
    while pending:
        loop, finished = pending.pop()
        inner = [statement for statement in loop.args[1:] if statement.op is ops.FOR]
        if finished:
            heights[loop] = 1 + max([heights[nested] for nested in inner], default=0)
        elif loop not in heights:
            pending.append((loop, True))
            pending.extend([(nested, False) for nested in inner])
    return heights
