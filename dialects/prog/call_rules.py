"""What must hold for calls and procedures in their module (program specification 3.2)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from scaly_ir.dialects.prog import ops
from scaly_ir.dialects.prog.build import params_of
from scaly_ir.dialects.prog.context import Context, buffer_size
from scaly_ir.dialects.prog.place_rules import index_faults, undeclared
from scaly_ir.graph import Node
from scaly_ir.spec import Fault, Faults, Note, Rule
from scaly_ir.text.diagnostics import did_you_mean
from scaly_ir.types import DType


def unique_procedures(node: Node, context: Context) -> Faults:
    """A procedure's name is unique in its module."""
    name = node.attrs.get("name")
    if name in context.procs:
        note = _defined(str(name), context)
        yield Fault(f"duplicate procedure name @{name}", node, "name", (note,))


def _defined(name: str, context: Context) -> Note:
    proc, statement = context.procs[name]
    return Note(f"@{name} is defined here", statement, proc, proc)


def known_callee(node: Node, context: Context) -> Faults:
    """A call inside a module goes to a procedure of the module."""
    callee = node.attrs.get("callee")
    if context.complete and type(callee) is str and callee not in context.all_procs:
        hint = did_you_mean(f"@{callee}", [f"@{name}" for name in context.all_procs], quote="")
        yield Fault(f"call to unknown procedure @{callee}{hint}", node, "name")


def callee_order(node: Node, context: Context) -> Faults:
    """A procedure calls only procedures defined before it; so none calls itself."""
    callee = node.attrs.get("callee")
    if context.proc is not None and callee in context.all_procs and callee not in context.procs:
        caller = context.proc.attrs.get("name")
        yield Fault(f"procedure @{caller} calls @{callee}, which is not defined before it", node, "name")


class Argument(NamedTuple):
    """One argument of a call with what is known of it: its buffer, its first element if that is a constant."""

    node: Node
    name: str
    dtype: DType
    start: int | None
    size: int | None


def _arguments(call: Node, context: Context) -> list[Argument | None]:
    """Return what is known of each argument; None for one that is no declared buffer."""
    known: list[Argument | None] = []
    for arg in call.args:
        name = arg.attrs.get("buffer" if arg.op is ops.VIEW else "name")
        declaration = context.names.get(name) if type(name) is str else None
        if declaration is None or declaration.kind != "buffer" or type(name) is not str:
            known.append(None)
            continue
        start: int | None = 0
        if arg.op is ops.VIEW:
            index = arg.args[0] if arg.args else None
            start = index.attrs.get("value") if index is not None and index.op is ops.CONST_INT else None
        known.append(Argument(arg, name, declaration.dtype, start, buffer_size(declaration.node)))
    return known


def _callee(call: Node, context: Context) -> Node | None:
    callee = call.attrs.get("callee")
    found = context.procs.get(callee) if type(callee) is str else None
    return None if found is None else found[0]


def call_names(node: Node, context: Context) -> Faults:
    """Each argument is a declared buffer, or a place in one."""
    for arg in node.args:
        name = arg.attrs.get("buffer" if arg.op is ops.VIEW else "name")
        if type(name) is not str or (arg.op is ops.VIEW and name.startswith(ops.RESERVED_PREFIX)):
            continue
        declaration = context.names.get(name)
        if declaration is None:
            yield undeclared(name, arg, context)
        elif arg.op is ops.BUFFER and declaration.node is not arg:
            reason = f"%{name} is declared differently from what the call passes"
            yield Fault(reason, arg, "name", context.declared_before(name))


def call_kinds(node: Node, context: Context) -> Faults:
    """A scalar is no argument."""
    for arg in node.args:
        name = arg.attrs.get("buffer" if arg.op is ops.VIEW else "name")
        declaration = context.names.get(name) if type(name) is str else None
        if declaration is not None and declaration.kind != "buffer":
            reason = f"%{name} is a {declaration.kind} and is used as a buffer"
            yield Fault(reason, arg, "name", context.declared_before(str(name)))


def call_view_dtypes(node: Node, context: Context) -> Faults:
    """A place passed to a call has the element type of its buffer."""
    for argument in _arguments(node, context):
        if argument is not None and argument.node.type is not argument.dtype and argument.node.op is ops.VIEW:
            reason = f"view dtype {argument.node.type} differs from buffer %{argument.name} dtype {argument.dtype}"
            yield Fault(reason, argument.node, "", context.declared_before(argument.name))


def call_indices(node: Node, context: Context) -> Faults:
    """The index of a place passed to a call is inside the buffer, or just behind it."""
    for arg in node.args:
        if arg.op is ops.VIEW:
            yield from index_faults(arg, context, beyond=1)


def call_arity(node: Node, context: Context) -> Faults:
    """A call passes as many inputs and outputs as the procedure takes."""
    callee = _callee(node, context)
    if callee is None:
        return
    params, inputs = callee.attrs.get("param_count"), callee.attrs.get("input_count")
    n_in, n_out = node.attrs.get("n_in"), node.attrs.get("n_out")
    name = callee.attrs.get("name")
    notes = (_defined(str(name), context),)
    if type(params) is not int:
        return
    if type(inputs) is int and type(n_in) is int and type(n_out) is int:
        if (inputs, params - inputs) != (n_in, n_out):
            taken = f"@{name} takes {inputs} inputs and {params - inputs} outputs"
            yield Fault(f"{taken}, call passes {n_in} and {n_out}", node, "", notes)
    elif params != len(node.args):
        yield Fault(f"@{name} takes {params} arguments, call passes {len(node.args)}", node, "", notes)


def _pairs(node: Node, context: Context) -> Iterator[tuple[Argument, Node]]:
    callee = _callee(node, context)
    if callee is None or type(callee.attrs.get("param_count")) is not int:
        return
    for argument, param in zip(_arguments(node, context), params_of(callee), strict=False):
        if argument is not None and param.op is ops.BUFFER:
            yield argument, param


def call_dtype(node: Node, context: Context) -> Faults:
    """An argument has the element type of its parameter."""
    for argument, param in _pairs(node, context):
        if argument.dtype is not param.type:
            name = param.attrs.get("name")
            yield Fault(
                f"argument %{argument.name} is {argument.dtype}, parameter %{name} is {param.type}", argument.node
            )


def call_bounds(node: Node, context: Context) -> Faults:
    """An argument has at least the elements its parameter needs, as far as indices are constants."""
    for argument, param in _pairs(node, context):
        needed = buffer_size(param)
        if argument.size is None or argument.start is None or needed is None:
            continue
        left = argument.size - argument.start
        if argument.start >= 0 and left < needed:
            name = param.attrs.get("name")
            has = f"argument %{argument.name} has {max(left, 0)} elements from index {argument.start}"
            yield Fault(f"{has}, parameter %{name} needs {needed}", argument.node)


def _first_output(node: Node, context: Context) -> int | None:
    """Return the number of leading arguments that are only read, or None when nobody says."""
    n_in = node.attrs.get("n_in")
    if type(n_in) is int:
        return n_in
    callee = _callee(node, context)
    if callee is None:
        return None
    inputs = callee.attrs.get("input_count", 0)
    return inputs if type(inputs) is int else None


def call_output_writable(node: Node, context: Context) -> Faults:
    """An output argument may be written."""
    first = _first_output(node, context)
    if first is None:
        return
    for argument in _arguments(node, context)[first:]:
        storage = context.storage.get(argument.name) if argument is not None else None
        if argument is not None and storage is not None and not storage.writable:
            reason = f"output argument %{argument.name} of @{node.attrs.get('callee')} is read-only"
            yield Fault(reason, argument.node, "", context.declared_before(storage.root))


def call_overlap(node: Node, context: Context) -> Faults:
    """An output does not overlap another argument of the same call, as far as places are constants."""
    first = _first_output(node, context)
    if first is None:
        return
    callee = _callee(node, context)
    counted = callee is not None and type(callee.attrs.get("param_count")) is int
    params = params_of(callee) if callee is not None and counted else ()
    by_root: dict[str, list[tuple[int, int, bool, Argument]]] = {}
    for position, argument in enumerate(_arguments(node, context)):
        storage = context.storage.get(argument.name) if argument is not None else None
        if argument is None or storage is None or argument.start is None or argument.size is None:
            continue
        length: int | None = argument.size if argument.node.op is ops.BUFFER else 1
        if position < len(params):
            length = buffer_size(params[position])
        if length:
            start = storage.offset + argument.start
            by_root.setdefault(storage.root, []).append((start, start + length, position >= first, argument))
    for ranges in by_root.values():
        yield from _overlaps(ranges)


def _overlaps(ranges: list[tuple[int, int, bool, Argument]]) -> Iterator[Fault]:
    """Yield a fault for each range that meets an earlier one where one of the two is written."""
    ranges.sort(key=lambda item: item[:3])
    furthest: tuple[int, Argument] | None = None
    furthest_output: tuple[int, Argument] | None = None
    for start, end, written, argument in ranges:
        before = furthest if written else furthest_output
        if before is not None and start < before[0]:
            output, other = (argument, before[1]) if written else (before[1], argument)
            yield Fault(f"output %{output.name} overlaps argument %{other.name} of the same call", output.node)
        if furthest is None or end > furthest[0]:
            furthest = (end, argument)
        if written and (furthest_output is None or end > furthest_output[0]):
            furthest_output = (end, argument)


def call_sizes(node: Node, context: Context) -> Faults:
    """What a call says of workspaces is what its procedures say."""
    own = context.proc.attrs.get("w_self", 0) if context.proc is not None else 0
    passed = node.attrs.get("w_self")
    if passed is not None and passed != own:
        yield f"call passes w_self {passed}, its procedures say {own}"
    callee = _callee(node, context)
    needed = callee.attrs.get("sz_w") if callee is not None else None
    says = node.attrs.get("callee_needs_w")
    if needed is not None and says is not None and says != (needed > 0):
        yield f"call passes callee_needs_w {says}, its procedures say {needed > 0}"


def proc_sizes(node: Node, context: Context) -> Faults:
    """The workspace a procedure asks for is its own windows plus the most that one of its callees needs."""
    said, own = node.attrs.get("sz_w"), node.attrs.get("w_self", 0)
    if type(said) is int and type(own) is int and context.callee_needs is not None:
        needed = own + context.callee_needs
        if said != needed:
            name = node.attrs.get("name")
            yield Fault(f"sz_w of @{name} is {said}, its own windows and callees need {needed}", node, "name")


_CALL: Final = frozenset({ops.CALL})

CALL_RULES: Final = (
    Rule("known-callee", known_callee, _CALL, context=True),
    Rule("callee-order", callee_order, _CALL, context=True),
    Rule("in-scope", call_names, _CALL, context=True),
    Rule("name-kind", call_kinds, _CALL, context=True),
    Rule("view-dtype", call_view_dtypes, _CALL, context=True),
    Rule("index-static-bounds", call_indices, _CALL, context=True),
    Rule("call-arity", call_arity, _CALL, context=True),
    Rule("call-dtype", call_dtype, _CALL, context=True),
    Rule("call-bounds", call_bounds, _CALL, context=True),
    Rule("call-output-writable", call_output_writable, _CALL, context=True),
    Rule("call-overlap", call_overlap, _CALL, context=True),
    Rule("sz-consistent", call_sizes, _CALL, context=True),
    Rule("unique-procedures", unique_procedures, frozenset({ops.PROC}), context=True),
)

SIZE_RULE: Final = Rule("sz-consistent", proc_sizes, frozenset(), context=True)
"""Checked at the end of a procedure, when all its calls are known."""
