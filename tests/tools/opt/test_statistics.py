"""The report of --statistics: operations before and after each pass, and its counters."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from scaly_ir.counters import collect_counts, count
from tests.tools.running import CHAIN, FUSED, scaly_opt


@pytest.fixture(autouse=True)
def _file(workspace: Path) -> None:
    (workspace / "f.sir").write_text(CHAIN, encoding="utf-8")


def test_table() -> None:
    done = scaly_opt("f.sir", "--pass=dce,fuse_elementwise", "--statistics")
    assert (done.code, done.out) == (0, FUSED)
    assert done.err.splitlines() == [
        "1 dce: 7 operations before, 7 after",  # a module, a procedure, a buffer, and two loops around a store each
        "2 fuse_elementwise: 7 operations before, 4 after, 1 fused",
    ]


def test_json() -> None:
    done = scaly_opt("f.sir", "--pass=fuse_elementwise", "--statistics=json")
    row = {"number": 1, "name": "fuse_elementwise", "before": 7, "after": 4, "counts": {"fused": 1}}
    assert json.loads(done.err) == {"passes": [row]}


def test_the_innermost_collector_counts() -> None:
    count("lost")
    with collect_counts() as outer:
        count("a", 2)
        with collect_counts() as inner:
            count("a")
        count("b")
    count("lost")
    assert (outer, inner) == ({"a": 2, "b": 1}, {"a": 1})
