"""How long each pass of the default pipeline takes, against the size of the program.

    python benchmarks/passes.py                                   1,000, 10,000 and 100,000 operations
    python benchmarks/passes.py --sizes=1000,4000 --shape=scalars
    python benchmarks/passes.py --pipeline='default{lanes=4}' --json
    python benchmarks/passes.py --sizes=2000 --shape=matrices --reading

Each shape of program is made in the given sizes and goes through the pipeline; what a pass gets is what the passes
before it left. Figures are CPU milliseconds. `growth` is the factor between the times per operation of the last two
sizes: 1.0 where time is linear in size; above 2 it is marked, as such a pass is slower than linear.

`--reading` shows instead, for the last size, each pass next to reading the text of what it gets: the best of five runs
each.

This measures; it holds no limit and never fails because something is slow.
"""

from __future__ import annotations

import argparse
import gc
import json
import sys
import time
from collections.abc import Callable
from functools import partial

import scaly_ir as sc
from scaly_ir.dialects.expr.functions import make_module
from scaly_ir.graph import Node
from scaly_ir.pass_manager import Pass, build_pipeline, run_pipeline
from scaly_ir.passes import PASSES

SUSPICIOUS = 2.0
NOTICEABLE = 0.005
"""Seconds below which growth says nothing."""


# --- the shapes ------------------------------------------------------------------------------------------------------


def _loops(count: int) -> Node:
    """Return a chain of elementwise operations, each a loop of its own; half of them expensive."""

    def body(x: sc.Expr, y: sc.Expr) -> sc.Expr:
        for number in range(count // 2):
            x = (x.sin() if number % 2 else x + y) * y
        return x

    function: sc.Function = sc.function(sc.arg("x", 64), sc.arg("y", 64), outputs=sc.arg("out"), name="loops")(body)
    return make_module([function.node])


def _scalars(count: int) -> Node:
    """Return a procedure of stores at constant indices, each of a sum that the one before shares."""
    lines = []
    for number in range(count // 4):
        previous = f"prog.mul(prog.load %x[{(number + 1) % 256}], prog.load %x[{number % 256}])"
        lines.append(f"prog.store prog.add(prog.sin({previous}), prog.div({previous}, 3)), %y[{number}] : float64")
    params = f"%x: memref<256xfloat64>, %y: memref<{count // 4}xfloat64>"
    text = "\n".join(lines)
    module: Node = sc.parse(f"prog.module {{ prog.proc @f({params}) {{input_count=1}} {{ {text} }} }}")
    return module


def _stages(count: int) -> Node:
    """Return maps of small stages, one behind the other."""

    def stage(z: sc.Expr, u: sc.Expr) -> sc.Expr:
        return z + 0.1 * sc.stack([z[1], z[0].sin() * u[0]])

    one: sc.Function = sc.function(sc.arg("z", 2), sc.arg("u", 1), outputs=sc.arg("next"), name="stage")(stage)

    def body(zs: sc.Expr, us: sc.Expr) -> sc.Expr:
        for _ in range(count // 6):
            zs = sc.vmap(one, 8, [zs, us])
        return zs

    function: sc.Function = sc.function(sc.arg("zs", 16), sc.arg("us", 8), outputs=sc.arg("out"), name="stages")(body)
    return make_module([function.node])


def _scatters(count: int) -> Node:
    """Return a sum of windows, each scattered into zeros."""

    def body(x: sc.Expr) -> sc.Expr:
        total = sc.const([0.0] * 64)
        for number in range(count // 3):
            start = number % 60
            window = list(range(start, start + 4))
            total = total + sc.scatter(x[start : start + 4].sin(), window, 64)
        return total

    function: sc.Function = sc.function(sc.arg("x", 64), outputs=sc.arg("out"), name="scatters")(body)
    return make_module([function.node])


def _matrices(count: int) -> Node:
    """Return products, sums, paddings and reductions of small matrices, one behind the other."""
    lines = []
    previous = "%A"
    for number in range(0, count, 4):
        small, large = "memref<4x4xfloat64>", "memref<6x6xfloat64>"
        lines += [
            f"%p{number} = matrix.prod({previous}, %B) : {small}",
            f"%q{number} = matrix.pad(%p{number}, 0) {{lo=[1, 1], hi=[1, 1], mode=constant, s_in=[4, 4], s_out=[6, 6]}}"
            f" : {large}",
            f'%r{number} = matrix.einsum(%q{number}) {{spec="ij->i"}} : memref<6xfloat64>',
            f"%s{number} = matrix.map_reduce(%p{number}, %r{number}) init(0) {{indices=[[0, 1], [2]]}} : {small} {{\n"
            "^comb(%acc: float64, %a: float64, %b: float64):\n"
            "  matrix.yield prog.add(%acc, prog.mul(%a, %b))\n}",
        ]
        previous = f"%s{number}"
    body = "\n".join([*lines, f"buffer.return {previous}"])
    params = "%A: memref<4x4xfloat64>, %B: memref<4x4xfloat64>"
    module: Node = sc.parse(f"buffer.func @matrices({params}) -> (%C: memref<4x4xfloat64>) {{ {body} }}")
    return module


BEFORE = {"matrices": "normalize_matrix,matrix_to_prog,"}
"""What a shape goes through before the pipeline."""

SHAPES: dict[str, Callable[[int], Node]] = {
    "loops": _loops,
    "scalars": _scalars,
    "stages": _stages,
    "scatters": _scatters,
    "matrices": _matrices,
}


# --- measuring -------------------------------------------------------------------------------------------------------


def measure(module: Node, passes: list[Pass]) -> dict[str, float]:
    """Return the CPU seconds of reading a module, of each pass, in order, and of verifying the result."""
    spent: dict[str, float] = {}
    text = sc.render(module)
    start = time.process_time()
    sc.parse(text)
    spent["parse"] = time.process_time() - start
    for number, step in enumerate(passes, start=1):
        start = time.process_time()
        module = run_pipeline(module, [step])
        spent[f"{number} {step.name}"] = time.process_time() - start
    start = time.process_time()
    sc.verify(module)
    spent["verify"] = time.process_time() - start
    return spent


def _best(work: Callable[[], object], runs: int = 5) -> float:
    """Return the least CPU seconds of some runs, each of which makes its result anew."""
    spent = []
    for _ in range(runs):
        start = time.process_time()
        made = work()
        spent.append(time.process_time() - start)
        del made
    return min(spent)


def against_reading(shape: str, module: Node, passes: list[Pass]) -> str:
    """Return a table of passes: the CPU milliseconds of reading the text of what each gets, and of the pass."""
    lines = [f"{shape:<40}{'lines':>8}{'reading':>10}{'pass':>10}{'ratio':>8}"]
    for step in passes:
        text = sc.render(module)
        del module  # so that reading makes each node anew
        reading = _best(partial(sc.parse, text))
        module = sc.parse(text)
        running = _best(partial(run_pipeline, module, [step]))
        lines.append(
            f"  {step.name:<38}{text.count(chr(10)):>8,}{1000 * reading:>10.1f}{1000 * running:>10.1f}"
            f"{running / reading:>8.2f}"
        )
        module = run_pipeline(module, [step])
    return "\n".join(lines)


def table(shape: str, sizes: list[int], results: list[dict[str, float]]) -> str:
    """Return the times of one shape, a row for each pass."""
    lines = [f"{shape:<28}" + "".join([f"{size:>12,}" for size in sizes]) + f"{'growth':>10}"]
    for name in results[-1]:
        cells = "".join([f"{1000 * found[name]:>12.1f}" for found in results])
        growth = ""
        if len(sizes) > 1 and results[-2][name] > NOTICEABLE:
            factor = results[-1][name] / results[-2][name] * sizes[-2] / sizes[-1]
            growth = f"{factor:>10.2f}" + (" <-- slower than linear" if factor > SUSPICIOUS else "")
        lines.append(f"  {name:<26}{cells}{growth}")
    return "\n".join(lines)


def main() -> None:
    """Measure what the command line asks for and print a table for each shape."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--sizes", default="1000,10000,100000", help="operations, separated by commas")
    parser.add_argument("--shape", action="append", choices=list(SHAPES), help="only this shape")
    parser.add_argument("--pipeline", default="default", help="what to run")
    parser.add_argument("--reading", action="store_true", help="compare each pass with reading what it gets")
    parser.add_argument("--json", action="store_true", help="print seconds as JSON")
    options = parser.parse_args()
    sizes = [int(size) for size in options.sizes.split(",")]
    gc.disable()  # as the tools do: the collector would walk over all nodes again and again
    found: dict[str, dict[int, dict[str, float]]] = {}
    for shape in options.shape or SHAPES:
        passes = build_pipeline(f"{BEFORE.get(shape, '')}{options.pipeline}", PASSES)
        if options.reading:
            print(against_reading(shape, SHAPES[shape](sizes[-1]), passes))
            continue
        results = [measure(SHAPES[shape](size), passes) for size in sizes]
        found[shape] = dict(zip(sizes, results, strict=True))
        if not options.json:
            print(table(shape, sizes, results), flush=True)
    if options.json:
        json.dump(found, sys.stdout, indent=2)


if __name__ == "__main__":
    main()
