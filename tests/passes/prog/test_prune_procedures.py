"""What the entry reaches stays, in its order, and nothing else (lowering specification 3.5)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import scaly_ir as sc
from scaly_ir.counters import collect_counts
from scaly_ir.dialects.prog import build
from scaly_ir.graph import Node
from scaly_ir.passes.prog.prune_procedures import PruneProcedures
from tests.passes.prog.golden_files import programs_of
from tests.passes.prog.meaning import keeps_meaning
from tests.passes.prog.programs import modules

prune = PruneProcedures().run


@given(modules())
def test_programs_mean_the_same(module: Node) -> None:
    after = keeps_meaning(module, prune)
    assert prune(after) is after


@pytest.mark.parametrize("path", programs_of("prune_procedures"), ids=lambda path: path.stem)
def test_golden_files(path: Path) -> None:
    module = sc.parse(path.read_text(encoding="utf-8"), path.name)
    sc.verify(module)
    after = prune(module) if "bare" in path.stem else keeps_meaning(module, prune)
    assert (after is module) == path.stem.startswith("keep_")
    assert prune(after) is after


def _module(calls: Sequence[Sequence[int]]) -> Node:
    """Return procedures `p0`, `p1`, ...: each calls earlier ones, every second call from inside a loop."""
    y = build.param("y", 1)
    procedures = []
    for number, callees in enumerate(calls):
        body = [build.store(build.view(y, 0), build.const(number, y.type))]
        for place, callee in enumerate(callees):
            call = build.call(f"p{callee}", [y])
            body.append(build.for_(build.range_("i", 0, 2), [call]) if place % 2 else call)
        procedures.append(build.proc(f"p{number}", [y], body))
    return build.program(procedures)


@given(st.data())
def test_what_is_kept_is_what_can_be_reached(data: st.DataObject) -> None:
    count = data.draw(st.integers(1, 8))
    calls = [data.draw(st.lists(st.integers(0, n - 1), max_size=3)) if n else [] for n in range(count)]
    reached = {count - 1}
    while more := {callee for number in reached for callee in calls[number]} - reached:
        reached |= more
    module = _module(calls)
    after = prune(module)
    sc.verify(after)
    assert list(after.args) == [module.args[number] for number in sorted(reached)]
    assert (after is module) == (len(reached) == count)


@pytest.mark.parametrize("bare", [False, True])
def test_an_empty_module_is_left_alone(bare: bool) -> None:
    module = build.program([], bare=bare)
    assert prune(module) is module


def test_a_long_chain_and_a_deep_nest() -> None:
    """Every other procedure is dead; the entry calls from inside a thousand loops."""
    calls: list[list[int]] = [[], *[[max(number - 2, 0)] for number in range(1, 20_000)]]
    module = _module(calls)
    entry = module.args[-1]
    nest = build.call("p19998", build.params_of(entry))
    for depth in range(1_000):
        nest = build.for_(build.range_(f"i{depth}", 0, 1), [nest])
    deep = build.program([*module.args, build.proc("entry", build.params_of(entry), [nest])])
    with collect_counts() as counts:
        prune(deep)
    assert counts == {"removed": 10_000}
    assert [procedure.attrs["name"] for procedure in prune(deep).args[-2:]] == ["p19998", "entry"]
    assert len(prune(deep).args) == 10_001
