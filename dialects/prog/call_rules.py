"""What must hold for calls and procedures in their module (program specification 3.2)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from scaly_ir.dialects.prog import ops
from scaly_ir.dialects.prog.build import body_of, params_of
from scaly_ir.dialects.prog.context import Context, buffer_size, symbol_name, value_name, whole
from scaly_ir.dialects.prog.place_rules import index_faults
from scaly_ir.dialects.prog.scalar_rules import on
from scaly_ir.graph import Node
from scaly_ir.spec import Fault, Faults, Rule
from scaly_ir.text.locations import Place
from scaly_ir.types import DType


def unique_procedures(node: Node, context: Context) -> Faults:
    """A procedure's name is unique in its module."""
    name = node.attrs.get("name")
    if type(name) is str and name in context.procs:
        yield Fault(f"duplicate procedure name {symbol_name(name)}", node, "name", _defined(name, context))


def _defined(name: str, context: Context) -> tuple[tuple[str, Place], ...]:
    return ((f"{symbol_name(name)} is defined here", context.procs[name][1]),)


def known_callee(node: Node, context: Context) -> Faults:
    """A call inside a module goes to a procedure of the module."""
    callee = node.attrs.get("callee")
    if context.complete and type(callee) is str and callee not in context.all_procs:
        reason = f"call to unknown procedure {symbol_name(callee)}{context.similar_proc(callee)}"
        yield Fault(reason, node, "callee")


def callee_order(node: Node, context: Context) -> Faults:
    """A procedure calls only procedures defined before it; so none calls itself."""
    callee = node.attrs.get("callee")
    if context.proc is None or type(callee) is not str:
        return
    if callee in context.all_procs and callee not in context.procs:
        caller = symbol_name(context.proc.attrs.get("name"))
        reason = f"procedure {caller} calls {symbol_name(callee)}, which is not defined before it"
        yield Fault(reason, node, "callee")


class Argument(NamedTuple):
    """One argument of a call with what is known of it: its buffer, its first element if that is a constant."""

    position: int
    node: Node
    name: str
    dtype: DType
    start: int | None
    size: int | None

    def __str__(self) -> str:
        """Return the argument as it is written, as far as a message needs it."""
        if self.node.op is not ops.VIEW:
            return value_name(self.name)
        return f"{value_name(self.name)}[{'...' if self.start is None else self.start}]"


def _arguments(call: Node, context: Context) -> list[Argument]:
    """Return what is known of each argument that is a declared buffer or a place in one."""
    known = []
    for position, arg in enumerate(call.args):
        name = arg.attrs.get("buffer" if arg.op is ops.VIEW else "name")
        declaration = context.names.get(name) if type(name) is str else None
        if declaration is None or declaration.kind != "buffer" or type(name) is not str:
            continue
        start: int | None = 0
        if arg.op is ops.VIEW:
            index = arg.args[0] if arg.args else arg
            start = whole(index.attrs.get("value")) if index.op is ops.CONST_INT else None
            if start is not None and (start < 0 or declaration.size is None or start > declaration.size):
                start = None  # rule index-static-bounds
        known.append(Argument(position, arg, name, declaration.dtype, start, declaration.size))
    return known


def _callee(call: Node, context: Context) -> Node | None:
    """Return the procedure that a call goes to, if it is complete and known."""
    callee = call.attrs.get("callee")
    found = context.procs.get(callee) if type(callee) is str else None
    return None if found is None or whole(found[0].attrs.get("param_count")) is None else found[0]


def _miscounted(call: Node, callee: Node) -> str:
    """Return what is wrong with the number of arguments that a call passes, or an empty string."""
    params, inputs = callee.attrs["param_count"], whole(callee.attrs.get("input_count"))
    n_in, n_out = whole(call.attrs.get("n_in")), whole(call.attrs.get("n_out"))
    takes = f"{symbol_name(callee.attrs['name'])} takes"
    if inputs is not None and n_in is not None and n_out is not None:
        if (inputs, params - inputs) == (n_in, n_out):
            return ""
        return f"{takes} {inputs} inputs and {params - inputs} outputs, call passes {n_in} and {n_out}"
    return "" if params == len(call.args) else f"{takes} {params} arguments, call passes {len(call.args)}"


def call_names(node: Node, context: Context) -> Faults:
    """Each argument is a declared buffer, or a place in one."""
    for position, arg in enumerate(node.args):
        name = arg.attrs.get("buffer" if arg.op is ops.VIEW else "name")
        if type(name) is not str or name.startswith(ops.RESERVED_PREFIX):
            continue
        declaration = context.names.get(name)
        if declaration is None:
            yield context.undeclared(name, *((arg, "buffer") if arg.op is ops.VIEW else (node, position)))
        elif declaration.kind == "buffer" and arg.op is not ops.VIEW and declaration.node is not arg:
            reason = f"{value_name(name)} is declared differently from what the call passes"
            yield Fault(reason, node, position, context.declared_before(name))


def call_kinds(node: Node, context: Context) -> Faults:
    """A scalar is no argument."""
    for position, arg in enumerate(node.args):
        name = arg.attrs.get("buffer" if arg.op is ops.VIEW else "name")
        declaration = context.names.get(name) if type(name) is str else None
        if declaration is not None and declaration.kind not in ("buffer", ""):
            reason = f"{value_name(name)} is a {declaration.kind} and is used as a buffer"
            yield Fault(reason, node, position, context.declared_before(str(name)))
        elif declaration is None and type(name) is str and name.startswith(ops.RESERVED_PREFIX):
            yield Fault(f"{value_name(name)} is a reserved symbol and is used as a buffer", node, position)


def call_view_dtypes(node: Node, context: Context) -> Faults:
    """A place passed to a call has the element type of its buffer."""
    for argument in _arguments(node, context):
        if argument.node.type not in (None, argument.dtype) and argument.node.op is ops.VIEW:
            name = value_name(argument.name)
            reason = f"view dtype {argument.node.type} differs from buffer {name} dtype {argument.dtype}"
            yield Fault(reason, node, argument.position, context.declared_before(argument.name))


def call_indices(node: Node, context: Context) -> Faults:
    """The index of a place passed to a call is inside the buffer, or just behind it."""
    for arg in node.args:
        if arg.op is ops.VIEW:
            yield from index_faults(arg, context, beyond=1)


def call_arity(node: Node, context: Context) -> Faults:
    """A call passes as many inputs and outputs as the procedure takes."""
    callee = _callee(node, context)
    reason = "" if callee is None else _miscounted(node, callee)
    if callee is None or not reason:
        return ()
    return (Fault(reason, node, "callee", _defined(callee.attrs["name"], context)),)


def _pairs(node: Node, context: Context) -> Iterator[tuple[Argument, Node]]:
    """Yield the arguments with their parameters; none where their numbers differ."""
    callee = _callee(node, context)
    if callee is None or _miscounted(node, callee):
        return
    params = params_of(callee)
    for argument in _arguments(node, context):
        if argument.position < len(params) and params[argument.position].op is ops.BUFFER:
            yield argument, params[argument.position]


def _parameter(call: Node, param: Node, position: int, context: Context) -> tuple[tuple[str, Place], ...]:
    place = context.procs[call.attrs["callee"]][1]
    return ((f"{value_name(param.attrs.get('name'))} is declared here", place._replace(part=position)),)


def call_dtype(node: Node, context: Context) -> Faults:
    """An argument has the element type of its parameter."""
    for argument, param in _pairs(node, context):
        if argument.dtype is not param.type:
            name = value_name(param.attrs.get("name"))
            reason = f"argument {argument} is {argument.dtype}, parameter {name} is {param.type}"
            yield Fault(reason, node, argument.position, _parameter(node, param, argument.position, context))


def call_bounds(node: Node, context: Context) -> Faults:
    """An argument has at least the elements its parameter needs, as far as indices are constants."""
    for argument, param in _pairs(node, context):
        needed = buffer_size(param)
        if argument.size is None or argument.start is None or needed is None:
            continue
        left = argument.size - argument.start
        if left < needed:
            name = value_name(param.attrs.get("name"))
            has = f"argument {value_name(argument.name)} has {left} elements from index {argument.start}"
            notes = _parameter(node, param, argument.position, context)
            yield Fault(f"{has}, parameter {name} needs {needed}", node, argument.position, notes)


def _first_output(node: Node, context: Context) -> int | None:
    """Return the number of leading arguments that are only read, or None when nobody says."""
    callee = _callee(node, context)
    if callee is not None and _miscounted(node, callee):
        return None
    if "n_in" in node.attrs:
        return whole(node.attrs["n_in"])
    return None if callee is None else whole(callee.attrs.get("input_count", 0))


def call_output_writable(node: Node, context: Context) -> Faults:
    """An output argument may be written."""
    first = _first_output(node, context)
    if first is None:
        return
    for argument in _arguments(node, context):
        storage = context.storage.get(argument.name)
        if argument.position >= first and storage is not None and not storage.writable:
            callee = symbol_name(node.attrs.get("callee"))
            reason = f"output argument {argument} of {callee} is read-only"
            yield Fault(reason, node, argument.position, context.declared_before(storage.root))


def call_overlap(node: Node, context: Context) -> Faults:
    """An output does not overlap another argument of the same call, as far as places are constants."""
    first = _first_output(node, context)
    if first is None:
        return
    callee = _callee(node, context)
    params = () if callee is None else params_of(callee)
    by_root: dict[str, list[tuple[int, int, bool, Argument]]] = {}
    for argument in _arguments(node, context):
        storage = context.storage.get(argument.name)
        if storage is None or argument.start is None or argument.size is None:
            continue
        position = argument.position
        length: int | None = argument.size if argument.node.op is ops.BUFFER else 1
        if position < len(params):
            length = buffer_size(params[position])
        length = min(length or 0, argument.size - argument.start)
        if length:
            start = storage.offset + argument.start
            by_root.setdefault(storage.root, []).append((start, start + length, position >= first, argument))
    for ranges in by_root.values():
        yield from _overlaps(node, ranges)


def _overlaps(node: Node, ranges: list[tuple[int, int, bool, Argument]]) -> Iterator[Fault]:
    """Yield a fault for each range that meets an earlier one where one of the two is written."""
    ranges.sort(key=lambda item: item[:3])
    furthest: tuple[int, Argument] | None = None
    furthest_output: tuple[int, Argument] | None = None
    for start, end, written, argument in ranges:
        before = furthest if written else furthest_output
        if before is not None and start < before[0]:
            output, other = (argument, before[1]) if written else (before[1], argument)
            yield Fault(f"output {output} overlaps argument {other} of the same call", node, output.position)
        if furthest is None or end > furthest[0]:
            furthest = (end, argument)
        if written and (furthest_output is None or end > furthest_output[0]):
            furthest_output = (end, argument)


def call_sizes(node: Node, context: Context) -> Faults:
    """What a call says of workspaces is what its procedures say."""
    own = whole(context.proc.attrs.get("w_self", 0)) if context.proc is not None else None
    passed = whole(node.attrs.get("w_self"))
    if passed is not None and own is not None and passed != own:
        yield Fault(f"call passes w_self {passed}, its procedures say {own}", node, "w_self")
    callee = _callee(node, context)
    needed = whole(callee.attrs.get("sz_w")) if callee is not None else None
    says = node.attrs.get("callee_needs_w")
    if needed is not None and type(says) is bool and says is not (needed > 0):
        yield Fault(f"call passes callee_needs_w {says}, its procedures say {needed > 0}", node, "callee_needs_w")


def proc_sizes(node: Node, context: Context) -> Faults:
    """The workspace a procedure asks for is its own windows plus the most that one of its callees needs."""
    said, own = whole(node.attrs.get("sz_w")), whole(node.attrs.get("w_self", 0))
    if said is None or own is None or type(node.attrs.get("param_count")) is not int:
        return
    needed = _needed_by_callees(node, context)
    if needed is not None and said != own + needed:
        name = symbol_name(node.attrs.get("name"))
        yield Fault(f"sz_w of {name} is {said}, its own windows and callees need {own + needed}", node, "sz_w")


def _needed_by_callees(proc: Node, context: Context) -> int | None:
    """Return the largest workspace that a callee says it needs, or None when one does not say."""
    needed = 0
    pending = list(body_of(proc))
    while pending:
        statement = pending.pop()
        if statement.op is ops.FOR:
            pending.extend(body_of(statement))
        elif statement.op is ops.CALL:
            callee = _callee(statement, context)
            size = whole(callee.attrs.get("sz_w")) if callee is not None else None
            if size is None:
                return None
            needed = max(needed, size)
    return needed


_CALL: Final = on(ops.CALL)

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
    Rule("unique-procedures", unique_procedures, on(ops.PROC), context=True),
    Rule("sz-consistent", proc_sizes, on(ops.PROC), context=True),
)
