"""What must hold for a `prog` node on its own: the rules of program specification 3.1, one function each.

A function yields what is wrong in words. Those of scalars and places are in `scalar_rules.py`; scopes, declarations and
loops are the business of `place_rules.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Final

from scaly_ir.attributes import AttrValue, Word
from scaly_ir.dialects.prog import ops
from scaly_ir.dialects.prog.context import buffer_size, value_name, whole
from scaly_ir.dialects.prog.scalar_rules import (
    DTYPE_SET,
    NO_OPERANDS,
    SCALAR_RULES,
    holds,
    is_scalar,
    on,
    types_of,
)
from scaly_ir.graph import Node
from scaly_ir.op import Op
from scaly_ir.op_rules import registered_rules
from scaly_ir.spec import NO_FAULTS, Fault, Faults, Rule, attribute_faults, is_misspelt, shown_value
from scaly_ir.text.diagnostics import did_you_mean
from scaly_ir.types import FLOAT64, INT64, int_range


def attrs_match_op(node: Node) -> Faults:
    """Attributes are known to the operator and of the right kind."""
    attrs = node.attrs
    only = _ONLY_ATTRIBUTE.get(node.op)
    if only is None:
        if node.op not in ops.ROWS and (not attrs or _is_registered(node.op)):  # rule op-arity checks registered ones
            return ()
    elif len(attrs) == 1 and type(attrs.get(only[0])) is only[1]:
        return ()
    return _attrs_match_op(node)


_ONLY_ATTRIBUTE: Final[dict[Op, tuple[str, type]]] = {
    op: (key, spec.kinds[0])
    for op, row in ops.ROWS.items()
    if len(row.attrs) == 1
    for key, spec in row.attrs.items()
    if len(spec.kinds) == 1 and not spec.choices
}
"""The operators with one attribute, which is nearly always as it should be: a short cut, not a rule."""


_OTHER_RULES: Final[dict[Op, frozenset[str]]] = {
    ops.CONST_INT: frozenset({"value"}),
    ops.CONST_FLOAT: frozenset({"value"}),
    ops.VAR: frozenset({"name"}),
    ops.VIEW: frozenset({"buffer"}),
    ops.BUFFER: frozenset({"address_space", "device"}),
    ops.ASSIGN: frozenset({"target", "declare"}),
    ops.RANGE: frozenset({"name", "kind"}),
    ops.CALL: frozenset({"callee"}),
}
"""Attributes whose kind another rule of that operator checks."""


def _attrs_match_op(node: Node) -> Faults:
    faults = attribute_faults(node)
    if faults is not NO_FAULTS:
        other = _OTHER_RULES.get(node.op, frozenset())
        faults = [fault for fault in faults if fault.part not in other]
    return [*faults, *_named_faults(node)] if node.op in (ops.PROC, ops.BUFFER) else faults


def _named_faults(node: Node) -> Iterator[Fault]:
    if node.attrs.get("name") == "":
        yield Fault("attribute 'name' is empty, expected a name", part="name")
    count, params = whole(node.attrs.get("input_count")), whole(node.attrs.get("param_count"))
    if count is not None and params is not None and count > params:
        wanted = f"expected at most {params}, the number of parameters"
        yield Fault(f"attribute 'input_count' is {count}, {wanted}", part="input_count")


def dtype_is_dtype(node: Node) -> Faults:
    """What has a result has one of the five element types, and nothing else has one."""
    dtype = node.type
    if node.op in _WITHOUT_RESULT:
        return () if dtype is None else (f"node dtype is {dtype}, but '{node.op.name}' has no result",)
    if id(dtype) in DTYPE_SET:
        return () if node.op is not ops.RANGE or dtype is INT64 else (f"node dtype is {dtype}, expected int64",)
    return (f"node dtype is {'missing' if dtype is None else dtype}, not one of the five dtypes",)


_WITHOUT_RESULT: Final = frozenset({op for op, row in ops.ROWS.items() if row.typed == "none"})


def buffer_attrs(node: Node) -> Faults:
    """A buffer has a shape, a known address space and a device."""
    attrs = node.attrs
    for key in ("shape", "address_space", "device"):
        if key not in attrs:
            yield f"lacks attribute {key}"
    if node.args:
        yield NO_OPERANDS.format(len(node.args))
    shape, space, device = attrs.get("shape", ()), attrs.get("address_space", _GLOBAL), attrs.get("device", _HOST)
    if type(shape) is tuple and not all([type(extent) is int and extent >= 0 for extent in shape]):
        yield Fault("a shape holds integers of at least 0", part="shape")
    elif type(shape) is tuple and buffer_size(node) is None and "shape" in attrs:
        yield Fault("a shape of more elements than an int64 index reaches", part="shape")
    if type(space) is not Word or space not in ops.ADDRESS_SPACES:
        reason = f"address space {shown_value(space)} is unknown{_meant(space, ops.ADDRESS_SPACES)}"
        yield Fault(reason, part="address_space")
    if type(device) is not Word or device != _HOST:
        yield "device is not a device"


def _meant(value: AttrValue, choices: Sequence[str]) -> str:
    """Return the end of a message on a value that is none of the choices: what was meant, or nothing."""
    return did_you_mean(value, choices) if isinstance(value, str) else ""


_GLOBAL: Final = Word("global")
_HOST: Final = Word("host")


def _has_table(node: Node) -> bool:
    return "values" in node.attrs or "elided" in node.attrs


def buffer_init(node: Node) -> Faults:
    """A buffer has at most one of table, alias and workspace, and is constant exactly when it is a table."""
    attrs = node.attrs
    table = _has_table(node)
    if sum([table, "alias_of" in attrs, "workspace_offset" in attrs]) > 1:
        yield "more than one of table, alias and workspace given"
    if ("alias_of" in attrs) != ("alias_offset" in attrs):
        yield "an alias needs both the buffer and the offset"
    if table != (attrs.get("address_space") == "constant"):
        yield Fault("table without constant space" if table else "constant space without a table", part="address_space")


def buffer_values(node: Node) -> Faults:
    """A table has as many values as its shape needs, each of the element type."""
    values, needed, dtype = node.attrs.get("values"), buffer_size(node), node.type
    if type(values) is not tuple or needed is None or id(dtype) not in DTYPE_SET:
        return
    if len(values) != needed:
        yield Fault(f"table has {len(values)} values, shape needs {needed}", part="values")
    wanted = float if dtype.is_float else int
    wrong: Iterable[AttrValue] = ()
    if {type(value) for value in values} - {wanted}:
        wrong = (value for value in values if type(value) is not wanted)
    elif wanted is int:
        allowed = int_range(dtype)
        wrong = (value for value in values if value not in allowed)
    elif dtype is not FLOAT64:
        wrong = (value for value in values if not holds(dtype, value))
    for value in islice(wrong, 1):
        yield Fault(f"value {shown_value(value)} is not a {dtype}", part="values")


def table_elided(node: Node) -> Faults:
    """A table is written in full."""
    if "elided" in node.attrs:
        yield Fault("this constant was elided when it was printed", part="elided")


def store_attrs(node: Node) -> Faults:
    """A store has a view and a scalar value of its type."""
    args = node.args
    if len(args) != 2 or args[0].op is not ops.VIEW or not is_scalar(args[1]):
        return (f"needs a view and a scalar value, got {_names(node)}",)
    if args[1].type is not node.type:
        return (f"value has dtype {args[1].type}, the store says {node.type}",)
    return ()


def _names(node: Node) -> str:
    return ", ".join([f"'{arg.op.name}'" for arg in node.args]) or "nothing"


def store_pair_attrs(node: Node) -> Faults:
    """A store of a pair has a view and two scalars, all float64."""
    shape = [arg.op is ops.VIEW for arg in node.args] == [True, False, False]
    if not shape or not all(map(is_scalar, node.args[1:])):
        yield f"needs a view and two scalars, got {_names(node)}"
    elif any([part.type is not FLOAT64 for part in (*node.args, node)]):
        yield f"target and values must be float64, got {types_of(node.args)}"


def assign_attrs(node: Node) -> Faults:
    """An assignment has a target and one scalar value of its type."""
    attrs, args = node.attrs, node.args
    declared = attrs.get("declare", True) is True
    if (
        type(attrs.get("target")) is str
        and attrs["target"]
        and declared
        and len(args) == 1
        and is_scalar(args[0])
        and args[0].type is node.type
    ):
        return ()
    return _assign_faults(node)


def _assign_faults(node: Node) -> Iterator[str | Fault]:
    if type(node.attrs.get("target")) is not str or not node.attrs["target"]:
        yield Fault("no target name", part="target")
    if len(node.args) != 1 or not is_scalar(node.args[0]):
        yield f"needs one scalar value, got {_names(node)}"
    elif node.args[0].type is not node.type:
        yield f"value has dtype {node.args[0].type}, the assignment says {node.type}"
    declare = node.attrs.get("declare", True)
    if type(declare) is not bool:
        hint = (node.op.attr_specs or {})["declare"].hint(declare)
        yield Fault(f"'declare' is not a boolean{hint}", part="declare")
    elif declare is False:
        yield Fault("'declare' is left out, not False", part="declare")


def range_attrs(node: Node) -> Faults:
    """A range has a name, a known kind and three scalar bounds."""
    kind = node.attrs.get("kind")
    if kind is None:
        if not is_misspelt(node, "kind"):
            yield "kind is missing"
    elif type(kind) is not Word or kind not in ops.RANGE_KINDS:
        hint = _meant(kind, ops.RANGE_KINDS)
        if isinstance(kind, str) and kind in ops.RANGE_KINDS:
            hint = f"; write kind={kind}"
        yield Fault(f"kind {shown_value(kind)} is unknown{hint}", part="kind")
    if type(node.attrs.get("name")) is not str or not node.attrs["name"]:
        yield Fault("no name", part="name")
    if len(node.args) != 3 or not all(map(is_scalar, node.args)):
        yield f"needs start, stop and step scalars, got {_names(node)}"


def range_dtype(node: Node) -> Faults:
    """The bounds of a range are int64."""
    for position, (word, bound) in enumerate(zip(("start", "stop", "step"), node.args, strict=False)):
        if bound.type is not INT64 and is_scalar(bound):
            yield Fault(f"bound {word} has dtype {bound.type}, expected int64", part=position)


def range_step(node: Node) -> Faults:
    """A constant step is positive."""
    if len(node.args) == 3 and node.args[2].op is ops.CONST_INT:
        value = node.args[2].attrs.get("value")
        if type(value) is int and value <= 0:
            yield Fault(f"constant step {shown_value(value)} is not positive", part=2)


def for_body(node: Node) -> Faults:
    """A loop has a range, then statements; a fragment has statements."""
    if node.op is ops.FOR and (not node.args or node.args[0].op is not ops.RANGE):
        yield "first operand must be a range"
    for statement in node.args[1 if node.op is ops.FOR else 0 :]:
        if statement.op not in ops.STATEMENTS:
            yield f"'{statement.op.name}' is not a statement"


def call_attrs(node: Node) -> Faults:
    """A call has a callee and as many arguments as it says, each a buffer or a view."""
    attrs = node.attrs
    if type(attrs.get("callee")) is not str or not attrs["callee"]:
        yield Fault("no callee", part="callee")
    n_in, n_out = whole(attrs.get("n_in")), whole(attrs.get("n_out"))
    if n_in is not None and n_out is not None and n_in + n_out != len(node.args):
        yield Fault(f"'n_in' + 'n_out' is {n_in + n_out}, but {len(node.args)} arguments given", part="n_in")
    elif ("n_in" in attrs) != ("n_out" in attrs):
        part, other = ("n_in", "n_out") if "n_in" in attrs else ("n_out", "n_in")
        if not is_misspelt(node, other):
            yield Fault("'n_in' and 'n_out' are given together or not at all", part=part)
    for position, arg in enumerate(node.args):
        # An undeclared name is a variable here, for rule in-scope to report where there is a scope.
        if arg.op not in (ops.BUFFER, ops.VIEW, ops.VAR):
            yield Fault(f"argument '{arg.op.name}' is neither buffer nor view", part=position)


def proc_params(node: Node) -> Faults:
    """A procedure's parameters are plain global buffers, and its mode is known."""
    count = whole(node.attrs.get("param_count"))
    if count is None:
        yield "no param count"
        return
    if not 0 <= count <= len(node.args):
        yield f"param count is {count}, but there are {len(node.args)} operands"
        return
    for param in node.args[:count]:
        if param.op is not ops.BUFFER or param.attrs.get("address_space") != "global" or _INITS & param.attrs.keys():
            name = value_name(param.attrs["name"]) if "name" in param.attrs else f"'{param.op.name}'"
            yield Fault(f"parameter {name} is not a plain global buffer", param, "address_space")
    for statement in node.args[count:]:
        if statement.op not in ops.STATEMENTS:
            yield f"'{statement.op.name}' is not a statement"
    mode = node.attrs.get("scalarize_mode", "disabled")
    if type(mode) is str and mode not in ops.SCALARIZE_MODES:
        reason = f"scalarize mode {shown_value(mode)} is unknown{_meant(mode, ops.SCALARIZE_MODES)}"
        yield Fault(reason, part="scalarize_mode")


_INITS: Final = frozenset({"values", "elided", "alias_of", "workspace_offset"})


def program_procs(node: Node) -> Faults:
    """A module holds procedures, as many as it says."""
    if any([part.op is not ops.PROC for part in node.args]):
        yield f"a module holds procedures, got {_names(node)}"
    if node.attrs.get("bare") and "lanes" in node.attrs:
        yield Fault("attribute 'lanes' belongs to a module, and these procedures stand without one", part="lanes")
    if node.attrs.get("proc_count") != len(node.args):
        yield f"attribute 'proc_count' is {shown_value(node.attrs.get('proc_count'))}, expected {len(node.args)}"


NODE_RULES: Final = (
    Rule("attrs-match-op", attrs_match_op),
    Rule("dtype-is-DType", dtype_is_dtype),
    *SCALAR_RULES,
    Rule("buffer-attrs", buffer_attrs, on(ops.BUFFER)),
    Rule("buffer-init", buffer_init, on(ops.BUFFER)),
    Rule("buffer-values", buffer_values, on(ops.BUFFER)),
    Rule("table-elided", table_elided, on(ops.BUFFER)),
    Rule("store-attrs", store_attrs, on(ops.STORE)),
    Rule("store-pair-attrs", store_pair_attrs, on(ops.STORE_PAIR)),
    Rule("assign-attrs", assign_attrs, on(ops.ASSIGN)),
    Rule("range-attrs", range_attrs, on(ops.RANGE)),
    Rule("range-dtype", range_dtype, on(ops.RANGE)),
    Rule("range-step", range_step, on(ops.RANGE)),
    Rule("for-body", for_body, on(ops.FOR, ops.BLOCK)),
    Rule("call-attrs", call_attrs, on(ops.CALL)),
    Rule("proc-params", proc_params, on(ops.PROC)),
    Rule("program-procs", program_procs, on(ops.PROGRAM)),
)
"""Every rule of single nodes but those of registered operators, in the order they are checked."""


def _is_registered(op: Op) -> bool:
    return op not in ops.ROWS and not ops.is_shared(op)


REGISTERED_RULES: Final = registered_rules("prog", _is_registered)
"""The rules of operators that others registered."""
