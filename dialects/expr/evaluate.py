"""The evaluator of `expr`: graphs on NumPy arrays, any dtype, without rewriting.

`evaluate` is for users and tests, `evaluate_constants` for folding. Every operator computes what its `FNumpy` says. How
graphs run is in `execution.py`. Source: expression specification 3.1 and 6.2.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from scaly_ir.dialects.expr import ops
from scaly_ir.dialects.expr.functions import outputs_of
from scaly_ir.dialects.expr.ingest import checked
from scaly_ir.effects import CallEffectKind
from scaly_ir.graph import Node
from scaly_ir.numeric.evaluate import signalled
from scaly_ir.numeric.machine import NotExact, Reason
from scaly_ir.numeric.table import TABLE, scalar_name
from scaly_ir.tensors import MOST_AXES, TensorType
from scaly_ir.text.diagnostics import did_you_mean

if TYPE_CHECKING:
    import numpy as np

    from scaly_ir.dialects.expr.execution import Compute

    Array = np.ndarray[Any, Any]

LARGEST_FOLDED: Final = 4096
"""A constant of more entries is folded only when it is no larger than its operands together."""


def evaluate(exprs: Any, values: Mapping[str, Any]) -> Any:
    """Return the value of an expression, or a list or tuple of those of several, for the values of its inputs by name.

    The shape of a value must be that of the input (`ValueError`). So must its dtype, if it has one (`TypeError`):
    nothing is converted silently. Python numbers and lists have none; they become what the input is where NumPy's
    ``same_kind`` allows it, and fit it (`OverflowError`). `ValueError` for an input without a value, a name that no
    input has, entries outside of a sparsity pattern and a function that is not known, `IndexError` for a position that
    was promised to be in bounds, `NotImplementedError` for an operator without `FNumpy`, and `EvaluationError` for
    one whose `FNumpy` fails or gives another shape or dtype than the operation has, and for a value of more than 64
    axes. Results are arrays of their own, 0-d for scalars.
    """
    from scaly_ir.dialects.expr.execution import Plans, run

    single = isinstance(exprs, Node)
    if not single and not isinstance(exprs, list | tuple):
        raise TypeError(f"expected an expression, or a list or tuple of them, got {exprs!r}")
    roots = [checked(root) for root in ([exprs] if single else exprs)]
    inputs = _inputs_of(roots)
    _check_names(inputs, values)
    arrays = [_input_array(node.attrs["name"], node.type, values[node.attrs["name"]]) for node in inputs]
    plans = Plans()
    results = _own(run(plans, plans.make(roots, inputs), arrays), roots)
    return results[0] if single else type(exprs)(results)


def evaluate_function(function: Node, operands: Sequence[Array]) -> list[Array]:
    """Return the outputs of a function's node for arrays of exactly the types of its inputs, which are not checked."""
    from scaly_ir.dialects.expr.execution import Plans, run

    plans = Plans()
    return _own(run(plans, plans.of(function), operands), outputs_of(function))


def _own(results: Sequence[Array], nodes: Sequence[Node]) -> list[Array]:
    """Return results as arrays that nothing else shares."""
    import numpy

    from scaly_ir.dialects.expr.execution import no_memory

    copies = []
    for result, node in zip(results, nodes, strict=True):
        try:
            copies.append(numpy.array(result))
        except MemoryError as failure:
            raise no_memory(node) from failure
    return copies


# --- inputs -----------------------------------------------------------------------------------------------------------


def _inputs_of(roots: Sequence[Node]) -> list[Node]:
    from scaly_ir.graph import postorder

    return [node for node in postorder(*roots) if node.op is ops.INPUT]


def _check_names(inputs: Sequence[Node], values: Mapping[str, Any]) -> None:
    names = dict.fromkeys([node.attrs["name"] for node in inputs])
    for node in inputs:
        if node.attrs["name"] not in values:
            raise ValueError(f"no value for input '{node.attrs['name']}' : {node.type}")
    for name in values:
        if name not in names:
            raise ValueError(f"no input is called '{name}'{did_you_mean(str(name), names)}")


def _input_array(name: str, type_: TensorType, value: Any) -> Array:
    import numpy

    array = numpy.asarray(value)
    wanted = numpy.dtype(str(type_.dtype))
    native = array.dtype.newbyteorder("=")
    if native != wanted and (hasattr(value, "dtype") or not numpy.can_cast(native, wanted, "same_kind")):
        raise TypeError(f"expected {wanted} for '{name}', got {array.dtype}")
    if array.shape != type_.shape:
        raise ValueError(f"expected shape {type_.shape} for '{name}', got {array.shape}")
    converted = array.astype(wanted, copy=False)
    if native != wanted and wanted.kind == "i" and (converted != array).any():
        raise OverflowError(f"the value of '{name}' does not fit {wanted}")
    if type_.pattern is not None and (converted * ~type_.pattern.to_mask()).any():
        raise ValueError(f"the value of '{name}' has entries outside of its sparsity pattern that are not zero")
    return converted


# --- constants --------------------------------------------------------------------------------------------------------


def evaluate_constants(node: Node) -> Array:
    """Return the value of an operation whose operands are constants, as folding needs it.

    `NotExact` when evaluation divides by zero, is invalid or overflows (integers wrap), when a float that is converted
    has no integer of the type, when a position is out of bounds against a promise, for what is not pure, depends on
    more than its operands or does not say what it computes, for more axes than NumPy has, and for a result of more than
    4096 entries that is larger than its operands together. `EvaluationError` for an operator whose `FNumpy` fails.
    """
    import numpy

    if max([each.type.ndim for each in (node, *node.args)]) > MOST_AXES:
        raise NotExact(Reason.OPAQUE)
    arrays = [_constant(operand) for operand in node.args]
    compute = _foldable(node)
    if node.type.size > max(LARGEST_FOLDED, sum([array.size for array in arrays])):
        raise NotExact(Reason.OPAQUE)
    if node.op is ops.CAST:
        _check_cast(arrays[0], node.type)
    try:
        with numpy.errstate(all="raise", under="ignore"):
            result = compute(*arrays)
    except FloatingPointError as error:
        raise NotExact(signalled(error)) from error
    except IndexError as error:
        raise NotExact(Reason.DOMAIN) from error
    if node.op.get_attr("TElementwise", False):
        _check_elements(node, arrays, result)
    return result


def _constant(operand: Node) -> Array:
    if operand.op is not ops.CONST:
        raise ValueError(f"'{operand.op.name}' is no constant")
    array: Array = operand.attrs["value"].array
    return array


def _foldable(node: Node) -> Compute:
    """Return what a node computes; `NotExact` where that is for nobody to know in advance."""
    from scaly_ir.dialects.expr.execution import operation

    pure = node.op.get_attr("TCallEffectKind") <= CallEffectKind.Pure
    known = node.op.has_attr("FNumpy") or node.op is ops.CAST
    if not pure or not known or not node.args:
        raise NotExact(Reason.OPAQUE)
    return operation(node)


def _check_cast(x: Array, type_: TensorType) -> None:
    """Refuse a float that has no value of an integer type, which NumPy converts without a sign on some machines."""
    import numpy

    if x.dtype.kind != "f" or not type_.dtype.is_int:
        return
    # The least integer and the one past the greatest are powers of two, so both floating types hold them.
    bound = 2.0 ** (type_.dtype.bits - 1)
    whole = numpy.trunc(x)
    if not ((whole >= -bound) & (whole < bound)).all():
        raise NotExact(Reason.CONVERSION)


def _check_elements(node: Node, arrays: Sequence[Array], result: Array) -> None:
    """Refuse results that signal, for operators that make no noise: their operands tell."""
    import numpy

    name = scalar_name(node.op)
    row = None if name is None else TABLE[name].integer
    if row is not None and row.by_zero is not None and result.size and (arrays[1] == 0).any():
        raise NotExact(Reason.DIVISION_BY_ZERO)
    if result.dtype.kind != "f":
        return
    floats = [array for array in arrays if array.dtype.kind == "f"]
    nan, finite = numpy.zeros((), bool), numpy.ones((), bool)
    for array in floats:
        nan, finite = nan | numpy.isnan(array), finite & numpy.isfinite(array)
    if (numpy.isnan(result) & ~nan).any():
        raise NotExact(Reason.DOMAIN)
    if (numpy.isinf(result) & finite).any():
        raise NotExact(Reason.OVERFLOW)
