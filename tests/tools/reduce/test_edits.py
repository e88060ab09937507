"""What is true of every change to every module: it is no error, and what verifies reads back as it is.

A change alone need not make a module smaller; the search takes those that do.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

import scaly_ir as sc
from scaly_ir.graph import Node
from scaly_ir.graph.walk import with_references
from scaly_ir.tools.reduce import expr, matrix, prog
from scaly_ir.tools.reduce.state import State
from scaly_ir.tools.reduce.steps import Kind, steps_for
from tests.dialects.expr.generators import roots
from tests.dialects.expr.growing import modules as growing_modules
from tests.dialects.matrix.programs import modules as matrices
from tests.dialects.prog.generators import fragments, programs
from tests.passes.prog.programs import modules
from tests.tools.reduce.searching import reduced

PROG = st.one_of(programs(), modules(), fragments())
EXPR = st.one_of(roots(), growing_modules().map(lambda case: case[0]))
MATRIX = matrices(most=8)


def check(root: Node, kind: Kind, random: Random) -> bool:
    """Make some of the changes of a kind; return whether the result verifies."""
    edits = kind.edits(root)
    if not edits:
        return False
    size = random.choice([1, 1, max(1, len(edits) // 2), len(edits)])
    at = random.randrange(len(edits))
    made = kind.apply(root, edits[at : at + size])
    if made is None or not State(made).is_valid():
        return False
    text = sc.render(made)
    assert sc.render(sc.parse(text)) == text
    return True


@pytest.mark.parametrize("at", range(len(prog.KINDS)), ids=[f"{at}-{k.name}" for at, k in enumerate(prog.KINDS)])
@given(root=PROG, random=st.randoms(use_true_random=False))
def test_changes_to_programs(at: int, root: Node, random: Random) -> None:
    check(root, prog.KINDS[at], random)


@pytest.mark.parametrize("at", range(len(expr.KINDS)), ids=[f"{at}-{k.name}" for at, k in enumerate(expr.KINDS)])
@given(root=EXPR, random=st.randoms(use_true_random=False))
def test_changes_to_functions(at: int, root: Node, random: Random) -> None:
    check(root, expr.KINDS[at], random)


@pytest.mark.parametrize("at", range(len(matrix.KINDS)), ids=[f"{at}-{k.name}" for at, k in enumerate(matrix.KINDS)])
@given(root=MATRIX, random=st.randoms(use_true_random=False))
def test_changes_to_functions_of_buffers(at: int, root: Node, random: Random) -> None:
    check(root, matrix.KINDS[at], random)


def has(name: str) -> Callable[[State], bool]:
    def interesting(state: State) -> bool:
        assert isinstance(state.body, Node)
        return any([node.op.name == name for node in with_references(state.body)])

    return interesting


@given(root=st.one_of(PROG, EXPR, MATRIX), random=st.randoms(use_true_random=False), jobs=st.integers(2, 5))
def test_what_is_left_is_small_interesting_and_the_same_for_any_number_of_jobs(
    root: Node, random: Random, jobs: int
) -> None:
    names = sorted({node.op.name for node in with_references(root)})
    interesting = has(random.choice(names))
    start = State(root)
    search = reduced(start, interesting)
    best = search.best
    assert interesting(best)
    assert best is start or best.weight < start.weight
    assert best is start or best.is_valid()
    other = reduced(start, interesting, jobs=jobs)
    assert (other.best.text, other.candidates) == (best.text, search.candidates)
    for step in steps_for(best):  # no single edit helps any more
        edits = step.edits(best)
        for edit in edits:
            made = step.apply(best, [edit])
            if made is not None and made.weight < best.weight and made.is_valid():
                assert not interesting(made), step.name
