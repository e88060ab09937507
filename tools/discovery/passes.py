"""Passes and named pipelines, as ``--list-passes`` and ``--describe`` show them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from scaly_ir.pass_manager import Pass, Pipeline, load_pass
from scaly_ir.passes import PASSES
from scaly_ir.tools.discovery.examples import example_lines, read_example
from scaly_ir.tools.discovery.options import option_lines
from scaly_ir.tools.discovery.table import table

_RUNS_ON: Final = {"module": "the module", "func": "each function"}


def list_passes() -> str:
    """Return a line for each pass, and then for each named pipeline."""
    classes = [load_pass(PASSES, name) for name in sorted(PASSES)]
    classes.sort(key=lambda cls: issubclass(cls, Pipeline))  # which keeps either kind in order
    return table([(cls.name, cls.scope, cls.summary) for cls in classes])


def pass_names() -> list[str]:
    """Return the names of all passes and pipelines."""
    return list(PASSES)


def describe_pass(name: str) -> Iterator[str]:
    """Yield the lines of the description of a pass or pipeline."""
    cls = load_pass(PASSES, name)
    yield f"{name}: {cls.summary}"
    dialects = dialects_of(cls)
    takes = "any dialect" if dialects is None else f"dialect {', '.join(sorted(dialects))}"
    kind = "named pipeline" if issubclass(cls, Pipeline) else f"pass, runs on {_RUNS_ON[cls.scope]}"
    yield f"  {kind}; takes {takes}"
    if issubclass(cls, Pipeline):
        yield f"  stands for {','.join([step.name for step in cls().steps()])}"
    options = option_lines(cls)
    yield from ["", "Options", *options] if options else []
    if cls.counters:
        width = max(map(len, cls.counters))
        yield from ["", "Counters, which --statistics shows"]
        yield from [f"  {counter:{width}}  {meaning}" for counter, meaning in cls.counters.items()]
    example = read_example(cls, name)
    yield from example_lines(example) if example is not None else []


def dialects_of(cls: type[Pass]) -> frozenset[str] | None:
    """Return the dialects whose modules a pass takes; None for any."""
    found = cls.dialects
    return cls().dialects if isinstance(found, property) else found


def passes_on(dialect: str) -> list[str]:
    """Return the names of the passes that take modules of a dialect."""
    found = []
    for name in sorted(PASSES):
        dialects = dialects_of(load_pass(PASSES, name))
        if dialects is None or dialect in dialects:
            found.append(name)
    return found
