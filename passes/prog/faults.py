"""Keep modules valid where a pass brings a fault of the program to light.

A pass that makes more of a program known, as what a constant index is, can show the verifier what is wrong in code that
never runs. The program was valid and has to stay so: what the pass did to that procedure is taken back.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable

from scaly_ir.dialects.prog.build import statements_in
from scaly_ir.dialects.prog.spec import SPEC
from scaly_ir.graph import Node
from scaly_ir.graph.observe import report_rewrite


def _itself(procedure: Node) -> Node:
    return procedure


def with_sound_procedures(module: Node, procedures: Iterable[Node], instead: Callable[[Node], Node] = _itself) -> Node:
    """Return a valid module with other procedures in the same order; the module itself when they are its own.

    In the place of one that breaks a rule comes what `instead` makes of the procedure that was there.
    """
    listed = list(procedures)
    changed = module.replace(args=listed)
    if changed is module:
        return module
    for position in faulty_procedures(changed):
        report_rewrite("take_back", listed[position], module.args[position])
        listed[position] = instead(module.args[position])
    return module.replace(args=listed)


def faulty_procedures(module: Node) -> set[int]:
    """Return the positions of the procedures in which the verifier finds something; linear in the text."""
    numbers = [violation.place.number for violation in SPEC.check(module)]
    if not numbers:
        return set()
    first = 0 if module.attrs.get("bare") else 1  # the number of the first procedure's head
    heads = []
    for procedure in module.args:
        heads.append(first)
        first += 1 + sum([1 for _ in statements_in(procedure)])
    return {bisect_right(heads, number) - 1 for number in numbers} - {-1}
