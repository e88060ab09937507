"""`@sc.function`: trace a Python function once, on inputs made from its declaration.

Source: expression specification 3.3.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any, Final

from scaly_ir.dialects.expr.build import make
from scaly_ir.dialects.expr.function import Function, graph
from scaly_ir.dialects.expr.node import Expr
from scaly_ir.dialects.expr.ops import INPUT
from scaly_ir.dialects.expr.trees import Arg, Group, Tree, count_leaves, flatten, fold, tree_like
from scaly_ir.tensors import TensorType, read_shape

Body = Callable[..., Any]


def function(*trees: Tree, outputs: Tree | None = None, name: str | None = None) -> Callable[[Body], Any]:
    """Return a decorator that makes a `Function` of a Python function of expressions.

    Either one tree for each parameter, and `outputs` (form A); or an input tree and an output tree for a body of one
    parameter (form B). Without `outputs`, results are named after the function, several ``out0``, ``out1`` and so on.
    The body runs once. `TypeError` for a body with other than plain parameters, for a wrong number of trees and for
    results that are not those declared; `ValueError` for repeated names. With an input whose shape is left open the
    result is a `Template`.
    """
    for tree in (*trees, *([] if outputs is None else [outputs])):
        if not isinstance(tree, Arg | Group):
            raise TypeError(f"sc.function takes sc.arg and sc.group, got {tree!r}")

    def decorate(body: Body) -> Any:
        called = name or body.__name__
        count = _parameter_count(body, called)
        inputs, results = trees, outputs
        if len(trees) == 2 and count == 1 and outputs is None:
            inputs, results = trees[:1], trees[1]
        if len(inputs) != count:
            raise TypeError(f"{called}: {len(inputs)} input trees for {count} parameters")
        if all([leaf.type is not None for tree in inputs for leaf in tree.leaves]):
            return _traced(body, called, inputs, results)
        return Template(body, called, inputs, results)

    return decorate


def _parameter_count(body: Body, name: str) -> int:
    parameters = list(inspect.signature(body).parameters.values())
    for parameter in parameters:
        plain = parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)
        if not plain or parameter.default is not parameter.empty:
            raise TypeError(f"{name}: parameter '{parameter.name}' is not a plain positional one")
    return len(parameters)


def _traced(body: Body, name: str, inputs: tuple[Tree, ...], outputs: Tree | None) -> Function:
    """Run the body on inputs made from their declaration, and return the function of what it gives."""
    symbols: list[Expr] = []

    def symbol(leaf: Arg) -> Expr:
        assert leaf.type is not None
        symbols.append(make(INPUT, (), {"name": leaf.name}, leaf.type))
        return symbols[-1]

    returned = body(*[fold(tree, symbol) for tree in inputs])
    if outputs is None:
        count = count_leaves(returned)
        outputs = tree_like(returned, (lambda _: name) if count == 1 else (lambda number: f"out{number}"))
    results = flatten(outputs, returned, f"{name}: returned", error=TypeError)
    for leaf, result in zip(outputs.leaves, results, strict=True):
        _check_result(name, leaf, result)
    node = graph(name, symbols, results, output_names=[leaf.name for leaf in outputs.leaves])
    return Function(node, inputs, outputs)


def _check_result(name: str, leaf: Arg, result: Any) -> None:
    if not isinstance(result, Expr):
        raise TypeError(f"{name}: returned a '{type(result).__name__}' for '{leaf.name}', expected an expression")
    wanted, got = leaf.type, result.type
    if wanted is not None and (wanted.shape, wanted.dtype) != (got.shape, got.dtype):
        raise TypeError(f"{name}: output '{leaf.name}' is declared {_plain(wanted)}, the body returns {_plain(got)}")


def _plain(type_: TensorType) -> str:
    return f"{type_.dtype}{list(type_.shape)}"


class Template:
    """A function whose inputs have open shapes: each set of shapes it meets makes one `Function`."""

    def __init__(self, body: Body, name: str, inputs: tuple[Tree, ...], outputs: Tree | None) -> None:
        self.name: Final = name
        self._body = body
        self._inputs = inputs
        self._outputs = outputs
        self._instances: dict[tuple[Any, ...], Function] = {}

    def instantiate(self, *shapes: Any) -> Function:
        """Return the function for some shapes (or `TensorType`), one for each array whose shape is open."""
        opened = [leaf for tree in self._inputs for leaf in tree.leaves if leaf.type is None]
        if len(shapes) != len(opened):
            names = ", ".join([leaf.name for leaf in opened])
            raise TypeError(f"{self.name} needs {len(opened)} shapes ({names}), got {len(shapes)}")
        types = tuple([s if isinstance(s, TensorType) else TensorType(read_shape(s)) for s in shapes])
        known = self._instances.get(types)
        if known is None:
            bound = iter(types)

            def typed(leaf: Arg) -> Arg:
                return Arg(leaf.name, leaf.type or next(bound))

            inputs = tuple([fold(tree, typed, lambda trees: Group(tuple(trees))) for tree in self._inputs])
            name = "_".join([self.name, *["x".join(map(str, type_.shape)) or "s" for type_ in types]])
            known = self._instances[types] = _traced(self._body, name, inputs, self._outputs)
        return known

    def __call__(self, *args: Any) -> Any:
        """Apply the instance for the shapes of the arguments."""
        if len(args) != len(self._inputs):
            raise TypeError(f"{self.name} takes {len(self._inputs)} arguments, got {len(args)}")
        shapes = []
        for tree, value in zip(self._inputs, args, strict=True):
            for leaf, given in zip(tree.leaves, flatten(tree, value, self.name), strict=True):
                if leaf.type is None:
                    shapes.append(given.type if isinstance(given, Expr) else _shape_of(given))
        return self.instantiate(*[s.but(diff=True, pattern=None) if isinstance(s, TensorType) else s for s in shapes])(
            *args
        )

    def __repr__(self) -> str:
        return f"<Template {self.name}>"


def _shape_of(value: Any) -> Sequence[int]:
    import numpy

    return tuple(numpy.shape(value))
