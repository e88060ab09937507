"""What must hold for the scalars of `prog` and for places in buffers, each on its own (program specification 3.1)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final

from scaly_ir.dialects.prog import ops
from scaly_ir.graph import Node
from scaly_ir.op import Op
from scaly_ir.spec import Fault, Faults, Rule, shown_value
from scaly_ir.text.spelling import float_bits, round_float
from scaly_ir.types import BOOL, DTYPES, FLOAT64, INT64, DType, int_range

DTYPE_SET: Final = frozenset(map(id, DTYPES))
"""The five element types by identity, which tells them from strings that are equal."""


def is_scalar(node: Node) -> bool:
    """Tell whether a node is a scalar value."""
    return ops.is_scalar(node.op)


# --- leaves and places ------------------------------------------------------------------------------------------------


def const_int_value(node: Node) -> Faults:
    """An integer constant has an int value and an integer or boolean type."""
    if type(node.attrs.get("value")) is not int:
        yield "integer constant lacks an int value"
    if node.type is not BOOL and not (id(node.type) in DTYPE_SET and node.type.is_int):
        yield f"integer constant has dtype {node.type} which is neither integer nor bool"
    if node.args:
        yield NO_OPERANDS.format(len(node.args))


NO_OPERANDS: Final = "takes no operands, got {}"


def const_float_value(node: Node) -> Faults:
    """A float constant has a float value and a floating type, which can hold it."""
    value = node.attrs.get("value")
    floating = id(node.type) in DTYPE_SET and node.type.is_float
    if not floating:
        yield f"float constant has non-floating dtype {node.type}"
    if type(value) is not float:
        yield "float constant lacks a value"
    elif floating and not holds(node.type, value):
        yield f"value {shown_value(value)} is not a {node.type}"
    if node.args:
        yield NO_OPERANDS.format(len(node.args))


def holds(dtype: DType, value: float) -> bool:
    """Tell whether a floating type can hold a value, to the bit."""
    return dtype is FLOAT64 or float_bits(round_float(value, dtype)) == float_bits(value)


def const_range(node: Node) -> Faults:
    """An integer constant fits its type."""
    value = node.attrs.get("value")
    if (
        type(value) is int
        and id(node.type) in DTYPE_SET
        and not node.type.is_float
        and value not in int_range(node.type)
    ):
        yield f"value {shown_value(value)} does not fit {node.type}"


def var_name(node: Node) -> Faults:
    """A variable has a name."""
    name = node.attrs.get("name")
    if node.args:
        return (NO_OPERANDS.format(len(node.args)),)
    return () if type(name) is str and name else ("variable lacks a name",)


def view_scalar_args(node: Node) -> Faults:
    """A view has a buffer's name and one scalar index."""
    name, args = node.attrs.get("buffer"), node.args
    if type(name) is str and name and len(args) == 1 and is_scalar(args[0]):
        return ()
    faults = [] if type(name) is str and name else ["no buffer name"]
    if len(args) != 1:
        faults.append(f"expected exactly one flat index, got {len(args)}")
    elif not is_scalar(args[0]):
        faults.append(f"index '{args[0].op.name}' is not a scalar")
    return faults


def index_dtype(node: Node) -> Faults:
    """An index is int64."""
    index = node.args[0] if node.args else node
    if index.type is INT64 or index is node or not is_scalar(index):
        return ()
    return (Fault(f"index has dtype {index.type}, expected int64", part=0),)


def load_takes_view(node: Node) -> Faults:
    """A load has one view and its type."""
    if len(node.args) != 1 or node.args[0].op is not ops.VIEW:
        return ("load needs exactly one view",)
    if node.args[0].type is not node.type:
        return (f"load has dtype {node.type}, its view {node.args[0].type}",)
    return ()


def _operand_count(node: Node) -> Iterator[str]:
    count = len(node.op.args_info)
    if len(node.args) != count:
        yield f"{count} operand{'s' if count != 1 else ''} needed, got {len(node.args)}"
    for arg in node.args:
        if not is_scalar(arg):
            yield f"operand '{arg.op.name}' is not a scalar"


def types_of(nodes: Iterable[Node]) -> str:
    """Return the types of nodes in words."""
    return ", ".join([str(node.type) for node in nodes])


def arith_types(node: Node) -> Faults:
    """Arithmetic has operands and result of one type that the operator accepts."""
    dtype, args, op = node.type, node.args, node.op
    fits = len(args) == len(op.args_info)
    for arg in args:
        if arg.type is not dtype or arg.op in _TYPED_STATEMENTS:
            fits = False
    if fits and id(dtype) in DTYPE_SET and dtype.kind in op.get_attr("TOperandKinds"):
        return ()
    return _arith_faults(node)


_TYPED_STATEMENTS: Final = frozenset({op for op, row in ops.ROWS.items() if row.typed != "none"}) - ops.SCALAR_LEAVES
"""What has an element type and is no scalar all the same."""


def _arith_faults(node: Node) -> Iterator[str]:
    dtype, args = node.type, node.args
    yield from _operand_count(node)
    if any([arg.type is not dtype for arg in args]):
        yield f"operands {types_of(args)} and result {dtype} differ"
    if id(dtype) in DTYPE_SET and dtype.kind not in node.op.get_attr("TOperandKinds") and not _integers_only(node.op):
        yield f"op {node.op.mnemonic} does not accept {dtype}"


def _integers_only(op: Op) -> bool:
    return bool(op.get_attr("TOperandKinds") == frozenset({"int"}))


def int_division_types(node: Node) -> Faults:
    """Integer divisions take integers."""
    if id(node.type) in DTYPE_SET and not node.type.is_int:
        yield f"integer operands required, got {node.type}"


def compare_types(node: Node) -> Faults:
    """A comparison takes two operands of one type and gives bool."""
    if len(node.args) != 2 or node.args[0].type is not node.args[1].type or not all(map(is_scalar, node.args)):
        yield f"two operands of one dtype needed, got {types_of(node.args) or 'none'}"
    if node.type is not BOOL:
        yield f"result must be bool, got {node.type}"


def logical_types(node: Node) -> Faults:
    """Logic takes and gives bool."""
    yield from _operand_count(node)
    wrong = [position for position, arg in enumerate(node.args) if arg.type is not BOOL]
    if wrong or node.type is not BOOL:
        reason = f"bool operands and result needed, got {types_of(node.args) or 'none'} and {node.type}"
        yield Fault(reason, part=wrong[0] if wrong else "")


def isfinite_types(node: Node) -> Faults:
    """The test for finite values takes one float and gives bool."""
    fits = len(node.args) == 1 and is_scalar(node.args[0]) and id(node.args[0].type) in DTYPE_SET
    if not fits or not node.args[0].type.is_float or node.type is not BOOL:
        yield f"one floating operand and a bool result needed, got {types_of(node.args) or 'none'} and {node.type}"


def select_types(node: Node) -> Faults:
    """A choice has a bool condition and two branches of the result's type."""
    if len(node.args) != 3:
        yield f"three operands needed, got {len(node.args)}"
        return
    yield from _operand_count(node)
    condition, first, second = node.args
    if condition.type is not BOOL:
        yield Fault(f"condition is {condition.type}, not bool", part=0)
    if first.type is not second.type:
        yield f"branch dtypes {first.type} and {second.type} differ"
    elif first.type is not node.type:
        yield f"branch dtypes {first.type} and result {node.type} differ"


def cast_types(node: Node) -> Faults:
    """A conversion has one operand and does not give bool."""
    if len(node.args) != 1 or not is_scalar(node.args[0]):
        yield f"one operand needed, got {len(node.args)}"
    if node.type is BOOL:
        yield "cast to bool must be written as a comparison: prog.ne(x, 0)"


def _typed(*typings: str) -> Callable[[Op], bool]:
    """Return the test for the forms of shared scalar operators with these type rules, of those to come as well."""
    return lambda op: ops.typing_of(op) in typings


def on(*operators: Op) -> frozenset[Op]:
    """Return the operators that a rule is about."""
    return frozenset(operators)


SCALAR_RULES: Final = (
    Rule("const-int-value", const_int_value, on(ops.CONST_INT)),
    Rule("const-float-value", const_float_value, on(ops.CONST_FLOAT)),
    Rule("const-range", const_range, on(ops.CONST_INT)),
    Rule("var-name", var_name, on(ops.VAR)),
    Rule("view-scalar-args", view_scalar_args, on(ops.VIEW)),
    Rule("index-dtype", index_dtype, on(ops.VIEW)),
    Rule("load-takes-view", load_takes_view, on(ops.LOAD)),
    Rule("arith-types", arith_types, _typed("arith")),
    Rule("int-division-types", int_division_types, lambda op: ops.is_shared(op) and _integers_only(op)),
    Rule("compare-types", compare_types, _typed("compare")),
    Rule("logical-types", logical_types, _typed("logic")),
    Rule("isfinite-types", isfinite_types, _typed("test")),
    Rule("select-types", select_types, _typed("select")),
    Rule("cast-types", cast_types, _typed("cast")),
)
"""The rules of scalars and places, in the order they are checked."""
