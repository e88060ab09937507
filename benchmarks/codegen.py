"""How fast generated C is, beside NumPy and beside the C that CasADi generates for the same function.

The last functions are written in the matrix dialect; the column `expr` has what comes of the same in `expr`.

    python benchmarks/codegen.py                   installs CasADi into a folder of its own (--cache), once
    python benchmarks/codegen.py --no-casadi       without it
    python benchmarks/codegen.py --case=chain --case=dot --json
    python benchmarks/codegen.py --lanes=auto --vector-math      also with lanes, and glibc's functions on vectors

Both C files are compiled by one compiler with the same flags (``-O3 -march=native -fno-math-errno``) and called in a
loop of C, so that a call costs next to nothing. Each number is the least of several runs, in microseconds; results are
compared with NumPy's first. With ``--lanes`` there is one more column, for the C with lanes. This measures; it holds
no limit and never fails because something is slow.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matrix_functions import MATRIX_CASES
from peers import private_python

import scaly_ir as sc
from scaly_ir.tools.c import render_source

FLAGS = ("-O3", "-march=native", "-fno-math-errno", "-shared", "-fPIC")
RUNS, SECONDS = 5, 0.1

HARNESS = """
typedef int (*function)(const double**, double**, int*, double*, int);
int repeat(function f, const double** arg, double** res, int* iw, double* w, long count) {
  int status = 0;
  for (long i = 0; i < count && !status; ++i) status = f(arg, res, iw, w, 0);
  return status;
}
"""


@dataclass(frozen=True)
class Case:
    """One function: how to make it, and the same in NumPy."""

    name: str
    make: Callable[[], sc.Function]
    numpy: Callable[..., Any]
    text: str = ""
    """The function in the matrix dialect, if it is about that: then what `make` gives is a column of its own."""


# --- the functions ---------------------------------------------------------------------------------------------------

N = 100_000


def _function(name: str, body: Callable[..., Any], **shapes: Any) -> sc.Function:
    trees = [sc.arg(argument, shape) for argument, shape in shapes.items()]
    made: sc.Function = sc.function(*trees, outputs=sc.arg("out"), name=name)(body)
    return made


def _chain() -> sc.Function:
    return _function("chain", lambda x, y: (x.sin() + y) * y - 0.5 * x, x=N, y=N)


def _stages() -> sc.Function:
    def stage(z: sc.Expr, u: sc.Expr) -> sc.Expr:
        step = [z[2], z[3], z[0].sin() * z[3] + u[0], z[2] * z[1] - u[0]]
        return z + 0.1 * sc.stack(step)

    one = _function("stage", stage, z=4, u=1)
    return _function("stages", lambda zs, us: sc.vmap(one, 1000, [zs, us]), zs=4000, us=1000)


def _stages_numpy(zs: Any, us: Any) -> Any:
    z = zs.reshape(1000, 4)
    step = np.stack([z[:, 2], z[:, 3], np.sin(z[:, 0]) * z[:, 3] + us, z[:, 2] * z[:, 1] - us], axis=1)
    return (z + 0.1 * step).reshape(-1)


def _product(size: int, name: str) -> Case:
    shape = (size, size)
    if name == "matmul":
        return Case(
            f"matmul{size}", lambda: _function(f"matmul{size}", lambda a, b: a @ b, A=shape, B=shape), np.matmul
        )
    return Case(f"matvec{size}", lambda: _function(f"matvec{size}", lambda a, v: a @ v, A=shape, v=size), np.matmul)


CASES = (
    Case("chain", _chain, lambda x, y: (np.sin(x) + y) * y - 0.5 * x),
    Case(
        "broadcast",
        lambda: _function("broadcast", lambda row, table: row.sin() * table, row=1000, table=(100, 1000)),
        lambda row, table: np.sin(row) * table,
    ),
    Case("sum", lambda: _function("sum", lambda x: x.sum(), x=N), np.sum),
    Case("dot", lambda: _function("dot", sc.dot, x=N, y=N), np.dot),
    _product(64, "matvec"),
    _product(256, "matvec"),
    _product(64, "matmul"),
    _product(256, "matmul"),
    Case("stages", _stages, _stages_numpy),
    *[Case(each.name, each.make, each.numpy, each.text) for each in MATRIX_CASES],
)


# --- measuring -------------------------------------------------------------------------------------------------------


class Library:
    """Compiled C with one function of the double-pointer interface."""

    def __init__(self, source: Path, name: str, harness: ctypes.CDLL) -> None:
        target = source.with_suffix(".so")
        compiler = os.environ.get("CC", "cc")
        libraries = [*(["-lmvec"] if "_ZGV" in source.read_text(encoding="utf-8") else []), "-lm"]
        subprocess.run([compiler, *FLAGS, str(source), "-o", str(target), *libraries], check=True)
        library = ctypes.CDLL(str(target))
        self._function = getattr(library, name)
        self._repeat = harness.repeat
        sizes = [ctypes.c_int() for _ in range(4)]
        if hasattr(library, f"{name}_work"):
            getattr(library, f"{name}_work")(*[ctypes.byref(size) for size in sizes])
        self._sizes = [size.value for size in sizes]

    def prepare(self, inputs: Sequence[Any], output: Any, workspace: int) -> Callable[[int], None]:
        """Return what calls the function a number of times."""
        count = max(len(inputs), self._sizes[0])
        arg = (ctypes.c_void_p * (count + 1))(*[array.ctypes.data for array in inputs])
        res = (ctypes.c_void_p * (self._sizes[1] + 1))(output.ctypes.data)
        iw = (ctypes.c_int * (self._sizes[2] + 1))()
        w = (ctypes.c_double * (max(self._sizes[3], workspace) + 1))()

        def call(times: int) -> None:
            if self._repeat(self._function, arg, res, iw, w, ctypes.c_long(times)):
                raise SystemExit("the generated function failed")

        return call


def least(call: Callable[[int], None]) -> float:
    """Return the seconds that one call takes: the least of several runs."""
    times = 1
    while True:
        start = time.perf_counter()
        call(times)
        spent = time.perf_counter() - start
        if spent > SECONDS:
            break
        times = max(times * 2, int(times * SECONDS / max(spent, 1e-9)))
    found = [spent / times]
    for _ in range(RUNS - 1):
        start = time.perf_counter()
        call(times)
        found.append((time.perf_counter() - start) / times)
    return min(found)


def _repeated(function: Callable[..., Any], inputs: Sequence[Any]) -> Callable[[int], None]:
    def call(times: int) -> None:
        for _ in range(times):
            function(*inputs)

    return call


def _workspace(source: str, name: str) -> int:
    """Return how many doubles of workspace our C needs; CasADi's says so itself."""
    lines = [line for line in source.splitlines() if line.startswith(f"#define {name}_SZ_W ")]
    return int(lines[0].split()[2]) if lines else 0


def _of_matrix(text: str) -> str:
    """Return the C of a function in the matrix dialect."""
    return render_source(sc.run_passes(sc.parse(text), "matrix_to_prog,default{interchange delinearize}"))


def measure(
    case: Case, folder: Path, harness: ctypes.CDLL, casadi: Path | None, lanes: dict[str, Any] | None
) -> dict[str, float]:
    """Return the seconds of one call for each of them, after comparing what they compute.

    `lanes` are the options of the C with lanes, if that is wanted.
    """
    function = case.make()
    random = np.random.default_rng(0)
    inputs = [random.uniform(0.1, 1.0, shape) for shape in function.input_shapes]
    expected = np.asarray(case.numpy(*inputs))
    found = {"numpy": least(_repeated(case.numpy, inputs))}
    texts = {"own": sc.render_c_source(function)}
    if case.text:
        texts = {"own": _of_matrix(case.text), "expr": texts["own"]}
    elif lanes is not None:
        texts["lanes"] = sc.render_c_source(function, **lanes)
    if casadi is not None and not case.text:
        texts["casadi"] = (casadi / f"{case.name}.c").read_text(encoding="utf-8")
    for who, text in texts.items():
        source = folder / f"{who}_{case.name}.c"
        source.write_text(text, encoding="utf-8")
        output = np.zeros(expected.shape or (1,))
        library = Library(source, case.name, harness)
        call = library.prepare(inputs, output, _workspace(text, case.name))
        call(1)
        np.testing.assert_allclose(output.reshape(expected.shape), expected, rtol=1e-9, err_msg=who)
        found[who] = least(call)
    return found


def main() -> None:
    """Measure what the command line asks for and print one table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--case", action="append", choices=[case.name for case in CASES], help="only this function")
    parser.add_argument("--no-casadi", action="store_true", help="leave CasADi out")
    parser.add_argument("--lanes", choices=["auto", "2", "4", "8"], help="also the C with lanes")
    parser.add_argument("--vector-math", action="store_true", help="lanes call glibc's vector math library")
    parser.add_argument("--json", action="store_true", help="print seconds as JSON")
    parser.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir()) / "scaly-ir-peers", help="for CasADi")
    options = parser.parse_args()
    if options.vector_math and not options.lanes:
        parser.error("--vector-math needs --lanes")
    lanes = {"lanes": options.lanes, "vector_math": options.vector_math} if options.lanes else None
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        harness_source = folder / "harness.c"
        harness_source.write_text(HARNESS, encoding="utf-8")
        shared = folder / "harness.so"
        subprocess.run([os.environ.get("CC", "cc"), *FLAGS, str(harness_source), "-o", str(shared)], check=True)
        harness = ctypes.CDLL(str(shared))
        casadi = None
        if not options.no_casadi:
            python, _ = private_python("casadi", options.cache)
            casadi = folder / "casadi"
            casadi.mkdir()
            script = Path(__file__).with_name("casadi_functions.py").resolve()
            subprocess.run([python, script], cwd=casadi, check=True, stdout=subprocess.DEVNULL)
        wanted = [case for case in CASES if not options.case or case.name in options.case]
        results = {case.name: measure(case, folder, harness, casadi, lanes) for case in wanted}
    if options.json:
        json.dump(results, sys.stdout, indent=2)
        return
    known = {"own": "own", "expr": "expr", "casadi": "CasADi", "numpy": "NumPy", "lanes": "lanes"}
    names = {who: name for who, name in known.items() if any([who in found for found in results.values()])}
    ratios = "".join([f"{f'{name}/own':>12}" for name in list(names.values())[1:]])
    print(f"{'microseconds':<14}{''.join([f'{name:>12}' for name in names.values()])}{ratios}")
    for case, found in results.items():
        cells = [found.get(who) for who in names]
        times = "".join([f"{1e6 * cell:>12.2f}" if cell is not None else f"{'-':>12}" for cell in cells])
        ratios = "".join([f"{cell / found['own']:>12.2f}" if cell is not None else f"{'-':>12}" for cell in cells[1:]])
        print(f"{case:<14}{times}{ratios}")


if __name__ == "__main__":
    main()
