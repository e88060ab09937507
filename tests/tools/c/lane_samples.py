"""Programs whose loops get lanes: every kind of access and every operator, for any number of trips."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from typing import Final

import scaly_ir as sc
from scaly_ir.dialects.prog import build
from scaly_ir.graph import Node
from scaly_ir.passes.prog.widen_ranges import WidenRanges
from tests.passes.prog import lane_programs

COUNTS: Final = (2, 3, 5, 8, 11, 17)
LANES: Final = ("auto", 2, 4, 8)

_OPERATORS: Final = """
  %a = prog.assign prog.load %x[%i] : float64 {declare=True}
  %b = prog.assign prog.load %x[prog.add(%i, N)] : float64 {declare=True}
  %c = prog.assign prog.lt(%a, %b) : bool {declare=True}
  prog.store prog.add(%a, prog.sub(%b, prog.mul(%a, 0.5))), %y[%i] : float64
  prog.store prog.div(prog.neg(%a), prog.abs(%b)), %y[prog.add(N, %i)] : float64
  prog.store prog.minimum(%a, prog.maximum(%b, -0.0)), %y[prog.add(N2, %i)] : float64
  prog.store prog.select(%c, prog.floor(%a), prog.ceil(%b)), %y[prog.add(N3, %i)] : float64
  %c = prog.assign prog.or(prog.and(%c, prog.isfinite(%b)), prog.not(prog.le(%b, %a))) : bool
  prog.store prog.select(prog.eq(%c, prog.ne(%a, %b)), prog.cast(%c, float64), -0.0), %y[prog.add(N4, %i)] : float64
  prog.store prog.select(prog.select(%c, prog.eq(%a, %a), prog.lt(%b, inf)), %flag, nan), %y[prog.add(N5, %i)] : float64
  %a = prog.assign prog.atan2(prog.sin(%a), prog.pow(prog.abs(%b), 0.3)) : float64
  prog.store prog.sqrt(prog.exp(prog.cos(prog.tanh(%a)))), %y[prog.add(N6, %i)] : float64
  %b = prog.assign prog.mul(prog.log(%m), prog.load %x[prog.add(N8, %i)]) : float64
  prog.store prog.select(%k, prog.erf(%a), %b), %y[prog.add(N7, %i)] : float64
"""

_ACCESSES: Final = """
  %at = prog.assign prog.mul(2, %i) : int64 {declare=True}
  %same = prog.assign prog.add(%n, 1) : int64 {declare=True}
  %v = prog.assign prog.load %x[%at] : float64 {declare=True}
  prog.store prog.add(%v, prog.load %x[prog.sub(LAST, %i)]), %y[%at] : float64
  prog.store prog.add(prog.load %y[%at], prog.load %x[%same]), %y[prog.add(%at, 1)] : float64
  %k = prog.assign prog.mod(prog.mul(%i, 3), 5) : int64 {declare=True}
  prog.store prog.mul(prog.load %x[prog.load %table[%k]], prog.load %x[%k]), %y[prog.sub(prog.sub(N3, 1), %i)] : float64
  prog.store prog.load %a[prog.add(1, %i)], %y[prog.add(N3, prog.mul(%i, 3))] : float64
  prog.for %j = 0 to 2 step 1 {kind=reduce} {
    %w = prog.assign prog.mul(%v, prog.load %x[prog.add(%j, prog.mul(%i, 2))]) : float64 {declare=True}
    %p = prog.assign prog.add(%j, prog.mul(3, %i)) : int64 {declare=True}
    prog.store prog.add(%w, prog.load %x[%j]), %y[prog.add(N3 , prog.add(1, %p))] : float64
    %w = prog.assign prog.mul(%w, prog.load %x[prog.cast(prog.minimum(prog.abs(prog.floor(%v)), 1), int64)]) : float64
    %v = prog.assign prog.add(%v, %w) : float64
  }
  prog.store prog.load %x[prog.cast(prog.minimum(prog.abs(prog.floor(%v)), 1), int64)], %y[prog.add(N6, %i)] : float64
  prog.store_pair prog.load %x[%i], prog.load %x[%n], %y[prog.add(N7, prog.mul(2, %i))] : float64
"""

_MODULE: Final = """
prog.proc @inner(%x: memref<N9xfloat64>, %n0: memref<1xint64>, %y: memref<N9xfloat64>) {{input_count=2}} {{
  %table = prog.buffer : memref<5xint64, constant> = dense<[3, 0, 2, 2, 1]>
  %a = prog.buffer : memref<N1xfloat64, private> = prog.alias %x offset 1
  %n = prog.assign prog.load %n0[0] : int64 {{declare=True}}
  prog.for %i = 0 to N step 1 {{kind=global}} {{ {accesses} }}
}}
prog.proc @f(%x: memref<N9xfloat64>, %y: memref<N9xfloat64>, %z: memref<N9xfloat64>, %s: memref<4xfloat64>)
    {{input_count=1}} {{
  %n0 = prog.buffer : memref<1xint64, private>
  %flag = prog.assign prog.load %x[1] : float64 {{declare=True}}
  %m = prog.assign prog.load %x[3] : float64 {{declare=True}}
  %k = prog.assign prog.lt(%flag, 100) : bool {{declare=True}}
  prog.for %t = 0 to N9 step 1 {{kind=serial}} {{
    prog.store 0, %y[%t] : float64
    prog.store 0, %z[%t] : float64
  }}
  prog.for %i = 0 to N step 1 {{kind=global}} {{ {operators} }}
  prog.store 1, %n0[0] : int64
  prog.call @inner(%x, %n0, %z) {{n_in=2, n_out=1}}
  prog.for %t = 0 to 3 step 1 {{kind=serial}} {{
    prog.store -0.0, %s[%t] : float64
    prog.for %i = 0 to N step 1 {{kind=reduce}} {{
      prog.store prog.add(prog.load %s[%t], prog.sin(prog.load %x[prog.add(%i, %t)])), %s[%t] : float64
    }}
  }}
  prog.store 0, %s[3] : float64
  prog.for %i = 2 to N2 step 1 {{kind=reduce}} {{
    prog.store prog.add(prog.mul(prog.load %x[%i], prog.load %x[prog.mul(2, %i)]), prog.load %s[3]), %s[3] : float64
  }}
}}
"""


def everything(trips: int) -> Node:
    """Return a module with loops of so many trips."""
    text = _MODULE.format(operators=_OPERATORS, accesses=_ACCESSES)
    text = text.replace("LAST", str(trips * 9 - 1)).replace("memref<N1x", f"memref<{trips + 1}x")
    for factor in range(9, 1, -1):
        text = text.replace(f"N{factor}", str(factor * trips))
    text = text.replace("to N step", f"to {trips} step").replace("N)", f"{trips})").replace("(N,", f"({trips},")
    root: Node = sc.parse("prog.module {" + text + "}")
    sc.verify(root)
    return root


def inputs(trips: int) -> Mapping[str, list[float]]:
    """Return numbers of all kinds for the input of `everything`."""
    source = random.Random(trips)
    special = [0.0, -0.0, math.inf, -math.inf, math.nan, 5e-324, 1e308]
    values = [source.choice(special) if source.random() < 0.1 else source.uniform(-3, 3) for _ in range(9 * trips)]
    return {"x": [2.5, 0.25, -1.5, 4.0, *values[4:]]}


def widened(root: Node, lanes: object, name: str) -> Node:
    """Return a module with lanes, its entry under another name."""
    wide = WidenRanges(lanes).run(root)  # type: ignore[arg-type]
    entry = wide.args[-1].with_attrs(name=name)
    return build.program([*wide.args[:-1], entry], lanes=wide.attrs.get("lanes"))


def random_module(source: random.Random) -> Node:
    """Return a random module most of whose loops get lanes; it takes doubles alone."""
    return lane_programs.module(source.randint)
