"""How long scaly-reduce takes to find a failure that is planted in a large program.

    python benchmarks/reduce.py                          2,000 statements
    python benchmarks/reduce.py --sizes=500,2000,8000 -j 2
    python benchmarks/reduce.py --shape=nested --json

A pass fails on one statement of the program, as long as that is in a loop, uses a scalar and reads a buffer that the
procedure declares. In `flat`, statements stand one behind the other; in `nested`, in loops three deep; in
`chained`, each reads what the one before wrote; `expr` is a function of as many operations, `matrix` one of operations
on whole arrays and of loops. Figures are seconds, the statements that are left, and the candidates. The aim for 2,000
statements: fewer than 10 of them in less than a minute.

This measures; it holds no limit and never fails because something is slow.
"""

from __future__ import annotations

import argparse
import io
import json
import random
import re
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import scaly_ir as sc
from scaly_ir.dialects.affine.ops import FOR
from scaly_ir.dialects.buffer import build as matrix
from scaly_ir.dialects.buffer.ops import READ, WRITE
from scaly_ir.dialects.prog import build, ops
from scaly_ir.graph import Node, preorder
from scaly_ir.graph.walk import with_references
from scaly_ir.tools.scaly_reduce import main as scaly_reduce
from scaly_ir.types import FLOAT64

# --- the failure -----------------------------------------------------------------------------------------------------


def fails_on_prog(root: Node) -> Node:
    """Fail on a tangent in a loop, in a store that uses a scalar and reads a buffer of the procedure."""
    for procedure in root.args:
        buffers: set[str] = set()
        for node in build.statements_in(procedure):
            if node.op is ops.BUFFER:
                buffers.add(node.attrs["name"])
            elif node.op is ops.FOR and any([_is_planted(each, buffers) for each in build.body_of(node)]):
                raise KeyError("tan")
    return root


def _is_planted(statement: Node, buffers: set[str]) -> bool:
    if statement.op is not ops.STORE:
        return False
    parts = list(preorder(statement.args[1]))
    return (
        any([node.op.name == "prog.tan" for node in parts])
        and any([node.op is ops.VAR and node.type is FLOAT64 for node in parts])
        and any([node.op is ops.VIEW and node.attrs["buffer"] in buffers for node in parts])
    )


def fails_on_expr(root: Node) -> Node:
    """Fail on a tangent of a sum."""
    for node in with_references(root):
        if node.op.name == "expr.tan" and node.args[0].op.name == "expr.add":
            raise KeyError("tan")
    return root


def fails_on_matrix(root: Node) -> Node:
    """Fail on a tangent in a loop, of an element of a buffer that the function makes, and of a scalar."""
    for function in root.args:
        fresh = {result.name for node in matrix.statements_in(function.args[-1]) for result in _fresh(node)}
        for node in matrix.statements_in(function.args[-1]):
            body = [*matrix.body_of(node.args[-1])] if node.op is FOR else []
            made = {
                each.attrs["results"][0] for each in body if each.op is READ and each.args[0].attrs["name"] in fresh
            }
            for operand in [operand for each in body if each.op is WRITE for operand in each.args[:1]]:
                parts = list(preorder(operand))
                if any([part.op.name == "prog.tan" for part in parts]) and any(
                    [part.op is ops.VAR and part.attrs["name"] in made for part in parts]
                ):
                    raise KeyError("tan")
    return root


def _fresh(node: Node) -> Sequence[matrix.Binding]:
    return matrix.results_of(node) if node.op.get_attr("TFreshResult", False) else ()


def register(registry: sc.PluginRegistry) -> None:
    """Add the passes."""
    registry.add_pass("fails_on_prog", fails_on_prog, dialects=["prog"])
    registry.add_pass("fails_on_expr", fails_on_expr, dialects=["expr"])
    registry.add_pass("fails_on_matrix", fails_on_matrix, dialects=["matrix", "buffer", "affine"])


# --- the programs ----------------------------------------------------------------------------------------------------

_PLANTED = """\
    prog.for %i_planted = 0 to 64 step 1 {kind=global} {
      %scaled = prog.assign prog.mul(%scale, prog.load %x[%i_planted]) : float64 {declare=True}
      prog.store prog.add(prog.tan(prog.mul(%scaled, prog.load %own[%i_planted])), %scale), %y[%i_planted] : float64
    }
"""


def _prog(groups: list[str], at: int) -> str:
    body = "".join([*groups[:at], _PLANTED, *groups[at:]])
    return (
        "prog.module {\n"
        "  prog.proc @main(%x: memref<64xfloat64>, %z: memref<64xfloat64>, %y: memref<64xfloat64>) {input_count=2} {\n"
        "    %scale = prog.assign prog.load %x[0] : float64 {declare=True}\n"
        "    %own = prog.buffer : memref<64xfloat64, private>\n"
        "    prog.for %i_own = 0 to 64 step 1 {kind=global} {\n"
        "      prog.store prog.sin(prog.load %z[%i_own]), %own[%i_own] : float64\n"
        "    }\n"
        f"{body}"
        "  }\n"
        "}\n"
    )


def _flat(count: int) -> str:
    """Return stores of sums of loads."""
    dice = random.Random(1)
    lines = [
        f"    prog.store prog.add(prog.load %x[{dice.randrange(64)}], prog.mul(%scale, prog.load %own[{at % 64}])), "
        f"%y[{dice.randrange(64)}] : float64\n"
        for at in range(count - 7)
    ]
    return _prog(lines, 2 * len(lines) // 3)


def _nested(count: int) -> str:
    """Return nests of loops, each with a temporary of its own."""
    groups = [
        f"    %t{at} = prog.buffer : memref<64xfloat64, private>\n"
        f"    prog.for %i{at} = 0 to 4 step 1 {{kind=global}} {{\n"
        f"      prog.for %j{at} = 0 to 4 step 1 {{kind=global}} {{\n"
        f"        prog.for %k{at} = 0 to 4 step 1 {{kind=global}} {{\n"
        f"          %v{at} = prog.assign prog.add(prog.mul(%i{at}, 16), prog.add(prog.mul(%j{at}, 4), %k{at})) : int64 "
        f"{{declare=True}}\n"
        f"          prog.store prog.exp(prog.load %x[%v{at}]), %t{at}[%v{at}] : float64\n"
        f"          prog.store prog.load %t{at}[%v{at}], %y[%v{at}] : float64\n"
        f"        }}\n      }}\n    }}\n"
        for at in range(max(1, (count - 7) // 7))
    ]
    return _prog(groups, 2 * len(groups) // 3)


def _chained(count: int) -> str:
    """Return loops of which each reads what the one before wrote; the planted one reads the last."""
    groups = []
    for at in range(max(1, (count - 7) // 3)):
        source = f"%t{at - 1}" if at else "%own"
        groups.append(
            f"    %t{at} = prog.buffer : memref<64xfloat64, private>\n"
            f"    prog.for %i{at} = 0 to 64 step 1 {{kind=global}} {{\n"
            f"      prog.store prog.cos(prog.load {source}[%i{at}]), %t{at}[%i{at}] : float64\n"
            f"    }}\n"
        )
    return _prog(groups, len(groups)).replace(
        "prog.load %own[%i_planted]", f"prog.load %t{len(groups) - 1}[%i_planted]"
    )


def _expr(count: int) -> str:
    """Return a function of operations on what came before."""
    dice = random.Random(1)

    def body(x: sc.Expr, y: sc.Expr) -> sc.Expr:
        known = [x, y]
        for at in range(count):
            one, other = dice.choice(known[-20:]), dice.choice(known)
            known.append(one.sin() if at % 2 else one * other)
        total = (known[count // 2] + known[-1]).tan()
        for each in known[-20:]:
            total = total - each
        return total

    function: sc.Function = sc.function(sc.arg("x", 64), sc.arg("y", 64), outputs=sc.arg("out"), name="main")(body)
    text: str = sc.render_expr_assembly(function)
    return text


_PLANTED_IN_MATRICES = """\
  affine.for %planted = 0 to 4 step 1 {kind=global} {
    %element = buffer.read %last[%planted, 0] : float64
    %scaled = prog.mul(%scale, %element) : float64
    buffer.write prog.add(prog.tan(prog.mul(%scaled, %element)), %scale), %own[%planted, 1] : float64
  }
"""


def _matrix(count: int) -> str:
    """Return a function of products, transposes and loops on what came before."""
    dice = random.Random(1)
    known = ["%x", "%y"]
    groups = []
    for at in range((count - 10) * 3 // 8):
        one, other = dice.choice(known[-20:]), dice.choice(known)
        if at % 3 == 0:
            groups.append(f"  %t{at} = matrix.prod({one}, {other}) : memref<4x4xfloat64>\n")
        elif at % 3 == 1:
            groups.append(f"  %t{at} = matrix.transpose({one}) : memref<4x4xfloat64>\n")
        else:
            groups.append(
                f"  %t{at} = buffer.alloc : memref<4x4xfloat64>\n"
                f"  affine.for %i{at} = 0 to 4 step 1 {{kind=global}} {{\n"
                f"    affine.for %j{at} = 0 to 4 step 1 {{kind=global}} {{\n"
                f"      %v{at} = buffer.read {one}[%i{at}, %j{at}] : float64\n"
                f"      %w{at} = buffer.read {other}[%j{at}, %i{at}] : float64\n"
                f"      buffer.write prog.add(%v{at}, prog.mul(%scale, %w{at})), %t{at}[%i{at}, %j{at}] : float64\n"
                "    }\n  }\n"
            )
        known.append(f"%t{at}")
    groups.append(_PLANTED_IN_MATRICES.replace("%last", known[len(groups) // 2]))
    return (
        "buffer.func @main(%x: memref<4x4xfloat64>, %y: memref<4x4xfloat64>) "
        "-> (%own_out: memref<4x4xfloat64>, %last_out: memref<4x4xfloat64>) {\n"
        "  %scale = buffer.read %x[0, 0] : float64\n"
        "  %own = buffer.constant(0) : memref<4x4xfloat64>\n"
        f"{''.join(groups)}  buffer.return %own, {known[-1]}\n}}\n"
    )


SHAPES: dict[str, Callable[[int], str]] = {
    "flat": _flat,
    "nested": _nested,
    "chained": _chained,
    "expr": _expr,
    "matrix": _matrix,
}
PASSES = {
    "expr": "canonicalize,dce,fails_on_expr,cse",
    "matrix": "lower_matrix_high_level_map_reduce,fails_on_matrix,lower_aff",
}
"""What is run on a program; ``canonicalize,dce,fails_on_prog,cse`` on all others."""


# --- measuring -------------------------------------------------------------------------------------------------------


def measure(shape: str, size: int, jobs: int) -> dict[str, object]:
    """Reduce one program and return what that took."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "planted.sir")
        path.write_text(SHAPES[shape](size))
        said = io.StringIO()
        start = time.perf_counter()
        passes = PASSES.get(shape, "canonicalize,dce,fails_on_prog,cse")
        code = scaly_reduce([str(path), "--crash", f"--pass={passes}", f"-j{jobs}"], io.StringIO(), io.StringIO(), said)
        seconds = time.perf_counter() - start
        found = re.search(r"reduced ([\d,]+) operations to (\d+), ([\d,]+) candidate", said.getvalue())
        if code != 0 or found is None:
            raise SystemExit(said.getvalue())
        before, after, candidates = [int(number.replace(",", "")) for number in found.groups()]
        text = path.with_name("planted.reduced.sir").read_text()
    return {
        "shape": shape,
        "before": before,
        "after": after,
        "candidates": candidates,
        "seconds": round(seconds, 2),
        "text": text,
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="Measure scaly-reduce.")
    parser.add_argument("--sizes", default="2000", help="statements, as 500,2000")
    parser.add_argument("--shape", choices=SHAPES, action="append", help="one shape only; repeatable")
    parser.add_argument("-j", type=int, default=1, help="candidates at a time")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--show", action="store_true", help="print what is left of each program")
    wanted = parser.parse_args()
    from scaly_ir.plugins import PluginRegistry

    register(PluginRegistry())
    rows = []
    for size in [int(text) for text in wanted.sizes.split(",")]:
        for shape in wanted.shape or SHAPES:
            rows.append(measure(shape, size, wanted.j))
            if not wanted.json:
                row = rows[-1]
                numbers = f"{row['before']:>8,} {row['after']:>6} {row['candidates']:>11,} {row['seconds']:>8}"
                print(
                    f"{shape:8} {numbers}"
                    if len(rows) > 1
                    else f"shape      before  after  candidates  seconds\n{shape:8} {numbers}"
                )
                if wanted.show:
                    print(row["text"])
    if wanted.json:
        json.dump(rows, sys.stdout, indent=1)


if __name__ == "__main__":
    main()
