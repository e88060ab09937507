"""Lowering a module: which functions become procedures, under which names and with which header, and in which order.

Source: lowering specification 1.1.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any, ClassVar, Final

from scaly_ir.attributes import Word
from scaly_ir.dialects.expr import ops
from scaly_ir.dialects.expr.functions import body_of, callees_of, in_order, inputs_of, outputs_of
from scaly_ir.dialects.expr.simplify import simplify_function
from scaly_ir.dialects.prog import build
from scaly_ir.dialects.prog.ops import RESERVED_PREFIX
from scaly_ir.errors import LoweringError
from scaly_ir.graph import Node
from scaly_ir.graph.observe import report_rebuilt
from scaly_ir.pass_manager import Pass
from scaly_ir.passes.expr.lowering import calls, elementwise, gathering, in_place, loops, products, reductions, views
from scaly_ir.passes.expr.lowering.procedure import Form, Procedure, storage_shape
from scaly_ir.passes.prog.names import c_spelling
from scaly_ir.remarks import warn
from scaly_ir.text.spelling import spell_name
from scaly_ir.types import FLOAT64, INT64, int_range

_KEY: Final = "prog.FLowerOp"
_INDICES: Final = int_range(INT64)
_UNNAMED: Final = "out"
"""What an output is called that has no name."""

for _rules in (views.RULES, reductions.RULES, products.RULES, gathering.RULES, calls.RULES, loops.RULES):
    for _op, _rule in _rules.items():
        _op.set_attr(_KEY, _rule, override=True)


@dataclass(frozen=True)
class Lower(Pass):
    """Lowers the entry, and what it reaches, to procedures; a module that is lowered already comes back unchanged."""

    name: ClassVar[str] = "lower"
    summary: ClassVar[str] = "turn functions of tensors into procedures of loops"
    dialects: ClassVar[frozenset[str]] = frozenset({"expr", "prog"})

    entry: str = ""
    """The function to start from; left out, the last one."""

    def run(self, root: Node) -> Node:
        """Return the `prog` module of an `expr` module."""
        return lower(root, self.entry or None) if root.op is ops.MODULE else root


def lower(root: Node, entry: str | None = None) -> Node:
    """Return the `prog` module for the entry, by default the last function, and the functions that it reaches.

    `LoweringError` for what has no form in `prog`.
    """
    if not root.args:
        return build.program([])
    start = _entry(root, entry)
    functions = in_order([start])
    for function in root.args:
        if function not in functions:
            left_out, reached = [spell_name(each.attrs["name"]) for each in (function, start)]
            warn(f"@{left_out} is left out: @{reached} does not reach it")
    _check_leaves(functions, start)
    forms = _forms(functions)
    names = _names(forms)
    procedures: dict[str, Node] = {}
    for form in forms:
        if names[form] not in procedures:
            procedures[names[form]] = _lowered(form, names, is_entry=form.function is start)
    return build.program(list(procedures.values()))


def _entry(root: Node, name: str | None) -> Node:
    if name is None:
        return root.args[-1]
    for function in root.args:
        if function.attrs["name"] == name:
            return function
    known = ", ".join([spell_name(function.attrs["name"]) for function in root.args])
    raise LoweringError(f"no function is called '{name}'; there are {known}")


def _forms(functions: Sequence[Node]) -> list[Form]:
    """Return the forms in which functions are needed, callees first; the last is the entry, which nothing refers to."""
    needed: dict[Node, dict[Form, None]] = {function: {} for function in functions}
    for function in functions:
        for node in body_of(function):
            if node.op in ops.CALLS:
                in_place = node.attrs.get("in_place", ())
                for key, form in (("callee", in_place), ("cond", ())):
                    callee = node.attrs.get(key)
                    if isinstance(callee, Node):
                        needed[callee][Form(callee, form)] = None
    needed[functions[-1]][Form(functions[-1])] = None
    return [form for function in functions for form in needed[function]]


def _names(forms: Iterable[Form]) -> dict[Form, str]:
    """Return the name of each procedure; forms of one graph share one.

    A form that works in place is called after its function, with a number where that name is taken.
    """
    names: dict[Form, str] = {}
    spelled: dict[str, Node] = {}
    known: dict[Any, str] = {}
    for form in sorted(forms, key=lambda form: len(form.in_place) > 0):
        function = form.function
        name = str(function.attrs["name"])
        graph = (function.args, function.attrs["output_names"], form.in_place)
        if graph not in known:
            if form.in_place:
                name = _free(f"{name}_inplace", spelled)
            other = spelled.setdefault(c_spelling(name), function)
            if other is not function:
                both = f"'{other.attrs['name']}' and '{name}'"
                raise LoweringError(f"two functions have one name in C: {both}", function)
            known[graph] = name
        names[form] = known[graph]
    return names


def _free(wanted: str, spelled: Mapping[str, Node]) -> str:
    name, number = wanted, 2
    while c_spelling(name) in spelled:
        name, number = f"{wanted}_{number}", number + 1
    return name


def _check_leaves(functions: Sequence[Node], entry: Node) -> None:
    """Check that arrays that cross the boundary to C, by the entry, calls and maps, are float64."""
    checked: dict[Node, None] = {entry: None}
    for function in functions:
        for node in body_of(function):
            if node.op in ops.CALLS and loops.is_plain(node):
                checked.update(dict.fromkeys(callees_of([node])))
    for function in checked:
        for leaf in (*inputs_of(function), *outputs_of(function)):
            if leaf.type.dtype is not FLOAT64 or leaf.type.pattern is not None:
                name = function.attrs["name"]
                raise LoweringError(f"@{name}: inputs and outputs are dense float64, got {leaf.type}", leaf, function)


def _lowered(form: Form, names: Mapping[Form, str], *, is_entry: bool) -> Node:
    """Return the procedure for a form of a function."""
    function = form.function
    hint = max([node.attrs.get("lowering", "auto") for node in body_of(function)], key=ops.HINTS.index)
    normal = simplify_function(function)
    read = [node for number, node in enumerate(inputs_of(normal)) if number not in form.in_place]
    results = outputs_of(normal)
    names_wanted = [*[str(node.attrs["name"]) for node in read], *normal.attrs["output_names"]]
    params = [
        build.param(name, storage_shape(node.type), node.type.dtype)
        for name, node in zip(_parameter_names(names_wanted), (*read, *results), strict=True)
    ]
    inputs, outputs = params[: len(read)], params[len(read) :]
    proc = Procedure(function, names, [*inputs, *outputs])
    proc.values.update(zip(read, inputs, strict=True))
    _set_targets(proc, results, outputs)
    in_place.set_targets(proc, normal, form.in_place, outputs)
    body = body_of(normal)
    proc.loops = loops.grouped(body)
    for node in (*inputs_of(normal), *body):
        if node.type.size not in _INDICES:
            raise proc.refuse(node, "it has more elements than an int64 index reaches")
    for node in body:
        proc.current = node
        _lower_node(proc, node)
    for result, output in zip(results, outputs, strict=True):
        proc.current = result
        proc.copy(proc.value(result), output, result.type.size)
    header: dict[str, Any] = {
        "device": Word("host"),
        "input_count": len(inputs),
        "lowering": hint,
        "scalarize_mode": _mode(proc, normal, hint, is_entry=is_entry),
    }
    if form.in_place:
        header |= {"in_place": True, "scalarize_mode": "disabled"}
    made = build.proc(names[form], [*inputs, *outputs], proc.body, header)
    report_rebuilt(function, made)  # a form of it may be called otherwise
    return made


def _parameter_names(wanted: Sequence[str]) -> list[str]:
    """Return a name for each parameter: the one wanted, unless that is empty, reserved or taken by one before.

    What is changed goes round the names that stay.
    """
    staying = {name for name in wanted if name and not name.startswith(RESERVED_PREFIX)}
    given: dict[str, None] = {}
    numbered: dict[str, Iterator[str]] = {}
    for name in wanted:
        free = name
        if name not in staying or name in given:
            stem = (f"_{name}" if name.startswith(RESERVED_PREFIX) else name) or _UNNAMED
            names = numbered.setdefault(stem, _numbered(stem))
            free = next(each for each in names if each not in given and each not in staying)
        given[free] = None
    return list(given)


def _numbered(stem: str) -> Iterator[str]:
    yield stem
    for number in count(2):
        yield f"{stem}_{number}"


def _set_targets(proc: Procedure, results: Sequence[Node], outputs: Sequence[Node]) -> None:
    """Let what computes an output write it in place; reshapes, which move nothing, are looked through."""
    for result, output in zip(results, outputs, strict=True):
        node = result
        while node.op is ops.RESHAPE:
            node = node.args[0]
        if node.op not in (ops.INPUT, ops.CONST) and node not in proc.targets:
            proc.targets[node] = output


def _lower_node(proc: Procedure, node: Node) -> None:
    if node in proc.values or node.op in (ops.INPUT, ops.CONST):
        return
    if node.type.pattern is not None:
        raise proc.refuse(node, "a sparse value")
    rule = node.op.get_attr(_KEY, None)
    if rule is None and node.op.get_attr("TElementwise"):
        rule = elementwise.lower_elementwise
    if rule is None:
        raise proc.refuse(node, "the operator has no rule for it")
    rule(proc, node)


def _mode(proc: Procedure, function: Node, hint: str, *, is_entry: bool) -> str:
    """Return whether the procedure may be expanded into scalars."""
    wanted = hint == "scalar" or (hint == "auto" and not is_entry)
    used = [operand for node in body_of(function) for operand in _data_operands(node)]
    all_float64 = all([node.type.dtype is FLOAT64 for node in (*used, *outputs_of(function))])
    return "procedure" if wanted and all_float64 and not proc.computed_index else "disabled"


def _data_operands(node: Node) -> Sequence[Node]:
    """Return what an operation makes values of at run time: of constants, what uses them; a known index is none."""
    if node.op is ops.CONST:
        return ()
    if node.op in (ops.GATHER, ops.SCATTER) and node.args[1].op is ops.CONST:
        return (node.args[0], *node.args[2:], node)
    return (*node.args, node)
