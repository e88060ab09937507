"""The error hierarchy of scaly-ir, which carries data alone, and how any exception is put in one line.

Every error a user can cause derives from `ScalyError`, so a caller can catch one class. Each class is also a subclass
of the built-in exception that Python users expect for that kind of mistake.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scaly_ir.graph.node import Node
    from scaly_ir.text.diagnostics import Diagnostic
    from scaly_ir.text.locations import Place


def described(failure: BaseException) -> str:
    """Return an exception in one line: its class and what it says."""
    said = " ".join(str(failure).split())
    return f"{type(failure).__name__}: {said}" if said else type(failure).__name__


class ScalyError(Exception):
    """The base of every error that scaly-ir raises on purpose."""

    blamed: tuple[Node, ...] = ()
    """The nodes to blame, the most exact first, for tools to find in a file."""


class ParseError(ScalyError, ValueError):
    """The text is not valid IR; `diagnostics` holds every error found, in source order."""

    def __init__(self, diagnostics: Sequence[Diagnostic]) -> None:
        self.diagnostics = tuple(diagnostics)
        super().__init__("\n".join(diagnostic.head() for diagnostic in self.diagnostics))


class VerifyError(ScalyError, ValueError):
    """A node breaks a rule of its dialect.

    `node` is the offending node, `rule` the rule's name and `reason` what is wrong; the message has the shape
    ``verify_program: node %x op=buffer failed rule 'buffer-attrs': <reason>``.
    """

    def __init__(self, message: str, *, node: Node, rule: str, reason: str) -> None:
        super().__init__(message)
        self.node = node
        self.rule = rule
        self.reason = reason


class SerializeError(ScalyError, ValueError):
    """Bytes are no stored graph, or name an operator or type that is not known."""


class RewriteError(ScalyError, ValueError):
    """A rewrite to a fixed point does not end.

    `kind` is ``cycle``, ``stack_limit`` or ``self_dependence``, `node` the node to blame and `rule` the rule that was
    applied to it, as messages name it.
    """

    def __init__(self, message: str, *, kind: str, node: Node, rule: str) -> None:
        super().__init__(message)
        self.kind = kind
        self.node = node
        self.rule = rule


class _BlamingError(ScalyError):
    """An error of a pass; `blamed` are the operation or statement and the function it is in, as far as known."""

    def __init__(self, message: str, *blamed: Node) -> None:
        super().__init__(message)
        self.blamed = blamed


class LegalizeError(_BlamingError, RuntimeError):
    """A rule that rewrites a call for a target changes its type, does not converge or cannot be applied where it is."""


class LoweringError(_BlamingError, NotImplementedError):
    """What is to be lowered has no form in the wanted dialect."""


class TranslateError(ScalyError, RuntimeError):
    """A program cannot be translated, as when nobody says how an operator is spelled in C.

    `place` is where the operation to blame stands, or None when none is; `hint` says what may help.
    """

    def __init__(self, message: str, place: Place | None = None, hint: str = "") -> None:
        super().__init__(message)
        self.place = place
        self.hint = hint


class EvaluationError(ScalyError, ValueError):
    """A program cannot be run on these inputs, or does what has no meaning, such as a read of what nothing wrote.

    `reason` is what is wrong; `procedure`, `statement` and `loops` (the values of the loop variables around it, by
    name) say where, as far as it happened in a procedure and a statement.
    """

    def __init__(
        self,
        message: str,
        *,
        reason: str,
        procedure: str | None = None,
        statement: Node | None = None,
        loops: Mapping[str, int] | None = None,
    ) -> None:
        super().__init__(message)
        self.reason = reason
        self.procedure = procedure
        self.statement = statement
        self.loops = dict(loops or {})


class CompileError(ScalyError, RuntimeError):
    """Compiled code cannot be had, or could not do its work; the message shows what the compiler said first."""


class NoCompilerError(CompileError):
    """There is no C compiler; the message says what to install."""


class NotCompiledWarning(UserWarning):
    """A function of numbers runs on the evaluator, as it cannot be compiled; shown once per process for each reason."""


class PluginError(ScalyError, RuntimeError):
    """A plug-in cannot be loaded, or registers what exists already."""


class PassError(ScalyError, RuntimeError):
    """A pass could not do its work, or left invalid IR; `pass_name` names it."""

    def __init__(self, message: str, *, pass_name: str) -> None:
        super().__init__(message)
        self.pass_name = pass_name


class PipelineError(ScalyError, ValueError):
    """A pipeline text is wrong; `text[start:end]` is the part to blame."""

    def __init__(self, message: str, *, text: str, start: int, end: int) -> None:
        super().__init__(message)
        self.text = text
        self.start = start
        self.end = end
