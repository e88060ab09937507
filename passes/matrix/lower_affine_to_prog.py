"""The pass `lower_affine_to_prog`: functions of buffers and loops as the procedures of a program.

Source: matrix specification 9.4.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, ClassVar, Final, NamedTuple

from scaly_ir.attributes import Word
from scaly_ir.dialects.affine import ops as affine_ops
from scaly_ir.dialects.affine.build import inits_of
from scaly_ir.dialects.affine.scalars import scalar_of
from scaly_ir.dialects.buffer import build, ops
from scaly_ir.dialects.buffer.printer import value_name
from scaly_ir.dialects.prog import build as prog
from scaly_ir.errors import LoweringError
from scaly_ir.graph import Node
from scaly_ir.op import Op
from scaly_ir.pass_manager import Pass
from scaly_ir.passes import PASSES
from scaly_ir.passes.matrix import lower_aff, lower_matrix_high_level_map_reduce, lower_matrix_medium_level
from scaly_ir.passes.matrix.driver import DIALECTS, set_rules
from scaly_ir.passes.matrix.procedure import ProcedureContext
from scaly_ir.passes.matrix.single_uses import single_uses
from scaly_ir.passes.prog.names import c_spelling
from scaly_ir.types import MemRefType

EARLIER: Final = (lower_matrix_high_level_map_reduce, lower_matrix_medium_level, lower_aff)
"""The modules whose rules lower what must not be there any more."""


@dataclass(frozen=True)
class LowerAffineToProg(Pass):
    """Makes a program of functions in which matrix operations have become loops."""

    name: ClassVar[str] = "lower_affine_to_prog"
    summary: ClassVar[str] = "turn functions of buffers and loops into procedures"
    dialects: ClassVar[frozenset[str]] = DIALECTS

    def run(self, root: Node) -> Node:
        """Return the module with a procedure for each function; `LoweringError` for what has no form in it."""
        spelled: dict[str, Node] = {}
        for function in root.args:
            other = spelled.setdefault(c_spelling(function.attrs["name"]), function)
            if other is not function:
                both = f"'{other.attrs['name']}' and '{function.attrs['name']}'"
                raise LoweringError(f"two functions have one name in C: {both}", function)
        return prog.program([_procedure(function) for function in root.args])


Rule = Callable[[ProcedureContext, Node], None]
_KEY: Final = f"{LowerAffineToProg.name}.FLowerOp"


class _Region(NamedTuple):
    """A region that is being lowered: what is left of it and, of a loop, what it becomes."""

    statements: Iterator[Node]
    loop: Node
    domain: Node | None = None
    targets: Sequence[Node] = ()
    """The variables for what the loop carries."""


def _procedure(function: Node) -> Node:
    region = build.region_of(function)
    assert region is not None
    ctx = ProcedureContext(function, single_uses(function, _KEY))
    opened = [_Region(iter(build.body_of(region)), function)]
    while opened:
        for statement in opened[-1].statements:
            ctx.number, ctx.current = ctx.number + 1, statement
            if statement.op is affine_ops.FOR:
                opened.append(_opened(ctx, statement))
                break
            _lower(ctx, statement, opened[-1])
        else:
            _close(ctx, opened.pop())
    header: dict[str, Any] = {
        "device": Word("host"),
        "input_count": len(ctx.params),
        "lowering": "auto",
        "scalarize_mode": "disabled",
    }
    return prog.proc(function.attrs["name"], [*ctx.params, *ctx.outputs], ctx.body(), header)


def _lower(ctx: ProcedureContext, statement: Node, region: _Region) -> None:
    """Emit what a statement that is no loop becomes."""
    rule = statement.op.get_attr(_KEY, None)
    if statement.op is ops.LET:
        value = ctx.value(statement.args[0])
        ctx.emit(prog.assign(ctx.result(statement), value, declare=True))
    elif statement.op is affine_ops.YIELD:
        _yield(ctx, statement, region.targets)
    elif statement.op is ops.RETURN:
        _return(ctx, statement)
    elif rule is not None:
        rule(ctx, statement)
    else:
        raise _not_lowered(ctx.function, statement)


def _not_lowered(function: Node, statement: Node) -> LoweringError:
    names = build.names_of(statement)
    region = build.region_of(function)
    assert region is not None
    label = value_name(names[0]) if names else f"#{list(build.statements_in(region)).index(statement)}"
    keys = [key.removesuffix(".FLowerOp") for key in statement.op.list_attrs() if key.endswith(".FLowerOp")]
    hints = [f"; run {name} first" for name in keys if name in PASSES]
    message = f"{LowerAffineToProg.name}: node {label} op={statement.op.mnemonic} is not lowered"
    return LoweringError(message + "".join(hints[:1]), statement, function)


# --- loops, names and returns -----------------------------------------------------------------------------------------


def _opened(ctx: ProcedureContext, loop: Node) -> _Region:
    """Begin a loop, with a variable for each value that it carries."""
    variable, *carried = build.params_of(loop.args[-1])
    lower, upper = [ctx.value(bound) for bound in loop.args[:2]]
    inits = [ctx.value(init) for init in inits_of(loop)]
    results = build.results_of(loop)
    targets = []
    for param, init, result in zip(carried, inits, results, strict=True):
        target = prog.var(ctx.name_of(param.attrs["name"], result.name), init.type)
        ctx.emit(prog.assign(target.attrs["name"], init, declare=True))
        targets.append(target)
    for param, target in zip(carried, targets, strict=True):
        ctx.define(param.attrs["name"], target)
    counter = ctx.name_of(variable.attrs["name"])
    ctx.define(variable.attrs["name"], prog.var(counter))
    ctx.open()
    domain = prog.range_(counter, lower, upper, loop.attrs["step"], loop.attrs["kind"])
    return _Region(iter(build.body_of(loop.args[-1])), loop, domain, targets)


def _close(ctx: ProcedureContext, region: _Region) -> None:
    """End a region; what a loop carried is its result."""
    if region.domain is None:
        return
    ctx.current = region.loop
    ctx.close(region.domain)
    for result, target in zip(build.results_of(region.loop), region.targets, strict=True):
        ctx.define(result.name, target)


def _yield(ctx: ProcedureContext, statement: Node, targets: Sequence[Node]) -> None:
    """Assign the next carried values; several are all computed before the first is."""
    values = [ctx.value(value) for value in statement.args]
    if len(values) > 1:
        names = [ctx.fresh() for _ in values]
        for name, value in zip(names, values, strict=True):
            ctx.emit(prog.assign(name, value, declare=True))
        values = [prog.var(name, value.type) for name, value in zip(names, values, strict=True)]
    for target, value in zip(targets, values, strict=True):
        ctx.emit(prog.assign(target.attrs["name"], value))


def _return(ctx: ProcedureContext, statement: Node) -> None:
    """Fill the outputs that are not filled yet."""
    for value, output in zip(statement.args, ctx.outputs, strict=True):
        if not isinstance(value.type, MemRefType):
            ctx.emit(prog.store(prog.view(output, 0), ctx.value(value)))
        elif ctx.buffer(value) is not output:
            _copy(ctx, ctx.buffer(value), output)


def _copy(ctx: ProcedureContext, source: Node, output: Node) -> None:
    ctx.for_each(f"c_{output.attrs['name']}", output, lambda at: prog.load(prog.view(source, at)))


# --- operations -------------------------------------------------------------------------------------------------------


def _alloc(ctx: ProcedureContext, statement: Node) -> None:
    ctx.declare(statement)


def _constant(ctx: ProcedureContext, statement: Node) -> None:
    value = ctx.value(statement.args[0])
    buffer = ctx.declare(statement)
    ctx.for_each(f"z_{buffer.attrs['name']}", buffer, lambda at: value)


def _read(ctx: ProcedureContext, statement: Node) -> None:
    buffer, *indices = statement.args
    ctx.bind(statement, prog.load(ctx.element(buffer, map(ctx.value, indices))))


def _write(ctx: ProcedureContext, statement: Node) -> None:
    value, buffer, *indices = statement.args
    ctx.emit(prog.store(ctx.element(buffer, map(ctx.value, indices)), ctx.value(value)))


def _shape(ctx: ProcedureContext, statement: Node) -> None:
    extent = statement.args[0].type.shape[statement.attrs["axis"]]
    for result in build.results_of(statement):
        ctx.define(result.name, prog.index(extent))


def _index(combine: str) -> Rule:
    """Return the rule for the results of a map, of which two are combined by a scalar operator."""

    def rule(ctx: ProcedureContext, statement: Node) -> None:
        dims = [ctx.value(operand) for operand in statement.args]
        results = [scalar_of(result, dims) for result in statement.attrs["map"].results]
        ctx.bind(statement, reduce(lambda first, second: prog.apply(combine, first, second), results))

    return rule


RULES: Final[dict[Op, Rule]] = {
    ops.ALLOC: _alloc,
    ops.CONSTANT: _constant,
    ops.READ: _read,
    ops.WRITE: _write,
    ops.SHAPE: _shape,
    affine_ops.APPLY: _index("add"),
    affine_ops.MIN: _index("minimum"),
    affine_ops.MAX: _index("maximum"),
}
set_rules(LowerAffineToProg.name, RULES)
