"""Every pass on programs, each pair of them, and the whole pipeline keep what programs mean.

What a pass is for and when it must not fire is in the tests of each; here nothing is known of any of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import scaly_ir as sc
from scaly_ir.graph import Node
from scaly_ir.pass_manager import build_pipeline, run_pipeline
from scaly_ir.passes import PASSES
from tests.passes.prog.meaning import keeps_meaning, same_bits, same_values
from tests.passes.prog.programs import modules

EXACT: Final = frozenset(
    "coalesce_stores cse dce delinearize_loops fold_tiles fuse_elementwise fuse_ranges hoist_invariant "
    "interchange_reductions pack_workspace prepare_scalar prune_procedures unroll_unit_loops widen_ranges".split()
)
"""Passes that keep every bit; the others may use the identities of real numbers."""

ROUNDING: Final = frozenset({"hoist_reciprocals"})
"""Passes that change how results are rounded: a test of their own has them compare."""

NEEDS_OPTIONS: Final = frozenset({"legalize", "lower_intrinsics"})


def _on_programs() -> list[str]:
    """Return the names of all passes, pipelines left out, that take programs and need no options."""
    found = []
    for name in sorted(set(PASSES) - ROUNDING - NEEDS_OPTIONS):
        steps = build_pipeline(name, PASSES)
        if [step.name for step in steps] == [name] and steps[0].dialects and "prog" in steps[0].dialects:
            found.append(name)
    return found


NAMES: Final = _on_programs()


def _transform(*names: str) -> Callable[[Node], Node]:
    passes = build_pipeline(",".join(names), PASSES)
    return lambda module: run_pipeline(module, passes)


def _check(module: Node, *names: str) -> Node:
    compare = same_bits if EXACT.issuperset(names) else same_values
    return keeps_meaning(module, _transform(*names), compare=compare)


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=max(30, settings().max_examples // 4))
@given(module=st.one_of(modules(), modules(tame=True)))
def test_one(name: str, module: Node) -> None:
    _check(module, name)


@settings(max_examples=max(200, settings().max_examples))
@given(st.one_of(modules(), modules(tame=True)), st.lists(st.sampled_from(NAMES), min_size=2, max_size=4))
def test_several(module: Node, names: list[str]) -> None:
    _check(module, *names)


@settings(max_examples=max(100, settings().max_examples))
@given(
    modules(tame=True),
    st.sampled_from(
        [
            "default",
            "default,default",
            "default{delinearize}",
            "default{delinearize interchange}",
            "default{lanes=4}",
            "default{interchange lanes=auto}",
        ]
    ),
)
def test_the_pipeline(module: Node, pipeline: str) -> None:
    _check(module, pipeline)


def test_nothing_to_do_for_the_empty_module() -> None:
    empty = sc.parse("prog.module {\n}\n")
    for name in NAMES:
        assert _transform(name)(empty) is empty
