"""Arithmetic at compile time: normal forms of what is no part of a program yet."""

from __future__ import annotations

from collections.abc import Sequence

from scaly_ir.dialects.prog import build
from scaly_ir.graph import Node
from scaly_ir.graph.observe import Observer, observe_rewrites
from scaly_ir.passes.prog.arithmetic import Arithmetic


class _Deaf(Observer):
    def rewritten(self, rule: str, before: Node, after: Sequence[Node]) -> None:
        raise AssertionError(f"{rule} was told")


def test_what_is_made_is_folded_in_turn_and_nobody_is_told() -> None:
    x = build.var("x")
    opposite = build.apply("add", x, build.apply("neg", x))  # x - x, which is 0
    with observe_rewrites(_Deaf()):
        assert Arithmetic().normal(opposite) is build.index(0)
