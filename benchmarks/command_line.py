"""What somebody at the command line waits for: the start of each tool, and what a pass changed in 20,000 lines.

    python benchmarks/command_line.py              all of it, about two minutes
    python benchmarks/command_line.py --only=start --runs=15
    python benchmarks/command_line.py --only=diff --count=200000

It measures the checkout it stands in. Each figure is the CPU seconds (user and system) of a whole process, the median
of `--runs` runs after one that is not counted. The budgets are 0.06 s for `--version` and `--help`, 0.15 s for a file
of ten lines and 2 s for `--print-ir-diff` on 20,000 lines, on a machine where `python -c pass` takes 0.015 s; that is
measured too.

This measures; it holds no limit and never fails because something is slow.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from text import measure, straight

TOOLS = ("opt", "translate", "run", "reduce", "check")
LINES = 20_000


@dataclass(frozen=True, slots=True)
class Changes:
    """A text of so many lines, and a pass that changes some of them."""

    about: str
    text: Callable[[int], str]
    step: str


def foldable(every: int) -> Callable[[int], str]:
    """Return what makes straight-line text in which one statement of `every` can be folded, the first one too."""

    def text(count: int) -> str:
        lines = ["prog.proc @f(%x: memref<2xfloat64>) {"]
        lines += [f"  %v{n} = prog.assign prog.load %x[{n}] : float64 {{declare=True}}" for n in range(2)]
        for n in range(2, count):
            value = f"prog.add(%v{n - 1}, %v{n - 2})"
            value = f"prog.mul(1, {value})" if (n - 2) % every == 0 else value
            lines.append(f"  %v{n} = prog.assign {value} : float64 {{declare=True}}")
        return "\n".join([*lines, "}", ""])

    return text


def renumbered(count: int) -> str:
    """Return operations on tensors of which an early one can be folded: without it, all others have new numbers."""
    vector = "tensor<8xfloat64>"
    lines = [
        f"expr.func @f(%x: {vector}) -> (%y: {vector}) {{",
        f'  %0 = expr.input {{name="x"}} : {vector}',
        "  %one = expr.const {value=1.0} : tensor<float64>",
        f"  %sin = expr.sin(%0) : {vector}",
        f"  %1 = expr.mul(%sin, %one) : {vector}",
    ]
    lines += [f"  %{n} = expr.add(%{n - 1}, %{n - 2}) : {vector}" for n in range(2, count)]
    return "\n".join([*lines, f"  expr.return %{count - 1}", "}", ""])


CHANGES = (
    Changes("one line changes", foldable(10**9), "fold_arith"),
    Changes("each tenth line changes", foldable(10), "fold_arith"),
    Changes("each line changes", foldable(1), "fold_arith"),
    Changes("all lines get new numbers", renumbered, "canonicalize"),
)


def tool(name: str, *arguments: str | Path) -> list[str | Path]:
    """Return the command of a tool."""
    return [sys.executable, "-c", f"from scaly_ir.tools.start import scaly_{name} as run; run()", *arguments]


def starts(folder: Path) -> Iterator[tuple[str, Sequence[str | Path]]]:
    """Yield what is started, and how."""
    yield "python -c pass", [sys.executable, "-c", "pass"]
    small = folder / "small.sir"
    small.write_text(straight(6), encoding="utf-8")
    yield "scaly-opt on ten lines", tool("opt", small)
    for name in TOOLS:
        for option in ("--version", "--help"):
            yield f"scaly-{name} {option}", tool(name, option)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=["start", "diff"], help="only these figures")
    parser.add_argument("--count", type=int, default=LINES, help=f"how many lines (default {LINES})")
    parser.add_argument("--runs", type=int, default=5, help="how often each process is timed (default 5)")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
        environment["PYTHONPATH"] = str(Path(__file__).resolve().parents[1])
        environment["PYTHONPYCACHEPREFIX"] = str(folder / "pycache")
        if arguments.only != "diff":
            for about, command in starts(folder):
                print(f"{about:26}  {measure(command, environment, arguments.runs).median:.3f} s", flush=True)
        if arguments.only != "start":
            print(f"\n{arguments.count:,} lines              without      with --print-ir-diff")
            for change in CHANGES:
                _show(change, arguments.count, arguments.runs, folder, environment)


def _show(change: Changes, count: int, runs: int, folder: Path, environment: Mapping[str, str]) -> None:
    file = folder / "f.sir"
    file.write_text(change.text(count), encoding="utf-8")
    command = tool("opt", file, f"--pass={change.step}", "-o", os.devnull)
    plain, diff = [measure([*command, *more], environment, runs).median for more in ([], ["--print-ir-diff"])]
    print(f"{change.about:26}  {plain:.3f} s      {diff:.3f} s", flush=True)


if __name__ == "__main__":
    main()
