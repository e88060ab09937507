"""The named pipelines: `default`, from what somebody wrote to a program worth compiling, and `O0`, which only lowers.

Owns which passes they consist of, and in which order; that they may be named like passes is the pass manager's doing.
Source: lowering specification 2.1.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final, Literal

from scaly_ir.pass_manager import OptionError, Pass, Pipeline, load_pass
from scaly_ir.passes import PASSES

PROGRAM_PASSES: Final = ("fuse_elementwise", "pack_workspace")
"""What `default` runs after `lower`: the rows of the specification's table whose passes exist, in its order."""

_PREPARATION: Final = "prepare_scalar"
"""What comes last, but before lanes where there are some: it would take their indices apart."""


@dataclass(frozen=True)
class Unoptimized(Pipeline):
    """Lowers and does nothing else; a `prog` module stays as it is."""

    name: ClassVar[str] = "O0"
    summary: ClassVar[str] = "pipeline: lower alone"
    dialects: ClassVar[frozenset[str]] = frozenset({"expr", "prog"})

    def steps(self) -> Sequence[Pass]:
        """Return `lower`."""
        return _passes(["lower"])


@dataclass(frozen=True)
class Default(Pipeline):
    """Lowers, and improves the program; a `prog` module is only improved."""

    name: ClassVar[str] = "default"
    summary: ClassVar[str] = "pipeline: lower, then improve the program"
    dialects: ClassVar[frozenset[str]] = frozenset({"expr", "prog"})

    reciprocal: bool = False
    """Whether divisions by one value become multiplications, which rounds differently."""
    lanes: Literal["auto", 1, 2, 4, 8] = 1
    """How many elements an operation works on at a time."""

    def steps(self) -> Sequence[Pass]:
        """Return `lower` and the passes on programs."""
        if self.reciprocal:
            message = "'reciprocal=true' needs the pass 'hoist_reciprocals', which does not exist yet"
            raise OptionError("reciprocal", message)
        if self.lanes == 1:
            return _passes(["lower", *PROGRAM_PASSES])
        names = [name for name in PROGRAM_PASSES if name != _PREPARATION]
        packing = names.index("pack_workspace")
        prepared = [_PREPARATION] if _PREPARATION in PASSES else []
        widening = load_pass(PASSES, "widen_ranges")(lanes=self.lanes)  # type: ignore[call-arg]
        return [*_passes(["lower", *names[:packing], *prepared]), widening, *_passes(names[packing:])]


def _passes(names: Iterable[str]) -> list[Pass]:
    return [load_pass(PASSES, name)() for name in names]
