"""Programs to translate: those of the golden tests, and random ones whose entries take doubles alone."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Final

import scaly_ir as sc
from scaly_ir.dialects.prog import build
from scaly_ir.graph import Node
from scaly_ir.types import FLOAT64
from tests.passes.prog.programs import module

GOLDEN: Final = sorted((Path(__file__).resolve().parents[3] / "testdata" / "translate" / "c").glob("*.sir"))


def golden_modules() -> dict[str, Node]:
    """Return the programs of the golden tests by name, each with an entry of its own name."""
    found = {}
    for path in GOLDEN:
        root = sc.parse(path.read_text(encoding="utf-8"), path.name)
        entry = root.args[-1].with_attrs(name=f"golden_{path.stem}")
        found[f"golden_{path.stem}"] = build.program([*root.args[:-1], entry], lanes=root.attrs.get("lanes"))
    return found


def random_modules(count: int, seed: int) -> dict[str, Node]:
    """Return random programs by the names of their entries."""
    source = random.Random(seed)
    found = {}
    for number in range(count):
        name = f"random_{seed}_{number}"
        found[name] = with_double_entry(module(source.randint), name)
        sc.verify(found[name])
    return found


def with_double_entry(root: Node, name: str) -> Node:
    """Return a module whose entry has another name and takes doubles: integer inputs are zeros of its own."""
    *callees, entry = root.args
    params = build.params_of(entry)
    if all([param.type is FLOAT64 for param in params]):
        return build.program([*callees, entry.with_attrs(name=name)])
    body, arguments = [], []
    for param in params:
        if param.type is FLOAT64:
            arguments.append(param)
            continue
        zeros = build.buffer(param.attrs["name"], param.attrs["shape"], param.type)
        store = build.store(build.view(zeros, build.var("i")), build.const(0, param.type))
        body += [zeros, build.for_(build.range_("i", 0, param.attrs["shape"][0]), [store])]
        arguments.append(zeros)
    kept = [param for param in params if param.type is FLOAT64]
    header = {}
    if "input_count" in entry.attrs:
        header["input_count"] = entry.attrs["input_count"] - (len(params) - len(kept))
    outer = build.proc(name, kept, [*body, build.call(entry.attrs["name"], arguments)], header)
    return build.program([*root.args, outer])
