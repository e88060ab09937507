"""What passes remark is shown by scaly-opt: on standard error, under the name of the input, pass by pass."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import pytest

from scaly_ir.errors import PassError
from scaly_ir.graph import Node
from scaly_ir.pass_manager import Pass
from scaly_ir.passes import PASSES
from scaly_ir.remarks import remark
from tests.tools.running import TEN_LINES, scaly_opt


@dataclass(frozen=True)
class Says(Pass):
    """Say something, and then refuse the module if it is to."""

    name: ClassVar[str] = "says"
    dialects: ClassVar[frozenset[str]] = frozenset({"prog"})

    what: str = "something"
    refuse: bool = False

    def run(self, root: Node) -> Node:
        remark(self.what)
        if self.refuse:
            raise PassError("no", pass_name=self.name)
        return root


@pytest.fixture(autouse=True)
def _passes(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(PASSES, "says", Says)


def test_a_remark_names_the_input() -> None:
    Path("a.sir").write_text(TEN_LINES)
    done = scaly_opt("a.sir", "--pass=says")
    assert (done.code, done.out, done.err) == (0, TEN_LINES, "a.sir: remark: something\n")
    assert scaly_opt("--pass=says", stdin=TEN_LINES).err == "<stdin>: remark: something\n"


def test_remarks_come_pass_by_pass_and_file_by_file() -> None:
    for name in ("a.sir", "b.sir"):
        Path(name).write_text(TEN_LINES)
    done = scaly_opt("a.sir", "b.sir", "--pass=says{what=one},says{what=two}", "-v")
    said = [line for line in done.err.splitlines() if "remark" in line or "pass" in line]
    assert said == [
        line
        for name in ("a.sir", "b.sir")
        for number, what in ((1, "one"), (2, "two"))
        for line in (f"{name}: remark: {what}", f"scaly-opt: pass {number} of 2: says made no change")
    ]


def test_a_pass_that_fails_is_heard() -> None:
    done = scaly_opt("--pass=says{refuse}", stdin=TEN_LINES)
    assert (done.code, done.err) == (1, "<stdin>: remark: something\nscaly-opt: error: no\n")


def test_quiet_shows_no_remarks() -> None:
    done = scaly_opt("--pass=says", "-q", "--max-errors=1", stdin=TEN_LINES)
    assert (done.code, done.out, done.err) == (0, TEN_LINES, "")
