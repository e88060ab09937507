"""`Function`: a named graph with inputs and outputs, as Python holds and calls it.

The graph is a node (`functions.py`); this class adds how its arrays are grouped in Python and what a call does.
Source: expression specification 3.3.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakValueDictionary

from scaly_ir.dialects.expr import build, ops
from scaly_ir.dialects.expr.functions import body_of, input_names_of, inputs_of, make_function, outputs_of
from scaly_ir.dialects.expr.ingest import checked, input_dtype
from scaly_ir.dialects.expr.node import Expr
from scaly_ir.dialects.expr.spec import verify_expr
from scaly_ir.dialects.expr.substitution import substitute_inputs
from scaly_ir.dialects.expr.trees import Arg, Group, Tree, flatten, fold, rebuild
from scaly_ir.graph import Node, postorder
from scaly_ir.types import FLOAT64

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]


class Function:
    """A function of arrays.

    Calling it on expressions makes `call` nodes; calling it on numbers computes. Functions of one graph and one
    grouping of arguments are the same object; ``==`` compares graphs, as the grouping does not survive text.
    """

    __slots__ = ("__weakref__", "input_trees", "node", "output_tree")

    node: Node
    input_trees: tuple[Tree, ...]
    """The grouping of the inputs, one tree for each parameter."""
    output_tree: Tree

    def __new__(cls, node: Node, input_trees: tuple[Tree, ...], output_tree: Tree) -> Function:
        """Return the one function of a graph with this grouping; use `function` or `from_exprs` to make graphs."""
        key = (node, input_trees, output_tree)
        known = _FUNCTIONS.get(key)
        if known is None:
            known = object.__new__(cls)
            for field, value in zip(("node", "input_trees", "output_tree"), key, strict=True):
                object.__setattr__(known, field, value)
            known = _FUNCTIONS.setdefault(key, known)
        return known

    @staticmethod
    def of(node: Node) -> Function:
        """Return the function of a function's node, as text has it: one parameter for each array."""
        inputs = tuple([Arg(str(formal.attrs["name"]), formal.type) for formal in inputs_of(node)])
        pairs = zip(node.attrs["output_names"], outputs_of(node), strict=True)
        outputs = tuple([Arg(name, result.type) for name, result in pairs])
        return Function(node, inputs, outputs[0] if len(outputs) == 1 else Group(outputs))

    @staticmethod
    def from_exprs(
        name: str,
        inputs: Sequence[Expr],
        outputs: Sequence[Expr],
        input_names: Sequence[str] | None = None,
        output_names: Sequence[str] | None = None,
    ) -> Function:
        """Return the function of some input nodes and results; it is verified.

        Names are by default those of the inputs, and the function's own name for one output, ``out0`` and so on for
        several. `ValueError` for repeated names, no outputs and an output that depends on another input.
        """
        return Function.of(graph(name, inputs, outputs, input_names, output_names))

    # --- what it consists of ------------------------------------------------------------------------------------------

    @property
    def name(self) -> str:
        """The name."""
        return str(self.node.attrs["name"])

    @property
    def inputs(self) -> tuple[Expr, ...]:
        """The input nodes."""
        return inputs_of(self.node)  # type: ignore[return-value]

    @property
    def outputs(self) -> tuple[Expr, ...]:
        """The results."""
        return outputs_of(self.node)  # type: ignore[return-value]

    @property
    def input_names(self) -> tuple[str, ...]:
        """The names of the inputs."""
        return input_names_of(self.node)

    @property
    def output_names(self) -> tuple[str, ...]:
        """The names of the outputs."""
        names: tuple[str, ...] = self.node.attrs["output_names"]
        return names

    @property
    def input_shapes(self) -> tuple[tuple[int, ...], ...]:
        """The shapes of the inputs."""
        return tuple([formal.shape for formal in self.inputs])

    @property
    def output_shapes(self) -> tuple[tuple[int, ...], ...]:
        """The shapes of the outputs."""
        return tuple([result.shape for result in self.outputs])

    @property
    def nodes(self) -> list[Node]:
        """The operations, operands first, in the order in which they are printed."""
        return body_of(self.node)

    # --- calls --------------------------------------------------------------------------------------------------------

    def __call__(self, *args: Any) -> Any:
        """Apply the function: to expressions symbolically, to numbers (or nothing) numerically.

        A numerical call runs compiled code, which is made at the first one and kept on disk. Where there is no C
        compiler, or the function has no form in C, the evaluator computes it, and a `NotCompiledWarning` says so
        once.

        Numbers are converted to the dtype of their input where NumPy's ``same_kind`` allows it. `ValueError` for a
        wrong shape or structure, `TypeError` for a dtype that does not fit and for numbers beside expressions,
        `NotImplementedError` for a numerical call of a function with leaves that are not float64, `CompileError` when
        the compiler fails.
        """
        leaves = self._leaves(args)
        symbolic = [isinstance(leaf, Node) for leaf in leaves]
        if any(symbolic):
            if not all(symbolic):
                raise TypeError(f"{self.name}: expressions beside numbers; wrap the numbers in sc.const")
            return self._symbolic([checked(leaf) for leaf in leaves])
        return self._numeric(leaves)

    def symbolic_call(self, *args: Expr) -> Any:
        """Apply the function symbolically: for a function without inputs, whose plain call computes."""
        return self._symbolic([checked(leaf) for leaf in self._leaves(args)])

    def _leaves(self, args: Sequence[Any]) -> list[Any]:
        if len(args) != len(self.input_trees):
            count = len(self.input_trees)
            trees = [str(fold(tree, lambda leaf: leaf.name)).replace("'", "") for tree in self.input_trees]
            wanted = f"{count} argument{'' if count == 1 else 's'}"
            raise TypeError(f"{self.name} takes {wanted} ({', '.join(trees)}), got {len(args)}")
        return [
            leaf for tree, value in zip(self.input_trees, args, strict=True) for leaf in flatten(tree, value, self.name)
        ]

    def _symbolic(self, leaves: Sequence[Expr]) -> Any:
        for formal, given in zip(self.inputs, leaves, strict=True):
            if given.type.dtype is not formal.type.dtype:
                wanted = f"expected {formal.type.dtype} for '{formal.name}', got {given.type.dtype}"
                raise TypeError(f"{self.name}: {wanted}; convert it with sc.cast")
            if given.shape != formal.shape:
                raise ValueError(f"{self.name}: expected shape {formal.shape} for '{formal.name}', got {given.shape}")
        calls = [
            build.make(ops.CALL, leaves, {"callee": self.node, "output": number})
            for number in range(len(self.output_names))
        ]
        return rebuild(self.output_tree, calls)

    def numbers(self, args: Sequence[Any]) -> list[Array]:
        """Return the arguments of a numerical call as arrays of the types of the inputs; raises as `__call__` does.

        An array that is of that type already is not copied.
        """
        leaves = self._leaves(args)
        if any([isinstance(leaf, Node) for leaf in leaves]):
            raise TypeError(f"{self.name}: expected numbers, got an expression")
        return self._arrays(leaves)

    def _numeric(self, leaves: Sequence[Any]) -> Any:
        values = self._arrays(leaves)
        compute = import_module("scaly_ir.tools.jit.functions").compiled(self.node)
        if compute is None:
            from scaly_ir.dialects.expr.evaluate import evaluate_function
            from scaly_ir.dialects.expr.simplify import simplify_function

            return rebuild(self.output_tree, evaluate_function(simplify_function(self.node), values))
        return rebuild(self.output_tree, compute(values))

    def _arrays(self, leaves: Sequence[Any]) -> list[Array]:
        for leaf in (*self.inputs, *self.outputs):
            if leaf.type.dtype is not FLOAT64:
                raise NotImplementedError(
                    f"{self.name}: numbers go through float64 leaves only, '{leaf}' is {leaf.type}"
                )
        return [self._converted(formal, leaf) for formal, leaf in zip(self.inputs, leaves, strict=True)]

    def _converted(self, formal: Expr, value: Any) -> Array:
        import numpy

        array = numpy.asarray(value)
        pattern = formal.type.pattern
        if pattern is None and array.dtype.char == "d" and array.dtype.isnative and array.shape == formal.shape:
            return array  # as nearly always: all leaves are float64
        dtype = input_dtype(self.name, formal, array)
        if array.shape != formal.shape:
            raise ValueError(f"{self.name}: expected shape {formal.shape} for '{formal.name}', got {array.shape}")
        if pattern is not None and numpy.any(numpy.where(pattern.to_mask(), 0, array)):
            raise ValueError(f"{self.name}: '{formal.name}' has entries outside of its sparsity pattern")
        return array.astype(dtype, copy=False)

    # --- identity -----------------------------------------------------------------------------------------------------

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Function) and self.node is other.node

    def __hash__(self) -> int:
        return hash(self.node)

    def __reduce__(self) -> tuple[type[Function], tuple[Node, tuple[Tree, ...], Tree]]:
        return Function, (self.node, self.input_trees, self.output_tree)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"a function is immutable: cannot set '{name}'")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"a function is immutable: cannot delete '{name}'")

    def __repr__(self) -> str:
        inputs = ", ".join([f"{formal.name}: {formal.type}" for formal in self.inputs])
        pairs = zip(self.output_names, self.outputs, strict=True)
        outputs = ", ".join([f"{name}: {result.type}" for name, result in pairs])
        return f"<Function {self.name}({inputs}) -> ({outputs})>"


_FUNCTIONS: Final[WeakValueDictionary[Any, Function]] = WeakValueDictionary()


def graph(
    name: str,
    inputs: Sequence[Expr],
    outputs: Sequence[Expr],
    input_names: Sequence[str] | None = None,
    output_names: Sequence[str] | None = None,
) -> Node:
    """Return the verified node of a function; see `Function.from_exprs`."""
    if not isinstance(name, str) or not name:
        raise ValueError(f"a function needs a name, got {name!r}")
    for formal in inputs:
        if not isinstance(formal, Expr) or formal.op is not ops.INPUT:
            raise ValueError(f"{name}: {formal!r} is no input")
    if not outputs:
        raise ValueError(f"{name}: a function needs an output")
    results = [checked(result) for result in outputs]
    if output_names is None:
        output_names = [name] if len(results) == 1 else [f"out{number}" for number in range(len(results))]
    if input_names is not None:
        inputs, results = _renamed(name, inputs, results, input_names)
    if len(output_names) != len(results):
        raise ValueError(f"{name}: {len(output_names)} output names for {len(results)} outputs")
    _check_distinct(name, "input", [str(formal.name) for formal in inputs])
    _check_distinct(name, "output", output_names)
    node = make_function(name, inputs, _on_declared(inputs, results), output_names)
    _check_inputs(node)
    verify_expr(node)
    return node


def _check_distinct(name: str, what: str, names: Sequence[str]) -> None:
    seen = set()
    for each in names:
        if each in seen:
            raise ValueError(f"{name}: two {what}s are called '{each}'")
        seen.add(each)


def _on_declared(inputs: Sequence[Expr], outputs: Sequence[Expr]) -> list[Node]:
    """Return outputs on the inputs as declared: a hint that an input was given goes to a reshape to its own shape."""
    declared = {(formal.name, formal.type): formal for formal in inputs}
    values: dict[Node, Node] = {}
    for node in postorder(*outputs):
        formal = declared.get((node.attrs.get("name"), node.type)) if node.op is ops.INPUT else None
        if formal is not None and formal is not node:
            dense = formal.type.pattern is None
            view = build.make(ops.RESHAPE, [formal], {"shape": formal.shape}) if dense else formal
            values[node] = build.hinted(view, node.attrs.get("lowering", "auto")) if dense else view
    return substitute_inputs(outputs, values) if values else list(outputs)


def _check_inputs(node: Node) -> None:
    declared = set(inputs_of(node))
    for operation in body_of(node):
        if operation.op is ops.INPUT and operation not in declared:
            name = operation.attrs.get("name")
            known = [formal for formal in declared if formal.attrs["name"] == name]
            hint = f": it is declared as {known[0].type}, not {operation.type}" if known else ""
            raise ValueError(f"{node.attrs['name']}: an output depends on the undeclared input '{name}'{hint}")


def _renamed(
    name: str, inputs: Sequence[Expr], outputs: Sequence[Expr], names: Sequence[str]
) -> tuple[Sequence[Expr], list[Expr]]:
    """Return inputs called `names`, and the outputs on them."""
    if len(names) != len(inputs):
        raise ValueError(f"{name}: {len(names)} input names for {len(inputs)} inputs")
    renamed = [formal.with_attrs(name=new) for formal, new in zip(inputs, names, strict=True)]
    results = substitute_inputs(outputs, dict(zip(inputs, renamed, strict=True)))
    return renamed, results  # type: ignore[return-value]
