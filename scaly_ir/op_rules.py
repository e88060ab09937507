"""The verifier rules of registered operators, the same in every dialect: what `validate` checks, and the types.

A dialect adds them to its `Spec` with `registered_rules`. Source: operator specification A7.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from scaly_ir.call import signature_faults, verify_faults
from scaly_ir.errors import described
from scaly_ir.graph import Node
from scaly_ir.op import Op
from scaly_ir.spec import Fault, Rule


def op_arity(node: Node) -> Iterator[Fault]:
    """A registered operator has the operands and attributes of its signature."""
    for reason, attribute in signature_faults(node):
        yield Fault(reason, part=attribute if attribute in node.attrs else "")


def op_type(node: Node) -> Iterator[Fault]:
    """A registered operator has the type that its rule gives."""
    if node.op.count_fault(len(node.args)) is not None:
        return  # the rule may rely on its operands
    try:
        inferred = node.op.result_type(node)
    except Exception as error:  # a rule of a third party: whatever it raises is shown
        yield Fault(raised("FInferType", error))
        return
    if inferred is not None and inferred is not node.type:
        yield Fault(f"recorded type {node.type} != inferred {inferred}", part="type")


def op_verify(node: Node) -> Iterator[Fault]:
    """A registered operator passes the checks it brings along."""
    if node.op.count_fault(len(node.args)) is not None:
        return
    try:
        for _rule, reason in verify_faults(node):
            yield Fault(str(reason))
    except Exception as error:  # a rule of a third party: whatever it raises is shown
        yield Fault(raised("FVerify", error))


def raised(rule: str, error: Exception) -> str:
    """Return what a message says of an exception inside a rule of a third party."""
    return f"{rule} raised {described(error)}"


def registered_rules(dialect: str, applies: Callable[[Op], bool]) -> tuple[Rule, ...]:
    """Return the rules of registered operators in the bodies of `dialect`; `applies` tells which operators they are."""

    def op_dialect(node: Node) -> Iterator[Fault]:
        """A registered operator is allowed in the dialect."""
        if not node.op.allowed_in(dialect):
            yield Fault(f"operation '{node.op.name}' is not allowed in dialect '{dialect}'")

    return (
        Rule("op-dialect", op_dialect, applies),
        Rule("op-arity", op_arity, applies),
        Rule("op-type", op_type, applies),
        Rule("op-verify", op_verify, applies),
    )
