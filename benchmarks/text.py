"""How long scaly-opt takes to read, verify and print text, beside xdsl-opt on the same amount of work.

    python benchmarks/text.py                      scaly-opt alone, every case, about a minute
    python benchmarks/text.py --xdsl               with xdsl-opt; installs it into a folder of its own (--cache), once
    python benchmarks/text.py --case=straight --runs=9
    python benchmarks/text.py --json > before.json

It measures the checkout it stands in. Each tool is timed as a whole process, start-up included: the CPU
seconds (user and system) of the child, the median of `--runs` runs after one that is not counted. One operation of the
one tool stands for one operation of the other, statement by statement: `prog.assign prog.add(...)` for `arith.addf`,
`prog.for` for `scf.for`. Compiled modules are kept in the cache folder, as an installed package has them. The columns
read, verify and print are from a process of their own that does these three steps and nothing else.

This measures; it holds no limit and never fails because something is slow.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import platform
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from peers import private_python

SCALY_OPT = "from scaly_ir.tools.start import scaly_opt as run; run()"
SMALL, LARGE = 20_000, 200_000


@dataclass(frozen=True, slots=True)
class Case:
    """One input: how many statements (or table elements) it has, and its text for either tool."""

    name: str
    about: str
    count: int
    text: Callable[[int], str]
    peer_text: Callable[[int], str] | None = None
    exit_code: int = 0


# --- inputs ----------------------------------------------------------------------------------------------------------


def _scaly_module(lines: Sequence[str]) -> str:
    head = "prog.module {\n  prog.proc @f(%x: memref<8xfloat64>, %y: memref<8xfloat64>) {input_count=1} {\n"
    return head + "\n".join(lines) + "\n  }\n}\n"


def _mlir_module(lines: Sequence[str]) -> str:
    head = "builtin.module {\n  func.func @f(%x: memref<8xf64>, %y: memref<8xf64>) {\n"
    return head + "\n".join(lines) + "\n    func.return\n  }\n}\n"


def _operands(count: int) -> Iterator[tuple[int, int, int]]:
    """Yield the numbers of a value and of its two operands: the value before it and one of the fifty before that."""
    chance = random.Random(0)
    for number in range(1, count):
        yield number, number - 1, chance.randrange(max(0, number - 50), number)


def straight(count: int) -> str:
    """Return one procedure of `count` scalar statements, each of which uses two earlier values."""
    lines = ["    %v0 = prog.assign prog.load %x[0] : float64 {declare=True}"]
    lines += [
        f"    %v{n} = prog.assign prog.add(%v{a}, %v{b}) : float64 {{declare=True}}" for n, a, b in _operands(count)
    ]
    return _scaly_module(lines)


def straight_mlir(count: int) -> str:
    """Return the same in MLIR."""
    lines = ["    %c0 = arith.constant 0 : index", "    %v0 = memref.load %x[%c0] : memref<8xf64>"]
    lines += [f"    %v{n} = arith.addf %v{a}, %v{b} : f64" for n, a, b in _operands(count)]
    return _mlir_module(lines)


NEST = 10  # statements of one loop nest: three loops, a load, five sums and a store


def nests(count: int) -> str:
    """Return loop nests, three deep, of `count` statements in all, loops included."""
    lines = []
    for n in range(count // NEST):
        lines += [
            f"{'  ' * depth}    prog.for %{i}{n} = 0 to 8 step 1 {{kind=global}} {{" for depth, i in enumerate("ijk")
        ]
        lines.append(f"          %a{n} = prog.assign prog.load %x[%k{n}] : float64 {{declare=True}}")
        for value, before in ("ba", "cb", "dc", "ed", "fe"):
            lines.append(
                f"          %{value}{n} = prog.assign prog.add(%{before}{n}, %a{n}) : float64 {{declare=True}}"
            )
        lines.append(f"          prog.store %f{n}, %y[%j{n}] : float64")
        lines += ["        }", "      }", "    }"]
    return _scaly_module(lines)


def nests_mlir(count: int) -> str:
    """Return the same in MLIR."""
    lines = [f"    %n{value} = arith.constant {value} : index" for value in (0, 1, 8)]
    for n in range(count // NEST):
        lines += [f"{'  ' * depth}    scf.for %{i}{n} = %n0 to %n8 step %n1 {{" for depth, i in enumerate("ijk")]
        lines.append(f"          %a{n} = memref.load %x[%k{n}] : memref<8xf64>")
        for value, before in ("ba", "cb", "dc", "ed", "fe"):
            lines.append(f"          %{value}{n} = arith.addf %{before}{n}, %a{n} : f64")
        lines.append(f"          memref.store %f{n}, %y[%j{n}] : memref<8xf64>")
        lines += ["        }", "      }", "    }"]
    return _mlir_module(lines)


def _numbers(count: int) -> str:
    chance = random.Random(0)
    return ", ".join([repr(chance.uniform(-1e3, 1e3)) for _ in range(count)])


def table(count: int) -> str:
    """Return a procedure with a table of `count` float64 elements."""
    declaration = f"    %k0 = prog.buffer : memref<{count}xfloat64, constant> = dense<[{_numbers(count)}]>"
    return _scaly_module([declaration, "    prog.store prog.load %k0[0], %y[0] : float64"])


def table_mlir(count: int) -> str:
    """Return the same in MLIR."""
    return _mlir_module([f"    %k0 = arith.constant dense<[{_numbers(count)}]> : tensor<{count}xf64>"])


def tensors(count: int) -> str:
    """Return one `expr` function of `count` sums of vectors, each of two earlier values."""
    vector = "tensor<8xfloat64 diff>"
    lines = [f'    %0 = expr.input {{lowering="auto", name="x"}} : {vector}']
    lines += [f"    %{n} = expr.add(%{a}, %{b}) : {vector}" for n, a, b in _operands(count)]
    head = f"expr.module {{\n  expr.func @f(%x: {vector}) -> (%y: {vector}) {{\n"
    return head + "\n".join([*lines, f"    expr.return %{count - 1}", "  }", "}", ""])


def tensors_mlir(count: int) -> str:
    """Return the same in MLIR."""
    lines = [f"    %v{n} = arith.addf %v{a}, %v{b} : tensor<8xf64>" for n, a, b in _operands(count)]
    head = "builtin.module {\n  func.func @f(%v0: tensor<8xf64>) -> tensor<8xf64> {\n"
    return head + "\n".join(lines) + f"\n    func.return %v{count - 1} : tensor<8xf64>\n  }}\n}}\n"


def constant(count: int) -> str:
    """Return a function with a constant of `count` float64 entries."""
    lines = [
        f'    %0 = expr.const {{lowering="auto", value=[{_numbers(count)}]}} : tensor<{count}xfloat64>',
        f"    %1 = expr.exp(%0) : tensor<{count}xfloat64>",
        "    expr.return %1",
    ]
    head = f"expr.module {{\n  expr.func @f() -> (%y: tensor<{count}xfloat64>) {{\n"
    return head + "\n".join(lines) + "\n  }\n}\n"


def affine(count: int) -> str:
    """Return the loop nests of `nests` as a function of buffers."""
    lines = ["  %y = buffer.alloc : memref<8xfloat64>"]
    for n in range(count // NEST):
        lines += [
            f"{'  ' * depth}  affine.for %{i}{n} = 0 to 8 step 1 {{kind=serial}} {{" for depth, i in enumerate("ijk")
        ]
        lines.append(f"        %a{n} = buffer.read %x[%k{n}] : float64")
        for value, before in ("ba", "cb", "dc", "ed", "fe"):
            lines.append(f"        %{value}{n} = prog.add(%{before}{n}, %a{n}) : float64")
        lines.append(f"        buffer.write %f{n}, %y[%j{n}] : float64")
        lines += ["      }", "    }", "  }"]
    head = "buffer.func @f(%x: memref<8xfloat64>) -> (%out: memref<8xfloat64>) {\n"
    return head + "\n".join([*lines, "  buffer.return %y", "}", ""])


def generic(count: int) -> str:
    """Return the procedure of `straight` in the generic form."""
    sort = "float64"
    lines = [
        f'"prog.buffer"() {{address_space=global, device=host, name="{name}", shape=[8]}} : {sort}' for name in "xy"
    ]
    view = f'"prog.view"("prog.const_int"() {{value=0}} : int64) {{buffer="x"}} : {sort}'
    lines += [f'"prog.assign"("prog.load"({view}) : {sort}) {{declare=True, target="v0"}} : {sort}']
    for n, *names in _operands(count):
        both = ", ".join([f'"prog.var"() {{name="v{name}"}} : {sort}' for name in names])
        lines += [f'"prog.assign"("prog.add"({both}) : {sort}) {{declare=True, target="v{n}"}} : {sort}']
    body = ",\n    ".join(lines)
    tail = '  ) {input_count=1, name="f", param_count=2} : none\n) {proc_count=1} : none\n'
    return f'"prog.program"(\n  "prog.proc"(\n    {body}\n{tail}'


def generic_tensors(count: int) -> str:
    """Return the function of `tensors` in the generic form."""
    vector = "tensor<8xfloat64 diff>"
    lines = [f'%0 = "expr.input"() {{name="x"}} : {vector}']
    lines += [f'%{n} = "expr.add"(%{a}, %{b}) : {vector}' for n, a, b in _operands(count)]
    lines += [f'%{count} = "expr.func"(%{count - 1}, %0) {{name="f", output_names=["y"]}} : none']
    return "\n".join([*lines, f'"expr.module"(%{count}) : none', ""])


def broken(count: int) -> str:
    """Return straight-line text with a comma missing in the middle."""
    middle = f"    %v{count // 2} = "
    before, _, after = straight(count).partition(middle)
    return before + middle + after.replace(", ", " ", 1)


CASES = (
    Case("start", "ten lines", 6, straight, straight_mlir),
    Case("straight", "20,000 straight-line statements", SMALL, straight, straight_mlir),
    Case("nests", "20,000 statements in nests three deep", SMALL, nests, nests_mlir),
    Case("large", "200,000 straight-line statements", LARGE, straight),
    Case("table", "a table of 200,000 float64", LARGE, table, table_mlir),
    Case("tensors", "20,000 operations on tensors", SMALL, tensors, tensors_mlir),
    Case("many", "200,000 operations on tensors", LARGE, tensors),
    Case("constant", "a constant tensor of 200,000 float64", LARGE, constant, table_mlir),
    Case("affine", "20,000 statements on buffers in affine loops", SMALL, affine, nests_mlir),
    Case("generic", "the same 20,000 statements in the generic form", SMALL, generic),
    Case("generic-large", "200,000 statements in the generic form", LARGE, generic),
    Case("generic-tensors", "20,000 operations on tensors, generic", SMALL, generic_tensors),
    Case("error", "a syntax error in the middle of 20,000", SMALL, broken, exit_code=1),
)


# --- measuring -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Timing:
    """CPU seconds of the runs of one process, and its greatest memory in MB."""

    runs: tuple[float, ...]
    memory: float

    @property
    def median(self) -> float:
        """The middle one."""
        return statistics.median(self.runs)


def cpu_of(command: Sequence[str | Path], environment: Mapping[str, str], exit_code: int) -> tuple[float, float]:
    """Run a process to its end; return its CPU seconds and its peak memory in MB. `SystemExit` if it ends otherwise."""
    with tempfile.TemporaryFile() as errors:
        child = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=errors, env=environment
        )
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode != exit_code:
            errors.seek(0)
            said = errors.read().decode(errors="replace")
            raise SystemExit(f"{' '.join(map(str, command))} exited with {child.returncode}:\n{said}")
    unit = 1e6 if sys.platform == "darwin" else 1e3  # ru_maxrss is in bytes there and in KiB elsewhere
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / unit


def measure(command: Sequence[str | Path], environment: Mapping[str, str], runs: int, exit_code: int = 0) -> Timing:
    """Time a process `runs` times, after one run that fills caches."""
    cpu_of(command, environment, exit_code)
    results = [cpu_of(command, environment, exit_code) for _ in range(runs)]
    return Timing(tuple([seconds for seconds, _ in results]), max([memory for _, memory in results]))


def phases(path: Path) -> dict[str, float]:
    """Read, verify and print a file in this process, as scaly-opt does; return the CPU seconds of each step."""
    from scaly_ir.dialect import dialect_of, parse_source, verify_parsed
    from scaly_ir.text.source import Source

    source = Source.from_bytes(path.read_bytes(), path.name)
    dialect = "expr" if "expr." in source.text[:20] else "prog"
    parse_source(Source.from_text(f"{dialect}.module {{\n}}\n"))  # loads what is loaded once
    gc.disable()
    times = [time.process_time()]
    parsed = parse_source(source)
    times.append(time.process_time())
    if parsed.root is not None:
        assert not verify_parsed(parsed.root, parsed.locations)
        times.append(time.process_time())
        dialect_of(parsed.root).render(parsed.root)
        times.append(time.process_time())
    return {step: end - start for step, start, end in zip(("read", "verify", "print"), times, times[1:], strict=False)}


def median_phases(path: Path, environment: Mapping[str, str], runs: int) -> dict[str, float]:
    """Return the median CPU seconds of each step, every run in a process of its own."""
    command = [sys.executable, __file__, f"--phases={path}"]
    found = [json.loads(subprocess.check_output(command, env=environment)) for _ in range(runs)]
    return {step: statistics.median([run[step] for run in found]) for step in found[0]}


# --- the report ------------------------------------------------------------------------------------------------------


def run_case(
    case: Case, folder: Path, environment: Mapping[str, str], xdsl: Path | None, runs: int
) -> dict[str, object]:
    """Measure one case; return its row."""
    file = folder / f"{case.name}.sir"
    file.write_text(case.text(case.count), encoding="utf-8")
    timing = measure([sys.executable, "-c", SCALY_OPT, file], environment, runs, case.exit_code)
    row: dict[str, object] = {
        "case": case.name,
        "about": case.about,
        "count": case.count,
        "cpu_seconds": timing.median,
        "runs": timing.runs,
        "per_second": case.count / timing.median,
        "peak_mb": timing.memory,
        **median_phases(file, environment, runs),
    }
    if xdsl is not None and case.peer_text is not None:
        other = folder / f"{case.name}.mlir"
        other.write_text(case.peer_text(case.count), encoding="utf-8")
        peer = measure([xdsl, other], environment, runs)
        row |= {"xdsl_cpu_seconds": peer.median, "xdsl_runs": peer.runs, "xdsl_peak_mb": peer.memory}
        row["times_faster"] = peer.median / timing.median
    return row


COLUMNS = (
    ("about", "", "{}"),
    ("cpu_seconds", "CPU s", "{:.3f}"),
    ("per_second", "per s", "{:,.0f}"),
    ("peak_mb", "MB", "{:.0f}"),
    ("read", "read", "{:.3f}"),
    ("verify", "verify", "{:.3f}"),
    ("print", "print", "{:.3f}"),
    ("xdsl_cpu_seconds", "xdsl-opt", "{:.3f}"),
    ("times_faster", "ratio", "{:.1f}x"),
)


def per_statement(row: Mapping[str, object]) -> float:
    """Return the CPU seconds for a statement, start-up left out."""
    return sum([float(str(row[step])) for step in ("read", "verify", "print")]) / int(str(row["count"]))


def show(rows: Sequence[Mapping[str, object]], about: Mapping[str, str]) -> str:
    """Return the table for people."""
    columns = [column for column in COLUMNS if any([column[0] in row for row in rows])]
    cells = [[title for _, title, _ in columns]]
    cells += [[shape.format(row[key]) if key in row else "-" for key, _, shape in columns] for row in rows]
    widths = [max([len(line[at]) for line in cells]) for at in range(len(columns))]
    lines = [
        f"{line[0]:{widths[0]}}  " + "  ".join([f"{c:>{w}}" for c, w in zip(line[1:], widths[1:], strict=True)])
        for line in cells
    ]
    lines.insert(1, "-" * len(lines[0]))
    by_name = {row["case"]: row for row in rows}
    if {"straight", "large"} <= by_name.keys():
        small, large = (per_statement(by_name[name]) for name in ("straight", "large"))
        lines.append(f"read, verify and print one of 200,000 statements, against one of 20,000: {large / small:.2f}")
    lines.append(", ".join([f"{name} {value}" for name, value in about.items()]))
    return "\n".join(lines)


def main() -> None:
    """Measure what the command line asks for and print it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--runs", type=int, default=5, help="how often each process is timed (default 5)")
    parser.add_argument("--case", choices=[case.name for case in CASES], action="append", help="only this; repeatable")
    parser.add_argument("--xdsl", action="store_true", help="time xdsl-opt too, from a private environment in --cache")
    parser.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir()) / "scaly-ir-benchmarks")
    parser.add_argument("--json", action="store_true", help="print every figure as JSON")
    parser.add_argument("--phases", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.phases:
        print(json.dumps(phases(options.phases)))
        return
    options.cache.mkdir(parents=True, exist_ok=True)
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment["PYTHONPYCACHEPREFIX"] = str(options.cache / "pycache")
    environment["PYTHONPATH"] = str(Path(__file__).resolve().parents[1])
    about = {"Python": platform.python_version(), "cores": str(os.cpu_count())}
    xdsl = None
    if options.xdsl:
        python, about["xdsl"] = private_python("xdsl", options.cache)
        xdsl = python.parent / "xdsl-opt"
    about["bare Python"] = f"{measure([sys.executable, '-c', 'pass'], environment, options.runs).median:.3f} s"
    folder = options.cache / "inputs"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    rows = [
        run_case(case, folder, environment, xdsl, options.runs)
        for case in CASES
        if not options.case or case.name in options.case
    ]
    print(json.dumps({**about, "cases": rows}, indent=2) if options.json else show(rows, about))


if __name__ == "__main__":
    main()
