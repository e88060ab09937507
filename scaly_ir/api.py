"""The functions of `import scaly_ir as sc` that work on a module of any dialect: parse, render, verify, run passes."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from scaly_ir.dialect import dialect_of, parse_source
from scaly_ir.errors import ParseError, PassError, VerifyError
from scaly_ir.graph import Node
from scaly_ir.pass_manager import Pass, build_pipeline, run_pipeline
from scaly_ir.text.source import Source


def parse(text: str, name: str = "<string>") -> Node:
    """Read IR text and return its root; it is not verified.

    `name` stands for the file in messages. `ParseError` carries every mistake in the text as a diagnostic.
    """
    parsed = parse_source(Source.from_text(text, name))
    if parsed.root is None:
        raise ParseError(parsed.diagnostics)
    return parsed.root


def render(root: Node) -> str:
    """Return the canonical text of a root; reading it back gives the same object if it verifies."""
    return dialect_of(root).render(root)


def verify(root: Node) -> None:
    """Check every rule of the root's dialect; `VerifyError` names the first one that is broken."""
    dialect_of(root).spec.verify(root)


def run(module: Node, inputs: Mapping[str, Any], proc: str | None = None, **options: Any) -> dict[str, Any]:
    """Run a function of a module on arrays, by default the last one, and return its results by name.

    A procedure of `prog`, or a function of matrices, loops and buffers; what is given for each input, the options and
    the errors are those of `run` in `scaly_ir.dialects.prog.evaluate` and `scaly_ir.dialects.matrix.evaluate`. Those of
    `expr` are evaluated by `sc.evaluate`, and are called.
    """
    from scaly_ir.running import loaded

    own = loaded(dialect_of(module)) if isinstance(module, Node) else None
    chosen = (
        own.run if own is not None and own.run is not None else import_module("scaly_ir.dialects.prog.evaluate").run
    )
    found: dict[str, Any] = chosen(module, inputs, proc, **options)
    return found


def run_passes(root: Node, pipeline: str) -> Node:
    """Run passes, written as for ``scaly-opt --pass``, and return the result.

    The root is verified before the first pass and after each. `PipelineError` for a wrong pipeline, `VerifyError` for
    an invalid root, `PassError` when a pass fails or leaves an invalid module.
    """
    passes = build_pipeline(pipeline, import_module("scaly_ir.passes").PASSES)
    verify(root)

    def check(step: Pass, number: int, before: Node, after: Node) -> None:
        if after is before:
            return
        try:
            verify(after)
        except VerifyError as failure:
            message = f"IR is invalid after pass '{step.name}' ({number} of {len(passes)}): {failure}"
            raise PassError(message, pass_name=step.name) from failure

    return run_pipeline(root, passes, check)
