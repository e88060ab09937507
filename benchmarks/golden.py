"""How long small golden tests take: one file after another in one pytest process, as a project has them.

    python benchmarks/golden.py                    1,000 files of ten lines, about ten seconds
    python benchmarks/golden.py --count=200 --profile

It measures the checkout it stands in: the CPU and wall-clock seconds of a whole `scaly-check`, start-up included, the
median of `--runs` runs. `--profile` shows where the time of one run goes instead. The budget is 5 s for 1,000 files on
a machine where `python -c pass` takes 0.015 s; that is measured too.

This measures; it holds no limit and never fails because something is slow.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

TEST = """\
// RUN: scaly-opt %s --pass=fuse_elementwise | filecheck %s
// CHECK-LABEL: prog.proc @f{number}(
// CHECK-NEXT:    prog.for %j = 0 to 4 step 1 {{kind=global}} {{
// CHECK-NEXT:      prog.store prog.neg(prog.exp(prog.load %x[%j])), %y[%j] : float64
// CHECK-NEXT:    }}
// CHECK-NEXT:  }}
prog.proc @f{number}(%x: memref<4xfloat64>, %y: memref<4xfloat64>) {{input_count=1}} {{
  %t0 = prog.buffer : memref<4xfloat64, private>
  prog.for %i = 0 to 4 step 1 {{kind=global}} {{
    prog.store prog.exp(prog.load %x[%i]), %t0[%i] : float64
  }}
  prog.for %j = 0 to 4 step 1 {{kind=global}} {{
    prog.store prog.neg(prog.load %t0[%j]), %y[%j] : float64
  }}
}}
"""

CHECK = [sys.executable, "-m", "scaly_ir.tools.scaly_check"]
PROFILE = """\
import cProfile, pstats, sys
from scaly_ir.tools.scaly_check import main
profile = cProfile.Profile()
profile.runcall(main, sys.argv[1:], sys.stdin, sys.stdout, sys.stderr)
pstats.Stats(profile).sort_stats("tottime").print_stats(40)
"""


def run(command: Sequence[str], folder: Path) -> tuple[float, float]:
    """Return the CPU and the wall-clock seconds of a process."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        sys.exit(done.stdout + done.stderr)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, wall


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=1000, help="how many files (default 1000)")
    parser.add_argument("--runs", type=int, default=3, help="how many runs (default 3)")
    parser.add_argument("--profile", action="store_true", help="show where the time of one run goes")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "testdata").mkdir()
        (folder / "pytest.ini").write_text("[pytest]\n")
        for number in range(arguments.count):
            (folder / "testdata" / f"f{number:04}.sir").write_text(TEST.format(number=number))
        quiet = ["-q", "--", "-p", "no:cacheprovider"]
        if arguments.profile:
            command = [sys.executable, "-c", PROFILE, *quiet]
            environment = {**os.environ, "PYTHONPATH": str(ROOT)}
            out = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
            print(out.stdout, out.stderr)
            return
        start = statistics.median([run([sys.executable, "-c", "pass"], folder)[0] for _ in range(9)])
        runs = [run([*CHECK, *quiet], folder) for _ in range(arguments.runs)]
        cpu, wall = [statistics.median(values) for values in zip(*runs, strict=True)]
        print(f"python -c pass        {start:6.3f} s CPU")
        each = 1000 * cpu / arguments.count
        print(f"{arguments.count:,} golden tests    {cpu:6.2f} s CPU  {wall:6.2f} s wall  {each:.2f} ms CPU each")


if __name__ == "__main__":
    main()
