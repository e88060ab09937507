"""How long the graph core takes for a node: to build it, to sort it, to rewrite it; beside tinygrad and xDSL.

    python benchmarks/rewrite.py            scaly-ir alone, chains of 10,000 to 1,000,000 sums
    python benchmarks/rewrite.py --peers    with the others; installs them into a folder of its own (--cache), once
    python benchmarks/rewrite.py --sizes=10000,50000 --runs=5
    python benchmarks/rewrite.py --json > before.json

The graph is a chain: each sum adds a constant to the sum before it. `build` makes it, `toposort` lists it operands
first; the others rewrite it to a fixed point with the one rule x + 0 -> x after operands: `no match` where all
constants are 1, `fold` where all are 0, and `mixed` where they take turns, so that half the sums go and the others are
built anew. `substitute` puts another variable at the end of the chain, which builds every sum anew. xDSL has no graphs
but blocks of operations, which are in order as they stand; its rule is applied by its greedy pattern driver, and what
it would do for `substitute` is no rewrite.

Figures are CPU microseconds for a node, the least of `--runs` (one run at a time in a process of its own, with the
garbage collector off), and `growth` is the factor from one size to the next: 1.0 where time is linear in size.

This measures; it holds no limit and never fails because something is slow.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

Seconds = dict[str, float]
Mixes = {"no match": (1,), "fold": (0,), "mixed": (0, 1)}
STEPS = ("build", "toposort", *Mixes, "substitute")
ROOT = Path(__file__).resolve().parents[1]


def timed(seconds: Seconds, step: str, work: Callable[[], Any]) -> Any:
    """Do some work, note its CPU seconds and return what it returns."""
    start = time.process_time()
    result = work()
    seconds[step] = time.process_time() - start
    return result


# --- the engines -----------------------------------------------------------------------------------------------------


def scaly(count: int) -> Seconds:
    """Measure scaly-ir."""
    from scaly_ir.attributes import NO_ATTRS
    from scaly_ir.dialects.prog import build
    from scaly_ir.graph import Node, intern_node, toposort
    from scaly_ir.graph.matcher import PatternMatcher
    from scaly_ir.graph.rewrite import AfterOperands, graph_rewrite, substitute
    from scaly_ir.graph.vocabulary import patterns
    from scaly_ir.op import Op
    from scaly_ir.types import INT64

    add = Op.get("prog.add")
    pattern = patterns("prog")
    rules = AfterOperands(PatternMatcher([(pattern.var("x") + 0, lambda x: x)]))

    def chain(amounts: Sequence[int]) -> Node:
        constants = [build.index(amount) for amount in amounts]
        node = build.var("x")
        for number in range(count):
            node = intern_node(add, (node, constants[number % len(constants)]), NO_ATTRS, INT64)
        return node

    seconds: Seconds = {}
    ones = timed(seconds, "build", lambda: chain((1,)))
    assert len(timed(seconds, "toposort", lambda: toposort(ones))) == count + 2
    for step, amounts in Mixes.items():
        graph = chain(amounts)
        result = timed(seconds, step, lambda graph=graph: graph_rewrite(graph, rules))
        assert (result is graph) == (step == "no match")
        assert (result is build.var("x")) == (step == "fold")
    timed(seconds, "substitute", lambda: substitute(ones, {build.var("x"): build.var("y")}))
    return seconds


def tinygrad(count: int) -> Seconds:
    """Measure tinygrad, without its limit on the depth of a graph."""
    os.environ["REWRITE_STACK_LIMIT"] = str(10 * count + 1000)  # 250,000 by default, which refuses longer chains
    from tinygrad.uop.ops import Ops, PatternMatcher, UOp, UPat, graph_rewrite

    rules = PatternMatcher([(UPat.var("x") + 0, lambda x: x)])
    start, other = UOp.variable("x", 0, 100), UOp.variable("y", 0, 100)

    def chain(amounts: Sequence[int]) -> Any:
        constants = [UOp.const(amount, start.dtype) for amount in amounts]
        node = start
        for number in range(count):
            node = UOp(Ops.ADD, src=(node, constants[number % len(constants)]))
        return node

    seconds: Seconds = {}
    ones = timed(seconds, "build", lambda: chain((1,)))
    assert len(timed(seconds, "toposort", ones.toposort)) >= count + 2
    for step, amounts in Mixes.items():
        graph = chain(amounts)
        result = timed(seconds, step, lambda graph=graph: graph_rewrite(graph, rules))
        assert (result is graph) == (step == "no match")
        assert (result is start) == (step == "fold")
    timed(seconds, "substitute", lambda: ones.substitute({start: other}))
    return seconds


def xdsl(count: int) -> Seconds:
    """Measure xDSL's greedy pattern driver."""
    from xdsl.dialects import arith, builtin, test
    from xdsl.ir import Operation
    from xdsl.pattern_rewriter import PatternRewriter, PatternRewriteWalker, RewritePattern

    class AddZero(RewritePattern):
        def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
            if isinstance(op, arith.AddiOp):
                owner = op.rhs.owner
                if isinstance(owner, arith.ConstantOp) and owner.value.value.data == 0:
                    rewriter.replace(op, [], [op.lhs])

    def module(amounts: Sequence[int]) -> Any:
        constants = [arith.ConstantOp.from_int_and_width(amount, builtin.i64) for amount in amounts]
        start = test.TestOp(result_types=[builtin.i64])
        ops: list[Any] = [start, *constants]
        value = start.results[0]
        for number in range(count):
            ops.append(arith.AddiOp(value, constants[number % len(constants)]))
            value = ops[-1].result
        ops.append(test.TestOp(operands=[value]))
        return builtin.ModuleOp(ops)

    seconds: Seconds = {}
    timed(seconds, "build", lambda: module((1,)))
    for step, amounts in Mixes.items():
        graph = module(amounts)
        timed(seconds, step, lambda graph=graph: PatternRewriteWalker(AddZero()).rewrite_module(graph))
        left = len(graph.body.block.ops) - len(amounts) - 2
        assert left == {"no match": count, "fold": 0, "mixed": count // 2}[step]
    return seconds


ENGINES = {"scaly-ir": scaly, "tinygrad": tinygrad, "xdsl": xdsl}

# --- measuring and the report ----------------------------------------------------------------------------------------


def measure(engine: str, count: int, python: Path, environment: Mapping[str, str], runs: int) -> Seconds:
    """Return the CPU microseconds for a node of each step, the least of some processes."""
    command = [python, __file__, f"--measure={engine}:{count}"]
    found = [json.loads(subprocess.check_output(command, env=environment)) for _ in range(runs)]
    return {step: min([run[step] for run in found]) / count * 1e6 for step in found[0]}


def show(rows: Mapping[str, Mapping[int, Seconds]]) -> str:
    """Return the tables for people: one for each engine, and how the others compare at each size."""
    lines = []
    ours = rows["scaly-ir"]
    for engine, sizes in rows.items():
        lines += ["", f"{engine:12}" + "".join([f"{step:>12}" for step in STEPS])]
        before: Seconds | None = None
        for count, figures in sizes.items():
            lines.append(f"{count:>10,}  " + _cells(figures, "{:.2f} us"))
            if before is not None:
                lines.append(f"{'growth':>10}  " + _cells({s: figures[s] / before[s] for s in figures}, "{:.2f}"))
            if engine != "scaly-ir":
                lines.append(f"{'ratio':>10}  " + _cells({s: figures[s] / ours[count][s] for s in figures}, "{:.1f}x"))
            before = figures
    return "\n".join(lines[1:])


def _cells(figures: Mapping[str, float], shape: str) -> str:
    return "".join([f"{shape.format(figures[step]) if step in figures else '-':>12}" for step in STEPS])


def main() -> None:
    """Measure what the command line asks for and print it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--runs", type=int, default=3, help="how often each engine is timed (default 3)")
    parser.add_argument("--sizes", default="10000,100000,1000000", help="lengths of chains, separated by commas")
    parser.add_argument("--peers", action="store_true", help="time tinygrad and xDSL too, from environments in --cache")
    parser.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir()) / "scaly-ir-benchmarks")
    parser.add_argument("--json", action="store_true", help="print every figure as JSON")
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        engine, _, count = options.measure.partition(":")
        gc.disable()
        print(json.dumps(ENGINES[engine](int(count))))
        return
    options.cache.mkdir(parents=True, exist_ok=True)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    about = {"Python": platform.python_version(), "cores": str(os.cpu_count())}
    pythons = {"scaly-ir": Path(sys.executable)}
    if options.peers:
        from peers import private_python

        for package in ("tinygrad", "xdsl"):
            pythons[package], about[package] = private_python(package, options.cache)
    sizes = [int(size) for size in options.sizes.split(",")]
    rows = {
        engine: {count: measure(engine, count, python, environment, options.runs) for count in sizes}
        for engine, python in pythons.items()
    }
    if options.json:
        print(json.dumps({**about, "microseconds": rows}, indent=2))
    else:
        print(show(rows))
        print(", ".join([f"{name} {value}" for name, value in about.items()]))


if __name__ == "__main__":
    main()
