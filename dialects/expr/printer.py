"""Canonical `expr` text: the one spelling of functions and graphs, which reads back to the same nodes.

Operations are listed in depth-first post-order from the results and numbered in that order; functions come after those
that they refer to. Iterative: graphs of any depth print in constant Python stack. Source: expression specification 4.2
and 4.3.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from scaly_ir.attributes import NO_ATTRS, Attrs, spell_attrs
from scaly_ir.dialects.expr import ops
from scaly_ir.dialects.expr.functions import body_of, callees_of, in_order, inputs_of, make_module, outputs_of
from scaly_ir.dialects.expr.ingest import checked
from scaly_ir.graph import Node, intern_node, postorder
from scaly_ir.sparsity import SparsityPattern
from scaly_ir.tables import Table
from scaly_ir.tensors import TensorType
from scaly_ir.text.form import spell_shown
from scaly_ir.text.spelling import spell_name

INDENT: Final = "  "

LONGEST_PATTERN: Final = 16
"""A sparsity pattern of more entries is written once, at the top of a module."""

_SOURCES: Final = frozenset({ops.INPUT, ops.CONST})
"""What always prints its hint."""
_AUTO: Final = {"lowering": "auto"}

_Listed = list[tuple[Node, list[Node]]]
"""Functions with their operations, in the order in which they are printed."""


def render(root: Node, *, elide: int | None = None) -> str:
    """Return the text of a module, function, region or fragment, or of an operation with all that it is made of.

    It ends with a line end if not empty. A function on its own is printed bare, without those that it calls. `elide`
    replaces constants of more than that many entries by their count; such text does not read back.
    """
    if root.op is ops.MODULE:
        return _module(root, elide)
    if root.op is ops.FUNC:
        return _Printer([(root, body_of(root))], elide).text()
    results = root.args if root.op in (ops.RETURN, ops.REGION) else (root,)
    printer = _Printer([], elide)
    if root.op is not ops.REGION:
        printer.operations(postorder(*results), results, "")
    else:
        printer.lines.append(f"expr.region @{spell_name(root.attrs['name'])} {{\n")
        printer.operations(postorder(*results), results, INDENT)
        printer.lines.append("}\n")
    return printer.text()


def render_expr_assembly(what: Any, name: str | None = None) -> str:
    """Return the text of a function and of all that it refers to, or of an expression or several.

    With `name`, the latter are wrapped in an `expr.region` of that name. `TypeError` for anything else.
    """
    node = getattr(what, "node", what)
    if isinstance(node, Node) and node.op is ops.FUNC:
        if name is not None:
            raise TypeError("a function has a name of its own")
        return render(make_module([node]))
    results = tuple([checked(result) for result in results_of(node)])
    if name is None:
        return render(intern_node(ops.RETURN, results, NO_ATTRS, None))
    return render(intern_node(ops.REGION, results, Attrs({"name": name}), None))


def results_of(what: Any) -> Sequence[Node]:
    """Return one expression or a list of them as a list; `TypeError` for anything else."""
    results = what if isinstance(what, list | tuple) else [what]
    for result in results:
        if not isinstance(result, Node):
            raise TypeError(f"expected a function, an expression or a list of expressions, got {result!r}")
    return results


def _module(root: Node, elide: int | None) -> str:
    printer = _Printer(listed(root.args), elide)
    if root.attrs.get("bare"):
        return printer.text()
    aliases = printer.name_patterns()
    body = [f"{INDENT}{alias} = {pattern}\n" for pattern, alias in aliases.items()]
    return "".join(["expr.module {\n", *body, printer.text(INDENT), "}\n"])


def listed(functions: Sequence[Node]) -> _Listed:
    """Return functions, and all that they refer to, in order."""
    found: dict[Node, list[Node]] = {}
    for function in functions:
        body = body_of(function)
        if any([callee not in found for callee in callees_of(body)]):
            return [(function, body_of(function)) for function in in_order(functions)]
        found[function] = body
    return list(found.items())


def _symbols(listed: _Listed) -> dict[Node, str]:
    """Return the name under which each function is printed: its own, or one that is free."""
    opaque = [attr for _, body in listed for node in body if node.op in ops.CALLS for attr in node.attrs.values()]
    given = {str(function.attrs["name"]) for function, _ in listed}
    given.update([attr for attr in opaque if type(attr) is str])
    names: dict[Node, str] = {}
    taken: set[str] = set()
    counts: dict[str, int] = {}
    for function, _ in listed:
        name = shown = str(function.attrs["name"])
        while shown in taken or (shown is not name and shown in given):
            counts[name] = counts.get(name, 0) + 1
            shown = f"{name}_{counts[name]}"
        taken.add(shown)
        names[function] = shown
    return names


class _Printer:
    """Prints functions and lists of operations; one object per text, for what is named in it."""

    def __init__(self, listed: _Listed, elide: int | None) -> None:
        self.lines: list[str] = []
        self._elide = elide
        self._listed = listed
        self._symbols = _symbols(listed)
        self._aliases: dict[SparsityPattern, str] = {}
        self._types: dict[Any, str] = {}
        self._attrs: dict[Any, str] = {}

    def text(self, indent: str = "") -> str:
        """Return what was printed, and the functions."""
        for function, body in self._listed:
            self._function(function, body, indent)
        return "".join(self.lines)

    def name_patterns(self) -> dict[SparsityPattern, str]:
        """Give long sparsity patterns names, in the order of their first use, and return these."""
        for function, body in self._listed:
            for node in (*inputs_of(function), *outputs_of(function), *body):
                pattern = getattr(node.type, "pattern", None)
                if pattern is not None and pattern.nnz > LONGEST_PATTERN:
                    self._aliases.setdefault(pattern, f"#sp{len(self._aliases)}")
        return self._aliases

    def _function(self, function: Node, body: list[Node], indent: str) -> None:
        results = outputs_of(function)
        params = self._params([str(node.attrs["name"]) for node in inputs_of(function)], inputs_of(function))
        outputs = self._params(function.attrs["output_names"], results)
        name = spell_name(self._symbols[function])
        self.lines.append(f"{indent}expr.func @{name}({params}) -> ({outputs}) {{\n")
        self.operations(body, results, indent + INDENT)
        self.lines.append(f"{indent}}}\n")

    def _params(self, names: Iterable[str], nodes: Iterable[Node]) -> str:
        pairs = zip(names, nodes, strict=True)
        return ", ".join([f"%{spell_name(name)}: {self._type(node.type)}" for name, node in pairs])

    def operations(self, order: Iterable[Node], results: Iterable[Node], indent: str) -> None:
        """Print operations, listed after their operands, and the line that returns the results."""
        names: dict[Node, str] = {}
        types, lines = self._types, self.lines
        for number, node in enumerate(order):
            name = names[node] = f"%{number}"
            type_ = types.get(node.type) or self._type(node.type)
            attrs = self._attributes(node) if node.attrs else ""
            if node.args:
                operands = ", ".join([names[operand] for operand in node.args])
                lines.append(f"{indent}{name} = {node.op.name}({operands}){attrs} : {type_}\n")
            else:
                attrs = attrs or self._attributes(node)
                lines.append(f"{indent}{name} = {node.op.name}{attrs} : {type_}\n")
        returned = ", ".join([names[result] for result in results])
        lines.append(f"{indent}expr.return{' ' if returned else ''}{returned}\n")

    def _type(self, type_: Any) -> str:
        text = str(type_)
        pattern = getattr(type_, "pattern", None)
        if pattern in self._aliases:
            dense: TensorType = type_.but(pattern=None)
            text = f"{dense.text[:-1]}, sparse<{self._aliases[pattern]}>>"
        self._types[type_] = text
        return text

    def _attributes(self, node: Node) -> str:
        """Return the attributes of a node with a space before them, or nothing."""
        attrs = node.attrs
        if node.op in _SOURCES:
            if self._elide is not None:
                return spell_shown({**_AUTO, **attrs}, self._elide)
            return f" {spell_attrs({**_AUTO, **attrs})}"
        if "fill" in attrs and node.op is ops.GATHER:
            return f" {spell_attrs(with_fill(attrs, node.type))}"
        known = self._attrs.get(attrs.key)
        if known is None:
            named = {key: self._symbols.get(value, value.reference_name) for key, value in _references(attrs)}
            spelled = spell_attrs({**attrs, **named} if named else attrs)
            known = self._attrs[attrs.key] = f" {spelled}" if spelled else ""
        return known


def _references(attrs: Attrs) -> list[tuple[str, Node]]:
    return [(key, value) for key, value in attrs.items() if isinstance(value, Node)]


def with_fill(attrs: Attrs, type_: Any) -> Mapping[str, Any]:
    """Return the attributes of a gather with its fill as an entry of the data, whose spelling depends on the dtype."""
    fill = attrs["fill"]
    if type(fill) is not float or not type_.dtype.is_float:
        return attrs
    return {**attrs, "fill": Table.of([fill], type_.dtype, ())}
