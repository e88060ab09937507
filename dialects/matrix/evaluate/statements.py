"""Functions of buffers as Python functions: statements in order, loops as loops.

A buffer is a place of the evaluator of `prog`, whose single elements are reached through memory views; scalars are
local variables. Python allows but so many nested blocks, so that deep nests go on in functions of their own, which
share their variables in lists. Source: matrix specification 3 to 6.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from types import CodeType
from typing import Any, Final, NamedTuple

from scaly_ir.dialects.affine import ops as affine_ops
from scaly_ir.dialects.affine.build import inits_of
from scaly_ir.dialects.affine.scalars import scalar_of
from scaly_ir.dialects.buffer import build, ops
from scaly_ir.dialects.buffer.printer import value_name
from scaly_ir.dialects.matrix.evaluate import faults
from scaly_ir.dialects.matrix.evaluate.combiner import free_scalars
from scaly_ir.dialects.matrix.evaluate.expressions import Scalars, tuple_of
from scaly_ir.dialects.matrix.evaluate.operations import Operation, Options, constant
from scaly_ir.dialects.matrix.evaluate.scope import Misuse, Scope, Storage, Variable
from scaly_ir.dialects.prog import build as prog
from scaly_ir.dialects.prog.evaluate.expressions import effectful
from scaly_ir.dialects.prog.evaluate.faults import Loop, Piece, not_finite
from scaly_ir.dialects.prog.evaluate.loops import shuffled
from scaly_ir.dialects.prog.evaluate.memory import poisoned
from scaly_ir.dialects.prog.evaluate.writer import Function, Writer
from scaly_ir.graph import Node
from scaly_ir.numeric.interval import Interval
from scaly_ir.op import Op
from scaly_ir.types import INT64, DType, MemRefType

_MOST_BLOCKS: Final = 12
"""Loops nested deeper go on in another function; Python's limit is 20."""
_MOST_LINES: Final = 4000
"""A function of more lines ends after a statement of the function's body, and another goes on."""


class _Open(NamedTuple):
    """A region that is being compiled: what is left of it, and for a loop what is needed to end it."""

    statements: Iterator[Node]
    loop: Node | None = None
    outer: Loop | None = None
    carried: Sequence[Variable] = ()
    outlined: bool = False


def compile_function(node: Node, results: list[Any], options: Options, functions: dict[CodeType, Piece]) -> Function:
    """Return a function of the list of its parameters, places and numbers, that puts what it returns into `results`.

    `functions` gets what says where each line of the code comes from.
    """
    return _Compiler(node, results, options, functions).compile()


class _Compiler:
    def __init__(self, node: Node, results: list[Any], options: Options, functions: dict[CodeType, Piece]) -> None:
        self.node = node
        self.options = options
        self.name: str = node.attrs["name"]
        self.functions = functions
        self.writer = Writer(self.name, functions)
        self.scope = Scope()
        self.effectful = effectful(node)
        region = node.args[-1]
        self.split = _depth(region) > _MOST_BLOCKS or len(build.body_of(region)) > _MOST_LINES // 4
        """Whether there are several functions, so that variables and places are kept in lists that they share."""
        self.variables = 0
        self.storages = 0
        self.helpers = {
            function: self.writer.constant(function)
            for function in (faults.unwritten, faults.outside, poisoned, constant, not_finite)
        }
        self.returned = self.writer.constant(results.extend)

    def compile(self) -> Function:
        """Compile the whole function."""
        self.writer.begin("args")
        region = self.node.args[-1]
        prologue = []
        for position, param in enumerate(build.params_of(region)):
            name = param.attrs["name"]
            if isinstance(param.type, MemRefType):
                number = self.new_storage(name, param.type, read_only=True, filled=True)
                prologue.append(f"p{number} = args[{position}]; {self.bind(number)}")
            else:
                prologue.append(f"{self.new_variable(name, param.type).source} = args[{position}]")
        self.body(build.body_of(region))
        if self.split:
            prologue.insert(0, f"S = [None] * {self.variables}; P = [None] * {self.storages}")
        return self.writer.end("; ".join(prologue))

    # --- names --------------------------------------------------------------------------------------------------------

    def bind(self, number: int) -> str:
        """Return the source that makes the memory of a buffer ready for use."""
        text = f"b{number} = p{number}.cells; d{number} = p{number}.defined"
        return f"P[{number}] = p{number}; {text}" if self.split else text

    def new_storage(self, name: str | None, type_: MemRefType, *, read_only: bool = False, filled: bool) -> int:
        """Return the number of a new buffer, which nobody can use without a name."""
        number = self.storages
        if name is not None:
            self.scope.declare_storage(name, Storage(number, type_, read_only, filled))
        self.storages += 1
        self.writer.draft.own.add(number)
        return number

    def fresh(self) -> str:
        """Return a place for a variable."""
        self.variables += 1
        return f"S[{self.variables - 1}]" if self.split else f"v{self.variables}"

    def new_variable(self, name: str | None, type_: Any, source: str = "") -> Variable:
        """Return a new variable, which nobody can use without a name."""
        variable = Variable(source or self.fresh(), type_ if isinstance(type_, DType) else INT64, is_loop=False)
        if name is not None:
            self.scope.declare(name, variable)
        return variable

    def scalars(self) -> Scalars:
        check = self.helpers[not_finite] if self.options.watch.finite else None
        return Scalars(self.writer, self.scope, self.options.strict, self.effectful, check)

    def show(self, statement: Node, *sources: str) -> None:
        """Write that somebody is told of a statement, if anybody wants to know."""
        watch = self.options.watch.statement
        if watch is not None:
            tell = self.writer.constant(partial(watch, self.name, statement))
            self.writer.line(f"{tell}({tuple_of(sources)})")

    # --- regions ------------------------------------------------------------------------------------------------------

    def body(self, statements: Iterable[Node]) -> None:
        """Compile the statements of the function and all below them."""
        opened = [_Open(iter(statements))]
        while opened:
            region = opened[-1]
            for statement in region.statements:
                if self.split and len(opened) == 1:
                    self.go_on()
                self.writer.mark(statement, self.scope.loop)
                try:
                    inner = self.statement(statement, region)
                except Misuse as misuse:
                    self.writer.line(f"fault({str(misuse)!r})")
                    continue
                if inner is not None:
                    opened.append(inner)
                    break
            else:
                opened.pop()
                if region.loop is not None:
                    self.close(region)
        if self.split and len(self.writer.drafts) > 1:
            self.leave_function()

    def go_on(self) -> None:
        """Between two statements of the function's body, begin another function when this one is long."""
        if len(self.writer.drafts) > 1 and len(self.writer.draft.lines) > _MOST_LINES:
            self.leave_function()
        if len(self.writer.drafts) == 1:
            self.writer.begin("S, P")

    def leave_function(self) -> None:
        used = self.writer.draft.used
        function = self.writer.end("; ".join([f"p{number} = P[{number}]; {self.bind(number)}" for number in used]))
        self.writer.call(function, "S, P")

    # --- statements ---------------------------------------------------------------------------------------------------

    def statement(self, node: Node, region: _Open) -> _Open | None:
        """Compile a statement; of a loop the head, and return its region."""
        if node.op is affine_ops.FOR:
            return self.loop(node)
        if node.op is affine_ops.YIELD:
            self.next_values(node, region)
        else:
            _STATEMENTS.get(node.op, _Compiler.operation)(self, node)
        return None

    def let(self, node: Node) -> None:
        source = self.scalars().value(node.args[0])
        variable = self.new_variable(_name_of(node), node.type)
        self.writer.line(f"{variable.source} = {source}")
        self.show(node, variable.source)

    def alloc(self, node: Node) -> None:
        name = _name_of(node)
        text = f"{self.helpers[poisoned]}({name!r}, {node.type.size}, {self.writer.constant(node.type.dtype)})"
        number = self.new_storage(name, node.type, filled=False)
        self.writer.line(f"p{number} = {text}; {self.bind(number)}")

    def constant(self, node: Node) -> None:
        value = self.scalars().value(node.args[0])
        name = _name_of(node)
        number = self.new_storage(name, node.type, filled=True)
        made = f"{self.helpers[constant]}({name!r}, {self.writer.constant(node.type)}, {value})"
        self.writer.line(f"p{number} = {made}; {self.bind(number)}")
        self.show(node, f"p{number}")

    def element(self, verb: str, name: str, indices: Sequence[Node], scalars: Scalars) -> tuple[Storage, str]:
        """Write the checks of an element's indices, and return the buffer and the source of its place in memory."""
        storage = self.scope.storage(name)
        extents = storage.extents
        if len(indices) != len(extents):
            raise Misuse(f"{value_name(name)} has {len(indices)} indices, {storage.type} takes {len(extents)}")
        terms, stride = [], storage.type.size
        for axis, (index, extent) in enumerate(zip(indices, extents, strict=True)):
            source = scalars.value(index)
            low, high = self.scope.bounds(index)[:2]
            if low < 0 or high >= extent:
                outside = f"{self.helpers[faults.outside]}({verb!r}, {name!r}, {axis}, {source}, {extent})"
                self.writer.line(f"if not 0 <= {source} < {extent}: {outside}")
            stride = stride // extent if extent else 0
            terms.append(source if stride == 1 else f"{source} * {stride}")
        self.writer.use_buffer(storage.number)
        if len(terms) < 2:
            return storage, "".join(terms) or "0"
        self.writer.line(f"at = {' + '.join(terms)}")
        return storage, "at"

    def read(self, node: Node) -> None:
        target, *indices = node.args
        name = target.attrs["name"]
        storage, at = self.element("read", name, indices, self.scalars())
        number = storage.number
        if not storage.filled:
            unwritten = f"{self.helpers[faults.unwritten]}({name!r}, {at}, {storage.extents})"
            self.writer.line(f"if not d{number}[{at}]: {unwritten}")
        variable = self.new_variable(_name_of(node), node.type)
        self.writer.line(f"{variable.source} = b{number}[{at}]")
        self.show(node, variable.source)

    def write(self, node: Node) -> None:
        value, target, *indices = node.args
        name = target.attrs["name"]
        scalars = self.scalars()
        source = scalars.value(value)
        storage, at = self.element("write", name, indices, scalars)
        if storage.read_only:
            raise Misuse(f"write to {value_name(name)}, which is a parameter")
        number = storage.number
        mark = "" if storage.filled else f"; d{number}[{at}] = 1"
        self.writer.line(f"b{number}[{at}] = {source}{mark}")
        self.show(node, *[scalars.value(index) for index in indices], source)

    def shape(self, node: Node) -> None:
        extent = self.scope.storage(node.args[0].attrs["name"]).type.shape[node.attrs["axis"]]
        self.index(node, prog.index(extent))

    def apply(self, node: Node) -> None:
        values = [scalar_of(expr, node.args) for expr in node.attrs["map"].results]
        found = values[0]
        if node.op is not affine_ops.APPLY:
            for value in values[1:]:
                found = prog.apply("minimum" if node.op is affine_ops.MIN else "maximum", found, value)
        self.index(node, found)

    def index(self, node: Node, scalar: Node) -> None:
        """Name the value of an index expression."""
        source = self.scalars().value(scalar)
        name, values = _name_of(node), self.scope.bounds(scalar)
        variable = self.new_variable(name, INT64)
        if name is not None:
            self.scope.restrict(name, values)
        self.writer.line(f"{variable.source} = {source}")
        self.show(node, variable.source)

    def operand(self, node: Node, scalars: Scalars) -> str:
        """Return the source of a place or number."""
        if isinstance(node.type, MemRefType):
            return f"p{self.writer.use_buffer(self.scope.storage(node.attrs['name']).number)}"
        return scalars.value(node)

    def returned_values(self, node: Node) -> None:
        scalars = self.scalars()
        self.writer.line(f"{self.returned}({tuple_of([self.operand(value, scalars) for value in node.args])})")

    def operation(self, node: Node) -> None:
        """Compile an operation on whole buffers."""
        scalars, operands, region = self.scalars(), build.operands_of(node), build.region_of(node)
        uses: list[Node] = []
        if region is None:
            arguments = tuple_of([self.operand(operand, scalars) for operand in operands])
        else:
            *inputs, init = operands
            uses = free_scalars(region, self.scope.variables)
            sources = [*[self.operand(each, scalars) for each in inputs], scalars.first(init)]
            arguments = f"{tuple_of(sources)}, {tuple_of([scalars.value(use) for use in uses])}"
        run = self.writer.constant(Operation(node, uses, partial(self.combiner, region, uses), self.options))
        if isinstance(node.type, MemRefType):
            number = self.new_storage(_name_of(node), node.type, filled=True)
            self.writer.line(f"p{number} = {run}({arguments}); {self.bind(number)}")
            self.show(node, f"p{number}")
        elif node.type is None:
            self.writer.line(f"{run}({arguments})")
        else:
            variable = self.new_variable(_name_of(node), node.type)
            self.writer.line(f"{variable.source} = {run}({arguments})")
            self.show(node, variable.source)

    def combiner(self, region: Node | None, outer: Sequence[Node]) -> Callable[..., Any]:
        """Return a combiner as a function of numbers: the accumulator, elements, then the scalars around it."""
        assert region is not None
        inner = _Compiler(self.node, [], self.options, self.functions)
        params = [*build.params_of(region), *outer]
        inner.split = False
        names = [inner.new_variable(param.attrs["name"], param.type).source for param in params]
        inner.writer.begin(", ".join(names))
        for statement in build.body_of(region):
            inner.writer.mark(statement, None)
            if statement.op is ops.LET:
                inner.let(statement)
            else:
                inner.writer.line(f"return {inner.scalars().value(statement.args[0])}")
        return inner.writer.end("").run

    # --- loops --------------------------------------------------------------------------------------------------------

    def loop(self, node: Node) -> _Open:
        outer, writer = self.scope.loop, self.writer
        outlined = writer.draft.blocks >= _MOST_BLOCKS
        if outlined:
            writer.begin("S, P")
            writer.mark(node, outer)
        scalars = self.scalars()
        variable, *params = build.params_of(node.args[-1])
        lower, upper = node.args[:2]
        bounds = f"{scalars.value(lower)}, {scalars.value(upper)}, {node.attrs['step']}"
        inits = [scalars.first(init) for init in inits_of(node)]
        least, end = self.scope.bounds(lower).low, self.scope.bounds(upper).high
        values = Interval(least, max(least, end - 1))
        carried = [Variable(self.fresh(), param.type, is_loop=False) for param in params]
        for each, init in zip(carried, inits, strict=True):
            writer.line(f"{each.source} = {init}")
        source = self.fresh()
        span = f"range({bounds})"
        if self.options.shuffle is not None and node.attrs["kind"] == "global":
            span = f"{writer.constant(shuffled(self.options.shuffle))}({span})"
        writer.line(f"for {source} in {span}:")
        writer.draft.blocks += 1
        writer.draft.indent += 1
        self.scope.open()
        name = variable.attrs["name"]
        self.new_variable(name, INT64, source)
        self.scope.enter(Loop(outer, name, source), values)
        self.declare_carried([param.attrs["name"] for param in params], carried, node)
        writer.line("pass")
        self.show(node, source)
        return _Open(iter(build.body_of(node.args[-1])), node, outer, carried, outlined)

    def next_values(self, node: Node, region: _Open) -> None:
        """Write the end of a trip: all values are computed before any is taken over."""
        scalars = self.scalars()
        sources = [scalars.value(value) for value in node.args]
        if sources:
            targets = [each.source for each in region.carried]
            self.writer.line(f"{', '.join(targets)} = {', '.join(sources)}")
            self.show(node, *targets)

    def close(self, region: _Open) -> None:
        """Write what comes after the body of a loop."""
        node, writer = region.loop, self.writer
        assert node is not None
        self.scope.leave(region.outer)
        self.scope.close()
        writer.draft.indent -= 1
        writer.draft.blocks -= 1
        if region.outlined:
            self.leave_function()
        names = node.attrs.get("results") or ()
        self.declare_carried(names, region.carried, node)

    def declare_carried(self, names: Sequence[str], carried: Sequence[Variable], loop: Node) -> None:
        for name, each, init in zip(names, carried, inits_of(loop), strict=False):
            self.scope.declare(name, each)
            if init.op is ops.UNDEF:
                self.scope.undefined.add(name)


_STATEMENTS: Final[dict[Op, Callable[[_Compiler, Node], None]]] = {
    ops.LET: _Compiler.let,
    ops.ALLOC: _Compiler.alloc,
    ops.CONSTANT: _Compiler.constant,
    ops.READ: _Compiler.read,
    ops.WRITE: _Compiler.write,
    ops.SHAPE: _Compiler.shape,
    ops.RETURN: _Compiler.returned_values,
    affine_ops.APPLY: _Compiler.apply,
    affine_ops.MIN: _Compiler.apply,
    affine_ops.MAX: _Compiler.apply,
}


def _name_of(node: Node) -> str | None:
    """Return the name that a statement binds, if it binds one."""
    names = node.attrs.get("results")
    return names[0] if names else None


def _depth(region: Node) -> int:
    """Return how deep loops nest in a region."""
    deepest = 0
    pending = [iter(build.body_of(region))]
    while pending:
        for statement in pending[-1]:
            if statement.op is affine_ops.FOR:
                pending.append(iter(build.body_of(statement.args[-1])))
                deepest = max(deepest, len(pending) - 1)
                break
        else:
            pending.pop()
    return deepest
