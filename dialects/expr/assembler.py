"""What `expr` text means: from operations as they are written to nodes, for the grammar-driven reader.

A `Body` is a function, region or fragment as read; `build_body` makes its nodes and checks names, constants and the
signature. It reports mistakes through `Reports` and carries on: what has one counts as None, and what is made of that
is not complained about again. How functions depend on each other is in `assembly.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from scaly_ir.attributes import NO_ATTRS, Attrs, named
from scaly_ir.dialect import dialect_names
from scaly_ir.dialects.expr import ops
from scaly_ir.dialects.expr.call_typing import function_fault
from scaly_ir.dialects.expr.functions import make_function, make_module
from scaly_ir.dialects.expr.language import LANGUAGE
from scaly_ir.dialects.expr.values import At, Atom, Reference, attribute, plain
from scaly_ir.graph import Node, intern_node
from scaly_ir.op import Op
from scaly_ir.tensors import TensorType
from scaly_ir.text.diagnostics import Diagnostic, did_you_mean
from scaly_ir.text.mistakes import unknown_scalar
from scaly_ir.text.spelling import spell_name


class Param(NamedTuple):
    """An input or output of a signature; its type is None when it has a mistake."""

    name: str
    type: TensorType | None
    name_at: At
    type_at: At


class Operation(NamedTuple):
    """One operation; its type is None when it has a mistake."""

    name: str
    op: str
    operands: Sequence[tuple[str, At]]
    attrs: Mapping[str, Any]
    places: Mapping[str, At]
    type: TensorType | None
    name_at: At
    op_at: At
    type_at: At
    at: At
    untyped: bool = False
    """Whether it has no type because it is in the generic form and says so."""


class Root(NamedTuple):
    """A node in the generic form that has no name."""

    operation: Operation
    at: At


class Return(NamedTuple):
    """The line that returns results."""

    results: Sequence[tuple[str, At]]
    at: At


@dataclass(slots=True)
class Body:
    """A function, region or fragment (whose `op` is FUNC, REGION or RETURN) as read.

    `damaged` tells that some of its text could not be read, `declared` that its signature could be. `end` is where its
    closing brace stands.
    """

    op: Op
    name: str = ""
    name_at: At = (0, 0)
    at: At = (0, 0)
    params: Sequence[Param] = ()
    outputs: Sequence[Param] = ()
    lines: list[Operation | Return | Root] = field(default_factory=list)
    end: At = (0, 0)
    damaged: bool = False
    declared: bool = True

    def callees(self) -> list[tuple[str, At]]:
        """Return the functions that operations name, each with the place of its name; ``callee`` before ``cond``."""
        return [
            (value.value, line.places[key])
            for line in self.lines
            if isinstance(line, Operation) and line.op in _CALLS
            for key in ("callee", "cond")
            if isinstance(value := line.attrs.get(key), Atom) and type(value.value) is str
        ]


_CALLS = frozenset({op.name for op in ops.CALLS})
_CONTAINERS = frozenset({op.name for op in ops.CONTAINERS})


class Reports(NamedTuple):
    """Where mistakes go, and what the text says of names that could not be read."""

    fail: Callable[..., None]
    note: Callable[[str, At], Diagnostic]
    lost: Callable[[], frozenset[str]]
    """The names of operations with a mistake in their text, which hence define nothing."""


class Built(NamedTuple):
    """The nodes of a body: its root, its operations in the order of the text with their places, and its results."""

    root: Node | None
    at: At
    nodes: list[Node]
    places: list[At]
    results: tuple[Node, ...]


def build_body(body: Body, functions: Mapping[str, Node | None], reports: Reports) -> Built:
    """Make the nodes of a body; `functions` are those that were built, by name (None for one with a mistake)."""
    return _Builder(body, functions, reports).build()


class _Builder:
    """The state of building one body."""

    def __init__(self, body: Body, functions: Mapping[str, Node | None], reports: Reports) -> None:
        self._body = body
        self._functions = functions
        self._fail, self._note, self._lost = reports
        self._names: dict[str, tuple[Node | None, At]] = {}
        self._params = {param.name: param for param in body.params}
        self._formals: dict[str, Node] = {}
        self._nodes: list[Node] = []
        self._places: list[At] = []

    def build(self) -> Built:
        body = self._body
        if body.op is ops.FUNC and body.declared:
            self._check_distinct(body.params, "input")
            self._check_distinct(body.outputs, "output")
        returned: Return | Root | None = None
        for line in body.lines:
            if returned is not None:
                what = "the results are returned" if isinstance(returned, Return) else "it stands"
                name = "expr.return" if isinstance(returned, Return) else returned.operation.op
                notes = [self._note(f"{what} here", returned.at)]
                self._fail(f"nothing stands after '{name}'", line.at, "return", notes)
                break
            if isinstance(line, Operation):
                self._operation(line)
            else:
                returned = line
        if isinstance(returned, Root):
            return self._container(returned)
        if returned is None:
            if not body.damaged:
                self._fail(f"expected 'expr.return' at the end of {_what(body)}", body.end, "return")
            return Built(None, body.at, self._nodes, self._places, ())
        if not returned.results:  # only the generic form can say so
            self._fail("expected results of 'expr.return', found none", returned.at, "return")
            return Built(None, body.at, self._nodes, self._places, ())
        found = [self._value(name, at) for name, at in returned.results]
        if body.op is ops.FUNC and body.declared:
            self._check_results(returned, found)
        results = tuple([result for result in found if result is not None])
        root = self._root(results) if len(results) == len(found) else None
        return Built(root, body.at, self._nodes, self._places, results)

    def _root(self, results: tuple[Node, ...]) -> Node | None:
        body = self._body
        if body.op is ops.RETURN:
            return intern_node(ops.RETURN, results, NO_ATTRS, None)
        if body.op is ops.REGION:
            return intern_node(ops.REGION, results, named("name", body.name), None)
        if not body.declared or None in [param.type for param in body.params] or len(results) != len(body.outputs):
            return None
        for param in body.params:
            if param.name not in self._formals:
                self._formals[param.name] = intern_node(ops.INPUT, (), named("name", param.name), param.type)
        inputs = [self._formals[param.name] for param in body.params]
        return make_function(body.name, inputs, results, [output.name for output in body.outputs])

    def _container(self, line: Root) -> Built:
        """Return what stands without a name at the end of a text in the generic form: a module, function or region."""
        operation = line.operation
        root = None
        if self._body.op is ops.RETURN and operation.op in _CONTAINERS:
            root = self._node(operation)
        else:
            hint = f"as in '%x = \"{operation.op}\"(...)'"
            self._fail(f"expected a name before '\"{operation.op}\"', {hint}", line.at, "syntax")
        if root is not None and root.op is ops.FUNC:
            root = make_module([root], bare=True)
        return Built(root, line.at, self._nodes, self._places, ())

    def _check_distinct(self, params: Sequence[Param], what: str) -> None:
        known: dict[str, Param] = {}
        for param in params:
            first = known.setdefault(param.name, param)
            if first is not param:
                message = f"two {what}s are called '{_value_name(param.name)}'"
                self._fail(
                    message, param.name_at, "duplicate-name", [self._note("the first one is here", first.name_at)]
                )

    # --- operations ---------------------------------------------------------------------------------------------------

    def _operation(self, line: Operation) -> None:
        node = self._node(line)
        known = self._names.get(line.name)
        if known is not None:
            message = f"'{_value_name(line.name)}' is defined twice"
            self._fail(message, line.name_at, "duplicate-name", [self._note("it is defined here", known[1])])
            return
        self._names[line.name] = (node, line.name_at)
        if node is not None:
            self._nodes.append(node)
            self._places.append(line.at)

    def _node(self, line: Operation) -> Node | None:
        operands = [self._value(name, at) for name, at in line.operands]
        op = self._op(line)
        if op is None or (line.type is None and not line.untyped):
            return None
        attrs = self._attrs(op, line, line.type)
        args = tuple([operand for operand in operands if operand is not None])
        if attrs is None or len(args) < len(operands) or not self._holds(op, args, line):
            return None
        node = intern_node(op, args, attrs, line.type)
        fault = function_fault(node) if op is ops.FUNC else None
        if fault is not None:
            self._fail(f"function {fault}", line.at, "function-signature")
            return None
        declares = self._body.op is ops.FUNC and self._body.declared
        if op is ops.INPUT and declares and not self._is_declared(node, line):
            return None
        return node

    def _holds(self, op: Op, args: Sequence[Node], line: Operation) -> bool:
        """Tell whether a node has a type and operands as it should: functions in a module, else operations."""
        if line.untyped is not (op.name in _CONTAINERS):
            wanted = "a type such as 'tensor<8xfloat64>', found" if line.untyped else "'none', found"
            self._fail(f"expected {wanted} {'none' if line.untyped else line.type}", line.type_at, "type")
            return False
        if op is ops.REGION and not args:
            self._fail("expected results of 'expr.region', found none", line.op_at, "return")
            return False
        for operand, (_, at) in zip(args, line.operands, strict=True):
            if (operand.op is not ops.FUNC) if op is ops.MODULE else (operand.op.name in _CONTAINERS):
                wanted = "a function" if op is ops.MODULE else "an operation"
                self._fail(f"an operand of '{op.name}' is {wanted}, not '{operand.op.name}'", at, "operand")
                return False
        return True

    def _value(self, name: str, at: At) -> Node | None:
        known = self._names.get(name)
        if known is not None:
            return known[0]
        if name not in self._lost():
            self._undefined(name, at)
        return None

    def _undefined(self, name: str, at: At) -> None:
        shown = _value_name(name)
        later = [line for line in self._body.lines if isinstance(line, Operation) and line.name == name]
        if later:
            notes = [self._note("it is defined here", later[0].name_at)]
            self._fail(f"'{shown}' is used before it is defined", at, "undefined-name", notes)
            return
        if name in self._params:
            hint = f"; read the input by '{shown} = expr.input {{name=...}}'"
            self._fail(f"undefined name '{shown}'{hint}", at, "undefined-name")
            return
        hint = did_you_mean(shown, [_value_name(known) for known in self._names])
        notes = [
            self._note("it is defined here", known[1])
            for n, known in self._names.items()
            if f"'{_value_name(n)}'" in hint
        ]
        self._fail(f"undefined name '{shown}'{hint}", at, "undefined-name", notes)

    def _op(self, line: Operation) -> Op | None:
        try:
            op = Op.get(line.op)
        except AttributeError:
            dialect = line.op.partition(".")[0]
            if dialect != "expr" and dialect in dialect_names():  # it need not be loaded
                message = _not_allowed(line.op)
            elif dialect == "expr":
                message = unknown_scalar(LANGUAGE, line.op, applied=True)
            else:
                message = f"unknown operation '{line.op}'{did_you_mean(line.op, Op.list_op_names())}"
            self._fail(message, line.op_at, "unknown-op")
            return None
        if op.name in _CONTAINERS and line.untyped and self._body.op is ops.RETURN:
            return op
        foreign = op.dialect != "expr" and op.get_attr("TStructural", False)
        if foreign or not op.is_expression or not op.allowed_in("expr"):
            self._fail(_not_allowed(line.op), line.op_at, "op-dialect")
            return None
        return op

    def _attrs(self, op: Op, line: Operation, type_: TensorType | None) -> Attrs | None:
        values: dict[str, Any] = {}
        for key, raw in line.attrs.items():
            if isinstance(raw, Reference) and op in ops.CONTAINERS:
                self._fail(f"attribute '{spell_name(key)}' of '{op.name}' is no function", raw.at, "attribute")
                return None
            if isinstance(raw, Reference):
                value = self._function(raw)
                if value is None:
                    return None
            else:
                value = plain(raw, self._fail) if type_ is None else attribute(op, key, raw, type_, self._fail)
            if op is ops.CONST and key == "value" and value is None:
                return None
            if key == "lowering" and type(value) is str and value == "auto":
                continue  # what is left out
            if op in ops.CALLS and key in ("callee", "cond") and type(value) is str and value in self._functions:
                value = self._functions[value]
                if value is None:
                    return None
            values[key] = value
        return Attrs(values) if values else NO_ATTRS

    def _function(self, reference: Reference) -> Node | None:
        found = self._value(reference.name, reference.at)
        if found is not None and found.op is not ops.FUNC:
            self._fail(f"'{_value_name(reference.name)}' is no function", reference.at, "attribute")
            return None
        return found

    # --- the signature ------------------------------------------------------------------------------------------------

    def _is_declared(self, node: Node, line: Operation) -> bool:
        name = node.attrs.get("name")
        if type(name) is not str:
            self._fail("an input of a function names it, as in '{name=\"x\"}'", line.op_at, "input")
            return False
        param = self._params.get(name)
        if param is None:
            hint = did_you_mean(name, self._params) or f"; '@{spell_name(self._body.name)}' declares none of that name"
            self._fail(f"undeclared input '{name}'{hint}", line.places["name"], "input")
            return False
        if param.type is None:
            return False
        notes = [self._note(f"'{_value_name(name)}' is declared here", param.name_at)]
        if param.type is not node.type:
            message = f"input '{name}' has type {node.type}, but is declared as {param.type}"
            self._fail(message, line.type_at, "input", notes)
            return False
        if self._formals.setdefault(name, node) is not node:
            message = f"input '{name}' has other attributes than where it is read first"
            self._fail(message, line.at, "input", notes)
            return False
        return True

    def _check_results(self, returned: Return, found: Sequence[Node | None]) -> None:
        body = self._body
        if len(found) != len(body.outputs):
            counted = f"{len(found)} result{'' if len(found) == 1 else 's'}"
            message = f"'@{spell_name(body.name)}' returns {counted}, but declares {len(body.outputs)}"
            self._fail(message, returned.at, "return", [self._note("the outputs are declared here", body.at)])
            return
        for output, result, (name, at) in zip(body.outputs, found, returned.results, strict=True):
            if result is not None and output.type is not None and result.type is not output.type:
                message = f"'{_value_name(name)}' has type {result.type}, but the output is declared as {output.type}"
                shown = _value_name(output.name)
                self._fail(message, at, "return", [self._note(f"'{shown}' is declared here", output.name_at)])


def _value_name(name: str) -> str:
    return f"%{name if name.isdigit() else spell_name(name)}"


def _what(body: Body) -> str:
    kind = {ops.FUNC: "function", ops.REGION: "region"}.get(body.op)
    return "the operations" if kind is None else f"{kind} '@{spell_name(body.name)}'"


def _not_allowed(operation: str) -> str:
    hint = LANGUAGE.own_name(operation, LANGUAGE.operations())
    return f"operation '{operation}' is not allowed in dialect 'expr'{hint}"
