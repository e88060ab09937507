"""Builders of loops: maps, scans and while loops, all of them `loop` nodes.

Source: expression specification 2.8 and 3.4.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from scaly_ir.dialects.expr import build, ops
from scaly_ir.dialects.expr.decorator import Template
from scaly_ir.dialects.expr.function import Function
from scaly_ir.dialects.expr.ingest import beside, checked, input_dtype
from scaly_ir.dialects.expr.node import Expr
from scaly_ir.dialects.expr.trees import flatten, rebuild
from scaly_ir.dialects.expr.views import Window, broadcast_of, windows_of
from scaly_ir.graph import Node
from scaly_ir.types import INT64


@dataclass(frozen=True, slots=True)
class _Windowed:
    """An argument with its windows spelled out."""

    value: Any
    start: int
    stride: int


def window(x: Any, start: int, stride: int) -> _Windowed:
    """Let step ``i`` read the entries of `x` from ``start + i * stride`` on."""
    return _Windowed(x, _count("start", start), _count("stride", stride))


def _count(what: str, value: Any) -> int:
    if isinstance(value, bool):
        raise TypeError(f"the {what} of a window is an int, got {value!r}")
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError(f"the {what} of a window is an int, got {value!r}") from None


def broadcast(x: Any) -> _Windowed:
    """Let every step read all of `x`."""
    return _Windowed(x, 0, 0)


def _resolve(name: str, formal: Expr, value: Any, steps: int) -> Window:
    """Return the windows of an argument; see the specification for the order in which its form is tried."""
    size = formal.size
    given = window(*value) if isinstance(value, tuple) and len(value) == 3 else value
    if isinstance(given, _Windowed):
        x = beside(given.value, formal.type.dtype)
        found = Window(x if x.ndim == 1 else x.vec(), given.start, given.stride)
        return _checked(name, formal, found, steps)
    x = beside(given, formal.type.dtype)
    if x.shape == (steps, *formal.shape):
        found = windows_of(x, steps, size)
    elif x.size == size:
        found = broadcast_of(x, size)
    elif x.size == steps * size:
        found = windows_of(x, steps, size)
    else:
        wanted = f"{(steps, *formal.shape)}, {steps * size} entries or {size} to share"
        raise ValueError(f"{name}: argument for '{formal.name}' has shape {x.shape}, expected {wanted}")
    return _checked(name, formal, found, steps)


def _checked(name: str, formal: Expr, found: Window, steps: int) -> Window:
    outer, start, stride = found
    if start < 0 or stride < 0:
        raise ValueError(
            f"{name}: the window of '{formal.name}' has start {start} and stride {stride}; both are at least 0"
        )
    end = start + (steps - 1) * stride + formal.size
    if steps and end > outer.size:
        raise ValueError(
            f"{name}: the window of '{formal.name}' ends at {end}, past the {outer.size} entries of its array"
        )
    if outer.type.dtype is not formal.type.dtype:
        message = f"expected {formal.type.dtype} for '{formal.name}', got {outer.type.dtype}"
        raise TypeError(f"{name}: {message}; convert it with sc.cast")
    return found


def _function(body: Any, what: str) -> Function:
    if isinstance(body, Template):
        raise TypeError(f"{what}: the shapes of '{body.name}' are open; take one function of it with instantiate")
    if not isinstance(body, Function):
        raise TypeError(f"{what} takes a sc.Function, got a '{type(body).__name__}'; decorate it with @sc.function")
    return body


def _results(
    body: Function,
    inits: Sequence[Expr],
    windows: Sequence[Window],
    trip: Expr | None,
    attrs: dict[str, Any],
) -> Callable[[int], Expr]:
    """Return what makes the node of one result of a loop."""
    shared = {
        "callee": body.node,
        "n_carry": len(inits),
        "starts": [each.start for each in windows],
        "strides": [each.stride for each in windows],
        **attrs,
    }
    operands = [*inits, *[each.outer for each in windows], *([] if trip is None else [trip])]
    return lambda output: build.make(ops.LOOP, operands, {**shared, "output": output})


_PLAIN = {"cond": None, "index": False, "reverse": False, "in_place": ()}


def vmap(f: Function, n: int, args: Sequence[Any] | None = None, *, output: int = 0) -> Any:
    """Return a function that maps `f` over `n` steps of its arguments; one loop node, whatever the size of `f`.

    Called on expressions it returns the outputs of `f`, each with a leading axis of `n`; on numbers it evaluates.
    With `args` it returns the node of one `output` at once, flat.
    """
    body = _function(f, "sc.vmap")
    n = _check_steps("sc.vmap", n)
    if not 0 <= output < len(body.outputs):
        raise ValueError(f"sc.vmap: output {output} is out of range: '{body.name}' has {len(body.outputs)}")
    if args is not None:
        return _mapped(body, n, list(args))(output)

    def call(*given: Any) -> Any:
        leaves = [
            leaf
            for tree, value in zip(body.input_trees, _as_many(body, given), strict=True)
            for leaf in flatten(tree, value, body.name, is_leaf=_is_argument)
        ]
        if not any([_is_symbolic(leaf) for leaf in leaves]):
            leaves = [_converted(body, formal, leaf) for formal, leaf in zip(body.inputs, leaves, strict=True)]
        result = _mapped(body, n, leaves)
        parts = [_stacked(result(number), n, out) for number, out in enumerate(body.outputs)]
        if any([_is_symbolic(leaf) for leaf in leaves]):
            return rebuild(body.output_tree, parts)
        from scaly_ir.dialects.expr.evaluate import evaluate

        return rebuild(body.output_tree, evaluate(parts, {}))

    return call


def _is_argument(value: Any) -> bool:
    """Tell whether a value is one argument: no tuple, or ``(x, start, stride)``."""
    return not isinstance(value, tuple) or (len(value) == 3 and not any([isinstance(e, tuple) for e in value]))


def _converted(body: Function, formal: Expr, leaf: Any) -> Any:
    """Return a numerical argument as an array of the dtype of its input, where NumPy's ``same_kind`` allows it."""
    import numpy

    spread = window(*leaf) if isinstance(leaf, tuple) else leaf
    array = numpy.asarray(spread.value if isinstance(spread, _Windowed) else spread)
    array = array.astype(input_dtype(body.name, formal, array), copy=False)
    return _Windowed(array, spread.start, spread.stride) if isinstance(spread, _Windowed) else array


def _as_many(body: Function, given: Sequence[Any]) -> Sequence[Any]:
    if len(given) != len(body.input_trees):
        raise TypeError(f"{body.name} takes {len(body.input_trees)} arguments, got {len(given)}")
    return given


def _is_symbolic(leaf: Any) -> bool:
    value = leaf.value if isinstance(leaf, _Windowed) else leaf[0] if isinstance(leaf, tuple) and leaf else leaf
    return isinstance(value, Node)


def _mapped(body: Function, n: int, leaves: Sequence[Any]) -> Callable[[int], Expr]:
    if len(leaves) != len(body.inputs):
        raise TypeError(f"{body.name} takes {len(body.inputs)} arrays, got {len(leaves)}")
    windows = [_resolve(body.name, formal, leaf, n) for formal, leaf in zip(body.inputs, leaves, strict=True)]
    return _results(body, (), windows, None, {**_PLAIN, "length": n})


def _stacked(flat: Expr, n: int, entry: Expr) -> Expr:
    """Return stacked results with a leading axis; those of scalars have just that."""
    return flat if entry.shape == () else flat.reshape((n, *entry.shape))


def _check_steps(what: str, n: Any) -> int:
    if isinstance(n, bool) or not hasattr(n, "__index__"):
        raise TypeError(f"{what}: the number of steps is an int, got {n!r}")
    n = operator.index(n)
    if n < 0:
        raise ValueError(f"{what}: the number of steps is {n}, expected at least 0")
    return int(n)


def scan(
    body: Function,
    init: Any,
    xs: Any = (),
    *,
    length: int,
    trip: Any = None,
    index: bool = False,
    reverse: bool = False,
    in_place: Sequence[Any] = (),
) -> tuple[Any, Any]:
    """Return ``(carries, ys)`` of a loop: `body` takes carries, the step number with `index`, and parts of `xs`.

    It returns the next carries and what is stacked. `init` is one value or a tuple, and so are the carries; each of the
    `ys` gets a leading axis of `length`, without any it is ``()``. `trip` is an int64 scalar that may stop the loop
    early, `reverse` counts steps downwards; carries in `in_place` (positions or names) must be updated in place.
    """
    return _loop("sc.scan", body, init, xs, length, trip=trip, index=index, reverse=reverse, in_place=in_place)[:2]


def while_loop(
    cond: Function,
    body: Function,
    init: Any,
    *,
    max_iter: int,
    params: Any = (),
    index: bool = False,
    in_place: Sequence[Any] = (),
) -> tuple[Any, Expr]:
    """Return ``(carries, count)`` of a loop that goes on while `cond` of carries and params holds, at most `max_iter`.

    `body` takes the carries, the step number with `index`, and the params; the count is an int64 scalar.
    """
    condition = _function(cond, "sc.while_loop")
    shared = [broadcast(value) for value in _many(params)]
    carries, _, count = _loop(
        "sc.while_loop", body, init, tuple(shared), max_iter, cond=condition, index=index, in_place=in_place
    )
    return carries, count


def fori_loop(n: int, body: Function, init: Any, *, params: Any = (), reverse: bool = False) -> Any:
    """Return the carries after `n` steps of `body`, which takes the carries, the step number and the params."""
    shared = tuple([broadcast(value) for value in _many(params)])
    return _loop("sc.fori_loop", body, init, shared, n, index=True, reverse=reverse)[0]


def _many(values: Any) -> tuple[Any, ...]:
    return tuple(values) if _are_several(values) else (values,)


def _are_several(values: Any) -> bool:
    """Tell several values from one: a list of numbers is one array."""
    return isinstance(values, tuple) or (isinstance(values, list) and any([isinstance(v, Node) for v in values]))


def _loop(
    what: str,
    body: Any,
    init: Any,
    xs: Any,
    length: int,
    *,
    cond: Function | None = None,
    trip: Any = None,
    index: bool = False,
    reverse: bool = False,
    in_place: Sequence[Any] = (),
) -> tuple[Any, Any, Expr]:
    """Return carries, stacked results and the count of steps of one loop."""
    function = _function(body, what)
    length = _check_steps(what, length)
    single = not _are_several(init)
    starts = _many(init)
    formals = function.inputs
    step = 1 if index else 0
    values = xs if _is_several(xs) else (xs,)
    if len(formals) != len(starts) + step + len(values):
        counted = f"{len(starts)} carries, {'a step number, ' if index else ''}{len(values)} further arrays"
        raise TypeError(f"{what}: body '{function.name}' takes {len(formals)} arrays, given are {counted}")
    if len(function.outputs) < len(starts):
        raise TypeError(
            f"{what}: body '{function.name}' returns {len(function.outputs)} arrays for {len(starts)} carries"
        )
    inits = [_initial(what, formal, start) for formal, start in zip(formals, starts, strict=False)]
    sliced = formals[len(starts) + step :]
    windows = [_resolve(what, formal, value, length) for formal, value in zip(sliced, values, strict=True)]
    attrs = {
        "cond": None if cond is None else cond.node,
        "index": index,
        "reverse": reverse,
        "length": length,
        "in_place": _places(what, in_place, formals[: len(starts)]),
    }
    limit = None if trip is None else checked(trip) if isinstance(trip, Node) else beside(trip, INT64)
    result = _results(function, inits, windows, limit, attrs)
    carries = [result(number) for number in range(len(starts))]
    stacked = [
        _stacked(result(number), length, function.outputs[number])
        for number in range(len(starts), len(function.outputs))
    ]
    ys = () if not stacked else stacked[0] if len(stacked) == 1 else tuple(stacked)
    return (carries[0] if single else tuple(carries)), ys, result(len(function.outputs))


def _is_several(xs: Any) -> bool:
    """Tell a tuple of arguments from one argument with its window, ``(x, start, stride)``."""
    triple = isinstance(xs, tuple) and len(xs) == 3 and type(xs[1]) is int and type(xs[2]) is int
    return _are_several(xs) and not triple


def _initial(what: str, formal: Expr, value: Any) -> Expr:
    start = beside(value, formal.type.dtype)
    if start.type.dtype is not formal.type.dtype:
        message = f"carry '{formal.name}' is {formal.type.dtype}, its initial value {start.type.dtype}"
        raise TypeError(f"{what}: {message}; convert it with sc.cast")
    if start.shape != formal.shape:
        raise ValueError(f"{what}: carry '{formal.name}' has shape {formal.shape}, its initial value {start.shape}")
    return start


def _places(what: str, given: Sequence[Any], carries: Sequence[Expr]) -> list[int]:
    names = [carry.name for carry in carries]
    places = []
    for place in given:
        if isinstance(place, str):
            if place not in names:
                raise ValueError(f"{what}: no carry is called '{place}'; they are {', '.join(map(str, names))}")
            place = names.index(place)
        places.append(int(place))
    return sorted(set(places))
