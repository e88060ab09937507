"""The report of --timing: what took how long, in order, and nothing of it in the result."""

from __future__ import annotations

import json
from pathlib import Path

import scaly_ir as sc
from scaly_ir.passes.pipelines import Unoptimized
from scaly_ir.tools.opt.timing import Timing
from tests.tools.running import CHAIN, FUSED, scaly_opt

PASS = Unoptimized()


def _report(*, as_json: bool) -> str:
    """Return the report of a run in which each step takes one more second than the one before."""
    shown: list[str] = []
    ticks = iter([0, 0, 1, 3, 6, 10, 15, 21, 28, 36])
    timing = Timing(shown.append, as_json=as_json, clock=lambda: float(next(ticks)))
    module = sc.parse(CHAIN)
    timing.enter("read")
    timing.enter("parse")
    timing.enter("verify")
    timing.before_pass(1, PASS, module)
    timing.after_pass(1, PASS, module, module)
    timing.enter("verify")
    timing.enter("print")
    timing.enter("rest")
    timing.close()
    return "".join(shown)


def test_table() -> None:
    assert _report(as_json=False).splitlines() == [
        "        ms   share  phase",
        "  1000.000    2.8%  read",
        "  2000.000    5.6%  parse",
        "  9000.000   25.0%  verify",
        "  4000.000   11.1%  1 O0",
        "  7000.000   19.4%  print",
        " 13000.000   36.1%  rest",
        " 36000.000  100.0%  total",
    ]


def test_json() -> None:
    report = json.loads(_report(as_json=True))
    assert report["total_ms"] == 36000
    assert {row["phase"]: row["ms"] for row in report["phases"]} == {
        "read": 1000,
        "parse": 2000,
        "verify": 9000,
        "1 O0": 4000,
        "print": 7000,
        "rest": 13000,
    }
    assert abs(sum([row["share"] for row in report["phases"]]) - 1) < 1e-5


def test_on_the_command_line(workspace: Path) -> None:
    (workspace / "f.sir").write_text(CHAIN, encoding="utf-8")
    done = scaly_opt("f.sir", "--timing", "--pass=fuse_elementwise,fuse_elementwise")
    assert (done.code, done.out) == (0, FUSED)
    names = [line.split(maxsplit=2)[2] for line in done.err.splitlines()]
    passes = ["1 fuse_elementwise", "2 fuse_elementwise"]
    assert names == ["phase", "read", "parse", "verify", *passes, "print", "rest", "total"]
    plain = scaly_opt("f.sir", "--timing=json")
    assert [row["phase"] for row in json.loads(plain.err)["phases"]] == ["read", "parse", "verify", "print", "rest"]


def test_a_wrong_input_is_timed_too(workspace: Path) -> None:
    (workspace / "f.sir").write_text("prog.proc", encoding="utf-8")
    done = scaly_opt("f.sir", "--timing")
    assert done.code == 1
    assert done.err.splitlines()[-1].endswith("total")


def test_wrong_choice() -> None:
    done = scaly_opt("--timing=jsn")
    assert done.code == 2
    assert "option '--timing' expects 'table' or 'json', got 'jsn'; did you mean 'json'?" in done.err
