"""The functions of `import scaly_ir as sc` that work on a module of any dialect: parse, render, verify, run passes."""

from __future__ import annotations

from importlib import import_module

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
