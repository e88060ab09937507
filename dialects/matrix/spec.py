"""The verifier of functions of matrices, loops and buffers: its rule table, and the walk in the order of the text.

The walk is iterative and linear in the size of the text. Where the operands of a statement are wrong, other rules are
not asked about it: they would say the same once more.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from scaly_ir.dialects.affine import rules as affine_rules
from scaly_ir.dialects.buffer import build, ops
from scaly_ir.dialects.buffer import rules as buffer_rules
from scaly_ir.dialects.buffer.context import Context
from scaly_ir.dialects.buffer.forms import is_operation, lead_of, operations
from scaly_ir.dialects.buffer.printer import value_name
from scaly_ir.dialects.matrix import combiner_rules, rules, window_rules
from scaly_ir.dialects.prog import ops as prog_ops
from scaly_ir.dialects.prog.scalar_rules import SCALAR_RULES
from scaly_ir.errors import VerifyError
from scaly_ir.graph import Node
from scaly_ir.op import Op
from scaly_ir.op_rules import registered_rules
from scaly_ir.spec import DEFINED_HERE, Fault, Faults, Spec, Violation
from scaly_ir.text.locations import Part, Place
from scaly_ir.text.spelling import spell_name

_FORM_RULES: Final = (*buffer_rules.FORM_RULES, *rules.FORM_RULES, *combiner_rules.FORM_RULES)
_FORM: Final = frozenset([rule.check for rule in _FORM_RULES])


class _Open(NamedTuple):
    """A region that is being walked: what is left of it, and the statement or function that it belongs to."""

    statements: Iterator[Node]
    owner: Node | None


class _Walk:
    """One verification."""

    def __init__(self, spec: Spec) -> None:
        self.spec = spec
        self.context = Context()
        self.found: list[Violation] = []
        self.functions: dict[str, Place] = {}
        self.outputs: dict[str, Place] = {}
        """The results of the current function, by name."""
        self.sound: set[Node] = set()
        """Scalars that break no rule of their own."""

    def run(self, root: Node) -> Iterator[Violation]:
        """Visit every function and statement below `root`, in pre-order."""
        opened = [_Open(iter(root.args if root.op is ops.MODULE else (root,)), None)]
        while opened:
            statements, owner = opened[-1]
            for node in statements:
                self.statement(node)
                yield from self.found
                self.found.clear()
                region = _region_of(node)
                if region is not None and build.param_count_of(region) is not None:
                    opened.append(_Open(iter(build.body_of(region)), node))
                    break
                if lead_of(node) is not None:  # what is not walked has its places in the text, too
                    self.context.statement += len(list(operations(node))) - is_operation(node)
                if region is not None:
                    self.end(node)
                else:
                    self.define(node)
            else:
                opened.pop()
                if owner is not None:
                    self.end(owner)
                yield from self.found
                self.found.clear()

    def end(self, owner: Node) -> None:
        """Leave the region of a statement or function."""
        self.context.scopes.leave()
        if owner.op is not ops.FUNC:
            self.define(owner)

    def statement(self, node: Node) -> None:
        """Check one statement, or the head of one with a region, and enter that."""
        context = self.context
        context.statement += is_operation(node)
        context.in_function = -1 if node.op is ops.FUNC else context.in_function + 1
        if node.op is ops.FUNC:
            self.function(node)
        elif node.op.dialect == "prog" or not is_operation(node):
            self.report("op-dialect", node, node, [f"'{node.op.name}' is no statement"])
        else:
            self.operands(node)
        region = _region_of(node)
        if region is not None:
            self.report("attr-set", node, region, buffer_rules.attr_set(region))
        if not self.found:
            alone, placed, _ = self.spec.rules_of(node.op)
            for name, check in alone:
                if check in _FORM:
                    self.report(name, node, node, check(node))
            if not self.found:
                for name, check in alone:
                    if check not in _FORM:
                        self.report(name, node, node, check(node))
                for name, check in placed:
                    self.report(name, node, node, check(node, context))
        if not self.found and buffer_rules.is_declared(node.op):
            self.report("result-shape", node, node, buffer_rules.result_shape(node))
        if region is not None:
            context.scopes.enter()
            first = len(context.results) if node.op is ops.FUNC else 0
            for number, param in enumerate(region.args[: build.param_count_of(region) or 0], first):
                self.bind(
                    node,
                    param,
                    param.attrs.get("name") if build.is_variable(param) else None,
                    part=build.declared_part(number),
                    is_parameter=node.op is ops.FUNC,
                )

    def function(self, node: Node) -> None:
        """Begin a function."""
        context = self.context
        name = node.attrs.get("name")
        context.results = build.operands_of(node)
        place = context.place(node, node, "name")
        if type(name) is not str or not name:
            self.report("attr-set", node, node, ["FUNC is missing attribute name"])
        elif name in self.functions:
            notes = ((f"@{spell_name(name)} is defined here", self.functions[name]),)
            self.report("names", node, node, [Fault(f"@{spell_name(name)} is defined twice", part="name", notes=notes)])
        else:
            self.functions[name] = place
        self.outputs.clear()
        for number, result in enumerate(context.results):
            part = build.declared_part(number)
            of = result.attrs.get("name") if build.is_variable(result) else None
            if type(of) is not str:
                self.report("names", node, result, ["a result lacks a name"])
                continue
            if of in self.outputs:
                self.defined_twice(node, result, of, part, self.outputs[of])
            else:
                self.outputs[of] = context.place(node, result, part)

    def operands(self, node: Node) -> None:
        """Check the names and scalars in a statement."""
        self.report("names", node, node, buffer_rules.names(node, self.context))
        pending = list(reversed(build.operands_of(node)))
        while pending:
            value = pending.pop()
            if value in self.sound or value.op is prog_ops.VAR or value.op is ops.UNDEF:
                continue
            self.sound.add(value)
            before = len(self.found)
            if not _is_scalar(value):
                self.report("operand-kind", node, value, [f"'{value.op.name}' is no scalar"])
            else:
                for name, check in self.spec.rules_of(value.op)[0]:
                    self.report(name, node, value, check(value))
            if len(self.found) > before:
                self.sound.discard(value)
            pending.extend(reversed(value.args))

    def define(self, node: Node) -> None:
        """Bring into scope what a statement binds."""
        for name, type_ in build.results_of(node):
            if type_ is not None and type(name) is str and self.context.scopes.is_open:
                self.bind(node, node, name, type_, part="results")

    def bind(
        self,
        statement: Node,
        node: Node,
        name: object,
        type_: object = None,
        *,
        part: Part,
        is_parameter: bool = False,
    ) -> None:
        """Bring a name into scope, which must neither be visible already nor be that of a result."""
        context = self.context
        if type(name) is not str:
            self.report("names", statement, node, ["a parameter lacks a name"])
            return
        known = context.names.get(name)
        earlier = self.outputs.get(name) if known is None else known.place
        if earlier is not None:
            self.defined_twice(statement, node, name, part, earlier)
        context.define(
            name, node.type if type_ is None else type_, context.place(statement, node, part), is_parameter=is_parameter
        )

    def defined_twice(self, statement: Node, node: Node, name: str, part: Part, earlier: Place) -> None:
        """Report the second definition of a name."""
        fault = Fault(f"{value_name(name)} is defined twice", node, part, ((DEFINED_HERE, earlier),))
        self.report("names", statement, node, [fault])

    def report(self, rule: str, statement: Node, node: Node, faults: Faults) -> None:
        """Record what a rule found."""
        context = self.context
        for fault in faults:
            reason, blamed, part, notes = Fault(fault) if isinstance(fault, str) else fault
            blamed = node if blamed is None else blamed
            place = context.place(statement, blamed, part)
            own = blamed if blamed.op.dialect in ops.UNIT else statement
            label = _label(own, context.in_function)
            operation = own.op.name if _is_shown(own) else blamed.op.name
            self.found.append(Violation(rule, own, reason, label, operation, place, notes))


def _region_of(node: Node) -> Node | None:
    return build.region_of(node) if is_operation(node) else None


def _is_shown(node: Node) -> bool:
    """Tell whether an operation's name stands in the text: that of a named scalar does not."""
    return node.op is not ops.LET


def _label(node: Node, number: int) -> str:
    """Return how a message calls a node: by what it binds, or by its statement's number in the function."""
    if node.op is ops.FUNC:
        return f"@{spell_name(str(node.attrs.get('name')))}"
    names = node.attrs.get("results")
    return value_name(str(names[0])) if names and type(names) is tuple else f"#{number}"


def _is_scalar(node: Node) -> bool:
    return prog_ops.is_scalar(node.op) and node.op is not prog_ops.LOAD and node.op.dialect not in ops.UNIT


def _is_foreign(op: Op) -> bool:
    """Tell whether an operator was registered by somebody else."""
    return op.dialect not in ops.UNIT and op.dialect != "prog"


class _UnitSpec(Spec):
    """The rules of three dialects: an exception is called after the one that its node belongs to."""

    def error(self, violation: Violation) -> VerifyError:
        """Return a violation as an exception."""
        dialect = violation.node.op.dialect
        return Spec(f"verify_{dialect if dialect in ops.UNIT else 'buffer'}", (), self._walk).error(violation)


def _walk(spec: Spec, root: Node) -> Iterator[Violation]:
    return _Walk(spec).run(root)


SPEC: Final = _UnitSpec(
    "verify_matrix",
    (
        *_FORM_RULES,
        *buffer_rules.RULES,
        *affine_rules.RULES,
        *rules.RULES,
        *combiner_rules.RULES,
        *window_rules.RULES,
        *SCALAR_RULES,
        *registered_rules("buffer", _is_foreign),
    ),
    _walk,
)
"""All rules of the three dialects."""


def _verify(dialect: str, root: Node) -> None:
    for violation in SPEC.check(root):
        if violation.node.op.dialect == dialect:
            raise SPEC.error(violation)


def verify_matrix(root: Node) -> None:
    """Raise `VerifyError` for the first rule that an operation of `matrix` breaks."""
    _verify("matrix", root)


def verify_buffer(root: Node) -> None:
    """Raise `VerifyError` for the first rule that an operation of `buffer` breaks."""
    _verify("buffer", root)


def verify_affine(root: Node) -> None:
    """Raise `VerifyError` for the first rule that an operation of `affine` breaks."""
    _verify("affine", root)


def _faults(node: Node) -> Iterator[tuple[str, str]]:
    """Yield what is wrong with an operation on its own: the name of a rule and a reason."""
    found = False
    for forms in (True, False):
        for name, check in () if found else SPEC.rules_of(node.op)[0]:
            for fault in check(node) if (check in _FORM) is forms else ():
                found = True
                yield name, fault if isinstance(fault, str) else fault.reason


for _op in Op.get_attr_map(ops.KINDS):
    if _op.dialect in ops.UNIT:
        _op.set_attr("FVerify", _faults)
